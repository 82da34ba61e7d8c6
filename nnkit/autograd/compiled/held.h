// The module's functions for public functions; see held.cpp.
#pragma once

#include "array.h"

namespace nnkit {

// The class Held(function, examine), or Unbound(function, examine), whose instances do not become
// methods of what has them as attributes; a new reference.
PyObject* make_held_type(bool binds);

// Whether an int fits 64 bits.
bool is_int64(PyObject* value);

}  // namespace nnkit
