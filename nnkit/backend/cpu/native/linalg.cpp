// Products of vectors, matrices and stacks of matrices, and linear layers.
#include <algorithm>

#include "array.h"
#include "memory.h"
#include "parallel.h"
#include "product.h"

namespace nnkit {
namespace {

constexpr Index tiny = 256;       // multiplications up to which plain loops are quickest
constexpr Index few_rows = 3;     // so many rows are taken one by one
constexpr Index work_alone = Index{1} << 18;  // multiplications of a stack that need no threads
constexpr Index elements_of_piece = 65536;
constexpr Index large = Index{1} << 22;       // of one product that several threads share

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
    if (!x.is_plain()) return false;
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
    } else if (m <= few_rows && b.row == 1 && a.column == 1) {
        for (Index i = 0; i < m; ++i) {
            multiply_vector(n, k, b.transposed(), a.data + i * a.row, out + i * n, bias);
        }
    } else {
        multiply(m, n, k, a, b, out, n, bias);
    }
}

// x times a matrix of x's last axis by n, for all rows of x.
template <class T> PyObject* rows_times(Array x, Index n, Matrix<T> y, const T* bias) {
    Index m, k = x.shape(-1);
    Matrix<T> a;
    if (!as_rows(x, &m, &a)) return decline();
    npy_intp shape[NPY_MAXDIMS];
    std::copy(x.shape(), x.shape() + x.ndim(), shape);
    shape[x.ndim() - 1] = n;
    PyObject* result = empty<T>(x.ndim(), shape);
    if (result != nullptr) product<T>(m, n, k, a, y, Array(result).data<T>(), bias);
    return result;
}

template <class T> PyObject* linear_of(Array x, Array weight, Array bias) {
    Matrix<T> w;
    if (!as_matrix(weight, &w)) return decline();
    return rows_times<T>(x, weight.shape(0), w.transposed(), bias ? bias.data<T>() : nullptr);
}

template <class T> PyObject* linear_grad_weight_of(Array g, Array x) {
    Index rows, also;
    Matrix<T> a, b;
    if (!as_rows(g, &rows, &a) || !as_rows(x, &also, &b) || rows != also) return decline();
    Index m = g.shape(-1), n = x.shape(-1);
    PyObject* result = empty<T>({m, n});
    if (result != nullptr) {
        product<T>(m, n, rows, a.transposed(), b, Array(result).data<T>(), nullptr);
    }
    return result;
}

// The leading axes of two stacks of matrices, broadcast; strides are in elements.
struct Stack {
    int ndim = 0;
    npy_intp shape[NPY_MAXDIMS];
    Index x[NPY_MAXDIMS], y[NPY_MAXDIMS];
    Index count = 1;

    template <class T> bool read(Array left, Array right) {
        ndim = std::max(left.ndim(), right.ndim()) - 2;
        for (int i = 0; i < ndim; ++i) {
            Index a = along<T>(left, i, x), b = along<T>(right, i, y);
            if (a < 0 || b < 0 || (a != b && a != 1 && b != 1)) return false;
            shape[i] = a == 1 ? b : a;
            count *= shape[i];
        }
        return true;
    }

    void offsets(Index position, Index* of_x, Index* of_y) const {
        *of_x = *of_y = 0;
        for (int i = ndim - 1; i >= 0; --i) {
            *of_x += position % shape[i] * x[i];
            *of_y += position % shape[i] * y[i];
            position /= shape[i];
        }
    }

private:
    // The length of `a` along axis i of the stack, -1 where its stride is odd.
    template <class T> Index along(Array a, int i, Index* strides) const {
        int axis = i - (ndim - (a.ndim() - 2));
        strides[i] = 0;
        if (axis < 0 || a.shape(axis) == 1) return 1;
        Index size = static_cast<Index>(sizeof(T));
        strides[i] = a.strides()[axis] / size;
        return a.strides()[axis] % size == 0 ? a.shape(axis) : -1;
    }
};

template <class T> PyObject* stacks(Array x, Array y) {
    Stack stack;
    Matrix<T> a, b;
    if (!stack.read<T>(x, y) || !as_matrix(x, &a) || !as_matrix(y, &b)) return decline();
    Index m = x.shape(-2), k = x.shape(-1), n = y.shape(-1);
    stack.shape[stack.ndim] = m;
    stack.shape[stack.ndim + 1] = n;
    PyObject* result = empty<T>(stack.ndim + 2, stack.shape);
    if (result == nullptr) return nullptr;
    T* out = Array(result).data<T>();
    auto some = [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            Index of_x, of_y;
            stack.offsets(i, &of_x, &of_y);
            product<T>(m, n, k, {a.data + of_x, a.row, a.column}, {b.data + of_y, b.row, b.column},
                       out + i * m * n, nullptr);
        }
    };
    Index work = std::max<Index>(1, m * n * k);
    if (work >= large) some(0, stack.count);  // the threads share each product
    else parallel_for(stack.count, std::max<Index>(1, work_alone / work), some);
    return result;
}

// x @ y for at least two axes each, and rows times a matrix or a vector.
template <class T> PyObject* matmul_of(Array x, Array y) {
    if (x.ndim() < 2 || y.ndim() < 1) return decline();
    if (x.shape(-1) != y.shape(y.ndim() == 1 ? 0 : -2)) return decline();
    if (y.ndim() > 2) return stacks<T>(x, y);
    Matrix<T> b;
    if (y.ndim() == 2) {
        return as_matrix(y, &b) ? rows_times<T>(x, y.shape(1), b, nullptr) : decline();
    }
    Index m;
    if (!y.is_plain() || !as_rows(x, &m, &b)) return decline();
    PyObject* result = empty<T>(x.ndim() - 1, x.shape());
    if (result == nullptr) return nullptr;
    T* out = Array(result).data<T>();
    if (b.column == 1) multiply_vector<T>(m, y.size(), b, y.data<T>(), out);
    else product<T>(1, m, y.size(), {y.data<T>(), 0, 1}, b.transposed(), out, nullptr);
    return result;
}

