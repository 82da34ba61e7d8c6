// Sorting and selecting along an axis, in the one stable order: of equal elements the first wins.
#include <limits>
#include <utility>

#include "layout.h"
#include "lines.h"
#include "order.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index work_of_task = 4096;  // elements

template <class T> struct Sorter {
    bool descending;

    void operator()(const T* line, Index count, LineResults<T> out) const {
        const Order<T> order(line, count, descending);
        for (Index i = 0; i < count; ++i) out.indices[i] = order[i];
        if (out.values == nullptr) return;
        for (Index i = 0; i < count; ++i) out.values[i] = line[out.indices[i]];
    }
};

// The first `kept` elements of the order. Those that may be among them are kept, with a bound that
// most of many elements fail at once.
template <class T> struct Selector {
    using Key = KeyOf<T>;
    Index kept;
    bool descending;

    void operator()(const T* line, Index count, LineResults<T> out) const {
        constexpr Index few = 32;
        if (kept <= few) {
            Item<Key> items[few];
            keep_few(line, count, items);
            put(line, items, out);
        } else {
            Index capacity = std::min(count, 2 * kept);
            Scratch<Item<Key>> items(capacity);
            keep_many(line, count, capacity, items.data());
            std::sort(items.data(), items.data() + kept);
            put(line, items.data(), out);
        }
    }

private:
    // The best ones so far stay sorted.
    void keep_few(const T* line, Index count, Item<Key>* items) const {
        fill_items(line, kept, descending, items);
        sort_few(items, kept);
        for_candidates(line, kept, count, items, [&](const Item<Key>& item) {
            Index at = kept - 1;
            for (; at > 0 && item < items[at - 1]; --at) items[at] = items[at - 1];
            items[at] = item;
        });
    }

    // Candidates gather behind the best ones so far until there is no room.
    void keep_many(const T* line, Index count, Index capacity, Item<Key>* items) const {
        fill_items(line, capacity, descending, items);
        std::nth_element(items, items + kept - 1, items + capacity);
        Index held = kept;
        for_candidates(line, capacity, count, items, [&](const Item<Key>& item) {
            items[held++] = item;
            if (held < capacity) return;
            std::nth_element(items, items + kept - 1, items + held);
            held = kept;
        });
        if (held > kept) std::nth_element(items, items + kept - 1, items + held);
    }

    // Calls `take(item)` for what comes before `items[kept - 1]`, as that stands at the time.
    template <class Take>
    void for_candidates(const T* line, Index i, Index count, const Item<Key>* items,
                        Take take) const {
        const Item<Key>& worst = items[kept - 1];
        while (i < count) {
            T bound = line[index_of_item(worst)];
            for (; i + several <= count && !any_before(line + i, bound); i += several) {}
            for (Index end = std::min(count, i + several); i < end; ++i) {
                Item<Key> item{key_of(line[i], descending), static_cast<Key>(i)};
                if (item < worst) take(item);
            }
        }
    }

    void put(const T* line, const Item<Key>* items, LineResults<T> out) const {
        for (Index j = 0; j < kept; ++j) {
            out.indices[j] = index_of_item(items[j]);
            out.values[j] = line[out.indices[j]];
        }
    }

    static constexpr int several = 16;

    // Whether any of several elements may come before the bound (a NaN always may).
    bool any_before(const T* x, T bound) const {
        std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t> found = 0;
        if (descending) {
            for (int k = 0; k < several; ++k) found |= !(x[k] <= bound) ? 1 : 0;
        } else {
            for (int k = 0; k < several; ++k) found |= !(x[k] >= bound) ? 1 : 0;
        }
        return found != 0;
    }
};

// The one element at a place of the ascending order; the first NaN instead if `nan_wins`.
template <class T> struct Picker {
    Index place;
    bool nan_wins;

    void operator()(const T* line, Index count, LineResults<T> out) const {
        if (std::is_floating_point_v<T> && nan_wins) {
            for (Index i = 0; i < count; ++i) {
                if (line[i] != line[i]) return put(line, i, out);
            }
        }
        Scratch<KeyOf<T>> keys(count);
        for (Index i = 0; i < count; ++i) keys[i] = key_of(line[i], false);
        Index before = place;  // of those that are equal to it
        const KeyOf<T> key = select_key(keys.data(), count, &before);
        Index i = 0;
        while (key_of(line[i], false) != key || before-- > 0) ++i;
        put(line, i, out);
    }

    static void put(const T* line, Index i, LineResults<T> out) {
        out.indices[0] = i;
        out.values[0] = line[i];
    }
};

