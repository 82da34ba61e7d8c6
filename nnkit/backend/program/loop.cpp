#include "loop.h"

#include <structmember.h>

#include <algorithm>
#include <new>
#include <unordered_map>
#include <vector>

#include "owned.h"
#include "tensor.h"

namespace nnkit {
namespace {

// A value in which buffers stand for arrays: a buffer, something without any, or a sequence.
struct Pattern {
    int place = -1;        // of a buffer
    Owned fixed;           // what is no sequence with buffers in it
    bool is_list = false;  // else the sequence is a tuple
    std::vector<Pattern> parts;
};

struct Call {
    Owned function;
    std::vector<Pattern> arguments;
    Pattern result;
    std::vector<int> gone;  // the places that nobody reads any more
    Py_ssize_t slot = 0;    // of a Tensor, where the call only sets it
};

struct Program {
    std::vector<int> inputs, outputs;
    std::vector<std::pair<int, Owned>> constants;
    std::vector<Call> calls;
    int places = 0;
    std::size_t widest = 0;  // the most arguments of a call
};

struct Loop {
    PyObject_HEAD
    vectorcallfunc call;
    Program program;
};

// What one run holds: the buffers, and beside them the arguments of the call that is made.
class Run {
public:
    explicit Run(const Program& program) : program_(program) {
        std::size_t count = program.places + 1 + program.widest;
        buffers_ = count <= near ? here_ : new PyObject*[count];
        std::fill_n(buffers_, program.places, nullptr);
        for (const auto& [place, array] : program.constants) {
            buffers_[place] = Py_NewRef(array.object());
        }
    }
    ~Run() {
        if (!is_ending()) {
            for (int i = 0; i < program_.places; ++i) Py_XDECREF(buffers_[i]);
        }
        if (buffers_ != here_) delete[] buffers_;
    }
    Run(const Run&) = delete;

    void give(PyObject* const* values) {
        for (int place : program_.inputs) Py_XSETREF(buffers_[place], Py_NewRef(*values++));
    }

    bool make(const Call& call) {
        if (call.slot != 0) return set(call);
        PyObject** values = buffers_ + program_.places + 1;
        std::vector<Owned> built;
        std::size_t count = 0;
        for (const Pattern& argument : call.arguments) {
            PyObject* value = at(argument);
            if (value == nullptr) {
                built.emplace_back(filled(argument));
                value = built.back().object();
                if (value == nullptr) return false;
            }
            values[count++] = value;
        }
        std::size_t flagged = count | PY_VECTORCALL_ARGUMENTS_OFFSET;
        PyObject* result = PyObject_Vectorcall(call.function.object(), values, flagged, nullptr);
        if (result == nullptr) return false;
        if (call.result.place >= 0) {
            Py_XSETREF(buffers_[call.result.place], result);
        } else {
            bool stored = store(call.result, result);
            Py_DECREF(result);
            if (!stored) return false;
        }
        for (int place : call.gone) Py_CLEAR(buffers_[place]);
        return true;
    }

    PyObject* results() const {
        PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(program_.outputs.size()));
        if (tuple == nullptr) return nullptr;
        Py_ssize_t i = 0;
        for (int place : program_.outputs) {
            PyTuple_SET_ITEM(tuple, i++, Py_NewRef(buffers_[place]));
        }
        return tuple;
    }

private:
    // What a pattern stands for, borrowed; null for a sequence with buffers in it.
    PyObject* at(const Pattern& pattern) const {
        return pattern.place >= 0 ? buffers_[pattern.place] : pattern.fixed.object();
    }

    bool set(const Call& call) const {
        PyObject* target = at(call.arguments[0]);
        PyObject* value = at(call.arguments[2]);
        if (is_tensor(target)) {
            set_slot(target, call.slot, value);
            return true;
        }
        return PyObject_SetAttr(target, at(call.arguments[1]), value) == 0;
    }

