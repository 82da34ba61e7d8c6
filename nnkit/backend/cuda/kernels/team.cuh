// Teams of threads that work on one row, and strided rows.
#pragma once

#include "common.cuh"

namespace nnkit {

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
        if constexpr (kind == by_warp) return reduce_warp(value, combine);
        else if constexpr (kind == by_block) return reduce_block(value, combine, identity);
        else return value;
    }
    template <class T>
    __device__ T sum(T value) const { return reduce(value, nnkit::Sum(), T(0)); }
    template <class T>
    __device__ T maximum(T value) const {
        return reduce(value, Maximum(), Limits<T>::lowest());
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
