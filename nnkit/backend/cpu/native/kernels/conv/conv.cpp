// Convolution and its two gradients: reads the arguments and picks the kernel.
#include <algorithm>
#include <utility>

#include "computed.h"
#include "conv_kernels.h"
#include "layout.h"
#include "memory.h"
#include "parts.h"
#include "product.h"

namespace nnkit {
namespace {

// How few outputs a group must have for lines to be faster than tiles, whose panels they fill in
// part only.
constexpr Index few_outputs = 8;

// Whether vectors of groups are faster than vectors of positions: in short lines, and where the
// positions do not lie side by side.
bool is_for_lanes(const Geometry& g, bool is_forward, Index line, std::size_t item) {
    constexpr Index short_line = 32;
    return fills_lanes_with_groups(g, item) &&
           (line < short_line || (is_forward && g.stride[2] > 1));
}

// Whether Winograd's filtering computes it, and its transformations of `fewest` channels or outputs
// and of so many positions pay.
bool is_for_winograd(const Geometry& g, Index fewest, const Index* positions, Index enough) {
    for (int a : {0, 2}) {
        if (g.kernel[a] != 3 || g.stride[a] != 1 || g.dilation[a] != 1) return false;
    }
    return g.input[1] == 1 && g.kernel[1] == 1 && g.output[1] == 1 &&
           std::min(g.channels, g.outputs) >= fewest &&
           g.batch * positions[0] * positions[2] >= enough;
}

// A product of matrices where the channels are last in memory: each position is a row.
bool is_pointwise(const Geometry& g) {
    bool all = g.groups == 1;
    for (int a = 0; a < axis_count; ++a) {
        all = all && g.kernel[a] == 1 && g.stride[a] == 1 && g.padding[a] == 0;
    }
    return all;
}

// Whether a kernel takes arrays with their channels last in memory as they are.
bool may_stay_last(const Geometry& g, Array x) {
    const bool alone = g.channels == 1 && g.outputs == 1 &&
                       fills_lanes_with_groups(g, std::max<std::size_t>(4, item_size(x.type())));
    return has_channels_last(x) && (alone || is_pointwise(g));
}
Owned as_in_memory(Array x, bool channels_last) {
    return Owned(channels_last ? with_axis_moved(x, 1, x.ndim() - 1) : Py_NewRef(x.object()));
}

enum class Direction { forward, backward };

// out = bias + weight * x. Backwards, channels and outputs change places, in the weight too.
template <class T>
Owned convolve(Direction direction, const Geometry& given, const Input& x, const Input& weight,
               const Input& bias, const npy_intp* shape, bool channels_last) {
    const bool is_forward = direction == Direction::forward;
    const int ndim = x.array().ndim();
    npy_intp in_memory[2 + axis_count];
    std::copy_n(shape, ndim, in_memory);
    if (channels_last) std::rotate(in_memory + 1, in_memory + 2, in_memory + ndim);
    Owned result(empty<T>(ndim, in_memory));
    if (!result) return result;
    if (channels_last && is_pointwise(given)) {
        const Index in = given.channels, out = given.outputs;
        const Matrix<T> w{weight.data<T>(), in, 1};
        const Index from = is_forward ? in : out, to = is_forward ? out : in;
        multiply<T>(given.batch * given.input_plane(), to, from, {x.data<T>(), from, 1},
                    is_forward ? w.transposed() : w, result.array().data<T>(), to, bias.data<T>());
        return result;
    }
    const bool few = (is_forward ? given.outputs : given.channels) <= few_outputs;
    const bool lanes =
        channels_last || (few && is_for_lanes(given, is_forward, shape[ndim - 1], sizeof(T)));
    const Geometry g = few && !lanes ? given.along_lines() : given;
    const Index channel = g.places(), output = g.channels * channel, group = g.outputs * output;
    Product<T> product{x.data<T>(), weight.data<T>(), bias.data<T>(),
                       result.array().data<T>(), g.batch, g.groups, g.channels, g.outputs,
                       group, output, channel, g.kernel, {}, g.numbers(), channels_last};
    product.recipe.push_back(is_forward);
    if (is_forward) {
        product.passes = {g.forward()};
    } else {
        std::swap(product.channels, product.outputs);
        std::swap(product.channel_step, product.output_step);
        product.passes = g.backward();
    }
    if (lanes) multiply_lanes(product);
    else if (few) multiply_lines(product);
    else if (!is_for_winograd(g, 16, is_forward ? g.output : g.input, 256) ||
             !multiply_winograd(product)) multiply_tiles(product);
    return result;
}

bool are_operands(Array x, Array weight) {
    return is_floating(x) && is_floating(weight) && x.type() == weight.type() && x.ndim() >= 3 &&
           x.ndim() <= 2 + axis_count && weight.ndim() == x.ndim();
}

// Of x, weight and, where there is one at all, the bias behind them.
PyObject* convolve(Direction direction, const Geometry& g, Arguments arguments, bool has_bias,
                   const npy_intp* shape) {
    Array x = arguments.array(0), weight = arguments.array(1);
    const bool last = may_stay_last(g, x);
    Input input, kernel, constant;
    if (!input.read_foreign(as_in_memory(x, last).array(), x.type(), x.size())) return decline();
    if (!kernel.read_foreign(weight, x.type(), weight.size())) return decline();
    if (has_bias && !arguments.is_none(2)) {
        Array bias = arguments.array(2);
        if (!constant.read_foreign(bias, x.type(), shape[1]) || bias.ndim() != 1) return decline();
    }
    return by_computed_type(x.type(), [&](auto like) {
        using T = decltype(like);
        Owned result = convolve<T>(direction, g, input, kernel, constant, shape, last);
        result.reset(narrowed(std::move(result), x.type()));
        return result && last ? with_axis_moved(result.array(), x.ndim() - 1, 1) : result.release();
    });
}

PyObject* conv(Arguments arguments) {
    if (arguments.count() != 7) return decline();
    if (is_complex(arguments.array(0))) return by_parts(conv, arguments, Conjugate::none, false);
    Array x = arguments.array(0), weight = arguments.array(1);
    if (!are_operands(x, weight)) return decline();
    Geometry g;
    if (!read_geometry(x.ndim(), x.shape(), weight.shape(), nullptr, arguments, 3, &g)) {
        return decline();
    }
    npy_intp shape[2 + axis_count] = {g.batch, g.outputs_of_all()};
    if (x.ndim() == 2 + axis_count) std::copy_n(g.output, axis_count, shape + 2);
    else shape[2] = g.output[0], shape[3] = g.output[2];
    return convolve(Direction::forward, g, arguments, true, shape);
}

// The gradient in the input, and the transposed convolution: `place` is where the shape stands.
PyObject* back(Arguments arguments, Index place) {
    if (arguments.count() != place + 5) return decline();
    Array x = arguments.array(0), weight = arguments.array(1);
    if (!are_operands(x, weight)) return decline();
    Index shape[2 + axis_count];
    if (read_integers(arguments[place], shape, 2 + axis_count) != x.ndim()) return decline();
    Geometry g;
    if (!read_geometry(x.ndim(), shape, weight.shape(), x.shape(), arguments, place + 1, &g)) {
        return decline();
    }
    return convolve(Direction::backward, g, arguments, place == 3, shape);
}

template <Index place> PyObject* back(Arguments arguments) {
    if (!is_complex(arguments.array(0))) return back(arguments, place);
    return by_parts(back<place>, arguments, Conjugate::none, false);
}

template <class T>
Owned gradient_of_weight(const Geometry& g, const Input& gradient, const Input& x,
                         const npy_intp* shape, bool channels_last) {
    Owned result(empty<T>(x.array().ndim(), shape));
    if (!result) return result;
    T* out = result.array().data<T>();
    const T *above = gradient.data<T>(), *below = x.data<T>();
    if (channels_last && is_pointwise(g)) {
        multiply<T>(g.outputs, g.channels, g.batch * g.input_plane(), {above, 1, g.outputs},
                    {below, g.channels, 1}, out, g.channels);
    } else if (g.outputs > few_outputs) {
        // The sums are written once in a while, for all pairs of channels and outputs.
        const Index enough = std::max<Index>(1024, 8 * g.channels);
        if (!is_for_winograd(g, 32, g.output, enough) ||
            !weight_gradient_winograd(g, above, below, out)) {
            weight_gradient(g, above, below, out);
        }
    } else if (fills_lanes_with_groups(g, sizeof(T))) {
        weight_gradient_of_groups(g, above, below, channels_last, out);
    } else {
        weight_gradient_of_lines(g.along_lines(), above, below, out);
    }
    return result;
}

PyObject* conv_grad_weight(Arguments arguments) {
    if (arguments.count() != 7) return decline();
    if (is_complex(arguments.array(0))) {
        return by_parts(conv_grad_weight, arguments, Conjugate::none, false);
    }
    Array gradient = arguments.array(0), x = arguments.array(1);
    if (!are_operands(gradient, x)) return decline();
    Index shape[2 + axis_count];
    if (read_integers(arguments[2], shape, 2 + axis_count) != x.ndim()) return decline();
    Geometry g;
    if (!read_geometry(x.ndim(), x.shape(), shape, gradient.shape(), arguments, 3, &g)) {
        return decline();
    }
    const bool last = may_stay_last(g, x) && has_channels_last(gradient);
    Input above, input;
    Owned upper = as_in_memory(gradient, last), lower = as_in_memory(x, last);
    if (!above.read_foreign(upper.array(), x.type(), gradient.size())) return decline();
    if (!input.read_foreign(lower.array(), x.type(), x.size())) return decline();
    return by_computed_type(x.type(), [&](auto like) {
        using T = decltype(like);
        return narrowed(gradient_of_weight<T>(g, above, input, shape, last), x.type());
    });
}

const Registration registrations[] = {
    {"conv", conv},
    {"conv_grad_input", back<2>},
    {"conv_transpose", back<3>},
    {"conv_grad_weight", conv_grad_weight},
};

}  // namespace
}  // namespace nnkit
