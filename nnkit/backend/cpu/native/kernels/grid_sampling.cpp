// Images and volumes read at the places of a grid: weighted sums of a few neighbours, which all
// channels share. What a coordinate means is defined in backend/reference/grid_sampling.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "computed.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr int most_axes_of_grid = 3, most_taps = 4;
constexpr Index work_of_piece = 4096;      // neighbours of places
constexpr Index channels_of_piece = 8;     // of the gradient in the image, whose places are shared
constexpr Index block_of_places = 64;

enum class Mode { bilinear, nearest, bicubic };
enum class Padding { zeros, border, reflection };

constexpr int taps_of(Mode mode) {
    return mode == Mode::nearest ? 1 : mode == Mode::bilinear ? 2 : 4;
}

// A call: (N, C, *sizes) at the places (N, *output, axes).
struct GridCall {
    Mode mode;
    Padding padding;
    bool aligned;
    int axes;
    Index batch, channels, plane, places;
    Index sizes[most_axes_of_grid];

    // `shape` is that of the image; the arguments from `first` on are the static ones.
    bool read(int ndim, const npy_intp* shape, Array grid, Arguments arguments, Index first) {
        axes = ndim - 2;
        if (axes < 2 || axes > most_axes_of_grid || grid.ndim() != ndim) return false;
        if (grid.shape(0) != shape[0] || grid.shape(-1) != axes) return false;
        batch = shape[0], channels = shape[1], plane = places = 1;
        for (int a = 0; a < axes; ++a) {
            sizes[a] = shape[2 + a];
            plane *= sizes[a];
            places *= grid.shape(1 + a);
        }
        aligned = arguments.truth(first + 2);
        return plane > 0 && plane <= std::numeric_limits<std::int32_t>::max() &&
               read_name(arguments[first], "bilinear", Mode::bilinear, &mode, "nearest",
                         Mode::nearest, "bicubic", Mode::bicubic) &&
               read_name(arguments[first + 1], "zeros", Padding::zeros, &padding, "border",
                         Padding::border, "reflection", Padding::reflection) &&
               (mode != Mode::bicubic || axes == 2);
    }
    int neighbours() const {
        int count = 1;
        for (int a = 0; a < axes; ++a) count *= taps_of(mode);
        return count;
    }

private:
    template <class E>
    static bool read_name(PyObject* name, const char* a, E of_a, E* out, const char* b, E of_b,
                          const char* c, E of_c) {
        if (!PyUnicode_Check(name)) return false;
        const auto is = [name](const char* word) {
            return PyUnicode_CompareWithASCIIString(name, word) == 0;
        };
        *out = is(a) ? of_a : is(b) ? of_b : of_c;
        return is(a) || is(b) || is(c);
    }
};

// The neighbours of a block of places along one axis.
template <class T, int each> struct Taps {
    std::int32_t index[each][block_of_places];  // -1 where it lies outside
    T weight[each][block_of_places], slope[each][block_of_places];
};

// The neighbours of a block of places: where in a plane, -1 for those outside, and their weights.
template <class T, int all> struct Neighbours {
    std::int32_t offset[all][block_of_places];
    T weight[all][block_of_places];
};

// The same with what each weight changes by along each axis.
template <class T, int axes, int all> struct Slopes {
    std::int32_t offset[all][block_of_places];
    T slope[axes][all][block_of_places];
    T along[all][block_of_places];  // the image there, times the gradient, over all channels
};

template <class T> T near(T d) { return ((T(1.25) * d - T(2.25)) * d) * d + T(1); }
template <class T> T far(T d) { return ((T(-0.75) * d + T(3.75)) * d - T(6)) * d + T(3); }
template <class T> T near_slope(T d) { return (T(3.75) * d - T(4.5)) * d; }
template <class T> T far_slope(T d) { return (T(-2.25) * d + T(7.5)) * d - T(6); }

