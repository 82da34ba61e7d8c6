// Resampling: another size of the spatial axes, one after the other, each sample a sum of a few
// weighted ones of the axis.
#include <cmath>
#include <vector>

#include "computed.h"
#include "layout.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr int most_spatial = 3, most_taps = 4;
constexpr Index work_of_task = 32768;

enum class Mode { nearest, nearest_exact, linear, cubic };

// What each new sample of an axis is made of: `taps` samples of the old one, and their weights.
template <class T> struct Table {
    Index old, fresh;
    int taps;
    bool weighs;  // or there is one tap, as it is
    std::vector<std::int32_t> places[most_taps];
    std::vector<T> weights[most_taps];
};

// Keys' kernel, as `reference/resampling.py` has it, up to a distance of 1 and between 1 and 2.
template <class T> T keys_near(T distance) {
    constexpr double a = -0.75;
    return ((distance * T(a + 2) - T(a + 3)) * distance) * distance + T(1);
}
template <class T> T keys_far(T distance) {
    constexpr double a = -0.75;
    return ((distance * T(a) - T(5 * a)) * distance + T(8 * a)) * distance - T(4 * a);
}

// The table of an axis; false for positions that no index has.
template <class T>
bool fill(Index old, Index fresh, PyObject* factor, Mode mode, bool aligned, Table<T>* table) {
    const bool between = mode == Mode::linear || mode == Mode::cubic;
    const bool stays = old == fresh && (mode == Mode::nearest_exact || mode == Mode::linear);
    double scale = static_cast<double>(old) / static_cast<double>(fresh);
    if (factor != Py_None) scale = 1 / PyFloat_AsDouble(factor);
    if (PyErr_Occurred() || old < 1 || fresh < 1) return false;
    if (aligned && between) {
        scale = fresh > 1 ? static_cast<double>(old - 1) / static_cast<double>(fresh - 1) : 0;
    }
    table->old = old, table->fresh = fresh;
    table->weighs = between;
    table->taps = !table->weighs ? 1 : mode == Mode::linear ? 2 : 4;
    for (int k = 0; k < table->taps; ++k) {
        table->places[k].resize(static_cast<std::size_t>(fresh));
        table->weights[k].resize(table->weighs ? static_cast<std::size_t>(fresh) : 0);
    }
    for (Index i = 0; i < fresh; ++i) {
        const T half = T(0.5), number = static_cast<T>(i);
        T position = number * T(scale);
        if (stays) position = number;
        else if (mode == Mode::nearest_exact) position = (number + half) * T(scale);
        else if (between && !aligned) position = (number + half) * T(scale) - half;
        if (mode == Mode::linear && !aligned && position < 0) position = 0;
        if (!(std::fabs(position) < T(1 << 30))) return false;
        const T whole = std::floor(position), way = position - whole, rest = T(1) - way;
        const T linear[most_taps] = {rest, way};
        const T cubic[most_taps] = {keys_far(way + T(1)), keys_near(way), keys_near(rest),
                                    keys_far(rest + T(1))};
        const Index first = static_cast<Index>(whole) - (mode == Mode::cubic ? 1 : 0);
        for (int k = 0; k < table->taps; ++k) {
            const auto at = static_cast<std::size_t>(i);
            const Index place = stays ? i : std::clamp<Index>(first + k, 0, old - 1);
            table->places[k][at] = static_cast<std::int32_t>(place);
            if (table->weighs) table->weights[k][at] = (mode == Mode::cubic ? cubic : linear)[k];
        }
    }
    return true;
}

// `run(taps)` with the number of weighted samples as a constant, 0 for one as it is.
template <class T, class Run> void by_taps(const Table<T>& table, Run run) {
    if (!table.weighs) run(std::integral_constant<int, 0>());
    else if (table.taps == 2) run(std::integral_constant<int, 2>());
    else run(std::integral_constant<int, 4>());
}

// out[o][i][n] = sum over k of weight[k][i] * x[o][place[k][i]][n]
template <class T>
void sample(const Table<T>& table, const T* x, Index outer, Index inner, T* out) {
    by_taps(table, [&](auto taps) {
        const std::int32_t* places[most_taps];
        const T* weights[most_taps];
        for (int k = 0; k < table.taps; ++k) {
            places[k] = table.places[k].data();
            weights[k] = table.weights[k].data();
        }
        auto one = [&](auto at, const T* weight) {
            if constexpr (taps == 0) return at(0);
            T total = at(0) * weight[0];
            for (int k = 1; k < taps; ++k) total += at(k) * weight[k];
            return total;
        };
        const Index fresh = table.fresh, work = fresh * inner * table.taps;
        parallel_for(outer, std::max<Index>(1, work_of_task / work), [&](Index begin, Index end) {
            for (Index o = begin; o < end; ++o) {
                const T* from = x + o * table.old * inner;
                T* to = out + o * fresh * inner;
                if (inner == 1) {
                    for (Index i = 0; i < fresh; ++i) {
                        T weight[most_taps];
                        for (int k = 0; k < taps; ++k) weight[k] = weights[k][i];
                        to[i] = one([&](int k) { return from[places[k][i]]; }, weight);
                    }
                    continue;
                }
                for (Index i = 0; i < fresh; ++i, to += inner) {
                    const T* rows[most_taps];
                    T weight[most_taps];
                    for (int k = 0; k < table.taps; ++k) rows[k] = from + places[k][i] * inner;
                    for (int k = 0; k < taps; ++k) weight[k] = weights[k][i];
                    for (Index n = 0; n < inner; ++n) {
                        to[n] = one([&](int k) { return rows[k][n]; }, weight);
                    }
                }
            }
        });
    });
}

