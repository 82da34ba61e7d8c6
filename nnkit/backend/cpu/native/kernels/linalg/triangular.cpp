// Systems of equations with triangular matrices, by substitution. The unknowns of a few right sides
// lie next to each other, so each is found by one product of a row with those that are known. Of many
// sides the same unknowns do, and those of a block are found from the blocks before by one product
// of matrices.
#include <algorithm>

#include "columns.h"
#include "parallel.h"
#include "product.h"
#include "rows.h"
#include "transpose.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = 32768;  // multiply-adds
constexpr Index rows_of_block = 64, sides_of_piece = 256;
constexpr Index fewest_rows = 24, fewest_sides = 8;  // for blocks

struct Triangle {
    Index count;
    bool upper, has_ones;
};

// x out = out, where a row of x has `count` elements.
template <class T> void substitute(const Triangle& triangle, const T* x, T* out) {
    const Index count = triangle.count;
    for (Index step = 0; step < count; ++step) {
        const Index i = triangle.upper ? count - 1 - step : step;
        const Index first = triangle.upper ? i + 1 : 0;
        const T* row = x + i * count;
        const T rest = out[i] - sum_of<T>(step, [](auto a, auto b) { return a * b; },
                                          row + first, static_cast<const T*>(out + first));
        out[i] = triangle.has_ones ? rest : rest / row[i];
    }
}

// x out = out for many right sides: `out` lies by rows.
template <class T> struct Blocks {
    Triangle triangle;
    const T* x;
    Index sides;
    T* out;

    void run() const {
        const Index count = triangle.count;
        Scratch<T> negative(count * rows_of_block);
        for (Index done = 0; done < count; done += rows_of_block) {
            const Index rows = std::min(rows_of_block, count - done);
            const Index first = triangle.upper ? count - done - rows : done;
            if (done > 0) take_away(first, rows, done, negative.data());
            parallel_for((sides + sides_of_piece - 1) / sides_of_piece, 1,
                         [&](Index begin, Index end) {
                             for (Index at = begin * sides_of_piece;
                                  at < std::min(sides, end * sides_of_piece);
                                  at += sides_of_piece) {
                                 finish(first, rows, at, std::min(sides, at + sides_of_piece));
                             }
                         });
        }
    }

private:
    // Takes what is known away from the rows of a block.
    void take_away(Index first, Index rows, Index known, T* negative) const {
        const Index from = triangle.upper ? first + rows : 0;
        for (Index i = 0; i < rows; ++i) {
            const T* row = x + (first + i) * triangle.count + from;
            for (Index k = 0; k < known; ++k) negative[i * known + k] = -row[k];
        }
        multiply<T>(rows, sides, known, {negative, known, 1}, {out + from * sides, sides, 1},
                    out + first * sides, sides, nullptr, Write::add);
    }

    void finish(Index first, Index rows, Index begin, Index end) const {
        for (Index step = 0; step < rows; ++step) {
            const Index i = triangle.upper ? first + rows - 1 - step : first + step;
            const T* row = x + i * triangle.count;
            T* own = out + i * sides;
            for (Index k = triangle.upper ? i + 1 : first; k < (triangle.upper ? first + rows : i);
                 ++k) {
                const T* known = out + k * sides;
                for (Index s = begin; s < end; ++s) own[s] -= row[k] * known[s];
            }
            if (triangle.has_ones) continue;
            for (Index s = begin; s < end; ++s) own[s] /= row[i];
        }
    }
};

template <class T> Owned solve_by_sides(const Triangle& triangle, const T* matrices, Array y) {
    Owned result = by_columns<T>(y);
    if (!result) return result;
    const Index count = triangle.count, sides = y.shape(-1);
    T* out = result.array().data<T>();
    const Index grain = std::max<Index>(1, work_of_piece / (count * count / 2 + 1));
    parallel_for(count == 0 ? 0 : y.size() / count, grain, [&](Index begin, Index end) {
        for (Index side = begin; side < end; ++side) {
            substitute(triangle, matrices + side / sides * count * count, out + side * count);
        }
    });
    return result;
}

template <class T> Owned solve_by_blocks(const Triangle& triangle, const T* matrices, Array y) {
    Owned rows = in_order(y), turned(with_axis_moved(y, y.ndim() - 2, y.ndim() - 1));
    if (!rows || !turned) return Owned();
    Owned result(empty<T>(y.ndim(), turned.array().shape()));
    if (!result) return result;
    const Index count = triangle.count, sides = y.shape(-1), size = count * sides;
    const T* given = rows.array().data<T>();
    T* out = result.array().data<T>();
    const Index grain = std::max<Index>(1, work_of_piece / (size * count / 2 + 1));
    parallel_for(y.size() / size, grain, [&](Index begin, Index end) {
        Scratch<T> solution(size);
        for (Index m = begin; m < end; ++m) {
            poll();
            std::copy_n(given + m * size, size, solution.data());
            Blocks<T>{triangle, matrices + m * count * count, sides, solution.data()}.run();
            transpose(count, sides, solution.data(), sides, out + m * size, count);
        }
    });
    return result;
}

template <class T> PyObject* solve(const Triangle& triangle, Array x, Array y) {
    const bool is_large = triangle.count >= fewest_rows && y.shape(-1) >= fewest_sides;
    Owned result = y.size() > 0 && is_large ? solve_by_blocks(triangle, x.data<T>(), y)
                                            : solve_by_sides(triangle, x.data<T>(), y);
    return result ? with_axis_moved(result.array(), y.ndim() - 2, y.ndim() - 1) : nullptr;
}

PyObject* solve_triangular(Arguments arguments) {
    const Array x = arguments.array(0), y = arguments.array(1);
    if (!x || !y || x.ndim() < 2 || x.ndim() != y.ndim() || x.type() != y.type()) return decline();
    if (x.shape(-1) != x.shape(-2) || x.shape(-1) != y.shape(-2)) return decline();
    if (!PyArray_CompareLists(x.shape(), y.shape(), x.ndim() - 2)) return decline();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    const Triangle triangle{x.shape(-1), arguments.truth(2), arguments.truth(3)};
    Owned rows = in_order(x);
    if (!rows) return nullptr;
    return x.type() == Type::float32 ? solve<float>(triangle, rows.array(), y)
                                     : solve<double>(triangle, rows.array(), y);
}

Registration solve_triangular_("solve_triangular", solve_triangular);

}  // namespace
}  // namespace nnkit
