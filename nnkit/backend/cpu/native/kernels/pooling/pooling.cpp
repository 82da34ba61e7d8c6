// Max pooling and its gradient: a line of outputs at a time, tap by tap.
#include "pooling.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "memory.h"
#include "owned.h"
#include "parallel.h"

namespace nnkit {
namespace {

// Indices are counted in integers as wide as the elements, so that both fill the same vectors.
template <class T> struct IndexOf { using type = std::int32_t; };
template <> struct IndexOf<double> { using type = std::int64_t; };

// Takes what is larger, and every NaN, along a line: from[x * stride] lies at index + x * stride.
template <class T, class I>
inline void take_larger(Index count, const T* from, Index stride, I index, T* best, I* where) {
    for (Index x = 0; x < count; ++x) {
        const T value = from[x * stride];
        const bool take = (value > best[x]) | (value != value);
        best[x] = take ? value : best[x];
        where[x] = take ? index + static_cast<I>(x * stride) : where[x];
    }
}

template <class T> class MaxPool {
public:
    using I = typename IndexOf<T>::type;
    explicit MaxPool(const Windows& windows) : windows_(windows) {}

    // One plane; `best` and `where` have room for a line of outputs.
    void plane(const T* in, T* out, std::int64_t* indices, I* where) const {
        const WindowAxis &outer = windows_.axes[0], &middle = windows_.axes[1];
        const Index width = windows_.axes[2].outputs;
        for (std::size_t z = 0; z < outer.first.size(); ++z) {
            for (std::size_t y = 0; y < middle.first.size(); ++y) {
                if (windows_.are_large) line<true>(in, z, y, out, where);
                else line<false>(in, z, y, out, where);
                for (Index x = 0; x < width; ++x) indices[x] = where[x];
                out += width;
                indices += width;
            }
        }
    }

private:
    template <bool polls>
    void line(const T* in, std::size_t z, std::size_t y, T* best, I* where) const {
        const WindowAxis &outer = windows_.axes[0], &middle = windows_.axes[1];
        const WindowAxis& inner = windows_.axes[2];
        const Index start = (outer.first[z] * middle.inputs + middle.first[y]) * inner.inputs;
        for (Index x = 0; x < inner.outputs; ++x) {
            best[x] = -std::numeric_limits<T>::infinity();
            where[x] = static_cast<I>(start + inner.first[static_cast<std::size_t>(x)]);
        }
        for (Index i = 0; i < outer.count[z]; ++i) {
            for (Index j = 0; j < middle.count[y]; ++j) {
                const Index row = ((outer.first[z] + i * outer.step) * middle.inputs +
                                   middle.first[y] + j * middle.step) * inner.inputs;
                taps(in, row, best, where);
                if constexpr (polls) poll();
            }
        }
    }

    void taps(const T* in, Index row, T* best, I* where) const {
        const WindowAxis& inner = windows_.axes[2];
        if (!inner.is_regular()) {
            for (Index x = 0; x < inner.outputs; ++x) {
                const Index first = inner.first[static_cast<std::size_t>(x)];
                for (Index k = 0; k < inner.count[static_cast<std::size_t>(x)]; ++k) {
                    take_larger(1, in + row + first + k, 1, static_cast<I>(row + first + k),
                                best + x, where + x);
                }
            }
            return;
        }
        inner.each_tap([&](Index begin, Index count, Index first, Index stride, Index) {
            const Index at = row + first;
            const I index = static_cast<I>(at);
            if (stride == 1) {
                take_larger(count, in + at, 1, index, best + begin, where + begin);
            } else if (stride == 2) {
                take_larger(count, in + at, 2, index, best + begin, where + begin);
            } else {
                take_larger(count, in + at, stride, index, best + begin, where + begin);
            }
        });
    }

    const Windows& windows_;
};

// A piece of work asks `placing()` for the windows of each plane: null if some go beyond it.
template <class T, class Placing>
PyObject* pool(Windows& windows, Array x, Placing placing) {
    npy_intp shape[2 + pool_axes];
    pooled_shape(windows, x.ndim(), x.shape(), shape);
    Owned out(empty<T>(x.ndim(), shape)), indices(empty<std::int64_t>(x.ndim(), shape));
    if (!out || !indices) return nullptr;
    if (!windows.tabulate()) return decline();
    const Index plane = windows.input_plane(), outputs = windows.output_plane();
    const T* in = x.data<T>();
    T* to = out.array().data<T>();
    std::int64_t* where = indices.array().data<std::int64_t>();
    const Index grain = std::max<Index>(1, elements_of_piece / (plane + 1));
    std::atomic<bool> wrong{false};
    parallel_for(shape[0] * shape[1], grain, [&](Index begin, Index end) {
        auto place = placing();
        Scratch<typename IndexOf<T>::type> line(windows.axes[2].outputs);
        for (Index i = begin; i < end; ++i) {
            const Windows* placed = place(i);
            if (placed == nullptr) {
                wrong.store(true, std::memory_order_relaxed);
                continue;
            }
            const MaxPool<T> pool(*placed);
            pool.plane(in + i * plane, to + i * outputs, where + i * outputs, line.data());
        }
    });
    if (wrong) return decline();
    return tuple({out.release(), indices.release()});
}

bool are_countable(const Windows& windows) {
    return windows.input_plane() <= std::numeric_limits<std::int32_t>::max();
}

// A pool whose windows are the same in all planes.
PyObject* pool_alike(Windows& windows, Array x) {
    if (!are_countable(windows)) return decline();
    auto placing = [&] { return [&](Index) { return &windows; }; };
    return x.type() == Type::float32 ? pool<float>(windows, x, placing)
                                     : pool<double>(windows, x, placing);
}

// Places windows at distances that a sample in [0, 1) shifts; false if some go beyond the elements.
template <class T> bool place(WindowAxis& axis, T sample) {
    const Index room = axis.inputs - axis.kernel;
    const T alpha = static_cast<T>(room) / static_cast<T>(axis.outputs - 1);
    for (Index o = 0; o < axis.outputs - 1; ++o) {
        const Index start = static_cast<Index>((static_cast<T>(o) + sample) * alpha) -
                            static_cast<Index>(sample * alpha);
        if (start < 0 || start > room) return false;
        axis.first[static_cast<std::size_t>(o)] = start;
    }
    return true;  // the last one ends where the elements do
}

template <class T> PyObject* pool_apart(Windows& windows, Array x, Array samples) {
    const Index axes = samples.shape(2);
    const T* drawn = samples.data<T>();
    return pool<T>(windows, x, [&, axes, drawn] {
        return [=, placed = windows](Index plane) mutable -> const Windows* {
            for (Index i = 0; i < axes; ++i) {
                WindowAxis& axis = placed.axes[pool_axes - axes + i];
                if (!place(axis, drawn[plane * axes + i])) return nullptr;
            }
            return &placed;
        };
    });
}

PyObject* fractional_max_pool(Arguments arguments) {
    if (arguments.count() != 4) return decline();
    Array x = arguments.array(0), samples = arguments.array(1);
    Windows windows;
    if (!is_handled(x) || !is_handled(samples) || samples.type() != x.type() ||
        samples.ndim() != 3 || samples.shape(0) != x.shape(0) || samples.shape(1) != x.shape(1) ||
        samples.shape(2) != x.ndim() - 2 ||
        !read_fractional(x.ndim() - 2, x.shape() + 2, arguments[2], arguments[3], &windows) ||
        !are_countable(windows)) {
        return decline();
    }
    return x.type() == Type::float32 ? pool_apart<float>(windows, x, samples)
                                     : pool_apart<double>(windows, x, samples);
}

PyObject* max_pool(Arguments arguments) {
    if (arguments.count() != 6) return decline();
    Array x = arguments.array(0);
    Windows windows;
    if (!is_handled(x) ||
        !read_windows(x.ndim(), x.shape(), arguments[1], arguments[2], arguments[3], arguments[4],
                      arguments.truth(5), &windows)) {
        return decline();
    }
    return pool_alike(windows, x);
}

PyObject* adaptive_max_pool(Arguments arguments) {
    if (arguments.count() != 2) return decline();
    Array x = arguments.array(0);
    Windows windows;
    Index size[pool_axes];
    if (!is_handled(x) || read_integers(arguments[1], size, pool_axes) != x.ndim() - 2 ||
        !read_adaptive(x.ndim() - 2, x.shape() + 2, size, &windows)) {
        return decline();
    }
    return pool_alike(windows, x);
}

// g and indices of one shape, and planes of `shape`.
bool are_pooled(Array values, Array indices, int ndim) {
    return is_handled(values) && indices && indices.type() == Type::int64 && indices.is_plain() &&
           ndim == values.ndim() && indices.ndim() == ndim;
}

// Calls `work(plane)` for each plane, of so many elements. It returns false where an index lies
// outside, and then there is no result.
template <class Work>
PyObject* plane_by_plane(Owned result, Index planes, Index elements, Work work) {
    std::atomic<bool> wrong{false};
    const Index grain = std::max<Index>(1, elements_of_piece / elements);
    parallel_for(planes, grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            if (!work(i)) wrong.store(true, std::memory_order_relaxed);
        }
    });
    return wrong ? decline() : result.release();
}

