// A reference to a Python object that a scope owns.
#pragma once

#include <utility>

#include "array.h"

namespace nnkit {

// Whether the interpreter ends. CPython then ends a daemon thread that comes back for the GIL by
// unwinding its stack, without the GIL: destructors must not touch Python's objects any more.
inline bool is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

// A reference that is given back at the end of a scope.
class Owned {
public:
    Owned() = default;
    explicit Owned(PyObject* object) : object_(object) {}
    ~Owned() {
        if (object_ != nullptr && !is_ending()) Py_DECREF(object_);
    }
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
