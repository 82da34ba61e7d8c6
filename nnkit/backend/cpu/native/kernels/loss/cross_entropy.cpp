// Cross entropy of scores and class labels.
#include "labels.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index elements_of_piece = 8192;
constexpr Index elements_of_group = 1024;  // short rows are worked on together: exp is vectorised
constexpr Index elements_of_tile = 4096;   // where classes do not lie in a row; it fits the cache
constexpr Index widest_tile = 256;

// Computes `out` from `in`, both of the scores' shape, for some labels at a time: by the kernel's
// `rows(from, to, first, count)` where the classes of a label lie in a row, and by `columns` where
// they lie in a column beside those of its `count` neighbours. Halves are widened.
template <class T, class Kernel, class S>
void for_labels(const Kernel& kernel, const AxisView& slices, const S* in, S* out) {
    constexpr bool is_half = !std::is_same_v<S, T>;
    Index classes = slices.count, inner = slices.inner;
    if (inner == 1) {
        Index group = std::max<Index>(1, elements_of_group / classes);
        Index grain = std::max<Index>(1, elements_of_piece / (group * classes)) * group;
        parallel_for(slices.outer, grain, [&](Index begin, Index end) {
            Buffer<T, elements_of_group> wide(is_half ? std::min(group, end - begin) * classes : 0);
            for (Index first = begin; first < end; first += group) {
                Index count = std::min(group, end - first), at = first * classes;
                if constexpr (is_half) {
                    convert_row(in + at, wide.data(), count * classes);
                    kernel.rows(wide.data(), wide.data(), first, count);
                    convert_row(wide.data(), out + at, count * classes);
                } else {
                    kernel.rows(in + at, out + at, first, count);
                }
            }
        });
        return;
    }
    Index width = std::clamp<Index>(elements_of_tile / classes / 16 * 16, 16, widest_tile);
    Index tiles = (inner + width - 1) / width;
    Index grain = std::max<Index>(1, elements_of_piece / (classes * std::min(width, inner)));
    parallel_for(slices.outer * tiles, grain, [&](Index begin, Index end) {
        Buffer<T, elements_of_tile> tile(classes * std::min(width, inner));
        for (Index t = begin; t < end; ++t) {
            Index start = t % tiles * width, count = std::min(width, inner - start);
            Index at = t / tiles * classes * inner + start;
            for (Index k = 0; k < classes; ++k) {
                convert_row(in + at + k * inner, tile.data() + k * count, count);
            }
            kernel.columns(tile.data(), tile.data(), t / tiles * inner + start, count);
            for (Index k = 0; k < classes; ++k) {
                convert_row(tile.data() + k * count, out + at + k * inner, count);
            }
        }
    });
}

// The forward pass: -log softmax(scores)[label] into `losses`, and the softmax.
template <class T> struct CrossEntropy {
    const Labels<T>& labels;
    T smoothing, class_weights;
    T* all_losses;

    [[gnu::noinline]] void rows(const T* x, T* p, Index first, Index count) const {
        Index classes = labels.classes;
        Buffer<T, elements_of_group> shift(count), total(count), smooth(count);
        T* losses = all_losses + first;
        for (Index r = 0; r < count; ++r) {
            Index label = labels.is_ignored(first + r) ? 0 : labels.label[first + r];
            losses[r] = x[r * classes + label];
        }
        if (smoothing != 0) {
            for (Index r = 0; r < count; ++r) smooth[r] = weighted_sum(x + r * classes);
        }
        exp_of_rows(x, p, count, classes, shift.data());
        for (Index r = 0; r < count; ++r) {
            T* row = p + r * classes;
            T sum = total[r] = sum_of(row, classes);
            for (Index i = 0; i < classes; ++i) row[i] /= sum;
        }
        finish(shift.data(), total.data(), smooth.data(), first, count);
    }

    [[gnu::noinline]] void columns(const T* x, T* p, Index first, Index count) const {
        Index classes = labels.classes;
        T shift[widest_tile], total[widest_tile], smooth[widest_tile];
        T* losses = all_losses + first;
        max_of_columns(x, classes, count, count, shift);
        for (Index j = 0; j < count; ++j) {
            Index label = labels.is_ignored(first + j) ? 0 : labels.label[first + j];
            losses[j] = x[label * count + j];
        }
        if (smoothing != 0) {
            const T* weight = labels.weight;
            sum_columns(classes, count, count, smooth, [&](Index i, Index j) {
                T distance = x[i] - shift[j];
                return weight == nullptr ? distance : distance * weight[i / count];
            });
        }
        for (Index k = 0; k < classes; ++k) {
            T *row = p + k * count;
            for (Index j = 0; j < count; ++j) row[j] = x[k * count + j] - shift[j];
        }
        for (Index i = 0; i < classes * count; ++i) p[i] = math::exp_of_negative(p[i]);
        sum_columns(classes, count, count, total, [&](Index i, Index) { return p[i]; });
        for (Index k = 0; k < classes; ++k) {
            T *row = p + k * count;
            for (Index j = 0; j < count; ++j) row[j] /= total[j];
        }
        finish(shift, total, smooth, first, count);
    }

private:
    // The sum over the classes of (x - largest) * weight
    T weighted_sum(const T* x) const {
        T shift = max_of(x, labels.classes);
        if (labels.weight == nullptr) {
            return sum_of<T>(labels.classes, [shift](auto v) { return v - shift; }, x);
        }
        auto term = [shift](auto v, auto w) { return (v - shift) * w; };
        return sum_of<T>(labels.classes, term, x, labels.weight);
    }

    // From the labels' scores to their losses
    void finish(const T* shift, T* total, const T* smooth, Index first, Index count) const {
        T* losses = all_losses + first;
        for (Index i = 0; i < count; ++i) total[i] = math::log(total[i]);
        for (Index i = 0; i < count; ++i) losses[i] = total[i] - (losses[i] - shift[i]);
        if (labels.weight == nullptr && !labels.any_ignored && smoothing == 0) return;
        T spread = smoothing / static_cast<T>(labels.classes);
        for (Index i = 0; i < count; ++i) {
            if (labels.is_ignored(first + i)) {
                losses[i] = 0;
                continue;
            }
            if (labels.weight != nullptr) losses[i] *= labels.weight_of(first + i);
            if (smoothing == 0) continue;
            T all = class_weights * total[i] - smooth[i];
            losses[i] = losses[i] * (1 - smoothing) + all * spread;
        }
    }
};

