// The module's functions for public functions; see held.cpp.
#pragma once

#include "array.h"

namespace nnkit {

// The class Held(function, examine); a new reference.
PyObject* make_held_type();

}  // namespace nnkit
