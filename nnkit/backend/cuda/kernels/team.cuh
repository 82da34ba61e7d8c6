// Teams of threads that work on one row, and strided rows.
#pragma once

#include "common.cuh"

namespace nnkit {

// The threads that work on one row together. A warp needs no barrier for its sums; single threads
// take rows whose elements do not lie side by side (backend/cuda/team.py).
enum TeamKind { by_block, by_warp, by_thread };

// Launch bounds of kernels for teams: a block of 1024 threads has 64 registers for each.
template <int kind> constexpr int most_threads = kind == by_block ? 1024 : 256;
template <int kind> constexpr int least_blocks = kind == by_block ? 1 : 3;

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

// Up to ``kept`` elements of a row for each thread, in registers; 0: they are loaded each time.
template <class T, int kept, class Load>
struct KeptRow {
    T values[kept ? kept : 1];
    int rank, size;
    int64 length;
    Load load;

    __device__ KeptRow(int rank, int size, int64 length, Load load)
        : rank(rank), size(size), length(length), load(load) {
        #pragma unroll
        for (int k = 0; k < kept; ++k) {
            const int64 i = rank + k * size;
            values[k] = i < length ? load(i) : T();
        }
    }
    template <class Body>
    __device__ void each(Body body) const {
        if constexpr (kept > 0) {
            #pragma unroll
            for (int k = 0; k < kept; ++k) {
                const int64 i = rank + k * size;
                if (i < length) body(i, values[k]);
            }
        } else {
            for (int64 i = rank; i < length; i += size) body(i, load(i));
        }
    }
};
template <class T, int kept, class Load>
__device__ KeptRow<T, kept, Load> keep_row(int rank, int size, int64 length, Load load) {
    return KeptRow<T, kept, Load>(rank, size, length, load);
}

template <class T, int width, class F, class... Packs>
__device__ void map_pack(Pack<T, width>& result, F f, const Packs&... packs) {
    #pragma unroll
    for (int k = 0; k < width; ++k) result[k] = f(packs[k]...);
}

// to[i] = f(from[i]...) for the elements of a row, by packs of 16 bytes where all rows are aligned.
template <class T, class F, class... Rows>
__device__ void map_row(T* to, int64 length, int rank, int size, F f, const Rows*... from) {
    constexpr int width = 16 / sizeof(T);
    const uint64 addresses = (reinterpret_cast<uint64>(to) | ... | reinterpret_cast<uint64>(from));
    const int64 packs = addresses % 16 ? 0 : length / width;
    for (int64 p = rank; p < packs; p += size) {
        Pack<T, width> result;
        map_pack(result, f, reinterpret_cast<const Pack<Rows, width>*>(from)[p]...);
        reinterpret_cast<Pack<T, width>*>(to)[p] = result;
    }
    for (int64 i = packs * width + rank; i < length; i += size) to[i] = f(from[i]...);
}

// Some axes of a strided array, walked in C order (backend/cuda/strided.py).
struct Walk {
    int64 dimensions;
    int64 sizes[8], strides[8];

    // The place of element ``i``.
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
