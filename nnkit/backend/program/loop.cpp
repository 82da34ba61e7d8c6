#include "loop.h"

#include <structmember.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <unordered_map>
#include <vector>

#include "owned.h"
#include "tensor.h"

namespace nnkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned calls_between_looks = 32;
constexpr auto turn = std::chrono::milliseconds(5);  // of a thread of Python, as the interpreter's

// What the interpreter does between its instructions, for programs of many small calls; kernels
// that take long look for signals and let other threads run by themselves.
class Looks {
public:
    bool look() {
        if (++count_ % calls_between_looks != 0) return true;
        const Clock::time_point now = Clock::now();
        if (count_ == calls_between_looks) since_ = now;
        if (now - since_ > turn) {
            Py_BEGIN_ALLOW_THREADS
            Py_END_ALLOW_THREADS
            since_ = Clock::now();
        }
        return PyErr_CheckSignals() == 0;
    }

private:
    unsigned count_ = 0;
    Clock::time_point since_;
};

// Buffers, and all that is the same in each run, have places.
constexpr int nowhere = -1;

// A sequence with buffers in it, or one place.
struct Pattern {
    int place = nowhere;
    bool is_list = false;  // else the sequence is a tuple
    std::vector<Pattern> parts;
};

struct Call {
    int function;
    std::vector<int> arguments;                       // nowhere, where a sequence is built
    std::vector<std::pair<std::size_t, Pattern>> sequences;  // which argument each of them is
    Pattern result;
    std::vector<int> gone;  // the places that nobody reads any more
    Py_ssize_t slot = 0;    // of a Tensor, where the call only sets it
};

struct Program {
    std::vector<PyObject*> image;  // of all places as a run begins: what is known is borrowed
    std::vector<Owned> known;      // what is the same in each run
    std::vector<int> inputs, outputs;
    std::vector<int> made;  // the places of what calls return
    std::vector<Call> calls;
    std::size_t widest = 0;  // the most arguments of a call
};

struct Loop {
    PyObject_HEAD
    vectorcallfunc call;
    Program program;
};

// What one run holds: what is in the places, and the arguments of the call that is made.
class Run {
public:
    explicit Run(const Program& program) : program_(program) {
        std::size_t count = program.image.size() + 1 + program.widest;
        places_ = count <= near ? here_ : new PyObject*[count];
        std::copy(program.image.begin(), program.image.end(), places_);
    }
    ~Run() {
        if (!is_ending()) {
            for (int place : program_.made) Py_XDECREF(places_[place]);
        }
        if (places_ != here_) delete[] places_;
    }
    Run(const Run&) = delete;

    // Whoever runs the program keeps them until it returns.
    void give(PyObject* const* values) {
        for (int place : program_.inputs) places_[place] = *values++;
    }

    bool make(const Call& call) {
        if (call.slot != 0) return set(call);
        PyObject** values = places_ + program_.image.size() + 1;
        std::size_t count = 0;
        for (int place : call.arguments) {
            values[count++] = place == nowhere ? nullptr : places_[place];
        }
        std::size_t built = 0;
        for (const auto& [argument, pattern] : call.sequences) {
            values[argument] = filled(pattern);
            if (values[argument] == nullptr) break;
            ++built;
        }
        PyObject* result = nullptr;
        if (built == call.sequences.size()) {
            std::size_t flagged = count | PY_VECTORCALL_ARGUMENTS_OFFSET;
            result = PyObject_Vectorcall(places_[call.function], values, flagged, nullptr);
        }
        while (built > 0) Py_DECREF(values[call.sequences[--built].first]);
        if (result == nullptr) return false;
        if (call.result.place != nowhere) {
            Py_XSETREF(places_[call.result.place], result);
        } else {
            bool stored = store(call.result, result);
            Py_DECREF(result);
            if (!stored) return false;
        }
        for (int place : call.gone) Py_CLEAR(places_[place]);
        return true;
    }

    PyObject* results() const {
        PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(program_.outputs.size()));
        if (tuple == nullptr) return nullptr;
        Py_ssize_t i = 0;
        for (int place : program_.outputs) {
            PyTuple_SET_ITEM(tuple, i++, Py_NewRef(places_[place]));
        }
        return tuple;
    }

