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

// A block walks along a row, in turns in each of which a thread takes neighbours: if the arrays are
// ``aligned``, the elements of 16 bytes of x, whose places in memory are multiples of that, else
// one. Warps join the totals of their threads by Hillis and Steele's scan (1986).
template <class Operation, bool aligned>
__global__ void __launch_bounds__(256) scan_rows(
    const typename Operation::Input* x, const typename Operation::Input* more,
    typename Operation::First* first, int64* second, int64 rows, int64 length) {
    using Input = typename Operation::Input;
    using Value = typename Operation::Value;
    constexpr int width = aligned ? 16 / sizeof(Input) : 1;
    using Inputs = Pack<Input, width>;
    __shared__ Value of_warp[256 / warp_size];
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = blockDim.x / warp_size;
    const int64 all = rows * length;
    for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const int64 begin = row * length;
        const int early = int(begin % width);  // elements of its first pack that are not its own
        Value before;  // the total of all turns before this one
        for (int64 start = -early; start < length; start += blockDim.x * width) {
            const int64 i = start + int64(threadIdx.x) * width;
            // What is beyond the end comes after everything that is written.
            const int64 at = begin + (i < length ? i : -early);
            const auto read = [&](const Input* from) {
                if (at + width <= all) return *reinterpret_cast<const Inputs*>(from + at);
                Inputs pack;
                #pragma unroll
                for (int k = 0; k < width; ++k) pack[k] = from[at + k < all ? at + k : at];
                return pack;
            };
            const Inputs own = read(x);
            Inputs others;
            if (more) others = read(more);
            Value values[width];
            #pragma unroll
            for (int k = 0; k < width; ++k) {
                values[k] = Operation::load(own.values, others.values, k, i + k);
                if (k && i + k) values[k] = Operation::combine(values[k - 1], values[k]);
            }
            Value total = values[width - 1];
            #pragma unroll
            for (int distance = 1; distance < warp_size; distance *= 2) {
                const Value other = from_before(total, distance);
                if (lane >= distance) total = Operation::combine(other, total);
            }
            const Value of_lanes = from_before(total, 1);  // before this one
            __syncthreads();  // the totals before these have been read
            if (lane == warp_size - 1) of_warp[warp] = total;
            __syncthreads();
            const bool is_first_turn = start <= 0;
            Value so_far = is_first_turn ? of_warp[0] : Operation::combine(before, of_warp[0]);
            Value mine = before;
            for (int w = 1; w < warps; ++w) {
                if (w == warp) mine = so_far;
                so_far = Operation::combine(so_far, of_warp[w]);
            }
            before = so_far;
            bool is_first = is_first_turn && !warp;
            if (lane) {
                mine = is_first ? of_lanes : Operation::combine(mine, of_lanes);
                is_first = false;
            }
            Pack<typename Operation::First, width> totals;
            Pack<int64, width> places;
            #pragma unroll
            for (int k = 0; k < width; ++k) {
                if (!is_first) values[k] = Operation::combine(mine, values[k]);
                Operation::store(values[k], totals.values, places.values, k);
            }
            const auto write = [&](auto* to, auto packed) {
                if (i >= 0 && i + width <= length) {
                    *reinterpret_cast<decltype(packed)*>(to + at) = packed;
                } else {
                    #pragma unroll
                    for (int k = 0; k < width; ++k) {
                        if (i + k >= 0 && i + k < length) to[at + k] = packed[k];
                    }
                }
            };
            write(first, totals);
            if (second) write(second, places);
        }
    }
}

}  // namespace nnkit
