// Several arrays walked together: broadcasting, the order of the axes, blocks brought into cache.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "array.h"
#include "half.h"

namespace nnkit {

constexpr int most_axes = 32;
constexpr int most_operands_of_walk = 9;

// An array under the axes of a walk: the distance in bytes of its elements along each.
struct Operand {
    char* data = nullptr;
    Type type = Type::other;
    Index strides[most_axes];
};

// The axes that some operands share, ordered so that memory is walked forward, adjacent ones merged.
struct Walk {
    int ndim = 0;
    Index shape[most_axes];
    int order[most_axes];  // the axis of the arrays that each axis of the walk was, before merging

    Index size() const {
        Index count = 1;
        for (int i = 0; i < ndim; ++i) count *= shape[i];
        return count;
    }
};

// Whether an operand's elements lie one after the other in the order of the walk.
inline bool is_dense(const Walk& walk, const Operand& operand) {
    Index expected = static_cast<Index>(item_size(operand.type));
    for (int i = walk.ndim - 1; i >= 0; --i) {
        if (walk.shape[i] != 1 && operand.strides[i] != expected) return false;
        expected *= walk.shape[i];
    }
    return true;
}

// Calls `row(pointer, step, position, length)` for the straight rows that make up the elements
// [start, start + count) of the walk; `position` counts from 0, `step` is in bytes.
template <class Row>
inline void for_rows(const Walk& walk, const Operand& operand, Index start, Index count, Row row) {
    int last = walk.ndim - 1;
    if (last < 0) {
        row(operand.data, Index{0}, Index{0}, count);
        return;
    }
    Index position[most_axes];
    char* pointer = operand.data;
    for (int i = last; i >= 0; --i) {
        position[i] = start % walk.shape[i];
        start /= walk.shape[i];
        pointer += position[i] * operand.strides[i];
    }
    for (Index done = 0; done < count;) {
        Index length = std::min(walk.shape[last] - position[last], count - done);
        row(pointer, operand.strides[last], done, length);
        done += length;
        position[last] += length;
        pointer += length * operand.strides[last];
        for (int i = last; i > 0 && position[i] == walk.shape[i]; --i) {
            pointer -= position[i] * operand.strides[i];
            position[i] = 0;
            ++position[i - 1];
            pointer += operand.strides[i - 1];
        }
    }
}

template <class From, class To>
inline void copy_row(const char* from, Index step, To* to, Index length) {
    if (step == 0) {
        To value = convert<To>(*reinterpret_cast<const From*>(from));
        for (Index i = 0; i < length; ++i) to[i] = value;
    } else if (step == static_cast<Index>(sizeof(From))) {
        convert_row(reinterpret_cast<const From*>(from), to, length);
    } else {
        for (Index i = 0; i < length; ++i) {
            to[i] = convert<To>(*reinterpret_cast<const From*>(from + i * step));
        }
    }
}

template <class From, class To>
inline void spread_row(const From* from, char* to, Index step, Index length) {
    if (step == static_cast<Index>(sizeof(To))) {
        convert_row(from, reinterpret_cast<To*>(to), length);
        return;
    }
    for (Index i = 0; i < length; ++i) {
        *reinterpret_cast<To*>(to + i * step) = convert<To>(from[i]);
    }
}

template <class T>
void gather_rows(const Walk& walk, const Operand& from, Index start, Index count, T* buffer) {
    for_rows(walk, from, start, count, [&](char* pointer, Index step, Index at, Index length) {
        T* to = buffer + at;
        switch (from.type) {
            case Type::float32: copy_row<float>(pointer, step, to, length); break;
            case Type::float64: copy_row<double>(pointer, step, to, length); break;
            case Type::float16: copy_row<Float16>(pointer, step, to, length); break;
            case Type::bfloat16: copy_row<BFloat16>(pointer, step, to, length); break;
            default: copy_row<std::uint8_t>(pointer, step, to, length); break;
        }
    });
}

// Whole rows, each of which repeats one element.
template <class T>
void gather_repeated(const Walk& walk, const Operand& from, Index start, Index count, T* buffer) {
    Walk outer = walk;
    const Index row = walk.shape[--outer.ndim], rows = count / row;
    T* last = buffer + count - rows;  // behind what is written from it, until that is done
    gather_rows(outer, from, start / row, rows, last);
    const auto repeat = [&](auto times) {
        for (Index i = 0; i < rows; ++i) {
            const T value = last[i];
            for (Index k = 0; k < times; ++k) buffer[i * times + k] = value;
        }
    };
    if (row == 2) repeat(std::integral_constant<Index, 2>{});
    else if (row == 3) repeat(std::integral_constant<Index, 3>{});
    else if (row == 4) repeat(std::integral_constant<Index, 4>{});
    else repeat(row);
}

// Whole rows that are the same along the axis outside of them: one is brought, then copied.
template <class T>
void gather_alike(const Walk& walk, const Operand& from, Index start, Index count, T* buffer) {
    const Index row = walk.shape[walk.ndim - 1], height = walk.shape[walk.ndim - 2];
    for (Index done = 0; done < count;) {
        const Index rows = height - (start + done) / row % height;
        const Index run = std::min(rows * row, count - done);
        gather_rows(walk, from, start + done, row, buffer + done);
        for (Index filled = row; filled < run; filled *= 2) {
            std::copy_n(buffer + done, std::min(filled, run - filled), buffer + done + filled);
        }
        done += run;
    }
}

// Merges neighbouring axes along which every operand goes straight on.
void merge_axes(Walk* walk, Operand* operands, int count);

// The walk of one operand by itself, which has fewer and longer rows.
struct OwnWalk {
    Walk walk;
    Operand operand;

