// Connectionist temporal classification (Graves et al., 2006). A path walks through the labels with
// a blank before, between and after them, one state a step: it stays, goes on by one, or jumps over
// a blank between two different labels. A block works on one sample, its threads on the states.
#include "common.cuh"

namespace nnkit {

struct Labelling {
    int64 steps, batch, classes, labels;  // labels: of a padded target
    int64 blank, zero_infinity;

    __device__ int64 states() const { return 2 * labels + 1; }
    __device__ int64 state(const int64* target, int64 s) const {
        return s % 2 ? target[s / 2] : blank;
    }
    // Whether a path may come to state s from two states before.
    __device__ bool may_jump(const int64* target, int64 s) const {
        return s >= 2 && s % 2 && target[s / 2] != target[s / 2 - 1];
    }
};

template <class T>
__device__ T log_add(T x, T y) {
    const T larger = x > y ? x : y, smaller = x > y ? y : x;
    if (!(larger > -Limits<T>::infinity())) return larger;
    return larger + math::log1p(math::exp(smaller - larger));
}

// log_alpha[t, n, s]: all paths that are in state s after step t.
template <class T>
__global__ void __launch_bounds__(1024, 1) ctc_loss(
    const T* log_probs, const int64* targets, const int64* input_lengths,
    const int64* target_lengths, T* losses, T* log_alpha, Labelling of) {
    const T none = -Limits<T>::infinity();
    const int64 states = of.states();
    for (int64 n = blockIdx.x; n < of.batch; n += gridDim.x) {
        const int64* target = targets + n * of.labels;
        const int64 length = target_lengths[n];
        for (int64 t = 0; t < of.steps; ++t) {
            const T* scores = log_probs + (t * of.batch + n) * of.classes;
            const T* before = log_alpha + ((t - 1) * of.batch + n) * states;
            T* now = log_alpha + (t * of.batch + n) * states;
            for (int64 s = threadIdx.x; s < states; s += blockDim.x) {
                T arrived = s == 0 || (s == 1 && length > 0) ? T(0) : none;
                if (t > 0) {
                    arrived = before[s];
                    if (s > 0) arrived = log_add(arrived, before[s - 1]);
                    if (of.may_jump(target, s)) arrived = log_add(arrived, before[s - 2]);
                }
                now[s] = scores[of.state(target, s)] + arrived;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            const int64 last = input_lengths[n] - 1;
            const T* end = log_alpha + ((last < 0 ? 0 : last) * of.batch + n) * states + 2 * length;
            const T loss = -log_add(end[0], length > 0 ? end[-1] : none);
            losses[n] = last >= 0 ? loss : length > 0 ? -none : T(0);
        }
        __syncthreads();
    }
}

template <class T>
__global__ void __launch_bounds__(1024, 1) ctc_loss_grad(
    const T* y, const T* log_probs, const int64* targets, const int64* input_lengths,
    const int64* target_lengths, const T* losses, const T* log_alpha, T* out, T* memory,
    Labelling of) {
    const T none = -Limits<T>::infinity();
    const int64 states = of.states();
    // log_beta[s]: all ends of paths that are in state s at step t, and at the step after. Where
    // there are too many for shared memory, each block has its part of ``memory``.
    T* log_beta = memory ? memory + blockIdx.x * 3 * states : dynamic_shared<T>();
    T* later = log_beta + states;
    T* through = later + states;  // the share of the paths that are in a state
    for (int64 n = blockIdx.x; n < of.batch; n += gridDim.x) {
        const int64* target = targets + n * of.labels;
        const int64 steps = input_lengths[n], end = 2 * target_lengths[n];
        const bool is_zero = of.zero_infinity && losses[n] == -none;
        for (int64 t = of.steps - 1; t >= 0; --t) {
            const int64 row = t * of.batch + n;
            const T* scores = log_probs + row * of.classes;
            T* to = out + row * of.classes;
            const bool is_over = is_zero || t >= steps;
            for (int64 s = threadIdx.x; s < states; s += blockDim.x) {
                const T score = scores[of.state(target, s)];
                T onward = none;
                if (t == steps - 1) {
                    onward = s == end || (s == end - 1 && end > 0) ? T(0) : none;
                } else if (t < steps - 1) {
                    onward = later[s];
                    if (s + 1 < states) onward = log_add(onward, later[s + 1]);
                    if (s + 2 < states && of.may_jump(target, s + 2)) {
                        onward = log_add(onward, later[s + 2]);
                    }
                }
                log_beta[s] = score + onward;
                through[s] = score == none
                    ? T(0)
                    : math::exp(log_alpha[row * states + s] + log_beta[s] - score + losses[n]);
            }
            for (int64 c = threadIdx.x; c < of.classes; c += blockDim.x) {
                to[c] = is_over ? T(0) : y[n] * math::exp(scores[c]);
            }
            __syncthreads();
            // The first state of a class adds up all states of it, in their order.
            for (int64 s = threadIdx.x; s < states && !is_over; s += blockDim.x) {
                const int64 c = of.state(target, s);
                bool is_first = true;
                for (int64 i = 0; i < s && is_first; ++i) is_first = of.state(target, i) != c;
                if (!is_first) continue;
                T total = math::exp(scores[c]);
                for (int64 i = s; i < states; ++i) {
                    if (of.state(target, i) == c) total -= through[i];
                }
                to[c] = y[n] * total;
            }
            __syncthreads();
            T* swapped = log_beta;
            log_beta = later;
            later = swapped;
        }
    }
}

}  // namespace nnkit
