#include "recording.h"

#include <frameobject.h>

#include <utility>
#include <vector>

#include "owned.h"

namespace nnkit {
namespace {

// What a recording knows of arrays.
struct Book {
    Book(PyObject* parts, PyObject* slot_, PyObject* numbered_, bool made_)
        : numbers(PyTuple_GET_ITEM(parts, 0)), arrays(PyTuple_GET_ITEM(parts, 1)),
          inputs(PyTuple_GET_ITEM(parts, 2)), shapes(PyTuple_GET_ITEM(parts, 3)), slot(slot_),
          numbered(numbered_), made(made_) {}

    PyObject *numbers, *arrays, *inputs, *shapes;
    PyObject *slot, *numbered;
    bool made;
};

// Most arguments of calls are such values, in which there is no array.
bool holds_no_array(PyObject* value) {
    PyTypeObject* type = Py_TYPE(value);
    return value == Py_None || type == &PyBool_Type || type == &PyLong_Type ||
           type == &PyFloat_Type || type == &PyUnicode_Type || type == &PyComplex_Type;
}

bool is_array(PyObject* value) {
    return PyObject_HasAttrString(value, "dtype") && PyObject_HasAttrString(value, "strides");
}

// The callback of a weak reference: `entry` is the book's numbers and the key that goes.
PyObject* forget(PyObject* entry, PyObject*) {
    PyObject* numbers = PyTuple_GET_ITEM(entry, 0);
    int found = PyDict_Contains(numbers, PyTuple_GET_ITEM(entry, 1));
    if (found < 0 || (found > 0 && PyDict_DelItem(numbers, PyTuple_GET_ITEM(entry, 1)) < 0)) {
        return nullptr;
    }
    return none();
}

PyMethodDef forgetting = {"forget", forget, METH_O, "Forget the number of an array."};

// What is kept of an array: the step lets go of most of what it makes.
PyObject* kept_of(const Book& book, PyObject* array, PyObject* key) {
    if (!book.made) return Py_NewRef(array);
    Owned entry(PyTuple_Pack(2, book.numbers, key));
    if (!entry) return nullptr;
    Owned callback(PyCFunction_New(&forgetting, entry.object()));
    return callback ? PyWeakref_NewRef(array, callback.object()) : nullptr;
}

PyObject* geometry(Array array) {
    return tuple({PyArray_IntTupleFromIntp(array.ndim(), array.shape()),
                  Py_NewRef(reinterpret_cast<PyObject*>(array.descriptor())),
                  PyArray_IntTupleFromIntp(array.ndim(), array.strides())});
}

// Enters an array under the next number.
PyObject* number_of(const Book& book, PyObject* value, PyObject* key) {
    Owned number(PyLong_FromSsize_t(PyList_GET_SIZE(book.arrays)));
    Owned kept(kept_of(book, value, key)), known(geometry(Array(value)));
    if (!number || !kept || !known ||
        PyDict_SetItem(book.numbers, key, number.object()) < 0 ||
        PyDict_SetItem(book.shapes, number.object(), known.object()) < 0 ||
        PyList_Append(book.arrays, kept.object()) < 0 ||
        (!book.made && PyList_Append(book.inputs, number.object()) < 0)) {
        return nullptr;
    }
    return number.release();
}

PyObject* slots_of(const Book& book, PyObject* value);

PyObject* slots_of_items(const Book& book, PyObject* items) {
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    Owned list(PyList_New(count));
    if (!list) return nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* slot = slots_of(book, PySequence_Fast_GET_ITEM(items, i));
        if (slot == nullptr) return nullptr;
        PyList_SET_ITEM(list.object(), i, slot);
    }
    if (PyList_CheckExact(items)) return list.release();
    if (PyTuple_CheckExact(items)) return PyList_AsTuple(list.object());
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(items)), list.object());
}

PyObject* slots_of(const Book& book, PyObject* value) {
    if (holds_no_array(value)) return Py_NewRef(value);
    Owned key(PyLong_FromVoidPtr(value));
    if (!key) return nullptr;
    Owned number(Py_XNewRef(PyDict_GetItemWithError(book.numbers, key.object())));
    if (!number) {
        if (PyErr_Occurred()) return nullptr;
        if (PyTuple_Check(value) || PyList_Check(value)) return slots_of_items(book, value);
        if (PyArray_CheckExact(value)) {
            number.reset(number_of(book, value, key.object()));
        } else {
            if (!is_array(value)) return Py_NewRef(value);
            PyObject* arguments[] = {value, book.made ? Py_True : Py_False};
            number.reset(PyObject_Vectorcall(book.numbered, arguments, 2, nullptr));
        }
        if (!number) return nullptr;
    }
    return PyObject_CallOneArg(book.slot, number.object());
}

PyObject* number_in(PyObject* slot) {
    static PyObject* const name = PyUnicode_InternFromString("number");
    return PyObject_GetAttr(slot, name);
}

int are_same(PyObject* slot, PyObject* one, PyObject* other);

