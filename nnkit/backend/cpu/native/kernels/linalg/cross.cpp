// Cross products of vectors along an axis.
#include <algorithm>
#include <type_traits>

#include "axis.h"
#include "memory.h"
#include "owned.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index vectors_of_piece = 16384;

template <class T> void cross_of(const AlongAxis& along, const T* x, const T* y, T* out) {
    const Index step = along.inner;
    parallel_for(along.outer * step, vectors_of_piece, [=](Index begin, Index end) {
        for (Index v = begin; v < end;) {
            const Index column = v % step, width = std::min(step - column, end - v);
            const Index at = v / step * 3 * step + column;
            const T *a = x + at, *b = y + at;
            T* to = out + at;
            for (Index j = 0; j < width; ++j) {
                to[j] = a[step + j] * b[2 * step + j] - a[2 * step + j] * b[step + j];
                to[step + j] = a[2 * step + j] * b[j] - a[j] * b[2 * step + j];
                to[2 * step + j] = a[j] * b[step + j] - a[step + j] * b[j];
            }
            v += width;
        }
    });
}

// cross(x, y; axis): of one shape.
PyObject* cross(Arguments arguments) {
    const Array x = arguments.array(0), y = arguments.array(1);
    AlongAxis along;
    if (!x || !y || !x.is_plain() || !y.is_plain() || !x.same_shape(y)) return decline();
    if (x.type() != y.type() || !read_axis(x, arguments[2], &along)) return decline();
    if (along.count != 3) return decline();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    Owned result(empty_like(x));
    if (!result) return nullptr;
    auto run = [&](auto* out) {
        using T = std::remove_pointer_t<decltype(out)>;
        cross_of<T>(along, x.data<T>(), y.data<T>(), out);
    };
    if (x.type() == Type::float32) run(result.array().data<float>());
    else run(result.array().data<double>());
    return result.release();
}

Registration cross_("cross", cross);

}  // namespace
}  // namespace nnkit
