// Losses on class labels. Scores are (outer, classes, inner), labels (outer, inner).
#include "team.cuh"

namespace nnkit {

struct Labels {
    int64 count, classes, inner, ignore_index;
};

// The class of a label; -1 where it is ignored or out of range.
__device__ inline int64 class_of(const int64* target, int64 i, const Labels& labels) {
    const int64 label = target[i];
    return label == labels.ignore_index || label < 0 || label >= labels.classes ? -1 : label;
}

// The same, with a report of what is out of range.
__device__ inline int64 checked_class(
    const int64* target, int64 i, const Labels& labels, Failure* failure, int code) {
    const int64 label = class_of(target, i, labels);
    if (label < 0 && target[i] != labels.ignore_index) {
        report(failure, code, target[i], labels.classes);
    }
    return label;
}

template <class T>
__device__ compute_t<T> weight_of(const T* weight, int64 label) {
    return label < 0 ? compute_t<T>(0) : weight ? compute_t<T>(weight[label]) : compute_t<T>(1);
}

// Calls ``body(label, start)`` for each label, of the threads that write its row of scores, which
// lie ``inner`` apart from ``start`` on.
template <int kind, class Body>
__device__ void each_label(const Labels& labels, const RowTeam<kind>& team, Body body) {
    const int64 inner = labels.inner;
    for (int64 row = team.row; row < labels.count; row += team.rows_at_once) {
        body(row, row / inner * inner * labels.classes + row % inner);
    }
}

// Each label's loss and weight, and the softmax of its scores.
template <class T, int kind>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>)
cross_entropy(
    const T* x, const int64* target, const T* weight, T* p, compute_t<T>* losses,
    compute_t<T>* weights, Failure* failure, int code, Labels labels, double smoothing) {
    using C = compute_t<T>;
    const RowTeam<kind> team;
    const int64 classes = labels.classes, inner = labels.inner;
    each_label(labels, team, [&](int64 row, int64 start) {
        const T* from = x + start;
        C largest = Limits<C>::lowest(), total = C(0);
        for (int64 c = team.rank; c < classes; c += team.size) {
            largest = Maximum()(largest, C(from[c * inner]));
        }
        largest = team.maximum(largest);
        for (int64 c = team.rank; c < classes; c += team.size) {
            total += math::exp(C(from[c * inner]) - largest);
        }
        total = team.sum(total);
        const C normalizer = math::log(total);
        C smooth = C(0);
        for (int64 c = team.rank; c < classes; c += team.size) {
            const C moved = C(from[c * inner]) - largest;
            p[start + c * inner] = T(math::exp(moved) / total);
            if (smoothing != 0.0) {
                smooth += (normalizer - moved) * (weight ? C(weight[c]) : C(1));
            }
        }
        if (smoothing != 0.0) smooth = team.sum(smooth);
        if (team.rank == 0) {
            const int64 label = checked_class(target, row, labels, failure, code);
            const C own = weight_of(weight, label);
            C loss = C(0);
            if (label >= 0) {
                loss = (normalizer - (C(from[label * inner]) - largest)) * own;
                if (smoothing != 0.0) {
                    loss = loss * C(1.0 - smoothing) + smooth * C(smoothing / double(classes));
                }
            }
            losses[row] = loss;
            weights[row] = own;
        }
    });
}

template <class T>
__global__ void nll_loss(
    const T* x, const int64* target, const T* weight, compute_t<T>* losses,
    compute_t<T>* weights, Failure* failure, int code, Labels labels) {
    using C = compute_t<T>;
    const int64 inner = labels.inner;
    for (int64 i = thread_of_grid(); i < labels.count; i += threads_of_grid()) {
        const int64 label = checked_class(target, i, labels, failure, code);
        const int64 start = i / inner * inner * labels.classes + i % inner;
        const C own = weight_of(weight, label);
        losses[i] = label < 0 ? C(0) : -C(x[start + label * inner]) * own;
        weights[i] = own;
    }
}

