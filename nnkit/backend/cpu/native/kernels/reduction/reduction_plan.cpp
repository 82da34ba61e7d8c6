// Takes a reduction apart: which axes are reduced, in what order they lie in memory.
#include "reduction.h"

#include <algorithm>

#include "memory.h"

namespace nnkit {

bool read_axes(PyObject* axis, int ndim, bool* is_reduced) {
    std::fill(is_reduced, is_reduced + ndim, axis == Py_None);
    if (axis == Py_None) return true;
    Index axes[most_axes];
    int count = read_integers(axis, axes, most_axes);
    if (count < 0) return false;
    for (int i = 0; i < count; ++i) {
        Index a = axes[i] < 0 ? axes[i] + ndim : axes[i];
        if (a < 0 || a >= ndim || is_reduced[a]) return false;
        is_reduced[a] = true;
    }
    return true;
}

namespace {

// Adds an axis inside of those that are there, or lengthens the last one where it only goes on.
void add_axis(Walk* walk, Operand* operand, Index size, Index stride, bool may_merge) {
    int last = walk->ndim - 1;
    if (may_merge && last >= 0 && operand->strides[last] == stride * size) {
        walk->shape[last] *= size;
        operand->strides[last] = stride;
        return;
    }
    walk->shape[last + 1] = size;
    operand->strides[last + 1] = stride;
    ++walk->ndim;
}

}  // namespace

bool plan_reduction(Array x, const bool* is_reduced, bool keepdims, Plan* plan) {
    int ndim = x.ndim();
    if (ndim > most_axes || !x.is_behaved()) return false;
    Operand source;
    Walk walk;
    order_axes(&x, &source, 1, ndim, x.shape(), &walk);
    source.data = x.bytes();
    source.type = x.type();
    plan->kept_source.data = plan->reduced_source.data = source.data;
    plan->kept_source.type = plan->reduced_source.type = source.type;
    plan->kept.ndim = plan->reduced.ndim = plan->ndim = 0;
    plan->outputs = plan->terms = 1;
    plan->columns = false;
    bool before = false, any_before = false;  // what kind the axis before was
    int original[most_axes];
    for (int i = 0; i < ndim; ++i) {
        int axis = walk.order[i];
        bool reduced = is_reduced[axis];
        Index size = walk.shape[i];
        if (!reduced || keepdims) {
            original[plan->ndim] = axis;
            plan->shape[plan->ndim++] = reduced ? 1 : size;
        }
        if (size == 1) continue;
        (reduced ? plan->terms : plan->outputs) *= size;
        add_axis(reduced ? &plan->reduced : &plan->kept,
                 reduced ? &plan->reduced_source : &plan->kept_source, size, source.strides[i],
                 any_before && before == reduced);
        any_before = true;
        before = reduced;
        plan->columns = !reduced;
    }
    if (plan->outputs == 0 || plan->terms == 0) plan->columns = false;
    plan->in_order = true;
    for (int i = 0; i < plan->ndim; ++i) {
        // The place of an axis among those that stay.
        int place = 0;
        for (int k = 0; k < plan->ndim; ++k) place += original[k] < original[i];
        plan->axes[place] = i;
        plan->in_order = plan->in_order && place == i;
    }
    return true;
}

PyObject* new_outputs(const Plan& plan, int type_number) {
    return empty(plan.ndim, plan.shape, PyArray_DescrFromType(type_number));
}

PyObject* in_callers_order(const Plan& plan, PyObject* outputs) {
    if (outputs == nullptr || plan.in_order) return outputs;
    PyArray_Dims axes{const_cast<npy_intp*>(plan.axes), plan.ndim};
    PyObject* turned = PyArray_Transpose(reinterpret_cast<PyArrayObject*>(outputs), &axes);
    Py_DECREF(outputs);
    if (turned == nullptr) return nullptr;
    PyArrayObject* source = reinterpret_cast<PyArrayObject*>(turned);
    PyArray_Descr* type = PyArray_DESCR(source);
    Py_INCREF(type);
    PyObject* rows = empty(plan.ndim, PyArray_DIMS(source), type);
    if (rows != nullptr && PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(rows), source) < 0) {
        Py_CLEAR(rows);
    }
    Py_DECREF(turned);
    return rows;
}

}  // namespace nnkit