bool is_within(std::int64_t index, Index plane) {
    return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(plane);
}

template <class T> PyObject* spread(Array g, Array indices, const Index* shape) {
    Owned result(empty<T>(g.ndim(), shape));
    if (!result) return nullptr;
    Index plane = 1;
    for (int i = 2; i < g.ndim(); ++i) plane *= shape[i];
    const Index planes = shape[0] * shape[1], outputs = g.size() / planes;
    const T* from = g.data<T>();
    const std::int64_t* where = indices.data<std::int64_t>();
    T* to = result.array().data<T>();
    return plane_by_plane(std::move(result), planes, plane + outputs, [=](Index i) {
        T* out = to + i * plane;
        std::fill_n(out, plane, T{});
        bool right = true;
        for (Index k = i * outputs; k < (i + 1) * outputs; ++k) {
            if (is_within(where[k], plane)) out[where[k]] += from[k];
            else right = false;
        }
        return right;
    });
}

PyObject* max_pool_grad(Arguments arguments) {
    if (arguments.count() != 3) return decline();
    Array g = arguments.array(0), indices = arguments.array(1);
    Index shape[2 + pool_axes];
    const int ndim = read_integers(arguments[2], shape, 2 + pool_axes);
    if (!are_pooled(g, indices, ndim) || !g.same_shape(indices) || shape[0] != g.shape(0) ||
        shape[1] != g.shape(1)) {
        return decline();
    }
    return g.type() == Type::float32 ? spread<float>(g, indices, shape)
                                     : spread<double>(g, indices, shape);
}

