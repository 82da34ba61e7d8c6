// Products of matrices of integers, which wrap around as all arithmetic on them does.
#pragma once

#include "array.h"

namespace nnkit {

// x @ y of two arrays of one integer type: rows with a matrix or a vector, or stacks of matrices of
// the same leading axes. Declines what is none of these.
PyObject* integer_matmul(Array x, Array y);

}  // namespace nnkit