// The backward pass, from the softmax: p * scale - share * weight, less `each` at the label.
template <class S> struct CrossEntropyGrad {
    using T = Computed<S>;

    const Labels<T>& labels;
    T smoothing, class_weights;
    T common;    // what every label gets of the gradient,
    const S* g;  // or, unless null, what each gets

    struct Parts {
        T each, share, scale;
    };
    Parts parts(Index i) const {
        if (labels.is_ignored(i)) return {0, 0, 0};
        T share = g == nullptr ? common : convert<T>(g[i]), each = share * labels.weight_of(i);
        if (smoothing == 0) return {each, 0, each};
        each *= 1 - smoothing;
        share *= smoothing / static_cast<T>(labels.classes);
        return {each, share, each + share * class_weights};
    }

    [[gnu::noinline]] void rows(const T* p, T* out, Index first, Index count) const {
        Index classes = labels.classes;
        for (Index r = 0; r < count; ++r, p += classes, out += classes) {
            Parts part = parts(first + r);
            for (Index k = 0; k < classes; ++k) out[k] = p[k] * part.scale;
            if (part.share != 0 && labels.weight == nullptr) {
                for (Index k = 0; k < classes; ++k) out[k] -= part.share;
            } else if (part.share != 0) {
                for (Index k = 0; k < classes; ++k) out[k] -= part.share * labels.weight[k];
            }
            if (!labels.is_ignored(first + r)) out[labels.label[first + r]] -= part.each;
        }
    }

    [[gnu::noinline]] void columns(const T* p, T* out, Index first, Index count) const {
        T each[widest_tile], share[widest_tile], scale[widest_tile];
        for (Index j = 0; j < count; ++j) {
            Parts part = parts(first + j);
            each[j] = part.each;
            share[j] = part.share;
            scale[j] = part.scale;
        }
        for (Index k = 0; k < labels.classes; ++k) {
            T weight = labels.weight == nullptr ? T(1) : labels.weight[k];
            for (Index i = k * count, j = 0; j < count; ++i, ++j) out[i] = p[i] * scale[j];
            if (smoothing == 0) continue;
            for (Index i = k * count, j = 0; j < count; ++i, ++j) out[i] -= share[j] * weight;
        }
        for (Index j = 0; j < count; ++j) {
            if (!labels.is_ignored(first + j)) out[labels.label[first + j] * count + j] -= each[j];
        }
    }
};

template <class S> PyObject* cross_entropy_of(const LabelCall& call, double smoothing) {
    using T = Computed<S>;
    Buffer<T, 64> wide(call.weights());
    Labels<T> labels = call.labels_as<S>(wide);
    if (!labels.check()) return decline();
    Owned loss(new_loss(call)), p(empty_like(call.scores.array()));
    if (!loss || !p) return nullptr;
    Buffer<T> losses(labels.count);
    CrossEntropy<T> kernel{labels, static_cast<T>(smoothing), labels.sum_of_class_weights(),
                           losses.data()};
    for_labels<T>(kernel, call.slices(), call.scores.array().data<S>(), p.array().data<S>());
    reduce_losses(labels, losses.data(), loss.array().data<S>());
    return tuple({loss.release(), p.release()});
}

template <class S>
PyObject* cross_entropy_grad_of(const LabelCall& call, Array g, double smoothing) {
    using T = Computed<S>;
    Buffer<T, 64> wide(call.weights());
    Labels<T> labels = call.labels_as<S>(wide);
    if (!labels.check()) return decline();
    Owned out(empty_like(call.scores.array()));
    if (!out) return nullptr;
    T common = convert<T>(*g.data<S>());
    if (labels.reduction == Reduction::mean) common /= labels.sum_of_weights();
    CrossEntropyGrad<S> kernel{labels, static_cast<T>(smoothing), labels.sum_of_class_weights(),
                               common,
                               labels.reduction == Reduction::none ? g.data<S>() : nullptr};
    for_labels<T>(kernel, call.slices(), call.scores.array().data<S>(), out.array().data<S>());
    return out.release();
}

PyObject* cross_entropy(Arguments arguments) {
    double smoothing = arguments.number(5);
    LabelCall call;
    if (!call.read(arguments.array(0), arguments.array(1), arguments, 2)) return decline();
    return by_type(call.scores.array().type(), [&](auto like) {
        return cross_entropy_of<decltype(like)>(call, smoothing);
    });
}

PyObject* cross_entropy_grad(Arguments arguments) {
    double smoothing = arguments.number(6);
    LabelCall call;
    if (!call.read(arguments.array(1), arguments.array(2), arguments, 3)) return decline();
    Owned g = read_gradient(arguments.array(0), call);
    if (!g) return decline();
    return by_type(call.scores.array().type(), [&](auto like) {
        return cross_entropy_grad_of<decltype(like)>(call, g.array(), smoothing);
    });
}

Registration cross_entropy_("cross_entropy", cross_entropy);
Registration cross_entropy_grad_("cross_entropy_grad", cross_entropy_grad);

}  // namespace
}  // namespace nnkit
