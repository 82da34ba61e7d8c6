// Images and volumes read at the places of a grid: weighted sums of a few neighbours, which all
// channels share. What a coordinate means is told in backend/reference/grid_sampling.py.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "computed.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr int most_axes_of_grid = 3, most_taps = 4, most_neighbours = 16;
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
        return plane > 0 && read_name(arguments[first], "bilinear", Mode::bilinear, &mode,
                                      "nearest", Mode::nearest, "bicubic", Mode::bicubic) &&
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

// A neighbour along one axis.
template <class T> struct Tap {
    Index index;  // -1 where it lies outside
    T weight, slope;
};

// The neighbours of one place that lie inside: where in a plane, and their weights.
template <class T> struct Neighbours {
    int count;
    T rest;  // what those outside add: 0, or NaN where the place is none
    Index offset[most_neighbours];
    T weight[most_neighbours];
};

// The same with what each weight changes by along each axis.
template <class T> struct Slopes {
    int count;
    T rest[most_axes_of_grid];
    Index offset[most_neighbours];
    T slope[most_axes_of_grid][most_neighbours];
    T along[most_neighbours];  // the image there, times the gradient, over all channels
};

template <class T> T near(T d) { return ((T(1.25) * d - T(2.25)) * d) * d + T(1); }
template <class T> T far(T d) { return ((T(-0.75) * d + T(3.75)) * d - T(6)) * d + T(3); }
template <class T> T near_slope(T d) { return (T(3.75) * d - T(4.5)) * d; }
template <class T> T far_slope(T d) { return (T(-2.25) * d + T(7.5)) * d - T(6); }

