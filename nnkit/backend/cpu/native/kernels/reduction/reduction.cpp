// Sums, means, products, extrema and norms along axes.
#include <cmath>
#include <limits>

#include "memory.h"
#include "reducer.h"

namespace nnkit {
namespace {

struct Product : Plainly {
    using Parts = Product;
    template <class Value> static Value combine(Value a, Value b) { return a * b; }
};

struct Maximum : Plainly {
    using Parts = Maximum;
    template <class Value> static Value combine(Value a, Value b) { return maximum(a, b); }
};

struct Minimum : Plainly {
    using Parts = Minimum;
    template <class Value> static Value combine(Value a, Value b) { return minimum(a, b); }
};

template <class T> T magnitude(T x) { return x < 0 ? -x : x + T(0); }
template <class T> Vector<T> magnitude(const Vector<T>& x) {
    return by_register(x, [](auto v) { return v < 0 ? -v : v + decltype(v){}; });
}

template <class Base> struct Magnitudes : Base {
    template <class Value> static Value map(Value x, Value) { return magnitude(x); }
};

struct SumOfSquares : Sum {
    template <class Value> static Value map(Value x, Value) { return x * x; }
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
    PyObject* kept = of_any_type<Sum, Integers::as_int64>(x, plan, FromZero{});
    if (kept == nullptr || lead == 0) return kept;
    npy_intp* strides = PyArray_STRIDES(reinterpret_cast<PyArrayObject*>(kept));
    npy_intp result_shape[most_axes], result_strides[most_axes];
    std::copy(shape, shape + ndim, result_shape);
    std::copy(strides + lead, strides + x.ndim(), result_strides);
    PyArray_Descr* descriptor = Array(kept).descriptor();
    Py_INCREF(descriptor);
    PyObject* view = PyArray_NewFromDescr(&PyArray_Type, descriptor, ndim, result_shape,
                                          result_strides, Array(kept).bytes(), NPY_ARRAY_WRITEABLE,
                                          nullptr);
    if (view == nullptr) {
        Py_DECREF(kept);
        return nullptr;
    }
    PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view), kept);
    return view;
}

const Registration registrations[] = {
    {"sum", along_axes<Sum, Integers::as_int64, FromZero>},
    {"mean", mean},
    {"prod", prod},
    {"amax", along_axes<Maximum, Integers::as_they_are>},
    {"amin", along_axes<Minimum, Integers::as_they_are>},
    {"norm", norm},
    {"sum_to", sum_to},
};

}  // namespace
}  // namespace nnkit
