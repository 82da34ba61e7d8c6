// Average pooling and its gradient: a line of outputs at a time, tap by tap.
#include <algorithm>

#include "memory.h"
#include "owned.h"
#include "parallel.h"
#include "pooling.h"

namespace nnkit {
namespace {

// Windows, and what each sum is divided by: the product of one divisor for each axis.
template <class T> struct Averages {
    Windows windows;
    std::vector<T> divisors[pool_axes];

    T divisor_of_all = 0;  // 0: the number of elements
    bool counts_padding = false;

    // The tables, once there is a result for them; false where a window sees no element.
    bool tabulate() {
        if (!windows.tabulate()) return false;
        for (int a = 0; a < pool_axes; ++a) {
            const WindowAxis& axis = windows.axes[a];
            if (divisor_of_all != 0) divisors[a].assign(axis.first.size(), T{1});
            else if (counts_padding) count_padding(axis, &divisors[a]);
            else divisors[a].assign(axis.count.begin(), axis.count.end());
        }
        if (divisor_of_all != 0) divisors[0].assign(divisors[0].size(), divisor_of_all);
        return true;
    }

    static void count_padding(const WindowAxis& axis, std::vector<T>* divisors) {
        for (Index o = 0; o < axis.outputs; ++o) {
            const Index start = o * axis.stride - axis.padding;
            const Index end = std::min(start + axis.kernel, axis.inputs + axis.padding);
            divisors->push_back(static_cast<T>(end - start));
        }
    }

    T divisor(std::size_t z, std::size_t y, std::size_t x) const {
        return divisors[0][z] * divisors[1][y] * divisors[2][x];
    }

    // visit(outputs' line, z, y) for each line of outputs; rows(input row) for each row it sees.
    template <class Visit> void each_line(Visit&& visit) const {
        for (std::size_t z = 0; z < windows.axes[0].first.size(); ++z) {
            for (std::size_t y = 0; y < windows.axes[1].first.size(); ++y) visit(z, y);
        }
    }

    template <bool polls, class Visit>
    void each_row(std::size_t z, std::size_t y, Visit&& visit) const {
        const WindowAxis &outer = windows.axes[0], &middle = windows.axes[1];
        for (Index i = 0; i < outer.count[z]; ++i) {
            for (Index j = 0; j < middle.count[y]; ++j) {
                visit(((outer.first[z] + i) * middle.inputs + middle.first[y] + j) *
                      windows.axes[2].inputs);
                if constexpr (polls) poll();
            }
        }
    }

    template <bool polls> void pool(const T* in, T* out) const {
        const WindowAxis& inner = windows.axes[2];
        const Index width = inner.outputs;
        each_line([&](std::size_t z, std::size_t y) {
            std::fill_n(out, width, T{});
            each_row<polls>(z, y, [&](Index row) {
                const T* line = in + row;
                if (!inner.is_regular()) {
                    for (std::size_t x = 0; x < inner.first.size(); ++x) {
                        T sum = 0;
                        for (Index k = 0; k < inner.count[x]; ++k) sum += line[inner.first[x] + k];
                        out[x] += sum;
                    }
                    return;
                }
                inner.each_tap([&](Index begin, Index count, Index at, Index stride, Index) {
                    for (Index x = 0; x < count; ++x) out[begin + x] += line[at + x * stride];
                });
            });
            for (std::size_t x = 0; x < inner.first.size(); ++x) out[x] /= divisor(z, y, x);
            out += width;
        });
    }

    template <bool polls> void spread(const T* g, T* out, T* share) const {
        const WindowAxis& inner = windows.axes[2];
        std::fill_n(out, windows.input_plane(), T{});
        each_line([&](std::size_t z, std::size_t y) {
            for (std::size_t x = 0; x < inner.first.size(); ++x) share[x] = g[x] / divisor(z, y, x);
            each_row<polls>(z, y, [&](Index row) {
                T* line = out + row;
                if (!inner.is_regular()) {
                    for (std::size_t x = 0; x < inner.first.size(); ++x) {
                        for (Index k = 0; k < inner.count[x]; ++k) {
                            line[inner.first[x] + k] += share[x];
                        }
                    }
                    return;
                }
                inner.each_tap([&](Index begin, Index count, Index at, Index stride, Index) {
                    for (Index x = 0; x < count; ++x) line[at + x * stride] += share[begin + x];
                });
            });
            g += inner.outputs;
        });
    }
};

template <class T> PyObject* pooled(Averages<T>& averages, Array x) {
    npy_intp shape[2 + pool_axes];
    pooled_shape(averages.windows, x.ndim(), x.shape(), shape);
    Owned result(empty<T>(x.ndim(), shape));
    if (!result) return nullptr;
    if (!averages.tabulate()) return decline();
    const Index plane = averages.windows.input_plane(), outputs = averages.windows.output_plane();
    const T* in = x.data<T>();
    T* out = result.array().data<T>();
    const Index grain = std::max<Index>(1, elements_of_piece / (plane + outputs));
    parallel_for(shape[0] * shape[1], grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            if (averages.windows.are_large) {
                averages.template pool<true>(in + i * plane, out + i * outputs);
            } else {
                averages.template pool<false>(in + i * plane, out + i * outputs);
            }
        }
    });
    return result.release();
}

