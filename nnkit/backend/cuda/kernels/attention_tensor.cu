// Attention in half precision on tensor cores (compute capability 8.0), as attention.cu: tiles in
// shared memory, scores that are never stored (Dao, "FlashAttention-2", 2023). Products are added
// up in float; probabilities and their gradients are rounded to half precision between two products.
//
// A block has four warps, each of which works on 16 of the 64 rows of the block's tile. Of a result
// (16 x 8) a lane has two rows, group and group + 8, and two columns of each (mma.cuh).
#include "attention.cuh"
#include "mma.cuh"

namespace nnkit {

constexpr int own_rows = 64;  // of a block
constexpr int threads = 128;

// ``tile`` (rows, width + 8) <- rows of x from ``first``, zeros beyond its end. Eight more columns
// put neighbouring rows into different banks, and keep rows aligned to 16 bytes.
template <int rows, int width, class T>
__device__ void load_half_tile(
    T* tile, const T* x, const Operand& of, int64 batch, int64 first) {
    const T* from = x + of.batch(batch) + first * of.step;
    const int64 left = of.rows - first;
    const bool is_wide =
        of.columns % 8 == 0 && of.step % 8 == 0 && reinterpret_cast<uint64>(from) % 16 == 0;
    for (int i = threadIdx.x; i < rows * (width / 8); i += threads) {
        const int row = i / (width / 8), column = i % (width / 8) * 8;
        Pack<T, 8> pack;
        if (is_wide && row < left && column < of.columns) {
            pack = *reinterpret_cast<const Pack<T, 8>*>(from + row * of.step + column);
        } else {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const bool is_inside = row < left && column + k < of.columns;
                pack[k] = is_inside ? from[row * of.step + column + k] : T(0.0f);
            }
        }
        *reinterpret_cast<Pack<T, 8>*>(tile + row * (width + 8) + column) = pack;
    }
}

// s (16 x columns) = 16 rows of x times ``columns`` rows of y, over the width.
template <int columns, int width, class T>
__device__ void multiply_tiles(float (&s)[columns / 8][4], const T* x, const T* y) {
    constexpr int step = width + 8;
    #pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
        for (int e = 0; e < 4; ++e) s[n][e] = 0.0f;
    }
    #pragma unroll
    for (int d = 0; d < width; d += 16) {
        const MatrixA a = rows_as_a(x + d, step);
        #pragma unroll
        for (int n = 0; n < columns / 8; ++n) {
            multiply_add<T>(s[n], a, rows_as_b(y + 8 * n * step + d, step));
        }
    }
}

// total (16 x width) += p (16 x count) times the ``count`` rows of y.
template <int count, int width, class T>
__device__ void add_tiles(float (&total)[width / 8][4], const float (&p)[count / 8][4], const T* y) {
    constexpr int step = width + 8;
    #pragma unroll
    for (int i = 0; i < count; i += 16) {
        const MatrixA a = results_as_a<T>(p[i / 8], p[i / 8 + 1]);
        #pragma unroll
        for (int j = 0; j < width / 8; ++j) {
            multiply_add<T>(total[j], a, columns_as_b(y + i * step + 8 * j, step));
        }
    }
}

// Writes this warp's 16 rows of (batch, rows, columns), contiguous, from row ``first`` on.
template <int width, class T>
__device__ void store_tile(
    T* out, const float (&total)[width / 8][4], int64 batch, int64 first, int64 rows,
    int64 columns, const float (&scales)[2]) {
    #pragma unroll
    for (int j = 0; j < width / 8; ++j) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int64 row = first + group_of_lane() + e / 2 * 8;
            const int column = 8 * j + pair_of_lane() + e % 2;
            if (row < rows && column < columns) {
                out[(batch * rows + row) * columns + column] = T(total[j][e] * scales[e / 2]);
            }
        }
    }
}

