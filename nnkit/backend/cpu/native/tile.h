// The tile of a matrix product: some rows of the result stay in registers while b passes by.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstring>

#include "product.h"

namespace nnkit {

// The registers of this instruction set: a tile has two of them in each of its rows.
#if defined(__AVX512F__)
constexpr int register_bytes = 64, tile_rows = 12;
#elif defined(__AVX__)
constexpr int register_bytes = 32, tile_rows = 6;
#elif defined(__aarch64__)
constexpr int register_bytes = 16, tile_rows = 8;
#else
constexpr int register_bytes = 16, tile_rows = 6;
#endif

template <class T> struct RegisterOf;
template <> struct RegisterOf<float> {
    typedef float type __attribute__((vector_size(register_bytes)));
};
template <> struct RegisterOf<double> {
    typedef double type __attribute__((vector_size(register_bytes)));
};
template <class T> using Register = typename RegisterOf<T>::type;
template <class T> constexpr int width = register_bytes / static_cast<int>(sizeof(T));
template <class T> constexpr int tile_columns = 2 * width<T>;

template <class T> inline Register<T> load(const T* from) {
    Register<T> result;
    std::memcpy(&result, from, sizeof result);
    return result;
}

template <class T> inline void store(T* to, Register<T> value) {
    std::memcpy(to, &value, sizeof value);
}

// a b + c, rounded once where the instruction set can.
inline Register<float> fused(Register<float> a, Register<float> b, Register<float> c) {
#if defined(__AVX512F__)
    return (Register<float>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (Register<float>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (Register<float>)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

inline Register<double> fused(Register<double> a, Register<double> b, Register<double> c) {
#if defined(__AVX512F__)
    return (Register<double>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    return (Register<double>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
    return (Register<double>)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}

// One tile: `rows` rows of a, a panel of b whose rows lie `b_row` elements apart.
template <class T, int rows>
inline void tile(Index k, Matrix<T> a, const T* b, Index b_row, T* out, Index out_row, bool add,
                 const T* bias) {
    constexpr int w = width<T>;
    Register<T> sums[rows][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) sums[i][0] = sums[i][1] = Register<T>{};
    for (int i = 0; i < rows; ++i) __builtin_prefetch(out + i * out_row, 1);
    const T* from = a.data;
    for (Index p = 0; p < k; ++p, from += a.column, b += b_row) {
        Register<T> left = load(b), right = load(b + w);
#pragma GCC unroll 16
        for (int i = 0; i < rows; ++i) {
            Register<T> value = from[i * a.row] - Register<T>{};
            sums[i][0] = fused(value, left, sums[i][0]);
            sums[i][1] = fused(value, right, sums[i][1]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
        T* to = out + i * out_row;
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
            Register<T> sum = sums[i][half];
            if (add) sum += load(to + half * w);
            if (bias != nullptr) sum += load(bias + half * w);
            store(to + half * w, sum);
        }
    }
}

template <class T>
using Tile = void (*)(Index k, Matrix<T> a, const T* b, Index b_row, T* out, Index out_row,
                      bool add, const T* bias);

template <class T, int rows> struct Tiles {
    static void fill(Tile<T>* table) {
        table[rows] = tile<T, rows>;
        Tiles<T, rows - 1>::fill(table);
    }
};
template <class T> struct Tiles<T, 0> {
    static void fill(Tile<T>*) {}
};

template <class T> const Tile<T>* tiles() {
    static const auto table = [] {
        struct { Tile<T> entries[tile_rows + 1]; } all{};
        Tiles<T, tile_rows>::fill(all.entries);
        return all;
    }();
    return table.entries;
}

}  // namespace nnkit
