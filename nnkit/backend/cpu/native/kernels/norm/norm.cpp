// Normalization of rows: layer_norm, rms_norm and group_norm, and their gradients.
#include "norm.h"

namespace nnkit {
namespace {

constexpr Index most_pieces = 32;  // each has a sum of its own for the parameters' gradients

// x seen as rows with one mean each. A row is `channels` times `length` elements: elements of a
// channel share a weight. Layer normalization has channels of one element.
struct Rows {
    Index count, channels, length;
    Index groups;  // so many rows meet different weights
    Type type;

    Index size() const { return channels * length; }
    // The first channel of a row
    Index channel(Index row) const { return row % groups * channels; }
};

template <class T, bool weighted, bool biased>
void scale_row(const T* x, T* out, Index count, T mean, T scale, const T* weight, const T* bias) {
    for (Index i = 0; i < count; ++i) {
        T value = (x[i] - mean) * scale;
        if constexpr (weighted) value *= weight[i];
        if constexpr (biased) value += bias[i];
        out[i] = value;
    }
}

template <class T>
void scale_row(const T* x, T* out, Index count, T mean, T scale, const T* weight, const T* bias) {
    if (weight != nullptr && bias != nullptr) {
        scale_row<T, true, true>(x, out, count, mean, scale, weight, bias);
    } else if (weight != nullptr) {
        scale_row<T, true, false>(x, out, count, mean, scale, weight, bias);
    } else if (bias != nullptr) {
        scale_row<T, false, true>(x, out, count, mean, scale, weight, bias);
    } else {
        scale_row<T, false, false>(x, out, count, mean, scale, weight, bias);
    }
}

template <class T>
void forward(const Rows& rows, const T* x, const T* weight, const T* bias, double eps, bool centre,
             T* out, T* mean, T* variance) {
    Index size = rows.size(), grain = std::max<Index>(1, elements_of_norm_piece / size);
    parallel_for(rows.count, grain, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const T* from = x + r * size;
            T* to = out + r * size;
            Moments moments;
            moments.add(from, size, centre);
            T average = static_cast<T>(moments.mean());
            variance[r] = static_cast<T>(moments.variance());
            if (mean != nullptr) mean[r] = average;
            T scale = inverse_deviation(variance[r], eps);
            Index first = rows.channel(r);
            if (rows.length == 1) {
                scale_row(from, to, size, average, scale,
                          weight == nullptr ? nullptr : weight + first,
                          bias == nullptr ? nullptr : bias + first);
                continue;
            }
            for (Index c = 0; c < rows.channels; ++c) {
                T factor = weight == nullptr ? scale : scale * weight[first + c];
                T shift = bias == nullptr ? T(0) : bias[first + c];
                for (Index i = c * rows.length; i < (c + 1) * rows.length; ++i) {
                    to[i] = (from[i] - average) * factor + shift;
                }
            }
        }
    });
}

// The gradient of one row whose elements have weights of their own; `sums`, of one row, takes what
// the weights get. The exact mean is `lost` more than `mean`.
template <class T, bool weighted>
void row_gradient(const T* g, const T* x, const T* weight, Index count, T mean, T lost, T scale,
                  bool centre, T* out, T* sums) {
    T along, across = 0;
    T n = static_cast<T>(count);
    // Without the mean slope in it, so that no rounding of the mean is left of equal slopes.
    if constexpr (weighted) {
        if (centre) across = sum_of<T>(count, [](auto a, auto w) { return a * w; }, g, weight) / n;
        along = sum_of<T>(
            count,
            [mean, across](auto a, auto b, auto w) { return (a * w - across) * (b - mean); }, g, x,
            weight);
    } else {
        if (centre) across = sum_of(g, count) / n;
        along = sum_of<T>(
            count, [mean, across](auto a, auto b) { return (a - across) * (b - mean); }, g, x);
    }
    along = (along / n + across * lost) * scale;
    for (Index i = 0; i < count; ++i) {
        T standard = (x[i] - mean) * scale, slope = g[i];
        if constexpr (weighted) {
            sums[i] += slope * standard;
            slope *= weight[i];
        }
        out[i] = (slope - across - standard * along) * scale;
    }
}

