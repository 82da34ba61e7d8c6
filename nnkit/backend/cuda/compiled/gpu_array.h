// CuPy's arrays as compiled code sees them: their fields lie where `connect_gpu` found them.
#pragma once

#include <vector>

#include "array.h"

namespace nnkit {

// What stands in CuPy's objects, and functions of CuPy's modules.
struct CuPy {
    PyTypeObject* type = nullptr;  // cupy.ndarray; null until Python has connected it
    PyTypeObject* pointer_type;    // cupy.cuda.MemoryPointer
    // The places of fields: of arrays,
    Py_ssize_t size, shape, strides, flags, wide, dtype, data, base;
    // of pointers, and of the memory that they point into.
    Py_ssize_t address, device, memory;
    Py_ssize_t memory_address, memory_size, memory_device;
    PyObject* (*get_allocator)(int);
    std::intptr_t (*current_stream)();
    int (*current_device)(int);
};

extern CuPy cupy;

template <class T> T& field(PyObject* object, Py_ssize_t place) {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(object) + place);
}

// A cupy.ndarray (of no subclass); a borrowed reference.
class GpuArray {
public:
    using Sizes = std::vector<Py_ssize_t>;

    explicit GpuArray(PyObject* object) : object_(object) {}
    static bool is(PyObject* object) { return Py_TYPE(object) == cupy.type; }

    PyObject* dtype() const { return field<PyObject*>(object_, cupy.dtype); }
    const Sizes& shape() const { return field<Sizes>(object_, cupy.shape); }
    const Sizes& strides() const { return field<Sizes>(object_, cupy.strides); }  // in bytes
    char* address() const {
        return field<char*>(field<PyObject*>(object_, cupy.data), cupy.address);
    }
    bool same_shape(GpuArray other) const { return shape() == other.shape(); }

private:
    PyObject* object_;
};

// A new array that looks as another one does, on the memory of a MemoryPointer.
PyObject* array_like(PyObject* prototype, PyObject* pointer);

// What the module offers: connect_gpu(ndarray, MemoryPointer, an array of shape (7, 11, 13), its
// memory, a list of examples, capsules of get_allocator, get_current_stream_ptr and getDevice):
// whether CuPy's objects are as expected, and the examples can be made.
PyObject* connect_gpu(PyObject* module, PyObject* args);

}  // namespace nnkit
