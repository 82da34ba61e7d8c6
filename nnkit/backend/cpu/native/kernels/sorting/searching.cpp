// Places in sorted sequences, and numbers of occurrences.
#include <algorithm>

#include "order.h"

namespace nnkit {
namespace {

constexpr Index work_of_task = 4096;
constexpr Index together = 16;  // values whose searches overlap, so that none waits alone

// The place of each value: before the boundaries that equal it, or behind them (`right`).
template <bool right, class T>
void place(const T* boundaries, Index size, const T* values, Index count, std::int64_t* places) {
    auto is_past = [](T boundary, T value) {
        return right ? !(value < boundary) : boundary < value;
    };
    Index base[together];
    for (Index start = 0; start < count; start += together) {
        Index some = std::min(together, count - start);
        const T* value = values + start;
        std::fill_n(base, together, 0);
        for (Index left = size; left > 1; left -= left / 2) {
            Index half = left / 2;
            for (Index k = 0; k < some; ++k) {
                // A product, since a branch that nobody can foresee costs more.
                base[k] += half * is_past(boundaries[base[k] + half - 1], value[k]);
            }
        }
        for (Index k = 0; k < some; ++k) {
            places[start + k] = base[k] + (size > 0 && is_past(boundaries[base[k]], value[k]));
        }
    }
}

template <class T>
void place_all(Array boundaries, Array values, bool right, std::int64_t* places) {
    Index size = boundaries.shape(-1);
    Index rows = boundaries.ndim() == 1 ? 1 : boundaries.size() / std::max<Index>(size, 1);
    Index width = rows == 0 ? 0 : values.size() / rows;
    for (Index row = 0; row < rows; ++row) {
        parallel_for(width, work_of_task, [&](Index begin, Index end) {
            const T* from = boundaries.data<T>() + row * size;
            const T* wanted = values.data<T>() + row * width + begin;
            std::int64_t* to = places + row * width + begin;
            if (right) place<true>(from, size, wanted, end - begin, to);
            else place<false>(from, size, wanted, end - begin, to);
        });
    }
}

template <class T> bool has_nan(Array x) {
    const T* value = x.data<T>();
    bool found = false;
    for (Index i = 0; i < x.size(); ++i) found |= value[i] != value[i];
    return found;
}

// Where NaN is among them, torch's bisection depends on each comparison, which is left to NumPy.
bool has_nan(Array x) {
    if (x.type() == Type::float32) return has_nan<float>(x);
    return x.type() == Type::float64 && has_nan<double>(x);
}

// searchsorted(boundaries, values; right)
PyObject* searchsorted(Arguments arguments) {
    Array boundaries = arguments.array(0), values = arguments.array(1);
    if (!boundaries || !values || boundaries.ndim() == 0 ||
        boundaries.type() != values.type() || !boundaries.is_plain() || !values.is_plain() ||
        boundaries.size() == 0) {
        return decline();
    }
    if (boundaries.type() != Type::float32 && boundaries.type() != Type::float64 &&
        boundaries.type() != Type::int64) {
        return decline();
    }
    if (has_nan(boundaries) || has_nan(values)) return decline();
    Owned result(empty<std::int64_t>(values.ndim(), values.shape()));
    if (!result) return nullptr;
    bool right = arguments.truth(2);
    std::int64_t* places = result.array().data<std::int64_t>();
    switch (boundaries.type()) {
        case Type::float32: place_all<float>(boundaries, values, right, places); break;
        case Type::float64: place_all<double>(boundaries, values, right, places); break;
        default: place_all<std::int64_t>(boundaries, values, right, places);
    }
    return result.release();
}

// bincount(x, weights?; minlength), without weights
PyObject* bincount(Arguments arguments) {
    Array x = arguments.plain<std::int64_t>(0);
    if (!x || !arguments.is_none(1) || x.ndim() != 1) return decline();
    Index minimum = arguments.integer(2);
    const std::int64_t* values = x.data<std::int64_t>();
    Index count = x.size();
    std::int64_t least = 0, greatest = -1;
    for (Index i = 0; i < count; ++i) {
        least = std::min(least, values[i]);
        greatest = std::max(greatest, values[i]);
    }
    if (least < 0 || minimum < 0) return decline();
    npy_intp length = std::max<Index>(minimum, greatest + 1);
    Owned result(empty<std::int64_t>(1, &length));
    if (!result) return nullptr;
    std::int64_t* counts = result.array().data<std::int64_t>();
    std::fill_n(counts, length, 0);
    for (Index i = 0; i < count; ++i) ++counts[values[i]];
    return result.release();
}

constexpr Index few = 16;  // values that are compared with each element, faster than bisection

// Whether each element is among the values, which are in order if they are not few.

template <class T>
void find(const T* values, Index size, const T* x, Index count, bool* found) {
    constexpr Index most = 256;
    std::int64_t places[most];
    for (Index start = 0; start < count; start += most) {
        const Index some = std::min(most, count - start);
        if (size <= few) {
            std::fill_n(found + start, some, false);
            for (Index k = 0; k < size; ++k) {
                for (Index i = 0; i < some; ++i) found[start + i] |= x[start + i] == values[k];
            }
            continue;
        }
        place<false>(values, size, x + start, some, places);
        for (Index i = 0; i < some; ++i) {
            found[start + i] = places[i] < size && values[places[i]] == x[start + i];
        }
    }
}

// isin(x, values)
PyObject* isin(Arguments arguments) {
    Array x = arguments.array(0), values = arguments.array(1);
    if (!x || !values || x.type() != values.type() || !x.is_plain() || !values.is_plain()) {
        return decline();
    }
    Owned result;
    const bool known = with_ordered_type(x.type(), [&](auto zero) {
        using T = decltype(zero);
        result.reset(empty<bool>(x.ndim(), x.shape()));
        if (!result) return;
        const T* wanted = values.data<T>();
        Scratch<T> sorted(values.size());
        Index size = std::copy_if(wanted, wanted + values.size(), sorted.data(),
                                  [](T v) { return v == v; }) - sorted.data();
        if (size > few) std::sort(sorted.data(), sorted.data() + size);
        bool* found = result.array().template data<bool>();
        parallel_for(x.size(), work_of_task, [&](Index begin, Index end) {
            find(sorted.data(), size, x.data<T>() + begin, end - begin, found + begin);
        });
    });
    return known ? result.release() : decline();
}

Registration searchsorted_("searchsorted", searchsorted), bincount_("bincount", bincount),
    isin_("isin", isin);

}  // namespace
}  // namespace nnkit
