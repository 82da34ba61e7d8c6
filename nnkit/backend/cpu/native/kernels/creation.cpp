// New arrays: uninitialised, or filled with one value.
#include <algorithm>
#include <cmath>

#include "half.h"
#include "moving.h"
#include "owned.h"

namespace nnkit {
namespace {

// A new array of the shape and the dtype at two places among the arguments; null also if declined.
PyObject* make(Arguments arguments, int shape_at, int dtype_at) {
    Index shape[most_axes];
    int ndim = read_integers(arguments[shape_at], shape, most_axes);
    if (ndim < 0 || !PyArray_DescrCheck(arguments[dtype_at])) return decline();
    auto* descriptor = reinterpret_cast<PyArray_Descr*>(arguments[dtype_at]);
    Py_INCREF(descriptor);
    Owned result(empty(ndim, shape, descriptor));
    return result && is_movable(result.array()) ? result.release() : nullptr;
}

PyObject* make_like(Arguments arguments) {
    Array x = arguments.array(0);
    if (!x || !is_movable(x) || !x.is_behaved() || x.ndim() > most_axes) return decline();
    Py_INCREF(x.descriptor());
    return empty_as(x, x.descriptor());
}

constexpr Index bytes_of_piece = 1 << 18, elements_of_piece = 1 << 16;

PyObject* with_zeros(PyObject* result) {
    if (result == nullptr) return nullptr;
    Array out(result);
    char* to = out.bytes();
    parallel_for(out.size() * item_bytes(out), bytes_of_piece, [=](Index begin, Index end) {
        std::memset(to + begin, 0, static_cast<std::size_t>(end - begin));
    });
    return result;
}

template <class T> bool set_to(Array out, PyObject* value) {
    *out.data<T>() = convert<T>(PyFloat_AS_DOUBLE(value));
    return true;
}

// The first element of a plain array; false with an exception set. NumPy converts what is no float.
bool set_first(Array out, PyObject* value) {
    if (PyFloat_CheckExact(value)) {
        if (out.type() == Type::float32) return set_to<float>(out, value);
        if (out.type() == Type::float64) return set_to<double>(out, value);
        if (out.type() == Type::float16) return set_to<Float16>(out, value);
        if (out.type() == Type::bfloat16) return set_to<BFloat16>(out, value);
    }
    Py_INCREF(out.descriptor());
    Owned first(PyArray_NewFromDescr(&PyArray_Type, out.descriptor(), 0, nullptr, nullptr,
                                     out.bytes(), NPY_ARRAY_CARRAY, nullptr));
    return first && PyArray_FillWithScalar(
                        reinterpret_cast<PyArrayObject*>(first.object()), value) >= 0;
}

// All elements of a plain array; false with an exception set. The value is converted once; the
// other elements are copies of the first.
bool fill_with(Array out, PyObject* value) {
    if (out.size() == 0) return true;
    if (!set_first(out, value)) return false;
    Index bytes = item_bytes(out);
    Move move;
    move.operands[Move::to].data = out.bytes() + bytes;
    move.operands[Move::from].data = out.bytes();
    move.add_axis(out.size() - 1, bytes, 0);
    run_move(move, bytes);
    return true;
}

PyObject* with_value(PyObject* result, PyObject* value) {
    Owned owned(result);
    return owned && fill_with(owned.array(), value) ? owned.release() : nullptr;
}

// fill_(x; value)
PyObject* fill_in_place(Arguments arguments) {
    Array x = arguments.array(0);
    if (!x || !x.is_plain() || !is_movable(x) || !x.is_writeable()) return decline();
    return fill_with(x, arguments[1]) ? Py_NewRef(x.object()) : nullptr;
}

PyObject* empty_of(Arguments arguments) { return make(arguments, 0, 1); }
PyObject* zeros(Arguments arguments) { return with_zeros(make(arguments, 0, 1)); }
PyObject* full(Arguments arguments) { return with_value(make(arguments, 0, 2), arguments[1]); }
PyObject* zeros_like(Arguments arguments) { return with_zeros(make_like(arguments)); }

PyObject* ones_like(Arguments arguments) {
    Owned one(PyFloat_FromDouble(1));
    return one ? with_value(make_like(arguments), one.object()) : nullptr;
}

// A new array of `count` elements of T, each of which `at(i)` gives.
template <class T, class At> PyObject* numbered(Index count, At at) {
    PyObject* result = empty<T>({count});
    if (result == nullptr) return nullptr;
    T* to = Array(result).data<T>();
    parallel_for(count, elements_of_piece, [=](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) to[i] = static_cast<T>(at(i));
    });
    return result;
}

// Whether an argument is a number that a double holds exactly.
bool is_exact(Arguments arguments, Index i) {
    return PyFloat_CheckExact(arguments[i]) ||
           (PyLong_CheckExact(arguments[i]) && std::fabs(arguments.number(i)) < 0x1p53);
}

int number_of_dtype(PyObject* dtype) {
    return PyArray_DescrCheck(dtype) ? reinterpret_cast<PyArray_Descr*>(dtype)->type_num : -1;
}

// arange(; start, stop, step, dtype): in double precision, or in int64
PyObject* arange(Arguments arguments) {
    const int number = number_of_dtype(arguments[3]);
    for (Index i = 0; i < 3; ++i) if (!is_exact(arguments, i)) return decline();
    if (number == NPY_INT64) {
        const Index start = arguments.integer(0), stop = arguments.integer(1);
        const Index step = arguments.integer(2);
        if (step == 0) return decline();
        const Index count = (stop - start + step - (step > 0 ? 1 : -1)) / step;
        return numbered<std::int64_t>(std::max<Index>(count, 0),
                                      [=](Index i) { return start + i * step; });
    }
    const double start = arguments.number(0), step = arguments.number(2);
    const double count = std::ceil((arguments.number(1) - start) / step);
    auto at = [=](Index i) { return start + static_cast<double>(i) * step; };
    if (!(count < 0x1p53)) return decline();
    const Index whole = std::max<Index>(static_cast<Index>(count), 0);
    if (number == NPY_FLOAT) return numbered<float>(whole, at);
    if (number == NPY_DOUBLE) return numbered<double>(whole, at);
    return decline();
}

// linspace(; start, stop, steps, dtype): counted from the nearer end, rounded once
PyObject* linspace(Arguments arguments) {
    if (number_of_dtype(arguments[3]) != NPY_FLOAT) return decline();
    const Index steps = arguments.integer(2);
    if (steps < 2 || !is_exact(arguments, 0) || !is_exact(arguments, 1)) return decline();
    const float start = static_cast<float>(arguments.number(0));
    const float stop = static_cast<float>(arguments.number(1));
    const double step = (stop - start) / static_cast<float>(steps - 1);
    return numbered<float>(steps, [=](Index i) {
        const double left = start + static_cast<double>(i) * step;
        const double right = stop - static_cast<double>(steps - 1 - i) * step;
        return i < steps / 2 ? left : right;
    });
}

// eye(; n, m, dtype)
template <class T> PyObject* ones_on_diagonal(Index n, Index m) {
    PyObject* result = with_zeros(empty<T>({n, m}));
    if (result == nullptr) return nullptr;
    T* to = Array(result).data<T>();
    for (Index i = 0; i < std::min(n, m); ++i) to[i * (m + 1)] = T(1);
    return result;
}

PyObject* eye(Arguments arguments) {
    const Index n = arguments.integer(0), m = arguments.integer(1);
    switch (number_of_dtype(arguments[2])) {
        case NPY_FLOAT: return ones_on_diagonal<float>(n, m);
        case NPY_DOUBLE: return ones_on_diagonal<double>(n, m);
        case NPY_INT64: return ones_on_diagonal<std::int64_t>(n, m);
        default: return decline();
    }
}

// make_complex(real, imag): of one shape
template <class T> PyObject* joined(Array real, Array imag, int number) {
    PyObject* result = empty(real.ndim(), real.shape(), PyArray_DescrFromType(number));
    if (result == nullptr) return nullptr;
    const T *a = real.data<T>(), *b = imag.data<T>();
    T* to = Array(result).data<T>();
    parallel_for(real.size(), elements_of_piece, [=](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            to[2 * i] = a[i];
            to[2 * i + 1] = b[i];
        }
    });
    return result;
}