template <class T>
void elements_backward(const Rows& rows, const T* g, const T* x, const T* weight, const T* mean,
                       const T* variance, double eps, T* g_x, T* g_weight) {
    Index size = rows.size(), all = size * rows.groups;
    Index grain = std::max({Index{1}, elements_of_norm_piece / size,
                            (rows.count + most_pieces - 1) / most_pieces});
    Index pieces = (rows.count + grain - 1) / grain;
    Scratch<T> sums(weight == nullptr ? 0 : pieces * all);
    parallel_for(rows.count, grain, [&](Index begin, Index end) {
        T* piece = weight == nullptr ? nullptr : sums.data() + begin / grain * all;
        if (weight != nullptr) std::fill_n(piece, all, T(0));
        for (Index r = begin; r < end; ++r) {
            Index at = r * size, first = rows.channel(r);
            T exact = mean == nullptr ? T(0) : mean[r];
            T average = kept(exact, rows.type), lost = exact - average;
            T scale = inverse_deviation(variance[r], eps);
            if (mean != nullptr) scale = kept(scale, rows.type);
            if (weight == nullptr) {
                row_gradient<T, false>(g + at, x + at, nullptr, size, average, lost,
                                       scale, mean != nullptr, g_x + at, nullptr);
            } else {
                row_gradient<T, true>(g + at, x + at, weight + first, size, average, lost,
                                      scale, mean != nullptr, g_x + at, piece + first);
            }
        }
    });
    if (weight == nullptr) return;
    sum_columns(pieces, all, all, g_weight, [&](Index i, Index) { return sums[i]; });
}

template <class T>
void channels_backward(const Rows& rows, const T* g, const T* x, const T* weight, const T* mean,
                       const T* variance, double eps, T* g_x, T* g_weight) {
    Index size = rows.size(), length = rows.length;
    Index grain = std::max<Index>(1, elements_of_norm_piece / size);
    Scratch<T> products(rows.count * rows.channels);
    parallel_for(rows.count, grain, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const T *slope = g + r * size, *from = x + r * size;
            T *to = g_x + r * size, average = kept(mean[r], rows.type);
            T scale = kept(inverse_deviation(variance[r], eps), rows.type);
            Index first = rows.channel(r);
            double along = 0, across = 0;
            for (Index c = 0; c < rows.channels; ++c) {
                T product = scale * sum_of<T>(
                    length, [average](auto a, auto b) { return a * (b - average); },
                    slope + c * length, from + c * length);
                products[r * rows.channels + c] = product;
                T w = weight == nullptr ? T(1) : weight[first + c];
                along += w * product;
                across += w * sum_of(slope + c * length, length);
            }
            T slant = static_cast<T>(along / static_cast<double>(size)) * scale * scale;
            T lift = static_cast<T>(across / static_cast<double>(size)) * scale;
            for (Index c = 0; c < rows.channels; ++c) {
                T factor = weight == nullptr ? scale : scale * weight[first + c];
                for (Index i = c * length; i < (c + 1) * length; ++i) {
                    to[i] = slope[i] * factor - lift - (from[i] - average) * slant;
                }
            }
        }
    });
    if (g_weight == nullptr) return;
    Index all = rows.channels * rows.groups;
    sum_columns(rows.count / rows.groups, all, all, g_weight,
                [&](Index i, Index) { return products[i]; });
}

// The view of layer_norm and rms_norm: `ndim` last axes in a row.
bool view_rows(Array x, Index ndim, Rows* rows) {
    if (!is_floating(x) || ndim < 1 || ndim > x.ndim() || x.size() == 0) return false;
    *rows = {1, 1, 1, 1, x.type()};
    for (int i = 0; i < x.ndim(); ++i) {
        (i < x.ndim() - ndim ? rows->count : rows->channels) *= x.shape()[i];
    }
    return true;
}

bool view_groups(Array x, Index groups, Rows* rows) {
    if (!is_floating(x) || x.ndim() < 2 || groups < 1 || x.size() == 0) return false;
    if (x.shape(1) % groups != 0) return false;
    Index channels = x.shape(1) / groups;
    *rows = {x.shape(0) * groups, channels, x.size() / (x.shape(0) * x.shape(1)), groups,
             x.type()};
    return true;
}

// Statistics of rows: (rows, 1), or (batch, groups, 1, 1).
template <class T> PyObject* new_statistics(const Rows& rows, bool grouped) {
    if (!grouped) return empty<T>({rows.count, 1});
    return empty<T>({rows.count / rows.groups, rows.groups, 1, 1});
}

