// The largest and smallest elements along an axis with their indices: the first of equal ones, and
// a NaN before all.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "memory.h"
#include "parallel.h"
#include "reducer.h"

namespace nnkit {
namespace {

constexpr Index work_of_task = 32768;
constexpr Index block = 1024;         // elements among which an index is searched for
constexpr Index rows_of_chunk = 256;  // rows that one task compares
constexpr Index widest_tile = 512;    // columns that stay in the nearest cache

struct Largest : Plainly {
    template <class Value> static Value combine(Value a, Value b) { return maximum(a, b); }
    template <class T> static bool beats(T a, T b) { return (a > b) | ((a != a) & (b == b)); }
};

struct Smallest : Plainly {
    template <class Value> static Value combine(Value a, Value b) { return minimum(a, b); }
    template <class T> static bool beats(T a, T b) { return (a < b) | ((a != a) & (b == b)); }
};

// The index type that a vectorised comparison of T selects along with it.
template <class T>
using Place = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// The first place of a value, which may be NaN.
template <class T> Index find(const T* x, Index count, T value) {
    auto is_it = [value](T v) { return (v == value) | ((v != v) & (value != value)); };
    constexpr Index several = 2 * lanes<T>;
    Index i = 0;
    for (; i + several < count; i += several) {
        Place<T> found = 0;
        for (Index k = 0; k < several; ++k) found |= is_it(x[i + k]) ? 1 : 0;
        if (found != 0) break;
    }
    while (i < count - 1 && !is_it(x[i])) ++i;
    return i;
}

template <class T> struct Found {
    T value;
    Index index;
};

// The winner among the elements of a row; at least one.
template <class T, class Order>
Found<T> search_row(Type type, const char* from, Index step, Index count) {
    alignas(alignment) T buffer[block];
    const T* x = bring(type, from, step, std::clamp(count, Index{1}, block), buffer);
    if (count <= lanes<T>) {
        Found<T> best{x[0], 0};
        for (Index i = 1; i < count; ++i) {
            if (Order::beats(x[i], best.value)) best = {x[i], i};
        }
        return best;
    }
    Found<T> best{};
    for (Index start = 0; start < count; start += block) {
        Index length = std::min(block, count - start);
        if (start > 0) x = bring(type, from + start * step, step, length, buffer);
        T value = reduce_run<T, Order>(x, length, nullptr);
        if (start == 0 || Order::beats(value, best.value)) best = {value, start};
    }
    Index length = std::min(block, count - best.index);
    x = bring(type, from + best.index * step, step, length, buffer);
    Index place = find(x, length, best.value);
    return {x[place], best.index + place};  // of equal zeros the first one's sign
}

// Rows against the winners so far: `best` and their places.
template <class T, class Order>
void compare_row(const T* row, Place<T> place, Index width, T* best, Place<T>* places) {
    for (Index j = 0; j < width; ++j) {
        bool wins = Order::beats(row[j], best[j]);
        best[j] = wins ? row[j] : best[j];
        places[j] = wins ? place : places[j];
    }
}

template <class T> struct Outputs {
    T* values;  // or null
    std::int64_t* indices;
};

template <class T, class Order> void search_short_rows(const Plan& plan, Outputs<T> out) {
    for_short_rows<T>(plan, work_of_task / plan.terms,
                      [&](Index output, const T* columns, Index count) {
        T values[outputs_of_turn];
        Place<T> places[outputs_of_turn] = {};
        T* best = out.values == nullptr ? values : out.values + output;
        std::copy(columns, columns + count, best);
        for (Index k = 1; k < plan.terms; ++k) {
            compare_row<T, Order>(columns + k * outputs_of_turn, static_cast<Place<T>>(k), count,
                                  best, places);
        }
        std::copy(places, places + count, out.indices + output);
    });
}

template <class T, class Order> void search_rows(const Plan& plan, Outputs<T> out) {
    if (has_short_rows<T>(plan)) return search_short_rows<T, Order>(plan, out);
    Index step = plan.reduced.ndim ? plan.reduced_source.strides[0] : 0;
    Type type = plan.kept_source.type;
    Index chunks = (plan.terms + work_of_task - 1) / work_of_task;
    Scratch<Found<T>> parts(chunks > 1 ? plan.outputs * chunks : 0);
    Index grain = std::max<Index>(1, work_of_task / std::max<Index>(plan.terms, 16));
    auto put = [&](Index output, const Found<T>& found) {
        if (out.values != nullptr) out.values[output] = found.value;
        out.indices[output] = found.index;
    };
    parallel_for(plan.outputs * chunks, grain, [&](Index first, Index last) {
        Index output = first / chunks, chunk = first % chunks;
        for_rows(plan.kept, plan.kept_source, output, (last + chunks - 1) / chunks - output,
                 [&](char* pointer, Index distance, Index, Index length) {
                     for (Index i = 0; i < length; ++i, ++output, chunk = 0) {
                         Index stop = std::min(chunks, last - output * chunks);
                         for (; chunk < stop; ++chunk) {
                             Index begin = chunk * work_of_task;
                             Index count = std::min(plan.terms - begin, work_of_task);
                             Found<T> found = search_row<T, Order>(
                                 type, pointer + i * distance + begin * step, step, count);
                             found.index += begin;
                             if (chunks == 1) put(output, found);
                             else parts[output * chunks + chunk] = found;
                         }
                     }
                 });
    });
    for (Index output = 0; chunks > 1 && output < plan.outputs; ++output) {
        Found<T> best = parts[output * chunks];
        for (Index k = 1; k < chunks; ++k) {
            const Found<T>& part = parts[output * chunks + k];
            if (Order::beats(part.value, best.value)) best = part;
        }
        put(output, best);
    }
}

template <class T, class Order> void search_columns(const Plan& plan, Outputs<T> out) {
    int last = plan.kept.ndim - 1;
    Index step = plan.kept_source.strides[last];
    Index stride = plan.reduced.ndim ? plan.reduced_source.strides[0] : 0;
    Type type = plan.kept_source.type;
    Index width = plan.kept.shape[last], rows = plan.outputs / width;
    Index tiles = (width + widest_tile - 1) / widest_tile;
    Index chunks = (plan.terms + rows_of_chunk - 1) / rows_of_chunk;
    Scratch<T> values(plan.outputs * chunks);
    Scratch<Place<T>> places(plan.outputs * chunks);
    auto run_task = [&](Index task) {
        Index chunk = task / tiles % chunks, row = task / tiles / chunks;
        Index column = task % tiles * widest_tile, length = std::min(widest_tile, width - column);
        Index target = (row * chunks + chunk) * width + column;
        Index begin = chunk * rows_of_chunk, end = std::min(plan.terms, begin + rows_of_chunk);
        T* best = values.data() + target;
        Place<T>* place = places.data() + target;
        alignas(alignment) T buffer[widest_tile];
        for_rows(plan.kept, plan.kept_source, row * width + column, 1,
                 [&](char* pointer, Index, Index, Index) {
                     for (Index r = begin; r < end; ++r) {
                         const T* x = bring(type, pointer + r * stride, step, length, buffer);
                         if (r == begin) {
                             std::copy(x, x + length, best);
                             std::fill(place, place + length, static_cast<Place<T>>(r));
                         } else {
                             auto at = static_cast<Place<T>>(r);
                             compare_row<T, Order>(x, at, length, best, place);
                         }
                     }
                 });
    };
    Index work = std::min(width, widest_tile) * std::min(plan.terms, rows_of_chunk);
    parallel_for(rows * chunks * tiles, std::max<Index>(1, work_of_task / work),
                 [&](Index first, Index end) {
                     for (Index task = first; task < end; ++task) run_task(task);
                 });
    for (Index row = 0; row < rows; ++row) {
        T* best = values.data() + row * chunks * width;
        Place<T>* place = places.data() + row * chunks * width;
        for (Index k = 1; k < chunks; ++k) {
            for (Index j = 0; j < width; ++j) {
                bool wins = Order::beats(best[k * width + j], best[j]);
                best[j] = wins ? best[k * width + j] : best[j];
                place[j] = wins ? place[k * width + j] : place[j];
            }
        }
        std::copy(place, place + width, out.indices + row * width);
        if (out.values != nullptr) std::copy(best, best + width, out.values + row * width);
    }
}

template <class T, class Order>
void search(const Plan& plan, PyObject* values, std::int64_t* indices) {
    auto run = [&](T* target) {
        Outputs<T> out{target, indices};
        if (plan.columns) search_columns<T, Order>(plan, out);
        else search_rows<T, Order>(plan, out);
    };
    if (plan.outputs == 0) return;
    if (values == nullptr) return run(nullptr);
    Array array(values);
    if (array.type() == type_of<T>()) return run(array.data<T>());
    Scratch<T> wide(plan.outputs);
    run(wide.data());
    narrow(wide.data(), array.type(), array.bytes(), plan.outputs);
}

// op(x; axis, keepdims) -> indices, or values and indices
template <class Order> PyObject* extreme(Arguments arguments, bool with_values) {
    Array x = arguments.array(0);
    bool is_reduced[most_axes];
    Plan plan;
    if (!x || x.ndim() > most_axes || PyTuple_Check(arguments[1]) ||
        !read_axes(arguments[1], x.ndim(), is_reduced) ||
        !plan_reduction(x, is_reduced, arguments.truth(2), &plan) || plan.terms == 0 ||
        plan.terms > std::numeric_limits<std::int32_t>::max()) {
        return decline();
    }
    // Over all axes an index counts in C order, in which only these arrays are walked.
    if (arguments.is_none(1) && !x.is_plain()) return decline();
    if (x.type() == Type::other || x.type() == Type::boolean) return decline();
    PyObject* values = with_values ? new_outputs(plan, x.number()) : nullptr;
    PyObject* indices = new_outputs(plan, NPY_INT64);
    if (indices == nullptr || (with_values && values == nullptr)) {
        Py_XDECREF(values);
        Py_XDECREF(indices);
        return nullptr;
    }
    std::int64_t* to = Array(indices).data<std::int64_t>();
    switch (x.type()) {
        case Type::float64: search<double, Order>(plan, values, to); break;
        case Type::float32: case Type::float16: case Type::bfloat16:
            search<float, Order>(plan, values, to);
            break;
        default: search<std::int64_t, Order>(plan, values, to);
    }
    if (!with_values) return in_callers_order(plan, indices);
    return tuple({in_callers_order(plan, values), in_callers_order(plan, indices)});
}

PyObject* max(Arguments arguments) { return extreme<Largest>(arguments, true); }
PyObject* min(Arguments arguments) { return extreme<Smallest>(arguments, true); }
PyObject* argmax(Arguments arguments) { return extreme<Largest>(arguments, false); }
PyObject* argmin(Arguments arguments) { return extreme<Smallest>(arguments, false); }

Registration max_("max", max), min_("min", min), argmax_("argmax", argmax),
    argmin_("argmin", argmin);

}  // namespace
}  // namespace nnkit
