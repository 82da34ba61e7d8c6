// Attention, fused: tiles of queries and keys in shared memory, scores that are never stored, and
// the softmax corrected as larger scores come (Milakov and Gimelshein, 2018; Dao et al.,
// "FlashAttention", 2022). Computed in float; no atomic additions.
//
// A block has 16 x 16 threads. Thread (ty, tx) has rows ty * R ... and columns tx, tx + 16, ... of
// every product, so that neighbours read neighbouring words of shared memory.
#include "attention.cuh"

namespace nnkit {

constexpr int side = 16;  // threads along each side of a block

// ``tile`` (rows, width + 1) <- rows of x from ``first``, zeros beyond its end.
template <int rows, int width, class T>
__device__ void load_tile(float* tile, const T* x, const Operand& of, int64 batch, int64 first) {
    const T* from = x + of.batch(batch);
    for (int i = threadIdx.x; i < rows * width; i += side * side) {
        const int row = i / width, column = i % width;
        const bool is_inside = first + row < of.rows && column < of.columns;
        tile[row * (width + 1) + column] =
            is_inside ? float(from[(first + row) * of.step + column]) : 0.0f;
    }
}

// s[r][c] = x[ty * R + r] . y[tx + 16 c]
template <int R, int C, int width>
__device__ void multiply_rows(float (&s)[R][C], const float* x, const float* y) {
    const int ty = threadIdx.x / side, tx = threadIdx.x % side;
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c) s[r][c] = 0.0f;
    }
    #pragma unroll 8
    for (int d = 0; d < width; ++d) {
        float right[C];
        #pragma unroll
        for (int c = 0; c < C; ++c) right[c] = y[(tx + side * c) * (width + 1) + d];
        #pragma unroll
        for (int r = 0; r < R; ++r) {
            const float left = x[(ty * R + r) * (width + 1) + d];
            #pragma unroll
            for (int c = 0; c < C; ++c) s[r][c] += left * right[c];
        }
    }
}

// total[r][j] += the sum over i of p(i, ty * R + r) * y[i][tx + 16 j]
template <int R, int J, int width, class P>
__device__ void add_product(float (&total)[R][J], P p, const float* y, int count) {
    const int ty = threadIdx.x / side, tx = threadIdx.x % side;
    for (int i = 0; i < count; ++i) {
        float left[R];
        #pragma unroll
        for (int r = 0; r < R; ++r) left[r] = p(i, ty * R + r);
        #pragma unroll
        for (int j = 0; j < J; ++j) {
            const float right = y[i * (width + 1) + tx + side * j];
            #pragma unroll
            for (int r = 0; r < R; ++r) total[r][j] += left[r] * right;
        }
    }
}

// Writes (batch, rows, columns), contiguous.
template <int R, int J, class T>
__device__ void store_rows(
    T* out, const float (&total)[R][J], int64 batch, int64 first, int64 rows, int64 columns,
    float scale) {
    const int ty = threadIdx.x / side, tx = threadIdx.x % side;
    for (int r = 0; r < R; ++r) {
        const int64 row = first + ty * R + r;
        for (int j = 0; j < J; ++j) {
            const int column = tx + side * j;
            if (row < rows && column < columns) {
                out[(batch * rows + row) * columns + column] = T(total[r][j] * scale);
            }
        }
    }
}

