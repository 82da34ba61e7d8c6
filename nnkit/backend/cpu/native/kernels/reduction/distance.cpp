// Distances between rows, and their gradients.
#include <algorithm>
#include <cmath>
#include <limits>

#include "memory.h"
#include "norms.h"
#include "owned.h"
#include "parallel.h"
#include "power.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = 32768;  // differences
constexpr double infinity = std::numeric_limits<double>::infinity();

// The differences that are not 0.
struct Count : Sum {
    template <class T> static T map(T x, T) { return x == 0 ? T(0) : x == x ? T(1) : x; }
    template <class T> static Vector<T> map(const Vector<T>& x, const Vector<T>&) {
        return by_register(x, [](auto v) {
            const auto zero = decltype(v){}, one = zero + T(1);
            return v == 0 ? zero : v == v ? one : v;
        });
    }
};

// The distances of a row of `size` elements from `count` rows that follow each other: as the norm
// of their difference adds up.
template <class T, class Operation> struct Rows {
    const T* others;
    Index size;

    void operator()(const T* x, Index first, Index count, T* out) const {
        for (Index j = 0; j < count; ++j) {
            const T* y = others + (first + j) * size;
            out[j] = reduce_terms<T, Operation>(
                size,
                [&](Index i) { return Operation::map(load(x + i) - load(y + i), Vector<T>{}); },
                [&](Index i) { return Operation::map(x[i] - y[i], T(0)); });
        }
    }
};

// The same of rows shorter than a vector, which were turned: in the same order, for many at once.
template <class T, class Operation> struct ShortRows {
    const T* others;
    Index size, step;

    void operator()(const T* x, Index first, Index count, T* __restrict out) const {
        for (Index i = 0; i < size; ++i) {
            const T* y = others + i * step + first;
            const T value = x[i];
            for (Index j = 0; j < count; ++j) {
                const T term = Operation::map(value - y[j], T(0));
                out[j] = i == 0 ? term : Operation::combine(out[j], term);
            }
        }
    }
};

// The same with any power of the differences. What computes a power is inlined, to be vectorised.
template <class T> struct Powers {
    const T* others;
    Index size;
    double p;

    [[gnu::flatten]] void operator()(const T* x, Index first, Index count, T* out) const {
        Buffer<T> terms(size);
        math::with_power<T>(p, [&](auto power) {
            for (Index j = 0; j < count; ++j) {
                const T* y = others + (first + j) * size;
                for (Index i = 0; i < size; ++i) terms[i] = power(std::fabs(x[i] - y[i]));
                out[j] = reduce_run<T, Sum>(terms.data(), size, nullptr);
            }
        });
    }
};

// `run(distances, root)` with the function that computes the distances of a row from others, and
// what is to be done to them at last.
template <class T, class Run>
void with_distances(double p, const T* others, Index count, Index size, Run run) {
    const auto choose = [&](auto operation, auto root) {
        using Operation = decltype(operation);
        if (size >= lanes<T>) return run(Rows<T, Operation>{others, size}, root);
        Scratch<T> turned(count * size);
        transpose(count, size, others, size, turned.data(), count);
        run(ShortRows<T, Operation>{turned.data(), size, count}, root);
    };
    const auto none = [](T x) { return x; };
    if (p == 0) choose(Count{}, none);
    else if (p == infinity || size == 1) choose(Magnitudes<Maximum>{}, none);
    else if (p == 1) choose(Magnitudes<Sum>{}, none);
    else if (p == 2) choose(SumOfSquares{}, [](T x) { return std::sqrt(x); });
    else run(Powers<T>{others, size, p}, [p](T x) { return std::pow(x, static_cast<T>(1 / p)); });
}

template <class T> Index rows_of_piece(Index differences_of_row) {
    return std::max<Index>(1, work_of_piece / std::max<Index>(1, differences_of_row));
}