// The most frequent element, the least of several; of those that are equal the last. A NaN equals
// nothing.
template <class T> struct Counter {
    void operator()(const T* line, Index count, LineResults<T> out) const {
        const Order<T> order(line, count, false);
        Index most = 0, run = 0, last = 0;
        for (Index i = 0; i < count; ++i) {
            run = i > 0 && line[order[i]] == line[order[i - 1]] ? run + 1 : 1;
            if (run <= most) continue;
            most = run;
            last = order[i];
        }
        Picker<T>::put(line, last, out);
    }
};

struct Request {
    Array x;
    AlongAxis along;

    bool read(Arguments arguments, Index axis) {
        x = arguments.array(0);
        return x && x.is_behaved() &&
               read_axis(x, arguments[axis], &along) &&
               along.count <= Index{std::numeric_limits<std::int32_t>::max()};
    }
};

// Values and indices (or indices alone) with `kept` elements along the axis, which goes for one
// element unless `keep_axis`; `make(T())` is what is done to a line.
template <class Make>
PyObject* by_lines(const Request& request, Index axis, Index kept, bool keep_axis, bool with_values,
                   Make make) {
    Owned plain = in_order(request.x);
    if (!plain) return nullptr;
    Array x = plain.array();
    npy_intp shape[most_axes];
    int ndim = 0;
    if (axis < 0) axis += x.ndim();
    for (int i = 0; i < x.ndim(); ++i) {
        if (i != axis) shape[ndim++] = x.shape()[i];
        else if (keep_axis) shape[ndim++] = kept;
    }
    Owned values, indices(empty<std::int64_t>(ndim, shape));
    if (with_values) {
        Py_INCREF(x.descriptor());
        values.reset(empty(ndim, shape, x.descriptor()));
    }
    if (!indices || (with_values && !values)) return nullptr;
    const AlongAxis& along = request.along;
    if (along.size() > 0 && kept > 0) {
        with_ordered_type(x.type(), [&](auto zero) {
            using T = decltype(zero);
            auto body = make(zero);
            T* to = with_values ? values.array().template data<T>() : nullptr;
            LineResults<T> out{to, indices.array().template data<std::int64_t>()};
            Index grain = std::max<Index>(1, work_of_task / along.count);
            for_lines<T>(along, x.data<T>(), kept, out, grain,
                         [&](const T* line, LineResults<T> results) {
                             body(line, along.count, results);
                         });
        });
    }
    return with_values ? tuple({values.release(), indices.release()}) : indices.release();
}

bool is_sortable(Array x) {
    return with_ordered_type(x.type(), [](auto) {});
}

PyObject* transposed(PyObject* array, const npy_intp* axes) {
    PyArray_Dims dims{const_cast<npy_intp*>(axes), Array(array).ndim()};
    return PyArray_Transpose(reinterpret_cast<PyArrayObject*>(array), &dims);
}

// The result for a turned array, turned back; it takes the reference.
PyObject* turned_back(PyObject* result, const npy_intp* back) {
    Owned scope(result);
    if (result == nullptr || !PyTuple_CheckExact(result)) {
        return result == nullptr ? nullptr : transposed(result, back);
    }
    return tuple({transposed(PyTuple_GET_ITEM(result, 0), back),
                  transposed(PyTuple_GET_ITEM(result, 1), back)});
}

