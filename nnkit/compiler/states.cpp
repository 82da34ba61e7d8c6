#include "states.h"

#include "owned.h"
#include "tensor.h"

namespace nnkit {
namespace {

constexpr Py_ssize_t version_place = 3;

// The slots of a state in its order, borrowed; of the version there is none.
struct Slots {
    explicit Slots(PyObject* tensor) {
        const Py_ssize_t offsets[] = {tensors.data, tensors.grad, tensors.writes, 0,
                                      tensors.requires_grad, tensors.edge, tensors.base,
                                      tensors.hooks};
        for (Py_ssize_t i = 0; i < count; ++i) {
            PyObject* value = i == version_place ? nullptr : slot(tensor, offsets[i]);
            values[i] = value == nullptr ? Py_None : value;
        }
        PyObject* version = count_of(values[version_place - 1]);
        if (version != nullptr) values[version_place] = version;
    }

    static constexpr Py_ssize_t count = 8;
    PyObject* values[count];
};

PyObject* state_of(PyTypeObject* kind, PyObject* tensor) {
    PyObject* state = kind->tp_alloc(kind, Slots::count);
    if (state == nullptr) return nullptr;
    Slots now(tensor);
    for (Py_ssize_t i = 0; i < Slots::count; ++i) {
        PyTuple_SET_ITEM(state, i, Py_NewRef(now.values[i]));
    }
    return state;
}

// 1 or 0; -1 with an error set.
int has_changed(PyObject* tensor, PyObject* state) {
    Slots now(tensor);
    for (Py_ssize_t i = 0; i < Slots::count; ++i) {
        PyObject* before = PyTuple_GET_ITEM(state, i);
        if (now.values[i] == before) continue;
        if (i != version_place) return 1;
        int differs = PyObject_RichCompareBool(now.values[i], before, Py_NE);
        if (differs != 0) return differs;
    }
    return 0;
}

}  // namespace

PyObject* states(PyObject*, PyObject* const* values, Py_ssize_t count) {
    if (count != 2 || !PyType_Check(values[0]) || !PyList_Check(values[1]) ||
        !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(values[0]), &PyTuple_Type)) {
        return fail(PyExc_TypeError, "states: expected a class of tuples and a list of tensors");
    }
    Owned known(PyDict_New()), found(PyDict_New());
    if (!known || !found) return nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values[1]); ++i) {
        PyObject* tensor = PyList_GET_ITEM(values[1], i);
        if (!PyObject_TypeCheck(tensor, tensors.type) || slot(tensor, tensors.data) == nullptr) {
            continue;
        }
        Owned key(PyLong_FromVoidPtr(tensor));
        Owned state(state_of(reinterpret_cast<PyTypeObject*>(values[0]), tensor));
        if (!key || !state || PyDict_SetItem(known.object(), key.object(), tensor) < 0 ||
            PyDict_SetItem(found.object(), key.object(), state.object()) < 0) {
            return nullptr;
        }
    }
    return tuple({known.release(), found.release()});
}

PyObject* changed(PyObject*, PyObject* const* values, Py_ssize_t count) {
    if (count != 2 || !PyDict_Check(values[0]) || !PyDict_Check(values[1])) {
        return fail(PyExc_TypeError, "changed: expected tensors and their states, by id");
    }
    Owned found(PyList_New(0));
    if (!found) return nullptr;
    PyObject *key, *tensor;
    for (Py_ssize_t i = 0; PyDict_Next(values[0], &i, &key, &tensor);) {
        PyObject* state = PyDict_GetItemWithError(values[1], key);
        if (state == nullptr || !PyTuple_Check(state) || PyTuple_GET_SIZE(state) != Slots::count ||
            !PyObject_TypeCheck(tensor, tensors.type)) {
            return PyErr_Occurred() ? nullptr
                                    : fail(PyExc_KeyError, "a tensor whose state is not known");
        }
        int differs = has_changed(tensor, state);
        if (differs < 0) return nullptr;
        if (differs > 0 && PyList_Append(found.object(), tensor) < 0) return nullptr;
    }
    return found.release();
}

}  // namespace nnkit