// What lies outside is 0, so that a place that is NaN makes the result NaN.
template <class T> T value_at(const T* plane, std::int32_t offset) {
    static constexpr T nothing = 0;
    return *(offset < 0 ? &nothing : plane + offset);
}

template <class T, int axes, Mode mode> class Places {
public:
    static constexpr int each = taps_of(mode), all = each * each * (axes == 3 ? each : 1);

    Places(const GridCall& call, const T* grid) : call_(call), grid_(grid) {}

    // The neighbours of `count` places of sample `n` from place `first` on.
    void combine(Index n, Index first, Index count, Neighbours<T, all>* out) const {
        Taps<T, each> taps[axes];
        read(n, first, count, taps);
        for_each(taps, count, [&](int k, const int* tap, const std::int32_t* offset) {
            std::copy_n(offset, count, out->offset[k]);
            multiply(taps, tap, -1, count, out->weight[k]);
        });
    }

    // The same, with the slopes of the weights along each axis.
    void read_slopes(Index n, Index first, Index count, Slopes<T, axes, all>* out) const {
        Taps<T, each> taps[axes];
        read(n, first, count, taps);
        for_each(taps, count, [&](int k, const int* tap, const std::int32_t* offset) {
            std::copy_n(offset, count, out->offset[k]);
            std::fill_n(out->along[k], count, T(0));
            for (int a = 0; a < axes; ++a) multiply(taps, tap, a, count, out->slope[a][k]);
        });
    }

private:
    // `body(k, taps, offsets)` for each combination of the taps along all axes, in order.
    template <class Body>
    void for_each(const Taps<T, each>* taps, Index count, Body body) const {
        std::int32_t offset[block_of_places];
        int k = 0;
        for (int z = 0; z < (axes == 3 ? each : 1); ++z) {
            for (int y = 0; y < each; ++y) {
                for (int x = 0; x < each; ++x, ++k) {
                    const int whole[] = {z, y, x};
                    const int* tap = whole + most_axes_of_grid - axes;
                    std::copy_n(taps[0].index[tap[0]], count, offset);
                    for (int a = 1; a < axes; ++a) {
                        const auto size = static_cast<std::int32_t>(call_.sizes[a]);
                        const std::int32_t* index = taps[a].index[tap[a]];
                        for (Index p = 0; p < count; ++p) {
                            const bool outside = (offset[p] | index[p]) < 0;
                            offset[p] = outside ? -1 : offset[p] * size + index[p];
                        }
                    }
                    body(k, tap, offset);
                }
            }
        }
    }

    // The product of the weights along all axes, but of the slope along axis `sloping`.
    static void multiply(const Taps<T, each>* taps, const int* tap, int sloping, Index count,
                         T* out) {
        for (int a = 0; a < axes; ++a) {
            const T* factor = (a == sloping ? taps[a].slope : taps[a].weight)[tap[a]];
            if (a == 0) {
                std::copy_n(factor, count, out);
                continue;
            }
            for (Index p = 0; p < count; ++p) out[p] *= factor[p];
        }
    }

    // Compiled once for its three uses: it is long.
    [[gnu::noinline]] void read(Index n, Index first, Index count, Taps<T, each>* taps) const {
        const T* at = grid_ + (n * call_.places + first) * axes;
        for (int a = 0; a < axes; ++a) {
            T coordinate[block_of_places];
            for (Index p = 0; p < count; ++p) coordinate[p] = at[p * axes + axes - 1 - a];
            const auto size = static_cast<T>(call_.sizes[a]);
            switch (call_.padding) {
                case Padding::zeros: read_axis<Padding::zeros>(coordinate, count, size, taps + a);
                    break;
                case Padding::border: read_axis<Padding::border>(coordinate, count, size, taps + a);
                    break;
                default: read_axis<Padding::reflection>(coordinate, count, size, taps + a);
            }
        }
    }

    template <Padding padding>
    void read_axis(const T* coordinate, Index count, T size, Taps<T, each>* taps) const {
        if (call_.aligned) read_axis<padding, true>(coordinate, count, size, taps);
        else read_axis<padding, false>(coordinate, count, size, taps);
    }

    template <Padding padding, bool aligned>
    static void read_axis(const T* coordinate, Index count, T n, Taps<T, each>* taps) {
        const T scale = (aligned ? n - 1 : n) / 2;
        const auto set = [taps, n](int k, Index p, T index, T weight, T slope) {
            const T inside = index >= 0 && index < n ? index : T(-1);
            taps->index[k][p] = static_cast<std::int32_t>(inside);
            taps->weight[k][p] = weight;
            taps->slope[k][p] = slope;
        };
        for (Index p = 0; p < count; ++p) {
            const T at = coordinate[p];
            T place = aligned ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2, slope = 1;
            if constexpr (mode == Mode::bicubic) {
                const T first = std::floor(place), way = place - first, rest = 1 - way;
                const T weights[] = {far(way + 1), near(way), near(rest), far(rest + 1)};
                const T slopes[] = {far_slope(way + 1), near_slope(way), -near_slope(rest),
                                    -far_slope(rest + 1)};
                for (int k = 0; k < most_taps; ++k) {
                    T unused = 1;
                    const T index = held<padding, aligned>(first + T(k - 1), n, unused);
                    set(k, p, std::rint(index), weights[k], slopes[k] * scale);
                }
                continue;
            }
            place = held<padding, aligned>(place, n, slope);
            if (axes == 3) {
                const bool counts = std::fabs(place) < T(2147483648.0);
                place = counts ? place : T(-100);
                slope = counts ? slope : T(0);
            }
            if constexpr (mode == Mode::nearest) {
                set(0, p, std::rint(place), 1, 0);
            } else if constexpr (mode == Mode::bilinear) {
                const T first = std::floor(place), way = place - first;
                set(0, p, first, 1 - way, -slope * scale);
                set(1, p, first + 1, way, slope * scale);
            }
        }
    }

    // A place as the padding sees it, and its slope; none but zeros leaves it outside.
    template <Padding padding, bool aligned> static T held(T place, T n, T& slope) {
        if (padding == Padding::zeros) return place;
        const T last = n - 1;
        if (padding == Padding::reflection) {
            const T low = aligned ? T(0) : T(-0.5), span = aligned ? last : n;
            if (span == 0) return slope = 0;
            T distance = place - low;
            slope = distance < 0 ? -slope : slope;
            distance = std::fabs(distance);
            const T turns = std::floor(distance / span), rest = distance - turns * span;
            const bool is_odd = std::floor(turns / 2) * 2 != turns;
            slope = is_odd ? -slope : slope;
            place = (is_odd ? span - rest : rest) + low;
        }
        slope = place > 0 && place < last ? slope : T(0);
        return place > 0 ? std::min(place, last) : T(0);
    }

    const GridCall& call_;
    const T* grid_;
};