// Two operands, each of one or of several matrices, and the shape of what is made of them.
class Matrices {
public:
    // False if they do not broadcast by repeating one whole operand, or have no elements.
    bool read(Array x, Array y) {
        if (!x || !y || x.ndim() < 2 || y.ndim() < 2 || x.ndim() > most_axes ||
            y.ndim() > most_axes || x.size() == 0 || y.size() == 0 || x.type() != y.type() ||
            (x.type() != Type::float32 && x.type() != Type::float64) ||
            x.shape(-1) != y.shape(-1)) {
            return false;
        }
        left = in_order(x), right = in_order(y);
        rows = x.shape(-2), others = y.shape(-2), size = x.shape(-1);
        const Index count_x = x.size() / (rows * size), count_y = y.size() / (others * size);
        count = std::max(count_x, count_y);
        step_x = count_x == 1 ? 0 : rows * size, step_y = count_y == 1 ? 0 : others * size;
        ndim = std::max(x.ndim(), y.ndim());
        for (int axis = 3; axis <= ndim; ++axis) {
            const Index a = axis <= x.ndim() ? x.shape(-axis) : 1;
            const Index b = axis <= y.ndim() ? y.shape(-axis) : 1;
            if (a != b && count_x != 1 && count_y != 1) return false;
            shape[ndim - axis] = std::max(a, b);
        }
        return left && right;
    }
    bool is_single() const { return left.array().type() == Type::float32; }
    PyObject* result(Index height, Index width) {
        shape[ndim - 2] = height, shape[ndim - 1] = width;
        return empty(ndim, shape, PyArray_DescrFromType(left.array().number()));
    }
    // `run(x, y, place)` for each pair of matrices.
    template <class T, class Run> void for_each(Run run) const {
        const T *x = left.array().data<T>(), *y = right.array().data<T>();
        parallel_for(count, rows_of_piece<T>(rows * others * size), [&](Index begin, Index end) {
            for (Index k = begin; k < end; ++k) run(x + k * step_x, y + k * step_y, k);
        });
    }

    Owned left, right;
    Index rows, others, size;

private:
    Index count, step_x, step_y;
    int ndim;
    npy_intp shape[most_axes];
};

template <class T> void distances_of(const Matrices& m, double p, T* result) {
    m.for_each<T>([&](const T* x, const T* y, Index place) {
        T* const to = result + place * m.rows * m.others;
        with_distances<T>(p, y, m.others, m.size, [&](auto distances, auto root) {
            parallel_for(m.rows, rows_of_piece<T>(m.others * m.size), [&](Index begin, Index end) {
                for (Index i = begin; i < end; ++i) {
                    T* const out = to + i * m.others;
                    distances(x + i * m.size, 0, m.others, out);
                    for (Index j = 0; j < m.others; ++j) out[j] = root(out[j]);
                }
            });
        });
    });
}

// Where the pairs of row i with those after it begin among all pairs of `count` rows.
Index first_pair(Index i, Index count) { return i * (2 * count - i - 1) / 2; }

template <class T> void pairs_of(const T* x, Index count, Index size, double p, T* result) {
    with_distances<T>(p, x, count, size, [&](auto distances, auto root) {
        parallel_for(count, rows_of_piece<T>(count * size / 2), [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                T* const out = result + first_pair(i, count);
                distances(x + i * size, i + 1, count - i - 1, out);
                for (Index j = 0; j < count - i - 1; ++j) out[j] = root(out[j]);
            }
        });
    });
}

// `run(slope)`, where `slope(g, out)` is the function from a difference to its gradient, given a
// distance and the gradient of that.
template <class T, class Run> void with_slope(double p, Run run) {
    const auto sign = [](T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; };
    if (p == 1) {
        return run([sign](T g, T) { return [=](T x) { return g * sign(x); }; });
    }
    if (p == 2) {
        return run([](T g, T out) {
            const T scale = out == 0 ? T(0) : g, length = out == 0 ? T(1) : out;
            return [=](T x) { return scale * x / length; };
        });
    }
    if (p == infinity) {
        return run([sign](T g, T out) {
            return [=](T x) {
                const T gap = std::floor(std::fabs(x) - out);
                return g * sign(x) * ((gap < -1 ? T(-1) : gap) + 1);
            };
        });
    }
    const bool low = p < 2;
    math::with_power<T>(low ? p - 1 : p - 2, [&](auto power) {
        run([=](T g, T out) {
            const T scale = std::pow(out, static_cast<T>(std::fabs(p - 1)));
            const T share = out == 0 ? T(0) : p < 1 ? g * scale : g / scale;
            return [=](T x) {
                return x == 0 ? T(0) : (low ? sign(x) : x) * power(std::fabs(x)) * share;
            };
        });
    });
}

// Added up one after the other, as torch does.
template <class T>
void gradients_of(const Matrices& m, const T* g, const T* out, double p, T* result) {
    const Index size = m.size;
    with_slope<T>(p, [&](auto slope) {
        m.for_each<T>([&](const T* x, const T* y, Index place) {
            parallel_for(m.rows, rows_of_piece<T>(m.others * size), [&](Index begin, Index end) {
                for (Index i = place * m.rows + begin; i < place * m.rows + end; ++i) {
                    const T* const from = x + (i - place * m.rows) * size;
                    T* __restrict const total = result + i * size;
                    std::fill_n(total, size, T(0));
                    for (Index j = 0; j < m.others; ++j) {
                        const auto of = slope(g[i * m.others + j], out[i * m.others + j]);
                        const T* const other = y + j * size;
#pragma GCC ivdep
                        for (Index k = 0; k < size; ++k) total[k] += of(from[k] - other[k]);
                    }
                }
            });
        });
    });
}

