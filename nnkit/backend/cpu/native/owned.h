// A reference to a Python object that a scope owns.
#pragma once

#include <utility>

#include "array.h"

namespace nnkit {

// A reference that is given back at the end of a scope.
class Owned {
public:
    Owned() = default;
    explicit Owned(PyObject* object) : object_(object) {}
    ~Owned() { Py_XDECREF(object_); }
    Owned(const Owned&) = delete;
    Owned(Owned&& other) noexcept : object_(other.release()) {}
    Owned& operator=(Owned&& other) noexcept {
        reset(other.release());
        return *this;
    }
    void reset(PyObject* object) {
        Py_XDECREF(object_);
        object_ = object;
    }
    PyObject* object() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }
    Array array() const { return Array(object_); }

private:
    PyObject* object_ = nullptr;
};

}  // namespace nnkit