// `body(n, first, count)` for blocks of places of each sample.
template <class Body> void over_places(const GridCall& call, Body body) {
    const Index blocks = (call.places + block_of_places - 1) / block_of_places;
    const Index work = block_of_places * call.neighbours() * (call.channels + 2);
    parallel_for(call.batch * blocks, std::max<Index>(1, work_of_piece / work),
                 [&](Index begin, Index end) {
        for (Index task = begin; task < end; ++task) {
            const Index first = task % blocks * block_of_places;
            body(task / blocks, first, std::min(block_of_places, call.places - first));
        }
    });
}

template <class T, int axes, Mode mode>
Owned sampled(const GridCall& call, const T* image, const T* grid, const npy_intp* shape) {
    Owned result(empty<T>(axes + 2, shape));
    if (!result) return result;
    T* out = result.array().data<T>();
    const Places<T, axes, mode> places(call, grid);
    constexpr int all = places.all;
    over_places(call, [&](Index n, Index first, Index count) {
        Neighbours<T, all> known;
        places.combine(n, first, count, &known);
        for (Index c = 0; c < call.channels; ++c) {
            poll();
            const T* plane = image + (n * call.channels + c) * call.plane;
            T* to = out + (n * call.channels + c) * call.places + first;
            for (Index p = 0; p < count; ++p) {
                T sum = 0;
#pragma GCC unroll 16
                for (int k = 0; k < all; ++k) {
                    sum += value_at(plane, known.offset[k][p]) * known.weight[k][p];
                }
                to[p] = sum;
            }
        }
    });
    return result;
}

