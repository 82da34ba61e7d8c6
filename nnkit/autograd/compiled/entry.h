// The module's functions for attributes; see entry.cpp.
#pragma once

#include "array.h"

namespace nnkit {

// The class Entry(registry, name); a new reference.
PyObject* make_entry_type();

}  // namespace nnkit
