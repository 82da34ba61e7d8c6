// Batch normalization: one mean for each channel, and the running statistics.
#include "layout.h"
#include "norm.h"

namespace nnkit {
namespace {

constexpr Index widest_tile = 256;  // channels of one element are worked on side by side

// x as (batch, channels, length); where the channels are the last axis in memory, each position is
// a sample of its own.
struct Channels {
    Index batch, count, length;
    Type type;
    bool are_last = false;

    explicit Channels(Array x)
        : batch(x.shape(0)), count(x.shape(1)), length(x.size() / (x.shape(0) * x.shape(1))),
          type(x.type()) {
        are_last = length > 1 && has_channels_last(x);
        if (!are_last) return;
        batch *= length;
        length = 1;
    }
    // An array with its axes as they lie in memory; and the result back in the order of the call.
    Owned in_memory(Array a) const {
        return Owned(are_last && a ? with_axis_moved(a, 1, a.ndim() - 1) : Py_XNewRef(a.object()));
    }
    PyObject* as_called(Owned result) const {
        if (!are_last || !result) return result.release();
        return with_axis_moved(result.array(), result.array().ndim() - 1, 1);
    }
    Index of_channel() const { return batch * length; }
    Index at(Index n, Index channel) const { return (n * count + channel) * length; }
};

// The arrays of one call; null where there is nothing.
template <class T> struct Data {
    const T *g, *x, *weight, *bias;
    T *out, *mean, *variance, *g_weight;

    T weight_of(Index channel) const { return weight == nullptr ? T(1) : weight[channel]; }
    T bias_of(Index channel) const { return bias == nullptr ? T(0) : bias[channel]; }
};

// `by_channel(c)` for channels that lie in long stretches, `by_tile(first, width)` for others.
template <class ByChannel, class ByTile>
void for_channels(const Channels& channels, ByChannel by_channel, ByTile by_tile) {
    Index size = channels.of_channel();
    if (channels.length > 1) {
        Index grain = std::max<Index>(1, elements_of_norm_piece / size);
        parallel_for(channels.count, grain, [&](Index begin, Index end) {
            for (Index c = begin; c < end; ++c) by_channel(c);
        });
        return;
    }
    // No channel's sum depends on the width, so the number of threads may decide it.
    Index share = std::max(elements_of_norm_piece / size, channels.count / thread_count());
    Index width = std::clamp<Index>(share / 16 * 16, 16, widest_tile);
    parallel_for(channels.count, width,
                 [&](Index begin, Index end) { by_tile(begin, end - begin); });
}

// The sums down the columns of a tile of `term(read, position, column)`, of which `read(pointer)`
// gives a number or a vector of neighbours. They stay in registers for a block of rows; blocks are
// added up in double precision.
template <class T, class Term>
void sum_tile(Index rows, Index step, Index width, T* total, Term term) {
    constexpr Index block = 64;
    double wide[widest_tile] = {};
    auto add_columns = [&](auto vectors, Index column) {
        constexpr int count = decltype(vectors)::value;
        for (Index start = 0; start < rows; start += block) {
            Vector<T> sums[count] = {};
            for (Index r = start; r < std::min(start + block, rows); ++r) {
#pragma GCC unroll 4
                for (int v = 0; v < count; ++v) {
                    Index j = column + v * lanes<T>;
                    sums[v] += term([](const T* from) { return load(from); }, r * step + j, j);
                }
            }
            T part[count * lanes<T>];
            for (int v = 0; v < count; ++v) store(part + v * lanes<T>, sums[v]);
            for (int k = 0; k < count * lanes<T>; ++k) wide[column + k] += part[k];
        }
    };
    Index j = 0;
    for (; j + 4 * lanes<T> <= width; j += 4 * lanes<T>) {
        add_columns(std::integral_constant<int, 4>(), j);
    }
    for (; j + lanes<T> <= width; j += lanes<T>) add_columns(std::integral_constant<int, 1>(), j);
    for (; j < width; ++j) {
        for (Index start = 0; start < rows; start += block) {
            T sum = 0;
            for (Index r = start; r < std::min(start + block, rows); ++r) {
                sum += term([](const T* from) { return *from; }, r * step + j, j);
            }
            wide[j] += sum;
        }
    }
    for (Index k = 0; k < width; ++k) total[k] = static_cast<T>(wide[k]);
}

// The sum of g (x - mean) over a stretch, and those down the columns of a tile.
template <class T> double sum_along(const T* g, const T* x, Index length, T mean) {
    return sum_of<T>(length, [mean](auto slope, auto v) { return slope * (v - mean); }, g, x);
}
template <class T>
void sum_tile_along(const Channels& channels, const T* g, const T* x, const T* mean, Index width,
                    T* total) {
    sum_tile(channels.batch, channels.count, width, total, [&](auto read, Index i, Index j) {
        return read(g + i) * (read(x + i) - read(mean + j));
    });
}

// The inverse of a channel's deviation, as torch keeps it.
template <class T> T scale_of(const Channels& channels, T variance, double eps) {
    Type type = channels.type;
    if (type == Type::bfloat16) {
        T n = static_cast<T>(channels.of_channel());
        variance = kept(kept(variance * n, type) / n, type);
    }
    return kept(inverse_deviation(variance, eps), type);
}

template <class T> void forward(const Channels& channels, const Data<T>& data, double eps) {
    const T* x = data.x;
    T n = static_cast<T>(channels.of_channel());
    auto by_channel = [&](Index c) {
        Moments moments;
        for (Index b = 0; b < channels.batch; ++b) {
            moments.add(x + channels.at(b, c), channels.length, true);
        }
        data.mean[c] = static_cast<T>(moments.mean());
        data.variance[c] = static_cast<T>(moments.variance());
        T mean = kept(data.mean[c], channels.type);
        T factor = scale_of(channels, data.variance[c], eps) * data.weight_of(c);
        T shift = data.bias_of(c);
        for (Index b = 0; b < channels.batch; ++b) {
            const T* from = x + channels.at(b, c);
            T* to = data.out + channels.at(b, c);
            for (Index i = 0; i < channels.length; ++i) to[i] = (from[i] - mean) * factor + shift;
        }
    };
    auto by_tile = [&](Index first, Index width) {
        T factor[widest_tile], shift[widest_tile], centre[widest_tile];
        T *mean = data.mean + first, *variance = data.variance + first;
        const T* from = x + first;
        sum_tile(channels.batch, channels.count, width, mean,
                 [&](auto read, Index i, Index) { return read(from + i); });
        for (Index j = 0; j < width; ++j) mean[j] /= n;
        sum_tile(channels.batch, channels.count, width, variance,
                 [&](auto read, Index i, Index j) {
                     auto distance = read(from + i) - read(mean + j);
                     return distance * distance;
                 });
        for (Index j = 0; j < width; ++j) {
            variance[j] /= n;
            centre[j] = kept(mean[j], channels.type);
            factor[j] = scale_of(channels, variance[j], eps) * data.weight_of(first + j);
            shift[j] = data.bias_of(first + j);
        }
        for (Index b = 0; b < channels.batch; ++b) {
            const T* row = from + b * channels.count;
            T* to = data.out + first + b * channels.count;
            for (Index j = 0; j < width; ++j) to[j] = (row[j] - centre[j]) * factor[j] + shift[j];
        }
    };
    for_channels(channels, by_channel, by_tile);
}

template <class T> void backward(const Channels& channels, const Data<T>& data, double eps) {
    T n = static_cast<T>(channels.of_channel());
    auto by_channel = [&](Index c) {
        double along = 0, across = 0;
        T mean = kept(data.mean[c], channels.type);
        T scale = scale_of(channels, data.variance[c], eps);
        for (Index b = 0; b < channels.batch; ++b) {
            const T *g = data.g + channels.at(b, c), *x = data.x + channels.at(b, c);
            along += sum_along(g, x, channels.length, mean);
            across += sum_of(g, channels.length);
        }
        T product = static_cast<T>(along) * scale, factor = scale * data.weight_of(c);
        if (data.g_weight != nullptr) data.g_weight[c] = product;
        T lift = static_cast<T>(across) / n, slant = product * scale / n;
        for (Index b = 0; b < channels.batch; ++b) {
            const T *g = data.g + channels.at(b, c), *x = data.x + channels.at(b, c);
            T* to = data.out + channels.at(b, c);
            for (Index i = 0; i < channels.length; ++i) {
                to[i] = (g[i] - lift - (x[i] - mean) * slant) * factor;
            }
        }
    };
    auto by_tile = [&](Index first, Index width) {
        T lift[widest_tile], slant[widest_tile], factor[widest_tile], mean[widest_tile];
        const T *g = data.g + first, *x = data.x + first;
        for (Index j = 0; j < width; ++j) mean[j] = kept(data.mean[first + j], channels.type);
        sum_tile_along(channels, g, x, mean, width, slant);
        sum_tile(channels.batch, channels.count, width, lift,
                 [&](auto read, Index i, Index) { return read(g + i); });
        for (Index j = 0; j < width; ++j) {
            T scale = scale_of(channels, data.variance[first + j], eps);
            T product = slant[j] * scale;
            if (data.g_weight != nullptr) data.g_weight[first + j] = product;
            factor[j] = scale * data.weight_of(first + j);
            lift[j] /= n;
            slant[j] = product * scale / n;
        }
        for (Index b = 0; b < channels.batch; ++b) {
            Index row = b * channels.count;
            T* to = data.out + first + row;
            for (Index j = 0; j < width; ++j) {
                to[j] = (g[row + j] - lift[j] - (x[row + j] - mean[j]) * slant[j]) * factor[j];
            }
        }
    };
    for_channels(channels, by_channel, by_tile);
}

// (x - mean) * scale * weight + bias with statistics from elsewhere.
template <class T>
void evaluate(const Channels& channels, const Data<T>& data, const T* mean, const T* scale) {
    Buffer<T> factors(channels.count), shifts(channels.count);
    T *factor = factors.data(), *shift = shifts.data();
    for (Index c = 0; c < channels.count; ++c) {
        factor[c] = scale[c] * data.weight_of(c);
        shift[c] = data.bias_of(c) - mean[c] * factor[c];
    }
    Index row = channels.count * channels.length;
    Index stretch = channels.length > 1 ? channels.length : channels.count;
    Index stretches = channels.batch * row / stretch;
    Index grain = std::max<Index>(1, elements_of_norm_piece / stretch);
    parallel_for(stretches, grain, [&](Index begin, Index end) {
        for (Index s = begin; s < end; ++s) {
            const T* from = data.x + s * stretch;
            T* to = data.out + s * stretch;
            if (channels.length == 1) {
                for (Index c = 0; c < stretch; ++c) to[c] = from[c] * factor[c] + shift[c];
                continue;
            }
            T by = factor[s % channels.count], add = shift[s % channels.count];
            for (Index i = 0; i < stretch; ++i) to[i] = from[i] * by + add;
        }
    });
}

// The gradients of x and of the weight where the statistics are no function of x.
template <class T>
void evaluate_backward(const Channels& channels, const Data<T>& data, const T* scale) {
    auto by_channel = [&](Index c) {
        double along = 0;
        T mean = data.mean[c], factor = scale[c] * data.weight_of(c);
        for (Index b = 0; b < channels.batch; ++b) {
            const T *g = data.g + channels.at(b, c), *x = data.x + channels.at(b, c);
            T* to = data.out + channels.at(b, c);
            along += sum_along(g, x, channels.length, mean);
            for (Index i = 0; i < channels.length; ++i) to[i] = g[i] * factor;
        }
        data.g_weight[c] = static_cast<T>(along) * scale[c];
    };
    auto by_tile = [&](Index first, Index width) {
        T factor[widest_tile], *g_weight = data.g_weight + first;
        const T *g = data.g + first, *x = data.x + first, *mean = data.mean + first;
        sum_tile_along(channels, g, x, mean, width, g_weight);
        for (Index j = 0; j < width; ++j) {
            g_weight[j] *= scale[first + j];
            factor[j] = scale[first + j] * data.weight_of(first + j);
        }
        for (Index b = 0; b < channels.batch; ++b) {
            const T* row = g + b * channels.count;
            T* to = data.out + first + b * channels.count;
            for (Index j = 0; j < width; ++j) to[j] = row[j] * factor[j];
        }
    };
    for_channels(channels, by_channel, by_tile);
}

bool is_batch(Array x) { return is_floating(x) && x.ndim() >= 2 && x.size() > 0; }

PyObject* batch_norm(Arguments arguments) {
    Array x = arguments.array(0);
    if (!is_batch(x)) return decline();
    Type type = x.type();
    Channels channels(x);
    double eps = arguments.number(3);
    Input source, weight, bias;
    if (!source.read(channels.in_memory(x).array(), type, x.size())) return decline();
    if (!weight.read_optional(arguments, 1, type, channels.count)) return decline();
    if (!bias.read_optional(arguments, 2, type, channels.count)) return decline();
    return by_computed_type(type, [&](auto like) -> PyObject* {
        using T = decltype(like);
        Owned out(empty_like(source.array()));
        Owned mean(empty<T>({1, channels.count, 1})), variance(empty<T>({1, channels.count, 1}));
        if (!out || !mean || !variance) return nullptr;
        forward<T>(channels,
                   {nullptr, source.data<T>(), weight.data<T>(), bias.data<T>(),
                    out.array().data<T>(), mean.array().data<T>(), variance.array().data<T>(),
                    nullptr},
                   eps);
        return tuple({channels.as_called(Owned(narrowed(std::move(out), type))), mean.release(),
                      variance.release()});
    });
}

PyObject* batch_norm_grad(Arguments arguments) {
    Array x = arguments.array(1);
    if (!is_batch(x)) return decline();
    Type type = x.type(), wide = type == Type::float64 ? Type::float64 : Type::float32;
    Channels channels(x);
    double eps = arguments.number(5);
    Input slope, source, weight, mean, variance;
    Owned g = channels.in_memory(arguments.array(0));
    if (!slope.read(g.array(), type, x.size())) return decline();
    if (!source.read(channels.in_memory(x).array(), type, x.size())) return decline();
    if (!weight.read_optional(arguments, 2, type, channels.count)) return decline();
    if (!mean.read(arguments.array(3), wide, channels.count)) return decline();
    if (!variance.read(arguments.array(4), wide, channels.count)) return decline();
    return by_computed_type(type, [&](auto like) -> PyObject* {
        using T = decltype(like);
        bool weighted = !arguments.is_none(2);
        Owned g_x(empty_like(source.array()));
        Owned g_weight(weighted ? empty_like(weight.array()) : nullptr);
        if (!g_x || (weighted && !g_weight)) return nullptr;
        backward<T>(channels,
                    {slope.data<T>(), source.data<T>(), weight.data<T>(), nullptr,
                     g_x.array().data<T>(), const_cast<T*>(mean.data<T>()),
                     const_cast<T*>(variance.data<T>()),
                     weighted ? g_weight.array().data<T>() : nullptr},
                    eps);
        PyObject* of_weight = weighted ? narrowed(std::move(g_weight), type) : none();
        return tuple({channels.as_called(Owned(narrowed(std::move(g_x), type))), of_weight});
    });
}

PyObject* batch_norm_eval(Arguments arguments) {
    Array x = arguments.array(0);
    if (!is_batch(x) || item_size(x.type()) < 4) return decline();
    Type type = x.type();
    Channels channels(x);
    Input source, weight, bias, mean, scale;
    if (!source.read(channels.in_memory(x).array(), type, x.size())) return decline();
    if (!weight.read_optional(arguments, 1, type, channels.count)) return decline();
    if (!bias.read_optional(arguments, 2, type, channels.count)) return decline();
    if (!mean.read(arguments.array(3), type, channels.count)) return decline();
    if (!scale.read(arguments.array(4), type, channels.count)) return decline();
    return by_computed_type(type, [&](auto like) -> PyObject* {
        using T = decltype(like);
        Owned out(empty_like(source.array()));
        if (!out) return nullptr;
        evaluate<T>(channels,
                    {nullptr, source.data<T>(), weight.data<T>(), bias.data<T>(),
                     out.array().data<T>(), nullptr, nullptr, nullptr},
                    mean.data<T>(), scale.data<T>());
        return channels.as_called(std::move(out));
    });
}

PyObject* batch_norm_eval_grad(Arguments arguments) {
    Array x = arguments.array(1);
    if (!is_batch(x) || item_size(x.type()) < 4 || !arguments.truth(5)) return decline();
    Type type = x.type();
    Channels channels(x);
    Input slope, source, weight, mean, scale;
    Owned g = channels.in_memory(arguments.array(0));
    if (!slope.read(g.array(), type, x.size())) return decline();
    if (!source.read(channels.in_memory(x).array(), type, x.size())) return decline();
    if (!weight.read_optional(arguments, 2, type, channels.count)) return decline();
    if (!mean.read(arguments.array(3), type, channels.count)) return decline();
    if (!scale.read(arguments.array(4), type, channels.count)) return decline();
    return by_computed_type(type, [&](auto like) -> PyObject* {
        using T = decltype(like);
        Owned g_x(empty_like(source.array())), g_weight(empty<T>({channels.count}));
        if (!g_x || !g_weight) return nullptr;
        evaluate_backward<T>(channels,
                             {slope.data<T>(), source.data<T>(), weight.data<T>(), nullptr,
                              g_x.array().data<T>(), const_cast<T*>(mean.data<T>()), nullptr,
                              g_weight.array().data<T>()},
                             scale.data<T>());
        return tuple({channels.as_called(std::move(g_x)), g_weight.release()});
    });
}

template <class T> void move_running(Array running, const T* now, double kept, double part) {
    T* values = running.data<T>();
    T keep = static_cast<T>(kept), take = static_cast<T>(part);
    for (Index i = 0; i < running.size(); ++i) values[i] = values[i] * keep + now[i] * take;
}

PyObject* update_running(Arguments arguments) {
    Array mean = arguments.array(0), variance = arguments.array(1);
    double momentum = arguments.number(4), correction = arguments.number(5);
    Input new_mean, new_variance;
    for (Array a : {mean, variance}) {
        if (!is_floating(a) || item_size(a.type()) < 4) return decline();
        if (!a.is_plain() || !a.is_writeable()) return decline();
    }
    if (mean.type() != variance.type()) return decline();
    if (!new_mean.read(arguments.array(2), mean.type(), mean.size())) return decline();
    if (!new_variance.read(arguments.array(3), mean.type(), variance.size())) return decline();
    by_computed_type(mean.type(), [&](auto like) {
        using T = decltype(like);
        move_running(mean, new_mean.data<T>(), 1 - momentum, momentum);
        move_running(variance, new_variance.data<T>(), 1 - momentum, momentum * correction);
    });
    return Py_NewRef(mean.object());
}

Registration batch_norm_("batch_norm", batch_norm);
Registration batch_norm_grad_("batch_norm_grad", batch_norm_grad);
Registration batch_norm_eval_("batch_norm_eval", batch_norm_eval);
Registration batch_norm_eval_grad_("batch_norm_eval_grad", batch_norm_eval_grad);
Registration update_running_("update_running_", update_running);

}  // namespace
}  // namespace nnkit
