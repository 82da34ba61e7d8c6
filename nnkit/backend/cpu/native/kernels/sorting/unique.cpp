// The distinct elements of an array in their order, which of them each element is, and how often
// each occurs. A NaN differs from all others.
#include <limits>

#include "order.h"
#include "rows.h"

namespace nnkit {
namespace {

// The three results, for as many distinct elements as there are.
struct Results {
    Owned values, places, counts;

    Results(Array x, npy_intp distinct) {
        Py_INCREF(x.descriptor());
        values.reset(empty(1, &distinct, x.descriptor()));
        places.reset(empty<std::int64_t>(x.ndim(), x.shape()));
        counts.reset(empty<std::int64_t>(1, &distinct));
    }
    explicit operator bool() const { return values && places && counts; }
    PyObject* release() {
        return tuple({values.release(), places.release(), counts.release()});
    }
};

template <class T> PyObject* unique_by_sorting(Array x) {
    const T* value = x.data<T>();
    const Index count = x.size();
    const Order<T> order(value, count, false);
    auto is_new = [&](Index i) { return i == 0 || value[order[i]] != value[order[i - 1]]; };
    npy_intp distinct = 0;
    for (Index i = 0; i < count; ++i) distinct += is_new(i) ? 1 : 0;
    Results results(x, distinct);
    if (!results) return nullptr;
    T* values = results.values.array().template data<T>();
    std::int64_t* places = results.places.array().template data<std::int64_t>();
    std::int64_t* counts = results.counts.array().template data<std::int64_t>();
    Index current = -1;
    for (Index i = 0; i < count; ++i) {
        if (is_new(i)) {
            values[++current] = value[order[i]];
            counts[current] = 0;
        }
        places[order[i]] = current;
        ++counts[current];
    }
    return results.release();
}

// The same of integers in a short range, from `least` on: they are counted, not sorted.
template <class T> PyObject* unique_by_counting(Array x, T least, Index range) {
    const T* value = x.data<T>();
    const Index count = x.size();
    Scratch<std::int64_t> numbers(range), which(range);
    std::fill_n(numbers.data(), range, 0);
    for (Index i = 0; i < count; ++i) ++numbers[value[i] - least];
    npy_intp distinct = 0;
    for (Index v = 0; v < range; ++v) {
        which[v] = distinct;
        distinct += numbers[v] > 0 ? 1 : 0;
    }
    Results results(x, distinct);
    if (!results) return nullptr;
    T* values = results.values.array().template data<T>();
    std::int64_t* places = results.places.array().template data<std::int64_t>();
    std::int64_t* counts = results.counts.array().template data<std::int64_t>();
    for (Index v = 0; v < range; ++v) {
        if (numbers[v] == 0) continue;
        values[which[v]] = static_cast<T>(least + v);
        counts[which[v]] = numbers[v];
    }
    for (Index i = 0; i < count; ++i) places[i] = which[value[i] - least];
    return results.release();
}

template <class T> PyObject* unique_of(Array x) {
    if constexpr (std::is_integral_v<T>) {
        if (x.size() > 0) {
            const auto [least, most] = std::minmax_element(x.data<T>(), x.data<T>() + x.size());
            const auto range = static_cast<std::uint64_t>(*most) - static_cast<std::uint64_t>(*least);
            if (range < static_cast<std::uint64_t>(x.size())) {
                return unique_by_counting<T>(x, *least, static_cast<Index>(range) + 1);
            }
        }
    }
    return unique_by_sorting<T>(x);
}

// The same with only neighbours compared, in the order of the array.
template <class T> PyObject* unique_neighbours(Array x) {
    const T* value = x.data<T>();
    const Index count = x.size();
    npy_intp distinct = count > 0 ? 1 : 0;
    for (Index i = 1; i < count; ++i) distinct += value[i] != value[i - 1] ? 1 : 0;
    Results results(x, distinct);
    if (!results) return nullptr;
    T* values = results.values.array().template data<T>();
    std::int64_t* places = results.places.array().template data<std::int64_t>();
    std::int64_t* counts = results.counts.array().template data<std::int64_t>();
    Index run = 0;
    for (Index start = 0, end = 0; start < count; start = end, ++run) {
        while (end < count && (end == start || value[end] == value[end - 1])) places[end++] = run;
        values[run] = value[start];
        counts[run] = end - start;
    }
    return results.release();
}

// `find` is given a zero of the type of the first argument, and that laid out by rows.
template <class Find> PyObject* of_all_elements(Arguments arguments, Find find) {
    Array x = arguments.array(0);
    if (!x || !arguments.is_none(1) || !x.is_behaved()) return decline();
    if (x.size() > Index{std::numeric_limits<std::int32_t>::max()}) return decline();
    Owned plain = in_order(x);
    if (!plain) return nullptr;
    PyObject* result = nullptr;
    const bool known = with_ordered_type(x.type(), [&](auto zero) {
        result = find(zero, plain.array());
    });
    return known ? result : decline();
}

// unique(x; axis), of all elements
PyObject* unique(Arguments arguments) {
    return of_all_elements(arguments, [](auto zero, Array x) {
        return unique_of<decltype(zero)>(x);
    });
}

// unique_consecutive(x; axis), of all elements
PyObject* unique_consecutive(Arguments arguments) {
    return of_all_elements(arguments, [](auto zero, Array x) {
        return unique_neighbours<decltype(zero)>(x);
    });
}

Registration unique_("unique", unique),
    unique_consecutive_("unique_consecutive", unique_consecutive);

}  // namespace
}  // namespace nnkit
