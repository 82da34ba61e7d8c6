// Memory for results and for scratch: large blocks come from a cache, since fresh pages cost faults.
#pragma once

#include <new>

#include "array.h"

namespace nnkit {

constexpr std::size_t alignment = 64;

// A 64-byte aligned block; large ones are kept for reuse when they are freed. Throws bad_alloc.
void* allocate(std::size_t bytes);
void deallocate(void* block, std::size_t bytes) noexcept;
// A block that outlives the program's run that asks for it: it lies in no arena.
void* allocate_lasting(std::size_t bytes);

// The bytes that lie in the cache unused, and their release to the system.
std::size_t cached_bytes();
void empty_cache();
// The largest number of unused bytes that the cache keeps; 0 turns it off.
void set_cache_limit(std::size_t bytes);

// Raises the error that says that there is no memory for `what`; null.
PyObject* memory_is_out(PyObject* what);
PyObject* memory_is_out(const char* what);

// A new array in C order with unspecified elements; null with an error set when memory is out.
PyObject* empty(int ndim, const npy_intp* shape, PyArray_Descr* descriptor);
PyObject* empty_like(Array like);
template <class T> PyObject* empty(int ndim, const npy_intp* shape) {
    return empty(ndim, shape, PyArray_DescrFromType(type_number<T>()));
}
template <class T> PyObject* empty(std::initializer_list<npy_intp> shape) {
    return empty<T>(static_cast<int>(shape.size()), shape.begin());
}

// A buffer of `count` elements for the length of a scope.
template <class T> class Scratch {
public:
    explicit Scratch(Index count)
        : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
          data_(count ? static_cast<T*>(allocate(bytes_)) : nullptr) {}
    ~Scratch() { deallocate(data_, bytes_); }
    Scratch(const Scratch&) = delete;
    T* data() const { return data_; }
    T& operator[](Index i) const { return data_[i]; }

private:
    std::size_t bytes_;
    T* data_;
};

}  // namespace nnkit