template <class T>
PyObject* spread(Averages<T>& averages, Array g, const Index* shape) {
    Owned result(empty<T>(g.ndim(), shape));
    if (!result) return nullptr;
    if (!averages.tabulate()) return decline();
    const Index plane = averages.windows.input_plane(), outputs = averages.windows.output_plane();
    const T* from = g.data<T>();
    T* out = result.array().data<T>();
    const Index grain = std::max<Index>(1, elements_of_piece / (plane + outputs));
    parallel_for(shape[0] * shape[1], grain, [&](Index begin, Index end) {
        Scratch<T> share(averages.windows.axes[2].outputs);
        for (Index i = begin; i < end; ++i) {
            if (averages.windows.are_large) {
                averages.template spread<true>(from + i * outputs, out + i * plane, share.data());
            } else {
                averages.template spread<false>(from + i * outputs, out + i * plane, share.data());
            }
        }
    });
    return result.release();
}

// Reads kernel, stride, padding, ceil_mode, count_include_pad and divisor, which start at `first`.
template <class T>
bool read(Arguments arguments, Index first, int ndim, const Index* shape, Averages<T>* averages) {
    if (!read_windows(ndim, shape, arguments[first], arguments[first + 1], arguments[first + 2],
                      nullptr, arguments.truth(first + 3), &averages->windows)) {
        return false;
    }
    if (!arguments.is_none(first + 5)) {
        averages->divisor_of_all = static_cast<T>(arguments.integer(first + 5));
        return averages->divisor_of_all != 0;
    }
    averages->counts_padding = arguments.truth(first + 4);
    return true;
}

template <class T> PyObject* average(Arguments arguments, Array x) {
    Averages<T> averages;
    if (!read(arguments, 1, x.ndim(), x.shape(), &averages)) return decline();
    return pooled(averages, x);
}

PyObject* avg_pool(Arguments arguments) {
    if (arguments.count() != 7) return decline();
    Array x = arguments.array(0);
    if (!is_handled(x)) return decline();
    return x.type() == Type::float32 ? average<float>(arguments, x)
                                     : average<double>(arguments, x);
}

// Whether g is what windows over planes of `shape` give.
bool fits(const Windows& windows, Array g, const Index* shape) {
    npy_intp expected[2 + pool_axes];
    pooled_shape(windows, g.ndim(), shape, expected);
    return PyArray_CompareLists(expected, g.shape(), g.ndim());
}

template <class T> PyObject* average_grad(Arguments arguments, Array g, const Index* shape) {
    Averages<T> averages;
    if (!read(arguments, 2, g.ndim(), shape, &averages)) return decline();
    if (!fits(averages.windows, g, shape)) return decline();
    return spread(averages, g, shape);
}

PyObject* avg_pool_grad(Arguments arguments) {
    if (arguments.count() != 8) return decline();
    Array g = arguments.array(0);
    Index shape[2 + pool_axes];
    if (!is_handled(g) || read_integers(arguments[1], shape, 2 + pool_axes) != g.ndim()) {
        return decline();
    }
    return g.type() == Type::float32 ? average_grad<float>(arguments, g, shape)
                                     : average_grad<double>(arguments, g, shape);
}

template <class T>
bool read_adaptive_averages(int ndim, const Index* spatial, const Index* size,
                            Averages<T>* averages) {
    if (!read_adaptive(ndim - 2, spatial, size, &averages->windows)) return false;
    return true;
}

template <class T> PyObject* adaptive_average(Array x, const Index* size) {
    Averages<T> averages;
    if (!read_adaptive_averages(x.ndim(), x.shape() + 2, size, &averages)) return decline();
    return pooled(averages, x);
}

PyObject* adaptive_avg_pool(Arguments arguments) {
    if (arguments.count() != 2) return decline();
    Array x = arguments.array(0);
    Index size[pool_axes];
    if (!is_handled(x) || read_integers(arguments[1], size, pool_axes) != x.ndim() - 2) {
        return decline();
    }
    return x.type() == Type::float32 ? adaptive_average<float>(x, size)
                                     : adaptive_average<double>(x, size);
}

template <class T> PyObject* adaptive_average_grad(Array g, const Index* shape) {
    Averages<T> averages;
    if (!read_adaptive_averages(g.ndim(), shape + 2, g.shape() + 2, &averages)) return decline();
    return spread(averages, g, shape);
}

PyObject* adaptive_avg_pool_grad(Arguments arguments) {
    if (arguments.count() != 2) return decline();
    Array g = arguments.array(0);
    Index shape[2 + pool_axes];
    if (!is_handled(g) || read_integers(arguments[1], shape, 2 + pool_axes) != g.ndim() ||
        shape[0] != g.shape(0) || shape[1] != g.shape(1)) {
        return decline();
    }
    return g.type() == Type::float32 ? adaptive_average_grad<float>(g, shape)
                                     : adaptive_average_grad<double>(g, shape);
}

const Registration avg_pool_("avg_pool", by_rows<avg_pool>);
const Registration avg_pool_grad_("avg_pool_grad", by_rows<avg_pool_grad>);
const Registration adaptive_avg_pool_("adaptive_avg_pool", by_rows<adaptive_avg_pool>);
const Registration adaptive_avg_pool_grad_("adaptive_avg_pool_grad", by_rows<adaptive_avg_pool_grad>);

}  // namespace
}  // namespace nnkit
