#include "tensor.h"

#include <structmember.h>

#include <utility>

#include "living.h"
#include "owned.h"

namespace nnkit {

TensorLayout tensors;
Overriding overriding;
thread_local Modes modes;

namespace {

PyObject* zero = nullptr;

// The mode that an attribute is the name of, null for others: those are `threading.local`'s, which
// looks them up in a dictionary of the thread.
bool* mode_called(PyObject* name) {
    static PyObject* const enabled = PyUnicode_InternFromString("enabled");
    static PyObject* const inference = PyUnicode_InternFromString("inference");
    static PyObject* const grad_in_inference = PyUnicode_InternFromString("grad_in_inference");
    if (name == enabled) return &modes.enabled;
    if (name == inference) return &modes.inference;
    return name == grad_in_inference ? &modes.grad_in_inference : nullptr;
}

PyTypeObject* local = nullptr;  // threading.local

bool is_origin(PyObject* name) {
    static PyObject* const origin = PyUnicode_InternFromString("origin");
    return name == origin;
}

PyObject* get_mode(PyObject* self, PyObject* name) {
    if (is_origin(name)) return Py_NewRef(modes.origin == nullptr ? Py_None : modes.origin);
    const bool* mode = mode_called(name);
    return mode == nullptr ? local->tp_getattro(self, name) : PyBool_FromLong(*mode);
}

int set_mode(PyObject* self, PyObject* name, PyObject* value) {
    if (is_origin(name) && value != nullptr) {
        Py_XSETREF(modes.origin, value == Py_None ? nullptr : Py_NewRef(value));
        return 0;
    }
    bool* mode = mode_called(name);
    if (mode == nullptr || value == nullptr) return local->tp_setattro(self, name, value);
    int truth = PyObject_IsTrue(value);
    if (truth < 0) return -1;
    *mode = truth != 0;
    return 0;
}

PyType_Slot modes_slots[] = {
    {Py_tp_getattro, reinterpret_cast<void*>(get_mode)},
    {Py_tp_setattro, reinterpret_cast<void*>(set_mode)},
    {Py_tp_doc, const_cast<char*>("The modes of a thread, beside other attributes of its own.")},
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
    Owned place;
    if (Py_TYPE(device) != Py_TYPE(tensors.cpu)) {  // one that stands before a device
        static PyObject* const place_of = PyUnicode_InternFromString("place_of");
        place.reset(PyObject_CallMethodOneArg(device, place_of, data));
        if (!place) return nullptr;
        device = place.object();
    }
    Owned writes;
    if (modes.inference) {
        writes.reset(Py_NewRef(tensors.untracked));
    } else {
        writes.reset(PyList_New(3));
        if (!writes) return nullptr;
        PyList_SET_ITEM(writes.object(), 0, Py_NewRef(zero));
        PyList_SET_ITEM(writes.object(), 1, none());
        PyList_SET_ITEM(writes.object(), 2, modes.origin ? Py_NewRef(modes.origin) : none());
    }
    PyObject* self = tensors.type->tp_alloc(tensors.type, 0);
    if (self == nullptr) return nullptr;
    enlist(self);
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

PyObject* tell_overriding(PyObject*, PyObject* args) {
    PyObject* plain;
    int guarded, intercepted;
    if (!PyArg_ParseTuple(args, "O!pp:tell_overriding", &PySet_Type, &plain, &guarded,
                          &intercepted)) {
        return nullptr;
    }
    Py_XSETREF(overriding.plain, Py_NewRef(plain));
    overriding.guarded = guarded;
    overriding.intercepted = intercepted;
    return none();
}

PyObject* tell_levels(PyObject*, PyObject* levels) {
    if (!PySet_CheckExact(levels)) return fail(PyExc_TypeError, "tell_levels: %R is no set", levels);
    Py_XSETREF(overriding.levels, Py_NewRef(levels));
    return none();
}

PyObject* set_tensor(PyObject*, PyObject* args) {
    PyObject *type, *cpu, *untracked;
    if (!PyArg_ParseTuple(args, "O!OO!:set_tensor", &PyType_Type, &type, &cpu, &PyList_Type,
                          &untracked)) {
        return nullptr;
    }
    if (!is_living_type(reinterpret_cast<PyTypeObject*>(type))) {
        return fail(PyExc_TypeError, "set_tensor: %R is not derived from Living", type);
    }
    TensorLayout found;
    const std::pair<const char*, Py_ssize_t*> slots[] = {
        {"_array", &found.data}, {"_device", &found.device},
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

PyObject* count_writes(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    if (count != 3 || !PyObject_TypeCheck(arguments[0], tensors.type)) {
        return fail(PyExc_TypeError, "count_writes: expected a tensor, a count and who wrote");
    }
    PyObject* writes = slot(arguments[0], tensors.writes);
    PyObject* before = writes == nullptr ? nullptr : count_of(writes);
    if (before == nullptr || PyList_GET_SIZE(writes) < 2) {
        return fail(PyExc_RuntimeError, "count_writes: the writes of this tensor are not counted");
    }
    PyObject* after = PyNumber_Add(before, arguments[1]);
    if (after == nullptr || PyList_SetItem(writes, 0, after) < 0) return nullptr;
    return PyList_SetItem(writes, 1, Py_NewRef(arguments[2])) < 0 ? nullptr : none();
}

PyObject* make_modes_type() {
    Owned threading(PyImport_ImportModule("threading"));
    if (!threading) return nullptr;
    PyObject* base = PyObject_GetAttrString(threading.object(), "local");
    local = reinterpret_cast<PyTypeObject*>(base);  // for as long as the process runs
    return base == nullptr ? nullptr : PyType_FromSpecWithBases(&modes_spec, base);
}

}  // namespace nnkit
