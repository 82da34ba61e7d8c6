// Views whose strides are torch's along dimensions of size 1 too, pieces of an array, and where one
// lies.
#include "indexing.h"
#include "layout.h"

namespace nnkit {
namespace {

bool is_seen(Array x) { return x && x.ndim() < most_axes && x.size() > 0; }

// reshape(x; shape) and view(x; shape): where that takes no copy. Dimensions that follow on each other are one.
PyObject* reshape(Arguments arguments) {
    Array x = arguments.array(0);
    npy_intp shape[most_axes], strides[most_axes];
    int left = read_integers(arguments[1], shape, most_axes), ndim = left;
    if (!is_seen(x) || left < 0) return decline();
    Index step = item_bytes(x), here = 1, there = 1;
    if (x.ndim() > 0) step = x.strides()[x.ndim() - 1];
    auto follow = [&] {
        while (left > 0 && (there < here || shape[left - 1] == 1)) {
            --left;
            strides[left] = there * step;
            there *= shape[left];
        }
        return there == here;
    };
    for (int axis = x.ndim() - 1; axis >= 0; --axis) {
        here *= x.shape(axis);
        if (axis > 0 && (x.shape()[axis - 1] == 1 || x.strides()[axis - 1] == here * step)) continue;
        if (!follow()) return decline();
        if (axis > 0) {
            step = x.strides()[axis - 1];
            here = there = 1;
        }
    }
    if (x.ndim() == 0 && !follow()) return decline();
    return left > 0 ? decline() : view_of(x, ndim, shape, strides);
}

// unsqueeze(x; axis)
PyObject* unsqueeze(Arguments arguments) {
    Array x = arguments.array(0);
    Index axis = arguments.integer(1);
    if (!is_seen(x)) return decline();
    int ndim = x.ndim();
    if (axis < 0) axis += ndim + 1;
    if (axis < 0 || axis > ndim) return decline();
    npy_intp shape[most_axes], strides[most_axes];
    for (int i = 0; i <= ndim; ++i) {
        int from = i < axis ? i : i - 1;
        if (i != axis) {
            shape[i] = x.shape()[from];
            strides[i] = x.strides()[from];
        }
    }
    shape[axis] = 1;
    strides[axis] = axis == ndim ? item_bytes(x) : x.shape()[axis] * x.strides()[axis];
    return view_of(x, ndim + 1, shape, strides);
}

// expand(x; shape)
PyObject* expand(Arguments arguments) {
    Array x = arguments.array(0);
    npy_intp shape[most_axes], strides[most_axes] = {};
    int ndim = read_integers(arguments[1], shape, most_axes);
    if (!is_seen(x) || ndim < x.ndim()) return decline();
    int added = ndim - x.ndim();
    for (int i = ndim - 1; i >= added; --i) {
        Index size = x.shape()[i - added];
        if (size == shape[i]) strides[i] = x.strides()[i - added];
        else if (size != 1) return decline();
    }
    for (int i = added - 1; i >= 0 && x.ndim() > 0; --i) {
        if (shape[i] == 1) strides[i] = shape[i + 1] * strides[i + 1];
    }
    return view_of(x, ndim, shape, strides);
}

// Takes a slice of an axis: its length, step and first element in place of the axis' own.
bool take_slice(PyObject* slice, npy_intp* size, npy_intp* stride, Index* offset) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return false;
    }
    const Index left = PySlice_AdjustIndices(*size, &start, &stop, step);
    if (step <= 0 || left == 0) return false;
    *offset += start * *stride;
    *size = left;
    *stride *= step;
    return true;
}

