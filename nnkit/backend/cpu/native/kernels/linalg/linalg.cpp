// Products of vectors, matrices and stacks of matrices, and linear layers.
#include <algorithm>

#include "array.h"
#include "computed.h"
#include "integer_product.h"
#include "memory.h"
#include "owned.h"
#include "parallel.h"
#include "parts.h"
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

// All leading axes of an array as one: its rows. Where they are not equally far apart, of a copy.
template <class T> class Rows {
public:
    Index count = 1;
    Matrix<T> matrix;

    // False if there is no memory for the copy (the error is set).
    bool read(Array x) {
        if (join_axes(x)) return true;
        copy_ = in_order(x);
        return copy_ && join_axes(copy_.array());
    }

private:
    bool join_axes(Array x) {
        constexpr Index size = static_cast<Index>(sizeof(T));
        const int last = x.ndim() - 1;
        Index step = 0;  // from one row to the next, in bytes
        count = 1;
        for (int i = last - 1; i >= 0; --i) {
            if (x.shape(i) == 1) continue;
            if (count == 1) step = x.strides()[i];
            else if (x.strides()[i] != step * count) return false;
            count *= x.shape(i);
        }
        if (step % size != 0 || x.strides()[last] % size != 0) return false;
        matrix = {x.data<T>(), step / size, x.strides()[last] / size};
        return true;
    }

    Owned copy_;
};

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
    } else if (n == 1 && b.row == 1 && a.column == 1) {
        multiply_vector(m, k, a, b.data, out, static_cast<const T*>(nullptr));
        for (Index i = 0; bias != nullptr && i < m; ++i) out[i] += *bias;
    } else {
        multiply(m, n, k, a, b, out, n, bias);
    }
}

// x times a matrix of x's last axis by n, for all rows of x.
template <class T> PyObject* rows_times(Array x, Index n, Matrix<T> y, const T* bias) {
    Rows<T> rows;
    if (!rows.read(x)) return decline();
    npy_intp shape[NPY_MAXDIMS];
    std::copy(x.shape(), x.shape() + x.ndim(), shape);
    shape[x.ndim() - 1] = n;
    Owned result(empty<T>(x.ndim(), shape));
    if (!result) return nullptr;
    product<T>(rows.count, n, x.shape(-1), rows.matrix, y, result.array().data<T>(), bias);
    return result.release();
}

template <class T> PyObject* linear_of(Array x, Array weight, const T* bias) {
    Matrix<T> w;
    if (!as_matrix(weight, &w)) return decline();
    return rows_times<T>(x, weight.shape(0), w.transposed(), bias);
}

template <class T> PyObject* linear_grad_weight_of(Array g, Array x) {
    Rows<T> above, input;
    if (!above.read(g) || !input.read(x) || above.count != input.count) return decline();
    Index m = g.shape(-1), n = x.shape(-1);
    Owned result(empty<T>({m, n}));
    if (!result) return nullptr;
    product<T>(m, n, input.count, above.matrix.transposed(), input.matrix,
               result.array().data<T>(), nullptr);
    return result.release();
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
    Owned result(empty<T>(stack.ndim + 2, stack.shape));
    if (!result) return nullptr;
    T* out = result.array().data<T>();
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
    return result.release();
}

template <class T> PyObject* dot_of(Array x, Array y) {
    Owned left = in_order(x), right = in_order(y);
    if (!left || !right) return nullptr;
    Owned result(empty<T>(0, nullptr));
    if (!result) return nullptr;
    *result.array().data<T>() =
        dot_product(x.size(), left.array().data<T>(), right.array().data<T>());
    return result.release();
}

// x @ y: of vectors, of rows with a matrix or a vector, of stacks of matrices.
template <class T> PyObject* matmul_of(Array x, Array y) {
    if (x.ndim() < 1 || y.ndim() < 1) return decline();
    if (x.shape(-1) != y.shape(y.ndim() == 1 ? 0 : -2)) return decline();
    if (y.ndim() > 2) return x.ndim() > 1 ? stacks<T>(x, y) : decline();
    if (y.ndim() == 2) {
        Matrix<T> b;
        return as_matrix(y, &b) ? rows_times<T>(x, y.shape(1), b, nullptr) : decline();
    }
    if (x.ndim() == 1) return dot_of<T>(x, y);
    Rows<T> rows;
    Owned vector = in_order(y);
    if (!vector || !rows.read(x)) return decline();
    Owned result(empty<T>(x.ndim() - 1, x.shape()));
    if (!result) return nullptr;
    const T* values = vector.array().template data<T>();
    T* out = result.array().template data<T>();
    if (rows.matrix.column == 1) {
        multiply_vector<T>(rows.count, y.size(), rows.matrix, values, out);
    } else {
        product<T>(1, rows.count, y.size(), {values, 0, 1}, rows.matrix.transposed(), out, nullptr);
    }
    return result.release();
}

