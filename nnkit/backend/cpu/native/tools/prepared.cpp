#include "prepared.h"

#include <structmember.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "owned.h"

namespace nnkit {
namespace {

using Key = std::tuple<const void*, Preparation, std::size_t, Recipe>;

// The memory of frozen arrays, and what was made of it.
class Constants {
public:
    ~Constants() { forget(); }

    void add(Array a) {
        const char *low = a.bytes(), *high = low + PyDataType_ELSIZE(a.descriptor());
        for (int axis = 0; axis < a.ndim(); ++axis) {
            const Index reach = (a.shape(axis) - 1) * a.strides()[axis];
            (reach < 0 ? low : high) += reach;
        }
        const char*& end = ends_[low];
        if (a.size() > 0) end = std::max(end, high, std::less<const char*>());
    }

    bool hold(const void* operand) const {
        auto after = ends_.upper_bound(operand);
        return after != ends_.begin() && std::less<const void*>()(operand, (--after)->second);
    }

    Kept* place(Key key, std::size_t bytes) {
        auto found = made_.find(key);
        if (found == made_.end()) {
            found = made_.emplace(std::move(key), Kept{allocate_lasting(bytes)}).first;
        }
        return &found->second;
    }

    void forget() {
        for (auto& [key, kept] : made_) deallocate(kept.data, std::get<std::size_t>(key));
        made_.clear();
    }

private:
    std::map<const void*, const char*, std::less<const void*>> ends_;  // by where they begin
    std::map<Key, Kept> made_;
};

struct Frozen {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *run, *arrays, *counters;  // tuples, the last two
    PyObject** counts;                  // as they were
    Constants* constants;
    bool is_inside;  // a call
};

// Forgets what was made of elements that were written since.
void look(Frozen& frozen) {
    bool changed = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(frozen.counters); ++i) {
        PyObject* now = PyList_GET_ITEM(PyTuple_GET_ITEM(frozen.counters, i), 0);
        if (now == frozen.counts[i]) continue;
        Py_XSETREF(frozen.counts[i], Py_NewRef(now));
        changed = true;
    }
    if (changed) frozen.constants->forget();
}

thread_local Frozen* current = nullptr;

// A call, during which kernels of this thread may ask.
class Call {
public:
    explicit Call(Frozen& frozen) : frozen_(frozen), outer_(std::exchange(current, &frozen)) {
        frozen_.is_inside = true;
    }
    ~Call() {
        frozen_.is_inside = false;
        current = outer_;
    }
    Call(const Call&) = delete;

private:
    Frozen& frozen_;
    Frozen* const outer_;
};

PyObject* call_frozen(PyObject* self, PyObject* const* values, std::size_t flagged,
                      PyObject* names) {
    auto& frozen = *reinterpret_cast<Frozen*>(self);
    if (frozen.is_inside) return PyObject_Vectorcall(frozen.run, values, flagged, names);
    Owned living(Py_NewRef(self));
    look(frozen);
    Call call(frozen);
    return PyObject_Vectorcall(frozen.run, values, flagged, names);
}

PyObject* new_frozen(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *run, *arrays, *counters;
    if (!PyArg_ParseTuple(args, "OO!O!:Frozen", &run, &PyTuple_Type, &arrays, &PyTuple_Type,
                          &counters)) {
        return nullptr;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); ++i) {
        if (!PyArray_Check(PyTuple_GET_ITEM(arrays, i))) {
            return fail(PyExc_TypeError, "Frozen: expected arrays");
        }
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(counters); ++i) {
        PyObject* list = PyTuple_GET_ITEM(counters, i);
        if (!PyList_Check(list) || PyList_GET_SIZE(list) == 0) {
            return fail(PyExc_TypeError, "Frozen: expected lists that begin with a count");
        }
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* own = reinterpret_cast<Frozen*>(self);
    own->call = call_frozen;
    own->run = Py_NewRef(run);
    own->arrays = Py_NewRef(arrays);
    own->counters = Py_NewRef(counters);
    own->counts = new PyObject*[PyTuple_GET_SIZE(counters)]();
    own->constants = new Constants;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); ++i) {
        own->constants->add(Array(PyTuple_GET_ITEM(arrays, i)));
    }
    look(*own);
    return self;
}

int traverse_frozen(PyObject* self, visitproc visit, void* arg) {
    auto* own = reinterpret_cast<Frozen*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(own->run);
    Py_VISIT(own->arrays);
    Py_VISIT(own->counters);
    return 0;
}

int clear_frozen(PyObject* self) {
    // Never null: one that is being collected may still be called.
    Py_SETREF(reinterpret_cast<Frozen*>(self)->run, Py_NewRef(Py_None));
    return 0;
}

void free_frozen(PyObject* self) {
    auto* own = reinterpret_cast<Frozen*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(own->counters); ++i) Py_XDECREF(own->counts[i]);
    for (PyObject* part : {own->run, own->arrays, own->counters}) Py_DECREF(part);
    delete[] own->counts;
    delete own->constants;
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Frozen, run), READONLY, "What is run."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Frozen, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_frozen)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_frozen)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_frozen)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_frozen)},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Frozen(run, arrays, counters)")},
    {0, nullptr},
};

PyType_Spec spec = {
    "nnkit.backend.cpu.native.Frozen", sizeof(Frozen), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots,
};

}  // namespace

bool is_frozen(const void* operand) { return current != nullptr && current->constants->hold(operand); }

Kept* kept(const void* operand, Preparation made, Recipe recipe, std::size_t bytes) {
    return current->constants->place({operand, made, bytes, std::move(recipe)}, bytes);
}

PyObject* make_frozen_type() { return PyType_FromSpec(&spec); }

}  // namespace nnkit
