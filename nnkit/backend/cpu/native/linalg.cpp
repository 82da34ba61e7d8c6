// Products of vectors, matrices and stacks of matrices, and linear layers.
#include "array.h"
#include "memory.h"
#include "parallel.h"
#include "product.h"

namespace nnkit {
namespace {

constexpr Index tiny = 256;            // multiplications up to which plain loops are quickest

// The last two axes of an array; false where elements do not lie at whole distances.
template <class T> bool as_matrix(Array x, Matrix<T>* out) {
    int last = x.ndim() - 1;
    Index row = x.strides()[last - 1], column = x.strides()[last];
    Index size = static_cast<Index>(sizeof(T));
    if (row % size != 0 || column % size != 0) return false;
    *out = {x.data<T>(), row / size, column / size};
    return true;
}

// All leading axes of x as one: its rows. False where they are not equally far apart.
template <class T> bool as_rows(Array x, Index* rows, Matrix<T>* out) {
    if (x.ndim() == 2) {
        *rows = x.shape(0);
        return as_matrix(x, out);
    }
    if (x.ndim() < 2 || !x.is_plain()) return false;
    Index columns = x.shape(-1);
    *rows = 1;
    for (int i = 0; i < x.ndim() - 1; ++i) *rows *= x.shape(i);
    *out = {x.data<T>(), columns, 1};
    return true;
}

template <class T>
void product(Index m, Index n, Index k, Matrix<T> a, Matrix<T> b, T* out, const T* bias) {
    if (m * n * k <= tiny) {
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < n; ++j) {
                T sum = 0;
                const T* x = a.data + i * a.row;
                const T* y = b.data + j * b.column;
                for (Index p = 0; p < k; ++p) sum += x[p * a.column] * y[p * b.row];
                out[i * n + j] = bias != nullptr ? sum + bias[j] : sum;
            }
        }
    } else {
        multiply(m, n, k, a, b, out, n, bias);
    }
}

template <class T> PyObject* linear_of(Array x, Array weight, Array bias) {
    Index m, k = x.shape(-1), n = weight.shape(0);
    Matrix<T> a, w;
    if (weight.shape(1) != k || !as_rows(x, &m, &a) || !as_matrix(weight, &w)) return decline();
    if (bias && (bias.ndim() != 1 || bias.shape(0) != n)) return decline();
    npy_intp shape[NPY_MAXDIMS];
    std::copy(x.shape(), x.shape() + x.ndim(), shape);
    shape[x.ndim() - 1] = n;
    PyObject* result = empty<T>(x.ndim(), shape);
    if (result == nullptr) return nullptr;
    product<T>(m, n, k, a, w.transposed(), Array(result).data<T>(),
               bias ? bias.data<T>() : nullptr);
    return result;
}

PyObject* linear(Arguments arguments) {
    Array x = arguments.array(0), weight = arguments.array(1), bias;
    if (arguments.count() != 3 || !x || !weight) return decline();
    Type type = x.type();
    if (weight.type() != type || x.ndim() < 2 || weight.ndim() != 2) return decline();
    if (!x.is_behaved() || !weight.is_behaved()) return decline();
    if (!arguments.is_none(2)) {
        bias = arguments.array(2);
        if (!bias || bias.type() != type || !bias.is_plain()) return decline();
    }
    if (type == Type::float32) return linear_of<float>(x, weight, bias);
    if (type == Type::float64) return linear_of<double>(x, weight, bias);
    return decline();
}

template <class T> PyObject* linear_grad_weight_of(Array g, Array x) {
    Index rows, also;
    Matrix<T> a, b;
    if (!as_rows(g, &rows, &a) || !as_rows(x, &also, &b) || rows != also) return decline();
    Index m = g.shape(-1), n = x.shape(-1);
    PyObject* result = empty<T>({m, n});
    if (result == nullptr) return nullptr;
    product<T>(m, n, rows, a.transposed(), b, Array(result).data<T>(), nullptr);
    return result;
}

PyObject* linear_grad_weight(Arguments arguments) {
    Array g = arguments.array(0), x = arguments.array(1);
    if (arguments.count() != 2 || !g || !x || g.type() != x.type()) return decline();
    if (!g.is_behaved() || !x.is_behaved()) return decline();
    if (g.type() == Type::float32) return linear_grad_weight_of<float>(g, x);
    if (g.type() == Type::float64) return linear_grad_weight_of<double>(g, x);
    return decline();
}

static Registration linear_("linear", linear);
static Registration linear_grad_weight_("linear_grad_weight", linear_grad_weight);

}  // namespace
}  // namespace nnkit
