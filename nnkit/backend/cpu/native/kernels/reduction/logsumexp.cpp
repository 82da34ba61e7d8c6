// The logarithm of a sum of exponentials along axes.
#include <cmath>

#include "math.h"
#include "memory.h"
#include "reducer.h"

namespace nnkit {
namespace {

struct Largest : Plainly {
    using Parts = Largest;
    template <class Value> static Value combine(Value a, Value b) { return maximum(a, b); }
};

struct SumOfExponentials : Sum {
    static constexpr bool has_centre = true;
    template <class T> static T map(T x, T centre) { return math::exp(x - centre); }
    template <class T> static Vector<T> map(const Vector<T>& x, const Vector<T>& centre) {
        T part[lanes<T>];
        store(part, x - centre);
        for (int i = 0; i < lanes<T>; ++i) part[i] = math::exp(part[i]);
        return load(part);
    }
};

template <class T> void fill(const Plan& plan, T* out) {
    Scratch<T> largest(plan.outputs);
    reduce<T>(plan, reducer_of<T, Largest>(), nullptr, largest.data());
    for (Index i = 0; i < plan.outputs; ++i) {
        if (!std::isfinite(largest[i])) largest[i] = 0;
    }
    reduce<T>(plan, reducer_of<T, SumOfExponentials>(), largest.data(), out);
    for (Index i = 0; i < plan.outputs; ++i) out[i] = std::log(out[i]) + largest[i];
}

// logsumexp(x; axis, keepdims)
PyObject* logsumexp(Arguments arguments) {
    Array x = arguments.array(0);
    bool is_reduced[most_axes];
    Plan plan;
    if (!x || x.ndim() > most_axes || x.type() < Type::float32 || x.type() == Type::other ||
        !read_axes(arguments[1], x.ndim(), is_reduced) ||
        !plan_reduction(x, is_reduced, arguments.truth(2), &plan) || plan.terms == 0) {
        return decline();
    }
    PyObject* outputs = new_outputs(plan, x.number());
    if (outputs == nullptr) return nullptr;
    Array out(outputs);
    if (x.type() == Type::float64) {
        fill(plan, out.data<double>());
    } else {
        fill(plan, out.data<float>());
    }
    return in_callers_order(plan, outputs);
}

Registration logsumexp_("logsumexp", logsumexp);

}  // namespace
}  // namespace nnkit