// out = beta input + alpha out, the input broadcast to the result's shape.
template <class T> bool add_scaled(Array out, Array input, double beta, double alpha) {
    if (input.ndim() > out.ndim() || input.ndim() == 0) return false;
    Index rows = 1, n = out.shape(-1), lead = out.ndim() - input.ndim();
    for (int i = 0; i < out.ndim(); ++i) {
        Index size = i < lead ? 1 : input.shape(i - lead);
        if (size != 1 && size != out.shape(i)) return false;
        if (i < out.ndim() - 1) rows *= out.shape(i);
    }
    T* data = out.data<T>();
    T scale = static_cast<T>(alpha), share = static_cast<T>(beta);
    Index grain = std::max<Index>(1, elements_of_piece / std::max<Index>(1, n));
    parallel_for(rows, grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            Index rest = i;
            const char* from = input.bytes();
            for (int axis = out.ndim() - 2; axis >= 0; --axis) {
                Index position = rest % out.shape(axis);
                rest /= out.shape(axis);
                if (axis >= lead && input.shape(axis - lead) != 1) {
                    from += position * input.strides()[axis - lead];
                }
            }
            Index step = input.shape(-1) == 1 ? 0 : input.strides()[input.ndim() - 1];
            T* to = data + i * n;
            for (Index j = 0; j < n; ++j) {
                T product = to[j] * scale;
                T added = *reinterpret_cast<const T*>(from + j * step);
                to[j] = share == 0 ? product : product + added * share;
            }
        }
    });
    return true;
}

template <class T> PyObject* addmm_of(Array input, Array x, Array y, double beta, double alpha) {
    PyObject* result = matmul_of<T>(x, y);
    if (result == nullptr || (beta == 0 && alpha == 1)) return result;
    if (!add_scaled<T>(Array(result), input, beta, alpha)) Py_CLEAR(result);
    return result;
}

// Two arrays of the same floating type that a product can read.
bool fit(Array x, Array y) {
    if (!x || !y || x.type() != y.type() || !x.is_behaved() || !y.is_behaved()) return false;
    return x.type() == Type::float32 || x.type() == Type::float64;
}

PyObject* linear(Arguments arguments) {
    Array x = arguments.array(0), weight = arguments.array(1), bias;
    if (arguments.count() != 3 || !fit(x, weight)) return decline();
    if (x.ndim() < 2 || weight.ndim() != 2 || x.shape(-1) != weight.shape(1)) return decline();
    if (!arguments.is_none(2)) {
        bias = arguments.array(2);
        if (!bias || bias.type() != x.type() || !bias.is_plain()) return decline();
        if (bias.ndim() != 1 || bias.shape(0) != weight.shape(0)) return decline();
    }
    if (x.type() == Type::float32) return linear_of<float>(x, weight, bias);
    return linear_of<double>(x, weight, bias);
}

PyObject* linear_grad_weight(Arguments arguments) {
    Array g = arguments.array(0), x = arguments.array(1);
    if (arguments.count() != 2 || !fit(g, x) || g.ndim() < 2 || x.ndim() < 2) return decline();
    if (g.type() == Type::float32) return linear_grad_weight_of<float>(g, x);
    return linear_grad_weight_of<double>(g, x);
}

PyObject* matmul(Arguments arguments) {
    Array x = arguments.array(0), y = arguments.array(1);
    if (arguments.count() != 2 || !fit(x, y)) return decline();
    return x.type() == Type::float32 ? matmul_of<float>(x, y) : matmul_of<double>(x, y);
}

PyObject* dot(Arguments arguments) {
    Array x = arguments.array(0), y = arguments.array(1);
    if (arguments.count() != 2 || !fit(x, y) || !x.is_plain() || !y.is_plain()) return decline();
    if (x.ndim() != 1 || !x.same_shape(y)) return decline();
    auto of = [&](auto zero) {
        using T = decltype(zero);
        PyObject* result = empty<T>(0, nullptr);
        if (result != nullptr) {
            *Array(result).data<T>() = dot_product(x.size(), x.data<T>(), y.data<T>());
        }
        return result;
    };
    return x.type() == Type::float32 ? of(0.0f) : of(0.0);
}

PyObject* addmm(Arguments arguments) {
    Array input = arguments.array(0), x = arguments.array(1), y = arguments.array(2);
    if (arguments.count() != 5 || !fit(x, y) || !fit(input, x)) return decline();
    if (x.ndim() < 2 || y.ndim() < 2) return decline();
    double beta = arguments.number(3), alpha = arguments.number(4);
    if (PyErr_Occurred()) return nullptr;
    if (x.type() == Type::float32) return addmm_of<float>(input, x, y, beta, alpha);
    return addmm_of<double>(input, x, y, beta, alpha);
}

const Registration registrations[] = {
    {"linear", linear}, {"linear_grad_weight", linear_grad_weight},
    {"matmul", matmul}, {"mm", matmul}, {"bmm", matmul}, {"mv", matmul},
    {"dot", dot}, {"addmm", addmm}, {"baddbmm", addmm},
};

}  // namespace
}  // namespace nnkit
