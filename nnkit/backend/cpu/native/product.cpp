// Products by register tiles: a tile of the result stays in registers while a panel of b, packed
// so that it lies in the first-level cache, passes by (Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication", 2008).
#include "product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "memory.h"
#include "parallel.h"

namespace nnkit {
namespace {

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

constexpr Index depth = 256;          // of the sums that stay in registers
constexpr Index rows_of_piece = 192;  // of a: so many rows of that depth stay in the second cache
constexpr Index work_of_piece = Index{1} << 20;  // multiplications; some 20 us
constexpr Index rows_read_in_place = 4 * tile_rows;

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
#else
    return a * b + c;
#endif
}

inline Register<double> fused(Register<double> a, Register<double> b, Register<double> c) {
#if defined(__AVX512F__)
    return (Register<double>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    return (Register<double>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
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

// Brings `columns` columns of b into a panel, filled up with zeros.
template <class T> void pack_panel(Index k, Index columns, Matrix<T> b, T* panel) {
    constexpr int w = tile_columns<T>;
    if (b.column == 1 && columns == w) {
        for (Index p = 0; p < k; ++p) std::memcpy(panel + p * w, b.data + p * b.row, w * sizeof(T));
        return;
    }
    if (columns < w) std::fill_n(panel, k * w, T(0));
    for (Index j = 0; j < columns; ++j) {
        const T* from = b.data + j * b.column;
        for (Index p = 0; p < k; ++p) panel[p * w + j] = from[p * b.row];
    }
}

// Rows and columns of the result that are computed in one go, by one thread.
template <class T>
void multiply_piece(Index m, Index n, Index k, Matrix<T> a, Matrix<T> b, T* out, Index row,
                    const T* bias, bool add) {
    constexpr Index w = tile_columns<T>;
    alignas(alignment) T panel[depth * w];
    const Tile<T>* table = tiles<T>();
    for (Index start = 0; start < k; start += depth) {
        Index count = std::min(depth, k - start);
        const T* added = start + count == k ? bias : nullptr;
        bool again = add || start > 0;
        for (Index j = 0; j < n; j += w) {
            Index columns = std::min(w, n - j);
            Matrix<T> part = b.from(start, j);
            const T* source = part.data;
            Index source_row = part.row;
            if (part.column != 1 || columns < w || m > rows_read_in_place) {
                pack_panel(count, columns, part, panel);
                source = panel;
                source_row = w;
            }
            for (Index i = 0; i < m; i += tile_rows) {
                Index rows = std::min<Index>(tile_rows, m - i);
                T* to = out + i * row + j;
                if (columns == w) {
                    table[rows](count, a.from(i, start), source, source_row, to, row, again,
                                added != nullptr ? added + j : nullptr);
                    continue;
                }
                T edge[tile_rows * w];
                table[rows](count, a.from(i, start), source, source_row, edge, w, false, nullptr);
                for (Index r = 0; r < rows; ++r) {
                    for (Index c = 0; c < columns; ++c) {
                        T sum = edge[r * w + c];
                        if (again) sum += to[r * row + c];
                        if (added != nullptr) sum += added[j + c];
                        to[r * row + c] = sum;
                    }
                }
            }
        }
    }
}

}  // namespace

template <class T>
void multiply_here(Index m, Index n, Index k, Matrix<T> a, Matrix<T> b, T* out, Index row,
                   const T* bias, Write write) {
    for (Index i = 0; i < m; i += rows_of_piece) {
        multiply_piece(std::min(rows_of_piece, m - i), n, k, a.from(i, 0), b, out + i * row, row,
                       bias, write == Write::add);
    }
}

template <class T>
void multiply(Index m, Index n, Index k, Matrix<T> a, Matrix<T> b, T* out, Index row,
              const T* bias, Write write) {
    constexpr Index w = tile_columns<T>;
    Index rows = std::min(m, rows_of_piece);
    Index columns = std::max<Index>(1, work_of_piece / std::max<Index>(1, rows * k));
    columns = std::min((n + w - 1) / w * w, (columns + w - 1) / w * w);
    Index across = (n + columns - 1) / columns, down = (m + rows - 1) / rows;
    parallel_for(across * down, 1, [&](Index begin, Index end) {
        for (Index piece = begin; piece < end; ++piece) {
            Index i = piece / across * rows, j = piece % across * columns;
            multiply_piece(std::min(rows, m - i), std::min(columns, n - j), k, a.from(i, 0),
                           b.from(0, j), out + i * row + j, row, bias ? bias + j : nullptr,
                           write == Write::add);
        }
    });
}

template <class T> T dot_product(Index count, const T* x, const T* y) {
    constexpr int w = width<T>;
    constexpr int chains = 128 / register_bytes;  // as many lanes on every instruction set
    Register<T> sums[chains] = {};
    Index i = 0;
    for (; i + chains * w <= count; i += chains * w) {
#pragma GCC unroll 8
        for (int c = 0; c < chains; ++c) {
            sums[c] = fused(load(x + i + c * w), load(y + i + c * w), sums[c]);
        }
    }
    T parts[chains * w];
    std::memcpy(parts, sums, sizeof parts);
    for (int half = chains * w / 2; half > 0; half /= 2) {
        for (int c = 0; c < half; ++c) parts[c] += parts[c + half];
    }
    T total = parts[0];
    for (; i < count; ++i) total += x[i] * y[i];
    return total;
}

template void multiply<float>(Index, Index, Index, Matrix<float>, Matrix<float>, float*, Index,
                              const float*, Write);
template void multiply<double>(Index, Index, Index, Matrix<double>, Matrix<double>, double*, Index,
                               const double*, Write);
template void multiply_here<float>(Index, Index, Index, Matrix<float>, Matrix<float>, float*,
                                   Index, const float*, Write);
template void multiply_here<double>(Index, Index, Index, Matrix<double>, Matrix<double>, double*,
                                    Index, const double*, Write);
template float dot_product(Index, const float*, const float*);
template double dot_product(Index, const double*, const double*);

}  // namespace nnkit
