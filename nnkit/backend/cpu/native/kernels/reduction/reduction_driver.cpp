// Cuts a reduction into tasks and hands their straight runs or rows to a reducer's loops.
#include <algorithm>

#include "memory.h"
#include "parallel.h"
#include "reduction.h"
#include "vector.h"

namespace nnkit {
namespace {

constexpr Index work_of_task = 32768;  // elements; less does not repay waking a thread
constexpr Index terms_of_chunk = 128;  // rows that one task combines
constexpr Index widest_tile = 1024;    // columns that stay in the nearest cache
constexpr Index widest_copied_tile = 256;

// Calls `body(output, pointer)` for outputs [begin, end), with where each one's first element lies.
template <class Body>
void for_outputs(const Plan& plan, Index begin, Index end, Body body) {
    for_rows(plan.kept, plan.kept_source, begin, end - begin,
             [&](char* pointer, Index step, Index at, Index length) {
                 for (Index i = 0; i < length; ++i) body(begin + at + i, pointer + i * step);
             });
}

template <class T> class Reduction {
public:
    Reduction(const Plan& plan, const Reducer<T>& reducer, const T* centres, T* out)
        : plan_(plan), reducer_(reducer), centres_(centres), out_(out),
          type_(plan.kept_source.type) {}

    // The innermost axis is reduced.
    void by_rows() {
        if (has_short_rows<T>(plan_)) return by_short_rows();
        Index chunks = (plan_.terms + work_of_task - 1) / work_of_task;
        if (chunks <= 1) {
            Index grain = std::max<Index>(1, work_of_task / std::max<Index>(plan_.terms, 16));
            parallel_for(plan_.outputs, grain, [&](Index begin, Index end) {
                for_outputs(plan_, begin, end, [&](Index output, char* from) {
                    out_[output] = terms(from, 0, plan_.terms, centre_of(output));
                });
            });
            return;
        }
        Scratch<T> parts(plan_.outputs * chunks);
        parallel_for(plan_.outputs * chunks, 1, [&](Index first, Index last) {
            for (Index task = first; task < last; ++task) {
                Index output = task / chunks, begin = task % chunks * work_of_task;
                Index end = std::min(plan_.terms, begin + work_of_task);
                for_outputs(plan_, output, output + 1, [&](Index, char* from) {
                    parts[task] = terms(from, begin, end, centre_of(output));
                });
            }
        });
        for (Index output = 0; output < plan_.outputs; ++output) {
            out_[output] = reducer_.run_of_parts(parts.data() + output * chunks, chunks, nullptr);
        }
    }

    // The innermost axis is kept.
    void by_columns() {
        int last = plan_.kept.ndim - 1;
        step_ = plan_.kept_source.strides[last];
        Index width = plan_.kept.shape[last], rows = plan_.outputs / width;
        Index tile_width = std::min(width, is_direct(step_) ? widest_tile : widest_copied_tile);
        Index tiles = (width + tile_width - 1) / tile_width;
        Index fold = rows_of_fold(width), chunk_terms = fold * terms_of_chunk;
        Index chunks = (plan_.terms + chunk_terms - 1) / chunk_terms;
        Index work = tile_width * std::min(plan_.terms, chunk_terms);
        Scratch<T> parts(chunks > 1 ? plan_.outputs * chunks : 0);
        auto run_task = [&](Index task) {
            Index chunk = task / tiles % chunks, row = task / tiles / chunks;
            Index column = task % tiles * tile_width, output = row * width + column;
            Index begin = chunk * chunk_terms, end = std::min(plan_.terms, begin + chunk_terms);
            T* target = chunks > 1 ? parts.data() + (row * chunks + chunk) * width + column
                                   : out_ + output;
            for_outputs(plan_, output, output + 1, [&](Index, char* from) {
                if (fold > 1) {
                    folded(reinterpret_cast<const T*>(from) + begin * width, end - begin, width,
                           fold, target);
                } else {
                    tile(from, begin, end, std::min(tile_width, width - column),
                         centre_of(output), target);
                }
            });
        };
        parallel_for(rows * chunks * tiles, std::max<Index>(1, work_of_task / work),
                     [&](Index first, Index end) {
                         for (Index task = first; task < end; ++task) run_task(task);
                     });
        for (Index row = 0; chunks > 1 && row < rows; ++row) {
            combine_parts(parts.data() + row * chunks * width, chunks, width, out_ + row * width);
        }
    }

private:
    void by_short_rows() {
        for_short_rows<T>(plan_, work_of_task / plan_.terms,
                          [&](Index output, const T* columns, Index count) {
            for (Index k = 0; k < plan_.terms; ++k) {
                const T* column = columns + k * outputs_of_turn;
                reducer_.rows(&column, 1, count, centre_of(output), k == 0, out_ + output);
            }
        });
    }

    bool is_direct(Index step) const {
        return type_ == type_of<T>() && step == static_cast<Index>(sizeof(T));
    }

    const T* centre_of(Index output) const {
        return centres_ == nullptr ? nullptr : centres_ + output;
    }

    // Elements at any distance to one value.
    T run(const char* from, Index step, Index count, const T* centre) const {
        if (is_direct(step)) {
            return reducer_.run(reinterpret_cast<const T*>(from), count, centre);
        }
        alignas(alignment) T buffer[widest_tile];
        T parts[work_of_task / widest_tile];
        Index blocks = 0;
        for (Index start = 0; start < count; start += widest_tile) {
            Index length = std::min(widest_tile, count - start);
            parts[blocks++] = reducer_.run(bring(type_, from + start * step, step, length, buffer),
                                           length, centre);
        }
        return reducer_.run_of_parts(parts, blocks, nullptr);
    }

    // Terms [begin, end) of one output, at most `work_of_task`; its first element lies at `from`.
    T terms(char* from, Index begin, Index end, const T* centre) const {
        if (plan_.reduced.ndim <= 1) {
            Index step = plan_.reduced.ndim ? plan_.reduced_source.strides[0] : 0;
            return run(from + begin * step, step, end - begin, centre);
        }
        Operand source = plan_.reduced_source;
        source.data = from;
        T parts[widest_tile];
        Index segments = 0;
        for_rows(plan_.reduced, source, begin, end - begin,
                 [&](char* pointer, Index step, Index, Index length) {
                     if (segments == widest_tile) {
                         parts[0] = reducer_.run_of_parts(parts, segments, nullptr);
                         segments = 1;
                     }
                     parts[segments++] = run(pointer, step, length, centre);
                 });
        return reducer_.run_of_parts(parts, segments, nullptr);
    }

    // Terms [begin, end) of `width` neighbouring outputs; their first elements lie from `from` on.
    void tile(char* from, Index begin, Index end, Index width, const T* centres, T* out) const {
        Operand source = plan_.reduced_source;
        source.data = from;
        alignas(alignment) T buffer[8][widest_copied_tile];
        bool is_first = true;
        for_rows(plan_.reduced, source, begin, end - begin,
                 [&](char* pointer, Index stride, Index, Index length) {
                     for (Index r = 0; r < length; r += 8) {
                         const T* rows[8];
                         Index count = std::min<Index>(8, length - r);
                         for (Index k = 0; k < count; ++k) {
                             rows[k] = bring(type_, pointer + (r + k) * stride, step_, width,
                                             buffer[k]);
                         }
                         reducer_.rows(rows, count, width, centres, is_first, out);
                         is_first = false;
                     }
                 });
    }

    // The number of neighbouring rows taken as one: short ones that follow each other in memory.
    Index rows_of_fold(Index width) const {
        constexpr Index size = static_cast<Index>(sizeof(T)), enough = 8 * lanes<T>;
        bool follow = is_direct(step_) && plan_.reduced.ndim == 1 &&
                      plan_.reduced_source.strides[0] == width * size;
        Index fold = 1;
        if (centres_ != nullptr || !follow) return fold;
        while (2 * fold * width <= enough && 4 * fold <= plan_.terms) fold *= 2;
        return fold;
    }

    // The terms of a tile whose rows follow each other: `fold` of them make a row of the loop.
    void folded(const T* from, Index terms, Index width, Index fold, T* out) const {
        T values[8 * lanes<T>];
        if (terms < fold) fold = 1;
        Index wide = fold * width, count = terms / fold;
        for (Index r = 0; r < count; r += 8) {
            const T* rows[8];
            Index some = std::min<Index>(8, count - r);
            for (Index k = 0; k < some; ++k) rows[k] = from + (r + k) * wide;
            reducer_.rows(rows, some, wide, nullptr, r == 0, values);
        }
        const T* rest = from + count * wide;
        reducer_.rows(&rest, 1, terms % fold * width, nullptr, false, values);
        for (fold /= 2; fold > 0; fold /= 2) {
            const T* upper = values + fold * width;
            reducer_.rows_of_parts(&upper, 1, fold * width, nullptr, false, values);
        }
        std::copy(values, values + width, out);
    }

    // Rows of partial results to one row, pair by pair; they are overwritten.
    void combine_parts(T* parts, Index count, Index width, T* out) const {
        while (count > 1) {
            Index groups = (count + 7) / 8;
            for (Index group = 0; group < groups; ++group) {
                const T* rows[8];
                Index some = std::min<Index>(8, count - 8 * group);
                for (Index k = 0; k < some; ++k) rows[k] = parts + (8 * group + k) * width;
                reducer_.rows_of_parts(rows, some, width, nullptr, true, parts + group * width);
            }
            count = groups;
        }
        std::copy(parts, parts + width, out);
    }

    const Plan& plan_;
    const Reducer<T>& reducer_;
    const T* centres_;
    T* out_;
    Type type_;
    Index step_ = 0;  // from one output to the next
};

}  // namespace

template <class T>
void reduce(const Plan& plan, const Reducer<T>& reducer, const T* centres, T* out) {
    if (plan.outputs == 0) return;
    Reduction<T> reduction(plan, reducer, centres, out);
    if (plan.columns) reduction.by_columns();
    else reduction.by_rows();
}

template void reduce(const Plan&, const Reducer<float>&, const float*, float*);
template void reduce(const Plan&, const Reducer<double>&, const double*, double*);
template void reduce(const Plan&, const Reducer<std::int64_t>&, const std::int64_t*, std::int64_t*);

}  // namespace nnkit
