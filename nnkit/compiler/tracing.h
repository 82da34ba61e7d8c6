// What the interpreter calls, seen for a recording (tracing.py).
#pragma once

#include "array.h"

namespace nnkit {

// What the module offers: `trace(look)` sets this thread's profiler until `sys.setprofile` sets
// another one. It calls `look(frame, event, argument)` for each "call" and "c_call". Where that
// returns True nothing has ever to be seen of such an event in the same code.
PyObject* trace(PyObject* module, PyObject* look);

// `untraced(function, *arguments)`: what the function returns; no profiler sees what it calls.
PyObject* untraced(PyObject* module, PyObject* const* values, Py_ssize_t count);

}  // namespace nnkit