template <class T, int width>
__global__ void __launch_bounds__(threads) attention(
    const T* q, const T* k, const T* v, const T* mask, T* out, float* log_total, Attention a) {
    constexpr int keys = 64, step = width + 8;
    T* tile_q = dynamic_shared<T>();
    T* tile_k = tile_q + own_rows * step;
    T* tile_v = tile_k + keys * step;
    const int own = threadIdx.x / warp_size * 16;
    each_tile(a.batch, a.q.rows, own_rows, [&](int64 batch, int64 first) {
        const T* own_mask = mask_of(mask, a, batch);
        float total[width / 8][4] = {}, sum[2] = {};
        float largest[2] = {Limits<float>::lowest(), Limits<float>::lowest()};
        const int64 row = first + own + group_of_lane();
        load_half_tile<own_rows, width>(tile_q, q, a.q, batch, first);
        const int64 seen = keys_seen(a, first + own_rows);
        for (int64 start = 0; start < seen; start += keys) {
            __syncthreads();
            load_half_tile<keys, width>(tile_k, k, a.k, batch, start);
            load_half_tile<keys, width>(tile_v, v, a.v, batch, start);
            __syncthreads();
            float s[keys / 8][4], top[2] = {largest[0], largest[1]}, part[2] = {};
            multiply_tiles<keys, width>(s, tile_q + own * step, tile_k);
            #pragma unroll
            for (int n = 0; n < keys / 8; ++n) {
                #pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int64 key = start + 8 * n + pair_of_lane() + e % 2;
                    s[n][e] = score_of(s[n][e], a, own_mask, row + e / 2 * 8, key);
                    top[e / 2] = math::maximum(top[e / 2], s[n][e]);
                }
            }
            float correction[2];
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                top[r] = reduce_lanes<4>(top[r], Maximum());
                correction[r] = math::exp(largest[r] - shift_of(top[r]));
                largest[r] = top[r];
            }
            #pragma unroll
            for (int n = 0; n < keys / 8; ++n) {
                #pragma unroll
                for (int e = 0; e < 4; ++e) {
                    s[n][e] = math::exp(s[n][e] - shift_of(top[e / 2]));
                    part[e / 2] += s[n][e];
                }
            }
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
                sum[r] = sum[r] * correction[r] + reduce_lanes<4>(part[r], Sum());
            }
            #pragma unroll
            for (int j = 0; j < width / 8; ++j) {
                for (int e = 0; e < 4; ++e) total[j][e] *= correction[e / 2];
            }
            add_tiles<keys, width>(total, s, tile_v);
        }
        float shares[2];
        for (int r = 0; r < 2; ++r) {
            shares[r] = sum[r] == 0.0f ? 0.0f : 1.0f / sum[r];
            if (pair_of_lane() == 0 && row + 8 * r < a.q.rows) {
                log_total[batch * a.q.rows + row + 8 * r] = largest[r] + math::log(sum[r]);
            }
        }
        store_tile<width>(out, total, batch, first + own, a.q.rows, a.v.columns, shares);
    });
}

// As attention_grad_q of attention.cu: two passes over the keys, the first of which adds up delta.
template <class T, int width>
__global__ void __launch_bounds__(threads) attention_grad_q(
    const T* q, const T* k, const T* v, const T* g, const T* mask, const float* log_total,
    float* delta, T* g_q, T* g_mask, Attention a) {
    constexpr int keys = 32, step = width + 8;
    T* tile_q = dynamic_shared<T>();
    T* tile_g = tile_q + own_rows * step;
    T* tile_k = tile_g + own_rows * step;
    T* tile_v = tile_k + keys * step;
    const int own = threadIdx.x / warp_size * 16;
    each_tile(a.batch, a.q.rows, own_rows, [&](int64 batch, int64 first) {
        const T* own_mask = mask_of(mask, a, batch);
        float total[width / 8][4] = {}, row_delta[2] = {}, row_sum[2] = {}, row_log[2];
        const int64 row = first + own + group_of_lane();
        for (int r = 0; r < 2; ++r) row_log[r] = of_row(log_total, a, batch, row + 8 * r);
        load_half_tile<own_rows, width>(tile_q, q, a.q, batch, first);
        load_half_tile<own_rows, width>(tile_g, g, a.g, batch, first);
        const int64 seen = keys_seen(a, first + own_rows);
        for (int pass = 0; pass < 2; ++pass) {
            for (int64 start = 0; start < seen; start += keys) {
                __syncthreads();
                load_half_tile<keys, width>(tile_k, k, a.k, batch, start);
                load_half_tile<keys, width>(tile_v, v, a.v, batch, start);
                __syncthreads();
                float s[keys / 8][4], g_p[keys / 8][4];
                multiply_tiles<keys, width>(s, tile_q + own * step, tile_k);
                multiply_tiles<keys, width>(g_p, tile_g + own * step, tile_v);
                #pragma unroll
                for (int n = 0; n < keys / 8; ++n) {
                    #pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        const int64 query = row + e / 2 * 8;
                        const int64 key = start + 8 * n + pair_of_lane() + e % 2;
                        const float score = score_of(s[n][e], a, own_mask, query, key);
                        const float p = probability(score, row_log[e / 2]);
                        if (pass == 0) {
                            row_delta[e / 2] += p * g_p[n][e];
                            row_sum[e / 2] += p;
                            continue;
                        }
                        s[n][e] = p * (g_p[n][e] - row_delta[e / 2]);
                        if (g_mask && query < a.q.rows && key < a.k.rows) {
                            g_mask[(batch * a.q.rows + query) * a.k.rows + key] = T(s[n][e]);
                        }
                    }
                }
                if (pass == 1) add_tiles<keys, width>(total, s, tile_k);
            }
            if (pass == 1) continue;
            for (int r = 0; r < 2; ++r) {
                // Over the sum of p, which is 1 but for rounding.
                row_sum[r] = reduce_lanes<4>(row_sum[r], Sum());
                row_delta[r] = reduce_lanes<4>(row_delta[r], Sum());
                row_delta[r] = row_sum[r] > 0.0f ? row_delta[r] / row_sum[r] : 0.0f;
                if (pair_of_lane() == 0 && row + 8 * r < a.q.rows) {
                    delta[batch * a.q.rows + row + 8 * r] = row_delta[r];
                }
            }
        }
        const float scales[2] = {float(a.scale), float(a.scale)};
        store_tile<width>(g_q, total, batch, first + own, a.q.rows, a.q.columns, scales);
    });
}

