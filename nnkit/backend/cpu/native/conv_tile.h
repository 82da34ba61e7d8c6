// What every matrix product of a convolution is made of: a tile of sums that stays in registers,
// and the transposition of small matrices.
#pragma once

#include <cstring>

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_FMA) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "array.h"

namespace nnkit {

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

template <class T, int bytes> struct WideOf;
template <int bytes> struct WideOf<float, bytes> {
    typedef float type __attribute__((vector_size(bytes)));
};
template <int bytes> struct WideOf<double, bytes> {
    typedef double type __attribute__((vector_size(bytes)));
};
// A vector of the width of this machine's registers. Each lane is a sum of its own, so that the
// order in which a sum is added up does not depend on the width.
template <class T> using Register = typename WideOf<T, register_bytes>::type;
template <class T> constexpr int register_lanes = register_bytes / static_cast<int>(sizeof(T));

template <class V> inline V multiply_add(V a, V b, V c) {
#if defined(__AVX512F__)
    if constexpr (sizeof(a[0]) == 4) return _mm512_fmadd_ps(a, b, c);
    else return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
    if constexpr (sizeof(a[0]) == 4) return _mm256_fmadd_ps(a, b, c);
    else return _mm256_fmadd_pd(a, b, c);
#elif defined(__ARM_FEATURE_FMA) && defined(__aarch64__)
    if constexpr (sizeof(a[0]) == 4) return vfmaq_f32(c, a, b);
    else return vfmaq_f64(c, a, b);
#else
    return a * b + c;
#endif
}

template <class V, class T> inline V load_as(const T* from) {
    V result;
    std::memcpy(&result, from, sizeof result);
    return result;
}

template <class V, class T> inline void store_as(T* to, const V& value) {
    std::memcpy(to, &value, sizeof value);
}

// 6 x 2 registers of sums, two of the panel and one broadcast fit into the 16 of AVX2.
constexpr int tile_rows = 6, tile_columns = 2;
// How many columns a panel has: a matrix [k][panel], laid out for the tile.
template <class T> constexpr Index panel = tile_columns * register_lanes<T>;

template <class T, int rows>
void add_products_of(const T* const* from, const Index* offsets, Index count, const T* columns,
                     const T* initial, T* sums) {
    using V = Register<T>;
    constexpr int lanes = register_lanes<T>;
    V sum[rows][tile_columns] = {};
    const T* row[rows];
    for (int i = 0; i < rows; ++i) row[i] = from[i];
    if (initial != nullptr) {
        for (int j = 0; j < tile_columns; ++j) {
            const V value = load_as<V>(initial + j * lanes);
            for (int i = 0; i < rows; ++i) sum[i][j] = value;
        }
    }
    for (Index k = 0; k < count; ++k, columns += panel<T>) {
        const Index offset = offsets[k];
        V column[tile_columns];
        for (int j = 0; j < tile_columns; ++j) column[j] = load_as<V>(columns + j * lanes);
        for (int i = 0; i < rows; ++i) {
            const V value = row[i][offset] - V{};
            for (int j = 0; j < tile_columns; ++j) {
                sum[i][j] = multiply_add(value, column[j], sum[i][j]);
            }
        }
    }
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < tile_columns; ++j, sums += lanes) {
            store_as(sums, initial != nullptr ? sum[i][j] : load_as<V>(sums) + sum[i][j]);
        }
    }
}

// sums[i][j] = initial[j] + sum over k < count of from[i][offsets[k]] * columns[k][j], for i < rows
// <= 6 and j < panel; without `initial` it is added to what is there.
template <class T>
inline void add_products(Index rows, const T* const* from, const Index* offsets, Index count,
                         const T* columns, const T* initial, T* sums) {
    switch (rows) {
        case 1: return add_products_of<T, 1>(from, offsets, count, columns, initial, sums);
        case 2: return add_products_of<T, 2>(from, offsets, count, columns, initial, sums);
        case 3: return add_products_of<T, 3>(from, offsets, count, columns, initial, sums);
        case 4: return add_products_of<T, 4>(from, offsets, count, columns, initial, sums);
        case 5: return add_products_of<T, 5>(from, offsets, count, columns, initial, sums);
        default: return add_products_of<T, 6>(from, offsets, count, columns, initial, sums);
    }
}

