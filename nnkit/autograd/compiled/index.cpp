// Tuples of integers, slices, None and Ellipsis as indices: what `Index._divide` does for them.
#include "index.h"

#include "owned.h"

namespace nnkit {
namespace {

struct Number {
    bool is_there;
    long long value;
};

// Whether an object is None or an int of 64 bits.
bool read(PyObject* object, Number& number) {
    number = {object != Py_None, 0};
    if (!number.is_there) return true;
    if (!PyLong_CheckExact(object)) return false;
    int overflow;
    number.value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

enum class Slice { other, whole, part };

Slice kind_of(PyObject* item, long long size) {
    auto* slice = reinterpret_cast<PySliceObject*>(item);
    Number start, stop, step;
    if (!read(slice->start, start) || !read(slice->stop, stop) ||
        !read(slice->step, step) || (step.is_there && step.value <= 0)) {
        return Slice::other;
    }
    bool is_whole = start.value == 0 && step.value <= 1 && (!stop.is_there || stop.value >= size);
    return is_whole ? Slice::whole : Slice::part;
}

bool consumes(PyObject* item) { return PyLong_CheckExact(item) || PySlice_Check(item); }

}  // namespace

PyObject* divide_basic(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    if (count != 3) {
        return fail(PyExc_TypeError, "divide_basic: expected items, a shape and a whole slice");
    }
    if (!PyTuple_CheckExact(arguments[0]) || !PyTuple_CheckExact(arguments[1])) return none();
    PyObject *items = arguments[0], *shape = arguments[1], *all = arguments[2];
    Py_ssize_t length = PyTuple_GET_SIZE(items), ndim = PyTuple_GET_SIZE(shape);
    Py_ssize_t consumed = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject* item = PyTuple_GET_ITEM(items, i);
        if (consumes(item)) {
            consumed++;
        } else if (item == Py_Ellipsis) {
            ellipses++;
        } else if (item != Py_None) {
            return none();
        }
    }
    if (consumed > ndim || ellipses > 1) return none();
    Py_ssize_t skipped = ndim - consumed;
    Owned basic(PyTuple_New(length - ellipses + (ellipses ? skipped : 0) + 1));
    if (!basic) return nullptr;
    Py_ssize_t place = 0, dim = 0;
    PyObject* last = Py_Ellipsis;  // an object of the class of the last item that selects
    auto put = [&](PyObject* item) { PyTuple_SET_ITEM(basic.object(), place++, Py_NewRef(item)); };
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject* item = PyTuple_GET_ITEM(items, i);
        if (item == Py_Ellipsis) {
            for (Py_ssize_t k = 0; k < skipped; k++) put(all);
            dim += skipped;
            continue;
        }
        put(item);
        if (item == Py_None) {
            last = item;
            continue;
        }
        Number extent;
        if (!read(PyTuple_GET_ITEM(shape, dim++), extent)) return none();
        long long size = extent.value;
        if (PySlice_Check(item)) {
            Slice kind = kind_of(item, size);
            if (kind == Slice::other) return none();
            if (kind == Slice::part) last = item;
        } else {
            Number number;
            if (!read(item, number) || number.value < -size || number.value >= size) {
                return none();
            }
            last = item;
        }
    }
    put(Py_Ellipsis);
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(last));
    if (last != Py_Ellipsis) return PyTuple_Pack(2, basic.object(), type);
    Owned everything(PyTuple_Pack(1, Py_Ellipsis));
    return everything ? PyTuple_Pack(2, everything.object(), type) : nullptr;
}

}  // namespace nnkit
