// Cholesky's factor of small matrices, a column at a time: of what a column of the matrix has left
// when the columns of the factor before it are taken away.
#include <algorithm>
#include <cmath>

#include "columns.h"

namespace nnkit {
namespace {

// From the lower half of a matrix that lies by columns; false where it is not positive definite.
template <class T> bool factor(Index count, T* matrix) {
    for (Index j = 0; j < count; ++j) {
        T* column = matrix + j * count;
        std::fill_n(column, j, T(0));
        for (Index k = 0; k < j; ++k) {
            const T* before = matrix + k * count;
            for (Index i = j; i < count; ++i) column[i] -= before[i] * before[j];
        }
        if (!(column[j] > T(0)) || std::isinf(column[j])) return false;
        const T root = column[j] = std::sqrt(column[j]);
        for (Index i = j + 1; i < count; ++i) column[i] /= root;
    }
    return true;
}

template <class T> PyObject* cholesky_of(Array x) {
    Owned result = by_columns<T>(x);
    if (!result) return nullptr;
    const Index count = x.shape(-1), size = count * count;
    T* matrix = result.array().data<T>();
    for (Index m = 0; m < x.size() / size; ++m, matrix += size) {
        if (!factor(count, matrix)) return decline();  // the twin says which one
    }
    return with_axis_moved(result.array(), x.ndim() - 2, x.ndim() - 1);
}

PyObject* cholesky(Arguments arguments) {
    const Array x = arguments.array(0);
    if (!x || x.ndim() < 2 || x.size() == 0 || x.shape(-1) > most_rows) return decline();
    if (x.shape(-1) != x.shape(-2)) return decline();
    if (x.type() == Type::float32) return cholesky_of<float>(x);
    return x.type() == Type::float64 ? cholesky_of<double>(x) : decline();
}

Registration cholesky_("cholesky", cholesky);

}  // namespace
}  // namespace nnkit