PyObject* make_complex(Arguments arguments) {
    const Array real = arguments.array(0), imag = arguments.array(1);
    if (!real || !imag || !real.is_plain() || !imag.is_plain() || !real.same_shape(imag) ||
        real.type() != imag.type()) {
        return decline();
    }
    if (real.type() == Type::float32) return joined<float>(real, imag, NPY_CFLOAT);
    return real.type() == Type::float64 ? joined<double>(real, imag, NPY_CDOUBLE) : decline();
}

// one_hot(index; classes): NumPy tells of classes that there are not.
PyObject* one_hot(Arguments arguments) {
    const Array index = arguments.plain<std::int64_t>(0);
    const Index classes = arguments.integer(1);
    if (!index || index.ndim() >= most_axes || classes < 1) return decline();
    npy_intp shape[most_axes];
    std::copy_n(index.shape(), index.ndim(), shape);
    shape[index.ndim()] = classes;
    Owned result(with_zeros(empty<std::int64_t>(index.ndim() + 1, shape)));
    if (!result) return nullptr;
    const std::int64_t* from = index.data<std::int64_t>();
    std::int64_t* row = result.array().data<std::int64_t>();
    for (Index i = 0; i < index.size(); ++i, row += classes) {
        if (from[i] < 0 || from[i] >= classes) return decline();
        row[from[i]] = 1;
    }
    return result.release();
}

const Registration registrations[] = {
    {"empty", empty_of},        {"zeros", zeros},           {"full", full},
    {"empty_like", make_like},  {"zeros_like", zeros_like}, {"ones_like", ones_like},
    {"fill_", fill_in_place},   {"arange", arange},         {"linspace", linspace},
    {"eye", eye},               {"one_hot", one_hot},       {"make_complex", make_complex},
};

}  // namespace
}  // namespace nnkit