// getitem(x; index): where elements are left. A new axis is inserted before what follows is looked at.
PyObject* getitem(Arguments arguments) {
    Array x = arguments.array(0);
    PyObject* index = arguments[1];
    if (!is_seen(x) || !PyTuple_CheckExact(index)) return decline();
    const Py_ssize_t count = PyTuple_GET_SIZE(index);
    auto consumes = [](PyObject* item) { return PyLong_CheckExact(item) || PySlice_Check(item); };
    Index skipped = x.ndim();
    for (Py_ssize_t k = 0; k < count; ++k) skipped -= consumes(PyTuple_GET_ITEM(index, k));
    npy_intp shape[most_axes], strides[most_axes];
    Index offset = 0;
    int axis = 0, ndim = 0;
    auto keep = [&] {
        shape[ndim] = x.shape()[axis];
        strides[ndim++] = x.strides()[axis++];
    };
    if (skipped < 0 || x.ndim() + count >= most_axes) return decline();
    for (Py_ssize_t k = 0; k < count; ++k) {
        PyObject* item = PyTuple_GET_ITEM(index, k);
        if (item == Py_Ellipsis) {
            for (Index end = axis + skipped; axis < end;) keep();
            skipped = 0;
        } else if (item == Py_None) {
            const bool last = axis == x.ndim();
            shape[ndim] = 1;
            strides[ndim++] = last ? item_bytes(x) : x.shape()[axis] * x.strides()[axis];
        } else if (PySlice_Check(item)) {
            keep();
            if (!take_slice(item, shape + ndim - 1, strides + ndim - 1, &offset)) return decline();
        } else if (PyLong_CheckExact(item)) {
            const Index size = x.shape()[axis], at = PyLong_AsSsize_t(item);
            if (PyErr_Occurred() || at < -size || at >= size) {
                PyErr_Clear();
                return decline();
            }
            offset += (at < 0 ? at + size : at) * x.strides()[axis++];
        } else {
            return decline();
        }
    }
    while (axis < x.ndim()) keep();
    return view_of(x, ndim, shape, strides, offset);
}

// Reads the axis of an array with elements; -1 for none.
int axis_of(Array x, Index axis) {
    if (!is_seen(x)) return -1;
    if (axis < 0) axis += x.ndim();
    return axis >= 0 && axis < x.ndim() ? static_cast<int>(axis) : -1;
}

// split(x; sizes, axis)
PyObject* split(Arguments arguments) {
    constexpr int most = 256;
    Array x = arguments.array(0);
    const int axis = axis_of(x, arguments.integer(2));
    Index sizes[most], start = 0;
    const int count = read_integers(arguments[1], sizes, most);
    if (axis < 0 || count < 0) return decline();
    for (int k = 0; k < count; ++k) {
        if (sizes[k] <= 0 || sizes[k] > x.shape(axis) - start) return decline();
        start += sizes[k];
    }
    npy_intp shape[most_axes];
    std::copy_n(x.shape(), x.ndim(), shape);
    Owned pieces(PyTuple_New(count));
    Index offset = 0;
    for (int k = 0; pieces && k < count; ++k) {
        shape[axis] = sizes[k];
        PyObject* piece = view_of(x, x.ndim(), shape, x.strides(), offset);
        if (piece == nullptr) return nullptr;
        PyTuple_SET_ITEM(pieces.object(), k, piece);
        offset += sizes[k] * x.strides()[axis];
    }
    return pieces.release();
}

// unbind(x; axis)
PyObject* unbind(Arguments arguments) {
    Array x = arguments.array(0);
    const int axis = axis_of(x, arguments.integer(1));
    if (axis < 0) return decline();
    npy_intp shape[most_axes], strides[most_axes];
    for (int i = 0, k = 0; i < x.ndim(); ++i) {
        if (i == axis) continue;
        shape[k] = x.shape()[i];
        strides[k++] = x.strides()[i];
    }
    const Index count = x.shape(axis);
    Owned pieces(PyTuple_New(count));
    for (Index k = 0; pieces && k < count; ++k) {
        PyObject* piece = view_of(x, x.ndim() - 1, shape, strides, k * x.strides()[axis]);
        if (piece == nullptr) return nullptr;
        PyTuple_SET_ITEM(pieces.object(), k, piece);
    }
    return pieces.release();
}

// The axes in another order: permute(x; axes), swapaxes(x; axis1, axis2), mT(x).
PyObject* permuted(Array x, const Index* axes) {
    npy_intp shape[most_axes], strides[most_axes];
    for (int i = 0; i < x.ndim(); ++i) {
        shape[i] = x.shape()[axes[i]];
        strides[i] = x.strides()[axes[i]];
    }
    return view_of(x, x.ndim(), shape, strides);
}