// By one block: the sum of the losses, over that of their weights for the mean.
template <class T, bool mean>
__global__ void __launch_bounds__(1024, 1) reduce_losses(
    const compute_t<T>* losses, const compute_t<T>* weights, T* out, int64 count) {
    using C = compute_t<T>;
    const RowTeam<by_block> team;
    C total = C(0), weight = C(0);
    for (int64 i = team.rank; i < count; i += team.size) {
        total += losses[i];
        if (mean) weight += weights[i];
    }
    total = team.sum(total);
    if (mean) weight = team.sum(weight);
    if (team.rank == 0) *out = T(mean ? total / weight : total);
}

template <class T>
__global__ void round_losses(const compute_t<T>* losses, T* out, int64 count) {
    for (int64 i = thread_of_grid(); i < count; i += threads_of_grid()) out[i] = T(losses[i]);
}

// By one block: the weights of all labels, and of all classes.
template <class T>
__global__ void __launch_bounds__(1024, 1) weight_totals(
    const int64* target, const T* weight, compute_t<T>* totals, Labels labels) {
    using C = compute_t<T>;
    const RowTeam<by_block> team;
    C of_labels = C(0), of_classes = C(0);
    for (int64 i = team.rank; i < labels.count; i += team.size) {
        of_labels += weight_of(weight, class_of(target, i, labels));
    }
    for (int64 c = team.rank; c < labels.classes; c += team.size) {
        of_classes += weight ? C(weight[c]) : C(1);
    }
    of_labels = team.sum(of_labels);
    of_classes = team.sum(of_classes);
    if (team.rank == 0) {
        totals[0] = of_labels;
        totals[1] = of_classes;
    }
}

// The gradient of a label's loss, before it is weighted.
template <class T>
__device__ compute_t<T> share_of(
    const T* g, const compute_t<T>* totals, int64 label, int reduction) {
    using C = compute_t<T>;
    enum { none, mean };
    return reduction == none ? C(g[label]) : reduction == mean ? C(*g) / totals[0] : C(*g);
}

// Writes ``value(c)`` for each class, in a row of scores that begins at ``out``.
template <class T, int kind, class Value>
__device__ void write_row(T* out, const Labels& labels, const RowTeam<kind>& team, Value value) {
    for (int64 c = team.rank; c < labels.classes; c += team.size) {
        out[c * labels.inner] = T(value(c));
    }
}

template <class T, int kind>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>)
cross_entropy_grad(
    const T* g, const T* p, const int64* target, const T* weight, const compute_t<T>* totals,
    T* out, Labels labels, int reduction, double smoothing) {
    using C = compute_t<T>;
    const RowTeam<kind> team;
    each_label(labels, team, [&](int64 i, int64 start) {
        const int64 label = class_of(target, i, labels);
        if (label < 0) {
            write_row(out + start, labels, team, [](int64) { return C(0); });
            return;
        }
        const C share = share_of(g, totals, i, reduction);
        const C each = share * weight_of(weight, label) * C(1.0 - smoothing);
        const C smooth = share * C(smoothing / double(labels.classes));
        const C factor = each + smooth * totals[1];
        write_row(out + start, labels, team, [&](int64 c) {
            C value = C(p[start + c * labels.inner]) * factor;
            if (smoothing != 0.0) value -= smooth * weight_of(weight, c);
            return c == label ? value - each : value;
        });
    });
}

template <class T, int kind>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>)
nll_loss_grad(
    const T* g, const int64* target, const T* weight, const compute_t<T>* totals, T* out,
    Labels labels, int reduction) {
    using C = compute_t<T>;
    const RowTeam<kind> team;
    each_label(labels, team, [&](int64 i, int64 start) {
        const int64 label = class_of(target, i, labels);
        const C own = label < 0 ? C(0)
                                : -share_of(g, totals, i, reduction) * weight_of(weight, label);
        write_row(out + start, labels, team, [&](int64 c) { return c == label ? own : C(0); });
    });
}

}  // namespace nnkit
