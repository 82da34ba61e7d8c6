// Programs as compiled objects (loop.py).
#pragma once

#include "array.h"

namespace nnkit {

// The type `Loop(slot, inputs, constants, calls, outputs)`: a function from the arrays of `inputs`
// to a tuple of those of `outputs`. Buffers have numbers; `slot` is the class whose objects stand
// for them in arguments and results, `constants` has those that are the same in each run. A call
// is (function, arguments, result, the buffers that nobody reads any more).
PyObject* make_loop_type();

}  // namespace nnkit
