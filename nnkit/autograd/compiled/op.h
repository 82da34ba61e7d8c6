// The module's functions for ops on Tensors; see op.cpp.
#pragma once

#include "array.h"

namespace nnkit {

// bind_op(twin, op, connect, name, dtypes, optional, flowing, inputs, takes_number, several,
// simple)
PyObject* bind_op(PyObject* module, PyObject* args);

}  // namespace nnkit
