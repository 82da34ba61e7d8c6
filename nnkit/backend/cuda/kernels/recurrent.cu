// What stands between the matrix products of a time step: gates of LSTM and GRU cells, forward and
// backward. A step has ``rows`` rows of ``size`` units.
#include "common.cuh"

namespace nnkit {

template <class T>
__device__ T sigmoid_of(T x) { return T(1) / (T(1) + math::exp(-x)); }

// gates (rows, 4 size) hold what x gives and become i, f, g, o; hidden is what the state gives.
template <class T>
__global__ void lstm_cell(
    T* gates, const T* hidden, T* c, T* cells, T* h, T* output, int64 rows, int64 size) {
    for (int64 t = thread_of_grid(); t < rows * size; t += threads_of_grid()) {
        const int64 at = t / size * 4 * size + t % size;
        const T i = sigmoid_of(gates[at] + hidden[at]);
        const T f = sigmoid_of(gates[at + size] + hidden[at + size]);
        const T g = math::tanh(gates[at + 2 * size] + hidden[at + 2 * size]);
        const T o = sigmoid_of(gates[at + 3 * size] + hidden[at + 3 * size]);
        gates[at] = i;
        gates[at + size] = f;
        gates[at + 2 * size] = g;
        gates[at + 3 * size] = o;
        const T cell = f * c[t] + i * g;
        c[t] = cells[t] = cell;
        h[t] = output[t] = o * math::tanh(cell);
    }
}

// g_h holds the gradient of the state from later steps, and g_output the one from above. g_gates
// gets the gradients of the gates before their activations, g_c what goes on to the step before.
template <class T>
__global__ void lstm_cell_grad(
    const T* gates, const T* cells, const T* cells_before, const T* g_h, const T* g_output, T* g_c,
    T* g_gates, int64 rows, int64 size) {
    for (int64 t = thread_of_grid(); t < rows * size; t += threads_of_grid()) {
        const int64 at = t / size * 4 * size + t % size;
        const T i = gates[at], f = gates[at + size], g = gates[at + 2 * size];
        const T o = gates[at + 3 * size], tanh_c = math::tanh(cells[t]);
        const T of_h = g_h[t] + g_output[t];
        const T of_c = g_c[t] + of_h * o * (T(1) - tanh_c * tanh_c);
        g_gates[at] = of_c * g * i * (T(1) - i);
        g_gates[at + size] = of_c * cells_before[t] * f * (T(1) - f);
        g_gates[at + 2 * size] = of_c * i * (T(1) - g * g);
        g_gates[at + 3 * size] = of_h * tanh_c * o * (T(1) - o);
        g_c[t] = of_c * f;
    }
}

// gates (rows, 3 size) hold what x gives and become r, z, n; hidden is what the state gives.
template <class T>
__global__ void gru_cell(
    T* gates, const T* hidden, T* candidates, T* h, T* output, int64 rows, int64 size) {
    for (int64 t = thread_of_grid(); t < rows * size; t += threads_of_grid()) {
        const int64 at = t / size * 3 * size + t % size;
        const T r = sigmoid_of(gates[at] + hidden[at]);
        const T z = sigmoid_of(gates[at + size] + hidden[at + size]);
        const T candidate = hidden[at + 2 * size];
        const T n = math::tanh(gates[at + 2 * size] + r * candidate);
        gates[at] = r;
        gates[at + size] = z;
        gates[at + 2 * size] = n;
        candidates[t] = candidate;
        h[t] = output[t] = n + z * (h[t] - n);
    }
}

// g_h becomes the part of the gradient that goes to the step before past the product.
template <class T>
__global__ void gru_cell_grad(
    const T* gates, const T* candidates, const T* before, const T* g_output, T* g_h, T* g_gates,
    T* g_hidden, int64 rows, int64 size) {
    for (int64 t = thread_of_grid(); t < rows * size; t += threads_of_grid()) {
        const int64 at = t / size * 3 * size + t % size;
        const T r = gates[at], z = gates[at + size], n = gates[at + 2 * size];
        const T of_h = g_h[t] + g_output[t];
        const T of_n = of_h * (T(1) - z) * (T(1) - n * n);
        const T of_z = of_h * (before[t] - n) * z * (T(1) - z);
        const T of_r = of_n * candidates[t] * r * (T(1) - r);
        g_gates[at] = g_hidden[at] = of_r;
        g_gates[at + size] = g_hidden[at + size] = of_z;
        g_gates[at + 2 * size] = of_n;
        g_hidden[at + 2 * size] = of_n * r;
        g_h[t] = of_h * z;
    }
}

}  // namespace nnkit
