// What a recording writes down of each call, in place of the Python of recording.py.
#pragma once

#include "array.h"

namespace nnkit {

// What the module offers: `slots(value, made, book, slot, numbered)` is the value with
// `slot(number)` for each array in it, as `Recorder._slot` makes it. The book is the recording's
// (numbers, arrays, inputs, shapes); `numbered(array, made)` enters what is no plain ndarray.
PyObject* slots(PyObject* module, PyObject* const* values, Py_ssize_t count);

// What the module offers: `users_line()`, as in warning.py.
PyObject* users_line(PyObject* module, PyObject*);

}  // namespace nnkit
