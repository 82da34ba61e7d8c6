// The negative log likelihood of log probabilities and class labels.
#include "labels.h"

namespace nnkit {
namespace {

// `x` as an S holds it.
template <class S, class T> T rounded(T x) { return convert<T>(convert<S>(x)); }

// The sum as torch's loop over labels has it, rounded after each addition: what comes after a
// multiple of 16 goes into the sum of the next level, and this likewise.
template <class S, class T> T sum_in_steps(const Labels<T>& labels, const T* x) {
    constexpr int levels = 8;
    T parts[levels] = {};
    for (Index i = 0; i < labels.count; ++i) {
        if (labels.is_ignored(i)) continue;
        parts[0] = rounded<S>(parts[0] + x[i]);
        Index place = i;
        for (int level = 0; level + 1 < levels && place % 16 == 0; ++level, place /= 16) {
            parts[level + 1] = rounded<S>(parts[level + 1] + parts[level]);
            parts[level] = 0;
        }
    }
    T total = 0;
    for (T part : parts) total = rounded<S>(total + part);
    return total;
}

template <class S, class T> T weights_in_steps(const Labels<T>& labels) {
    if (labels.weight == nullptr) return rounded<S>(labels.sum_of_weights());
    Buffer<T> each(labels.count);
    for (Index i = 0; i < labels.count; ++i) each[i] = labels.weight_of(i);
    return sum_in_steps<S>(labels, each.data());
}

// The loss of all labels in half precision.
template <class S, class T> void reduce_in_steps(const Labels<T>& labels, T* losses, S* out) {
    for (Index i = 0; i < labels.count; ++i) losses[i] = rounded<S>(losses[i]);
    if (labels.reduction == Reduction::none) return convert_row(losses, out, labels.count);
    T total = sum_in_steps<S>(labels, losses);
    if (labels.reduction == Reduction::mean) total /= weights_in_steps<S>(labels);
    *out = convert<S>(total);
}

template <class S> PyObject* nll_loss_of(const LabelCall& call) {
    using T = Computed<S>;
    Buffer<T, 64> wide(call.weights());
    Labels<T> labels = call.labels_as<S>(wide);
    if (!labels.check()) return decline();
    Owned loss(new_loss(call));
    if (!loss) return nullptr;
    AxisView slices = call.slices();
    const S* x = call.scores.array().data<S>();
    Buffer<T> losses(labels.count);
    for (Index o = 0, i = 0; o < slices.outer; ++o, x += slices.count * slices.inner) {
        for (Index j = 0; j < slices.inner; ++j, ++i) {
            losses[i] = 0;
            if (labels.is_ignored(i)) continue;
            T value = -convert<T>(x[labels.label[i] * slices.inner + j]);
            losses[i] = labels.weight == nullptr ? value : value * labels.weight_of(i);
        }
    }
    S* out = loss.array().data<S>();
    if constexpr (std::is_same_v<S, T>) reduce_losses(labels, losses.data(), out);
    else reduce_in_steps(labels, losses.data(), out);
    return loss.release();
}

template <class S> PyObject* nll_loss_grad_of(const LabelCall& call, Array g) {
    using T = Computed<S>;
    Buffer<T, 64> wide(call.weights());
    Labels<T> labels = call.labels_as<S>(wide);
    if (!labels.check()) return decline();
    Owned result(empty_like(call.scores.array()));
    if (!result) return nullptr;
    AxisView slices = call.slices();
    S* out = result.array().data<S>();
    std::memset(static_cast<void*>(out), 0, static_cast<std::size_t>(slices.size()) * sizeof(S));
    bool each_has_one = labels.reduction == Reduction::none;
    T common = convert<T>(*g.data<S>());
    if (labels.reduction == Reduction::mean) {
        if constexpr (std::is_same_v<S, T>) common /= labels.sum_of_weights();
        else common = rounded<S>(common / weights_in_steps<S>(labels));
    }
    for (Index o = 0, i = 0; o < slices.outer; ++o, out += slices.count * slices.inner) {
        for (Index j = 0; j < slices.inner; ++j, ++i) {
            if (labels.is_ignored(i)) continue;
            T share = each_has_one ? convert<T>(g.data<S>()[i]) : common;
            out[labels.label[i] * slices.inner + j] = convert<S>(-(share * labels.weight_of(i)));
        }
    }
    return result.release();
}

PyObject* nll_loss(Arguments arguments) {
    LabelCall call;
    if (!call.read(arguments.array(0), arguments.array(1), arguments, 2)) return decline();
    return by_type(call.scores.array().type(),
                   [&](auto like) { return nll_loss_of<decltype(like)>(call); });
}

PyObject* nll_loss_grad(Arguments arguments) {
    LabelCall call;
    if (!call.read(arguments.array(1), arguments.array(2), arguments, 3)) return decline();
    Owned g = read_gradient(arguments.array(0), call);
    if (!g) return decline();
    return by_type(call.scores.array().type(), [&](auto like) {
        return nll_loss_grad_of<decltype(like)>(call, g.array());
    });
}

Registration nll_loss_("nll_loss", nll_loss);
Registration nll_loss_grad_("nll_loss_grad", nll_loss_grad);

}  // namespace
}  // namespace nnkit
