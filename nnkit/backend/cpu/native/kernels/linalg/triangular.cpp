// Systems of equations with triangular matrices, by substitution. The unknowns of a right side lie
// next to each other, so each is found by one product of a row with those that are known.
#include "columns.h"
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = 32768;  // multiply-adds

struct Triangle {
    Index count;
    bool upper, has_ones;
};

// x out = out, where a row of x has `count` elements.
template <class T> void substitute(const Triangle& triangle, const T* x, T* out) {
    const Index count = triangle.count;
    for (Index step = 0; step < count; ++step) {
        const Index i = triangle.upper ? count - 1 - step : step;
        const Index first = triangle.upper ? i + 1 : 0;
        const T* row = x + i * count;
        const T rest = out[i] - sum_of<T>(step, [](auto a, auto b) { return a * b; },
                                          row + first, static_cast<const T*>(out + first));
        out[i] = triangle.has_ones ? rest : rest / row[i];
    }
}

template <class T> PyObject* solve(const Triangle& triangle, Array x, Array y) {
    const int ndim = y.ndim();
    Owned result = by_columns<T>(y);
    if (!result) return nullptr;
    const Index count = triangle.count, sides = y.shape(-1);
    const T* matrices = x.data<T>();
    T* out = result.array().data<T>();
    const Index grain = std::max<Index>(1, work_of_piece / (count * count / 2 + 1));
    parallel_for(count == 0 ? 0 : y.size() / count, grain, [&](Index begin, Index end) {
        for (Index side = begin; side < end; ++side) {
            substitute(triangle, matrices + side / sides * count * count, out + side * count);
        }
    });
    return with_axis_moved(result.array(), ndim - 2, ndim - 1);
}

PyObject* solve_triangular(Arguments arguments) {
    const Array x = arguments.array(0), y = arguments.array(1);
    if (!x || !y || x.ndim() < 2 || x.ndim() != y.ndim() || x.type() != y.type()) return decline();
    if (x.shape(-1) != x.shape(-2) || x.shape(-1) != y.shape(-2)) return decline();
    if (!PyArray_CompareLists(x.shape(), y.shape(), x.ndim() - 2)) return decline();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    const Triangle triangle{x.shape(-1), arguments.truth(2), arguments.truth(3)};
    Owned rows = in_order(x);
    if (!rows) return nullptr;
    return x.type() == Type::float32 ? solve<float>(triangle, rows.array(), y)
                                     : solve<double>(triangle, rows.array(), y);
}

Registration solve_triangular_("solve_triangular", solve_triangular);

}  // namespace
}  // namespace nnkit
