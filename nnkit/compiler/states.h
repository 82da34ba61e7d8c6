// How Tensors are, and which of them have changed (tensors.py).
#pragma once

#include "array.h"

namespace nnkit {

// What the module offers: `states(kind, tensors)`, a dict of the Tensors by id and one of their
// states, tuples of the class `kind`: (data, grad, writes, version, requires_grad, edge, base,
// hooks). Tensors without data are left out.
PyObject* states(PyObject* module, PyObject* const* values, Py_ssize_t count);

// What the module offers: `changed(tensors, states)`, the Tensors that are not in these states.
PyObject* changed(PyObject* module, PyObject* const* values, Py_ssize_t count);

}  // namespace nnkit