    PyObject* filled(const Pattern& pattern) const {
        if (pattern.place >= 0) return Py_NewRef(buffers_[pattern.place]);
        if (pattern.fixed) return Py_NewRef(pattern.fixed.object());
        const auto count = static_cast<Py_ssize_t>(pattern.parts.size());
        Owned sequence(pattern.is_list ? PyList_New(count) : PyTuple_New(count));
        if (!sequence) return nullptr;
        Py_ssize_t i = 0;
        for (const Pattern& part : pattern.parts) {
            PyObject* value = filled(part);
            if (value == nullptr) return nullptr;
            if (pattern.is_list) PyList_SET_ITEM(sequence.object(), i++, value);
            else PyTuple_SET_ITEM(sequence.object(), i++, value);
        }
        return sequence.release();
    }

    // Takes what a call returned to where the pattern has buffers for it.
    bool store(const Pattern& pattern, PyObject* value) {
        if (pattern.place >= 0) {
            Py_XSETREF(buffers_[pattern.place], Py_NewRef(value));
            return true;
        }
        if (pattern.fixed) return true;
        Owned items(PySequence_Fast(value, "a call of a program returned no sequence"));
        if (!items) return false;
        if (PySequence_Fast_GET_SIZE(items.object()) !=
            static_cast<Py_ssize_t>(pattern.parts.size())) {
            return fail(PyExc_ValueError, "a call of a program returned another number of arrays");
        }
        PyObject** item = PySequence_Fast_ITEMS(items.object());
        for (const Pattern& part : pattern.parts) {
            if (!store(part, *item++)) return false;
        }
        return true;
    }

    static constexpr std::size_t near = 64;

    const Program& program_;
    PyObject** buffers_;
    PyObject* here_[near];
};

PyObject* call_loop(PyObject* self, PyObject* const* values, std::size_t flagged,
                    PyObject* names) {
    const Program& program = reinterpret_cast<Loop*>(self)->program;
    if (names != nullptr || static_cast<std::size_t>(PyVectorcall_NARGS(flagged)) !=
                                program.inputs.size()) {
        return fail(PyExc_TypeError, "a program of %zd inputs was given %zd arrays",
                    static_cast<Py_ssize_t>(program.inputs.size()), PyVectorcall_NARGS(flagged));
    }
    Owned living(Py_NewRef(self));
    Run run(program);
    run.give(values);
    for (const Call& call : program.calls) {
        if (!run.make(call) || PyErr_CheckSignals() < 0) return nullptr;
    }
    return run.results();
}

// Reads what Python has written down of a program.
class Reader {
public:
    Reader(PyObject* slot, Program& program) : slot_(slot), program_(program) {}

    bool read(PyObject* inputs, PyObject* constants, PyObject* calls, PyObject* outputs) {
        PyObject *number, *array;
        for (Py_ssize_t i = 0; PyDict_Next(constants, &i, &number, &array);) {
            int place = place_of(number);
            if (place < 0) return false;
            program_.constants.emplace_back(place, Owned(Py_NewRef(array)));
        }
        if (!read_places(inputs, program_.inputs)) return false;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(calls); ++i) {
            if (!read_call(PyList_GET_ITEM(calls, i))) return false;
        }
        return read_places(outputs, program_.outputs);
    }

private:
    int place_of(PyObject* number) {
        long value = PyLong_AsLong(number);
        if (value == -1 && PyErr_Occurred()) return -1;
        return places_.try_emplace(value, program_.places).second ? program_.places++
                                                                  : places_[value];
    }

