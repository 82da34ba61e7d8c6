// Running totals along one axis of an array (outer, length, inner).
//
// An operation says what an element begins with (``load``), how the total up to an element and the
// one of what follows are joined (``combine``: associative, the earlier one first), and what is
// written (``store``), of type ``First``.
#include "reduction.cuh"

namespace nnkit {

template <class T>
struct RunningSum {
    using Input = T;
    using First = result_t<T>;
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
    using First = T;
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
    using First = T;
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
    using First = T;
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

// A block walks along a row, in turns in each of which a thread takes neighbours: a pack of 16 bytes
// where the rows of all arrays consist of those, else one. Warps join the totals of their threads by
// Hillis and Steele's scan (1986).
template <class Operation, bool packed>
__global__ void __launch_bounds__(256) scan_rows(
    const typename Operation::Input* x, const typename Operation::Input* more,
    typename Operation::First* first, int64* second, int64 rows, int64 length) {
    using Input = typename Operation::Input;
    using Value = typename Operation::Value;
    constexpr int width = packed ? 16 / sizeof(Input) : 1;
    using Inputs = Pack<Input, width>;
    __shared__ Value of_warp[256 / warp_size];
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = blockDim.x / warp_size;
    for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
        Value before;  // the total of all turns before this one
        for (int64 start = 0; start < length; start += blockDim.x * width) {
            const int64 i = start + int64(threadIdx.x) * width;
            // What is beyond the end comes after everything that is written.
            const int64 at = row * length + (i < length ? i : 0);
            const Inputs own = *reinterpret_cast<const Inputs*>(x + at);
            Inputs others;
            if (more) others = *reinterpret_cast<const Inputs*>(more + at);
            Value values[width];
            #pragma unroll
            for (int k = 0; k < width; ++k) {
                values[k] = Operation::load(own.values, others.values, k, i + k);
                if (k) values[k] = Operation::combine(values[k - 1], values[k]);
            }
            Value total = values[width - 1];
            #pragma unroll
            for (int distance = 1; distance < warp_size; distance *= 2) {
                const Value other = from_before(total, distance);
                if (lane >= distance) total = Operation::combine(other, total);
            }
            const Value own_before = from_before(total, 1);  // of the lanes before this one
            __syncthreads();  // the totals before these have been read
            if (lane == warp_size - 1) of_warp[warp] = total;
            __syncthreads();
            Value all = start ? Operation::combine(before, of_warp[0]) : of_warp[0];
            Value mine = before;
            bool is_first = start == 0;
            for (int w = 1; w < warps; ++w) {
                if (w == warp) { mine = all; is_first = false; }
                all = Operation::combine(all, of_warp[w]);
            }
            before = all;
            if (lane) {
                mine = is_first ? own_before : Operation::combine(mine, own_before);
                is_first = false;
            }
            Pack<typename Operation::First, width> totals;
            Pack<int64, width> places;
            #pragma unroll
            for (int k = 0; k < width; ++k) {
                if (!is_first) values[k] = Operation::combine(mine, values[k]);
                Operation::store(values[k], totals.values, places.values, k);
            }
            if (i >= length) continue;
            *reinterpret_cast<decltype(totals)*>(first + at) = totals;
            if (second) *reinterpret_cast<decltype(places)*>(second + at) = places;
        }
    }
}

}  // namespace nnkit
