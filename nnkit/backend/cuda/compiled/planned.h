// Primitives on a GPU whose launches are known from the layouts of their arguments; see planned.cpp.
#pragma once

#include "gpu_array.h"

namespace nnkit {

// What the module offers: bind_planned(name, twin, planner, device, several, first, last, switches);
// see backend/cuda/compiled.
PyObject* bind_planned(PyObject* module, PyObject* args);

}  // namespace nnkit
