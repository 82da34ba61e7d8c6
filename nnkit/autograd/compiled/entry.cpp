// A descriptor that reads an entry of a dictionary in an instance's own dictionary: how the
// parameters and parts of a module are found without a call of Python (nn/modules/registered.py).
#include "entry.h"

#include <structmember.h>

#include "owned.h"

namespace nnkit {
namespace {

struct Entry {
    PyObject_HEAD
    PyObject *registry, *name;
};

PyObject* get_entry(PyObject* self, PyObject* instance, PyObject* owner) {
    auto* entry = reinterpret_cast<Entry*>(self);
    if (instance != nullptr && instance != Py_None) {
        Owned own(PyObject_GenericGetDict(instance, nullptr));
        if (!own) return nullptr;
        PyObject* content = PyDict_GetItemWithError(own.object(), entry->registry);
        if (content != nullptr && PyDict_Check(content)) {
            PyObject* value = PyDict_GetItemWithError(content, entry->name);
            if (value != nullptr) return Py_NewRef(value);
        }
        if (PyErr_Occurred()) return nullptr;
        owner = reinterpret_cast<PyObject*>(Py_TYPE(instance));
    }
    Owned title(PyObject_GetAttrString(owner, "__name__"));
    if (!title) return nullptr;
    return fail(PyExc_AttributeError, "type object %R has no attribute %R", title.object(),
                entry->name);
}

PyObject* new_entry(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    PyObject *registry, *name;
    static const char* parameters[] = {"registry", "name", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "UU:Entry", const_cast<char**>(parameters),
                                     &registry, &name)) {
        return nullptr;
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* entry = reinterpret_cast<Entry*>(self);
    entry->registry = Py_NewRef(registry);
    entry->name = Py_NewRef(name);
    PyUnicode_InternInPlace(&entry->registry);
    PyUnicode_InternInPlace(&entry->name);
    return self;
}

void free_entry(PyObject* self) {
    auto* entry = reinterpret_cast<Entry*>(self);
    PyTypeObject* type = Py_TYPE(self);
    Py_XDECREF(entry->registry);
    Py_XDECREF(entry->name);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef members[] = {
    {"registry", T_OBJECT_EX, offsetof(Entry, registry), READONLY, "The outer dictionary's key."},
    {"name", T_OBJECT_EX, offsetof(Entry, name), READONLY, "The inner one's."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_entry)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_entry)},
    {Py_tp_descr_get, reinterpret_cast<void*>(get_entry)},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Entry(registry, name): reads instance.__dict__[registry][name]")},
    {0, nullptr},
};

PyType_Spec spec = {"nnkit.backend.cpu.native.Entry", sizeof(Entry), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

PyObject* make_entry_type() { return PyType_FromSpec(&spec); }

}  // namespace nnkit
