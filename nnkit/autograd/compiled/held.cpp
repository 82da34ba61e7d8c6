// A public function whose arguments are of the classes that its parameters are known to take
// (autograd/arguments/annotations.py). All others go to `examine(arguments, options)`, which looks at their
// values and calls the function, or says what is wrong.
#include "held.h"

#include <structmember.h>

#include <vector>

#include "memory.h"
#include "owned.h"
#include "tensor.h"

namespace nnkit {
namespace {

struct Held {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function, *examine;
    PyObject* positional;  // null before `learn`; for each parameter a set of classes, or None
    PyObject* named;       // the same by name
    PyObject* attributes;
};

PyObject* class_of(PyObject* value) { return reinterpret_cast<PyObject*>(Py_TYPE(value)); }

// Whether nothing more has to be known of an argument: 1 or 0, -1 with an error set. Where anything
// plain is taken, a sequence may hold anything plain, else integers alone.
int is_known(PyObject* classes, PyObject* value) {
    if (classes == Py_None) return 1;
    if (PyLong_CheckExact(value) && !is_int64(value)) return 0;
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        bool open = classes == overriding.plain;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
            PyObject* part = PySequence_Fast_GET_ITEM(value, i);
            bool known = PyLong_CheckExact(part) ? is_int64(part)
                                                 : open && PySet_Contains(classes, class_of(part)) == 1;
            if (!known) return 0;
        }
    }
    return PySet_Contains(classes, class_of(value));
}

int are_known(Held* held, PyObject* const* values, Py_ssize_t count, PyObject* names) {
    if (held->positional == nullptr || overriding.intercepted) return 0;
    Py_ssize_t known = PyTuple_GET_SIZE(held->positional);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* classes = i < known ? PyTuple_GET_ITEM(held->positional, i) : overriding.plain;
        int found = is_known(classes, values[i]);
        if (found != 1) return found;
    }
    Py_ssize_t options = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < options; ++i) {
        PyObject* classes = PyDict_GetItemWithError(held->named, PyTuple_GET_ITEM(names, i));
        if (classes == nullptr) return PyErr_Occurred() ? -1 : 0;
        int found = is_known(classes, values[count + i]);
        if (found != 1) return found;
    }
    return 1;
}

// Says of NumPy's error that memory is out what the kernels say.
void replace_memory_error() {
    if (PyErr_ExceptionMatches(PyExc_RuntimeError)) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    memory_is_out(value);
    for (PyObject* part : {type, value, traceback}) Py_XDECREF(part);
}

// Lets `on_error(*arguments)`, an attribute, raise another error than the one that is set.
void replace_error(Held* held, PyObject* const* values, Py_ssize_t count) {
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return replace_memory_error();
    if (held->attributes == nullptr) return;
    if (!PyErr_ExceptionMatches(PyExc_IndexError) &&
        !PyErr_ExceptionMatches(PyExc_NotImplementedError)) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject* function = PyDict_GetItemString(held->attributes, "on_error");
    Owned result(function == nullptr ? none()
                                     : PyObject_Vectorcall(function, values,
                                                           static_cast<std::size_t>(count), nullptr));
    if (result) {
        PyErr_Restore(type, value, traceback);
        return;
    }
    for (PyObject* part : {type, value, traceback}) Py_XDECREF(part);
}

PyObject* call_known(Held* held, PyObject* const* values, std::size_t flagged, PyObject* names) {
    PyObject* result = PyObject_Vectorcall(held->function, values, flagged, names);
    if (result == nullptr) replace_error(held, values, PyVectorcall_NARGS(flagged));
    return result;
}