int are_same_items(PyObject* slot, PyObject* one, PyObject* other) {
    Py_ssize_t count = PySequence_Fast_GET_SIZE(one);
    if (count != PySequence_Fast_GET_SIZE(other)) return 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        int same = are_same(slot, PySequence_Fast_GET_ITEM(one, i),
                            PySequence_Fast_GET_ITEM(other, i));
        if (same <= 0) return same;
    }
    return 1;
}

// Whether one is the other, where not being itself counts as being a NaN; -1 with an error set.
int are_equal(PyObject* one, PyObject* other) {
    Owned answer(PyObject_RichCompare(one, other, Py_EQ));
    int equal = answer ? PyObject_IsTrue(answer.object()) : -1;
    for (PyObject* value : {one, other}) {
        if (equal != 0) return equal;
        answer.reset(PyObject_RichCompare(value, value, Py_NE));
        int strange = answer ? PyObject_IsTrue(answer.object()) : -1;
        if (strange <= 0) return strange;
    }
    return 1;
}

int are_same(PyObject* slot, PyObject* one, PyObject* other) {
    if (one == other) return 1;
    if (Py_TYPE(one) != Py_TYPE(other)) return 0;
    if (reinterpret_cast<PyObject*>(Py_TYPE(one)) == slot) {
        Owned first(number_in(one)), second(number_in(other));
        return first && second ? are_equal(first.object(), second.object()) : -1;
    }
    if (PyTuple_Check(one) || PyList_Check(one)) return are_same_items(slot, one, other);
    if (PySlice_Check(one)) {
        auto* a = reinterpret_cast<PySliceObject*>(one);
        auto* b = reinterpret_cast<PySliceObject*>(other);
        for (auto [first, second] : {std::pair{a->start, b->start}, {a->stop, b->stop},
                                     {a->step, b->step}}) {
            int same = are_same(slot, first, second);
            if (same <= 0) return same;
        }
        return 1;
    }
    int equal = are_equal(one, other);
    if (equal < 0 && (PyErr_ExceptionMatches(PyExc_TypeError) ||
                      PyErr_ExceptionMatches(PyExc_ValueError))) {
        PyErr_Clear();  // they have no truth, as arrays have none
        return 0;
    }
    return equal;
}

// Whether a frame is of nnkit's own code; -1 with an error set.
int is_own(PyObject* frame) {
    static PyObject* const globals = PyUnicode_InternFromString("f_globals");
    static PyObject* const title = PyUnicode_InternFromString("__name__");
    static PyObject* const prefix = PyUnicode_InternFromString("nnkit.");
    Owned found(PyObject_GetAttr(frame, globals));
    if (!found) return -1;
    PyObject* name = PyDict_GetItemWithError(found.object(), title);
    if (name == nullptr || !PyUnicode_Check(name)) return PyErr_Occurred() ? -1 : 0;
    return static_cast<int>(PyUnicode_Tailmatch(name, prefix, 0, PY_SSIZE_T_MAX, -1));
}

// No profiler looks at what is called while one of these lives.
class Untraced {
public:
#if PY_VERSION_HEX >= 0x030B0000
    Untraced() { PyThreadState_EnterTracing(PyThreadState_Get()); }
    ~Untraced() { PyThreadState_LeaveTracing(PyThreadState_Get()); }
#else
    Untraced() {}
    ~Untraced() {}
#endif
    Untraced(const Untraced&) = delete;
};

// A primitive in the door of a recording: (recording, name, function, Slot, Call, LiveNumber).
struct Entry {
    explicit Entry(PyObject* tuple)
        : recording(PyTuple_GET_ITEM(tuple, 0)), name(PyTuple_GET_ITEM(tuple, 1)),
          function(PyTuple_GET_ITEM(tuple, 2)), slot(PyTuple_GET_ITEM(tuple, 3)),
          call(PyTuple_GET_ITEM(tuple, 4)), live(PyTuple_GET_ITEM(tuple, 5)) {}

    PyObject *recording, *name, *function, *slot, *call, *live;
};

// Whether calls are written down just now; -1 with an error set.
int is_listening(PyObject* recording) {
    static PyObject* const names[] = {PyUnicode_InternFromString("broken"),
                                      PyUnicode_InternFromString("paused"),
                                      PyUnicode_InternFromString("thread")};
    Owned broken(PyObject_GetAttr(recording, names[0]));
    Owned paused(PyObject_GetAttr(recording, names[1]));
    Owned thread(PyObject_GetAttr(recording, names[2]));
    if (!broken || !paused || !thread) return -1;
    return broken.object() == Py_None && paused.object() == Py_False &&
           PyLong_AsUnsignedLong(thread.object()) == PyThread_get_thread_ident();
}

