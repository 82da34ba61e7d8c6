// Softmax and log-softmax, forward and gradient, along any axis.
//
// An array is (outer, length, inner). Where inner is 1 a team of threads, a warp or a whole block,
// works on a row; else each thread works on one slice, and neighbours on neighbouring ones.
#include "common.cuh"

namespace nnkit {

// The threads that share a row: a warp for short rows, so that its sums need no barrier.
template <bool by_warp>
struct Team {
    int rank, size;
    int64 row, rows_at_once;

    __device__ Team() {
        const int warps = blockDim.x / warp_size;
        rank = by_warp ? threadIdx.x % warp_size : threadIdx.x;
        size = by_warp ? warp_size : blockDim.x;
        row = by_warp ? int64(blockIdx.x) * warps + threadIdx.x / warp_size : blockIdx.x;
        rows_at_once = by_warp ? int64(gridDim.x) * warps : gridDim.x;
    }
    template <class Operation, class T>
    __device__ T reduce(T value, Operation combine, T identity) const {
        if constexpr (by_warp) return reduce_warp(value, combine);
        else return reduce_block(value, combine, identity);
    }
};

// Calls ``body(i, value)`` for the elements of a row that are this thread's. Up to ``kept`` of them
// stay in registers from the first call to the last.
template <class T, int kept>
struct Row {
    using C = compute_t<T>;
    const T* data;
    int rank, size, length;
    C values[kept ? kept : 1];

    template <class Load>
    __device__ Row(const T* x, int rank, int size, int length, Load load)
        : data(x), rank(rank), size(size), length(length) {
        #pragma unroll
        for (int k = 0; k < kept; ++k) {
            const int i = rank + k * size;
            values[k] = i < length ? load(i) : C(0);
        }
    }
    template <class Load, class Body>
    __device__ void each(Load load, Body body) const {
        if constexpr (kept > 0) {
            #pragma unroll
            for (int k = 0; k < kept; ++k) {
                const int i = rank + k * size;
                if (i < length) body(i, values[k]);
            }
        } else {
            for (int i = rank; i < length; i += size) body(i, load(i));
        }
    }
};

template <class T, bool logarithm, bool by_warp, int kept>
__global__ void __launch_bounds__(by_warp ? 256 : 1024, by_warp ? 3 : 1) softmax_rows(
    const T* x, T* out, int64 rows, int length) {
    using C = compute_t<T>;
    const Team<by_warp> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const T* from = x + r * length;
        T* to = out + r * length;
        const auto load = [&](int i) { return C(from[i]); };
        const Row<T, kept> row(from, team.rank, team.size, length, load);
        C largest = Limits<C>::lowest(), total = C(0);
        row.each(load, [&](int, C value) { largest = Maximum()(largest, value); });
        largest = team.reduce(largest, Maximum(), Limits<C>::lowest());
        row.each(load, [&](int, C value) { total += math::exp(value - largest); });
        total = team.reduce(total, Sum(), C(0));
        const C shift = logarithm ? math::log(total) : C(0);
        row.each(load, [&](int i, C value) {
            const C moved = value - largest;
            to[i] = T(logarithm ? moved - shift : math::exp(moved) / total);
        });
    }
}

// softmax: g y - y sum(g y); log-softmax: g - exp(y) sum(g).
template <class T, bool logarithm, bool by_warp, int kept>
__global__ void __launch_bounds__(by_warp ? 256 : 1024, by_warp ? 3 : 1) softmax_rows_grad(
    const T* g, const T* y, T* out, int64 rows, int length) {
    using C = compute_t<T>;
    const Team<by_warp> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const T* from_g = g + r * length;
        const T* from_y = y + r * length;
        T* to = out + r * length;
        const auto load = [&](int i) {
            return logarithm ? C(from_g[i]) : C(from_g[i]) * C(from_y[i]);
        };
        const Row<T, kept> row(from_g, team.rank, team.size, length, load);
        C total = C(0);
        row.each(load, [&](int, C value) { total += value; });
        total = team.reduce(total, Sum(), C(0));
        row.each(load, [&](int i, C value) {
            const C factor = logarithm ? math::exp(C(from_y[i])) : C(from_y[i]);
            to[i] = T(value - factor * total);
        });
    }
}

template <class T, bool logarithm>
__global__ void softmax_slices(const T* x, T* out, int64 slices, int length, int64 inner) {
    using C = compute_t<T>;
    for (int64 s = thread_of_grid(); s < slices; s += threads_of_grid()) {
        const int64 start = s / inner * inner * length + s % inner;
        C largest = Limits<C>::lowest(), total = C(0);
        for (int i = 0; i < length; ++i) largest = Maximum()(largest, C(x[start + i * inner]));
        for (int i = 0; i < length; ++i) total += math::exp(C(x[start + i * inner]) - largest);
        const C shift = logarithm ? math::log(total) : C(0);
        for (int i = 0; i < length; ++i) {
            const C moved = C(x[start + i * inner]) - largest;
            out[start + i * inner] = T(logarithm ? moved - shift : math::exp(moved) / total);
        }
    }
}

template <class T, bool logarithm>
__global__ void softmax_slices_grad(
    const T* g, const T* y, T* out, int64 slices, int length, int64 inner) {
    using C = compute_t<T>;
    for (int64 s = thread_of_grid(); s < slices; s += threads_of_grid()) {
        const int64 start = s / inner * inner * length + s % inner;
        C total = C(0);
        for (int i = 0; i < length; ++i) {
            const int64 at = start + i * inner;
            total += logarithm ? C(g[at]) : C(g[at]) * C(y[at]);
        }
        for (int i = 0; i < length; ++i) {
            const int64 at = start + i * inner;
            const C value = logarithm ? C(g[at]) : C(g[at]) * C(y[at]);
            out[at] = T(value - (logarithm ? math::exp(C(y[at])) : C(y[at])) * total);
        }
    }
}

}  // namespace nnkit
