#include "tensor.h"

#include <structmember.h>

#include <utility>

#include "owned.h"

namespace nnkit {

TensorLayout tensors;
thread_local Modes modes;

namespace {

PyObject* zero = nullptr;

template <bool Modes::*mode> PyObject* get_mode(PyObject*, void*) {
    return PyBool_FromLong(modes.*mode);
}

template <bool Modes::*mode> int set_mode(PyObject*, PyObject* value, void*) {
    int truth = value == nullptr ? 1 : PyObject_IsTrue(value);
    if (truth < 0) return -1;
    modes.*mode = truth != 0;
    return 0;
}

PyGetSetDef modes_getset[] = {
    {"enabled", get_mode<&Modes::enabled>, set_mode<&Modes::enabled>,
     "Whether operations are recorded.", nullptr},
    {"inference", get_mode<&Modes::inference>, set_mode<&Modes::inference>,
     "Whether results stay out of every graph.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot modes_slots[] = {
    {Py_tp_getset, modes_getset},
    {Py_tp_doc, const_cast<char*>("The modes of a thread.")},
    {0, nullptr},
};

PyType_Spec modes_spec = {
    "nnkit.backend.cpu.native.Modes", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, modes_slots,
};

}  // namespace

Py_ssize_t offset_of(PyObject* type, const char* name) {
    Owned member(PyObject_GetAttrString(type, name));
    if (!member) return -1;
    if (!PyObject_TypeCheck(member.object(), &PyMemberDescr_Type)) {
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", type, name);
        return -1;
    }
    return reinterpret_cast<PyMemberDescrObject*>(member.object())->d_member->offset;
}

PyObject* wrap(PyObject* data, PyObject* device) {
    Owned writes;
    if (modes.inference) {
        writes.reset(Py_NewRef(tensors.untracked));
    } else {
        writes.reset(PyList_New(2));
        if (!writes) return nullptr;
        PyList_SET_ITEM(writes.object(), 0, Py_NewRef(zero));
        PyList_SET_ITEM(writes.object(), 1, none());
    }
    PyObject* self = tensors.type->tp_alloc(tensors.type, 0);
    if (self == nullptr) return nullptr;
    slot(self, tensors.data) = Py_NewRef(data);
    slot(self, tensors.device) = Py_NewRef(device);
    slot(self, tensors.requires_grad) = Py_NewRef(Py_False);
    slot(self, tensors.writes) = writes.release();
    slot(self, tensors.viewed) = Py_NewRef(zero);
    for (Py_ssize_t at : {tensors.grad, tensors.edge, tensors.base, tensors.view, tensors.hooks}) {
        slot(self, at) = none();
    }
    return self;
}

PyObject* set_tensor(PyObject*, PyObject* args) {
    PyObject *type, *cpu, *untracked;
    if (!PyArg_ParseTuple(args, "O!OO!:set_tensor", &PyType_Type, &type, &cpu, &PyList_Type,
                          &untracked)) {
        return nullptr;
    }
    TensorLayout found;
    const std::pair<const char*, Py_ssize_t*> slots[] = {
        {"_data", &found.data}, {"_device", &found.device},
        {"_requires_grad", &found.requires_grad}, {"_grad", &found.grad},
        {"_edge", &found.edge}, {"_writes", &found.writes}, {"_base", &found.base},
        {"_view", &found.view}, {"_viewed", &found.viewed}, {"_hooks", &found.hooks},
    };
    for (auto [name, offset] : slots) {
        *offset = offset_of(type, name);
        if (*offset < 0) return nullptr;
    }
    if (zero == nullptr) zero = PyLong_FromLong(0);
    found.type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
    found.cpu = Py_NewRef(cpu);
    found.untracked = Py_NewRef(untracked);
    tensors = found;  // whole, or not at all
    return none();
}

PyObject* wrap_array(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    if (count < 1 || count > 2) {
        return fail(PyExc_TypeError, "wrap() takes an array and a device, got %zd arguments", count);
    }
    return wrap(arguments[0], count == 2 ? arguments[1] : tensors.cpu);
}

PyObject* make_modes_type() {
    Owned threading(PyImport_ImportModule("threading"));
    if (!threading) return nullptr;
    Owned local(PyObject_GetAttrString(threading.object(), "local"));
    return local ? PyType_FromSpecWithBases(&modes_spec, local.object()) : nullptr;
}

}  // namespace nnkit
