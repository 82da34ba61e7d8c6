// Complex products from the real products of their parts.
#pragma once

#include "array.h"

namespace nnkit {

bool is_complex(Array x);

// The factor that is conjugated.
enum class Conjugate { none, first, second };

// A product that is linear in its first two arguments, complex arrays, by a kernel for real ones:
// four calls with their parts. A third array is added to the product; other arguments are passed on.
// `scaled`: as a BLAS does it, which multiplies by a complex 1: what has an infinite part is NaN.
PyObject* by_parts(KernelFunction kernel, Arguments arguments, Conjugate conjugate, bool scaled);

}  // namespace nnkit
