// Tools of every kernel: number types, reductions over warps and blocks, Philox, failure reports.
// It needs no header of CUDA's, so NVRTC compiles it with no include path; tests/cuda/emulation.h
// compiles it with a C++ compiler for the CPU.
#pragma once

#ifndef __CUDACC__
#define NNKIT_EMULATED 1
#endif

namespace nnkit {

using int8 = signed char;
using uint8 = unsigned char;
using int16 = short;
using uint16 = unsigned short;
using uint32 = unsigned int;
using int64 = long long;
using uint64 = unsigned long long;

[[maybe_unused]] constexpr int warp_size = 32;
[[maybe_unused]] constexpr unsigned whole_warp = 0xffffffffu;

template <class T>
__device__ inline uint32 bits_of(T x) {
    static_assert(sizeof(T) == 4, "a 32-bit value");
    union { T value; uint32 bits; } both = {x};
    return both.bits;
}
__device__ inline float float_of(uint32 bits) {
    union { uint32 bits; float value; } both = {bits};
    return both.value;
}

// ---- half precision: stored in 16 bits, computed in float

struct float16 {
    uint16 bits;

    float16() = default;
    __device__ explicit float16(float x) {
#ifdef NNKIT_EMULATED
        bits = emulation::bits_of_float16(x);
#else
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#endif
    }
    __device__ operator float() const {
#ifdef NNKIT_EMULATED
        return emulation::float_of_float16(bits);
#else
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
#endif
    }
};

// The upper half of a float, rounded half to even.
struct bfloat16 {
    uint16 bits;

    bfloat16() = default;
    __device__ explicit bfloat16(float x) {
#if !defined(NNKIT_EMULATED) && __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
        const uint32 whole = bits_of(x);
        const uint32 rounded = whole + 0x7fffu + ((whole >> 16) & 1u);
        // Rounding must not carry a NaN over to infinity.
        bits = uint16(x != x ? (whole >> 16) | 0x40u : rounded >> 16);
#endif
    }
    __device__ operator float() const { return float_of(uint32(bits) << 16); }
};

template <class T> struct IsBfloat16 { static constexpr bool value = false; };
template <> struct IsBfloat16<bfloat16> { static constexpr bool value = true; };

// The type in which the elements of an array of T are computed: float for half precision.
template <class T> struct ComputeOf { using type = T; };
template <> struct ComputeOf<float16> { using type = float; };
template <> struct ComputeOf<bfloat16> { using type = float; };
template <class T> using compute_t = typename ComputeOf<T>::type;

template <class T> struct Limits;
template <> struct Limits<float> {
    static constexpr bool is_small_integer = false;
    __device__ static float infinity() { return float_of(0x7f800000u); }
    __device__ static float nan() { return float_of(0x7fc00000u); }
    __device__ static float lowest() { return -infinity(); }
    __device__ static float highest() { return infinity(); }
};
template <> struct Limits<double> {
    static constexpr bool is_small_integer = false;
    __device__ static double infinity() { return double(Limits<float>::infinity()); }
    __device__ static double nan() { return double(Limits<float>::nan()); }
    __device__ static double lowest() { return -infinity(); }
    __device__ static double highest() { return infinity(); }
};
template <class T, int64 smallest, int64 largest> struct IntegerLimits {
    static constexpr bool is_small_integer = sizeof(T) < 8 && largest > 1;
    __device__ static T lowest() { return T(smallest); }
    __device__ static T highest() { return T(largest); }
};
template <> struct Limits<bool> : IntegerLimits<bool, 0, 1> {};
template <> struct Limits<uint8> : IntegerLimits<uint8, 0, 255> {};
template <> struct Limits<int8> : IntegerLimits<int8, -128, 127> {};
template <> struct Limits<int16> : IntegerLimits<int16, -32768, 32767> {};
template <> struct Limits<int> : IntegerLimits<int, -2147483647 - 1, 2147483647> {};
template <> struct Limits<int64>
    : IntegerLimits<int64, -9223372036854775807LL - 1, 9223372036854775807LL> {};

// ``count`` elements that are loaded and stored at once.
template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
    T values[count];

    __device__ T& operator[](int i) { return values[i]; }
    __device__ const T& operator[](int i) const { return values[i]; }
};

// The shared memory whose size the launch gives.
template <class T>
__device__ T* dynamic_shared() {
#ifdef NNKIT_EMULATED
    return reinterpret_cast<T*>(emulation::dynamic_shared);
#else
    extern __shared__ __align__(16) unsigned char memory[];
    return reinterpret_cast<T*>(memory);
#endif
}

