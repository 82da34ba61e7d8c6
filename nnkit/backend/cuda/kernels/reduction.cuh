// The operations of reduction.cu. ``first`` and ``second`` are the arrays of the results.
#pragma once

#include "team.cuh"

namespace nnkit {

// Integers are added as int64, half precision as float.
template <class T> struct SumType { using type = int64; };
template <> struct SumType<float16> { using type = float; };
template <> struct SumType<bfloat16> { using type = float; };
template <> struct SumType<float> { using type = float; };
template <> struct SumType<double> { using type = double; };
template <class T> using sum_t = typename SumType<T>::type;

// The type that a sum of T is stored as: T for floating types, else int64.
template <class T> struct ResultType { using type = T; };
template <> struct ResultType<bool> { using type = int64; };
template <> struct ResultType<uint8> { using type = int64; };
template <> struct ResultType<int8> { using type = int64; };
template <> struct ResultType<int16> { using type = int64; };
template <> struct ResultType<int> { using type = int64; };
template <class T> using result_t = typename ResultType<T>::type;

template <bool first, class A, class B> struct Choose { using type = A; };
template <class A, class B> struct Choose<false, A, B> { using type = B; };

template <class Operation> struct AddsPacks { static constexpr bool value = false; };

template <class Result, class T>
__device__ void store_at(void* place, int64 row, T value) {
    static_cast<Result*>(place)[row] = Result(value);
}

template <class T, bool divided>
struct SumOf {
    using Input = T;
    using Accumulator = sum_t<T>;
    __device__ static Accumulator identity() { return Accumulator(0); }
    __device__ static void add(Accumulator& total, T x, int64, double) { total += Accumulator(x); }
    __device__ static Accumulator combine(Accumulator x, Accumulator y) { return x + y; }
    __device__ static void store(
        Accumulator total, void* first, void*, int64 row, int64 length, double) {
        store_at<result_t<T>>(first, row, divided ? total / Accumulator(length) : total);
    }
};

template <class T>
struct ProductOf {
    using Input = T;
    using Accumulator = sum_t<T>;
    __device__ static Accumulator identity() { return Accumulator(1); }
    __device__ static void add(Accumulator& total, T x, int64, double) { total *= Accumulator(x); }
    __device__ static Accumulator combine(Accumulator x, Accumulator y) { return x * y; }
    __device__ static void store(Accumulator total, void* first, void*, int64 row, int64, double) {
        store_at<result_t<T>>(first, row, total);
    }
};

// Whether any, or all, are not zero.
template <class T, bool every>
struct TruthOf {
    using Input = T;
    using Accumulator = int;
    __device__ static int identity() { return every; }
    __device__ static void add(int& total, T x, int64, double) {
        const int is = compute_t<T>(x) != compute_t<T>(0);
        total = every ? total & is : total | is;
    }
    __device__ static int combine(int x, int y) { return every ? x & y : x | y; }
    __device__ static void store(int total, void* first, void*, int64 row, int64, double) {
        store_at<bool>(first, row, total != 0);
    }
};

// The extreme and the first place where it stands; NaN is beyond every number. Either result may
// be missing.
template <class T, bool largest>
struct ExtremeOf {
    using Input = T;
    using C = compute_t<T>;
    // As wide as an index, so that it consists of whole words.
    struct Accumulator { alignas(8) C value; int64 index; };

    __device__ static Accumulator identity() {
        return {largest ? Limits<C>::lowest() : Limits<C>::highest(), -1};
    }
    __device__ static bool beyond(C x, C y) {
        return !(largest ? x <= y : x >= y) && y == y;
    }
    // Without an index as long as there is nothing beyond the identity.
    __device__ static void add(Accumulator& best, T x, int64 index, double) {
        const C value = C(x);
        if (beyond(value, best.value)) best = {value, index};
    }
    __device__ static Accumulator combine(Accumulator x, Accumulator y) {
        if (x.index < 0) return y;
        if (y.index < 0) return x;
        if (beyond(x.value, y.value)) return x;
        if (beyond(y.value, x.value)) return y;
        return x.index < y.index ? x : y;
    }
    __device__ static void store(
        Accumulator best, void* first, void* second, int64 row, int64, double) {
        if (first) store_at<T>(first, row, best.value);
        if (second) store_at<int64>(second, row, best.index < 0 ? 0 : best.index);
    }
};

// Variance and mean by Welford's recurrence; ``parameter`` is the correction. ``wide`` results are
// of the type they are computed in.
template <class T, bool root, bool wide>
struct VarianceOf {
    using Input = T;
    using C = compute_t<T>;
    struct Accumulator { C mean, squares, count; };