// A block works on 64 queries of one entry of the batch.
template <class T, int width>
__global__ void __launch_bounds__(256, 2) attention(
    const T* q, const T* k, const T* v, const T* mask, T* out, float* log_total, Attention a) {
    constexpr int R = 4, C = 2, J = width / side, queries = side * R, keys = side * C;
    float* tile_q = dynamic_shared<float>();
    float* tile_k = tile_q + queries * (width + 1);  // of keys, then of values
    float* tile_p = tile_k + keys * (width + 1);
    const int ty = threadIdx.x / side, tx = threadIdx.x % side;
    each_tile(a.batch, a.q.rows, queries, [&](int64 batch, int64 first) {
        const T* own_mask = mask_of(mask, a, batch);
        float total[R][J] = {}, largest[R], sum[R];
        for (int r = 0; r < R; ++r) {
            largest[r] = Limits<float>::lowest();
            sum[r] = 0.0f;
        }
        load_tile<queries, width>(tile_q, q, a.q, batch, first);
        const int64 seen = keys_seen(a, first + queries);
        for (int64 start = 0; start < seen; start += keys) {
            __syncthreads();
            load_tile<keys, width>(tile_k, k, a.k, batch, start);
            __syncthreads();
            float s[R][C];
            multiply_rows<R, C, width>(s, tile_q, tile_k);
            for (int r = 0; r < R; ++r) {
                float top = largest[r];
                for (int c = 0; c < C; ++c) {
                    s[r][c] = score_of(
                        s[r][c], a, own_mask, first + ty * R + r, start + tx + side * c);
                    top = math::maximum(top, s[r][c]);
                }
                top = reduce_lanes<side>(top, Maximum());
                const float shift = shift_of(top);
                const float correction = math::exp(largest[r] - shift);
                float part = 0.0f;
                for (int c = 0; c < C; ++c) {
                    s[r][c] = math::exp(s[r][c] - shift);
                    part += s[r][c];
                    tile_p[(ty * R + r) * (keys + 1) + tx + side * c] = s[r][c];
                }
                sum[r] = sum[r] * correction + reduce_lanes<side>(part, Sum());
                largest[r] = top;
                for (int j = 0; j < J; ++j) total[r][j] *= correction;
            }
            __syncthreads();
            load_tile<keys, width>(tile_k, v, a.v, batch, start);
            __syncthreads();
            add_product<R, J, width>(
                total, [&](int i, int row) { return tile_p[row * (keys + 1) + i]; }, tile_k, keys);
        }
        for (int r = 0; r < R; ++r) {
            const int64 row = first + ty * R + r;
            const float share = sum[r] == 0.0f ? 0.0f : 1.0f / sum[r];
            for (int j = 0; j < J; ++j) total[r][j] *= share;
            if (tx == 0 && row < a.q.rows) {
                log_total[batch * a.q.rows + row] = largest[r] + math::log(sum[r]);
            }
        }
        store_rows(out, total, batch, first, a.q.rows, a.v.columns, 1.0f);
    });
}

// The gradient of the queries; and for each of them ``delta``, the sum of p * (g . v) over the
// keys, which the gradient of the keys needs as well.
template <class T, int width>
__global__ void __launch_bounds__(256, 2) attention_grad_q(
    const T* q, const T* k, const T* v, const T* g, const T* mask, const float* log_total,
    float* delta, T* g_q, T* g_mask, Attention a) {
    constexpr int R = 2, C = 2, J = width / side, queries = side * R, keys = side * C;
    float* tile_q = dynamic_shared<float>();
    float* tile_g = tile_q + queries * (width + 1);
    float* tile_k = tile_g + queries * (width + 1);
    float* tile_v = tile_k + keys * (width + 1);
    float* tile_s = tile_v + keys * (width + 1);
    const int ty = threadIdx.x / side, tx = threadIdx.x % side;
    each_tile(a.batch, a.q.rows, queries, [&](int64 batch, int64 first) {
        const T* own_mask = mask_of(mask, a, batch);
        float total[R][J] = {}, row_delta[R] = {}, row_sum[R] = {}, row_log[R];
        for (int r = 0; r < R; ++r) row_log[r] = of_row(log_total, a, batch, first + ty * R + r);
        load_tile<queries, width>(tile_q, q, a.q, batch, first);
        load_tile<queries, width>(tile_g, g, a.g, batch, first);
        const int64 seen = keys_seen(a, first + queries);
        // Two passes over the keys: the first one adds up delta.
        for (int pass = 0; pass < 2; ++pass) {
            for (int64 start = 0; start < seen; start += keys) {
                __syncthreads();
                load_tile<keys, width>(tile_k, k, a.k, batch, start);
                load_tile<keys, width>(tile_v, v, a.v, batch, start);
                __syncthreads();
                float s[R][C], g_p[R][C];
                multiply_rows<R, C, width>(s, tile_q, tile_k);
                multiply_rows<R, C, width>(g_p, tile_g, tile_v);
                for (int r = 0; r < R; ++r) {
                    const int64 row = first + ty * R + r;
                    for (int c = 0; c < C; ++c) {
                        const int64 key = start + tx + side * c;
                        const float p = probability(
                            score_of(s[r][c], a, own_mask, row, key), row_log[r]);
                        if (pass == 0) {
                            row_delta[r] += p * g_p[r][c];
                            row_sum[r] += p;
                            continue;
                        }
                        const float g_s = p * (g_p[r][c] - row_delta[r]);
                        tile_s[(ty * R + r) * (keys + 1) + tx + side * c] = g_s;
                        if (g_mask && row < a.q.rows && key < a.k.rows) {
                            g_mask[(batch * a.q.rows + row) * a.k.rows + key] = T(g_s);
                        }
                    }
                }
                if (pass == 0) continue;
                __syncthreads();
                add_product<R, J, width>(
                    total, [&](int i, int row) { return tile_s[row * (keys + 1) + i]; }, tile_k,
                    keys);
            }
            if (pass == 1) continue;
            for (int r = 0; r < R; ++r) {
                const int64 row = first + ty * R + r;
                // Over the sum of p, which is 1 but for rounding: what is left of the difference
                // g . v - delta may be small.
                row_sum[r] = reduce_lanes<side>(row_sum[r], Sum());
                row_delta[r] = reduce_lanes<side>(row_delta[r], Sum());
                row_delta[r] = row_sum[r] > 0.0f ? row_delta[r] / row_sum[r] : 0.0f;
                if (tx == 0 && row < a.q.rows) delta[batch * a.q.rows + row] = row_delta[r];
            }
        }
        store_rows(g_q, total, batch, first, a.q.rows, a.q.columns, float(a.scale));
    });
}