template <class T, int axes, Mode mode>
Owned image_gradient(const GridCall& call, const T* g, const T* grid, const npy_intp* shape) {
    Owned result(empty<T>(axes + 2, shape));
    if (!result) return result;
    T* out = result.array().data<T>();
    const Places<T, axes, mode> places(call, grid);
    const Index blocks = (call.channels + channels_of_piece - 1) / channels_of_piece;
    const Index work = call.places * call.neighbours() * channels_of_piece;
    parallel_for(call.batch * blocks, std::max<Index>(1, work_of_piece / (work + 1)),
                 [&](Index begin, Index end) {
        Neighbours<T, places.all> known;
        for (Index task = begin; task < end; ++task) {
            const Index n = task / blocks, first = task % blocks * channels_of_piece;
            const Index some = std::min(channels_of_piece, call.channels - first);
            T* planes = out + (n * call.channels + first) * call.plane;
            const T* all_above = g + (n * call.channels + first) * call.places;
            std::fill_n(planes, some * call.plane, T(0));
            for (Index start = 0; start < call.places; start += block_of_places) {
                poll();
                const Index count = std::min(block_of_places, call.places - start);
                places.combine(n, start, count, &known);
                for (Index c = 0; c < some; ++c) {
                    T* plane = planes + c * call.plane;
                    const T* above = all_above + c * call.places + start;
                    for (Index p = 0; p < count; ++p) {
                        for (int k = 0; k < places.all; ++k) {
                            const std::int32_t offset = known.offset[k][p];
                            if (offset >= 0) plane[offset] += above[p] * known.weight[k][p];
                        }
                    }
                }
            }
        }
    });
    return result;
}

template <class T, int axes, Mode mode>
Owned grid_gradient(const GridCall& call, const T* g, const T* image, const T* grid,
                    const npy_intp* shape) {
    Owned result(empty<T>(axes + 2, shape));
    if (!result) return result;
    T* out = result.array().data<T>();
    const Places<T, axes, mode> places(call, grid);
    if (mode == Mode::nearest) {
        std::fill_n(out, call.batch * call.places * axes, T(0));
        return result;
    }
    over_places(call, [&](Index n, Index first, Index count) {
        Slopes<T, axes, places.all> known;
        places.read_slopes(n, first, count, &known);
        for (Index c = 0; c < call.channels; ++c) {
            poll();
            const T* plane = image + (n * call.channels + c) * call.plane;
            const T* above = g + (n * call.channels + c) * call.places + first;
            for (Index p = 0; p < count; ++p) {
                for (int k = 0; k < places.all; ++k) {
                    const std::int32_t offset = known.offset[k][p];
                    if (offset >= 0) known.along[k][p] += above[p] * plane[offset];
                }
            }
        }
        for (Index p = 0; p < count; ++p) {
            T* to = out + (n * call.places + first + p) * axes + axes - 1;
            for (int a = 0; a < axes; ++a) {
                T sum = 0;
                for (int k = 0; k < places.all; ++k) {
                    sum += known.along[k][p] * known.slope[a][k][p];
                }
                *to-- = sum;
            }
        }
    });
    return result;
}

