// What losses on class labels share: their arguments, the labels, the reduction. Classes stand on
// axis 1, or 0 where there is no batch.
#pragma once

#include "rows.h"

namespace nnkit {

enum class Reduction { none, mean, sum, unknown };

inline Reduction read_reduction(PyObject* name) {
    if (!PyUnicode_Check(name)) return Reduction::unknown;
    if (PyUnicode_CompareWithASCIIString(name, "mean") == 0) return Reduction::mean;
    if (PyUnicode_CompareWithASCIIString(name, "sum") == 0) return Reduction::sum;
    if (PyUnicode_CompareWithASCIIString(name, "none") == 0) return Reduction::none;
    return Reduction::unknown;
}

// The labels of a call, the weights of their classes, and how their losses are reduced.
template <class T> struct Labels {
    const std::int64_t* label;
    Index count, classes;
    std::int64_t ignored;
    const T* weight;  // of each class; null: they all weigh 1
    Reduction reduction;
    bool any_ignored = false;

    // Whether each label is a class or to be ignored.
    bool check() {
        bool valid = true;
        for (Index i = 0; i < count; ++i) {
            bool is_ignored = label[i] == ignored;
            any_ignored |= is_ignored;
            valid &= is_ignored | (static_cast<std::uint64_t>(label[i]) <
                                   static_cast<std::uint64_t>(classes));
        }
        return valid;
    }
    bool is_ignored(Index i) const { return any_ignored && label[i] == ignored; }
    T weight_of(Index i) const {
        if (is_ignored(i)) return 0;
        return weight == nullptr ? T(1) : weight[label[i]];
    }
    T sum_of_weights() const {
        if (weight == nullptr && !any_ignored) return static_cast<T>(count);
        Buffer<T> each(count);
        for (Index i = 0; i < count; ++i) each[i] = weight_of(i);
        return sum_of(each.data(), count);
    }
    T sum_of_class_weights() const {
        return weight == nullptr ? static_cast<T>(classes) : sum_of(weight, classes);
    }
};

// The loss of all labels from the loss of each.
template <class T, class S>
void reduce_losses(const Labels<T>& labels, const T* losses, S* out) {
    if (labels.reduction == Reduction::none) {
        convert_row(losses, out, labels.count);
        return;
    }
    T total = sum_of(losses, labels.count);
    if (labels.reduction == Reduction::mean) total /= labels.sum_of_weights();
    *out = convert<S>(total);
}

// The arrays of a call in order, with the labels as int64.
struct LabelCall {
    Owned scores, labels, weight;
    std::int64_t ignored = 0;
    Reduction reduction = Reduction::unknown;

    // False: the twin is to be called, or an exception is set.
    bool read(Array x, Array target, Arguments arguments, Index weight_at) {
        PyObject* weight_object = arguments[weight_at];
        ignored = arguments.integer(weight_at + 1);
        reduction = read_reduction(arguments[weight_at + 2]);
        if (reduction == Reduction::unknown) return false;
        if (!x || !target || x.type() < Type::float16 || x.type() == Type::other) return false;
        if (x.ndim() == 0 || x.size() == 0 || target.type() == Type::other) return false;
        if (target.type() >= Type::float16) return false;
        Index classes = x.shape(x.ndim() > 1 ? 1 : 0);
        if (target.ndim() != x.ndim() - 1 || target.size() * classes != x.size()) return false;
        if (weight_object != Py_None) {
            Array w = arguments.array(weight_at);
            if (!w || w.type() != x.type() || w.ndim() != 1 || w.size() != classes) return false;
            weight = in_order(w);
            if (!weight) return false;
        }
        PyArray_Descr* descriptor = PyArray_DescrFromType(NPY_INT64);
        labels = Owned(PyArray_FromArray(reinterpret_cast<PyArrayObject*>(target.object()),
                                         descriptor, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST));
        scores = in_order(x);
        return labels && scores;
    }
    AxisView slices() const {
        return AxisView(scores.array(), scores.array().ndim() > 1 ? 1 : 0);
    }
    // `wide` takes the weights of the classes in the type of the computation.
    template <class S, class T> Labels<T> labels_as(Buffer<T, 64>& wide) const {
        Array target = labels.array();
        if (weight) convert_row(weight.array().data<S>(), wide.data(), slices().count);
        return {target.data<std::int64_t>(), target.size(), slices().count, ignored,
                weight ? wide.data() : nullptr, reduction};
    }
    Index weights() const { return weight ? slices().count : 0; }
};

// A loss: of the labels' shape, or a single number.
inline PyObject* new_loss(const LabelCall& call) {
    Array target = call.labels.array();
    PyArray_Descr* descriptor = call.scores.array().descriptor();
    Py_INCREF(descriptor);
    return empty(call.reduction == Reduction::none ? target.ndim() : 0, target.shape(), descriptor);
}

// The gradient of the loss, in order: one number, or one for each label.
inline Owned read_gradient(Array g, const LabelCall& call) {
    Array x = call.scores.array();
    Index count = call.reduction == Reduction::none ? call.labels.array().size() : 1;
    return g && g.type() == x.type() && g.size() == count ? in_order(g) : Owned();
}

}  // namespace nnkit
