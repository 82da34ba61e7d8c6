// Whether all that a step can reach is as it was (checks.py).
#pragma once

#include "array.h"

namespace nnkit {

// What the module offers: the class of callables without arguments that look at all places.
PyObject* make_checks_type();

}  // namespace nnkit