private:
    bool set(const Call& call) const {
        PyObject* target = places_[call.arguments[0]];
        PyObject* value = places_[call.arguments[2]];
        if (is_tensor(target)) {
            set_slot(target, call.slot, value);
            return true;
        }
        return PyObject_SetAttr(target, places_[call.arguments[1]], value) == 0;
    }

    PyObject* filled(const Pattern& pattern) const {
        if (pattern.place != nowhere) return Py_NewRef(places_[pattern.place]);
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

    // Takes what a call returned to where the pattern has places for it.
    bool store(const Pattern& pattern, PyObject* value) {
        if (pattern.place != nowhere) {
            Py_XSETREF(places_[pattern.place], Py_NewRef(value));
            return true;
        }
        if (pattern.parts.empty()) return true;
        if (!PyTuple_Check(value) && !PyList_Check(value)) {
            return fail(PyExc_TypeError, "a call of a program returned no sequence");
        }
        if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(pattern.parts.size())) {
            return fail(PyExc_ValueError, "a call of a program returned another number of arrays");
        }
        PyObject** item = PySequence_Fast_ITEMS(value);
        for (const Pattern& part : pattern.parts) {
            if (!store(part, *item++)) return false;
        }
        return true;
    }

    static constexpr std::size_t near = 128;

    const Program& program_;
    PyObject** places_;
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
    Looks looks;
    for (const Call& call : program.calls) {
        if (!run.make(call) || !looks.look()) return nullptr;
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
            know(place, array);
        }
        if (!read_places(inputs, program_.inputs)) return false;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(calls); ++i) {
            if (!read_call(PyList_GET_ITEM(calls, i))) return false;
        }
        forget_what_others_keep();
        return read_places(outputs, program_.outputs);
    }

private:
    int new_place() {
        program_.image.push_back(nullptr);
        return static_cast<int>(program_.image.size()) - 1;
    }

    int know(int place, PyObject* value) {
        program_.image[place] = value;
        program_.known.emplace_back(Py_NewRef(value));
        return place;
    }

    int place_of(PyObject* number) {
        long value = PyLong_AsLong(number);
        if (value == -1 && PyErr_Occurred()) return nowhere;
        auto found = places_.find(value);
        return found != places_.end() ? found->second : places_[value] = new_place();
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
        call.function = know(new_place(), function);
        const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
        for (Py_ssize_t i = 0; i < count; ++i) {
            Pattern pattern;
            if (!read_pattern(PyTuple_GET_ITEM(arguments, i), pattern)) return false;
            call.arguments.push_back(pattern.place);
            if (pattern.place == nowhere) {
                call.sequences.emplace_back(static_cast<std::size_t>(i), std::move(pattern));
            }
        }
        if (!read_target(result, call.result) || !read_places(gone, call.gone)) return false;
        if (function == set_attribute_ && count == 3 && call.sequences.empty()) {
            call.slot = slot_of(PyTuple_GET_ITEM(arguments, 1));
        }
        program_.widest = std::max(program_.widest, call.arguments.size());
        program_.calls.push_back(std::move(call));
        return true;
    }

    int place_of_slot(PyObject* slot) {
        static PyObject* const name = PyUnicode_InternFromString("number");
        Owned number(PyObject_GetAttr(slot, name));
        return number ? place_of(number.object()) : nowhere;
    }

    bool is_slot(PyObject* value) const {
        return reinterpret_cast<PyObject*>(Py_TYPE(value)) == slot_;
    }

    bool holds_slots(PyObject* value) const {
        if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value)) return is_slot(value);
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
            if (holds_slots(PySequence_Fast_GET_ITEM(value, i))) return true;
        }
        return false;
    }

    bool read_pattern(PyObject* value, Pattern& pattern) {
        if (is_slot(value)) {
            pattern.place = place_of_slot(value);
            return pattern.place != nowhere;
        }
        if (!holds_slots(value)) {
            pattern.place = know(new_place(), value);
            return true;
        }
        pattern.is_list = PyList_CheckExact(value);
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
            pattern.parts.emplace_back();
            if (!read_pattern(PySequence_Fast_GET_ITEM(value, i), pattern.parts.back())) {
                return false;
            }
        }
        return true;
    }

    // Slots in a result are what is made; of the rest nothing is kept.
    bool read_target(PyObject* result, Pattern& pattern) {
        if (is_slot(result)) {
            pattern.place = place_of_slot(result);
            program_.made.push_back(pattern.place);
            return pattern.place != nowhere;
        }
        if (!PyTuple_CheckExact(result)) return true;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
            pattern.parts.emplace_back();
            if (!read_target(PyTuple_GET_ITEM(result, i), pattern.parts.back())) return false;
        }
        return true;
    }

    // Of what is borrowed nothing can be given back.
    void forget_what_others_keep() {
        std::vector<int>& made = program_.made;
        std::sort(made.begin(), made.end());
        made.erase(std::unique(made.begin(), made.end()), made.end());
        auto is_other = [&made](int place) {
            return !std::binary_search(made.begin(), made.end(), place);
        };
        for (Call& call : program_.calls) {
            call.gone.erase(std::remove_if(call.gone.begin(), call.gone.end(), is_other),
                            call.gone.end());
        }
    }

    // The slot of Tensors that `setattr` is called for; 0 for another attribute.
    static Py_ssize_t slot_of(PyObject* name) {
        if (!PyUnicode_Check(name)) return 0;
        for (auto [known, slot] : {std::pair{"_grad", tensors.grad}, {"_array", tensors.data},
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

int traverse_loop(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    for (const Owned& each : reinterpret_cast<Loop*>(self)->program.known) Py_VISIT(each.object());
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