PyObject* permute(Arguments arguments) {
    Array x = arguments.array(0);
    Index axes[most_axes];
    if (!is_seen(x) || read_integers(arguments[1], axes, most_axes) != x.ndim()) return decline();
    std::uint64_t seen = 0;
    for (int i = 0; i < x.ndim(); ++i) {
        if (axes[i] < 0 || axes[i] >= x.ndim()) return decline();
        seen |= std::uint64_t{1} << axes[i];
    }
    return seen == (std::uint64_t{1} << x.ndim()) - 1 ? permuted(x, axes) : decline();
}

PyObject* swapped(Array x, int a, int b) {
    if (a < 0 || b < 0) return decline();
    Index axes[most_axes];
    for (int i = 0; i < x.ndim(); ++i) axes[i] = i == a ? b : i == b ? a : i;
    return permuted(x, axes);
}

PyObject* swapaxes(Arguments arguments) {
    Array x = arguments.array(0);
    return swapped(x, axis_of(x, arguments.integer(1)), axis_of(x, arguments.integer(2)));
}

PyObject* matrix_transpose(Arguments arguments) {
    Array x = arguments.array(0);
    return x && x.ndim() > 1 ? swapped(x, axis_of(x, -2), axis_of(x, -1)) : decline();
}

// squeeze(x; axes), of size 1
PyObject* squeeze(Arguments arguments) {
    Array x = arguments.array(0);
    Index axes[most_axes];
    const int count = read_integers(arguments[1], axes, most_axes);
    if (!is_seen(x) || count < 0) return decline();
    std::uint64_t dropped = 0;
    for (int k = 0; k < count; ++k) {
        const int axis = axis_of(x, axes[k]);
        if (axis < 0 || x.shape(axis) != 1) return decline();
        dropped |= std::uint64_t{1} << axis;
    }
    npy_intp shape[most_axes], strides[most_axes];
    int ndim = 0;
    for (int i = 0; i < x.ndim(); ++i) {
        if (dropped >> i & 1) continue;
        shape[ndim] = x.shape()[i];
        strides[ndim++] = x.strides()[i];
    }
    return view_of(x, ndim, shape, strides);
}

// diagonal(x; offset, axis1, axis2): the new last axis is a step along both.
PyObject* diagonal(Arguments arguments) {
    Array x = arguments.array(0);
    const Index above = std::max<Index>(arguments.integer(1), 0);
    const Index below = std::max<Index>(-arguments.integer(1), 0);
    const int a = axis_of(x, arguments.integer(2)), b = axis_of(x, arguments.integer(3));
    if (a < 0 || b < 0 || a == b) return decline();
    const Index count = std::min(x.shape(a) - below, x.shape(b) - above);
    if (count <= 0) return decline();
    npy_intp shape[most_axes], strides[most_axes];
    int ndim = 0;
    for (int i = 0; i < x.ndim(); ++i) {
        if (i == a || i == b) continue;
        shape[ndim] = x.shape()[i];
        strides[ndim++] = x.strides()[i];
    }
    const npy_intp *steps = x.strides();
    shape[ndim] = count;
    strides[ndim++] = steps[a] + steps[b];
    return view_of(x, ndim, shape, strides, below * steps[a] + above * steps[b]);
}

// unfold(x; axis, size, step): windows along an axis that is there.
PyObject* unfold(Arguments arguments) {
    Array x = arguments.array(0);
    const int axis = axis_of(x, arguments.integer(1)), ndim = x ? x.ndim() : 0;
    const Index size = arguments.integer(2), step = arguments.integer(3);
    if (axis < 0 || size < 1 || size > x.shape(axis) || step < 1) return decline();
    npy_intp shape[most_axes], strides[most_axes];
    std::copy_n(x.shape(), ndim, shape);
    std::copy_n(x.strides(), ndim, strides);
    shape[ndim] = size;
    strides[ndim] = strides[axis];
    shape[axis] = (shape[axis] - size) / step + 1;
    strides[axis] *= step;
    return view_of(x, ndim + 1, shape, strides);
}