PyObject* call_held(PyObject* self, PyObject* const* values, std::size_t flagged,
                    PyObject* names) {
    auto* held = reinterpret_cast<Held*>(self);
    Py_ssize_t count = PyVectorcall_NARGS(flagged);
    int known = are_known(held, values, count, names);
    if (known < 0) return nullptr;
    if (known) return call_known(held, values, flagged, names);
    Owned arguments(PyTuple_New(count)), options(PyDict_New());
    if (!arguments || !options) return nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyTuple_SET_ITEM(arguments.object(), i, Py_NewRef(values[i]));
    }
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
        PyObject* name = PyTuple_GET_ITEM(names, i);
        if (PyDict_SetItem(options.object(), name, values[count + i]) < 0) return nullptr;
    }
    PyObject* both[] = {arguments.object(), options.object()};
    PyObject* result = PyObject_Vectorcall(held->examine, both, 2, nullptr);
    if (result == nullptr) replace_error(held, values, count);
    return result;
}

PyObject* learn(PyObject* self, PyObject* args) {
    PyObject *positional, *named;
    if (!PyArg_ParseTuple(args, "O!O!:learn", &PyTuple_Type, &positional, &PyDict_Type, &named)) {
        return nullptr;
    }
    auto* held = reinterpret_cast<Held*>(self);
    Py_XSETREF(held->positional, Py_NewRef(positional));
    Py_XSETREF(held->named, Py_NewRef(named));
    return none();
}

// Pickled by name, as functions are.
PyObject* reduce(PyObject* self, PyObject*) {
    return PyObject_GetAttrString(self, "__qualname__");
}

PyObject* get_held(PyObject* self, PyObject* instance, PyObject*) {
    if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

PyObject* get_unbound(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

PyObject* new_held(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    PyObject *function, *examine;
    static const char* parameters[] = {"function", "examine", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO:Held", const_cast<char**>(parameters),
                                     &function, &examine)) {
        return nullptr;
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* held = reinterpret_cast<Held*>(self);
    held->call = call_held;
    held->function = Py_NewRef(function);
    held->examine = Py_NewRef(examine);
    return self;
}

int traverse_held(PyObject* self, visitproc visit, void* arg) {
    auto* held = reinterpret_cast<Held*>(self);
    Py_VISIT(Py_TYPE(self));
    for (PyObject* part : {held->function, held->examine, held->positional, held->named,
                           held->attributes}) {
        Py_VISIT(part);
    }
    return 0;
}

void free_held(PyObject* self) {
    auto* held = reinterpret_cast<Held*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    for (PyObject* part : {held->function, held->examine, held->positional, held->named,
                           held->attributes}) {
        Py_XDECREF(part);
    }
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* represent_held(PyObject* self) {
    return PyUnicode_FromFormat("<held %R>", reinterpret_cast<Held*>(self)->function);
}

PyMethodDef held_methods[] = {
    {"learn", learn, METH_VARARGS, "learn(positional, named): the classes that are taken."},
    {"__reduce__", reduce, METH_NOARGS, "Its qualified name."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef held_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Held, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Held, attributes), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef held_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

const PyType_Slot held_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_held)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_held)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_held)},
    {Py_tp_descr_get, reinterpret_cast<void*>(get_held)},
    {Py_tp_repr, reinterpret_cast<void*>(represent_held)},
    {Py_tp_methods, held_methods},
    {Py_tp_members, held_members},
    {Py_tp_getset, held_getset},
    {Py_tp_doc, const_cast<char*>("A function that looks at the classes of its arguments.")},
    {0, nullptr},
};

}  // namespace

bool is_int64(PyObject* value) {
    int overflow = 0;
    PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0;
}

PyObject* make_held_type(bool binds) {
    std::vector<PyType_Slot> slots(std::begin(held_slots), std::end(held_slots));
    for (PyType_Slot& slot : slots) {
        if (binds || slot.slot != Py_tp_descr_get) continue;
        slot.pfunc = reinterpret_cast<void*>(get_unbound);
    }
    unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
    if (binds) flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
    PyType_Spec spec = {
        binds ? "nnkit.backend.cpu.native.Held" : "nnkit.backend.cpu.native.Unbound",
        sizeof(Held), 0, flags, slots.data(),
    };
    return PyType_FromSpec(&spec);
}

}  // namespace nnkit