template <class T, int axes, Mode mode> class Places {
public:
    Places(const GridCall& call, const T* grid) : call_(call), grid_(grid) {}

    // The neighbours of `count` places of sample `n` from place `first` on.
    void combine(Index n, Index first, Index count, Neighbours<T>* out) const {
        for (Index p = 0; p < count; ++p, ++out) {
            out->count = 0, out->rest = 0;
            for_each(n, first + p, [out](const Tap<T>* const* chosen, Index offset) {
                T weight = chosen[0]->weight;
                for (int a = 1; a < axes; ++a) weight *= chosen[a]->weight;
                if (offset < 0) {
                    out->rest += weight * T(0);
                    return;
                }
                out->offset[out->count] = offset;
                out->weight[out->count++] = weight;
            });
        }
    }

    // The same, with the slopes of the weights along each axis.
    void read_slopes(Index n, Index first, Index count, Slopes<T>* out) const {
        for (Index p = 0; p < count; ++p, ++out) {
            out->count = 0;
            std::fill_n(out->rest, most_axes_of_grid, T(0));
            for_each(n, first + p, [out](const Tap<T>* const* chosen, Index offset) {
                for (int a = 0; a < axes; ++a) {
                    T slope = 1;
                    for (int b = 0; b < axes; ++b) {
                        slope *= b == a ? chosen[b]->slope : chosen[b]->weight;
                    }
                    if (offset < 0) out->rest[a] += slope * T(0);
                    else out->slope[a][out->count] = slope;
                }
                if (offset < 0) return;
                out->along[out->count] = 0;
                out->offset[out->count++] = offset;
            });
        }
    }

private:
    // `body(taps, offset)` for each combination of a place's taps, in order.
    template <class Body> void for_each(Index n, Index place, Body body) const {
        constexpr int each = taps_of(mode);
        Tap<T> taps[axes][each];
        const T* at = grid_ + (n * call_.places + place) * axes;
        for (int a = 0; a < axes; ++a) read_axis(at[axes - 1 - a], call_.sizes[a], taps[a]);
        for (int z = 0; z < (axes == 3 ? each : 1); ++z) {
            for (int y = 0; y < each; ++y) {
                for (int x = 0; x < each; ++x) {
                    const int place_of[] = {z, y, x};
                    const Tap<T>* chosen[axes];
                    Index offset = 0;
                    for (int a = 0; a < axes; ++a) {
                        chosen[a] = &taps[a][place_of[most_axes_of_grid - axes + a]];
                        const Index index = chosen[a]->index;
                        offset = offset < 0 || index < 0 ? -1 : offset * call_.sizes[a] + index;
                    }
                    body(chosen, offset);
                }
            }
        }
    }

    void read_axis(T coordinate, Index size, Tap<T>* taps) const {
        const T n = static_cast<T>(size);
        const T scale = (call_.aligned ? n - 1 : n) / 2;
        T place = call_.aligned ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
        T slope = 1;
        if constexpr (mode == Mode::bicubic) {
            const T first = std::floor(place), way = place - first, rest = 1 - way;
            const T weights[] = {far(way + 1), near(way), near(rest), far(rest + 1)};
            const T slopes[] = {far_slope(way + 1), near_slope(way), -near_slope(rest),
                                -far_slope(rest + 1)};
            for (int k = 0; k < most_taps; ++k) {
                T unused = 1;
                const T index = held(first + static_cast<T>(k - 1), size, unused);
                taps[k] = {inside(std::rint(index), size), weights[k], slopes[k] * scale};
            }
            return;
        }
        place = held(place, size, slope);
        if (axes == 3 && !(std::fabs(place) < T(2147483648.0))) place = -100, slope = 0;
        if constexpr (mode == Mode::nearest) {
            taps[0] = {inside(std::rint(place), size), 1, 0};
            return;
        }
        const T first = std::floor(place), way = place - first;
        taps[0] = {inside(first, size), 1 - way, -slope * scale};
        taps[1] = {inside(first + 1, size), way, slope * scale};
    }

    static Index inside(T index, Index size) {
        return index >= 0 && index < static_cast<T>(size) ? static_cast<Index>(index) : -1;
    }

    // A place as the padding sees it, and its slope; none but zeros leaves it outside.
    T held(T place, Index size, T& slope) const {
        if (call_.padding == Padding::zeros) return place;
        const T last = static_cast<T>(size - 1);
        if (call_.padding == Padding::reflection) {
            const T low = call_.aligned ? T(0) : T(-0.5);
            const T span = call_.aligned ? last : static_cast<T>(size);
            if (span == 0) return slope = 0;
            T distance = place - low;
            if (distance < 0) slope = -slope;
            distance = std::fabs(distance);
            const T turns = std::floor(distance / span), rest = distance - turns * span;
            const bool is_odd = std::floor(turns / 2) * 2 != turns;
            if (is_odd) slope = -slope;
            place = (is_odd ? span - rest : rest) + low;
        }
        if (!(place > 0 && place < last)) slope = 0;
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
    over_places(call, [&](Index n, Index first, Index count) {
        Neighbours<T> known[block_of_places];
        places.combine(n, first, count, known);
        for (Index c = 0; c < call.channels; ++c) {
            poll();
            const T* plane = image + (n * call.channels + c) * call.plane;
            T* to = out + (n * call.channels + c) * call.places + first;
            for (Index p = 0; p < count; ++p) {
                T sum = known[p].rest;
                for (int k = 0; k < known[p].count; ++k) {
                    sum += plane[known[p].offset[k]] * known[p].weight[k];
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
        Neighbours<T> known[block_of_places];
        for (Index task = begin; task < end; ++task) {
            const Index n = task / blocks, first = task % blocks * channels_of_piece;
            const Index some = std::min(channels_of_piece, call.channels - first);
            T* planes = out + (n * call.channels + first) * call.plane;
            const T* all_above = g + (n * call.channels + first) * call.places;
            std::fill_n(planes, some * call.plane, T(0));
            for (Index start = 0; start < call.places; start += block_of_places) {
                poll();
                const Index count = std::min(block_of_places, call.places - start);
                places.combine(n, start, count, known);
                for (Index c = 0; c < some; ++c) {
                    T* plane = planes + c * call.plane;
                    const T* above = all_above + c * call.places + start;
                    for (Index p = 0; p < count; ++p) {
                        for (int k = 0; k < known[p].count; ++k) {
                            plane[known[p].offset[k]] += above[p] * known[p].weight[k];
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
        Slopes<T> known[block_of_places];
        places.read_slopes(n, first, count, known);
        for (Index c = 0; c < call.channels; ++c) {
            poll();
            const T* plane = image + (n * call.channels + c) * call.plane;
            const T* above = g + (n * call.channels + c) * call.places + first;
            for (Index p = 0; p < count; ++p) {
                Slopes<T>& each = known[p];
                for (int k = 0; k < each.count; ++k) {
                    each.along[k] += above[p] * plane[each.offset[k]];
                }
            }
        }
        for (Index p = 0; p < count; ++p) {
            T* to = out + (n * call.places + first + p) * axes + axes - 1;
            for (int a = 0; a < axes; ++a) {
                T sum = known[p].rest[a];
                for (int k = 0; k < known[p].count; ++k) {
                    sum += known[p].along[k] * known[p].slope[a][k];
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