// sums[i][j] = sum over k < count of from[k * step + i] * columns[k][j], for the rows of a tile.
template <class T, int rows>
inline void multiply_tile(const T* from, Index step, Index count, const T* columns, T* sums) {
    using V = Register<T>;
    constexpr int lanes = register_lanes<T>;
    V sum[rows][tile_columns] = {};
    for (Index k = 0; k < count; ++k, from += step, columns += panel<T>) {
        V column[tile_columns];
        for (int j = 0; j < tile_columns; ++j) column[j] = load_as<V>(columns + j * lanes);
        for (int i = 0; i < rows; ++i) {
            const V value = from[i] - V{};
            for (int j = 0; j < tile_columns; ++j) {
                sum[i][j] = multiply_add(value, column[j], sum[i][j]);
            }
        }
    }
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < tile_columns; ++j, sums += lanes) store_as(sums, sum[i][j]);
    }
}

// The same for any number of rows.
template <class T>
void multiply_panel(Index rows, const T* from, Index step, Index count, const T* columns, T* sums) {
    for (; rows >= tile_rows; rows -= tile_rows, from += tile_rows) {
        multiply_tile<T, tile_rows>(from, step, count, columns, sums);
        sums += tile_rows * panel<T>;
    }
    switch (rows) {
        case 1: return multiply_tile<T, 1>(from, step, count, columns, sums);
        case 2: return multiply_tile<T, 2>(from, step, count, columns, sums);
        case 3: return multiply_tile<T, 3>(from, step, count, columns, sums);
        case 4: return multiply_tile<T, 4>(from, step, count, columns, sums);
        case 5: return multiply_tile<T, 5>(from, step, count, columns, sums);
        default: return;
    }
}

// Transposes 4 x 4 elements: rows `from_step` apart to rows `to_step` apart.
template <class T>
inline void transpose_block(const T* from, Index from_step, T* to, Index to_step) {
    using V = typename WideOf<T, 4 * sizeof(T)>::type;
    const V a = load_as<V>(from), b = load_as<V>(from + from_step);
    const V c = load_as<V>(from + 2 * from_step), d = load_as<V>(from + 3 * from_step);
    const V ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const V ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const V cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const V cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store_as(to, V(__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5)));
    store_as(to + to_step, V(__builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7)));
    store_as(to + 2 * to_step, V(__builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5)));
    store_as(to + 3 * to_step, V(__builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)));
}

// to[j][i] = from[i][j] for i < rows and j < columns. Whichever rows lie further apart are taken
// four at a time: planes of images may share sets of the cache.
template <class T>
void transpose(Index rows, Index columns, const T* from, Index from_step, T* to, Index to_step) {
    const Index whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
    if (from_step >= to_step) {
        for (Index i = 0; i < whole_rows; i += 4) {
            for (Index j = 0; j < whole_columns; j += 4) {
                transpose_block(from + i * from_step + j, from_step, to + j * to_step + i, to_step);
            }
        }
    } else {
        for (Index j = 0; j < whole_columns; j += 4) {
            for (Index i = 0; i < whole_rows; i += 4) {
                transpose_block(from + i * from_step + j, from_step, to + j * to_step + i, to_step);
            }
        }
    }
    for (Index i = 0; i < rows; ++i) {
        for (Index j = i < whole_rows ? whole_columns : 0; j < columns; ++j) {
            to[j * to_step + i] = from[i * from_step + j];
        }
    }
}

}  // namespace nnkit
