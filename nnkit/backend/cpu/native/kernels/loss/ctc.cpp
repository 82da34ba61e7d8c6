// Connectionist temporal classification: the sum over all alignments of labels and time steps.
//
// A path walks through the labels with a blank before, between and after them, one state a step: it
// stays, goes on by one, or jumps over a blank between two different labels. All states of a step
// are computed side by side.
#include <algorithm>
#include <limits>

#include "computed.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = 8192;  // states of steps

// The arrays of a call: log probabilities (steps, samples, classes), labels and lengths of each sample.
struct CtcCall {
    Owned scores, labels, input_lengths, label_lengths;
    Index steps = 0, samples = 0, classes = 0, most_labels = 0, blank = 0;

    Index states() const { return 2 * most_labels + 1; }
    Index inputs_of(Index n) const { return input_lengths.array().data<std::int64_t>()[n]; }
    Index labels_of(Index n) const { return label_lengths.array().data<std::int64_t>()[n]; }
    Index grain() const { return std::max<Index>(1, work_of_piece / (steps * states() + 1)); }

    // False: the twin is to be called, or an exception is set.
    bool read(Arguments arguments, Index first, Index blank_at) {
        Array x = arguments.array(first), given = arguments.array(first + 1);
        if (!x || x.ndim() != 3 || x.size() == 0 || !given || given.ndim() != 2) return false;
        if (x.type() != Type::float32 && x.type() != Type::float64) return false;
        steps = x.shape(0), samples = x.shape(1), classes = x.shape(2);
        most_labels = given.shape(1), blank = arguments.integer(blank_at);
        if (given.shape(0) != samples || blank < 0 || blank >= classes) return false;
        scores = in_order(x);
        return scores && read_integers(given, labels, classes - 1) &&
               read_integers(arguments.array(first + 2), input_lengths, steps) &&
               read_integers(arguments.array(first + 3), label_lengths, most_labels) &&
               input_lengths.array().size() == samples && label_lengths.array().size() == samples;
    }

private:
    // Integers of [0, highest].
    static bool read_integers(Array given, Owned& kept, Index highest) {
        if (!given || given.type() != Type::int64) return false;
        kept = in_order(given);
        if (!kept) return false;
        const std::int64_t* value = kept.array().data<std::int64_t>();
        return std::all_of(value, value + given.size(),
                           [highest](std::int64_t v) { return v >= 0 && v <= highest; });
    }
};

// The states of one sample: their classes, where a path may jump in, and what is known of a step.
template <class T> struct States {
    static constexpr T nothing = -std::numeric_limits<T>::infinity();
    const CtcCall& call;
    Index count;
    Buffer<Index> state;
    Buffer<T> jump, above, left, right, far;

    explicit States(const CtcCall& call_)
        : call(call_), count(call.states()), state(count), jump(count + 2), above(count + 4),
          left(count), right(count), far(count) {}

    // A jump in from two states before; `backwards`, from two states behind.
    void read(Index n, bool backwards) {
        const std::int64_t* label = call.labels.array().data<std::int64_t>() + n * call.most_labels;
        for (Index s = 0; s < count; ++s) state[s] = s % 2 == 1 ? label[s / 2] : call.blank;
        for (Index s = 0; s < count; ++s) {
            const Index other = backwards ? s + 2 : s - 2;
            const bool may = other >= 0 && other < count && state[s] != state[other];
            jump[s] = may ? T(1) : T(0);
        }
    }

    // out[s] = the logarithm of what arrives from `before` in state s.
    void step(const T* before, bool backwards, T* out) {
        T* padded = above.data() + 2;
        std::fill_n(above.data(), 2, nothing);
        std::copy_n(before, count, padded);
        std::fill_n(padded + count, 2, nothing);
        const Index one = backwards ? 1 : -1;
        const T *next = padded + one, *second = padded + 2 * one;
        for (Index s = 0; s < count; ++s) {
            const T jumped = jump[s] != 0 ? second[s] : nothing;
            T most = padded[s] > next[s] ? padded[s] : next[s];
            most = jumped > most ? jumped : most;
            out[s] = most == nothing ? T(0) : most;
            left[s] = padded[s] - out[s];
            right[s] = next[s] - out[s];
            far[s] = jumped - out[s];
        }
        for (Index s = 0; s < count; ++s) {
            left[s] = math::exp_of_negative(left[s]) + math::exp_of_negative(right[s]) +
                      math::exp_of_negative(far[s]);
        }
        for (Index s = 0; s < count; ++s) out[s] += math::log(left[s]);
    }
};

