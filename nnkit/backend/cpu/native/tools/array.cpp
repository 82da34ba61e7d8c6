// Arrays, errors and tuples: the small change between kernels and Python.
#include "array.h"

#include <cstdarg>

namespace nnkit {

int bfloat16_number = -1;

Type Array::type() const {
    switch (number()) {
        case NPY_BOOL: return Type::boolean;
        case NPY_UINT8: return Type::uint8;
        case NPY_INT8: return Type::int8;
        case NPY_INT16: return Type::int16;
        case NPY_INT: return sizeof(int) == 4 ? Type::int32 : Type::other;
        case NPY_LONG: return sizeof(long) == 8 ? Type::int64 : Type::int32;
        case NPY_LONGLONG: return Type::int64;
        case NPY_HALF: return Type::float16;
        case NPY_FLOAT: return Type::float32;
        case NPY_DOUBLE: return Type::float64;
        default: return number() == bfloat16_number ? Type::bfloat16 : Type::other;
    }
}

PyObject* fail(PyObject* type, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(type, format, arguments);
    va_end(arguments);
    return nullptr;
}

void Arguments::decline_value() {
    PyErr_Clear();  // the twin will say what is wrong
    throw Declined();
}

namespace {

bool read_integer(PyObject* object, Index* value) {
    if (!PyLong_Check(object)) return false;
    *value = PyLong_AsSsize_t(object);
    if (*value != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

}  // namespace

int read_integers(PyObject* object, Index* values, int limit) {
    if (PyLong_Check(object)) return limit > 0 && read_integer(object, values) ? 1 : -1;
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) > limit) return -1;
    int count = static_cast<int>(PyTuple_GET_SIZE(object));
    for (int i = 0; i < count; ++i) {
        if (!read_integer(PyTuple_GET_ITEM(object, i), &values[i])) return -1;
    }
    return count;
}

PyObject* tuple(std::initializer_list<PyObject*> items) {
    PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(items.size()));
    Py_ssize_t position = 0;
    bool complete = result != nullptr;
    for (PyObject* item : items) {
        if (item == nullptr) complete = false;
        if (complete) PyTuple_SET_ITEM(result, position++, item);
        else Py_XDECREF(item);
    }
    if (!complete) Py_CLEAR(result);
    return result;
}

}  // namespace nnkit