// out = beta input + alpha out, the input broadcast to the result's shape.
template <class T> bool add_scaled(Array out, Array input, double beta, double alpha) {
    if (input.ndim() > out.ndim()) return false;
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
            const int last = input.ndim() - 1;
            Index step = last < 0 || input.shape(last) == 1 ? 0 : input.strides()[last];
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

template <class T>
PyObject* addmm_of(Array input, Array x, Array y, double beta, double alpha) {
    Owned result(matmul_of<T>(x, y));
    if (!result || (beta == 0 && alpha == 1)) return result.release();
    return add_scaled<T>(result.array(), input, beta, alpha) ? result.release() : nullptr;
}

// An operand in the type that products compute in. It may lie in any order: only what is half
// precision, or at odd addresses, is copied.
class Factor {
public:
    bool read(Array x, Type type) {
        if (!x || x.type() != type) return false;
        if (item_size(type) > 2 && x.is_behaved()) {
            array_ = x;
            return true;
        }
        if (!copy_.read_foreign(x, type, x.size())) return false;
        array_ = copy_.array();
        return true;
    }
    Array array() const { return array_; }

private:
    Input copy_;
    Array array_;
};

// Two factors of one floating type.
struct Factors {
    Factor x, y;
    Type type = Type::other;

    bool read(Array left, Array right) {
        type = left.type();
        if (type < Type::float16 || type == Type::other) return false;
        return x.read(left, type) && y.read(right, type);
    }

    // The result of `run(float())` or `run(double())`, in the type of the factors.
    template <class Run> PyObject* compute(Run run) const {
        return by_computed_type(type, [&](auto zero) { return narrowed(Owned(run(zero)), type); });
    }
};

PyObject* linear(Arguments arguments);

// The bias is added to the whole product, as a BLAS does: a NaN of one part is not in the other.
PyObject* complex_linear(Arguments arguments) {
    PyObject* values[] = {arguments[0], arguments[1], Py_None};
    const bool plain = arguments.is_none(2);
    if (!plain && arguments.array(2).number() != arguments.array(0).number()) return decline();
    Owned product(by_parts(linear, Arguments(values, 3), Conjugate::none, true));
    if (!product || plain) return product.release();
    return PyNumber_InPlaceAdd(product.object(), arguments[2]);
}

PyObject* linear(Arguments arguments) {
    Array x = arguments.array(0), weight = arguments.array(1);
    if (arguments.count() != 3 || !x || !weight || x.ndim() < 1 || weight.ndim() != 2 ||
        x.shape(-1) != weight.shape(1)) {
        return decline();
    }
    Factors factors;
    Input bias;
    if (!factors.read(x, weight)) return complex_linear(arguments);
    if (!arguments.is_none(2)) {
        Array given = arguments.array(2);
        if (!bias.read_foreign(given, x.type(), weight.shape(0)) || given.ndim() != 1) {
            return decline();
        }
    }
    return factors.compute([&](auto zero) {
        using T = decltype(zero);
        return linear_of<T>(factors.x.array(), factors.y.array(), bias.data<T>());
    });
}

PyObject* linear_grad_weight(Arguments arguments) {
    Array g = arguments.array(0), x = arguments.array(1);
    if (arguments.count() != 2 || !g || !x || g.ndim() < 2 || x.ndim() < 2) return decline();
    Factors factors;
    if (!factors.read(g, x)) return by_parts(linear_grad_weight, arguments, Conjugate::second, true);
    return factors.compute([&](auto zero) {
        return linear_grad_weight_of<decltype(zero)>(factors.x.array(), factors.y.array());
    });
}

PyObject* matmul(Arguments arguments) {
    if (arguments.count() != 2) return decline();
    Array x = arguments.array(0), y = arguments.array(1);
    if (!x || !y) return decline();
    Factors factors;
    if (!factors.read(x, y)) {
        if (!is_complex(x)) return integer_matmul(x, y);
        const bool scaled = x.ndim() > 1 || y.ndim() > 1;  // a dot product is not
        return by_parts(matmul, arguments, Conjugate::none, scaled);
    }
    return factors.compute([&](auto zero) {
        return matmul_of<decltype(zero)>(factors.x.array(), factors.y.array());
    });
}

// vdot(x, y): with x conjugated.
PyObject* vdot(Arguments arguments) {
    if (arguments.count() != 2) return decline();
    if (!is_complex(arguments.array(0))) return matmul(arguments);
    return by_parts(matmul, arguments, Conjugate::first, false);
}

PyObject* complex_addmm(Arguments arguments) {
    PyObject *input = arguments[0], *factors[] = {arguments[1], arguments[2]};
    PyObject *beta = arguments[3], *alpha = arguments[4];
    Owned product(matmul(Arguments(factors, 2)));
    if (!product) return decline();
    Owned scaled(PyNumber_InPlaceMultiply(product.object(), alpha));
    if (!scaled || !arguments.truth(3)) return scaled.release();  // not even a NaN counts then
    Owned one(PyLong_FromLong(1));
    if (PyObject_RichCompareBool(beta, one.object(), Py_EQ) == 1)  // (1 + 0j) inf would have a NaN
        return PyNumber_InPlaceAdd(scaled.object(), input);
    Owned added(PyNumber_Multiply(input, beta));
    return added ? PyNumber_InPlaceAdd(scaled.object(), added.object()) : nullptr;
}

PyObject* addmm(Arguments arguments) {
    Array input = arguments.array(0), x = arguments.array(1), y = arguments.array(2);
    if (arguments.count() != 5 || !x || !y || x.ndim() < 2 || y.ndim() < 2) return decline();
    if (is_complex(x)) return complex_addmm(arguments);
    Factors factors;
    Factor added;
    if (!factors.read(x, y) || !added.read(input, x.type())) return decline();
    double beta = arguments.number(3), alpha = arguments.number(4);
    return factors.compute([&](auto zero) {
        return addmm_of<decltype(zero)>(added.array(), factors.x.array(), factors.y.array(), beta,
                                        alpha);
    });
}

const Registration registrations[] = {
    {"linear", linear}, {"linear_grad_weight", linear_grad_weight},
    {"matmul", matmul}, {"mm", matmul}, {"bmm", matmul}, {"mv", matmul},
    {"dot", matmul}, {"vdot", vdot}, {"addmm", addmm}, {"baddbmm", addmm},
};

}  // namespace
}  // namespace nnkit
