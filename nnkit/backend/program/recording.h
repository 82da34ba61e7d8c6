// What a recording writes down of each call, in place of the Python of recording.py.
#pragma once

#include "array.h"

namespace nnkit {

// What the module offers: `slots(value, made, book, slot, numbered)` is the value with
// `slot(number)` for each array in it, as `Recorder._slot` makes it. The book is the recording's
// (numbers, arrays, inputs, shapes); `numbered(array, made)` enters what is no plain ndarray.
PyObject* slots(PyObject* module, PyObject* const* values, Py_ssize_t count);

// What the module offers: `recorded((recording, name, function, Slot, Call, LiveNumber))` is a
// primitive in the door of a recording: `Recording.passed` without what may have to be refused.
PyObject* recorded(PyObject* module, PyObject* entry);

// What the module offers: `same_values(slot, one, other)` tells whether arguments or results of two
// calls are the same to a program.
PyObject* same_values(PyObject* module, PyObject* const* values, Py_ssize_t count);

// What the module offers: `users_line()`, as in warning.py.
PyObject* users_line(PyObject* module, PyObject*);

}  // namespace nnkit
