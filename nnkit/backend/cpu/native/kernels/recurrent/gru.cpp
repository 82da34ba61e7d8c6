// A layer of gated recurrent units over all time steps, and its gradient; threads as in lstm.cpp.
#include "math.h"
#include "recurrent.h"

namespace nnkit {
namespace {

// One row of one step. `gates` holds what comes from the input and becomes the gates; `state` what
// comes from the state before, of which the last third is kept as the candidates.
template <class T>
void cell(Index size, T* __restrict gates, const T* __restrict state, const T* __restrict before,
          T* __restrict candidates, T* __restrict h) {
    for (Index j = 0; j < 2 * size; ++j) gates[j] = math::sigmoid(gates[j] + state[j]);
    const T *r = gates, *z = gates + size;
    T* n = gates + 2 * size;
    for (Index j = 0; j < size; ++j) {
        candidates[j] = state[2 * size + j];
        n[j] = math::tanh(n[j] + r[j] * candidates[j]);
        h[j] = n[j] + z[j] * (before[j] - n[j]);
    }
}

// Takes the gradient of h to those of both projections; g_h becomes its direct share of the
// gradient one step earlier.
template <class T>
void cell_grad(Index size, const T* __restrict gates, const T* __restrict candidates,
               const T* __restrict before, const T* __restrict g_output, T* __restrict g_h,
               T* __restrict g_inner, T* __restrict g_hidden) {
    const T *r = gates, *z = gates + size, *n = gates + 2 * size;
    for (Index j = 0; j < size; ++j) {
        T g = g_h[j] + g_output[j];
        T g_n = g * (1 - z[j]) * (1 - n[j] * n[j]);
        T g_z = g * (before[j] - n[j]) * (z[j] * (1 - z[j]));
        T g_r = g_n * candidates[j] * (r[j] * (1 - r[j]));
        g_inner[j] = g_hidden[j] = g_r;
        g_inner[size + j] = g_hidden[size + j] = g_z;
        g_inner[2 * size + j] = g_n;
        g_hidden[2 * size + j] = g_n * r[j];
        g_h[j] = g * z[j];
    }
}

template <class T> PyObject* forward(Arguments arguments) {
    Layer<T> layer;
    if (!layer.read(arguments, 0, 1, 3, arguments[6], arguments[7])) return decline();
    Index size = layer.hidden, batch = layer.batch, width = layer.width();
    Owned output(empty<T>({layer.rows, size})), h_n(empty<T>({batch, size}));
    Owned gates(empty<T>({layer.rows, width})), candidates(empty<T>({layer.rows, size}));
    if (!output || !h_n || !gates || !candidates) return nullptr;
    T *h = output.array().template data<T>(), *last = h_n.array().template data<T>();
    T *a = gates.array().template data<T>(), *c = candidates.array().template data<T>();
    layer.project(a, layer.bias_ih);
    Panels<T> weight(width, size, {layer.weight_hh, 1, size});
    const Steps& steps = layer.steps;
    parallel_for(batch, Steps::grain(batch), [&](Index begin, Index end) {
        Scratch<T> scratch((end - begin) * size), state((end - begin) * width);
        for (Index t = 0; t < steps.count(); ++t) {
            Index rows = std::min(steps[t].rows, end) - begin;
            if (rows <= 0) continue;
            const T* before = steps.before(t, h, layer.h0, size, begin, rows, scratch.data());
            multiply_here<T>(rows, {before, size, 1}, weight, state.data(), width, layer.bias_hh);
            for (Index r = 0; r < rows; ++r) {
                Index row = steps[t].start + begin + r;
                cell(size, a + row * width, state.data() + r * width, before + r * size,
                     c + row * size, h + row * size);
                if (begin + r >= steps.rows_after(t)) {
                    std::copy_n(h + row * size, size, last + (begin + r) * size);
                }
            }
        }
    });
    return tuple({output.release(), h_n.release(), gates.release(), candidates.release()});
}

template <class T> PyObject* backward(Arguments arguments) {
    Layer<T> layer;
    if (!layer.read(arguments, 2, 1, 3, arguments[11], arguments[12])) return decline();
    Index size = layer.hidden, batch = layer.batch, width = layer.width();
    Owned g_outputs = plain_array<T>(arguments[0], {layer.rows, size});
    Owned g_h_n = plain_array<T>(arguments[1], {batch, size});
    Owned outputs = plain_array<T>(arguments[8], {layer.rows, size});
    Owned all_gates = plain_array<T>(arguments[9], {layer.rows, width});
    Owned candidates = plain_array<T>(arguments[10], {layer.rows, size});
    if (!g_outputs || !g_h_n || !outputs || !all_gates || !candidates) return decline();
    Owned g_h0(empty<T>({batch, size}));
    if (!g_h0) return nullptr;
    const T* g_output = g_outputs.array().template data<T>();
    const T* h = outputs.array().template data<T>();
    const T* gates = all_gates.array().template data<T>();
    const T* c = candidates.array().template data<T>();
    T* g_h = g_h0.array().template data<T>();
    std::copy_n(g_h_n.array().template data<T>(), batch * size, g_h);
    Scratch<T> g_inner(layer.rows * width), g_hidden(layer.rows * width);
    Panels<T> weight(size, width, {layer.weight_hh, size, 1});
    const Steps& steps = layer.steps;
    parallel_for(batch, Steps::grain(batch), [&](Index begin, Index end) {
        Scratch<T> scratch((end - begin) * size);
        for (Index t = steps.count() - 1; t >= 0; --t) {
            Index rows = std::min(steps[t].rows, end) - begin;
            if (rows <= 0) continue;
            const T* before = steps.before(t, h, layer.h0, size, begin, rows, scratch.data());
            Index start = steps[t].start + begin;
            for (Index r = 0; r < rows; ++r) {
                Index row = start + r;
                cell_grad(size, gates + row * width, c + row * size, before + r * size,
                          g_output + row * size, g_h + (begin + r) * size,
                          g_inner.data() + row * width, g_hidden.data() + row * width);
            }
            multiply_here<T>(rows, {g_hidden.data() + start * width, width, 1}, weight,
                             g_h + begin * size, size, nullptr, Write::add);
        }
    });
    Owned g[5];
    bool needs[5];
    read_needs(arguments[13], needs);
    if (!layer.parameters(g_inner.data(), g_hidden.data(), h, needs, g)) return nullptr;
    return tuple({g[0].release(), g_h0.release(), g[1].release(), g[2].release(), g[3].release(),
                  g[4].release()});
}

PyObject* gru_layer(Arguments arguments) {
    if (arguments.count() != 8) return decline();
    return by_type_of(arguments.array(0), [&](auto like) {
        return forward<decltype(like)>(arguments);
    });
}

PyObject* gru_layer_grad(Arguments arguments) {
    if (arguments.count() != 14 || !is_tuple_of(arguments[13], 6)) return decline();
    return by_type_of(arguments.array(2), [&](auto like) {
        return backward<decltype(like)>(arguments);
    });
}

const Registration registrations[] = {
    {"gru_layer", gru_layer}, {"gru_layer_grad", gru_layer_grad},
};

}  // namespace
}  // namespace nnkit
