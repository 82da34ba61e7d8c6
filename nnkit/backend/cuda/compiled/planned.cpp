// Primitives on a GPU whose launches are known from the layouts of their arguments. Python's driver
// says once for each layout what it makes and launches (backend/cuda/planning.py); that is a
// program, which runs from then on. The twin serves other arguments.
#include "planned.h"

#include <structmember.h>

#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

#include "owned.h"
#include "program.h"

namespace nnkit {
namespace {

constexpr std::size_t most_programs = 4096;  // of a primitive

// All that a program depends on, as words.
using Key = std::vector<std::int64_t>;

struct HashKey {
    std::size_t operator()(const Key& key) const {
        std::uint64_t hash = key.size();
        for (std::int64_t word : key) {
            hash = (hash ^ std::uint64_t(word)) * 0x9E3779B97F4A7C15u;
            hash ^= hash >> 29;
        }
        return hash;
    }
};

enum Tag { absent = 1, yes, no, integer, real, any_number, sequence, array, thing };

constexpr int vector_bytes = 16;  // as in launch.py

class Signature {
public:
    Signature(Key& key, std::vector<PyObject*>& arrays) : key_(key), arrays_(arrays) {
        key_.clear();
        arrays_.clear();
    }

    // Appends an argument; false for what no program is made for. Of a varying one only its class
    // counts.
    bool add(PyObject* value, bool varying) {
        if (GpuArray::is(value)) return add_array(value);
        PyTypeObject* type = Py_TYPE(value);
        if (value == Py_None) return add_word(absent);
        if (varying && (type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type)) {
            return add_word(any_number) && add_word(std::int64_t(type));
        }
        if (type == &PyBool_Type) return add_word(value == Py_True ? yes : no);
        if (type == &PyLong_Type) {
            int overflow;
            long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
            return !overflow && add_word(integer) && add_word(number);
        }
        if (type == &PyFloat_Type) {
            double number = PyFloat_AS_DOUBLE(value);
            std::int64_t bits;
            std::memcpy(&bits, &number, sizeof bits);
            return add_word(real) && add_word(bits);
        }
        if (type == &PyTuple_Type || type == &PyList_Type) {
            Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
            add_word(sequence);
            add_word(count);
            for (Py_ssize_t i = 0; i < count; ++i) {
                if (!add(PySequence_Fast_GET_ITEM(value, i), varying)) return false;
            }
            return true;
        }
        // The program keeps it, so that nothing else gets its address.
        bool known = type == &PyUnicode_Type || PyArray_DescrCheck(value) || PyType_Check(value);
        return known && add_word(thing) && add_word(std::int64_t(value));
    }

    // The present values of switches, which are True or False.
    void add_switches(PyObject* switches) {
        PyObject *name, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(switches, &at, &name, &value)) add_word(PyObject_IsTrue(value));
    }

private:
    bool add_word(std::int64_t word) {
        key_.push_back(word);
        return true;
    }

    bool add_array(PyObject* value) {
        GpuArray given(value);
        const auto &shape = given.shape(), &strides = given.strides();
        auto aligned = std::uintptr_t(given.address()) % vector_bytes;
        key_.push_back(array | shape.size() << 8 | aligned << 16);
        key_.push_back(std::int64_t(given.dtype()));
        key_.insert(key_.end(), shape.begin(), shape.end());
        key_.insert(key_.end(), strides.begin(), strides.end());
        arrays_.push_back(value);
        return true;
    }

    Key& key_;
    std::vector<PyObject*>& arrays_;
};

using Programs = std::unordered_map<Key, std::shared_ptr<Program>, HashKey>;

struct Planned {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *twin, *planner, *name;
    PyObject* switches;        // a dictionary on whose values programs depend, or None
    int device;
    bool several;              // GPUs, of which another one may be current
    Py_ssize_t first, last;    // the arguments from and to that are numbers which vary
    Programs* programs;        // null stands for layouts without one
};

// The program for a call, made if need be; false with an error set.
bool find_program(Planned* planned, const Key& key, PyObject* const* values, Py_ssize_t count,
                  std::shared_ptr<Program>* found) {
    auto known = planned->programs->find(key);
    if (known != planned->programs->end()) {
        *found = known->second;
        return true;
    }
    const Key own = key;  // Python may come back here
    Owned arguments(PyTuple_New(count));
    if (!arguments) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyTuple_SET_ITEM(arguments.object(), i, Py_NewRef(values[i]));
    }
    Owned made(PyObject_CallFunction(planned->planner, "OO", planned->twin, arguments.object()));
    if (!made) return false;
    if (made.object() != Py_None) {
        PyObject* description = PyTuple_GET_ITEM(made.object(), 0);
        *found = Program::read(description, PyTuple_GET_ITEM(made.object(), 1));
        if (*found == nullptr) return false;
    }
    if (planned->programs->size() >= most_programs) planned->programs->clear();
    (*planned->programs)[own] = *found;
    return true;
}