// As attention_grad_kv of attention.cu. Scores are turned: rows are keys, columns queries.
template <class T, int width>
__global__ void __launch_bounds__(threads) attention_grad_kv(
    const T* q, const T* k, const T* v, const T* g, const T* mask, const float* log_total,
    const float* delta, T* g_k, T* g_v, Attention a) {
    constexpr int queries = 32, step = width + 8;
    T* tile_k = dynamic_shared<T>();
    T* tile_v = tile_k + own_rows * step;
    T* tile_q = tile_v + own_rows * step;
    T* tile_g = tile_q + queries * step;
    const int own = threadIdx.x / warp_size * 16;
    each_tile(a.batch, a.k.rows, own_rows, [&](int64 batch, int64 first) {
        const T* own_mask = mask_of(mask, a, batch);
        float total_k[width / 8][4] = {}, total_v[width / 8][4] = {};
        load_half_tile<own_rows, width>(tile_k, k, a.k, batch, first);
        load_half_tile<own_rows, width>(tile_v, v, a.v, batch, first);
        for (int64 start = a.is_causal ? first : 0; start < a.q.rows; start += queries) {
            __syncthreads();
            load_half_tile<queries, width>(tile_q, q, a.q, batch, start);
            load_half_tile<queries, width>(tile_g, g, a.g, batch, start);
            __syncthreads();
            float p[queries / 8][4], g_p[queries / 8][4];
            multiply_tiles<queries, width>(p, tile_k + own * step, tile_q);
            multiply_tiles<queries, width>(g_p, tile_v + own * step, tile_g);
            #pragma unroll
            for (int n = 0; n < queries / 8; ++n) {
                #pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int64 key = first + own + group_of_lane() + e / 2 * 8;
                    const int64 query = start + 8 * n + pair_of_lane() + e % 2;
                    const float score = score_of(p[n][e], a, own_mask, query, key);
                    p[n][e] = probability(score, of_row(log_total, a, batch, query));
                    g_p[n][e] = p[n][e] * (g_p[n][e] - of_row(delta, a, batch, query));
                }
            }
            add_tiles<queries, width>(total_v, p, tile_g);
            add_tiles<queries, width>(total_k, g_p, tile_q);
        }
        const float scales[2] = {float(a.scale), float(a.scale)}, ones[2] = {1.0f, 1.0f};
        store_tile<width>(g_k, total_k, batch, first + own, a.k.rows, a.k.columns, scales);
        store_tile<width>(g_v, total_v, batch, first + own, a.k.rows, a.v.columns, ones);
    });
}

}  // namespace nnkit