// The gradients of keys and values: a block works on 32 keys and goes through the queries.
template <class T, int width>
__global__ void __launch_bounds__(256, 2) attention_grad_kv(
    const T* q, const T* k, const T* v, const T* g, const T* mask, const float* log_total,
    const float* delta, T* g_k, T* g_v, Attention a) {
    constexpr int R = 2, C = 2, J = width / side, queries = side * R, keys = side * C;
    float* tile_q = dynamic_shared<float>();
    float* tile_g = tile_q + queries * (width + 1);
    float* tile_k = tile_g + queries * (width + 1);
    float* tile_v = tile_k + keys * (width + 1);
    float* tile_p = tile_v + keys * (width + 1);
    float* tile_s = tile_p + queries * (keys + 1);
    const int ty = threadIdx.x / side, tx = threadIdx.x % side;
    each_tile(a.batch, a.k.rows, keys, [&](int64 batch, int64 first) {
        const T* own_mask = mask_of(mask, a, batch);
        float total_k[R][J] = {}, total_v[R][J] = {};
        load_tile<keys, width>(tile_k, k, a.k, batch, first);
        load_tile<keys, width>(tile_v, v, a.v, batch, first);
        for (int64 start = a.is_causal ? first : 0; start < a.q.rows; start += queries) {
            __syncthreads();
            load_tile<queries, width>(tile_q, q, a.q, batch, start);
            load_tile<queries, width>(tile_g, g, a.g, batch, start);
            __syncthreads();
            float s[R][C], g_p[R][C];
            multiply_rows<R, C, width>(s, tile_q, tile_k);
            multiply_rows<R, C, width>(g_p, tile_g, tile_v);
            for (int r = 0; r < R; ++r) {
                const int64 row = start + ty * R + r;
                const float row_log = of_row(log_total, a, batch, row);
                const float row_delta = of_row(delta, a, batch, row);
                for (int c = 0; c < C; ++c) {
                    const int64 key = first + tx + side * c;
                    const float p =
                        probability(score_of(s[r][c], a, own_mask, row, key), row_log);
                    const int at = (ty * R + r) * (keys + 1) + tx + side * c;
                    tile_p[at] = p;
                    tile_s[at] = p * (g_p[r][c] - row_delta);
                }
            }
            __syncthreads();
            add_product<R, J, width>(
                total_v, [&](int i, int key) { return tile_p[i * (keys + 1) + key]; }, tile_g,
                queries);
            add_product<R, J, width>(
                total_k, [&](int i, int key) { return tile_s[i * (keys + 1) + key]; }, tile_q,
                queries);
        }
        store_rows(g_k, total_k, batch, first, a.k.rows, a.k.columns, float(a.scale));
        store_rows(g_v, total_v, batch, first, a.k.rows, a.v.columns, 1.0f);
    });
}

}  // namespace nnkit
