// Arrays as kernels see them: NumPy's ndarray behind a few plain functions, and a kernel's arguments.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL nnkit_native_array_api
#ifndef NNKIT_NATIVE_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace nnkit {

using Index = std::ptrdiff_t;

enum class Type : std::uint8_t {
    boolean, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, other
};

// The type number that ml_dtypes got for bfloat16 in this process.
extern int bfloat16_number;

template <class T> constexpr int type_number();
template <> constexpr int type_number<float>() { return NPY_FLOAT; }
template <> constexpr int type_number<double>() { return NPY_DOUBLE; }
template <> constexpr int type_number<std::int64_t>() { return NPY_INT64; }
template <> constexpr int type_number<bool>() { return NPY_BOOL; }

template <class T> constexpr Type type_of();
template <> constexpr Type type_of<float>() { return Type::float32; }
template <> constexpr Type type_of<double>() { return Type::float64; }
template <> constexpr Type type_of<std::int64_t>() { return Type::int64; }
template <> constexpr Type type_of<bool>() { return Type::boolean; }

constexpr std::size_t item_size(Type type) {
    switch (type) {
        case Type::boolean: case Type::uint8: case Type::int8: return 1;
        case Type::int16: case Type::float16: case Type::bfloat16: return 2;
        case Type::int32: case Type::float32: return 4;
        default: return 8;
    }
}

// An ndarray; a borrowed reference. `Array()` stands for None or for something else than an array.
class Array {
public:
    Array() = default;
    explicit Array(PyObject* object) : array_(reinterpret_cast<PyArrayObject*>(object)) {}

    explicit operator bool() const { return array_ != nullptr; }
    PyObject* object() const { return reinterpret_cast<PyObject*>(array_); }
    int ndim() const { return PyArray_NDIM(array_); }
    const npy_intp* shape() const { return PyArray_DIMS(array_); }
    const npy_intp* strides() const { return PyArray_STRIDES(array_); }  // in bytes
    Index shape(int axis) const { return shape()[axis < 0 ? axis + ndim() : axis]; }
    Index size() const { return PyArray_SIZE(array_); }
    int number() const { return PyArray_TYPE(array_); }
    PyArray_Descr* descriptor() const { return PyArray_DESCR(array_); }
    Type type() const;
    // C order, aligned, in this machine's byte order: a kernel may walk along the bare pointer.
    bool is_plain() const { return PyArray_ISCARRAY_RO(array_); }
    bool is_behaved() const {
        return PyArray_ISALIGNED(array_) && PyArray_ISNOTSWAPPED(array_);
    }
    bool is_writeable() const { return PyArray_ISWRITEABLE(array_); }
    bool same_shape(Array other) const {
        return ndim() == other.ndim() && PyArray_CompareLists(shape(), other.shape(), ndim());
    }
    char* bytes() const { return PyArray_BYTES(array_); }
    template <class T> T* data() const { return reinterpret_cast<T*>(PyArray_DATA(array_)); }

private:
    PyArrayObject* array_ = nullptr;
};

// The positional arguments of one call, as many as the primitive's signature has.
class Arguments {
public:
    Arguments(PyObject* const* values, Py_ssize_t count) : values_(values), count_(count) {}

    Index count() const { return count_; }
    PyObject* operator[](Index i) const { return values_[i]; }
    bool is_none(Index i) const { return values_[i] == Py_None; }
    // The ndarray at i (no subclass); an empty Array for anything else.
    Array array(Index i) const {
        return PyArray_CheckExact(values_[i]) ? Array(values_[i]) : Array();
    }
    // The ndarray at i if it is in plain C order with elements of T; an empty Array otherwise.
    template <class T> Array plain(Index i) const {
        Array a = array(i);
        return a && a.type() == type_of<T>() && a.is_plain() ? a : Array();
    }
    // These throw `Declined` for what has no such value.
    bool truth(Index i) const {
        int value = PyObject_IsTrue(values_[i]);
        if (value < 0) decline_value();
        return value == 1;
    }
    Index integer(Index i) const {
        Index value = PyLong_AsSsize_t(values_[i]);
        if (value == -1 && PyErr_Occurred()) decline_value();
        return value;
    }
    double number(Index i) const {
        double value = PyFloat_AsDouble(values_[i]);
        if (value == -1 && PyErr_Occurred()) decline_value();
        return value;
    }

private:
    [[noreturn]] static void decline_value();

    PyObject* const* values_;
    Py_ssize_t count_;
};

// The result of a kernel that does not handle these arguments: its NumPy twin is called then.
inline PyObject* decline() { return nullptr; }

// The same as an exception of C++, from within a function that has something else to return.
struct Declined {};

// Raises a Python exception: `return fail(PyExc_IndexError, "...", ...)`.
PyObject* fail(PyObject* type, const char* format, ...);

// A new reference to None.
inline PyObject* none() { Py_RETURN_NONE; }

using KernelFunction = PyObject* (*)(Arguments);

// Enters a kernel under its primitive's name: `static Registration softmax_("softmax", softmax);`.
struct Registration {
    Registration(const char* name, KernelFunction function);
};

// Reads a tuple of ints, or one int, of at most `limit` entries; -1 for anything else.
int read_integers(PyObject* object, Index* values, int limit);

// A tuple of new references, which it takes over; null (with the error set) if one is null.
PyObject* tuple(std::initializer_list<PyObject*> items);

}  // namespace nnkit