// out[o][place[k][i]][n] += weight[k][i] * y[o][i][n]
template <class T>
void spread(const Table<T>& table, const T* y, Index outer, Index inner, T* out) {
    by_taps(table, [&](auto taps) {
        const Index fresh = table.fresh, size = table.old * inner;
        const Index work = fresh * inner * table.taps;
        parallel_for(outer, std::max<Index>(1, work_of_task / work), [&](Index begin, Index end) {
            for (Index o = begin; o < end; ++o) {
                const T* from = y + o * fresh * inner;
                T* to = out + o * size;
                std::fill_n(to, size, T(0));
                for (Index i = 0; i < fresh; ++i, from += inner) {
                    const auto at = static_cast<std::size_t>(i);
                    for (int k = 0; k < table.taps; ++k) {
                        T* row = to + table.places[k][at] * inner;
                        const T weight = taps == 0 ? T(1) : table.weights[k][at];
                        for (Index n = 0; n < inner; ++n) row[n] += from[n] * weight;
                    }
                }
            }
        });
    });
}

// A call of (array; sizes, scales, mode, aligned): `from` and `to` are the spatial sizes.
struct Request {
    Array x;
    int axes;
    bool channels_last, aligned;
    Mode mode;
    Index sizes[2 + most_spatial];

    bool read(Arguments arguments, bool whole_shape) {
        x = arguments.array(0);
        if (!is_floating(x) || x.ndim() < 3 || x.ndim() > 2 + most_spatial) return false;
        axes = x.ndim() - 2;
        Index* into = sizes + (whole_shape ? 0 : 2);
        const int count = axes + (whole_shape ? 2 : 0);
        if (read_integers(arguments[1], into, 2 + axes) != count) return false;
        PyObject* scales = arguments[2];
        if (!PyTuple_CheckExact(scales) || PyTuple_GET_SIZE(scales) != axes) return false;
        if (x.size() == 0 || !PyUnicode_Check(arguments[3])) return false;
        auto is = [&](const char* name) {
            return PyUnicode_CompareWithASCIIString(arguments[3], name) == 0;
        };
        if (is("nearest")) mode = Mode::nearest;
        else if (is("nearest-exact")) mode = Mode::nearest_exact;
        else if (is("linear") || is("bilinear") || is("trilinear")) mode = Mode::linear;
        else if (is("bicubic")) mode = Mode::cubic;
        else return false;
        aligned = arguments.truth(4);
        channels_last = has_channels_last(x);
        return true;
    }
};

// One axis after the other, from array to array; `forward` takes the last one first.
template <class T>
Owned resampled(const Request& request, Arguments arguments, const Input& input, bool forward) {
    const Array x = request.x;
    const int ndim = x.ndim(), first = request.channels_last ? 1 : 2;
    npy_intp shape[2 + most_spatial];
    std::copy_n(input.array().shape(), ndim, shape);
    Table<T> tables[most_spatial];
    for (int a = 0; a < request.axes; ++a) {
        const Index here = shape[first + a], there = request.sizes[2 + a];
        PyObject* factor = PyTuple_GET_ITEM(arguments[2], a);
        if (!fill(forward ? here : there, forward ? there : here, factor, request.mode,
                  request.aligned, &tables[a])) {
            PyErr_Clear();
            return Owned();
        }
    }
    Owned kept;
    const T* from = input.data<T>();
    for (int k = 0; k < request.axes; ++k) {
        const int a = forward ? request.axes - 1 - k : k;
        shape[first + a] = request.sizes[2 + a];
        Owned made(empty<T>(ndim, shape));
        if (!made) return Owned();
        Index outer = 1, inner = 1;
        for (int i = 0; i < ndim; ++i) {
            if (i != first + a) (i < first + a ? outer : inner) *= shape[i];
        }
        T* to = made.array().template data<T>();
        if (forward) sample(tables[a], from, outer, inner, to);
        else spread(tables[a], from, outer, inner, to);
        kept = std::move(made);
        from = to;
    }
    return kept;
}

PyObject* resample(Arguments arguments, bool forward) {
    Request request;
    if (!request.read(arguments, !forward)) return decline();
    const Array x = request.x;
    const bool last = request.channels_last;
    Owned lying(last ? with_axis_moved(x, 1, x.ndim() - 1) : Py_NewRef(x.object()));
    Input input;
    if (!input.read_foreign(lying.array(), x.type(), x.size())) return decline();
    return by_computed_type(x.type(), [&](auto like) {
        using T = decltype(like);
        Owned result = resampled<T>(request, arguments, input, forward);
        result.reset(narrowed(std::move(result), x.type()));
        return result && last ? with_axis_moved(result.array(), x.ndim() - 1, 1) : result.release();
    });
}

PyObject* resample(Arguments arguments) { return resample(arguments, true); }
PyObject* resample_adjoint(Arguments arguments) { return resample(arguments, false); }

Registration resample_("resample", resample), adjoint_("resample_adjoint", resample_adjoint);

}  // namespace
}  // namespace nnkit
