// Variances and standard deviations along axes, in two passes so that nothing cancels.
#include <cmath>

#include "memory.h"
#include "reducer.h"

namespace nnkit {
namespace {

struct SquaredDistances : Sum {
    template <class Value> static Value map(Value x, Value mean) {
        Value distance = x - mean;
        return distance * distance;
    }
    static constexpr bool has_centre = true;
};

// The variance of each output to `variance`, and its mean to `mean`.
template <class T> void moments(const Plan& plan, double correction, T* variance, T* mean) {
    reduce<T>(plan, reducer_of<T, Sum>(), nullptr, mean);
    for (Index i = 0; i < plan.outputs; ++i) mean[i] /= static_cast<T>(plan.terms);
    reduce<T>(plan, reducer_of<T, SquaredDistances>(), mean, variance);
    double freedom = static_cast<double>(plan.terms) - correction;
    T divisor = static_cast<T>(freedom > 0 ? freedom : 0);
    for (Index i = 0; i < plan.outputs; ++i) variance[i] /= divisor;
}

// The same into new arrays of x's type; `means` is null where nobody asks for them.
template <class T>
void fill(const Plan& plan, double correction, bool root, PyObject* variances, PyObject* means) {
    bool is_wide = Array(variances).type() == type_of<T>();
    Scratch<T> room(is_wide && means != nullptr ? 0 : 2 * plan.outputs);
    T* variance = is_wide ? Array(variances).data<T>() : room.data();
    T* mean = is_wide && means != nullptr ? Array(means).data<T>() : room.data() + plan.outputs;
    moments(plan, correction, variance, mean);
    for (Index i = 0; root && i < plan.outputs; ++i) variance[i] = std::sqrt(variance[i]);
    if (is_wide) return;
    Array target(variances);
    narrow(variance, target.type(), target.bytes(), plan.outputs);
    if (means != nullptr) narrow(mean, target.type(), Array(means).bytes(), plan.outputs);
}

PyObject* spread(Arguments arguments, bool root, bool with_mean) {
    Array x = arguments.array(0);
    bool is_reduced[most_axes];
    Plan plan;
    if (!x || x.ndim() > most_axes || x.type() < Type::float16 ||
        x.type() == Type::other || !read_axes(arguments[1], x.ndim(), is_reduced) ||
        !plan_reduction(x, is_reduced, arguments.truth(3), &plan) || plan.terms == 0) {
        return decline();
    }
    double correction = arguments.number(2);
    PyObject* variances = new_outputs(plan, x.number());
    PyObject* means = with_mean ? new_outputs(plan, x.number()) : nullptr;
    if (variances == nullptr || (with_mean && means == nullptr)) {
        Py_XDECREF(variances);
        Py_XDECREF(means);
        return nullptr;
    }
    if (x.type() == Type::float64) fill<double>(plan, correction, root, variances, means);
    else fill<float>(plan, correction, root, variances, means);
    variances = in_callers_order(plan, variances);
    return with_mean ? tuple({variances, in_callers_order(plan, means)}) : variances;
}

PyObject* var(Arguments arguments) { return spread(arguments, false, false); }
PyObject* standard_deviation(Arguments arguments) { return spread(arguments, true, false); }
PyObject* var_mean(Arguments arguments) { return spread(arguments, false, true); }
PyObject* std_mean(Arguments arguments) { return spread(arguments, true, true); }

Registration var_("var", var), std_("std", standard_deviation), var_mean_("var_mean", var_mean),
    std_mean_("std_mean", std_mean);

}  // namespace
}  // namespace nnkit
