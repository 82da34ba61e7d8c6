// The heart of every product of a convolution: a tile of sums that stays in registers.
#pragma once

#include <type_traits>

#include "array.h"
#include "multiply_add.h"
#include "register.h"
#include "transpose.h"

namespace nnkit {

// 6 x 2 registers of sums, two of the panel and one broadcast fit into the 16 of AVX2. Each lane is
// a sum of its own, so that the order of additions does not depend on the width of a register.
// Loops over the sums say that they be unrolled: GCC does it too late to keep them in registers.
constexpr int tile_rows = 6, tile_columns = 2;
// The number of columns of a panel: a matrix [k][panel], laid out for the tile.
template <class T> constexpr Index panel = tile_columns * register_lanes<T>;

// `body(std::integral_constant<int, rows>())` for the rows of a tile.
template <class Body> inline void by_rows(Index rows, Body&& body) {
    switch (rows) {
        case 1: return body(std::integral_constant<int, 1>());
        case 2: return body(std::integral_constant<int, 2>());
        case 3: return body(std::integral_constant<int, 3>());
        case 4: return body(std::integral_constant<int, 4>());
        case 5: return body(std::integral_constant<int, 5>());
        default: return body(std::integral_constant<int, 6>());
    }
}

template <class T, int rows>
void add_products_of(const T* const* from, const Index* offsets, Index count, const T* columns,
                     const T* initial, T* sums) {
    using V = Register<T>;
    constexpr int lanes = register_lanes<T>;
    V sum[rows][tile_columns] = {};
    const T* row[rows];
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) row[i] = from[i];
    if (initial != nullptr) {
#pragma GCC unroll 4
        for (int j = 0; j < tile_columns; ++j) {
            const V value = load_as<V>(initial + j * lanes);
#pragma GCC unroll 6
            for (int i = 0; i < rows; ++i) sum[i][j] = value;
        }
    }
    for (Index k = 0; k < count; ++k, columns += panel<T>) {
        const Index offset = offsets[k];
        V column[tile_columns];
#pragma GCC unroll 4
        for (int j = 0; j < tile_columns; ++j) column[j] = load_as<V>(columns + j * lanes);
#pragma GCC unroll 6
        for (int i = 0; i < rows; ++i) {
            const V value = row[i][offset] - V{};
#pragma GCC unroll 4
            for (int j = 0; j < tile_columns; ++j) {
                sum[i][j] = multiply_add(value, column[j], sum[i][j]);
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
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
    by_rows(rows, [&](auto some) {
        add_products_of<T, some>(from, offsets, count, columns, initial, sums);
    });
}

// sums[i][j] = sum over k < count of from[k * step + i] * columns[k][j], for the rows of a tile.
template <class T, int rows>
inline void multiply_tile(const T* from, Index step, Index count, const T* columns, T* sums) {
    using V = Register<T>;
    constexpr int lanes = register_lanes<T>;
    V sum[rows][tile_columns] = {};
    for (Index k = 0; k < count; ++k, from += step, columns += panel<T>) {
        V column[tile_columns];
#pragma GCC unroll 4
        for (int j = 0; j < tile_columns; ++j) column[j] = load_as<V>(columns + j * lanes);
#pragma GCC unroll 6
        for (int i = 0; i < rows; ++i) {
            const V value = from[i] - V{};
#pragma GCC unroll 4
            for (int j = 0; j < tile_columns; ++j) {
                sum[i][j] = multiply_add(value, column[j], sum[i][j]);
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
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
    if (rows == 0) return;
    by_rows(rows, [&](auto some) { multiply_tile<T, some>(from, step, count, columns, sums); });
}

}  // namespace nnkit
