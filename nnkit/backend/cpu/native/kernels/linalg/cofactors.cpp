// Transposed matrices of cofactors: of two and of three rows from their elements.
#include <algorithm>
#include <cmath>
#include <limits>

#include "memory.h"
#include "owned.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index matrices_of_piece = 4096;

template <class T> void adjugate_of_two(const T* x, T* out) {
    out[0] = x[3];
    out[1] = -x[1];
    out[2] = -x[2];
    out[3] = x[0];
}

// The products cancel, so that they are computed in double.
template <class T> void adjugate_of_three(const T* x, T* out) {
    for (int i = 0; i < 3; ++i) {
        const int a = (i + 1) % 3, b = (i + 2) % 3;
        for (int j = 0; j < 3; ++j) {
            const T *above = x + (j + 1) % 3 * 3, *below = x + (j + 2) % 3 * 3;
            const double one = static_cast<double>(above[a]) * below[b];
            out[i * 3 + j] = static_cast<T>(one - static_cast<double>(above[b]) * below[a]);
        }
    }
}

template <class T> PyObject* adjugate_of(Array x) {
    Owned result(empty_like(x));
    if (!result) return nullptr;
    const Index rows = x.shape(-1), size = rows * rows;
    const T* in = x.data<T>();
    T* out = result.array().data<T>();
    parallel_for(x.size() / size, matrices_of_piece, [=](Index begin, Index end) {
        for (Index m = begin; m < end; ++m) {
            const T* matrix = in + m * size;
            if (rows == 2) adjugate_of_two(matrix, out + m * size);
            else adjugate_of_three(matrix, out + m * size);
            bool finite = true;
            for (Index i = 0; i < size; ++i) finite &= std::isfinite(matrix[i]);
            if (!finite) std::fill_n(out + m * size, size, std::numeric_limits<T>::quiet_NaN());
        }
    });
    return result.release();
}

// adjugate(x)
PyObject* adjugate(Arguments arguments) {
    const Array x = arguments.array(0);
    if (!x || !x.is_plain() || x.ndim() < 2 || x.shape(-1) != x.shape(-2)) return decline();
    if (x.shape(-1) != 2 && x.shape(-1) != 3) return decline();
    if (x.type() == Type::float32) return adjugate_of<float>(x);
    return x.type() == Type::float64 ? adjugate_of<double>(x) : decline();
}

Registration adjugate_("adjugate", adjugate);

}  // namespace
}  // namespace nnkit
