// Products by register tiles: a tile of the result stays in registers while a panel of b, packed
// so that it lies in the first-level cache, passes by (Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication", 2008).
#include "product.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "memory.h"
#include "parallel.h"
#include "tile.h"
#include "transpose.h"
#include "vector.h"

namespace nnkit {
namespace {

constexpr int fewest_rows = 4;  // that keep the multipliers busy
constexpr int strip_rows = 2 * tile_rows;  // of a that are packed together
constexpr Index depth = 384;          // of the sums that stay in registers
constexpr Index rows_of_piece = 192;  // of a: so many rows of that depth stay in the second cache
constexpr Index work_of_piece = Index{1} << 20;  // multiplications; some 20 us
constexpr Index work_between_looks = Index{1} << 24;  // for signals
constexpr Index packed_of_piece = Index{1} << 16;
constexpr Index most_pieces = 16;      // about so many, whatever the size
constexpr Index least_rows = 4 * strip_rows;
constexpr Index rows_read_in_place = 4 * tile_rows;
constexpr Index work_of_part = Index{1} << 24;  // multiplications; threads meet between parts
constexpr Index bytes_of_packed = Index{1} << 21, bytes_of_sums = Index{3} << 19;  // cached

// Columns of b that are packed together where they are not all: reads that lie far apart have
// longer runs, and the buffer fits on the smallest of stacks.
template <class T> constexpr Index packed_columns = 2 * tile_columns<T>;
template <class T> constexpr Index wide = 4 * tile_columns<T>;

// Packs whole strips (or panels) of lines that lie side by side, several at a time: k reads that
// are far apart have a longer run of neighbours each.
template <class T, Index lines>
void pack_side_by_side(Index k, Index strips, const T* from, Index step, T* to) {
    for (Index p = 0; p < k; ++p) {
        for (Index s = 0; s < strips; ++s) {
            std::memcpy(to + (s * k + p) * lines, from + p * step + s * lines, lines * sizeof(T));
        }
    }
}

// Packs `count` lines of k elements so that element p of all lines lies in to[p * to_row ...].
template <class T>
void pack(Index k, Index count, const T* from, Index line, Index step, T* to, Index to_row) {
    if (step == 1) return transpose(count, k, from, line, to, to_row);
    for (Index i = 0; i < count; ++i) {
        for (Index p = 0; p < k; ++p) to[p * to_row + i] = from[i * line + p * step];
    }
}

// Brings `columns` columns of b into a panel, filled up with zeros.
template <class T> void pack_panel(Index k, Index columns, Matrix<T> b, T* panel) {
    constexpr Index w = tile_columns<T>;
    if (columns < w) std::fill_n(panel, k * w, T(0));
    pack(k, columns, b.data, b.column, b.row, panel, w);
}

// Whether what a tile reads of a side by side would push itself out of the cache, or lies on many
// pages: then it is packed, which only pays if several panels of b pass by.
template <class T> bool is_awkward(Index m, Index n, Matrix<T> a) {
    constexpr Index page = 4096;
    if (n < 4 * tile_columns<T> || m < tile_rows) return false;
    constexpr Index size = static_cast<Index>(sizeof(T));
    if (a.column == 1) return a.row * size % page == 0;
    return a.row != 1 || a.column * size >= page / 8;
}

// Packs all of a: strip after strip, each with its k columns one after the other.
template <class T> void pack_strips(Index m, Index k, Matrix<T> a, T* to) {
    Index grain = std::max<Index>(1, packed_of_piece / (strip_rows * k + 1));
    parallel_for((m + strip_rows - 1) / strip_rows, grain, [=](Index begin, Index end) {
        Index i = begin * strip_rows;
        if (a.row == 1) {
            Index whole = std::min(end, m / strip_rows) - begin;
            pack_side_by_side<T, strip_rows>(k, whole, a.data + i, a.column, to + i * k);
            i += whole * strip_rows;
        }
        for (; i < std::min(m, end * strip_rows); i += strip_rows) {
            Index rows = std::min<Index>(strip_rows, m - i);
            pack(k, rows, a.data + i * a.row, a.row, a.column, to + i * k, rows);
        }
    });
}

// Packs columns of b, panel after panel.
template <class T> void pack_columns(Index n, Index k, Matrix<T> b, T* to) {
    Index w = tile_columns<T>, j = 0;
    if (b.column == 1) {
        pack_side_by_side<T, tile_columns<T>>(k, n / w, b.data, b.row, to);
        j = n / w * w;
    }
    for (; j < n; j += w) pack_panel(k, std::min(w, n - j), b.from(0, j), to + j * k);
}

// Packs all of b.
template <class T> void pack_panels(Index n, Index k, Matrix<T> b, T* to) {
    Index w = tile_columns<T>;
    Index grain = std::max<Index>(1, packed_of_piece / (w * k + 1));
    parallel_for((n + w - 1) / w, grain, [=](Index begin, Index end) {
        Index j = begin * w;
        pack_columns(std::min(n, end * w) - j, k, b.from(0, j), to + j * k);
    });
}

template <class T> Index padded(Index n) {
    return (n + tile_columns<T> - 1) / tile_columns<T> * tile_columns<T>;
}

// The rows and columns that make a piece.
template <class T> std::pair<Index, Index> piece_of(Index m, Index n, Index k) {
    auto in_blocks = [m](Index blocks) {  // equal ones, of whole strips
        return ((m + blocks - 1) / blocks + strip_rows - 1) / strip_rows * strip_rows;
    };
    Index blocks = (m + rows_of_piece - 1) / rows_of_piece;
    Index rows = in_blocks(blocks);
    Index pieces = std::clamp<Index>(m * n * k / work_of_piece, 1, most_pieces);
    Index columns = n * blocks / pieces;
    // A piece takes its rows of a, 'depth' columns at a time, into the cache for all its panels.
    if (k > depth && columns < wide<T>) {
        columns = std::min(n, wide<T>);
        Index down = pieces * columns / n;
        if (blocks > 1 && down > blocks) {
            rows = in_blocks(std::min(down, std::max(blocks, m / least_rows)));
        }
    }
    return {rows, padded<T>(std::clamp<Index>(columns, 1, n))};
}

// out = a b + bias or out += a b + bias; the parts that one thread computes in one go.
template <class T> struct Product {
    Index m, k;
    Matrix<T> a, b;
    T* out;
    Index row;
    const T* bias;
    bool add;
    const T *strips_of_a = nullptr, *panels_of_b = nullptr;  // all of them, where they are packed

    // `rows` rows from i and `n` columns from j of the result; i begins a strip and j a panel.
    void compute(Index i, Index rows, Index j, Index n) const {
        constexpr Index w = tile_columns<T>;
        alignas(alignment) T buffer[depth * packed_columns<T>];
        const bool in_place = b.column == 1 && rows <= rows_read_in_place;
        Index start = 0, unseen = 0;  // multiplications since the last look for signals
        do {
            Index count = std::min(depth, k - start);
            for (Index at = j, end; at < j + n; at = end) {
                end = std::min(j + n, at + (in_place ? w : packed_columns<T>));
                unseen += rows * count * (end - at);
                if (unseen > work_between_looks) {
                    poll();
                    unseen = 0;
                }
                const T* source = buffer;
                Index source_row = w;
                if (panels_of_b != nullptr) {
                    source = panels_of_b + at * k + start * w;
                } else if (in_place && end - at == w) {
                    source = b.from(start, at).data;
                    source_row = b.row;
                } else {
                    pack_columns(end - at, count, b.from(start, at), buffer);
                }
                Index panel = panels_of_b != nullptr ? k : count;  // its rows
                for (; at < end; at += w, source += panel * w) {
                    down(i, rows, at, std::min(w, end - at), start, count, source, source_row);
                }
            }
            start += count;
        } while (start < k);
    }

private:
    // Two tiles of middling height are faster than a whole one and one of too few rows, whose sums
    // wait for each other. A tile lies in one strip.
    Index rows_of_tile(Index i, Index rest) const {
        bool splits = rest > tile_rows && rest < tile_rows + fewest_rows;
        if (splits && (strips_of_a == nullptr || i % strip_rows == 0)) return (rest + 1) / 2;
        return std::min<Index>(tile_rows, rest);
    }

    Matrix<T> packed(Index i, Index start) const {
        Index first = i / strip_rows * strip_rows;
        Index lines = std::min<Index>(strip_rows, m - first);
        return {strips_of_a + first * k + start * lines + (i - first), 1, lines};
    }

    // One panel of b passes by the rows.
    void down(Index i, Index rows_of_all, Index j, Index columns, Index start, Index count,
              const T* panel, Index panel_row) const {
        constexpr Index w = tile_columns<T>;
        const Tile<T>* table = tiles<T>();
        const T* added = bias != nullptr && start + count == k ? bias + j : nullptr;
        bool again = add || start > 0;
        for (Index end = i + rows_of_all, rows; i < end; i += rows) {
            rows = rows_of_tile(i, end - i);
            Matrix<T> left = a.from(i, start);
            if (strips_of_a != nullptr) left = packed(i, start);
            T* to = out + i * row + j;
            if (columns == w) {
                table[rows](count, left, panel, panel_row, to, row, again, added);
                continue;
            }
            T edge[tile_rows * w];
            table[rows](count, left, panel, panel_row, edge, w, false, nullptr);
            for (Index r = 0; r < rows; ++r) {
                for (Index c = 0; c < columns; ++c) {
                    T sum = edge[r * w + c];
                    if (again) sum += to[r * row + c];
                    if (added != nullptr) sum += added[c];
                    to[r * row + c] = sum;
                }
            }
        }
    }
};

}  // namespace

template <class T>
Panels<T>::Panels(Index columns, Index depth_of, Matrix<T> b)
    : n(columns), k(depth_of),
      packed_(b.data, Preparation::panels, {n, k, b.row, b.column}, padded<T>(n) * k,
              [&](T* to) { pack_panels(n, k, b, to); }) {}

template <class T>
void multiply_here(Index m, Matrix<T> a, const Panels<T>& b, T* out, Index row, const T* bias,
                   Write write) {
    Product<T> product{m, b.k, a, {}, out, row, bias, write == Write::add, nullptr, b.data()};
    for (Index i = 0; i < m; i += rows_of_piece) {
        product.compute(i, std::min(rows_of_piece, m - i), 0, b.n);
    }
}

template <class T>
void multiply_here(Index m, Index n, Index k, Matrix<T> a, Matrix<T> b, T* out, Index row,
                   const T* bias, Write write) {
    Product<T> product{m, k, a, b, out, row, bias, write == Write::add};
    for (Index i = 0; i < m; i += rows_of_piece) {
        product.compute(i, std::min(rows_of_piece, m - i), 0, n);
    }
}

// How much of long sums is computed at a time, so that what is packed of them stays in the cache.
template <class T> Index part_of(Index m, Index n, Index k) {
    constexpr Index size = static_cast<Index>(sizeof(T));
    if ((m + n) * k * size <= bytes_of_packed || m * n * size > bytes_of_sums) return k;
    return (work_of_part / (m * n * depth) + 1) * depth;
}

template <class T>
void multiply(Index m, Index n, Index k, Matrix<T> a, Matrix<T> b, T* out, Index row,
              const T* bias, Write write) {
    if (m == 0 || n == 0) return;
    const Index part = part_of<T>(m, n, k);
    if (part < k && !is_frozen(b.data)) {
        for (Index start = 0; start < k; start += part) {
            const bool is_last = start + part >= k;
            multiply(m, n, std::min(part, k - start), a.from(0, start), b.from(start, 0), out, row,
                     is_last ? bias : nullptr, start > 0 ? Write::add : write);
        }
        return;
    }
    const auto [height, width] = piece_of<T>(m, n, k);
    const Index rows = height, columns = width;  // a lambda takes no structured bindings
    Index across = (n + columns - 1) / columns, down = (m + rows - 1) / rows;
    Product<T> product{m, k, a, b, out, row, bias, write == Write::add};
    bool packs_a = is_awkward(m, n, a), packs_b = down > 1 || is_frozen(b.data);
    Scratch<T> left(packs_a ? m * k : 0);
    std::optional<Panels<T>> right;
    if (packs_a) {
        pack_strips(m, k, a, left.data());
        product.strips_of_a = left.data();
    }
    if (packs_b) {
        right.emplace(n, k, b);
        product.panels_of_b = right->data();
    }
    parallel_for(across * down, 1, [&](Index begin, Index end) {
        for (Index piece = begin; piece < end; ++piece) {
            Index i = piece / across * rows, j = piece % across * columns;
            product.compute(i, std::min(rows, m - i), j, std::min(columns, n - j));
        }
    });
}

// out[r] = x . (row r of w) for `rows` rows; each sum has the same order whatever `rows` is.
template <class T, int rows>
inline void dot_rows(Index count, const T* x, const T* w, Index w_row, T* out) {
    using V = Register<T>;
    Vector<T> sums[rows] = {};
    Index i = 0;
    for (; i + lanes<T> <= count; i += lanes<T>) {
#pragma GCC unroll 8
        for (int c = 0; c < registers; ++c) {
            const Index at = i + c * register_lanes<T>;
            const V value = load_as<V>(x + at);
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r) {
                V& sum = sums[r].part[c];
                sum = multiply_add(value, load_as<V>(w + r * w_row + at), sum);
            }
        }
        // Rows are too short for the processor to see in time where it goes on.
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) __builtin_prefetch(w + (rows + r) * w_row + i);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        T total = sum_lanes(sums[r]);
        for (Index rest = i; rest < count; ++rest) total += x[rest] * w[r * w_row + rest];
        out[r] = total;
    }
}

