// Objects that can be enumerated while they live (autograd/living.py): the Tensors.
#pragma once

#include "array.h"

namespace nnkit {

// Takes an object of a class derived from `Living` that was just allocated into the list.
void enlist(PyObject* object);

// What the module offers: the base class, and whether a class has it.
PyObject* make_living_type();
bool is_living_type(PyTypeObject* type);

}  // namespace nnkit
