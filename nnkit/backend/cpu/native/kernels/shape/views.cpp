// Views whose strides are torch's along dimensions of size 1 too: reshape, unsqueeze and expand.
#include "indexing.h"
#include "layout.h"

namespace nnkit {
namespace {

bool is_seen(Array x) { return x && x.ndim() < most_axes && x.size() > 0; }

// A view that begins where x does.
PyObject* view_of(Array x, int ndim, const npy_intp* shape, const npy_intp* strides) {
    Py_INCREF(x.descriptor());
    int flags = x.is_writeable() ? NPY_ARRAY_WRITEABLE : 0;
    PyObject* view = PyArray_NewFromDescr(&PyArray_Type, x.descriptor(), ndim, shape, strides,
                                          x.bytes(), flags, nullptr);
    if (view == nullptr) return nullptr;
    auto* array = reinterpret_cast<PyArrayObject*>(view);
    if (PyArray_SetBaseObject(array, Py_NewRef(x.object())) < 0) Py_CLEAR(view);
    return view;
}

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

Registration registrations[] = {
    {"reshape", reshape},
    {"view", reshape},
    {"unsqueeze", unsqueeze},
    {"expand", expand},
};

}  // namespace
}  // namespace nnkit
