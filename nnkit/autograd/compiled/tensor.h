// Tensors as compiled code sees them (autograd/tensor.py): their slots, found by their descriptors, and
// the modes of their thread.
#pragma once

#include "array.h"

namespace nnkit {

// The places of the slots of a Tensor, and values that all of them share.
struct TensorLayout {
    PyTypeObject* type = nullptr;
    Py_ssize_t data, device, requires_grad, grad, edge, writes, base, view, viewed, hooks;
    PyObject* cpu;
    PyObject* untracked;  // the writes of tensors that are made in inference mode
};

extern TensorLayout tensors;

// Whether something may answer for functions in place of them (autograd/arguments/overriding.py).
struct Overriding {
    PyObject* plain = nullptr;  // the set of classes whose instances do not
    bool guarded = false;       // whether a subclass of Tensor may
    bool intercepted = false;   // whether a mode may, whatever the arguments
    PyObject* levels = nullptr; // the set of the levels of transforms, which a write may join
};

extern Overriding overriding;

// The modes of this thread (autograd/grad_mode.py).
struct Modes {
    bool enabled = true, inference = false, grad_in_inference = false;
    PyObject* origin = nullptr;  // an int within transforms that are differentiated
};

extern thread_local Modes modes;

inline PyObject*& slot(PyObject* object, Py_ssize_t offset) {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

inline void set_slot(PyObject* object, Py_ssize_t offset, PyObject* value) {
    PyObject* old = slot(object, offset);
    slot(object, offset) = Py_NewRef(value);
    Py_XDECREF(old);
}

// Classes that guard their attributes (parameters that have no shape yet) and those that answer for
// functions are Python's affair.
inline bool is_tensor(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (type == tensors.type) return true;
    if (!PyType_IsSubtype(type, tensors.type)) return false;
    if (type->tp_getattro != tensors.type->tp_getattro) return false;
    return !overriding.guarded ||
           PySet_Contains(overriding.plain, reinterpret_cast<PyObject*>(type)) == 1;
}

// The number of writes to the storage, borrowed; null for what is no plain counter.
inline PyObject* count_of(PyObject* writes) {
    return PyList_CheckExact(writes) && PyList_GET_SIZE(writes) ? PyList_GET_ITEM(writes, 0)
                                                                : nullptr;
}

inline bool is_inference(PyObject* tensor) {
    PyObject* writes = slot(tensor, tensors.writes);
    return writes != nullptr && Py_TYPE(writes) == Py_TYPE(tensors.untracked);
}

// The offset of a slot that a class has; -1 with an error set.
Py_ssize_t offset_of(PyObject* type, const char* name);

// A new leaf on an array.
PyObject* wrap(PyObject* data, PyObject* device);

// What the module offers: set_tensor(Tensor, cpu, UNTRACKED), before the other;
// tell_overriding(plain, guarded, intercepted); tell_levels(set); wrap(array, device=cpu);
// count_writes(tensor, count, writer); and the class of the object that has the modes for
// attributes.
PyObject* set_tensor(PyObject* module, PyObject* args);
PyObject* tell_overriding(PyObject* module, PyObject* args);
PyObject* tell_levels(PyObject* module, PyObject* levels);
PyObject* wrap_array(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
PyObject* count_writes(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
PyObject* make_modes_type();

}  // namespace nnkit
