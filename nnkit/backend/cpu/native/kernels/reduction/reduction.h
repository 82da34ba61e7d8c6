// Reductions along axes: how an array is walked for one, and what it is made of.
//
// The axes are put into the order of memory and merged. Then the innermost one is either reduced
// (each output is made of straight runs) or kept (rows of outputs are combined). Sums are added
// pairwise over blocks whose size depends on the shape alone, so no result depends on the threads.
#pragma once

#include <type_traits>

#include "layout.h"
#include "parallel.h"
#include "transpose.h"
#include "vector.h"

namespace nnkit {

struct Plan {
    Walk kept, reduced;                // the axes by kind, merged; positions count in this order
    Operand kept_source, reduced_source;
    Index outputs, terms;              // the sizes of both
    bool columns;                      // whether the innermost axis is a kept one
    int ndim;                          // of the result, and its shape in the order of memory
    npy_intp shape[most_axes];
    npy_intp axes[most_axes];          // where each axis of the result lies in that order
    bool in_order;                     // whether that is C order
};

// Reads `axis` (None, an int, a tuple of ints); false where it does not fit the array.
bool read_axes(PyObject* axis, int ndim, bool* is_reduced);
bool plan_reduction(Array x, const bool* is_reduced, bool keepdims, Plan* plan);

// An array for the results of a plan, and the same with its axes in the order of the caller.
PyObject* new_outputs(const Plan& plan, int type_number);
PyObject* in_callers_order(const Plan& plan, PyObject* outputs);

// The loops of one kind of reduction over elements of T, made by `reducer_of` in reducer.h. A
// `centre` is one number for each output that a term may be compared with (or null).
template <class T> struct Reducer {
    // A straight run of terms of one output, at least one.
    T (*run)(const T* terms, Index count, const T* centre);
    // Up to eight rows of terms, combined column by column into `out` (`is_first`: the first ones).
    void (*rows)(const T* const* rows, Index count, Index width, const T* centres, bool is_first,
                 T* out);
    // The same for results of those two instead of terms.
    T (*run_of_parts)(const T* parts, Index count, const T* centre);
    void (*rows_of_parts)(const T* const* rows, Index count, Index width, const T* centres,
                          bool is_first, T* out);
};

// `out` gets the result for each output of a plan with terms; `centres` are theirs, or null.
template <class T>
void reduce(const Plan& plan, const Reducer<T>& reducer, const T* centres, T* out);

// Elements as a straight array of T: where they lie, or copied into the buffer.
template <class T>
inline const T* bring(Type type, const char* from, Index step, Index count, T* buffer) {
    if (type == type_of<T>() && step == static_cast<Index>(sizeof(T))) {
        return reinterpret_cast<const T*>(from);
    }
    if constexpr (std::is_integral_v<T>) {
        switch (type) {
            case Type::boolean: copy_row<Boolean>(from, step, buffer, count); break;
            case Type::uint8: copy_row<std::uint8_t>(from, step, buffer, count); break;
            case Type::int8: copy_row<std::int8_t>(from, step, buffer, count); break;
            case Type::int16: copy_row<std::int16_t>(from, step, buffer, count); break;
            case Type::int32: copy_row<std::int32_t>(from, step, buffer, count); break;
            default: copy_row<std::int64_t>(from, step, buffer, count); break;
        }
    } else {
        switch (type) {
            case Type::float16: copy_row<Float16>(from, step, buffer, count); break;
            case Type::bfloat16: copy_row<BFloat16>(from, step, buffer, count); break;
            default: copy_row<T>(from, step, buffer, count); break;
        }
    }
    return buffer;
}

constexpr Index outputs_of_turn = 256;  // whose rows are turned together

// Whether the outputs are made of neighbouring elements, but of less than a vector of them.
template <class T> bool has_short_rows(const Plan& plan) {
    constexpr Index size = static_cast<Index>(sizeof(T));
    return !plan.columns && plan.terms > 1 && plan.terms < lanes<T> && plan.outputs >= 4 &&
           plan.reduced.ndim == 1 && plan.kept.ndim == 1 &&
           plan.kept_source.type == type_of<T>() && plan.reduced_source.strides[0] == size;
}

// Such rows turned: calls `body(output, columns, count)` with the first terms of `count` outputs
// from `output` on, then `outputs_of_turn` elements further on their second terms, and so on.
template <class T, class Body> void for_short_rows(const Plan& plan, Index grain, Body body) {
    const T* from = reinterpret_cast<const T*>(plan.kept_source.data);
    const Index step = plan.kept_source.strides[0] / static_cast<Index>(sizeof(T));
    parallel_for(plan.outputs, grain, [&](Index begin, Index end) {
        alignas(64) T columns[lanes<T> * outputs_of_turn];
        for (Index output = begin; output < end; output += outputs_of_turn) {
            const Index count = std::min(outputs_of_turn, end - output);
            transpose(count, plan.terms, from + output * step, step, columns, outputs_of_turn);
            body(output, columns, count);
        }
    });
}

// Elements of T in another type, where that is not T itself.
template <class T> inline void narrow(const T* from, Type type, char* to, Index count) {
    auto loop = [&](auto* target) {
        using To = std::remove_pointer_t<decltype(target)>;
        for (Index i = 0; i < count; ++i) target[i] = convert<To>(from[i]);
    };
    if constexpr (std::is_same_v<T, float>) {
        if (type == Type::float16) loop(reinterpret_cast<Float16*>(to));
        else loop(reinterpret_cast<BFloat16*>(to));
    } else if constexpr (std::is_integral_v<T>) {
        switch (type) {
            case Type::uint8: loop(reinterpret_cast<std::uint8_t*>(to)); break;
            case Type::int8: loop(reinterpret_cast<std::int8_t*>(to)); break;
            case Type::int16: loop(reinterpret_cast<std::int16_t*>(to)); break;
            default: loop(reinterpret_cast<std::int32_t*>(to)); break;
        }
    }
}

}  // namespace nnkit