// ---- where a thread is

__device__ inline int64 thread_of_grid() {
    return int64(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64 threads_of_grid() { return int64(gridDim.x) * blockDim.x; }

// ---- reductions: every thread of the warp or block calls them, and gets the result

struct Sum {
    template <class T> __device__ T operator()(T x, T y) const { return x + y; }
};
// NaN is larger, and smaller, than any number.
struct Maximum {
    template <class T> __device__ T operator()(T x, T y) const {
        return (x > y) | (x != x) ? x : y;
    }
};
struct Minimum {
    template <class T> __device__ T operator()(T x, T y) const {
        return (x < y) | (x != x) ? x : y;
    }
};

// What ``shuffle`` of a 32-bit word does, of any value of whole words, structures too.
template <class Value, class Shuffle>
__device__ Value by_words(const Value& value, Shuffle shuffle) {
    static_assert(sizeof(Value) % 4 == 0, "whole words");
    constexpr int count = sizeof(Value) / 4;
    uint32 words[count];
    memcpy(words, &value, sizeof value);
    #pragma unroll
    for (int i = 0; i < count; ++i) words[i] = shuffle(words[i]);
    Value result;
    memcpy(&result, words, sizeof result);
    return result;
}
template <class Value>
__device__ Value exchange(const Value& value, int distance) {
    return by_words(value, [=](uint32 w) { return __shfl_xor_sync(whole_warp, w, distance); });
}
// Of the lane ``distance`` before; the first ones get their own.
template <class Value>
__device__ Value from_before(const Value& value, int distance) {
    return by_words(value, [=](uint32 w) { return __shfl_up_sync(whole_warp, w, distance); });
}

// ``combine`` is called with the value of the lower thread first, so the order is fixed even where
// the operation does not commute; it depends on nothing but the size of the block, so the same sum
// has the same bits in every run.
template <class Value, class Combine>
__device__ Value reduce_warp(Value value, Combine combine) {
    const int lane = threadIdx.x % warp_size;
    #pragma unroll
    for (int distance = 1; distance < warp_size; distance *= 2) {
        const Value other = exchange(value, distance);
        value = lane & distance ? combine(other, value) : combine(value, other);
    }
    return value;
}

// For one-dimensional blocks of whole warps, at most 1024 threads. ``identity`` fills the warps
// that are not there.
template <class Value, class Combine>
__device__ Value reduce_block(Value value, Combine combine, Value identity) {
    __shared__ Value of_warp[warp_size];
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = blockDim.x / warp_size;
    value = reduce_warp(value, combine);
    if (warps == 1) return value;
    __syncthreads();  // a reduction before this one may still be read
    if (lane == 0) of_warp[warp] = value;
    __syncthreads();
    return reduce_warp(lane < warps ? of_warp[lane] : identity, combine);
}

// ---- Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), as
// backend/philox.py: the key is the seed, the counter's upper half the number of the thread, its
// lower half counts the blocks that this thread has drawn.

struct Words { uint32 word[4]; };

// Of a 64-bit product the compiler would add the zeros above each factor.
__device__ inline uint64 product_of(uint32 x, uint32 y) {
#ifdef NNKIT_EMULATED
    return uint64(x) * y;
#else
    uint64 product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(x), "r"(y));
    return product;
#endif
}

__device__ inline Words philox(uint64 seed, uint64 thread, uint64 block) {
    uint32 c0 = uint32(block), c1 = uint32(block >> 32);
    uint32 c2 = uint32(thread), c3 = uint32(thread >> 32);
    uint32 k0 = uint32(seed), k1 = uint32(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64 product0 = product_of(0xD2511F53u, c0), product1 = product_of(0xCD9E8D57u, c2);
        c0 = uint32(product1 >> 32) ^ c1 ^ k0;
        c2 = uint32(product0 >> 32) ^ c3 ^ k1;
        c1 = uint32(product1);
        c3 = uint32(product0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// ---- failures: what a kernel found wrong, for the host to raise (backend/cuda/failures.py)

struct Failure {
    int code;  // which message; 0: nothing has failed
    int unused;
    int64 value, limit;
};

// Keeps the first failure. The caller goes on with a harmless value.
__device__ inline void report(Failure* failure, int code, int64 value, int64 limit) {
    if (atomicCAS(&failure->code, 0, code) == 0) {
        failure->value = value;
        failure->limit = limit;
    }
}

}  // namespace nnkit

#include "math.cuh"
