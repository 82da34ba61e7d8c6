// Reductions: how an array is walked, and the two loops that all of them are made of.
//
// The axes are put into the order of memory and merged. Then the innermost one is either reduced
// (each output is made of straight runs) or kept (rows of outputs are combined). Sums are added
// pairwise over blocks whose size depends on the shape alone, so no result depends on the threads.
#pragma once

#include <algorithm>
#include <limits>

#include "layout.h"
#include "memory.h"
#include "parallel.h"
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

constexpr Index work_of_task = 32768;  // elements; less does not repay waking a thread
constexpr Index terms_of_chunk = 128;  // rows that one task combines
constexpr Index widest_tile = 1024;    // columns that stay in the nearest cache
constexpr Index widest_copied_tile = 256;

// Elements as a straight array of T: where they lie, or copied into the buffer.
template <class T>
inline const T* bring(Type type, const char* from, Index step, Index count, T* buffer) {
    if (type == type_of<T>() && step == static_cast<Index>(sizeof(T))) {
        return reinterpret_cast<const T*>(from);
    }
    if constexpr (std::is_integral_v<T>) {
        switch (type) {
            case Type::boolean: copy_row<bool>(from, step, buffer, count); break;
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

// Combines values pair by pair as they come, like the digits of a binary counter.
template <class Value, class Operation> class Cascade {
public:
    explicit Cascade(const Operation& operation) : operation_(operation) {}

    void push(Value value) {
        for (Index bits = count_++; bits & 1; bits >>= 1) {
            value = operation_.combine(levels_[--depth_], value);
        }
        levels_[depth_++] = value;
    }

    Value total() {
        while (depth_ > 1) {
            --depth_;
            levels_[depth_ - 1] = operation_.combine(levels_[depth_ - 1], levels_[depth_]);
        }
        return levels_[0];
    }

    bool is_empty() const { return depth_ == 0; }

private:
    const Operation& operation_;
    Value levels_[48];
    int depth_ = 0;
    Index count_ = 0;
};

template <class T> inline Vector<T> load_some(const T* from, Index count, T fill) {
    T part[lanes<T>];
    for (int i = 0; i < lanes<T>; ++i) part[i] = i < count ? from[i] : fill;
    return load(part);
}

// The elements of a straight array, at least one, to one value.
template <class T, class Operation>
T reduce_run(const Operation& operation, const T* x, Index count) {
    constexpr Index width = lanes<T>, block = 64 * width;
    auto at = [&](Index i) { return operation.map(load(x + i)); };
    Cascade<Vector<T>, Operation> blocks(operation);
    Index i = 0;
    while (count - i >= 4 * width) {
        Index end = std::min(count - 4 * width, i + block - 4 * width);
        Vector<T> a = at(i), b = at(i + width), c = at(i + 2 * width), d = at(i + 3 * width);
        for (i += 4 * width; i <= end; i += 4 * width) {
            a = operation.combine(a, at(i));
            b = operation.combine(b, at(i + width));
            c = operation.combine(c, at(i + 2 * width));
            d = operation.combine(d, at(i + 3 * width));
        }
        blocks.push(operation.combine(operation.combine(a, b), operation.combine(c, d)));
    }
    for (; count - i >= width; i += width) blocks.push(at(i));
    T part[width];
    if (i < count) {
        T rest = operation.map(x[i]);
        if (count < width) {
            for (++i; i < count; ++i) rest = operation.combine(rest, operation.map(x[i]));
            return rest;
        }
        store(part, blocks.total());
        for (Index k = 0; i < count; ++i, ++k) {
            part[k] = operation.combine(part[k], operation.map(x[i]));
        }
    } else {
        store(part, blocks.total());
    }
    for (Index half = width / 2; half > 0; half /= 2) {
        for (Index k = 0; k < half; ++k) part[k] = operation.combine(part[k], part[k + half]);
    }
    return part[0];
}

// The same for elements of any of our types at any distance.
template <class T, class Operation>
T reduce_strided(const Operation& operation, Type type, const char* from, Index step, Index count) {
    if (type == type_of<T>() && step == static_cast<Index>(sizeof(T))) {
        return reduce_run(operation, reinterpret_cast<const T*>(from), count);
    }
    alignas(alignment) T buffer[widest_tile];
    Cascade<T, Operation> blocks(operation);
    for (Index start = 0; start < count; start += widest_tile) {
        Index length = std::min(widest_tile, count - start);
        blocks.push(reduce_run(operation, bring(type, from + start * step, step, length, buffer),
                               length));
    }
    return blocks.total();
}

// Terms [begin, end) of one output, whose first element lies at `from`.
template <class T, class Operation>
T reduce_terms(const Plan& plan, const Operation& operation, char* from, Index begin, Index end) {
    Operand source = plan.reduced_source;
    source.data = from;
    if (plan.reduced.ndim <= 1) {
        Index step = plan.reduced.ndim ? source.strides[0] : static_cast<Index>(sizeof(T));
        return reduce_strided<T>(operation, source.type, from + begin * step, step, end - begin);
    }
    Cascade<T, Operation> segments(operation);
    for_rows(plan.reduced, source, begin, end - begin,
             [&](char* pointer, Index step, Index, Index length) {
                 segments.push(reduce_strided<T>(operation, source.type, pointer, step, length));
             });
    return segments.total();
}

// Calls `body(output, pointer)` for outputs [begin, end), with where each one's first element lies.
template <class Body>
void for_outputs(const Plan& plan, Index begin, Index end, Body body) {
    for_rows(plan.kept, plan.kept_source, begin, end - begin,
             [&](char* pointer, Index step, Index at, Index length) {
                 for (Index i = 0; i < length; ++i) body(begin + at + i, pointer + i * step);
             });
}

// Combines what was combined before: an operation without its map.
template <class Operation> struct Combination : Operation {
    explicit Combination(const Operation& operation) : Operation(operation) {}
    template <class Value> static Value map(Value x) { return x; }
    template <class Value> static Value map(Value x, Index) { return x; }
    static constexpr bool differs_by_column = false;
};

// The innermost axis is reduced. `operation_of(output)` is what its terms are combined with.
template <class T, class OperationOf>
void reduce_rows(const Plan& plan, const OperationOf& operation_of, T* out) {
    Index chunks = (plan.terms + work_of_task - 1) / work_of_task;
    if (chunks <= 1) {
        Index grain = std::max<Index>(1, work_of_task / std::max<Index>(plan.terms, 16));
        parallel_for(plan.outputs, grain, [&](Index begin, Index end) {
            for_outputs(plan, begin, end, [&](Index output, char* from) {
                out[output] = reduce_terms<T>(plan, operation_of(output), from, 0, plan.terms);
            });
        });
        return;
    }
    Scratch<T> parts(plan.outputs * chunks);
    parallel_for(plan.outputs * chunks, 1, [&](Index first, Index last) {
        for (Index task = first; task < last; ++task) {
            Index output = task / chunks, begin = task % chunks * work_of_task;
            Index end = std::min(plan.terms, begin + work_of_task);
            for_outputs(plan, output, output + 1, [&](Index, char* from) {
                parts[task] = reduce_terms<T>(plan, operation_of(output), from, begin, end);
            });
        }
    });
    for (Index output = 0; output < plan.outputs; ++output) {
        Combination combination(operation_of(output));
        out[output] = reduce_run(combination, parts.data() + output * chunks, chunks);
    }
}

// Rows of `width` elements, the first at `from`, combined element by element into `out`; `is_first`
// where `out` holds nothing yet. Eight rows are combined at a time, pair by pair.
template <class T, class Operation>
void combine_rows(const Operation& operation, const T* const* rows, Index count, Index width,
                  bool is_first, T* out) {
    auto pass = [&](auto tree) {
        Index j = 0;
        for (; j + lanes<T> <= width; j += lanes<T>) {
            auto value = tree([&](int r) { return operation.map(load(rows[r] + j), j); });
            store(out + j, is_first ? value : operation.combine(load(out + j), value));
        }
        for (; j < width; ++j) {
            T value = tree([&](int r) { return operation.map(rows[r][j], j); });
            out[j] = is_first ? value : operation.combine(out[j], value);
        }
    };
    if (count == 8) {
        pass([&](auto at) {
            auto a = operation.combine(operation.combine(at(0), at(1)),
                                       operation.combine(at(2), at(3)));
            auto b = operation.combine(operation.combine(at(4), at(5)),
                                       operation.combine(at(6), at(7)));
            return operation.combine(a, b);
        });
        return;
    }
    for (Index r = 0; r < count; ++r) {
        pass([&](auto at) { return at(static_cast<int>(r)); });
        is_first = false;
    }
}

// How many neighbouring rows are taken as one, since they are short and follow each other in memory.
template <class T, class Operation> Index rows_of_fold(const Plan& plan) {
    constexpr Index size = static_cast<Index>(sizeof(T)), enough = 8 * lanes<T>;
    Index width = plan.kept.shape[plan.kept.ndim - 1];
    Index step = plan.kept_source.strides[plan.kept.ndim - 1];
    bool follow = step == size && plan.kept_source.type == type_of<T>() &&
                  plan.reduced.ndim == 1 && plan.reduced_source.strides[0] == width * size;
    Index fold = 1;
    if (Operation::differs_by_column || !follow) return fold;
    while (2 * fold * width <= enough && 4 * fold <= plan.terms) fold *= 2;
    return fold;
}

// Terms [begin, end) of `width` neighbouring outputs, whose first elements lie from `from` on.
template <class T, class Operation>
void reduce_tile(const Plan& plan, const Operation& operation, char* from, Index begin, Index end,
                 Index width, T* out) {
    Operand source = plan.reduced_source;
    source.data = from;
    Index step = plan.kept_source.strides[plan.kept.ndim - 1];
    alignas(alignment) T buffer[8][widest_copied_tile];
    bool is_first = true;
    const T* rows[8];
    for_rows(plan.reduced, source, begin, end - begin,
             [&](char* pointer, Index stride, Index, Index length) {
                 for (Index r = 0; r < length; r += 8) {
                     Index count = std::min<Index>(8, length - r);
                     for (Index k = 0; k < count; ++k) {
                         rows[k] = bring(source.type, pointer + (r + k) * stride, step, width,
                                         buffer[k]);
                     }
                     combine_rows(operation, rows, count, width, is_first, out);
                     is_first = false;
                 }
             });
}

// The same for short rows that follow each other: `fold` of them are one.
template <class T, class Operation>
void reduce_folded(const Operation& operation, const T* from, Index terms, Index width, Index fold,
                   T* out) {
    T sums[16 * lanes<T>];
    Index wide = fold * width, count = terms / fold;
    for (Index r = 0; r < count; r += 8) {
        const T* rows[8];
        Index some = std::min<Index>(8, count - r);
        for (Index k = 0; k < some; ++k) rows[k] = from + (r + k) * wide;
        combine_rows(operation, rows, some, wide, r == 0, sums);
    }
    const T* rest = from + count * wide;
    if (count > 0) {
        combine_rows(operation, &rest, 1, terms % fold * width, false, sums);
    } else {
        // Fewer rows than a fold: one after the other.
        for (Index r = 0; r < terms; ++r, rest += width) {
            combine_rows(operation, &rest, 1, width, r == 0, sums);
        }
        fold = 1;
    }
    Combination<Operation> combination(operation);
    for (fold /= 2; fold > 0; fold /= 2) {
        const T* upper = sums + fold * width;
        combine_rows(combination, &upper, 1, fold * width, false, sums);
    }
    std::copy(sums, sums + width, out);
}

// Rows of partial results to one row, pair by pair; they are overwritten.
template <class T, class Operation>
void reduce_parts(const Operation& operation, T* parts, Index count, Index width, T* out) {
    Combination<Operation> combination(operation);
    while (count > 1) {
        Index groups = (count + 7) / 8;
        for (Index group = 0; group < groups; ++group) {
            const T* rows[8];
            Index some = std::min<Index>(8, count - 8 * group);
            for (Index k = 0; k < some; ++k) rows[k] = parts + (8 * group + k) * width;
            combine_rows(combination, rows, some, width, true, parts + group * width);
        }
        count = groups;
    }
    std::copy(parts, parts + width, out);
}

// The innermost axis is kept. `operation_of(output)` is what the terms of the outputs from there on
// are combined with.
template <class T, class OperationOf>
void reduce_columns(const Plan& plan, const OperationOf& operation_of, T* out) {
    using Operation = decltype(operation_of(Index{0}));
    int last = plan.kept.ndim - 1;
    Index width = plan.kept.shape[last], rows = plan.outputs / width;
    bool is_direct = plan.kept_source.type == type_of<T>() &&
                     plan.kept_source.strides[last] == static_cast<Index>(sizeof(T));
    Index tile_width = std::min(width, is_direct ? widest_tile : widest_copied_tile);
    Index tiles = (width + tile_width - 1) / tile_width;
    Index fold = rows_of_fold<T, Operation>(plan), chunk_terms = fold * terms_of_chunk;
    Index chunks = (plan.terms + chunk_terms - 1) / chunk_terms;
    Index work = tile_width * std::min(plan.terms, chunk_terms);
    Scratch<T> parts(chunks > 1 ? plan.outputs * chunks : 0);
    parallel_for(rows * chunks * tiles, std::max<Index>(1, work_of_task / work),
                 [&](Index first, Index last_task) {
        for (Index task = first; task < last_task; ++task) {
            Index chunk = task / tiles % chunks, row = task / tiles / chunks;
            Index column = task % tiles * tile_width, output = row * width + column;
            Index begin = chunk * chunk_terms, end = std::min(plan.terms, begin + chunk_terms);
            T* target = chunks > 1 ? parts.data() + (row * chunks + chunk) * width + column
                                   : out + output;
            for_outputs(plan, output, output + 1, [&](Index, char* from) {
                if (fold > 1) {
                    reduce_folded(operation_of(output),
                                  reinterpret_cast<const T*>(from) + begin * width, end - begin,
                                  width, fold, target);
                } else {
                    reduce_tile(plan, operation_of(output), from, begin, end,
                                std::min(tile_width, width - column), target);
                }
            });
        }
    });
    for (Index row = 0; chunks > 1 && row < rows; ++row) {
        reduce_parts(operation_of(row * width), parts.data() + row * chunks * width, chunks, width,
                     out + row * width);
    }
}

// `out` gets what `operation_of(output)` makes of the terms of each output.
template <class T, class OperationOf>
void reduce(const Plan& plan, const OperationOf& operation_of, T* out) {
    if (plan.outputs == 0) return;
    if (plan.columns) reduce_columns(plan, operation_of, out);
    else reduce_rows(plan, operation_of, out);
}

}  // namespace nnkit