template <class T> T dot_product(Index count, const T* x, const T* y) {
    T result;
    dot_rows<T, 1>(count, x, y, 0, &result);
    return result;
}

template <class T>
void multiply_vector(Index n, Index k, Matrix<T> w, const T* x, T* out, const T* bias) {
    // Memory bounds it: so it takes longer than its multiplications.
    Index pieces = std::max<Index>(1, n * k / (work_of_piece / 24));
    parallel_for(n, (n + pieces - 1) / pieces, [&](Index begin, Index end) {
        Index j = begin;
        for (; j + 2 <= end; j += 2) dot_rows<T, 2>(k, x, w.data + j * w.row, w.row, out + j);
        for (; j < end; ++j) dot_rows<T, 1>(k, x, w.data + j * w.row, w.row, out + j);
        if (bias == nullptr) return;
        for (j = begin; j < end; ++j) out[j] += bias[j];
    });
}

#define NNKIT_PRODUCTS(T)                                                                        \
    template class Panels<T>;                                                                    \
    template void multiply(Index, Index, Index, Matrix<T>, Matrix<T>, T*, Index, const T*, Write); \
    template void multiply_here(Index, Index, Index, Matrix<T>, Matrix<T>, T*, Index, const T*,  \
                                Write);                                                          \
    template void multiply_here(Index, Matrix<T>, const Panels<T>&, T*, Index, const T*, Write); \
    template void multiply_vector(Index, Index, Matrix<T>, const T*, T*, const T*);              \
    template T dot_product(Index, const T*, const T*);

NNKIT_PRODUCTS(float)
NNKIT_PRODUCTS(double)

}  // namespace nnkit
