// The module's functions for nodes of the graph; see node.cpp.
#pragma once

#include "array.h"

namespace nnkit {

// set_node(Node, SavedOutput, hooked, module, unpack): must come before the two others.
PyObject* set_node(PyObject* module, PyObject* args);
// bind_record(twin, type, values)
PyObject* bind_record(PyObject* module, PyObject* args);
// unpack_array(node, value)
PyObject* unpack_array(PyObject* module, PyObject* const* arguments, Py_ssize_t count);

}  // namespace nnkit
