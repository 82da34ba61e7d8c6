// Windows of planes as the columns of a matrix, and columns added up where their windows lie.
#include <algorithm>
#include <cstring>

#include "indexing.h"
#include "pooling.h"

namespace nnkit {
namespace {

// The arrays of one call: (N, C, *spatial), and (N, C * taps, windows).
struct Folding {
    Windows windows;
    Index planes = 0, taps = 1, count = 0;

    // Of arrays of the shape, with the arguments kernel, dilation, padding and stride from `first`.
    bool read(int ndim, const Index* shape, Arguments arguments, Index first) {
        PyObject *kernel = arguments[first], *dilation = arguments[first + 1];
        PyObject *padding = arguments[first + 2], *stride = arguments[first + 3];
        if (!read_windows(ndim, shape, kernel, stride, padding, dilation, false, &windows)) {
            return false;
        }
        for (const WindowAxis& axis : windows.axes) taps *= axis.kernel;
        planes = shape[0] * shape[1];
        count = windows.output_plane();
        return count > 0 && windows.input_plane() > 0 && planes > 0;
    }

    // Calls `line(column, element, length)` for the straight lines of a plane, tap after tap: that
    // many windows from `column` on see the elements from `element` on, a stride apart.
    template <class Line> void for_lines(Line line) const {
        const auto& [z, y, x] = windows.axes;
        z.each_tap([&](Index z_begin, Index z_count, Index z_at, Index z_stride, Index i) {
            y.each_tap([&](Index y_begin, Index y_count, Index y_at, Index y_stride, Index j) {
                x.each_tap([&](Index x_begin, Index x_count, Index x_at, Index, Index k) {
                    const Index tap = (i * y.kernel + j) * x.kernel + k;
                    for (Index a = 0; a < z_count; ++a) {
                        for (Index b = 0; b < y_count; ++b) {
                            const Index window = (z_begin + a) * y.outputs + y_begin + b;
                            const Index row = (z_at + a * z_stride) * y.inputs + y_at + b * y_stride;
                            line(tap * count + window * x.outputs + x_begin, row * x.inputs + x_at,
                                 x_count);
                        }
                    }
                });
            });
        });
    }
    Index stride() const { return windows.axes[pool_axes - 1].stride; }
    Index grain() const { return std::max<Index>(1, elements_of_piece / (taps * count)); }
};

bool is_floating(Array x) {
    const Type type = x.type();
    return type == Type::float32 || type == Type::float64 || type == Type::float16 ||
           type == Type::bfloat16;
}

// im2col(x; kernel, dilation, padding, stride)
PyObject* im2col(Arguments arguments) {
    Array x = arguments.array(0);
    Folding folding;
    if (!x || !x.is_plain() || x.ndim() > 2 + pool_axes || !is_floating(x)) return decline();
    if (!folding.read(x.ndim(), x.shape(), arguments, 1)) return decline();
    const npy_intp shape[] = {x.shape(0), x.shape(1) * folding.taps, folding.count};
    Py_INCREF(x.descriptor());
    Owned result(zeros(3, shape, x.descriptor()));
    if (!result) return nullptr;
    const Index stride = folding.stride();
    with_item(item_bytes(x), [&](auto item) {
        using Item = decltype(item);
        const Item* in = x.data<Item>();
        Item* out = result.array().data<Item>();
        parallel_for(folding.planes, folding.grain(), [&](Index begin, Index end) {
            for (Index p = begin; p < end; ++p) {
                const Item* plane = in + p * folding.windows.input_plane();
                Item* columns = out + p * folding.taps * folding.count;
                folding.for_lines([&](Index column, Index element, Index length) {
                    for (Index i = 0; i < length; ++i) {
                        columns[column + i] = plane[element + i * stride];
                    }
                });
            }
        });
    });
    return result.release();
}

// col2im(x; shape, kernel, dilation, padding, stride)
PyObject* col2im(Arguments arguments) {
    Array x = arguments.array(0);
    Index sizes[2 + pool_axes];
    Folding folding;
    if (!x || !x.is_plain() || x.ndim() != 3) return decline();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    const int ndim = read_integers(arguments[1], sizes, 2 + pool_axes);
    if (ndim < 3 || !folding.read(ndim, sizes, arguments, 2)) return decline();
    if (x.size() != folding.planes * folding.taps * folding.count) return decline();
    Py_INCREF(x.descriptor());
    Owned result(zeros(ndim, sizes, x.descriptor()));
    if (!result) return nullptr;
    const Index stride = folding.stride();
    auto run = [&](auto* out) {
        using T = std::remove_pointer_t<decltype(out)>;
        const T* in = x.data<T>();
        parallel_for(folding.planes, folding.grain(), [&](Index begin, Index end) {
            for (Index p = begin; p < end; ++p) {
                const T* columns = in + p * folding.taps * folding.count;
                T* plane = out + p * folding.windows.input_plane();
                folding.for_lines([&](Index column, Index element, Index length) {
                    for (Index i = 0; i < length; ++i) {
                        plane[element + i * stride] += columns[column + i];
                    }
                });
            }
        });
    };
    if (x.type() == Type::float32) run(result.array().data<float>());
    else run(result.array().data<double>());
    return result.release();
}

Registration registrations[] = {
    {"im2col", im2col},
    {"col2im", col2im},
};

}  // namespace
}  // namespace nnkit