template <class T> PyObject* gather(Array x, Array indices) {
    Owned result(empty<T>(x.ndim(), indices.shape()));
    if (!result) return nullptr;
    const Index planes = x.shape(0) * x.shape(1);
    const Index plane = x.size() / planes, outputs = indices.size() / planes;
    const T* from = x.data<T>();
    const std::int64_t* where = indices.data<std::int64_t>();
    T* to = result.array().data<T>();
    return plane_by_plane(std::move(result), planes, outputs + 1, [=](Index i) {
        const T* in = from + i * plane;
        bool right = true;
        for (Index k = i * outputs; k < (i + 1) * outputs; ++k) {
            if (is_within(where[k], plane)) to[k] = in[where[k]];
            else right = false;
        }
        return right;
    });
}

PyObject* max_pool_gather(Arguments arguments) {
    if (arguments.count() != 2) return decline();
    Array x = arguments.array(0), indices = arguments.array(1);
    if (!is_handled(x) || !are_pooled(x, indices, x.ndim()) || x.shape(0) != indices.shape(0) ||
        x.shape(1) != indices.shape(1)) {
        return decline();
    }
    return x.type() == Type::float32 ? gather<float>(x, indices) : gather<double>(x, indices);
}

const Registration max_pool_("max_pool", by_rows<max_pool>);
const Registration adaptive_max_pool_("adaptive_max_pool", by_rows<adaptive_max_pool>);
const Registration fractional_max_pool_("fractional_max_pool", by_rows<fractional_max_pool>);
const Registration max_pool_grad_("max_pool_grad", by_rows<max_pool_grad>);
const Registration max_pool_gather_("max_pool_gather", by_rows<max_pool_gather>);

}  // namespace
}  // namespace nnkit