// What a program makes of the arguments. Without an error set, null is "declined".
PyObject* run_program(Planned* planned, PyObject* const* values, Py_ssize_t count) {
    static Key key;  // of the call at hand, under the GIL
    bool is_here = !planned->several || cupy.current_device(0) == planned->device;
    std::vector<PyObject*> arrays;
    arrays.reserve(8);
    Signature signature(key, arrays);
    bool known = is_here;
    for (Py_ssize_t i = 0; known && i < count; ++i) {
        known = signature.add(values[i], i >= planned->first && i < planned->last);
    }
    if (!known || arrays.empty()) return decline();
    if (planned->switches != Py_None) signature.add_switches(planned->switches);
    std::shared_ptr<Program> program;
    if (!find_program(planned, key, values, count, &program)) return nullptr;
    return program != nullptr ? program->run(planned->device, values, arrays) : decline();
}

PyObject* call_planned(PyObject* self, PyObject* const* values, std::size_t flagged,
                       PyObject* names) {
    auto* planned = reinterpret_cast<Planned*>(self);
    if (names == nullptr) {
        try {
            PyObject* result = run_program(planned, values, PyVectorcall_NARGS(flagged));
            if (result != nullptr || PyErr_Occurred()) return result;
        } catch (const std::bad_alloc&) {
            return PyErr_NoMemory();
        }
    }
    return PyObject_Vectorcall(planned->twin, values, flagged, names);
}

void free_planned(PyObject* self) {
    auto* planned = reinterpret_cast<Planned*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    delete planned->programs;
    for (PyObject* part : {planned->twin, planned->planner, planned->name, planned->switches}) {
        Py_XDECREF(part);
    }
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

int traverse_planned(PyObject* self, visitproc visit, void* arg) {
    auto* planned = reinterpret_cast<Planned*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(planned->twin);
    Py_VISIT(planned->planner);
    return 0;
}

PyObject* represent_planned(PyObject* self) {
    return PyUnicode_FromFormat("<planned %U>", reinterpret_cast<Planned*>(self)->name);
}

// What it has no attribute of, the twin has (a formula).
PyObject* get_attribute(PyObject* self, PyObject* name) {
    PyObject* found = PyObject_GenericGetAttr(self, name);
    if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    return PyObject_GetAttr(reinterpret_cast<Planned*>(self)->twin, name);
}

PyObject* count_programs(PyObject* self, void*) {
    std::size_t count = 0;
    for (const auto& [key, program] : *reinterpret_cast<Planned*>(self)->programs) {
        count += program != nullptr;
    }
    return PyLong_FromSize_t(count);
}

PyMemberDef planned_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Planned, twin), READONLY, "The twin."},
    {"twin", T_OBJECT_EX, offsetof(Planned, twin), READONLY,
     "The same in Python; it serves the arguments for which there is no program."},
    {"__name__", T_OBJECT_EX, offsetof(Planned, name), READONLY, "The primitive's name."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Planned, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef planned_computed[] = {
    {"programs", count_programs, nullptr, "For how many layouts there is a program.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot planned_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_planned)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_planned)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_repr, reinterpret_cast<void*>(represent_planned)},
    {Py_tp_members, planned_members},
    {Py_tp_getset, planned_computed},
    {0, nullptr},
};

PyType_Spec planned_spec = {
    "nnkit.backend.cpu.native.Planned", sizeof(Planned), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_DISALLOW_INSTANTIATION,
    planned_slots,
};

PyTypeObject* planned_type = nullptr;

}  // namespace

PyObject* bind_planned(PyObject*, PyObject* args) {
    PyObject *name, *twin, *planner, *switches;
    int device, several;
    Py_ssize_t first, last;
    if (!PyArg_ParseTuple(args, "UOOipnnO:bind_planned", &name, &twin, &planner, &device, &several,
                          &first, &last, &switches)) {
        return nullptr;
    }
    if (planned_type == nullptr) {
        planned_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&planned_spec));
    }
    if (planned_type == nullptr) return nullptr;
    auto* planned = PyObject_GC_New(Planned, planned_type);
    if (planned == nullptr) return nullptr;
    planned->call = call_planned;
    planned->twin = Py_NewRef(twin);
    planned->planner = Py_NewRef(planner);
    planned->name = Py_NewRef(name);
    planned->switches = Py_NewRef(switches);
    planned->device = device;
    planned->several = several != 0;
    planned->first = first;
    planned->last = last;
    planned->programs = new Programs;
    PyObject_GC_Track(planned);
    return reinterpret_cast<PyObject*>(planned);
}

}  // namespace nnkit
