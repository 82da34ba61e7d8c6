#include "recording.h"

#include <frameobject.h>

#include "owned.h"

namespace nnkit {
namespace {

struct Book {
    PyObject *numbers, *arrays, *inputs, *shapes;
    PyObject *slot, *numbered;
    bool made;
};

// Most arguments of calls are such values, in which there is no array.
bool holds_no_array(PyObject* value) {
    PyTypeObject* type = Py_TYPE(value);
    return value == Py_None || type == &PyBool_Type || type == &PyLong_Type ||
           type == &PyFloat_Type || type == &PyUnicode_Type || type == &PyComplex_Type;
}

bool is_array(PyObject* value) {
    return PyObject_HasAttrString(value, "dtype") && PyObject_HasAttrString(value, "strides");
}

// The callback of a weak reference: `entry` is the book's numbers and the key that goes.
PyObject* forget(PyObject* entry, PyObject*) {
    PyObject* numbers = PyTuple_GET_ITEM(entry, 0);
    int found = PyDict_Contains(numbers, PyTuple_GET_ITEM(entry, 1));
    if (found < 0 || (found > 0 && PyDict_DelItem(numbers, PyTuple_GET_ITEM(entry, 1)) < 0)) {
        return nullptr;
    }
    return none();
}

PyMethodDef forgetting = {"forget", forget, METH_O, "Forget the number of an array."};

// What is kept of an array: the step lets go of most of what it makes.
PyObject* kept_of(const Book& book, PyObject* array, PyObject* key) {
    if (!book.made) return Py_NewRef(array);
    Owned entry(PyTuple_Pack(2, book.numbers, key));
    if (!entry) return nullptr;
    Owned callback(PyCFunction_New(&forgetting, entry.object()));
    return callback ? PyWeakref_NewRef(array, callback.object()) : nullptr;
}

PyObject* geometry(Array array) {
    return tuple({PyArray_IntTupleFromIntp(array.ndim(), array.shape()),
                  Py_NewRef(reinterpret_cast<PyObject*>(array.descriptor())),
                  PyArray_IntTupleFromIntp(array.ndim(), array.strides())});
}

// Enters an array under the next number.
PyObject* number_of(const Book& book, PyObject* value, PyObject* key) {
    Owned number(PyLong_FromSsize_t(PyList_GET_SIZE(book.arrays)));
    Owned kept(kept_of(book, value, key)), known(geometry(Array(value)));
    if (!number || !kept || !known ||
        PyDict_SetItem(book.numbers, key, number.object()) < 0 ||
        PyDict_SetItem(book.shapes, number.object(), known.object()) < 0 ||
        PyList_Append(book.arrays, kept.object()) < 0 ||
        (!book.made && PyList_Append(book.inputs, number.object()) < 0)) {
        return nullptr;
    }
    return number.release();
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
        if (PyArray_CheckExact(value)) {
            number.reset(number_of(book, value, key.object()));
        } else {
            if (!is_array(value)) return Py_NewRef(value);
            PyObject* arguments[] = {value, book.made ? Py_True : Py_False};
            number.reset(PyObject_Vectorcall(book.numbered, arguments, 2, nullptr));
        }
        if (!number) return nullptr;
    }
    return PyObject_CallOneArg(book.slot, number.object());
}

// Whether a frame is of nnkit's own code; -1 with an error set.
int is_own(PyObject* frame) {
    static PyObject* const globals = PyUnicode_InternFromString("f_globals");
    static PyObject* const title = PyUnicode_InternFromString("__name__");
    static PyObject* const prefix = PyUnicode_InternFromString("nnkit.");
    Owned found(PyObject_GetAttr(frame, globals));
    if (!found) return -1;
    PyObject* name = PyDict_GetItemWithError(found.object(), title);
    if (name == nullptr || !PyUnicode_Check(name)) return PyErr_Occurred() ? -1 : 0;
    return static_cast<int>(PyUnicode_Tailmatch(name, prefix, 0, PY_SSIZE_T_MAX, -1));
}

}  // namespace

PyObject* slots(PyObject*, PyObject* const* values, Py_ssize_t count) {
    PyObject* book = count == 5 ? values[2] : nullptr;
    if (book == nullptr || !PyTuple_CheckExact(book) || PyTuple_GET_SIZE(book) != 4 ||
        !PyDict_Check(PyTuple_GET_ITEM(book, 0)) || !PyList_Check(PyTuple_GET_ITEM(book, 1)) ||
        !PyList_Check(PyTuple_GET_ITEM(book, 2)) || !PyDict_Check(PyTuple_GET_ITEM(book, 3))) {
        return fail(PyExc_TypeError, "slots: expected (value, made, (numbers, arrays, inputs, "
                                     "shapes), slot, numbered)");
    }
    PyObject** parts = &PyTuple_GET_ITEM(book, 0);
    return slots_of(Book{parts[0], parts[1], parts[2], parts[3], values[3], values[4],
                         values[1] == Py_True},
                    values[0]);
}

PyObject* users_line(PyObject*, PyObject*) {
    PyFrameObject* first = PyThreadState_GetFrame(PyThreadState_Get());
    Owned frame(reinterpret_cast<PyObject*>(first));
    while (frame) {
        int own = is_own(frame.object());
        if (own < 0) return nullptr;
        auto* current = reinterpret_cast<PyFrameObject*>(frame.object());
        if (own == 0) {
            Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(current)));
            PyObject* file = reinterpret_cast<PyCodeObject*>(code.object())->co_filename;
            return PyUnicode_FromFormat("%U:%d", file, PyFrame_GetLineNumber(current));
        }
        frame.reset(reinterpret_cast<PyObject*>(PyFrame_GetBack(current)));
    }
    return PyUnicode_FromString("an unknown line");
}

}  // namespace nnkit