    bool read_places(PyObject* numbers, std::vector<int>& places) {
        Owned items(PySequence_Fast(numbers, "Loop: expected a sequence of numbers"));
        if (!items) return false;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.object()); ++i) {
            places.push_back(place_of(PySequence_Fast_GET_ITEM(items.object(), i)));
            if (places.back() < 0) return false;
        }
        return true;
    }

    bool read_call(PyObject* written) {
        PyObject *function, *arguments, *result, *gone;
        if (!PyTuple_Check(written) ||
            !PyArg_ParseTuple(written, "OO!OO:Loop", &function, &PyTuple_Type, &arguments, &result,
                              &gone)) {
            return false;
        }
        Call call;
        call.function.reset(Py_NewRef(function));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
            call.arguments.emplace_back();
            if (!read_pattern(PyTuple_GET_ITEM(arguments, i), call.arguments.back())) return false;
        }
        if (!read_pattern(result, call.result) || !read_places(gone, call.gone)) return false;
        if (function == set_attribute_) call.slot = slot_of(call.arguments);
        program_.widest = std::max(program_.widest, call.arguments.size());
        program_.calls.push_back(std::move(call));
        return true;
    }

    bool read_pattern(PyObject* value, Pattern& pattern) {
        if (reinterpret_cast<PyObject*>(Py_TYPE(value)) == slot_) {
            static PyObject* const name = PyUnicode_InternFromString("number");
            Owned number(PyObject_GetAttr(value, name));
            pattern.place = number ? place_of(number.object()) : -1;
            return pattern.place >= 0;
        }
        pattern.is_list = PyList_CheckExact(value);
        if (pattern.is_list || PyTuple_CheckExact(value)) {
            bool holds_buffers = false;
            for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
                pattern.parts.emplace_back();
                Pattern& part = pattern.parts.back();
                if (!read_pattern(PySequence_Fast_GET_ITEM(value, i), part)) return false;
                holds_buffers = holds_buffers || !part.fixed;
            }
            if (holds_buffers) return true;
            pattern.parts.clear();
        }
        pattern.fixed.reset(Py_NewRef(value));
        return true;
    }

    // The slot of Tensors that `setattr` is called for; 0 for another attribute.
    static Py_ssize_t slot_of(const std::vector<Pattern>& arguments) {
        PyObject* name = arguments.size() == 3 ? arguments[1].fixed.object() : nullptr;
        if (name == nullptr || !PyUnicode_Check(name) || !arguments[2].parts.empty()) return 0;
        for (auto [known, slot] : {std::pair{"_grad", tensors.grad}, {"_data", tensors.data},
                                   {"_writes", tensors.writes}, {"_edge", tensors.edge},
                                   {"_requires_grad", tensors.requires_grad}}) {
            if (PyUnicode_CompareWithASCIIString(name, known) == 0) return slot;
        }
        return 0;
    }

    PyObject* slot_;
    PyObject* set_attribute_ = PyDict_GetItemString(PyEval_GetBuiltins(), "setattr");
    Program& program_;
    std::unordered_map<long, int> places_;  // by the numbers of the buffers
};

PyObject* new_loop(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *slot, *inputs, *constants, *calls, *outputs;
    if (!PyArg_ParseTuple(args, "OOO!O!O:Loop", &slot, &inputs, &PyDict_Type, &constants,
                          &PyList_Type, &calls, &outputs)) {
        return nullptr;
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* loop = reinterpret_cast<Loop*>(self);
    new (&loop->program) Program;
    loop->call = call_loop;
    if (!Reader(slot, loop->program).read(inputs, constants, calls, outputs)) {
        Py_DECREF(self);
        return nullptr;
    }
    return self;
}

int visit_pattern(const Pattern& pattern, visitproc visit, void* arg) {
    Py_VISIT(pattern.fixed.object());
    for (const Pattern& part : pattern.parts) {
        if (int stop = visit_pattern(part, visit, arg)) return stop;
    }
    return 0;
}

int traverse_loop(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    const Program& program = reinterpret_cast<Loop*>(self)->program;
    for (const auto& constant : program.constants) Py_VISIT(constant.second.object());
    for (const Call& call : program.calls) {
        Py_VISIT(call.function.object());
        for (const Pattern& argument : call.arguments) {
            if (int stop = visit_pattern(argument, visit, arg)) return stop;
        }
    }
    return 0;
}

int clear_loop(PyObject* self) {
    // What is called as it is being collected has no calls any more, and outputs nothing.
    Program gone;
    std::swap(gone, reinterpret_cast<Loop*>(self)->program);
    return 0;
}

void free_loop(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    reinterpret_cast<Loop*>(self)->program.~Program();
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Loop, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot type_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_loop)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_loop)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_loop)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_loop)},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("Loop(slot, inputs, constants, calls, outputs)")},
    {0, nullptr},
};

PyType_Spec spec = {
    "nnkit.backend.program.Loop", sizeof(Loop), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, type_slots,
};

}  // namespace

PyObject* make_loop_type() { return PyType_FromSpec(&spec); }

}  // namespace nnkit