// sort(x; axis, descending), argsort(x; axis, descending): the results lie in memory as x does.
PyObject* sorted(Arguments arguments, bool with_values) {
    Request request;
    if (!request.read(arguments, 1) || !is_sortable(request.x)) return decline();
    bool descending = arguments.truth(2);
    Index axis = arguments.integer(1);
    auto run = [&] {
        return by_lines(request, axis, request.along.count, true, with_values,
                        [&](auto zero) { return Sorter<decltype(zero)>{descending}; });
    };
    Array x = request.x;
    if (x.is_plain()) return run();
    if (x.ndim() > most_axes) return decline();
    Walk walk;
    Operand operand;
    order_axes(&x, &operand, 1, x.ndim(), x.shape(), &walk);
    npy_intp axes[most_axes], back[most_axes];
    for (int i = 0; i < x.ndim(); ++i) {
        axes[i] = walk.order[i];
        back[walk.order[i]] = i;
    }
    Owned turned(transposed(x.object(), axes));
    if (!turned) return nullptr;
    axis = back[axis < 0 ? axis + x.ndim() : axis];
    request.x = turned.array();
    request.along = along_axis(request.x, static_cast<int>(axis));
    return turned_back(run(), back);
}

PyObject* sort(Arguments arguments) { return sorted(arguments, true); }
PyObject* argsort(Arguments arguments) { return sorted(arguments, false); }

// topk(x; k, axis, largest, sorted)
PyObject* topk(Arguments arguments) {
    Request request;
    if (!request.read(arguments, 2) || !is_sortable(request.x)) return decline();
    Index k = arguments.integer(1), count = request.along.count;
    if (k < 0 || k > count) return decline();
    bool descending = arguments.truth(3);
    return by_lines(request, arguments.integer(2), k, true, true, [&](auto zero) {
        return Selector<decltype(zero)>{k, descending};
    });
}

// kthvalue(x; k, axis, keepdims)
PyObject* kthvalue(Arguments arguments) {
    Request request;
    if (!request.read(arguments, 2) || !is_sortable(request.x)) return decline();
    Index k = arguments.integer(1);
    if (k < 1 || k > request.along.count) return decline();
    return by_lines(request, arguments.integer(2), 1, arguments.truth(3), true, [&](auto zero) {
        return Picker<decltype(zero)>{k - 1, false};
    });
}

// median(x; axis, keepdims)
PyObject* median(Arguments arguments) {
    Request request;
    if (!request.read(arguments, 1) || !is_sortable(request.x)) return decline();
    if (request.along.count == 0) return decline();
    Index place = (request.along.count - 1) / 2;
    return by_lines(request, arguments.integer(1), 1, arguments.truth(2), true, [&](auto zero) {
        return Picker<decltype(zero)>{place, true};
    });
}

// mode(x; axis, keepdims)
PyObject* mode(Arguments arguments) {
    Request request;
    if (!request.read(arguments, 1) || !is_sortable(request.x)) return decline();
    if (request.along.count == 0) return decline();
    return by_lines(request, arguments.integer(1), 1, arguments.truth(2), true,
                    [&](auto zero) { return Counter<decltype(zero)>{}; });
}

// median_all(x; ignore_nan)
PyObject* median_all(Arguments arguments) {
    Array x = arguments.array(0);
    if (!x || !x.is_behaved() || !is_sortable(x) || x.size() == 0) return decline();
    if (x.size() > Index{std::numeric_limits<std::int32_t>::max()}) return decline();
    const bool ignore_nan = arguments.truth(1);
    Owned plain = in_order(x);
    Py_INCREF(x.descriptor());
    Owned value(empty(0, nullptr, x.descriptor()));
    if (!plain || !value) return nullptr;
    with_ordered_type(x.type(), [&](auto zero) {
        using T = decltype(zero);
        const T* from = plain.array().template data<T>();
        Index count = x.size(), index;
        if (ignore_nan) count -= std::count_if(from, from + count, [](T v) { return v != v; });
        const Picker<T> picker{std::max<Index>(count - 1, 0) / 2, !ignore_nan};
        picker(from, x.size(), {value.array().template data<T>(), &index});
    });
    return value.release();
}

Registration sort_("sort", sort), argsort_("argsort", argsort), topk_("topk", topk),
    kthvalue_("kthvalue", kthvalue), median_("median", median),
    median_all_("median_all", median_all), mode_("mode", mode);

}  // namespace
}  // namespace nnkit
