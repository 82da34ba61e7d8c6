// Products of matrices of integers: to rows of the result, which stay in the first cache, multiples
// of the rows of the second factor are added.
#include "integer_product.h"

#include <algorithm>
#include <type_traits>

#include "memory.h"
#include "owned.h"
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = Index{1} << 18;  // multiplications
constexpr Index widest_tile = 1024;              // columns of the result at a time

// out[j] += sum over four k of a[k] b[k][j]
template <class T>
void add_rows(Index width, const T* a, const T* b, Index step, T* __restrict out) {
    const T *b1 = b + step, *b2 = b1 + step, *b3 = b2 + step;
    const T a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    for (Index j = 0; j < width; ++j) {
        const T low = static_cast<T>(a0 * b[j] + a1 * b1[j]);
        const T high = static_cast<T>(a2 * b2[j] + a3 * b3[j]);
        out[j] = static_cast<T>(out[j] + low + high);
    }
}

// The row a (1 x k) times b (k x n, of which `width` columns are taken).
template <class T>
void multiply_row(Index width, Index k, const T* a, const T* b, Index n, T* __restrict out) {
    std::fill_n(out, width, T(0));
    Index p = 0;
    for (; p + 4 <= k; p += 4) add_rows(width, a + p, b + p * n, n, out);
    for (; p < k; ++p) {
        for (Index j = 0; j < width; ++j) out[j] = static_cast<T>(out[j] + a[p] * b[p * n + j]);
    }
}

// `count` products of m x k with k x n; `b_step` is from one second factor to the next.
template <class T>
void multiply_all(Index count, Index m, Index n, Index k, const T* a, const T* b, Index b_step,
                  T* out) {
    const Index grain = std::max<Index>(1, work_of_piece / std::max<Index>(1, n * k));
    parallel_for(count * m, grain, [&](Index begin, Index end) {
        for (Index start = 0; start < n; start += widest_tile) {
            const Index width = std::min(widest_tile, n - start);
            for (Index row = begin; row < end; ++row) {
                multiply_row(width, k, a + row * k, b + row / m * b_step + start, n,
                             out + row * n + start);
            }
        }
    });
}

template <class T> PyObject* product_of(Array x, Array y) {
    using Bits = std::make_unsigned_t<T>;  // whose overflow is defined
    const bool is_vector = y.ndim() == 1, stacked = y.ndim() > 2;
    const int last = x.ndim() - 1;
    const Index k = x.shape(-1), n = is_vector ? 1 : y.shape(-1);
    if (k != y.shape(is_vector ? 0 : -2)) return decline();
    if (stacked) {
        if (x.ndim() != y.ndim()) return decline();
        if (!std::equal(x.shape(), x.shape() + last - 1, y.shape())) return decline();
    }
    npy_intp shape[NPY_MAXDIMS];
    std::copy_n(x.shape(), last, shape);
    shape[last] = n;
    Owned a = in_order(x), b = in_order(y);
    Owned result(empty(is_vector ? last : last + 1, shape, PyArray_DescrFromType(x.number())));
    if (!a || !b || !result) return nullptr;
    const Index rows = result.array().size() == 0 ? 0 : result.array().size() / n;
    const Index m = stacked ? x.shape(-2) : std::max<Index>(1, rows);
    multiply_all(m == 0 ? 0 : rows / m, m, n, k, a.array().data<Bits>(), b.array().data<Bits>(),
                 stacked ? k * n : 0, result.array().data<Bits>());
    return result.release();
}

}  // namespace

PyObject* integer_matmul(Array x, Array y) {
    if (x.type() != y.type() || x.ndim() < 1 || y.ndim() < 1) return decline();
    if (!x.is_behaved() || !y.is_behaved()) return decline();
    switch (x.type()) {
        case Type::uint8: return product_of<std::uint8_t>(x, y);
        case Type::int8: return product_of<std::int8_t>(x, y);
        case Type::int16: return product_of<std::int16_t>(x, y);
        case Type::int32: return product_of<std::int32_t>(x, y);
        case Type::int64: return product_of<std::int64_t>(x, y);
        default: return decline();
    }
}

}  // namespace nnkit
