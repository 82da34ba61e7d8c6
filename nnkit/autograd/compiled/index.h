// Tuples of integers, slices, None and Ellipsis as indices (autograd/ops/indexing/index.py).
#pragma once

#include "array.h"

namespace nnkit {

// What the module offers: divide_basic(items, shape, whole slice) is what `Index` has as its basic
// part and as the class of its last item, or None where Python has to look: at other items, and at
// what is an error.
PyObject* divide_basic(PyObject* module, PyObject* const* arguments, Py_ssize_t count);

}  // namespace nnkit
