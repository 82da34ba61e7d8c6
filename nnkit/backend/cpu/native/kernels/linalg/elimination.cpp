// L and U of matrices, by Gauss with partial pivots, a column at a time, and what small ones solve.
// A matrix lies by columns, as the result does, so a column of L goes from each of those beside it
// in one piece.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "columns.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = 32768;  // multiply-subtractions
constexpr Index tiny = 5;  // smaller square matrices torch's LAPACK rounds in a way of its own

struct Sizes {
    Index rows, columns;
    Index steps() const { return std::min(rows, columns); }
};

// The row of the largest number from row k on, the first one; of the first NaN if there is one.
template <class T> Index pivot_row(const T* column, Index k, Index rows) {
    Index chosen = k;
    for (Index i = k; i < rows; ++i) {
        if (column[i] != column[i]) return i;
        if (std::fabs(column[i]) > std::fabs(column[chosen])) chosen = i;
    }
    return chosen;
}

// What is below a pivot divided by it, rounded as torch's LAPACK does.
template <class T> void scale_below(const Sizes& sizes, T* column, Index k) {
    const T pivot = column[k] == T(0) ? T(1) : column[k], scale = T(1) / pivot;
    const bool is_tiny = sizes.rows == sizes.columns && sizes.rows < tiny;
    if ((is_tiny && k == sizes.rows - 2) || std::isinf(scale)) {
        for (Index i = k + 1; i < sizes.rows; ++i) column[i] /= pivot;
    } else {
        for (Index i = k + 1; i < sizes.rows; ++i) column[i] *= scale;
    }
}

// Leaves L and U in a matrix; returns the first step, from 1 on, whose pivot is 0, else 0.
template <class T> std::int32_t eliminate(const Sizes& sizes, T* matrix, std::int32_t* pivots) {
    std::int32_t failed = 0;
    const Index rows = sizes.rows;
    for (Index k = 0; k < sizes.steps(); ++k) {
        T* column = matrix + k * rows;
        const Index chosen = pivot_row(column, k, rows);
        pivots[k] = static_cast<std::int32_t>(chosen + 1);
        if (chosen != k) {
            for (Index j = 0; j < sizes.columns; ++j) {
                std::swap(matrix[j * rows + k], matrix[j * rows + chosen]);
            }
        }
        if (column[k] == T(0) && failed == 0) failed = static_cast<std::int32_t>(k + 1);
        scale_below(sizes, column, k);
        for (Index j = k + 1; j < sizes.columns; ++j) {
            T* other = matrix + j * rows;
            const T factor = other[k];
            for (Index i = k + 1; i < rows; ++i) other[i] -= column[i] * factor;
        }
    }
    return failed;
}

// One right side, or what is found of it: first of L, then of U.
template <class T>
void substitute(Index count, const T* matrix, const std::int32_t* pivots, T* side) {
    for (Index k = 0; k < count; ++k) std::swap(side[k], side[pivots[k] - 1]);
    for (Index k = 0; k < count; ++k) {
        if (side[k] == T(0)) continue;  // of an inverse's half are
        for (Index i = k + 1; i < count; ++i) side[i] -= matrix[k * count + i] * side[k];
    }
    for (Index k = count - 1; k >= 0; --k) {
        side[k] /= matrix[k * count + k];
        for (Index i = 0; i < k; ++i) side[i] -= matrix[k * count + i] * side[k];
    }
}

// The solutions of x out = y, or the inverse where there is no y. Singular matrices, and those with
// NaN in them, are the twin's.
template <class T> PyObject* solve_small(Array x, Array y) {
    const int ndim = x.ndim();
    const Index count = x.shape(-1), sides = y ? y.shape(-1) : count, size = count * count;
    Owned factors = by_columns<T>(x), result;
    if (!factors) return nullptr;
    result = y ? by_columns<T>(y) : Owned(empty<T>(ndim, x.shape()));
    if (!result) return nullptr;
    T *matrix = factors.array().data<T>(), *side = result.array().data<T>();
    for (Index m = 0; m < x.size() / size; ++m, matrix += size) {
        std::int32_t pivots[most_rows];
        if (eliminate(Sizes{count, count}, matrix, pivots) != 0) return decline();
        for (Index i = 0; i < count; ++i) {
            if (matrix[i * count + i] != matrix[i * count + i]) return decline();
        }
        for (Index j = 0; j < sides; ++j, side += count) {
            if (!y) for (Index i = 0; i < count; ++i) side[i] = i == j;
            substitute(count, matrix, pivots, side);
        }
    }
    return with_axis_moved(result.array(), ndim - 2, ndim - 1);
}

