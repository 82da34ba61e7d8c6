// A layer of long short-term memory over all time steps, and its gradient. A thread carries some
// rows of the batch through all steps: no two threads need to wait for each other.
#include "math.h"
#include "recurrent.h"

namespace nnkit {
namespace {

// One row of one step: the gates before their activation become the gates.
template <class T>
void cell(Index size, T* __restrict gates, const T* __restrict before, T* __restrict c,
          T* __restrict h) {
    for (Index j = 0; j < 2 * size; ++j) gates[j] = math::sigmoid(gates[j]);
    for (Index j = 2 * size; j < 3 * size; ++j) gates[j] = math::tanh(gates[j]);
    for (Index j = 3 * size; j < 4 * size; ++j) gates[j] = math::sigmoid(gates[j]);
    const T *i = gates, *f = gates + size, *g = gates + 2 * size, *o = gates + 3 * size;
    for (Index j = 0; j < size; ++j) {
        c[j] = f[j] * before[j] + i[j] * g[j];
        h[j] = o[j] * math::tanh(c[j]);
    }
}

// Takes the gradients of h and c to those of the gates before their activation; g_c becomes that
// of the cell one step earlier.
template <class T>
void cell_grad(Index size, const T* __restrict gates, const T* __restrict before,
               const T* __restrict c, const T* __restrict g_output, const T* __restrict g_h,
               T* __restrict g_c, T* __restrict out) {
    const T *i = gates, *f = gates + size, *g = gates + 2 * size, *o = gates + 3 * size;
    T *g_i = out, *g_f = out + size, *g_g = out + 2 * size, *g_o = out + 3 * size;
    for (Index j = 0; j < size; ++j) {
        T tanh_c = math::tanh(c[j]), g_state = g_h[j] + g_output[j];
        T through = g_c[j] + g_state * o[j] * (1 - tanh_c * tanh_c);
        g_i[j] = through * g[j] * (i[j] * (1 - i[j]));
        g_f[j] = through * before[j] * (f[j] * (1 - f[j]));
        g_g[j] = through * i[j] * (1 - g[j] * g[j]);
        g_o[j] = g_state * tanh_c * (o[j] * (1 - o[j]));
        g_c[j] = through * f[j];
    }
}

template <class T> PyObject* forward(Arguments arguments) {
    Layer<T> layer;
    if (!layer.read(arguments, 0, 2, 4, arguments[8], arguments[9])) return decline();
    Index size = layer.hidden, batch = layer.batch;
    Owned first_cells = plain_array<T>(arguments[2], {batch, size});
    if (!first_cells) return decline();
    Owned output(empty<T>({layer.rows, size})), cells(empty<T>({layer.rows, size}));
    Owned gates(empty<T>({layer.rows, 4 * size}));
    Owned h_n(empty<T>({batch, size})), c_n(empty<T>({batch, size}));
    if (!output || !cells || !gates || !h_n || !c_n) return nullptr;
    const T* c0 = first_cells.array().template data<T>();
    T *h = output.array().template data<T>(), *c = cells.array().template data<T>();
    T *a = gates.array().template data<T>();
    T *last_h = h_n.array().template data<T>(), *last_c = c_n.array().template data<T>();
    std::vector<T> bias = layer.biases();
    layer.project(a, bias.empty() ? nullptr : bias.data());
    Panels<T> weight(4 * size, size, {layer.weight_hh, 1, size});
    const Steps& steps = layer.steps;
    parallel_for(batch, Steps::grain(batch), [&](Index begin, Index end) {
        Scratch<T> scratch_h((end - begin) * size), scratch_c((end - begin) * size);
        for (Index t = 0; t < steps.count(); ++t) {
            Index rows = std::min(steps[t].rows, end) - begin;
            if (rows <= 0) continue;
            const T* h_before =
                steps.before(t, h, layer.h0, size, begin, rows, scratch_h.data());
            const T* c_before = steps.before(t, c, c0, size, begin, rows, scratch_c.data());
            Index start = steps[t].start + begin;
            multiply_here<T>(rows, {h_before, size, 1}, weight, a + start * 4 * size, 4 * size,
                             nullptr, Write::add);
            for (Index r = 0; r < rows; ++r) {
                Index row = start + r;
                cell(size, a + row * 4 * size, c_before + r * size, c + row * size,
                     h + row * size);
            }
            for (Index r = std::max<Index>(0, steps.rows_after(t) - begin); r < rows; ++r) {
                std::copy_n(h + (start + r) * size, size, last_h + (begin + r) * size);
                std::copy_n(c + (start + r) * size, size, last_c + (begin + r) * size);
            }
        }
    });
    return tuple({output.release(), h_n.release(), c_n.release(), gates.release(),
                  cells.release()});
}

template <class T> PyObject* backward(Arguments arguments) {
    Layer<T> layer;
    if (!layer.read(arguments, 3, 2, 4, arguments[14], arguments[15])) return decline();
    Index size = layer.hidden, batch = layer.batch;
    Owned first_cells = plain_array<T>(arguments[5], {batch, size});
    Owned g_outputs = plain_array<T>(arguments[0], {layer.rows, size});
    Owned g_h_n = plain_array<T>(arguments[1], {batch, size});
    Owned g_c_n = plain_array<T>(arguments[2], {batch, size});
    Owned outputs = plain_array<T>(arguments[11], {layer.rows, size});
    Owned all_gates = plain_array<T>(arguments[12], {layer.rows, 4 * size});
    Owned all_cells = plain_array<T>(arguments[13], {layer.rows, size});
    if (!first_cells || !g_outputs || !g_h_n || !g_c_n || !outputs || !all_gates || !all_cells) {
        return decline();
    }
    Owned g_h0(empty<T>({batch, size})), g_c0(empty<T>({batch, size}));
    if (!g_h0 || !g_c0) return nullptr;
    const T* c0 = first_cells.array().template data<T>();
    const T* g_output = g_outputs.array().template data<T>();
    const T* gates = all_gates.array().template data<T>();
    const T* cells = all_cells.array().template data<T>();
    T *g_h = g_h0.array().template data<T>(), *g_c = g_c0.array().template data<T>();
    std::copy_n(g_h_n.array().template data<T>(), batch * size, g_h);
    std::copy_n(g_c_n.array().template data<T>(), batch * size, g_c);
    Scratch<T> g_gates(layer.rows * 4 * size);
    Panels<T> weight(size, 4 * size, {layer.weight_hh, size, 1});
    const Steps& steps = layer.steps;
    parallel_for(batch, Steps::grain(batch), [&](Index begin, Index end) {
        Scratch<T> scratch((end - begin) * size);
        for (Index t = steps.count() - 1; t >= 0; --t) {
            Index rows = std::min(steps[t].rows, end) - begin;
            if (rows <= 0) continue;
            const T* before = steps.before(t, cells, c0, size, begin, rows, scratch.data());
            Index start = steps[t].start + begin;
            for (Index r = 0; r < rows; ++r) {
                Index row = start + r, state = (begin + r) * size;
                cell_grad(size, gates + row * 4 * size, before + r * size, cells + row * size,
                          g_output + row * size, g_h + state, g_c + state,
                          g_gates.data() + row * 4 * size);
            }
            multiply_here<T>(rows, {g_gates.data() + start * 4 * size, 4 * size, 1}, weight,
                             g_h + begin * size, size);
        }
    });
    Owned g[5];
    bool needs[5];
    read_needs(arguments[16], needs, 2);
    const T* output = outputs.array().template data<T>();
    if (!layer.parameters(g_gates.data(), g_gates.data(), output, needs, g)) return nullptr;
    return tuple({g[0].release(), g_h0.release(), g_c0.release(), g[1].release(), g[2].release(),
                  g[3].release(), g[4].release(), none()});
}

PyObject* lstm_layer(Arguments arguments) {
    if (arguments.count() != 10 || !arguments.is_none(7)) return decline();
    return by_type_of(arguments.array(0), [&](auto like) {
        return forward<decltype(like)>(arguments);
    });
}

PyObject* lstm_layer_grad(Arguments arguments) {
    if (arguments.count() != 17 || !arguments.is_none(10)) return decline();
    if (!is_tuple_of(arguments[16], 8)) return decline();
    return by_type_of(arguments.array(3), [&](auto like) {
        return backward<decltype(like)>(arguments);
    });
}

const Registration registrations[] = {
    {"lstm_layer", lstm_layer}, {"lstm_layer_grad", lstm_layer_grad},
};

}  // namespace
}  // namespace nnkit
