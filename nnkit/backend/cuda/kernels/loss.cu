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

// One score of a slice, whose elements lie ``inner`` apart.
template <class T>
struct ScoreOfSlice {
    static constexpr int elements = 1;
    int first;
    int64 offset;

    __device__ int index_of(int64 label) const { return int(label) == first ? 0 : -1; }
    __device__ Pack<T, 1> read(const T* slice) const { return {{slice[offset]}}; }
    template <class Value>
    __device__ void write(T* slice, Value value) const { slice[offset] = T(value(0)); }
};

// Calls ``body(place)`` for all scores of a label, in each of the arrays.
template <int kind, class T, class Body, class... Rows>
__device__ void each_score(
    const Labels& labels, const RowTeam<kind>& team, Body body, const T* first,
    const Rows*... more) {
    if constexpr (kind == by_thread) {
        int64 offset = 0;
        for (int c = 0; c < labels.classes; ++c, offset += labels.inner) {
            body(ScoreOfSlice<T>{c, offset});
        }
    } else {
        each_place(team, labels.classes, body, first, more...);
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
    each_label(labels, team, [&](int64 row, int64 start) {
        const T* from = x + start;
        T* to = p + start;
        Exponentials<C> scores;
        each_score(labels, team, [&](auto place) { scores.add(place.read(from)); }, from);
        scores.join(team);
        const C largest = scores.largest, total = scores.total;
        const C normalizer = math::log(total), share = C(1) / total;
        C smooth = C(0);
        each_score(labels, team, [&](auto place) {
            const auto pack = place.read(from);
            place.write(to, [&](int k) {
                const C exponential = math::exp(C(pack[k]) - largest);
                return sizeof(T) == 2 ? exponential * share : exponential / total;
            });
            if (smoothing != 0.0) {
                #pragma unroll
                for (int k = 0; k < place.elements; ++k) {
                    const C far = normalizer - (C(pack[k]) - largest);
                    smooth += far * (weight ? C(weight[place.first + k]) : C(1));
                }
            }
        }, from, to);
        if (smoothing != 0.0) smooth = team.sum(smooth);
        if (team.rank == 0) {
            const int64 label = checked_class(target, row, labels, failure, code);
            const C own = weight_of(weight, label);
            C loss = C(0);
            if (label >= 0) {
                loss = (normalizer - (C(from[label * labels.inner]) - largest)) * own;
                if (smoothing != 0.0) {
                    loss = loss * C(1.0 - smoothing)
                           + smooth * C(smoothing / double(labels.classes));
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

// Writes ``value(place, k)`` as the k-th of the scores at each place, of a row that begins at
// ``out``; those are read from ``more``.
template <class T, int kind, class Value, class... Rows>
__device__ void write_row(
    T* out, const Labels& labels, const RowTeam<kind>& team, Value value, const Rows*... more) {
    each_score(labels, team, [&](auto place) {
        auto at = value(place);
        place.write(out, [&](int k) { return at(k); });
    }, static_cast<const T*>(out), more...);
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
            const auto nothing = [](auto) { return [](int) { return C(0); }; };
            write_row(out + start, labels, team, nothing);
            return;
        }
        const C share = share_of(g, totals, i, reduction);
        const C each = share * weight_of(weight, label) * C(1.0 - smoothing);
        const C smooth = share * C(smoothing / double(labels.classes));
        const C factor = each + smooth * totals[1];
        const T* from = p + start;
        write_row(out + start, labels, team, [=](auto place) {
            const auto pack = place.read(from);
            const int here = place.index_of(label);
            return [=](int k) {
                C value = C(pack[k]) * factor;
                if (smoothing != 0.0) value -= smooth * weight_of(weight, place.first + k);
                return k == here ? value - each : value;
            };
        }, from);
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
        write_row(out + start, labels, team, [=](auto place) {
            const int here = place.index_of(label);
            return [=](int k) { return k == here ? own : C(0); };
        });
    });
}

}  // namespace nnkit