// view_as_complex(x) and view_as_real(x): pairs that lie side by side as numbers, and back.
PyObject* view_as_complex(Arguments arguments) {
    Array x = arguments.array(0);
    const bool single = x && x.number() == NPY_FLOAT;
    if (!is_seen(x) || x.ndim() == 0 || !(single || x.number() == NPY_DOUBLE)) return decline();
    const int last = x.ndim() - 1;
    if (x.shape(last) != 2 || x.strides()[last] != item_bytes(x)) return decline();
    PyArray_Descr* pair = PyArray_DescrFromType(single ? NPY_CFLOAT : NPY_CDOUBLE);
    return view_of(x, last, x.shape(), x.strides(), 0, pair);
}

PyObject* view_as_real(Arguments arguments) {
    Array x = arguments.array(0);
    const bool single = x && x.number() == NPY_CFLOAT;
    if (!is_seen(x) || !(single || x.number() == NPY_CDOUBLE)) return decline();
    const int ndim = x.ndim();
    npy_intp shape[most_axes], strides[most_axes];
    std::copy_n(x.shape(), ndim, shape);
    std::copy_n(x.strides(), ndim, strides);
    shape[ndim] = 2;
    strides[ndim] = item_bytes(x) / 2;
    PyArray_Descr* part = PyArray_DescrFromType(single ? NPY_FLOAT : NPY_DOUBLE);
    return view_of(x, ndim + 1, shape, strides, 0, part);
}

// The array that the memory of another was made for: what torch calls its storage.
Array owner_of(Array x) {
    for (;;) {
        PyObject* base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(x.object()));
        if (base == nullptr || !PyArray_Check(base)) return x;
        x = Array(base);
    }
}

// as_strided(x; shape, strides, offset, source): a geometry in elements that stays in the storage.
PyObject* as_strided(Arguments arguments) {
    Array x = arguments.array(0);
    npy_intp shape[most_axes], strides[most_axes];
    const int ndim = read_integers(arguments[1], shape, most_axes);
    const Index offset = arguments.integer(3), bytes = x ? item_bytes(x) : 0;
    if (!is_seen(x) || ndim < 0) return decline();
    if (read_integers(arguments[2], strides, most_axes) != ndim) return decline();
    Array storage = owner_of(x);
    auto* memory = reinterpret_cast<PyArrayObject*>(storage.object());
    Index left = static_cast<Index>(PyArray_NBYTES(memory)) / bytes;
    if (!PyArray_ISONESEGMENT(memory) || offset < 0 || offset >= left) return decline();
    left -= offset + 1;  // elements behind the first
    for (int i = 0; i < ndim; ++i) {
        if (shape[i] < 1 || strides[i] < 0 || strides[i] > PTRDIFF_MAX / bytes) return decline();
        if (shape[i] > 1 && strides[i] > left / (shape[i] - 1)) return decline();
        left -= (shape[i] - 1) * strides[i];
        strides[i] *= bytes;
    }
    return view_of(x, ndim, shape, strides, storage.bytes() + offset * bytes - x.bytes());
}

// storage_offset(x): in elements, from the first of the storage.
PyObject* storage_offset(Arguments arguments) {
    Array x = arguments.array(0);
    if (!x || item_bytes(x) == 0) return decline();
    return PyLong_FromSsize_t((x.bytes() - owner_of(x).bytes()) / item_bytes(x));
}

// data_pointer(x): the address of the first element, which NumPy tells by way of a dict.
PyObject* data_pointer(Arguments arguments) {
    Array x = arguments.array(0);
    if (!x) return decline();
    return PyLong_FromVoidPtr(x.size() > 0 ? x.data<void>() : nullptr);
}

Registration registrations[] = {
    {"reshape", reshape},
    {"view", reshape},
    {"unsqueeze", unsqueeze},
    {"getitem", getitem},
    {"expand", expand},
    {"split", split},
    {"unbind", unbind},
    {"permute", permute},
    {"swapaxes", swapaxes},
    {"mT", matrix_transpose},
    {"squeeze", squeeze},
    {"diagonal", diagonal},
    {"unfold", unfold},
    {"view_as_complex", view_as_complex},
    {"view_as_real", view_as_real},
    {"as_strided", as_strided},
    {"storage_offset", storage_offset},
    {"data_pointer", data_pointer},
};

}  // namespace
}  // namespace nnkit