// `run(axes, mode)` with both as constants.
template <class Run> Owned by_kind(const GridCall& call, Run run) {
    using Two = std::integral_constant<int, 2>;
    using Three = std::integral_constant<int, 3>;
    using Bilinear = std::integral_constant<Mode, Mode::bilinear>;
    using Nearest = std::integral_constant<Mode, Mode::nearest>;
    using Bicubic = std::integral_constant<Mode, Mode::bicubic>;
    if (call.mode == Mode::bicubic) return run(Two(), Bicubic());
    if (call.mode == Mode::nearest) {
        return call.axes == 2 ? run(Two(), Nearest()) : run(Three(), Nearest());
    }
    return call.axes == 2 ? run(Two(), Bilinear()) : run(Three(), Bilinear());
}

PyObject* grid_sample(Arguments arguments) {
    Array x = arguments.array(0), grid = arguments.array(1);
    if (!is_floating(x) || !is_floating(grid) || x.type() != grid.type()) return decline();
    GridCall call;
    if (!call.read(x.ndim(), x.shape(), grid, arguments, 2)) return decline();
    Input image, where;
    if (!image.read_foreign(x, x.type(), x.size()) ||
        !where.read_foreign(grid, x.type(), grid.size())) {
        return decline();
    }
    npy_intp shape[2 + most_axes_of_grid] = {call.batch, call.channels};
    std::copy_n(grid.shape() + 1, call.axes, shape + 2);
    return by_computed_type(x.type(), [&](auto like) {
        using T = decltype(like);
        return narrowed(by_kind(call, [&](auto axes, auto mode) {
            return sampled<T, axes, mode>(call, image.data<T>(), where.data<T>(), shape);
        }), x.type());
    });
}

PyObject* grid_sample_grad_input(Arguments arguments) {
    Array g = arguments.array(0), grid = arguments.array(1);
    if (!is_floating(g) || !is_floating(grid) || g.type() != grid.type()) return decline();
    Index given[2 + most_axes_of_grid];
    const int ndim = read_integers(arguments[2], given, 2 + most_axes_of_grid);
    GridCall call;
    npy_intp shape[2 + most_axes_of_grid];
    std::copy_n(given, std::max(ndim, 0), shape);
    if (ndim != g.ndim() || !call.read(ndim, shape, grid, arguments, 3)) return decline();
    Input above, where;
    if (!above.read_foreign(g, g.type(), call.batch * call.channels * call.places) ||
        !where.read_foreign(grid, g.type(), grid.size())) {
        return decline();
    }
    return by_computed_type(g.type(), [&](auto like) {
        using T = decltype(like);
        return narrowed(by_kind(call, [&](auto axes, auto mode) {
            return image_gradient<T, axes, mode>(call, above.data<T>(), where.data<T>(), shape);
        }), g.type());
    });
}

PyObject* grid_sample_grad_grid(Arguments arguments) {
    Array g = arguments.array(0), x = arguments.array(1), grid = arguments.array(2);
    if (!is_floating(g) || !is_floating(x) || !is_floating(grid)) return decline();
    if (g.type() != x.type() || grid.type() != x.type()) return decline();
    GridCall call;
    if (!call.read(x.ndim(), x.shape(), grid, arguments, 3)) return decline();
    Input above, image, where;
    if (!above.read_foreign(g, x.type(), call.batch * call.channels * call.places) ||
        !image.read_foreign(x, x.type(), x.size()) ||
        !where.read_foreign(grid, x.type(), grid.size())) {
        return decline();
    }
    return by_computed_type(x.type(), [&](auto like) {
        using T = decltype(like);
        return narrowed(by_kind(call, [&](auto axes, auto mode) {
            return grid_gradient<T, axes, mode>(call, above.data<T>(), image.data<T>(),
                                                where.data<T>(), grid.shape());
        }), x.type());
    });
}

const Registration registrations[] = {
    {"grid_sample", grid_sample},
    {"grid_sample_grad_input", grid_sample_grad_input},
    {"grid_sample_grad_grid", grid_sample_grad_grid},
};

}  // namespace
}  // namespace nnkit
