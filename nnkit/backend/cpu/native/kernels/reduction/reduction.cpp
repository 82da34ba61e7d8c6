// Sums, means, products, extrema and norms along axes.
#include <cmath>
#include <limits>

#include "layout.h"
#include "memory.h"
#include "norms.h"
#include "owned.h"
#include "parts.h"

namespace nnkit {
namespace {

struct Product : Plainly {
    using Parts = Product;
    template <class Value> static Value combine(Value a, Value b) { return a * b; }
};

struct Minimum : Plainly {
    using Parts = Minimum;
    template <class Value> static Value combine(Value a, Value b) { return minimum(a, b); }
};

struct SumOfNumbers : Sum {
    template <class T> static T map(T x, T) { return x == x ? x : T(0); }
    template <class T> static Vector<T> map(const Vector<T>& x, const Vector<T>&) {
        return by_register(x, [](auto v) { return v == v ? v : decltype(v){}; });
    }
};

struct Nothing {
    template <class T> void operator()(T*, Index) const {}
};

// Of nothing but -0, the sum is 0.
struct FromZero {
    template <class T> void operator()(T* values, Index count) const {
        for (Index i = 0; i < count; ++i) values[i] += T(0);
    }
};

// Reduces into a new array of type `number`; `finish(values, count)` is done to the outputs.
template <class T, class Finish>
PyObject* reduced(const Plan& plan, int number, const Reducer<T>& reducer, Finish finish) {
    PyObject* outputs = new_outputs(plan, number);
    if (outputs == nullptr) return nullptr;
    Array out(outputs);
    if (out.type() == type_of<T>()) {
        reduce<T>(plan, reducer, nullptr, out.data<T>());
        finish(out.data<T>(), plan.outputs);
    } else {
        Scratch<T> values(plan.outputs);
        reduce<T>(plan, reducer, nullptr, values.data());
        finish(values.data(), plan.outputs);
        narrow(values.data(), out.type(), out.bytes(), plan.outputs);
    }
    return in_callers_order(plan, outputs);
}

enum class Integers { none, as_int64, as_they_are };

// The reduction of an array of any of the types that `integers` allows; declines others.
template <class Operation, Integers integers, class Finish>
PyObject* of_any_type(Array x, const Plan& plan, Finish finish) {
    switch (x.type()) {
        case Type::float32: case Type::float16: case Type::bfloat16:
            return reduced(plan, x.number(), reducer_of<float, Operation>(), finish);
        case Type::float64:
            return reduced(plan, x.number(), reducer_of<double, Operation>(), finish);
        case Type::other:
            return decline();
        default:
            if constexpr (integers == Integers::none) {
                return decline();
            } else {
                bool is_bool = x.type() == Type::boolean;
                if (integers == Integers::as_they_are && is_bool) return decline();
                int number = integers == Integers::as_int64 ? int{NPY_INT64} : x.number();
                return reduced(plan, number, reducer_of<std::int64_t, Operation>(), finish);
            }
    }
}

struct Reading {
    Array x;
    Plan plan;
    bool read(Arguments arguments, Index axis, Index keepdims) {
        x = arguments.array(0);
        bool is_reduced[most_axes];
        return x && x.ndim() <= most_axes &&
               read_axes(arguments[axis], x.ndim(), is_reduced) &&
               plan_reduction(x, is_reduced, arguments.truth(keepdims), &plan) &&
               plan.terms > 0;
    }
};

// name(x; axis, keepdims)
template <class Operation, Integers integers, class Finish = Nothing>
PyObject* along_axes(Arguments arguments) {
    Reading reading;
    if (!reading.read(arguments, 1, 2)) return decline();
    return of_any_type<Operation, integers>(reading.x, reading.plan, Finish{});
}

// In half precision a product is rounded after each factor, which is left to NumPy.
PyObject* prod(Arguments arguments) {
    Type type = arguments.array(0) ? arguments.array(0).type() : Type::other;
    if (type != Type::float32 && type != Type::float64) return decline();
    return along_axes<Product, Integers::none>(arguments);
}

PyObject* mean(Arguments arguments) {
    Reading reading;
    if (!reading.read(arguments, 1, 2)) return decline();
    auto divide = [&](auto* values, Index count) {
        auto terms = static_cast<std::remove_pointer_t<decltype(values)>>(reading.plan.terms);
        FromZero{}(values, count);
        for (Index i = 0; i < count; ++i) values[i] /= terms;
    };
    return of_any_type<Sum, Integers::none>(reading.x, reading.plan, divide);
}

// norm(x; p, axis, keepdims)
PyObject* norm(Arguments arguments) {
    Reading reading;
    if (!reading.read(arguments, 2, 3)) return decline();
    double p = arguments.number(1);
    auto root = [](auto* values, Index count) {
        for (Index i = 0; i < count; ++i) values[i] = std::sqrt(values[i]);
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Array x = reading.x;
    const Plan& plan = reading.plan;
    if (p != 0 && plan.terms == 1) p = infinity;  // as `norm_order` (backend/axes.py) says
    if (p == 2) return of_any_type<SumOfSquares, Integers::none>(x, plan, root);
    if (p == 1) return of_any_type<Magnitudes<Sum>, Integers::none>(x, plan, Nothing{});
    if (p == infinity) return of_any_type<Magnitudes<Maximum>, Integers::none>(x, plan, Nothing{});
    if (p == -infinity) return of_any_type<Magnitudes<Minimum>, Integers::none>(x, plan, Nothing{});
    return decline();
}

// sum_to(x; shape)
PyObject* sum_to(Arguments arguments) {
    Array x = arguments.array(0);
    Index shape[most_axes];
    if (!x || x.ndim() > most_axes) return decline();
    int ndim = read_integers(arguments[1], shape, most_axes);
    int lead = x.ndim() - ndim;
    if (ndim < 0 || lead < 0) return decline();
    bool is_reduced[most_axes], any_is_reduced = false;
    for (int i = 0; i < x.ndim(); ++i) {
        Index wanted = i < lead ? 1 : shape[i - lead];
        is_reduced[i] = i < lead || (wanted == 1 && x.shape()[i] != 1);
        if (!is_reduced[i] && wanted != x.shape()[i]) return decline();
        any_is_reduced = any_is_reduced || is_reduced[i];
    }
    if (!any_is_reduced) return decline();  // a view, not a sum
    Plan plan;
    if (!plan_reduction(x, is_reduced, true, &plan) || plan.terms == 0) return decline();
    Owned kept(of_any_type<Sum, Integers::as_int64>(x, plan, FromZero{}));
    if (!kept || lead == 0) return kept.release();
    return view_of(kept.array(), ndim, kept.array().shape() + lead, kept.array().strides() + lead);
}

// A kernel of real numbers on the parts of complex ones, which are one more axis that is kept: the
// axes, or the shape, that it gets as its second argument say so.
PyObject* of_parts(KernelFunction kernel, Array x, Owned second, PyObject* third) {
    if (!second) return nullptr;
    const bool single = x.number() == NPY_CFLOAT;
    const int ndim = x.ndim();
    npy_intp shape[most_axes], strides[most_axes];
    std::copy(x.shape(), x.shape() + ndim, shape);
    std::copy(x.strides(), x.strides() + ndim, strides);
    shape[ndim] = 2;
    strides[ndim] = single ? sizeof(float) : sizeof(double);
    auto type = [](int number) { return PyArray_DescrFromType(number); };
    Owned parts(view_of(x, ndim + 1, shape, strides, 0, type(single ? NPY_FLOAT : NPY_DOUBLE)));
    if (!parts) return nullptr;
    PyObject* values[] = {parts.object(), second.object(), third};
    Owned result(kernel(Arguments(values, third == nullptr ? 2 : 3)));
    if (!result) return nullptr;
    Array a = result.array();
    return view_of(a, a.ndim() - 1, a.shape(), a.strides(), 0, type(x.number()));
}

bool has_parts(Array x) { return is_complex(x) && x.ndim() < most_axes && x.is_behaved(); }

// name(x; axis, keepdims) of any numbers
template <KernelFunction kernel> PyObject* along_axes_of_any(Arguments arguments) {
    Array x = arguments.array(0);
    if (!has_parts(x)) return kernel(arguments);
    bool is_reduced[most_axes];
    if (!read_axes(arguments[1], x.ndim(), is_reduced)) return decline();
    npy_intp axes[most_axes];
    int count = 0;
    for (int i = 0; i < x.ndim(); ++i) {
        if (is_reduced[i]) axes[count++] = i;
    }
    return of_parts(kernel, x, Owned(PyArray_IntTupleFromIntp(count, axes)), arguments[2]);
}

constexpr KernelFunction sum = along_axes_of_any<along_axes<Sum, Integers::as_int64, FromZero>>;

// Complex sums divided by the complex number `terms` + 0i: what has an infinite part gets a NaN.
template <class T> void divide_parts(T* totals, Index count, Index terms) {
    const T scale = T(1) / static_cast<T>(terms);
    for (Index i = 0; i < 2 * count; i += 2) {
        const T real = totals[i], imag = totals[i + 1];
        totals[i] = (real + imag * T(0)) * scale;
        totals[i + 1] = (imag - real * T(0)) * scale;
    }
}

// mean(x; axis, keepdims) of any numbers
PyObject* mean_of_any(Arguments arguments) {
    Array x = arguments.array(0);
    if (!has_parts(x)) return mean(arguments);
    Owned totals(sum(arguments));
    if (!totals) return decline();
    Array a = totals.array();
    const Index count = a.size(), terms = x.size() / std::max<Index>(1, count);
    if (x.number() == NPY_CFLOAT) divide_parts(a.data<float>(), count, terms);
    else divide_parts(a.data<double>(), count, terms);
    return totals.release();
}

// sum_to(x; shape) of any numbers
PyObject* sum_any_to(Arguments arguments) {
    Array x = arguments.array(0);
    if (!has_parts(x)) return sum_to(arguments);
    npy_intp shape[most_axes];
    int ndim = read_integers(arguments[1], shape, most_axes - 1);
    if (ndim < 0) return decline();
    shape[ndim] = 2;
    return of_parts(sum_to, x, Owned(PyArray_IntTupleFromIntp(ndim + 1, shape)), nullptr);
}

const Registration registrations[] = {
    {"sum", sum},
    {"nansum", along_axes<SumOfNumbers, Integers::none, FromZero>},
    {"mean", mean_of_any},
    {"prod", prod},
    {"amax", along_axes<Maximum, Integers::as_they_are>},
    {"amin", along_axes<Minimum, Integers::as_they_are>},
    {"norm", norm},
    {"sum_to", sum_any_to},
};

}  // namespace
}  // namespace nnkit
