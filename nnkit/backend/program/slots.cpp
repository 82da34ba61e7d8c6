#include "slots.h"

#include "owned.h"

namespace nnkit {
namespace {

struct Book {
    PyObject *made, *numbers, *slot, *numbered;
};

// Most arguments of calls are such values, in which there is no array.
bool holds_no_array(PyObject* value) {
    PyTypeObject* type = Py_TYPE(value);
    return value == Py_None || type == &PyBool_Type || type == &PyLong_Type ||
           type == &PyFloat_Type || type == &PyUnicode_Type || type == &PyComplex_Type;
}

bool is_array(PyObject* value) {
    if (PyArray_CheckExact(value)) return true;
    return PyObject_HasAttrString(value, "dtype") && PyObject_HasAttrString(value, "strides");
}

PyObject* slots_of(const Book& book, PyObject* value);

PyObject* slots_of_items(const Book& book, PyObject* items) {
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    Owned list(PyList_New(count));
    if (!list) return nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* slot = slots_of(book, PySequence_Fast_GET_ITEM(items, i));
        if (slot == nullptr) return nullptr;
        PyList_SET_ITEM(list.object(), i, slot);
    }
    if (PyList_CheckExact(items)) return list.release();
    if (PyTuple_CheckExact(items)) return PyList_AsTuple(list.object());
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(items)), list.object());
}

PyObject* slots_of(const Book& book, PyObject* value) {
    if (holds_no_array(value)) return Py_NewRef(value);
    Owned key(PyLong_FromVoidPtr(value));
    if (!key) return nullptr;
    Owned number(Py_XNewRef(PyDict_GetItemWithError(book.numbers, key.object())));
    if (!number) {
        if (PyErr_Occurred()) return nullptr;
        if (PyTuple_Check(value) || PyList_Check(value)) return slots_of_items(book, value);
        if (!is_array(value)) return Py_NewRef(value);
        PyObject* arguments[] = {value, book.made};
        number.reset(PyObject_Vectorcall(book.numbered, arguments, 2, nullptr));
        if (!number) return nullptr;
    }
    return PyObject_CallOneArg(book.slot, number.object());
}

}  // namespace

PyObject* slots(PyObject*, PyObject* const* values, Py_ssize_t count) {
    if (count != 5 || !PyDict_Check(values[2])) {
        return fail(PyExc_TypeError, "slots: expected a value, whether it was made, a dict, Slot "
                                     "and what gives numbers");
    }
    return slots_of(Book{values[1], values[2], values[3], values[4]}, values[0]);
}

}  // namespace nnkit