template <class T> PyObject* ctc_loss_of(const CtcCall& call) {
    const npy_intp shape[] = {call.steps, call.samples, call.states()};
    Owned losses(empty<T>(1, shape + 1)), alphas(empty<T>(3, shape));
    if (!losses || !alphas) return nullptr;
    const T* scores = call.scores.array().data<T>();
    T *loss = losses.array().template data<T>(), *alpha = alphas.array().template data<T>();
    const Index row = call.samples * call.classes, line = call.samples * call.states();
    parallel_for(call.samples, call.grain(), [&](Index begin, Index end) {
        States<T> states(call);
        for (Index n = begin; n < end; ++n) {
            states.read(n, false);
            const T* score = scores + n * call.classes;
            T* log_alpha = alpha + n * call.states();
            std::fill_n(log_alpha, call.states(), states.nothing);
            log_alpha[0] = score[call.blank];
            const Index labels = call.labels_of(n), inputs = call.inputs_of(n);
            if (labels > 0) log_alpha[1] = score[states.state[1]];
            for (Index t = 1; t < call.steps; ++t) {
                poll();
                score += row, log_alpha += line;
                states.step(log_alpha - line, false, log_alpha);
                for (Index s = 0; s < call.states(); ++s) log_alpha[s] += score[states.state[s]];
            }
            const T infinity = -states.nothing;
            if (inputs == 0) {
                loss[n] = labels > 0 ? infinity : T(0);
                continue;
            }
            const T* last = alpha + (inputs - 1) * line + n * call.states() + 2 * labels;
            const T on_label = labels > 0 ? last[-1] : states.nothing;
            const T most = std::max(*last, on_label);
            const T shift = most == states.nothing ? T(0) : most;
            loss[n] = -(shift + math::log(math::exp_of_negative(*last - shift) +
                                          math::exp_of_negative(on_label - shift)));
        }
    });
    return tuple({losses.release(), alphas.release()});
}

template <class T>
PyObject* ctc_loss_grad_of(const CtcCall& call, Array given, Array losses, Array alphas,
                           bool zero_infinity) {
    Owned result(empty_like(call.scores.array()));
    if (!result) return nullptr;
    const T *scores = call.scores.array().data<T>(), *loss = losses.data<T>();
    const T *alpha = alphas.data<T>(), *y = given.data<T>();
    T* out = result.array().template data<T>();
    const Index row = call.samples * call.classes, line = call.samples * call.states();
    parallel_for(call.samples, call.grain(), [&](Index begin, Index end) {
        States<T> states(call);
        Buffer<T> beta(call.states()), through(call.states());
        for (Index n = begin; n < end; ++n) {
            const bool none = zero_infinity && loss[n] == -states.nothing;
            const Index inputs = none ? 0 : call.inputs_of(n);
            for (Index t = inputs; t < call.steps; ++t) {
                std::fill_n(out + t * row + n * call.classes, call.classes, T(0));
            }
            states.read(n, true);
            std::fill_n(beta.data(), call.states(), states.nothing);
            const Index end_state = 2 * call.labels_of(n);
            for (Index t = inputs - 1; t >= 0; --t) {
                poll();
                const T *score = scores + t * row + n * call.classes;
                const T* log_alpha = alpha + t * line + n * call.states();
                T* grad = out + t * row + n * call.classes;
                if (t < inputs - 1) {
                    states.step(beta.data(), true, beta.data());
                } else {
                    beta[end_state] = 0;
                    if (end_state > 0) beta[end_state - 1] = 0;
                }
                for (Index s = 0; s < call.states(); ++s) {
                    const T own = score[states.state[s]];
                    beta[s] += own;
                    through[s] = own == states.nothing ? own : log_alpha[s] + beta[s] - own + loss[n];
                }
                for (Index s = 0; s < call.states(); ++s) through[s] = math::exp(through[s]);
                for (Index c = 0; c < call.classes; ++c) grad[c] = math::exp(score[c]);
                for (Index s = 0; s < call.states(); ++s) grad[states.state[s]] -= through[s];
                for (Index c = 0; c < call.classes; ++c) grad[c] *= y[n];
            }
        }
    });
    return result.release();
}

PyObject* ctc_loss(Arguments arguments) {
    CtcCall call;
    if (!call.read(arguments, 0, 4)) return decline();
    return by_computed_type(call.scores.array().type(),
                            [&](auto like) { return ctc_loss_of<decltype(like)>(call); });
}

PyObject* ctc_loss_grad(Arguments arguments) {
    CtcCall call;
    if (!call.read(arguments, 1, 7)) return decline();
    const Type type = call.scores.array().type();
    Input y, losses, alphas;
    if (!y.read(arguments.array(0), type, call.samples) ||
        !losses.read(arguments.array(5), type, call.samples) ||
        !alphas.read(arguments.array(6), type, call.steps * call.samples * call.states())) {
        return decline();
    }
    const bool zero_infinity = arguments.truth(8);
    return by_computed_type(type, [&](auto like) {
        return ctc_loss_grad_of<decltype(like)>(call, y.array(), losses.array(), alphas.array(),
                                                zero_infinity);
    });
}

Registration ctc_loss_("ctc_loss", ctc_loss);
Registration ctc_loss_grad_("ctc_loss_grad", ctc_loss_grad);

}  // namespace
}  // namespace nnkit
