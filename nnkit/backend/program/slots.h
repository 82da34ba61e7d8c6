// What stands for arrays in recorded calls (recording.py).
#pragma once

#include "array.h"

namespace nnkit {

// What the module offers: `slots(value, made, numbers, slot, numbered)` is the value with
// `slot(number)` for each array in it, as `Recorder._slot` in door.py makes it: `numbers` has the
// numbers of objects by their address, `numbered(array, made)` gives a new array one.
PyObject* slots(PyObject* module, PyObject* const* values, Py_ssize_t count);

}  // namespace nnkit
