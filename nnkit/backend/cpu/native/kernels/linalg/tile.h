// The tile of a matrix product: some rows of the result stay in registers while b passes by.
#pragma once

#include "product.h"
#include "multiply_add.h"
#include "register.h"

namespace nnkit {

// A tile has two registers in each of its rows; as many rows as registers are left for.
#if defined(__AVX512F__)
constexpr int tile_rows = 12;
#elif defined(__aarch64__)
constexpr int tile_rows = 8;
#else
constexpr int tile_rows = 6;
#endif
template <class T> constexpr int tile_columns = 2 * register_lanes<T>;

// One tile: `rows` rows of a, a panel of b whose rows lie `b_row` elements apart.
template <class T, int rows>
inline void tile(Index k, Matrix<T> a, const T* b, Index b_row, T* out, Index out_row, bool add,
                 const T* bias) {
    using V = Register<T>;
    constexpr int w = register_lanes<T>;
    V sums[rows][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) sums[i][0] = sums[i][1] = V{};
    for (int i = 0; i < rows; ++i) __builtin_prefetch(out + i * out_row, 1);
    const T* from = a.data;
    for (Index p = 0; p < k; ++p, from += a.column, b += b_row) {
        V left = load_as<V>(b), right = load_as<V>(b + w);
#pragma GCC unroll 16
        for (int i = 0; i < rows; ++i) {
            V value = from[i * a.row] - V{};
            sums[i][0] = multiply_add(value, left, sums[i][0]);
            sums[i][1] = multiply_add(value, right, sums[i][1]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
        T* to = out + i * out_row;
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
            V sum = sums[i][half];
            if (add) sum += load_as<V>(to + half * w);
            if (bias != nullptr) sum += load_as<V>(bias + half * w);
            store_as(to + half * w, sum);
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
