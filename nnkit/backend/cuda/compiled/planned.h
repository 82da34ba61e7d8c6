// Primitives on a GPU whose launches are known from the layouts of their arguments; see planned.cpp.
#pragma once

#include "gpu_array.h"

namespace nnkit {

// What the module offers: connect_launches(address of cuLaunchKernel, failed, prepare, handle), and
// bind_planned(name, twin, planner, device, first, last, switches), of which backend/cuda/compiled tells;
// forget_handle() after the handle of cuBLAS was set to something else.
PyObject* connect_launches(PyObject* module, PyObject* args);
PyObject* bind_planned(PyObject* module, PyObject* args);
PyObject* forget_handle(PyObject* module, PyObject* unused);

}  // namespace nnkit