PyObject* solve_any(Array x, Array y) {
    if (!x || x.ndim() < 2 || x.size() == 0 || x.shape(-1) > most_rows) return decline();
    if (x.shape(-1) != x.shape(-2)) return decline();
    if (x.type() == Type::float32) return solve_small<float>(x, y);
    return x.type() == Type::float64 ? solve_small<double>(x, y) : decline();
}

PyObject* inverse(Arguments arguments) { return solve_any(arguments.array(0), Array()); }

PyObject* solve(Arguments arguments) {
    const Array x = arguments.array(0), y = arguments.array(1);
    if (!x || !y || x.ndim() != y.ndim() || x.ndim() < 2 || x.type() != y.type()) return decline();
    if (!PyArray_CompareLists(x.shape(), y.shape(), x.ndim() - 1)) return decline();
    return solve_any(x, y);
}

template <class T> PyObject* factor(const Sizes& sizes, Array x) {
    const int ndim = x.ndim();
    Owned columns = by_columns<T>(x);
    npy_intp shape[most_axes];
    std::copy_n(x.shape(), ndim - 2, shape);
    shape[ndim - 2] = sizes.steps();
    Owned pivots(empty(ndim - 1, shape, PyArray_DescrFromType(NPY_INT32)));
    Owned info(empty(ndim - 2, shape, PyArray_DescrFromType(NPY_INT32)));
    if (!columns || !pivots || !info) return nullptr;
    T* matrices = columns.array().data<T>();
    auto* chosen = pivots.array().data<std::int32_t>();
    auto* failed = info.array().data<std::int32_t>();
    const Index size = sizes.rows * sizes.columns;
    const Index grain = std::max<Index>(1, work_of_piece / (size * sizes.steps() / 3 + 1));
    parallel_for(x.size() / size, grain, [&](Index begin, Index end) {
        for (Index m = begin; m < end; ++m) {
            failed[m] = eliminate(sizes, matrices + m * size, chosen + m * sizes.steps());
        }
    });
    PyObject* out = with_axis_moved(columns.array(), ndim - 2, ndim - 1);
    return tuple({out, pivots.release(), info.release()});
}

PyObject* lu_factor(Arguments arguments) {
    const Array x = arguments.array(0);
    if (!x || x.ndim() < 2 || x.size() == 0) return decline();
    const Sizes sizes{x.shape(-2), x.shape(-1)};
    if (x.type() == Type::float32) return factor<float>(sizes, x);
    return x.type() == Type::float64 ? factor<double>(sizes, x) : decline();
}

// pivot_order(pivots; size): the row that each row of the factors comes from.
PyObject* pivot_order(Arguments arguments) {
    const Array pivots = arguments.array(0);
    const Index size = arguments.integer(1);
    if (!pivots || pivots.type() != Type::int32 || !pivots.is_plain() || pivots.ndim() < 1 ||
        pivots.ndim() > most_axes || pivots.size() == 0) {
        return decline();
    }
    const Index steps = pivots.shape(-1);
    npy_intp shape[most_axes];
    std::copy_n(pivots.shape(), pivots.ndim(), shape);
    shape[pivots.ndim() - 1] = size;
    Owned result(empty<std::int64_t>(pivots.ndim(), shape));
    if (!result) return nullptr;
    const std::int32_t* chosen = pivots.data<std::int32_t>();
    std::int64_t* order = result.array().data<std::int64_t>();
    if (steps > size) return decline();
    for (Index m = 0; m < pivots.size() / steps; ++m, chosen += steps, order += size) {
        std::iota(order, order + size, std::int64_t{0});
        for (Index k = 0; k < steps; ++k) {
            if (chosen[k] < 1 || chosen[k] > size) return decline();
            std::swap(order[k], order[chosen[k] - 1]);
        }
    }
    return result.release();
}

Registration lu_factor_("lu_factor", lu_factor);
Registration pivot_order_("pivot_order", pivot_order);
Registration inverse_("inverse", inverse);
Registration solve_("solve", solve);

}  // namespace
}  // namespace nnkit