// Pieces are columns, since each pair adds to two rows.
template <class T>
void gradients_of_pairs(const T* x, Index count, Index size, const T* g, const T* out, double p,
                        T* result) {
    std::fill_n(result, count * size, T(0));
    const Index columns = lanes<T> * rows_of_piece<T>(count * count / 2 * lanes<T>);
    with_slope<T>(p, [&](auto slope) {
        parallel_for(size, columns, [&](Index begin, Index end) {
            const Index width = end - begin;
            Index pair = 0;
            for (Index i = 0; i < count; ++i) {
                const T* const from = x + i * size + begin;
                T* __restrict const total = result + i * size + begin;
                for (Index j = i + 1; j < count; ++j, ++pair) {
                    const auto of = slope(g[pair], out[pair]);
                    const T* const other = x + j * size + begin;
                    T* __restrict const opposite = result + j * size + begin;
#pragma GCC ivdep
                    for (Index k = 0; k < width; ++k) {
                        const T term = of(from[k] - other[k]);
                        total[k] += term;
                        opposite[k] -= term;
                    }
                }
            }
        });
    });
}

// cdist(x, y; p)
PyObject* cdist(Arguments arguments) {
    Matrices m;
    if (!m.read(arguments.array(0), arguments.array(1))) return decline();
    const double p = arguments.number(2);
    Owned result(m.result(m.rows, m.others));
    if (!result) return nullptr;
    if (m.is_single()) distances_of(m, p, result.array().data<float>());
    else distances_of(m, p, result.array().data<double>());
    return result.release();
}

// cdist_grad(g, x, y, out; p)
PyObject* cdist_grad(Arguments arguments) {
    const Array g = arguments.array(0), out = arguments.array(3);
    Matrices m;
    if (!g || !out || arguments.number(4) == 0) return decline();
    if (!m.read(arguments.array(1), arguments.array(2))) return decline();
    Owned result(m.result(m.rows, m.size));
    if (!result) return nullptr;
    const Array to = result.array();
    const Index distances = to.size() / m.size * m.others;
    if (g.type() != to.type() || out.type() != to.type() || !g.same_shape(out) ||
        g.size() != distances) {
        return decline();
    }
    const Owned gradients = in_order(g), lengths = in_order(out);
    if (!gradients || !lengths) return nullptr;
    const auto run = [&](auto* target) {
        using T = std::remove_pointer_t<decltype(target)>;
        gradients_of<T>(m, gradients.array().data<T>(), lengths.array().data<T>(),
                        arguments.number(4), target);
    };
    if (m.is_single()) run(to.data<float>());
    else run(to.data<double>());
    return result.release();
}

// A matrix of numbers of T, in whose rows there is something, and more than one of them.
template <class T> Owned rows_to_pair(Array x) {
    const bool fits = x && x.ndim() == 2 && x.type() == type_of<T>() && x.shape(0) > 1 && x.size();
    return fits ? in_order(x) : Owned();
}

template <class T> PyObject* pairs(Arguments arguments) {
    const Owned x = rows_to_pair<T>(arguments.array(0));
    if (!x) return decline();
    const Index count = x.array().shape(0);
    Owned result(empty<T>({first_pair(count - 1, count)}));
    if (!result) return nullptr;
    pairs_of(x.array().data<T>(), count, x.array().shape(1), arguments.number(1),
             result.array().data<T>());
    return result.release();
}

// pdist(x; p)
PyObject* pdist(Arguments arguments) {
    PyObject* const found = pairs<float>(arguments);
    return found != nullptr || PyErr_Occurred() ? found : pairs<double>(arguments);
}

template <class T> PyObject* pair_gradients(Arguments arguments) {
    const Owned x = rows_to_pair<T>(arguments.array(1));
    const Array g = arguments.array(0), out = arguments.array(2);
    if (!x || !g || !out || g.type() != type_of<T>() || out.type() != type_of<T>() ||
        arguments.number(3) == 0) {
        return decline();
    }
    const Index count = x.array().shape(0), size = x.array().shape(1);
    if (g.size() != first_pair(count - 1, count) || out.size() != g.size()) return decline();
    const Owned gradients = in_order(g), lengths = in_order(out);
    Owned result(empty<T>({count, size}));
    if (!gradients || !lengths || !result) return nullptr;
    gradients_of_pairs(x.array().data<T>(), count, size, gradients.array().data<T>(),
                       lengths.array().data<T>(), arguments.number(3), result.array().data<T>());
    return result.release();
}

// pdist_grad(g, x, out; p)
PyObject* pdist_grad(Arguments arguments) {
    PyObject* const found = pair_gradients<float>(arguments);
    return found != nullptr || PyErr_Occurred() ? found : pair_gradients<double>(arguments);
}

const Registration registrations[] = {
    {"cdist", cdist},
    {"cdist_grad", cdist_grad},
    {"pdist", pdist},
    {"pdist_grad", pdist_grad},
};

}  // namespace
}  // namespace nnkit