PyObject* run_forward(Array x, const Rows& rows, Arguments arguments, bool centre, bool grouped) {
    Type type = x.type();
    Index parameters = rows.channels * rows.groups, eps_at = centre ? 4 : 3;
    Input source, weight, bias;
    double eps = arguments.number(eps_at);
    if (!source.read(x, type, x.size())) return decline();
    if (!weight.read_optional(arguments, 1, type, parameters)) return decline();
    if (centre && !bias.read_optional(arguments, 2, type, parameters)) return decline();
    return by_computed_type(type, [&](auto like) -> PyObject* {
        using T = decltype(like);
        Owned out(empty_like(source.array())), variance(new_statistics<T>(rows, grouped));
        Owned mean(centre ? new_statistics<T>(rows, grouped) : nullptr);
        if (!out || !variance || (centre && !mean)) return nullptr;
        forward(rows, source.data<T>(), weight.data<T>(), bias.data<T>(), eps, centre,
                out.array().data<T>(), centre ? mean.array().data<T>() : nullptr,
                variance.array().data<T>());
        PyObject* narrow = narrowed(std::move(out), type);
        if (!centre) return tuple({narrow, variance.release()});
        return tuple({narrow, mean.release(), variance.release()});
    });
}

PyObject* run_backward(Array x, const Rows& rows, Arguments arguments, bool centre) {
    Type type = x.type(), wide = type == Type::float64 ? Type::float64 : Type::float32;
    Index parameters = rows.channels * rows.groups, variance_at = centre ? 4 : 3;
    double eps = arguments.number(variance_at + 2);
    Input slope, source, weight, mean, variance;
    if (!slope.read(arguments.array(0), type, x.size())) return decline();
    if (!source.read(x, type, x.size())) return decline();
    if (!weight.read_optional(arguments, 2, type, parameters)) return decline();
    if (centre && !mean.read(arguments.array(3), wide, rows.count)) return decline();
    if (!variance.read(arguments.array(variance_at), wide, rows.count)) return decline();
    return by_computed_type(type, [&](auto like) -> PyObject* {
        using T = decltype(like);
        const T* w = weight.data<T>();
        Owned g_x(empty_like(source.array()));
        Owned g_weight(w == nullptr ? none() : empty_like(weight.array()));
        if (!g_x || !g_weight) return nullptr;
        auto run = rows.length == 1 ? elements_backward<T> : channels_backward<T>;
        run(rows, slope.data<T>(), source.data<T>(), w, mean.data<T>(), variance.data<T>(), eps,
            g_x.array().data<T>(), w == nullptr ? nullptr : g_weight.array().data<T>());
        PyObject* weight_part = w == nullptr ? g_weight.release()
                                             : narrowed(std::move(g_weight), type);
        return tuple({narrowed(std::move(g_x), type), weight_part});
    });
}

PyObject* layer_norm(Arguments arguments) {
    Rows rows;
    Array x = arguments.array(0);
    if (!view_rows(x, arguments.integer(3), &rows)) return decline();
    return run_forward(x, rows, arguments, true, false);
}

PyObject* layer_norm_grad(Arguments arguments) {
    Rows rows;
    Array x = arguments.array(1);
    if (!view_rows(x, arguments.integer(5), &rows)) return decline();
    return run_backward(x, rows, arguments, true);
}

PyObject* rms_norm(Arguments arguments) {
    Rows rows;
    Array x = arguments.array(0);
    if (!view_rows(x, arguments.integer(2), &rows)) return decline();
    return run_forward(x, rows, arguments, false, false);
}

PyObject* rms_norm_grad(Arguments arguments) {
    Rows rows;
    Array x = arguments.array(1);
    if (!view_rows(x, arguments.integer(4), &rows)) return decline();
    return run_backward(x, rows, arguments, false);
}

PyObject* group_norm(Arguments arguments) {
    Rows rows;
    Array x = arguments.array(0);
    if (!view_groups(x, arguments.integer(3), &rows)) return decline();
    return run_forward(x, rows, arguments, true, true);
}

PyObject* group_norm_grad(Arguments arguments) {
    Rows rows;
    Array x = arguments.array(1);
    if (!view_groups(x, arguments.integer(5), &rows)) return decline();
    return run_backward(x, rows, arguments, true);
}

Registration layer_norm_("layer_norm", layer_norm);
Registration layer_norm_grad_("layer_norm_grad", layer_norm_grad);
Registration rms_norm_("rms_norm", rms_norm);
Registration rms_norm_grad_("rms_norm_grad", rms_norm_grad);
Registration group_norm_("group_norm", group_norm);
Registration group_norm_grad_("group_norm_grad", group_norm_grad);

}  // namespace
}  // namespace nnkit
