// The kernel around an optimizer's printed update: one launch works through a whole parameter
// group. The table of the group's tensors is passed by value, in the kernel's parameters.
#pragma once
#include "common.cuh"

namespace nnkit {

constexpr int update_chunk = 4096;  // elements of one tensor that a block takes

template <int arrays, int most>
struct Group {
    int tensors, unused;
    void* data[most][arrays];  // the arrays of each tensor, then its counters
    int64 sizes[most];
    int first_block[most];
};

template <class U, class S, int width>
__device__ void update_packs(const U& update, void* const* data, const double* numbers,
                             int64 start, int64 stop) {
    using T = typename U::T;
    for (int64 i = start + threadIdx.x * width; i < stop; i += blockDim.x * width) {
        Pack<S, width> packs[U::arrays];
        #pragma unroll
        for (int a = 0; a < U::arrays; ++a) {
            packs[a] = *reinterpret_cast<const Pack<S, width>*>(static_cast<S*>(data[a]) + i);
        }
        #pragma unroll
        for (int k = 0; k < width; ++k) {
            T values[U::arrays];
            #pragma unroll
            for (int a = 0; a < U::arrays; ++a) values[a] = T(packs[a][k]);
            update.apply(values, numbers);
            #pragma unroll
            for (int a = 0; a < U::arrays; ++a) packs[a][k] = S(values[a]);
        }
        #pragma unroll
        for (int a = 0; a < U::arrays; ++a) {
            if (U::writes(a)) {
                *reinterpret_cast<Pack<S, width>*>(static_cast<S*>(data[a]) + i) = packs[a];
            }
        }
    }
}

template <class U, class S, int most>
__global__ void update_group(U update, Group<U::arrays + U::counters, most> group) {
    int tensor = 0;
    for (int above = group.tensors; above - tensor > 1;) {
        const int middle = (tensor + above) / 2;
        if (group.first_block[middle] <= int(blockIdx.x)) tensor = middle;
        else above = middle;
    }
    void* const* data = group.data[tensor];
    // What depends on numbers alone is computed once in a block, in double precision.
    __shared__ double numbers[U::numbers + U::counters + 1];
    if (threadIdx.x == 0) {
        for (int c = 0; c < U::counters; ++c) {
            numbers[U::numbers + c] = *static_cast<const float*>(data[U::arrays + c]);
        }
        update.count(numbers);
    }
    __syncthreads();
    const int64 size = group.sizes[tensor];
    const int64 start = int64(blockIdx.x - group.first_block[tensor]) * update_chunk;
    const int64 stop = start + update_chunk < size ? start + update_chunk : size;
    constexpr int width = 16 / sizeof(S);
    bool aligned = true;
    for (int a = 0; a < U::arrays; ++a) aligned &= reinterpret_cast<uint64>(data[a]) % 16 == 0;
    const int64 packed = aligned ? start + (stop - start) / width * width : start;
    update_packs<U, S, width>(update, data, numbers, start, packed);
    update_packs<U, S, 1>(update, data, numbers, packed, stop);
}

// Raises the counters of all tensors by one, before the update reads them.
template <int arrays, int counters, int most>
__global__ void count_steps(Group<arrays + counters, most> group) {
    for (int t = threadIdx.x; t < group.tensors; t += blockDim.x) {
        for (int c = 0; c < counters; ++c) *static_cast<float*>(group.data[t][arrays + c]) += 1.0f;
    }
}

}  // namespace nnkit
