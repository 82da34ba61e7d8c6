// Running totals along one axis of an array (outer, length, inner).
//
// An operation says what an element begins with (``load``), how the total up to an element and the
// one of what follows are joined (``combine``: associative, the earlier one first), and what is
// written (``store``).
#include "reduction.cuh"

namespace nnkit {

template <class T>
struct RunningSum {
    using Input = T;
    using Value = sum_t<T>;
    __device__ static Value load(const T* x, const T*, int64 at, int64) { return Value(x[at]); }
    __device__ static Value combine(Value x, Value y) { return x + y; }
    __device__ static void store(Value value, void* first, void*, int64 at) {
        store_at<result_t<T>>(first, at, value);
    }
};

template <class T>
struct RunningProduct : RunningSum<T> {
    using Value = sum_t<T>;
    __device__ static Value combine(Value x, Value y) { return x * y; }
};

template <class T>
struct RunningLogSumExp {
    using Input = T;
    using Value = typename LogSumExpOf<T>::Accumulator;
    __device__ static Value load(const T* x, const T*, int64 at, int64) {
        return {compute_t<T>(x[at]), compute_t<T>(1)};
    }
    __device__ static Value combine(Value x, Value y) { return LogSumExpOf<T>::combine(x, y); }
    __device__ static void store(Value value, void* first, void*, int64 at) {
        LogSumExpOf<T>::store(value, first, nullptr, at, 0, 0.0);
    }
};

// The extreme so far and the last place that reached it; NaN is beyond every number.
template <class T, bool largest>
struct RunningExtreme {
    using Input = T;
    using Extreme = ExtremeOf<T, largest>;
    using Value = typename Extreme::Accumulator;
    __device__ static Value load(const T* x, const T*, int64 at, int64 index) {
        return {compute_t<T>(x[at]), index};
    }
    __device__ static Value combine(Value x, Value y) {
        return Extreme::beyond(x.value, y.value) ? x : y;
    }
    __device__ static void store(Value value, void* first, void* second, int64 at) {
        Extreme::store(value, first, second, at, 0, 0.0);
    }
};
template <class T> using RunningMaximum = RunningExtreme<T, true>;
template <class T> using RunningMinimum = RunningExtreme<T, false>;

// s[i] = a[i] s[i - 1] + b[i], as maps s -> factor s + term.
template <class T>
struct Recurrence {
    using Input = T;
    using C = compute_t<T>;
    struct Value { C factor, term; };
    __device__ static Value load(const T* b, const T* a, int64 at, int64) {
        return {C(a[at]), C(b[at])};
    }
    __device__ static Value combine(Value x, Value y) {
        return {x.factor * y.factor, x.term * y.factor + y.term};
    }
    __device__ static void store(Value value, void* first, void*, int64 at) {
        store_at<T>(first, at, value.term);
    }
};

// Each thread walks along one slice.
template <class Operation>
__global__ void scan_slices(
    const typename Operation::Input* x, const typename Operation::Input* more, void* first,
    void* second, int64 slices, int64 length, int64 inner) {
    for (int64 s = thread_of_grid(); s < slices; s += threads_of_grid()) {
        int64 at = s / inner * inner * length + s % inner;
        auto total = Operation::load(x, more, at, 0);
        Operation::store(total, first, second, at);
        for (int64 i = 1; i < length; ++i) {
            at += inner;
            total = Operation::combine(total, Operation::load(x, more, at, i));
            Operation::store(total, first, second, at);
        }
    }
}

// A block walks along a row, as many elements at a time as it has threads (Hillis and Steele's
// scan, 1986).
template <class Operation>
__global__ void scan_rows(
    const typename Operation::Input* x, const typename Operation::Input* more, void* first,
    void* second, int64 rows, int64 length) {
    using Value = typename Operation::Value;
    __shared__ Value totals[256];
    const int rank = threadIdx.x, size = blockDim.x;
    for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
        Value carried;
        for (int64 start = 0; start < length; start += size) {
            const int64 i = start + rank, at = row * length + i;
            // What is beyond the end comes after everything that is written.
            Value total = Operation::load(x, more, i < length ? at : row * length, i);
            for (int distance = 1; distance < size; distance *= 2) {
                __syncthreads();
                totals[rank] = total;
                __syncthreads();
                if (rank >= distance) total = Operation::combine(totals[rank - distance], total);
            }
            if (start) total = Operation::combine(carried, total);
            if (i < length) Operation::store(total, first, second, at);
            __syncthreads();
            totals[rank] = total;
            __syncthreads();
            carried = totals[size - 1];
        }
        __syncthreads();
    }
}

}  // namespace nnkit
