// Cholesky's factor, some columns at a time: of what a column of the matrix has left when the columns
// of the factor before it are taken away. Those before the block are taken away by one product.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "columns.h"
#include "parallel.h"
#include "product.h"

namespace nnkit {
namespace {

constexpr Index columns_of_block = 64;
constexpr Index rows_of_piece = 512;
constexpr Index work_of_task = 65536;  // multiplications

// The factor takes the place of the lower half of a matrix that lies by columns.
template <class T> struct Factorization {
    Index count;
    T* matrix;

    // False where it is not positive definite.
    bool run() const {
        Scratch<T> negative(count > columns_of_block ? count * columns_of_block : 0);
        for (Index first = 0; first < count; first += columns_of_block) {
            const Index last = std::min(count, first + columns_of_block);
            if (first > 0) take_away(first, last, negative.data());
            if (!finish_diagonal(first, last)) return false;
            parallel_for((count - last + rows_of_piece - 1) / rows_of_piece, 1,
                         [&](Index begin, Index end) {
                             const Index stop = std::min(count, last + end * rows_of_piece);
                             for (Index i = last + begin * rows_of_piece; i < stop;
                                  i += rows_of_piece) {
                                 finish(first, last, i, std::min(stop, i + rows_of_piece));
                             }
                         });
        }
        return true;
    }

private:
    T* column(Index j) const { return matrix + j * count; }

    // Takes the columns before a block away from it.
    void take_away(Index first, Index last, T* negative) const {
        const Index width = last - first;
        for (Index k = 0; k < first; ++k) {
            for (Index j = 0; j < width; ++j) negative[k * width + j] = -column(k)[first + j];
        }
        multiply<T>(width, count - first, first, {negative, 1, width}, {matrix + first, count, 1},
                    column(first) + first, count, nullptr, Write::add);
    }

    // Takes the columns from `first` to j away from rows of column j.
    void take_away_within(Index first, Index j, Index begin, Index end) const {
        T* own = column(j);
        for (Index k = first; k < j; ++k) {
            const T *before = column(k), factor = before[j];
            for (Index i = begin; i < end; ++i) own[i] -= before[i] * factor;
        }
    }

    bool finish_diagonal(Index first, Index last) const {
        for (Index j = first; j < last; ++j) {
            T* own = column(j);
            std::fill_n(own, j, T(0));
            take_away_within(first, j, j, last);
            if (!(own[j] > T(0)) || std::isinf(own[j])) return false;
            own[j] = std::sqrt(own[j]);
            for (Index i = j + 1; i < last; ++i) own[i] /= own[j];
        }
        return true;
    }

    // Rows below the diagonal block.
    void finish(Index first, Index last, Index begin, Index end) const {
        for (Index j = first; j < last; ++j) {
            T* own = column(j);
            take_away_within(first, j, begin, end);
            for (Index i = begin; i < end; ++i) own[i] /= own[j];
        }
    }
};

template <class T> PyObject* cholesky_of(Array x) {
    Owned result = by_columns<T>(x);
    if (!result) return nullptr;
    const Index count = x.shape(-1), size = count * count;
    T* matrices = result.array().data<T>();
    std::atomic<bool> succeeds{true};
    const Index grain = std::max<Index>(1, work_of_task / (size * count));
    parallel_for(x.size() / size, grain, [&](Index begin, Index end) {
        for (Index m = begin; m < end; ++m) {
            poll();
            if (!Factorization<T>{count, matrices + m * size}.run()) succeeds = false;
        }
    });
    if (!succeeds) return decline();  // the twin says which one
    return with_axis_moved(result.array(), x.ndim() - 2, x.ndim() - 1);
}

PyObject* cholesky(Arguments arguments) {
    const Array x = arguments.array(0);
    if (!x || x.ndim() < 2 || x.size() == 0 || x.shape(-1) != x.shape(-2)) return decline();
    if (x.type() == Type::float32) return cholesky_of<float>(x);
    return x.type() == Type::float64 ? cholesky_of<double>(x) : decline();
}

// cholesky_info(x): 0 for each matrix where all are positive definite.
PyObject* cholesky_info(Arguments arguments) {
    const Owned factors(cholesky(arguments));
    if (!factors) return nullptr;  // the twin looks at one after the other
    const Array x = arguments.array(0);
    Owned result(empty(x.ndim() - 2, x.shape(), PyArray_DescrFromType(NPY_INT32)));
    if (result) std::fill_n(result.array().data<std::int32_t>(), result.array().size(), 0);
    return result.release();
}

Registration cholesky_("cholesky", cholesky), cholesky_info_("cholesky_info", cholesky_info);

}  // namespace
}  // namespace nnkit
