// Memory of GPUs: blocks of CuPy's pool, which are counted, and of which small ones are kept for
// the next array on the same stream.
#pragma once

#include "gpu_array.h"

namespace nnkit {

// The class of blocks, derived from cupy.cuda.memory.BaseMemory; false with an error set.
bool make_block_type(PyObject* base);

// A MemoryPointer to so many bytes, of the allocator that is current in this thread.
PyObject* gpu_allocate(std::size_t bytes);

// What the module offers: gpu_allocator(inner, reserved) -> the allocator to be set, which takes
// what it needs of another one and asks `reserved` how much that has then; gpu_memory(device) ->
// bytes allocated, the most of them, the most reserved; reset_gpu_peaks(device, reserved);
// release_gpu_memory(), which gives back what is kept.
PyObject* gpu_allocator(PyObject* module, PyObject* args);
PyObject* gpu_memory(PyObject* module, PyObject* device);
PyObject* reset_gpu_peaks(PyObject* module, PyObject* args);
PyObject* release_gpu_memory(PyObject* module, PyObject* unused);

}  // namespace nnkit
