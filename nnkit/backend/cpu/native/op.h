// What the module offers for ops on Tensors; see op.cpp.
#pragma once

#include "array.h"

namespace nnkit {

// set_tensor(Tensor, cpu, MODE, INFERENCE_MODES): must come before the two others.
PyObject* set_tensor(PyObject* module, PyObject* args);
// wrap(array, device=cpu): a new leaf.
PyObject* wrap_array(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
// bind_op(twin, op, connect, name, dtypes, optional, flowing, inputs, takes_number, several,
// simple)
PyObject* bind_op(PyObject* module, PyObject* args);

}  // namespace nnkit
