// The shortest solutions of least squares, by Householder's reflections with exchanged columns. A
// matrix may lack rank: how many columns count is estimated as they are reduced (Bischof,
// "Incremental condition estimation", 1990). Everything is computed in double.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "columns.h"
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = 32768;  // multiply-additions

double dot(Index count, const double* x, const double* y) {
    constexpr int lanes = 8;
    double sums[lanes] = {};
    Index i = 0;
    for (; i + lanes <= count; i += lanes) {
        for (int lane = 0; lane < lanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
    }
    for (; i < count; ++i) sums[0] += x[i] * y[i];
    double total = 0;
    for (double sum : sums) total += sum;
    return total;
}

double length(Index count, const double* x) { return std::sqrt(dot(count, x, x)); }

// y += factor x
void add_scaled(Index count, double factor, const double* x, double* y) {
    for (Index i = 0; i < count; ++i) y[i] += factor * x[i];
}

// What `I - scale v v^T` takes a first number and the rest to a multiple of the first unit vector
// by: v is 1 and what the rest becomes.
struct Reflection {
    double result, scale = 0, divisor = 1;

    Reflection(double first, double rest) : result(first) {
        if (rest == 0) return;
        result = -std::copysign(std::hypot(first, rest), first);
        scale = (result - first) / result;
        divisor = first - result;
    }
};

// The largest or the smallest singular value of leading columns of a triangle, and a unit vector
// that shows it from the left.
class Extreme {
public:
    Extreme(Index most, bool smallest) : vector_(most), smallest_(smallest) {}

    void begin(double first) {
        count_ = 1;
        vector_[0] = 1;
        value_ = std::fabs(first);
    }

    // The value with one more column, which is kept by `accept`.
    double consider(const double* column) {
        const double along = dot(count_, vector_.data(), column), last = column[count_];
        // Of the matrix of rows (value, 0) and (along, last), by the angle of its singular vectors.
        const double square = value_ * value_ + along * along;
        const double angle = std::atan2(2 * along * last, square - last * last) / 2;
        old_ = std::cos(angle), new_ = std::sin(angle);
        const double largest = std::hypot(old_ * value_, old_ * along + new_ * last);
        next_ = largest;
        if (smallest_) {
            next_ = largest > 0 ? value_ * std::fabs(last) / largest : 0;
            std::swap(old_, new_);
            old_ = -old_;
        }
        return next_;
    }

    void accept() {
        for (Index i = 0; i < count_; ++i) vector_[i] *= old_;
        vector_[count_++] = new_;
        value_ = next_;
    }

private:
    std::vector<double> vector_;
    bool smallest_;
    Index count_ = 0;
    double value_ = 0, next_ = 0, old_ = 1, new_ = 0;
};

struct Problem {
    Index rows, columns, sides;
    double bound;  // of the smallest singular value that counts, by the largest
    Index height() const { return std::max(rows, columns); }  // of a side, first of y, then of out
    Index steps() const { return std::min(rows, columns); }
};

// Multiplies numbers by a power of two after which the largest is of size 1 to 2; its exponent.
int normalize(Index count, double* x, double largest) {
    if (largest == 0 || !std::isfinite(largest)) return 0;
    const int exponent = std::ilogb(largest);
    for (Index i = 0; i < count; ++i) x[i] = std::ldexp(x[i], -exponent);
    return exponent;
}

double largest_of(Index count, const double* x) {
    double largest = 0;
    for (Index i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
    return largest;
}

class Solver {
public:
    explicit Solver(const Problem& problem)
        : sizes_(problem), order_(problem.columns), norms_(problem.columns),
          exact_(problem.columns), scales_(problem.steps()) {}

    // Leaves the solutions in the sides; returns the rank.
    Index solve(double* matrix, double* sides) {
        a_ = matrix, sides_ = sides;
        const Index height = sizes_.height(), numbers = height * sizes_.sides;
        const double largest = largest_of(sizes_.rows * sizes_.columns, a_);
        const double of_sides = largest_of(numbers, sides_);
        if (!std::isfinite(largest)) {
            std::fill_n(sides_, numbers, std::numeric_limits<double>::quiet_NaN());
            return 1;
        }
        const int exponent = normalize(sizes_.rows * sizes_.columns, a_, largest);
        const int of_side = normalize(numbers, sides_, of_sides);
        const Index rank = reduce();
        if (!std::isfinite(of_sides)) {
            std::fill_n(sides_, numbers, std::numeric_limits<double>::quiet_NaN());
            return rank;
        }
        if (rank < sizes_.columns) reduce_rows(rank);
        for (Index j = 0; j < sizes_.sides; ++j) substitute(rank, sides_ + j * height);
        for (Index i = 0; i < numbers; ++i) sides_[i] = std::ldexp(sides_[i], of_side - exponent);
        return rank;
    }

private:
    double* column(Index j) { return a_ + j * sizes_.rows; }

    // The triangle of the matrix, each step with the column of which most is left; what these
    // reflections make of the sides; the rank.
    Index reduce() {
        std::iota(order_.begin(), order_.end(), Index{0});
        for (Index j = 0; j < sizes_.columns; ++j) {
            exact_[j] = norms_[j] = length(sizes_.rows, column(j));
        }
        Extreme largest(sizes_.steps(), false), smallest(sizes_.steps(), true);
        Index rank = 0;
        for (bool counts = true; counts && rank < sizes_.steps(); rank += counts) {
            const Index k = rank;
            poll();
            exchange(k, std::max_element(norms_.begin() + k, norms_.end()) - norms_.begin());
            step(k);
            const double first = column(k)[k];
            if (k == 0) {
                largest.begin(first), smallest.begin(first);
                counts = first != 0;
            } else {
                counts = largest.consider(column(k)) * sizes_.bound <= smallest.consider(column(k));
                if (counts) largest.accept(), smallest.accept();
            }
        }
        return rank;
    }

    void exchange(Index k, Index chosen) {
        if (chosen == k) return;
        std::swap_ranges(column(k), column(k) + sizes_.rows, column(chosen));
        std::swap(order_[k], order_[chosen]);
        norms_[chosen] = norms_[k], exact_[chosen] = exact_[k];
    }

    void step(Index k) {
        double* reduced = column(k);
        const Index below = sizes_.rows - k - 1, beside = sizes_.columns - k - 1;
        const Reflection reflection(reduced[k], length(below, reduced + k + 1));
        reduced[k] = reflection.result;
        for (Index i = k + 1; i < sizes_.rows; ++i) reduced[i] /= reflection.divisor;
        const double* v = reduced + k + 1;
        const Index grain = std::max<Index>(1, work_of_piece / (2 * below + 1));
        parallel_for(beside + sizes_.sides, grain, [&](Index begin, Index end) {
            for (Index j = begin; j < end; ++j) {
                const bool is_side = j >= beside;
                double* other = is_side ? sides_ + (j - beside) * sizes_.height()
                                        : column(k + 1 + j);
                if (reflection.scale != 0) {
                    const double product = other[k] + dot(below, v, other + k + 1);
                    other[k] -= reflection.scale * product;
                    add_scaled(below, -reflection.scale * product, v, other + k + 1);
                }
                if (!is_side) lessen_norm(k, k + 1 + j);
            }
        });
    }

    // The length of what is left of a column below row k, by what row k took from it, unless too
    // few of its digits are left.
    void lessen_norm(Index k, Index j) {
        if (norms_[j] == 0) return;
        const double taken = std::fabs(column(j)[k]) / norms_[j];
        const double share = std::max(0.0, (1 - taken) * (1 + taken));
        const double of_exact = norms_[j] / exact_[j];
        if (share * of_exact * of_exact <= std::sqrt(std::numeric_limits<double>::epsilon())) {
            exact_[j] = norms_[j] = length(sizes_.rows - k - 1, column(j) + k + 1);
        } else {
            norms_[j] *= std::sqrt(share);
        }
    }

    // Reflections from the right by which the first `rank` columns hold all of the triangle's rows.
    void reduce_rows(Index rank) {
        for (Index i = rank - 1; i >= 0; --i) {
            double rest = 0;
            for (Index j = rank; j < sizes_.columns; ++j) rest = std::hypot(rest, column(j)[i]);
            const Reflection reflection(column(i)[i], rest);
            scales_[i] = reflection.scale;
            column(i)[i] = reflection.result;
            for (Index j = rank; j < sizes_.columns; ++j) column(j)[i] /= reflection.divisor;
            if (reflection.scale == 0) continue;
            products_.assign(column(i), column(i) + i);
            for (Index j = rank; j < sizes_.columns; ++j) {
                add_scaled(i, column(j)[i], column(j), products_.data());
            }
            add_scaled(i, -reflection.scale, products_.data(), column(i));
            for (Index j = rank; j < sizes_.columns; ++j) {
                add_scaled(i, -reflection.scale * column(j)[i], products_.data(), column(j));
            }
        }
    }

    // One solution, of the triangle of the first columns and the reflections from the right.
    void substitute(Index rank, double* side) {
        for (Index k = rank - 1; k >= 0; --k) {
            side[k] /= column(k)[k];
            add_scaled(k, -side[k], column(k), side);
        }
        std::fill(side + rank, side + sizes_.height(), 0.0);
        if (rank < sizes_.columns) {
            for (Index i = 0; i < rank; ++i) {
                double product = side[i];
                for (Index j = rank; j < sizes_.columns; ++j) product += column(j)[i] * side[j];
                product *= scales_[i];
                side[i] -= product;
                for (Index j = rank; j < sizes_.columns; ++j) side[j] -= column(j)[i] * product;
            }
        }
        products_.assign(side, side + sizes_.columns);
        for (Index j = 0; j < sizes_.columns; ++j) side[order_[j]] = products_[j];
    }

    Problem sizes_;
    double *a_ = nullptr, *sides_ = nullptr;
    std::vector<Index> order_;  // the column of the matrix that each was
    std::vector<double> norms_, exact_, scales_, products_;
};

template <class T> bool widen(Index rows, Index columns, const T* from, Index height, double* to) {
    for (Index j = 0; j < columns; ++j, from += rows, to += height) {
        for (Index i = 0; i < rows; ++i) {
            if (from[i] != from[i]) return false;
            to[i] = from[i];
        }
        std::fill(to + rows, to + height, 0.0);
    }
    return true;
}

template <class T> PyObject* solve(const Problem& sizes, Array x, Array y) {
    const bool vectors = y.ndim() < x.ndim();
    const int ndim = x.ndim();
    npy_intp shape[most_axes], strides[most_axes];
    std::copy_n(x.shape(), ndim - 2, shape);
    shape[ndim - 2] = sizes.sides, shape[ndim - 1] = sizes.height();
    Owned left = by_columns<T>(x), right = vectors ? in_order(y) : by_columns<T>(y);
    Owned result(empty<T>(ndim, shape));
    Owned rank(empty<std::int64_t>(ndim - 2, shape));
    if (!left || !right || !result || !rank) return nullptr;
    const Index size = sizes.rows * sizes.columns, numbers = sizes.height() * sizes.sides;
    const T *matrices = left.array().data<T>(), *sides = right.array().data<T>();
    T* out = result.array().data<T>();
    auto* ranks = rank.array().data<std::int64_t>();
    std::atomic<bool> spoiled{false};
    const Index work = (size + numbers) * sizes.steps();
    parallel_for(x.size() / size, std::max<Index>(1, work_of_piece / work),
                 [&](Index begin, Index end) {
        Solver solver(sizes);
        std::vector<double> matrix(size), side(numbers);
        for (Index m = begin; m < end; ++m) {
            const T* given = sides + m * sizes.rows * sizes.sides;
            if (!widen(sizes.rows, sizes.columns, matrices + m * size, sizes.rows, matrix.data()) ||
                !widen(sizes.rows, sizes.sides, given, sizes.height(), side.data())) {
                spoiled = true;
                return;
            }
            ranks[m] = solver.solve(matrix.data(), side.data());
            std::copy_n(side.data(), numbers, out + m * numbers);
        }
    });
    if (spoiled) return decline();
    // The solutions are the first rows of what lies by columns.
    const npy_intp item = sizeof(T);
    npy_intp step = numbers * item;
    for (int i = ndim - 3; i >= 0; step *= shape[i--]) strides[i] = step;
    const int axes = vectors ? ndim - 1 : ndim;
    shape[ndim - 2] = sizes.columns, strides[ndim - 2] = item;
    if (!vectors) shape[ndim - 1] = sizes.sides, strides[ndim - 1] = sizes.height() * item;
    PyObject* solutions = view_of(result.array(), axes, shape, strides, 0, nullptr);
    return tuple({solutions, rank.release()});
}

// lstsq(x, y; rtol, by_values): the solutions and the ranks; by singular values it is the twin's.
PyObject* lstsq(Arguments arguments) {
    const Array x = arguments.array(0), y = arguments.array(1);
    if (!x || !y || x.type() != y.type() || x.ndim() < 2 || arguments.truth(3)) return decline();
    const bool vectors = y.ndim() == x.ndim() - 1;
    if (!vectors && y.ndim() != x.ndim()) return decline();
    if (!PyArray_CompareLists(x.shape(), y.shape(), x.ndim() - 1)) return decline();
    if (x.size() == 0 || y.size() == 0) return decline();
    const Problem sizes{x.shape(-2), x.shape(-1), vectors ? 1 : y.shape(-1), arguments.number(2)};
    if (x.type() == Type::float32) return solve<float>(sizes, x, y);
    return x.type() == Type::float64 ? solve<double>(sizes, x, y) : decline();
}

Registration lstsq_("lstsq", lstsq);

}  // namespace
}  // namespace nnkit
