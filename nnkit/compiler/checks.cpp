#include "checks.h"

#include <structmember.h>

#include <cstring>
#include <new>
#include <vector>

#include "owned.h"

namespace nnkit {
namespace {

// What is looked at in an object, and how that must be what was found.
enum class Look { attribute, absence, item, truth, length, optional_item, of_class };
enum class Means { identity, equality, sameness };

struct Check {
    Look look;
    Means means;
    PyObject *place, *key, *found;
    Py_ssize_t offset;   // of the slot that holds the attribute, 0 where none does
    PyTypeObject* type;  // whose slot it is
};

struct Checks {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject* same;     // (now, found): whether plain values are the same to every program
    PyObject* missing;  // what an optional item is where there is none
    PyObject* rest;     // the checks that are not made here
    std::vector<Check> checks;
};

// The place of the slot that an attribute of an object is; 0 where it is something else.
Py_ssize_t slot_of(PyObject* place, PyObject* name) {
    PyObject* member = _PyType_Lookup(Py_TYPE(place), name);
    if (member == nullptr || !Py_IS_TYPE(member, &PyMemberDescr_Type)) return 0;
    const PyMemberDef* known = reinterpret_cast<PyMemberDescrObject*>(member)->d_member;
    return known->type == T_OBJECT_EX ? known->offset : 0;
}

PyObject* attribute(const Check& check) {
    if (check.offset > 0 && Py_TYPE(check.place) == check.type) {
        PyObject* now = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(check.place) +
                                                      check.offset);
        if (now != nullptr) return Py_NewRef(now);
    }
    return PyObject_GetAttr(check.place, check.key);
}

PyObject* item(const Check& check) {
    if (!PyDict_Check(check.place)) return PyObject_GetItem(check.place, check.key);
    PyObject* now = PyDict_GetItemWithError(check.place, check.key);
    if (now == nullptr && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, check.key);
    return Py_XNewRef(now);
}

PyObject* optional_item(const Checks& checks, const Check& check) {
    PyObject* now = PyDict_GetItemWithError(check.place, check.key);
    if (now == nullptr && !PyErr_Occurred()) now = checks.missing;
    return Py_XNewRef(now);
}

// What a class itself has under a name.
PyObject* of_class(const Check& check) {
    auto* type = reinterpret_cast<PyTypeObject*>(check.place);
#if PY_VERSION_HEX >= 0x030C0000
    Owned content(PyType_GetDict(type));
#else
    Owned content(Py_XNewRef(type->tp_dict));
#endif
    if (!content) return fail(PyExc_AttributeError, "__dict__");
    PyObject* now = PyDict_GetItemWithError(content.object(), check.key);
    if (now == nullptr && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, check.key);
    return Py_XNewRef(now);
}

PyObject* value_of(const Checks& checks, const Check& check) {
    switch (check.look) {
        case Look::attribute: case Look::absence: return attribute(check);
        case Look::optional_item: return optional_item(checks, check);
        case Look::of_class: return of_class(check);
        default: return item(check);
    }
}

int is_found(const Checks& checks, const Check& check, PyObject* now) {
    if (now == check.found) return 1;
    switch (check.means) {
        case Means::identity: return 0;
        case Means::equality: return PyObject_RichCompareBool(now, check.found, Py_EQ);
        default:
            PyObject* values[] = {now, check.found};
            Owned answer(PyObject_Vectorcall(checks.same, values, 2, nullptr));
            return answer ? PyObject_IsTrue(answer.object()) : -1;
    }
}

// 1 or 0; -1 with an error set.
int holds(const Checks& checks, const Check& check) {
    if (check.look == Look::length) {
        Py_ssize_t now = PyObject_Size(check.place);
        return now < 0 ? -1 : now == PyLong_AsSsize_t(check.found);
    }
    Owned now(value_of(checks, check));
    if (!now) return -1;
    if (check.look == Look::absence) {
        return (now.object() == Py_None) == (check.found == Py_True);
    }
    if (check.look == Look::truth) {
        int truth = PyObject_IsTrue(now.object());
        return truth < 0 ? -1 : truth == (check.found == Py_True);
    }
    return is_found(checks, check, now.object());
}

PyObject* call_checks(PyObject* self, PyObject* const*, std::size_t, PyObject*) {
    auto* own = reinterpret_cast<Checks*>(self);
    Owned kept(Py_NewRef(self));
    for (const Check& check : own->checks) {
        int found = holds(*own, check);
        if (found > 0) continue;
        if (found < 0) {  // it is gone
            if (!PyErr_ExceptionMatches(PyExc_LookupError) &&
                !PyErr_ExceptionMatches(PyExc_AttributeError) &&
                !PyErr_ExceptionMatches(PyExc_ValueError)) {  // of an empty cell
                return nullptr;
            }
            PyErr_Clear();
        }
        Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

// What Python tells once for all checks.
struct Known {
    PyObject *looks, *items, *plain;  // functions in the order of `Look`; classes

    static Py_ssize_t place_in(PyObject* tuple, PyObject* value) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
            if (PyTuple_GET_ITEM(tuple, i) == value) return i;
        }
        return -1;
    }

    Means means(PyObject* found) const {
        if (found == Py_None || PyBool_Check(found)) return Means::identity;
        if (PyLong_CheckExact(found)) return Means::equality;
        bool is_plain = place_in(plain, reinterpret_cast<PyObject*>(Py_TYPE(found))) >= 0;
        return is_plain ? Means::sameness : Means::identity;
    }

    // Whether the place gives its items without code of its own.
    bool gives(PyObject* place, Look look) const {
        if (place_in(items, reinterpret_cast<PyObject*>(Py_TYPE(place))) < 0) return false;
        return look != Look::optional_item || PyDict_Check(place);
    }
};

// (look, key, place, found, path); false where it is no such look.
bool read_check(const Known& known, PyObject* tuple, Check* check) {
    const Py_ssize_t number = Known::place_in(known.looks, PyTuple_GET_ITEM(tuple, 0));
    if (number < 0) return false;
    check->look = static_cast<Look>(number);
    check->key = PyTuple_GET_ITEM(tuple, 1);
    check->place = PyTuple_GET_ITEM(tuple, 2);
    check->found = PyTuple_GET_ITEM(tuple, 3);
    switch (check->look) {
        case Look::item: case Look::truth: case Look::optional_item:
            if (!known.gives(check->place, check->look)) return false;
            break;
        case Look::of_class:
            if (!PyType_Check(check->place)) return false;
            break;
        default: break;
    }
    check->means = known.means(check->found);
    check->type = Py_TYPE(check->place);
    bool named = check->look == Look::attribute || check->look == Look::absence;
    check->offset = named && PyUnicode_Check(check->key) ? slot_of(check->place, check->key) : 0;
    return true;
}

PyObject* new_checks(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *checks, *same, *missing;
    Known known;
    if (!PyArg_ParseTuple(args, "O!O!O!O!OO:Checks", &PyList_Type, &checks, &PyTuple_Type,
                          &known.looks, &PyTuple_Type, &known.items, &PyTuple_Type, &known.plain,
                          &same, &missing)) {
        return nullptr;
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* own = reinterpret_cast<Checks*>(self);
    new (&own->checks) std::vector<Check>;
    own->call = call_checks;
    own->same = Py_NewRef(same);
    own->missing = Py_NewRef(missing);
    own->rest = PyList_New(0);
    if (own->rest == nullptr) {
        Py_DECREF(self);
        return nullptr;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(checks); ++i) {
        PyObject* written = PyList_GET_ITEM(checks, i);
        if (!PyTuple_CheckExact(written) || PyTuple_GET_SIZE(written) != 5) {
            Py_DECREF(self);
            return fail(PyExc_TypeError, "Checks: expected (look, key, place, found, path)");
        }
        Check check;
        if (!read_check(known, written, &check)) {
            if (PyList_Append(own->rest, written) == 0) continue;
            Py_DECREF(self);
            return nullptr;
        }
        for (PyObject* part : {check.place, check.key, check.found}) Py_INCREF(part);
        Py_INCREF(check.type);
        own->checks.push_back(check);
    }
    return self;
}

int traverse_checks(PyObject* self, visitproc visit, void* arg) {
    auto* own = reinterpret_cast<Checks*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(own->same);
    Py_VISIT(own->missing);
    Py_VISIT(own->rest);
    for (const Check& check : own->checks) {
        Py_VISIT(check.place);
        Py_VISIT(check.key);
        Py_VISIT(check.found);
        Py_VISIT(check.type);
    }
    return 0;
}

int clear_checks(PyObject* self) {
    auto* own = reinterpret_cast<Checks*>(self);
    std::vector<Check> gone;
    gone.swap(own->checks);
    for (const Check& check : gone) {
        for (PyObject* part : {check.place, check.key, check.found}) Py_DECREF(part);
        Py_DECREF(check.type);
    }
    Py_CLEAR(own->same);
    Py_CLEAR(own->missing);
    Py_CLEAR(own->rest);
    return 0;
}

void free_checks(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear_checks(self);
    reinterpret_cast<Checks*>(self)->checks.~vector();
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef members[] = {
    {"rest", T_OBJECT_EX, offsetof(Checks, rest), READONLY, "The checks that are not made here."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Checks, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_checks)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_checks)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_checks)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_checks)},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Checks(checks, looks, items, plain, same, missing)")},
    {0, nullptr},
};

PyType_Spec spec = {
    "nnkit.compiler.checks.Checks", sizeof(Checks), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots,
};

}  // namespace

PyObject* make_checks_type() { return PyType_FromSpec(&spec); }

}  // namespace nnkit
