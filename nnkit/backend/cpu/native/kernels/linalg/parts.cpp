// Complex products from the real products of their parts.
#include "parts.h"

#include <algorithm>

#include "memory.h"
#include "owned.h"
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index most_arguments = 8;
constexpr Index elements_of_piece = 65536;

Owned part(Array x, const char* name) {
    Owned view(PyObject_GetAttrString(x.object(), name));
    return view ? in_order(view.array()) : Owned();
}

// (real + i imaginary), where each is the sum or difference of two arrays of one shape.
template <class T>
PyObject* joined(Array rr, Array ii, T sign_ii, Array ri, T sign_ri, Array ir, T sign_ir,
                 bool scaled) {
    int number = sizeof(T) == 4 ? NPY_CFLOAT : NPY_CDOUBLE;
    Owned result(empty(rr.ndim(), rr.shape(), PyArray_DescrFromType(number)));
    if (!result) return nullptr;
    T* out = result.array().data<T>();
    const T *a = rr.data<T>(), *b = ii.data<T>(), *c = ri.data<T>(), *d = ir.data<T>();
    parallel_for(rr.size(), elements_of_piece, [=](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            T real = a[i] + sign_ii * b[i], imag = sign_ri * c[i] + sign_ir * d[i];
            out[2 * i] = scaled ? real - imag * T(0) : real;
            out[2 * i + 1] = scaled ? imag + real * T(0) : imag;
        }
    });
    return result.release();
}

// The real and the imaginary part of an array.
struct Parts {
    explicit Parts(Array x) : real(part(x, "real")), imag(part(x, "imag")) {}
    Owned real, imag;
};

}  // namespace

bool is_complex(Array x) {
    return x && (x.number() == NPY_CFLOAT || x.number() == NPY_CDOUBLE);
}

PyObject* by_parts(KernelFunction kernel, Arguments arguments, Conjugate conjugate, bool scaled) {
    Array x = arguments.array(0), y = arguments.array(1);
    const Index count = arguments.count();
    if (!is_complex(x) || !is_complex(y) || x.number() != y.number() || count > most_arguments) {
        return decline();
    }
    Array third = count > 2 ? arguments.array(2) : Array();
    if (third && third.number() != x.number()) return decline();
    Parts left(x), right(y);
    Owned added_real, added_imag;
    if (third) {
        added_real = part(third, "real");
        added_imag = part(third, "imag");
    }
    if (PyErr_Occurred()) return nullptr;
    auto times = [&](const Owned& a, const Owned& b, PyObject* added) {
        PyObject* values[most_arguments];
        for (Index i = 0; i < count; ++i) values[i] = arguments[i];
        values[0] = a.object();
        values[1] = b.object();
        if (third) values[2] = added;
        return Owned(kernel(Arguments(values, count)));
    };
    Owned rr = times(left.real, right.real, added_real.object());
    Owned ii = rr ? times(left.imag, right.imag, Py_None) : Owned();
    Owned ri = ii ? times(left.real, right.imag, added_imag.object()) : Owned();
    Owned ir = ri ? times(left.imag, right.real, Py_None) : Owned();
    if (!ir) return decline();
    auto join = [&](auto one) {
        using T = decltype(one);
        return joined<T>(rr.array(), ii.array(), conjugate == Conjugate::none ? -one : one,
                         ri.array(), conjugate == Conjugate::second ? -one : one,
                         ir.array(), conjugate == Conjugate::first ? -one : one, scaled);
    };
    return x.number() == NPY_CFLOAT ? join(1.0f) : join(1.0);
}

}  // namespace nnkit
