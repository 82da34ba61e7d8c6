// A plain recurrent layer over all time steps, and its gradient; threads as in lstm.cpp.
#include <cstring>

#include "math.h"
#include "recurrent.h"

namespace nnkit {
namespace {

enum class Activation { tanh, relu, other };

Activation activation_of(PyObject* name) {
    if (!PyUnicode_Check(name)) return Activation::other;
    if (PyUnicode_CompareWithASCIIString(name, "tanh") == 0) return Activation::tanh;
    bool is_relu = PyUnicode_CompareWithASCIIString(name, "relu") == 0;
    return is_relu ? Activation::relu : Activation::other;
}

template <class T> void activate(Activation activation, Index count, T* h) {
    if (activation == Activation::tanh) {
        for (Index j = 0; j < count; ++j) h[j] = math::tanh(h[j]);
    } else {
        for (Index j = 0; j < count; ++j) h[j] = h[j] < 0 ? T(0) : h[j];
    }
}

template <class T>
void activate_grad(Activation activation, Index count, const T* __restrict h,
                   const T* __restrict g_output, const T* __restrict g_h, T* __restrict out) {
    if (activation == Activation::tanh) {
        for (Index j = 0; j < count; ++j) out[j] = (g_h[j] + g_output[j]) * (1 - h[j] * h[j]);
    } else {
        for (Index j = 0; j < count; ++j) out[j] = h[j] > 0 ? g_h[j] + g_output[j] : T(0);
    }
}

template <class T> PyObject* forward(Arguments arguments, Activation activation) {
    Layer<T> layer;
    if (!layer.read(arguments, 0, 1, 1, arguments[7], arguments[8])) return decline();
    Index size = layer.hidden, batch = layer.batch;
    Owned output(empty<T>({layer.rows, size})), h_n(empty<T>({batch, size}));
    if (!output || !h_n) return nullptr;
    T *h = output.array().template data<T>(), *last = h_n.array().template data<T>();
    std::vector<T> bias = layer.biases();
    layer.project(h, bias.empty() ? nullptr : bias.data());
    Panels<T> weight(size, size, {layer.weight_hh, 1, size});
    const Steps& steps = layer.steps;
    parallel_for(batch, Steps::grain(batch), [&](Index begin, Index end) {
        Scratch<T> scratch((end - begin) * size);
        for (Index t = 0; t < steps.count(); ++t) {
            Index rows = std::min(steps[t].rows, end) - begin;
            if (rows <= 0) continue;
            const T* before = steps.before(t, h, layer.h0, size, begin, rows, scratch.data());
            T* now = h + (steps[t].start + begin) * size;
            multiply_here<T>(rows, {before, size, 1}, weight, now, size, nullptr, Write::add);
            activate(activation, rows * size, now);
            for (Index r = std::max<Index>(0, steps.rows_after(t) - begin); r < rows; ++r) {
                std::copy_n(now + r * size, size, last + (begin + r) * size);
            }
        }
    });
    return tuple({output.release(), h_n.release()});
}

template <class T> PyObject* backward(Arguments arguments, Activation activation) {
    Layer<T> layer;
    if (!layer.read(arguments, 2, 1, 1, arguments[10], arguments[11])) return decline();
    Index size = layer.hidden, batch = layer.batch;
    Owned g_outputs = plain_array<T>(arguments[0], {layer.rows, size});
    Owned g_h_n = plain_array<T>(arguments[1], {batch, size});
    Owned outputs = plain_array<T>(arguments[8], {layer.rows, size});
    Owned g_h0(empty<T>({batch, size}));
    if (!g_outputs || !g_h_n || !outputs || !g_h0) return decline();
    const T* g_output = g_outputs.array().template data<T>();
    const T* h = outputs.array().template data<T>();
    T* g_h = g_h0.array().template data<T>();
    std::copy_n(g_h_n.array().template data<T>(), batch * size, g_h);
    Scratch<T> g_inner(layer.rows * size);
    Panels<T> weight(size, size, {layer.weight_hh, size, 1});
    const Steps& steps = layer.steps;
    parallel_for(batch, Steps::grain(batch), [&](Index begin, Index end) {
        for (Index t = steps.count() - 1; t >= 0; --t) {
            Index rows = std::min(steps[t].rows, end) - begin;
            if (rows <= 0) continue;
            Index at = (steps[t].start + begin) * size;
            activate_grad(activation, rows * size, h + at, g_output + at, g_h + begin * size,
                          g_inner.data() + at);
            multiply_here<T>(rows, {g_inner.data() + at, size, 1}, weight, g_h + begin * size,
                             size);
        }
    });
    Owned g[5];
    bool needs[5];
    read_needs(arguments[12], needs);
    if (!layer.parameters(g_inner.data(), g_inner.data(), h, needs, g)) return nullptr;
    return tuple({g[0].release(), g_h0.release(), g[1].release(), g[2].release(), g[3].release(),
                  g[4].release()});
}

PyObject* rnn_layer(Arguments arguments) {
    if (arguments.count() != 9) return decline();
    Activation activation = activation_of(arguments[6]);
    if (activation == Activation::other) return decline();
    return by_type_of(arguments.array(0), [&](auto like) {
        return forward<decltype(like)>(arguments, activation);
    });
}

PyObject* rnn_layer_grad(Arguments arguments) {
    if (arguments.count() != 13 || !is_tuple_of(arguments[12], 6)) return decline();
    Activation activation = activation_of(arguments[9]);
    if (activation == Activation::other) return decline();
    return by_type_of(arguments.array(2), [&](auto like) {
        return backward<decltype(like)>(arguments, activation);
    });
}

const Registration registrations[] = {
    {"rnn_layer", rnn_layer}, {"rnn_layer_grad", rnn_layer_grad},
};

}  // namespace
}  // namespace nnkit
