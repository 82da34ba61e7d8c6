// The transposition of small matrices, in blocks that are turned in registers.
#pragma once

#include "array.h"
#include "register.h"

namespace nnkit {

// The elements of a and b, numbered one after the other, with these numbers.
template <class T, int... numbers, class V> inline V pick(V a, V b) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, numbers...);
#else  // GCC has that from version 12 on
    using Number = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    using Numbers = typename RegisterOf<Number, sizeof(V)>::type;
    return __builtin_shuffle(a, b, Numbers{numbers...});
#endif
}

// Transposes 4 x 4 elements: rows `from_step` apart to rows `to_step` apart.
template <class T>
inline void transpose_block(const T* from, Index from_step, T* to, Index to_step) {
    using V = typename RegisterOf<T, 4 * sizeof(T)>::type;
    const V a = load_as<V>(from), b = load_as<V>(from + from_step);
    const V c = load_as<V>(from + 2 * from_step), d = load_as<V>(from + 3 * from_step);
    const V ab_low = pick<T, 0, 4, 1, 5>(a, b), ab_high = pick<T, 2, 6, 3, 7>(a, b);
    const V cd_low = pick<T, 0, 4, 1, 5>(c, d), cd_high = pick<T, 2, 6, 3, 7>(c, d);
    store_as(to, pick<T, 0, 1, 4, 5>(ab_low, cd_low));
    store_as(to + to_step, pick<T, 2, 3, 6, 7>(ab_low, cd_low));
    store_as(to + 2 * to_step, pick<T, 0, 1, 4, 5>(ab_high, cd_high));
    store_as(to + 3 * to_step, pick<T, 2, 3, 6, 7>(ab_high, cd_high));
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