    OwnWalk(const Walk& common, const Operand& given) {
        walk.ndim = common.ndim;
        operand.data = given.data;
        operand.type = given.type;
        std::copy_n(common.shape, common.ndim, walk.shape);
        std::copy_n(given.strides, common.ndim, operand.strides);
        merge_axes(&walk, &operand, 1);
    }
};

constexpr Index long_row = 32;  // to go from one to the next takes less than to bring it

// Brings `count` elements, from `start` on, into a buffer of T.
template <class T>
void gather(const Walk& common, const Operand& operand, Index start, Index count, T* buffer) {
    const OwnWalk own(common, operand);
    const Walk& walk = own.walk;
    const Operand& from = own.operand;
    const int last = walk.ndim - 1;
    const bool is_short = last >= 1 && walk.shape[last] < long_row;
    const bool repeats = is_short && from.strides[last] == 0;
    const bool are_alike = is_short && from.strides[last - 1] == 0;
    if (!repeats && !are_alike) return gather_rows(walk, from, start, count, buffer);
    const Index row = walk.shape[last], head = std::min(count, (row - start % row) % row);
    const Index whole = (count - head) / row * row, tail = count - head - whole;
    gather_rows(walk, from, start, head, buffer);
    auto* gather_whole = repeats ? gather_repeated<T> : gather_alike<T>;
    gather_whole(walk, from, start + head, whole, buffer + head);
    gather_rows(walk, from, start + count - tail, tail, buffer + count - tail);
}

// Takes `count` elements from a buffer of T to where they belong, from `start` on.
template <class T>
void scatter(const Walk& common, const Operand& operand, Index start, Index count,
             const T* buffer) {
    const OwnWalk own(common, operand);
    const Operand& to = own.operand;
    for_rows(own.walk, to, start, count, [&](char* pointer, Index step, Index at, Index length) {
        const T* from = buffer + at;
        switch (to.type) {
            case Type::float32: spread_row<T, float>(from, pointer, step, length); break;
            case Type::float64: spread_row<T, double>(from, pointer, step, length); break;
            case Type::float16: spread_row<T, Float16>(from, pointer, step, length); break;
            case Type::bfloat16: spread_row<T, BFloat16>(from, pointer, step, length); break;
            default: spread_row<T, bool>(from, pointer, step, length); break;
        }
    });
}

// The common shape of the arrays by NumPy's rules; false if they do not broadcast.
bool broadcast_shapes(const Array* arrays, int count, int* ndim, npy_intp* shape);

// The order that the axes of an element-wise result have in memory, the slowest first: torch's (its
// twin is `sort_axes` in backend/memory.py). Each operand has a step along each axis of the
// common shape, 0 where it is repeated.
void sort_axes(const Index (*steps)[most_axes], int count, int ndim, const npy_intp* shape,
               int* order);

// A walk over the arrays in that order; `operands` get their strides under the common shape. Which
// arrays decide the order, and the first of them, `deciding` says; all do where it is not given.
void order_axes(const Array* arrays, Operand* operands, int count, int ndim, const npy_intp* shape,
                Walk* walk, const int* deciding = nullptr, int deciding_count = 0);

// A new array whose axis `order[0]` is the slowest in memory, and so on; and one whose axes lie like
// those of another array. They take the descriptor's reference.
PyObject* empty_in_order(int ndim, const npy_intp* shape, const int* order,
                         PyArray_Descr* descriptor);
PyObject* empty_in_order_of(Array x, PyArray_Descr* descriptor);

// A new array for a copy of another one. What lies without gaps is copied with its own strides, those
// of axes of size 1 among them, as torch does (the twin is `steps_of_copy` in backend/memory.py).
PyObject* empty_as(Array x, PyArray_Descr* descriptor);

// A view that begins where x does, or some bytes on; of another type if a descriptor is given, which
// it takes over.
PyObject* view_of(Array x, int ndim, const npy_intp* shape, const npy_intp* strides,
                  Index offset = 0, PyArray_Descr* descriptor = nullptr);

// Whether images or volumes, of which alone torch keeps this format, lie in memory as (batch, ...,
// channels) without gaps, and not as rows, too; and an array with one axis moved to another place.
bool has_channels_last(Array x);
PyObject* with_axis_moved(Array x, int from, int to);

}  // namespace nnkit
