// Products of small matrices by the tensor cores (compute capability 8.0), of half precision or of
// float, whose factors are rounded to 10 bits (TF32).
//
// A warp multiplies a (16 x 16) by b (16 x 8) and adds to c (16 x 8), which is float. Each lane
// holds some elements, two of half precision in a word. With group = lane / 4, pair = lane % 4 * 2:
//     a: rows group, group + 8, both again for columns 8 to 15; columns pair, pair + 1
//     b: column group; rows pair, pair + 1, then pair + 8, pair + 9
//     c: row group, columns pair, pair + 1; then row group + 8
// Of float, a is 16 x 8 and b 8 x 8: a word is one element, its column of a or row of b lane % 4,
// then lane % 4 + 4. So either product is 32 bytes deep in memory, its words at the same places.
#pragma once

#include "common.cuh"

namespace nnkit {

struct MatrixA { uint32 words[4]; };
struct MatrixB { uint32 words[2]; };

__device__ inline int group_of_lane() { return threadIdx.x % warp_size / 4; }
__device__ inline int pair_of_lane() { return threadIdx.x % 4 * 2; }

template <class T>
__device__ uint32 word_of(T low, T high) { return low.bits | uint32(high.bits) << 16; }

#ifdef NNKIT_EMULATED
template <class T>
float element_of(uint32 word, int which) {
    if constexpr (sizeof(T) == 4) return float_of(word);
    else {
        T half;
        half.bits = uint16(word >> 16 * which);
        return float(half);
    }
}
#endif

// A float as tensor cores take it.
__device__ inline uint32 rounded_to_tf32(uint32 word) {
#ifdef NNKIT_EMULATED
    const bool is_finite = (word & 0x7f800000u) != 0x7f800000u;
    return is_finite ? (word + 0x1000u) & ~0x1fffu : word;
#else
    uint32 rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(float_of(word)));
    return rounded;
#endif
}

template <class T>
__device__ void multiply_add(float (&c)[4], const MatrixA& a, const MatrixB& b) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "half precision or float");
#ifdef NNKIT_EMULATED
    const int lane = threadIdx.x % warp_size, first = lane / 4 * 4;
    for (int j = 0; j < 4; ++j) {
        const MatrixA row = emulation::exchange(a, first + j);
        for (int e = 0; e < 2; ++e) {
            const MatrixB column = emulation::exchange(b, (pair_of_lane() + e) * 4 + j);
            for (int i = 0; i < 4 / int(sizeof(T)); ++i) {
                const float low = element_of<T>(column.words[0], i);
                const float high = element_of<T>(column.words[1], i);
                for (int r = 0; r < 2; ++r) {
                    c[e + 2 * r] += element_of<T>(row.words[r], i) * low
                        + element_of<T>(row.words[r + 2], i) * high;
                }
            }
        }
    }
#else
#define NNKIT_MULTIPLY(shape, type)                                                          \
    asm("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 "                      \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                    \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                     \
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]),                \
          "r"(b.words[0]), "r"(b.words[1]))
    if constexpr (sizeof(T) == 4) NNKIT_MULTIPLY("m16n8k8", "tf32");
    else if constexpr (IsBfloat16<T>::value) NNKIT_MULTIPLY("m16n8k16", "bf16");
    else NNKIT_MULTIPLY("m16n8k16", "f16");
#undef NNKIT_MULTIPLY
#endif
}

// ---- from a tile in shared memory whose rows lie ``step`` apart; pairs of columns are aligned

template <class T>
__device__ uint32 two_of(const T* place) { return *reinterpret_cast<const uint32*>(place); }

// a = 16 rows from ``tile`` on.
template <class T>
__device__ MatrixA rows_as_a(const T* tile, int step) {
    const T* top = tile + group_of_lane() * step + pair_of_lane();
    const T* below = top + 8 * step;
    return {{two_of(top), two_of(below), two_of(top + 8), two_of(below + 8)}};
}
// Column n of b = row n of 8.
template <class T>
__device__ MatrixB rows_as_b(const T* tile, int step) {
    const T* row = tile + group_of_lane() * step + pair_of_lane();
    return {{two_of(row), two_of(row + 8)}};
}
// b = 16 rows of 8 columns, as they lie.
template <class T>
__device__ MatrixB columns_as_b(const T* tile, int step) {
    const T* first = tile + pair_of_lane() * step + group_of_lane();
    const T* second = first + 8 * step;
    return {{word_of(first[0], first[step]), word_of(second[0], second[step])}};
}
// a from two neighbouring results (16 x 16 in all), rounded.
template <class T>
__device__ MatrixA results_as_a(const float (&left)[4], const float (&right)[4]) {
    return {{word_of(T(left[0]), T(left[1])), word_of(T(left[2]), T(left[3])),
             word_of(T(right[0]), T(right[1])), word_of(T(right[2]), T(right[3]))}};
}

}  // namespace nnkit