    __device__ static Accumulator identity() { return {C(0), C(0), C(0)}; }
    __device__ static void add(Accumulator& total, T x, int64, double) {
        total.count += C(1);
        const C distance = C(x) - total.mean;
        total.mean += distance / total.count;
        total.squares += distance * (C(x) - total.mean);
    }
    // Those of a pack together, with one division.
    template <int width>
    __device__ static void add_pack(Accumulator& total, const Pack<T, width>& pack) {
        C mean = C(0), squares = C(0);
        #pragma unroll
        for (int k = 0; k < width; ++k) mean += C(pack[k]);
        mean *= C(1.0 / width);
        #pragma unroll
        for (int k = 0; k < width; ++k) squares += (C(pack[k]) - mean) * (C(pack[k]) - mean);
        total = combine(total, {mean, squares, C(width)});
    }
    __device__ static Accumulator combine(Accumulator x, Accumulator y) {
        if (x.count == C(0)) return y;
        if (y.count == C(0)) return x;
        const C count = x.count + y.count, distance = y.mean - x.mean, share = y.count / count;
        return {x.mean + distance * share,
                x.squares + y.squares + distance * distance * x.count * share, count};
    }
    __device__ static void store(
        Accumulator total, void* first, void* second, int64 row, int64 length, double correction) {
        const double over = double(length) - correction;
        const C variance = total.squares / C(over > 0.0 ? over : 0.0);
        using Result = typename Choose<wide, C, T>::type;
        store_at<Result>(first, row, root ? math::sqrt(variance) : variance);
        if (second) store_at<Result>(second, row, length ? total.mean : Limits<C>::nan());
    }
};

template <class T, bool root, bool wide> struct AddsPacks<VarianceOf<T, root, wide>> {
    static constexpr bool value = true;
};

// log(sum(exp(x))), the largest taken out as it is met.
template <class T>
struct LogSumExpOf {
    using Input = T;
    using C = compute_t<T>;
    struct Accumulator { C largest, total; };

    __device__ static Accumulator identity() { return {Limits<C>::lowest(), C(0)}; }
    __device__ static void add(Accumulator& x, T value, int64, double) {
        x = combine(x, {C(value), C(1)});
    }
    // Those of a pack together: what there was is brought to the new scale once.
    template <int width>
    __device__ static void add_pack(Accumulator& x, const Pack<T, width>& pack) {
        C largest = x.largest;
        #pragma unroll
        for (int k = 0; k < width; ++k) largest = math::maximum(largest, C(pack[k]));
        C total = x.total * math::exp_for<T>(x.largest - largest);
        #pragma unroll
        for (int k = 0; k < width; ++k) total += math::exp_for<T>(C(pack[k]) - largest);
        x = {largest, math::isinf(largest) ? C(largest > C(0)) : total};
    }
    __device__ static Accumulator combine(Accumulator x, Accumulator y) {
        // NaN is beyond every number. The larger one's own factor is 1.
        const bool second = y.largest > x.largest || y.largest != y.largest;
        const Accumulator large = second ? y : x, small = second ? x : y;
        if (math::isinf(large.largest)) return {large.largest, large.largest > C(0) ? C(1) : C(0)};
        return {large.largest,
                large.total + small.total * math::exp_for<T>(small.largest - large.largest)};
    }
    __device__ static void store(Accumulator x, void* first, void*, int64 row, int64, double) {
        store_at<T>(first, row, x.largest + math::log(x.total));
    }
};

template <class T> struct AddsPacks<LogSumExpOf<T>> { static constexpr bool value = true; };

// sum(|x|^p)^(1/p). kind 2: p = 2; 1: p = 1; 0: the number of elements that are not 0; 3: any p,
// which is ``parameter``; 4 and 5: the largest and the smallest magnitude.
template <class T, int kind>
struct NormOf {
    using Input = T;
    using C = compute_t<T>;
    using Accumulator = C;
    __device__ static C identity() { return kind == 5 ? Limits<C>::highest() : C(0); }
    __device__ static void add(C& total, T x, int64, double p) {
        const C value = math::abs(C(x));
        if constexpr (kind == 2) total += value * value;
        else if constexpr (kind == 1) total += value;
        else if constexpr (kind == 0) total += value != C(0) ? C(1) : C(0);
        else if constexpr (kind == 3) total += math::power_for<T>(value, C(p));
        else total = combine(total, value);
    }
    __device__ static C combine(C x, C y) {
        if constexpr (kind == 4) return math::maximum(x, y);
        else if constexpr (kind == 5) return math::minimum(x, y);
        else return x + y;
    }
    __device__ static void store(C total, void* first, void*, int64 row, int64, double p) {
        if constexpr (kind == 2) total = math::sqrt(total);
        else if constexpr (kind == 3) total = math::pow(total, C(1.0 / p));
        store_at<T>(first, row, total);
    }
};

}  // namespace nnkit