// Writes down a call that has returned.
bool write_down(const Entry& entry, PyObject* const* values, Py_ssize_t count, PyObject* result) {
    static PyObject* const names[] = {PyUnicode_InternFromString("book"),
                                      PyUnicode_InternFromString("_numbered"),
                                      PyUnicode_InternFromString("program"),
                                      PyUnicode_InternFromString("_begin")};
    Owned parts(PyObject_GetAttr(entry.recording, names[0]));
    Owned numbered(PyObject_GetAttr(entry.recording, names[1]));
    Owned program(PyObject_GetAttr(entry.recording, names[2]));
    Owned arguments(PyTuple_New(count));
    if (!parts || !numbered || !program || !arguments) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyTuple_SET_ITEM(arguments.object(), i, Py_NewRef(values[i]));
    }
    Book book(parts.object(), entry.slot, numbered.object(), false);
    Owned given(slots_of(book, arguments.object()));
    if (!given) return false;
    if (PyList_GET_SIZE(program.object()) == 0) {
        Owned begun(PyObject_CallMethodNoArgs(entry.recording, names[3]));
        if (!begun) return false;
    }
    book.made = true;
    Owned made(slots_of(book, result)), line(users_line(nullptr, nullptr));
    if (!made || !line) return false;
    PyObject* written[] = {entry.name, given.object(), made.object(), line.object()};
    Owned call(PyObject_Vectorcall(entry.call, written, 4, nullptr));
    return call && PyList_Append(program.object(), call.object()) == 0;
}

PyObject* pass(PyObject* self, PyObject* const* values, Py_ssize_t count) {
    Entry entry(self);
    int listening = is_listening(entry.recording);
    if (listening < 0) return nullptr;
    auto flagged = static_cast<std::size_t>(count);
    Owned result;
    if (listening == 0) return PyObject_Vectorcall(entry.function, values, flagged, nullptr);
    bool is_live = false;
    for (Py_ssize_t i = 0; i < count; ++i) {
        is_live = is_live || reinterpret_cast<PyObject*>(Py_TYPE(values[i])) == entry.live;
    }
    if (is_live) {  // NumPy promotes by what is no float itself, though it is derived from it
        std::vector<Owned> numbers;
        std::vector<PyObject*> given(values, values + count);
        for (PyObject*& value : given) {
            if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != entry.live) continue;
            numbers.emplace_back(PyFloat_FromDouble(PyFloat_AS_DOUBLE(value)));
            value = numbers.back().object();
            if (value == nullptr) return nullptr;
        }
        result.reset(PyObject_Vectorcall(entry.function, given.data(), flagged, nullptr));
    } else {
        result.reset(PyObject_Vectorcall(entry.function, values, flagged, nullptr));
    }
    Untraced untraced;
    return result && write_down(entry, values, count, result.object()) ? result.release() : nullptr;
}

PyMethodDef passing = {"pass", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(pass)),
                       METH_FASTCALL, "A primitive whose calls are written down."};

}  // namespace

PyObject* recorded(PyObject*, PyObject* entry) {
    if (!PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 6) {
        return fail(PyExc_TypeError, "recorded: expected (recording, name, function, Slot, Call, "
                                     "LiveNumber)");
    }
    return PyCFunction_New(&passing, entry);
}

PyObject* slots(PyObject*, PyObject* const* values, Py_ssize_t count) {
    PyObject* book = count == 5 ? values[2] : nullptr;
    if (book == nullptr || !PyTuple_CheckExact(book) || PyTuple_GET_SIZE(book) != 4 ||
        !PyDict_Check(PyTuple_GET_ITEM(book, 0)) || !PyList_Check(PyTuple_GET_ITEM(book, 1)) ||
        !PyList_Check(PyTuple_GET_ITEM(book, 2)) || !PyDict_Check(PyTuple_GET_ITEM(book, 3))) {
        return fail(PyExc_TypeError, "slots: expected (value, made, (numbers, arrays, inputs, "
                                     "shapes), slot, numbered)");
    }
    return slots_of(Book(book, values[3], values[4], values[1] == Py_True), values[0]);
}

PyObject* same_values(PyObject*, PyObject* const* values, Py_ssize_t count) {
    if (count != 3) return fail(PyExc_TypeError, "same_values: expected a class and two values");
    int same = are_same(values[0], values[1], values[2]);
    return same < 0 ? nullptr : PyBool_FromLong(same);
}

PyObject* users_line(PyObject*, PyObject*) {
    PyFrameObject* first = PyThreadState_GetFrame(PyThreadState_Get());
    Owned frame(reinterpret_cast<PyObject*>(first));
    while (frame) {
        int own = is_own(frame.object());
        if (own < 0) return nullptr;
        auto* current = reinterpret_cast<PyFrameObject*>(frame.object());
        if (own == 0) {
            Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(current)));
            PyObject* file = reinterpret_cast<PyCodeObject*>(code.object())->co_filename;
            return PyUnicode_FromFormat("%U:%d", file, PyFrame_GetLineNumber(current));
        }
        frame.reset(reinterpret_cast<PyObject*>(PyFrame_GetBack(current)));
    }
    return PyUnicode_FromString("an unknown line");
}

}  // namespace nnkit
