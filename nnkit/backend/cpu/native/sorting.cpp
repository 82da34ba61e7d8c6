// Sorting and selecting along an axis, in the one stable order: of equal elements the first wins.
#include <limits>
#include <utility>

#include "layout.h"
#include "lines.h"
#include "order.h"

namespace nnkit {
namespace {

constexpr Index work_of_task = 4096;  // elements

// An array in C order: itself, or a copy that is freed with this object.
class Plain {
public:
    explicit Plain(Array x) {
        if (x) owned_ = x.is_plain() ? Py_NewRef(x.object()) : copy(x);
    }
    ~Plain() { Py_XDECREF(owned_); }
    Plain(const Plain&) = delete;
    explicit operator bool() const { return owned_ != nullptr; }
    Array array() const { return Array(owned_); }

private:
    static PyObject* copy(Array x) {
        return PyArray_FromArray(reinterpret_cast<PyArrayObject*>(x.object()), nullptr,
                                 NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY);
    }

    PyObject* owned_ = nullptr;
};

template <class T> struct Sorter {
    bool descending;

    void operator()(const T* line, Index count, LineResults<T> out) const {
        using Key = KeyOf<T>;
        constexpr Index few = 160;
        Item<Key> nearby[few];
        Scratch<Item<Key>> room(count > few ? 2 * count : 0);
        Item<Key>* items = count > few ? room.data() : nearby;
        fill_items(line, count, descending, items);
        items = sort_items(items, items + count, count);
        for (Index i = 0; i < count; ++i) out.indices[i] = index_of_item(items[i]);
        if (out.values == nullptr) return;
        for (Index i = 0; i < count; ++i) out.values[i] = line[out.indices[i]];
    }
};

// The first `kept` elements of the order. Few of many are found by keeping those that may be among
// them, with a bound that most elements fail at once.
template <class T> struct Selector {
    Index kept;
    bool descending;

    void operator()(const T* line, Index count, LineResults<T> out) const {
        using Key = KeyOf<T>;
        Index capacity = std::min(count, std::max<Index>(4 * kept, 64));
        Scratch<Item<Key>> items(capacity);
        fill_items(line, capacity, descending, items.data());
        auto keep_best = [&](Index held) {
            std::nth_element(items.data(), items.data() + kept - 1, items.data() + held);
        };
        Index held = capacity, i = capacity;
        if (i < count) {
            keep_best(held);
            held = kept;
        }
        constexpr Index several = 16;
        while (i < count) {
            Item<Key> worst = items[kept - 1];
            T bound = line[index_of_item(worst)];
            for (; i + several <= count && !any_before(line + i, bound); i += several) {}
            Index end = std::min(count, i + several);
            for (; i < end; ++i) {
                Item<Key> item{key_of(line[i], descending), static_cast<Key>(i)};
                if (!(item < worst)) continue;
                items[held++] = item;
                if (held < capacity) continue;
                keep_best(held);
                held = kept;
                worst = items[kept - 1];
            }
        }
        if (held > kept) keep_best(held);
        std::sort(items.data(), items.data() + kept);
        for (Index j = 0; j < kept; ++j) {
            out.indices[j] = index_of_item(items[j]);
            out.values[j] = line[out.indices[j]];
        }
    }

private:
    // Whether any of several elements may come before the bound (a NaN always may).
    bool any_before(const T* x, T bound) const {
        std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t> found = 0;
        if (descending) {
            for (int k = 0; k < 16; ++k) found |= !(x[k] <= bound) ? 1 : 0;
        } else {
            for (int k = 0; k < 16; ++k) found |= !(x[k] >= bound) ? 1 : 0;
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
        Scratch<Item<KeyOf<T>>> items(count);
        fill_items(line, count, false, items.data());
        std::nth_element(items.data(), items.data() + place, items.data() + count);
        put(line, index_of_item(items[place]), out);
    }

    static void put(const T* line, Index i, LineResults<T> out) {
        out.indices[0] = i;
        out.values[0] = line[i];
    }
};

// Calls `body(T())` with the type that elements of `type` are ordered as; false for other types.
template <class Body> bool with_type(Type type, Body body) {
    switch (type) {
        case Type::float32: body(float()); return true;
        case Type::float64: body(double()); return true;
        case Type::int32: body(std::int32_t()); return true;
        case Type::int64: body(std::int64_t()); return true;
        default: return false;
    }
}

struct Request {
    Array x;
    AlongAxis along;

    bool read(Arguments arguments, Index axis, Index count) {
        x = arguments.array(0);
        return x && arguments.count() == count && x.is_behaved() &&
               read_axis(x, arguments[axis], &along) &&
               along.count <= Index{std::numeric_limits<std::int32_t>::max()};
    }
};

// Values and indices (or indices alone) with `kept` elements along the axis, which goes for one
// element unless `keep_axis`; `make(T())` is what is done to a line.
template <class Make>
PyObject* by_lines(const Request& request, Index axis, Index kept, bool keep_axis, bool with_values,
                   Make make) {
    Plain plain(request.x);
    if (!plain) return nullptr;
    Array x = plain.array();
    npy_intp shape[most_axes];
    int ndim = 0;
    if (axis < 0) axis += x.ndim();
    for (int i = 0; i < x.ndim(); ++i) {
        if (i != axis) shape[ndim++] = x.shape()[i];
        else if (keep_axis) shape[ndim++] = kept;
    }
    PyObject* values = nullptr;
    if (with_values) {
        Py_INCREF(x.descriptor());
        values = empty(ndim, shape, x.descriptor());
        if (values == nullptr) return nullptr;
    }
    PyObject* indices = empty<std::int64_t>(ndim, shape);
    if (indices == nullptr) {
        Py_XDECREF(values);
        return nullptr;
    }
    const AlongAxis& along = request.along;
    if (along.size() > 0 && kept > 0) {
        with_type(x.type(), [&](auto zero) {
            using T = decltype(zero);
            auto body = make(zero);
            T* to = with_values ? Array(values).data<T>() : nullptr;
            LineResults<T> out{to, Array(indices).data<std::int64_t>()};
            Index grain = std::max<Index>(1, work_of_task / along.count);
            for_lines<T>(along, x.data<T>(), kept, out, grain,
                         [&](const T* line, LineResults<T> results) {
                             body(line, along.count, results);
                         });
        });
    }
    return with_values ? tuple({values, indices}) : indices;
}

bool is_sortable(Array x) {
    return with_type(x.type(), [](auto) {});
}

PyObject* sorted(Arguments arguments, bool with_values) {
    Request request;
    if (!request.read(arguments, 1, 3) || !is_sortable(request.x)) return decline();
    bool descending = arguments.truth(2);
    return by_lines(request, arguments.integer(1), request.along.count, true, with_values,
                    [&](auto zero) { return Sorter<decltype(zero)>{descending}; });
}

PyObject* sort(Arguments arguments) { return sorted(arguments, true); }
PyObject* argsort(Arguments arguments) { return sorted(arguments, false); }

// topk(x; k, axis, largest, sorted)
PyObject* topk(Arguments arguments) {
    Request request;
    if (!request.read(arguments, 2, 5) || !is_sortable(request.x)) return decline();
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
    if (!request.read(arguments, 2, 4) || !is_sortable(request.x)) return decline();
    Index k = arguments.integer(1);
    if (k < 1 || k > request.along.count) return decline();
    return by_lines(request, arguments.integer(2), 1, arguments.truth(3), true, [&](auto zero) {
        return Picker<decltype(zero)>{k - 1, false};
    });
}

// median(x; axis, keepdims)
PyObject* median(Arguments arguments) {
    Request request;
    if (!request.read(arguments, 1, 3) || !is_sortable(request.x)) return decline();
    if (request.along.count == 0) return decline();
    Index place = (request.along.count - 1) / 2;
    return by_lines(request, arguments.integer(1), 1, arguments.truth(2), true, [&](auto zero) {
        return Picker<decltype(zero)>{place, true};
    });
}

Registration sort_("sort", sort), argsort_("argsort", argsort), topk_("topk", topk),
    kthvalue_("kthvalue", kthvalue), median_("median", median);

}  // namespace
}  // namespace nnkit
