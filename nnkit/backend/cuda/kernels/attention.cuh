// Shared by attention.cu and attention_tensor.cu: operands, scores, the softmax again.
#pragma once

#include "team.cuh"

namespace nnkit {

// One of q, k, v, g: (batch, rows, columns), its columns side by side.
struct Operand {
    Walk batch;
    int64 rows, columns, step;
};

// The mask added to the scores: (batch, queries, keys), repeated where a stride is 0.
struct Mask {
    Walk batch;
    int64 row_step, column_step;
};

struct Attention {
    Operand q, k, v, g;
    Mask mask;
    int64 batch;
    int64 is_causal;
    double scale;
};

// Calls ``body(batch, first)`` for the tiles of ``size`` rows that this block works on. All of its
// threads do so, and wait for each other in between: the last tile's shared memory is free.
template <class Body>
__device__ void each_tile(int64 batches, int64 rows, int size, Body body) {
    const int64 tiles = (rows + size - 1) / size;
    for (int64 b = blockIdx.x; b < batches * tiles; b += gridDim.x) {
        __syncthreads();
        body(b / tiles, b % tiles * size);
    }
}

// The mask of one entry of the batch, if there is a mask.
template <class T>
__device__ const T* mask_of(const T* mask, const Attention& a, int64 batch) {
    return mask ? mask + a.mask.batch(batch) : nullptr;
}

// The score of a query and a key from their product; -infinity where the key may not be seen.
// ``mask`` is that of the entry.
template <class T>
__device__ float score_of(
    float product, const Attention& a, const T* mask, int64 query, int64 key) {
    const bool is_hidden = query >= a.q.rows || key >= a.k.rows || (a.is_causal && key > query);
    if (is_hidden) return Limits<float>::lowest();
    const float score = product * float(a.scale);
    if (!mask) return score;
    return score + float(mask[query * a.mask.row_step + key * a.mask.column_step]);
}

// The keys that queries up to ``last`` may see.
__device__ inline int64 keys_seen(const Attention& a, int64 last) {
    return a.is_causal && last < a.k.rows ? last : a.k.rows;
}

// What is taken out of the scores of a row before the exponential: their maximum, or 0 for a row
// that may look nowhere.
__device__ inline float shift_of(float largest) {
    return math::isinf(largest) && largest < 0.0f ? 0.0f : largest;
}

// The softmax again, from the logarithm of its sum.
__device__ inline float probability(float score, float log_total) {
    return math::isinf(log_total) && log_total < 0.0f ? 0.0f : math::exp(score - log_total);
}

// One number of a row (batch, queries), 0 beyond the last.
__device__ inline float of_row(const float* x, const Attention& a, int64 batch, int64 row) {
    return row < a.q.rows ? x[batch * a.q.rows + row] : 0.0f;
}

// Combines a value over ``lanes`` neighbouring threads, a power of two.
template <int lanes, class Operation>
__device__ float reduce_lanes(float value, Operation combine) {
    #pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        value = combine(value, __shfl_xor_sync(whole_warp, value, distance));
    }
    return value;
}

}  // namespace nnkit
