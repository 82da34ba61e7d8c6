// Softmax and log-softmax, forward and gradient, along any axis.
//
// An array is (outer, length, inner). Where inner is 1 a team of threads, a warp or a whole block,
// works on a row; else each thread works on one slice, and neighbours on neighbouring ones.
#include "team.cuh"

namespace nnkit {

template <class T, bool logarithm, int kind, int kept>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>)
softmax_rows(
    const T* x, T* out, int64 rows, int64 length) {
    using C = compute_t<T>;
    const RowTeam<kind> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const T* from = x + r * length;
        T* to = out + r * length;
        const auto row = keep_row<C, kept>(
            team.rank, team.size, length, [=](int64 i) { return C(from[i]); });
        C largest = Limits<C>::lowest(), total = C(0);
        row.each([&](int64, C value) { largest = Maximum()(largest, value); });
        largest = team.maximum(largest);
        row.each([&](int64, C value) { total += math::exp(value - largest); });
        total = team.sum(total);
        const C shift = logarithm ? math::log(total) : C(0);
        row.each([&](int64 i, C value) {
            const C moved = value - largest;
            to[i] = T(logarithm ? moved - shift : math::exp(moved) / total);
        });
    }
}

// softmax: g y - y sum(g y); log-softmax: g - exp(y) sum(g).
template <class T, bool logarithm, int kind, int kept>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>)
softmax_rows_grad(
    const T* g, const T* y, T* out, int64 rows, int64 length) {
    using C = compute_t<T>;
    const RowTeam<kind> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const T* from_g = g + r * length;
        const T* from_y = y + r * length;
        T* to = out + r * length;
        const auto row = keep_row<C, kept>(team.rank, team.size, length, [=](int64 i) {
            return logarithm ? C(from_g[i]) : C(from_g[i]) * C(from_y[i]);
        });
        C total = C(0);
        row.each([&](int64, C value) { total += value; });
        total = team.sum(total);
        row.each([&](int64 i, C value) {
            const C factor = logarithm ? math::exp(C(from_y[i])) : C(from_y[i]);
            to[i] = T(value - factor * total);
        });
    }
}

template <class T, bool logarithm>
__global__ void softmax_slices(const T* x, T* out, int64 slices, int64 length, int64 inner) {
    using C = compute_t<T>;
    for (int64 s = thread_of_grid(); s < slices; s += threads_of_grid()) {
        const int64 start = s / inner * inner * length + s % inner;
        C largest = Limits<C>::lowest(), total = C(0);
        for (int64 i = 0; i < length; ++i) largest = Maximum()(largest, C(x[start + i * inner]));
        for (int64 i = 0; i < length; ++i) total += math::exp(C(x[start + i * inner]) - largest);
        const C shift = logarithm ? math::log(total) : C(0);
        for (int64 i = 0; i < length; ++i) {
            const C moved = C(x[start + i * inner]) - largest;
            out[start + i * inner] = T(logarithm ? moved - shift : math::exp(moved) / total);
        }
    }
}

template <class T, bool logarithm>
__global__ void softmax_slices_grad(
    const T* g, const T* y, T* out, int64 slices, int64 length, int64 inner) {
    using C = compute_t<T>;
    for (int64 s = thread_of_grid(); s < slices; s += threads_of_grid()) {
        const int64 start = s / inner * inner * length + s % inner;
        C total = C(0);
        for (int64 i = 0; i < length; ++i) {
            const int64 at = start + i * inner;
            total += logarithm ? C(g[at]) : C(g[at]) * C(y[at]);
        }
        for (int64 i = 0; i < length; ++i) {
            const int64 at = start + i * inner;
            const C value = logarithm ? C(g[at]) : C(g[at]) * C(y[at]);
            out[at] = T(value - (logarithm ? math::exp(C(y[at])) : C(y[at])) * total);
        }
    }
}

}  // namespace nnkit
