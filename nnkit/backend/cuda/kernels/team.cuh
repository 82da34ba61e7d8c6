// Teams of threads that work on one row, and reductions of any value over them.
#pragma once

#include "common.cuh"

namespace nnkit {

// ``__shfl_xor_sync`` of a structure, word by word.
template <class Value>
__device__ Value exchange(const Value& value, int distance) {
    static_assert(sizeof(Value) % 4 == 0, "whole words");
    constexpr int count = sizeof(Value) / 4;
    uint32 words[count];
    memcpy(words, &value, sizeof value);
    #pragma unroll
    for (int i = 0; i < count; ++i) words[i] = __shfl_xor_sync(whole_warp, words[i], distance);
    Value result;
    memcpy(&result, words, sizeof result);
    return result;
}

// As reduce_warp and reduce_block, for structures. ``combine`` is called with the value of the
// lower thread first, so the order is fixed even where the operation does not commute.
template <class Value, class Combine>
__device__ Value reduce_warp_of(Value value, Combine combine) {
    const int lane = threadIdx.x % warp_size;
    #pragma unroll
    for (int distance = 1; distance < warp_size; distance *= 2) {
        const Value other = exchange(value, distance);
        value = lane & distance ? combine(other, value) : combine(value, other);
    }
    return value;
}

template <class Value, class Combine>
__device__ Value reduce_block_of(Value value, Combine combine, Value identity) {
    __shared__ Value of_warp[warp_size];
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = blockDim.x / warp_size;
    value = reduce_warp_of(value, combine);
    if (warps == 1) return value;
    __syncthreads();  // a reduction before this one may still be read
    if (lane == 0) of_warp[warp] = value;
    __syncthreads();
    return reduce_warp_of(lane < warps ? of_warp[lane] : identity, combine);
}

// The threads that work on one row together. A warp needs no barrier for its sums; single threads
// take rows whose elements do not lie side by side (backend/cuda/team.py).
enum TeamKind { by_block, by_warp, by_thread };

template <int kind>
struct RowTeam {
    int rank, size;
    int64 row, rows_at_once;

    __device__ RowTeam() {
        const int members = kind == by_warp ? warp_size : kind == by_thread ? 1 : blockDim.x;
        const int teams = blockDim.x / members;
        rank = threadIdx.x % members;
        size = members;
        row = int64(blockIdx.x) * teams + threadIdx.x / members;
        rows_at_once = int64(gridDim.x) * teams;
    }
    template <class Value, class Combine>
    __device__ Value reduce(Value value, Combine combine, Value identity) const {
        if constexpr (kind == by_warp) return reduce_warp_of(value, combine);
        else if constexpr (kind == by_block) return reduce_block_of(value, combine, identity);
        else return value;
    }
    template <class T>
    __device__ T sum(T value) const {
        if constexpr (kind == by_warp) return reduce_warp(value, nnkit::Sum());
        else if constexpr (kind == by_block) return reduce_block(value, nnkit::Sum(), T(0));
        else return value;
    }
    template <class T>
    __device__ T maximum(T value) const {
        if constexpr (kind == by_warp) return reduce_warp(value, Maximum());
        else if constexpr (kind == by_block) {
            return reduce_block(value, Maximum(), Limits<T>::lowest());
        } else return value;
    }
};

// Some axes of a strided array, walked in C order (backend/cuda/strided.py).
struct Walk {
    int64 dimensions;
    int64 sizes[8], strides[8];

    // Where element ``i`` lies.
    __device__ int64 operator()(int64 i) const {
        if (dimensions == 1) return i * strides[0];
        int64 offset = 0;
        for (int d = int(dimensions) - 1; d > 0; --d) {
            int64 rest;
            if (i >> 32 | sizes[d] >> 32) {
                rest = i % sizes[d];
                i /= sizes[d];
            } else {
                rest = uint32(i) % uint32(sizes[d]);
                i = uint32(i) / uint32(sizes[d]);
            }
            offset += rest * strides[d];
        }
        return dimensions ? offset + i * strides[0] : 0;
    }
};

}  // namespace nnkit
