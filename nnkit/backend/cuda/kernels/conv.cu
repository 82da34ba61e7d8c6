// Convolution around matrix products: windows to columns and back, and depthwise convolution, which
// is no matrix product, by itself.
#include "geometry.cuh"

namespace nnkit {

// columns[c, tap, n, o] = x[n, c, where the window of output o has its place ``tap``]. The columns
// of taps lie ``tap_step`` apart, those of samples ``sample_step``.
template <class T>
__global__ void im2col(
    const T* x, T* columns, Geometry geometry, int64 batch, int64 channels, int64 tap_step,
    int64 sample_step) {
    const int64 size = geometry.outputs(), plane = geometry.inputs();
    const int64 work = channels * batch * size;
    for (int64 t = thread_of_grid(); t < work; t += threads_of_grid()) {
        const int64 o = t % size, n = t / size % batch, c = t / size / batch;
        const T* from = x + (n * channels + c) * plane;
        T* to = columns + c * geometry.taps() * tap_step + n * sample_step + o;
        each_tap(geometry, Place(o, geometry.output), [&](int tap, int64 i) {
            to[tap * tap_step] = i < 0 ? T(compute_t<T>(0)) : from[i];
        });
    }
}

// The adjoint: each element of x gathers what its places in the columns hold, in a fixed order.
template <class T>
__global__ void col2im(
    const T* columns, T* x, Geometry geometry, int64 batch, int64 channels, int64 tap_step,
    int64 sample_step) {
    using C = compute_t<T>;
    const int64 plane = geometry.inputs(), work = batch * channels * plane;
    for (int64 t = thread_of_grid(); t < work; t += threads_of_grid()) {
        const int64 i = t % plane, c = t / plane % channels, n = t / plane / channels;
        const T* from = columns + c * geometry.taps() * tap_step + n * sample_step;
        C total = C(0);
        each_window(geometry, Place(i, geometry.input), [&](int tap, int64 o) {
            total += C(from[tap * tap_step + o]);
        });
        x[t] = T(total);
    }
}

// out[j, i, :] = x[i, j, :] of x (rows, columns, size), plus bias[j].
template <class T>
__global__ void swap_batch(
    const T* x, const T* bias, T* out, int64 rows, int64 columns, int64 size) {
    using C = compute_t<T>;
    for (int64 t = thread_of_grid(); t < rows * columns * size; t += threads_of_grid()) {
        const int64 s = t % size, i = t / size % rows, j = t / size / rows;
        const C value = C(x[(i * columns + j) * size + s]);
        out[t] = T(bias ? C(value + C(bias[i])) : value);
    }
}

// The same bias for every element of a channel, added in place.
template <class T>
__global__ void add_bias(T* x, const T* bias, int64 count, int64 channels, int64 size) {
    using C = compute_t<T>;
    for (int64 t = thread_of_grid(); t < count; t += threads_of_grid()) {
        x[t] = T(C(x[t]) + C(bias[t / size % channels]));
    }
}

// Depthwise: output channel o reads input channel o / each.

template <class T>
__global__ void depthwise(
    const T* x, const T* weight, const T* bias, T* out, Geometry geometry, int64 batch,
    int64 outputs, int64 each) {
    using C = compute_t<T>;
    const int64 size = geometry.outputs(), plane = geometry.inputs();
    for (int64 t = thread_of_grid(); t < batch * outputs * size; t += threads_of_grid()) {
        const int64 at = t % size, o = t / size % outputs, n = t / size / outputs;
        const T* from = x + (n * (outputs / each) + o / each) * plane;
        const T* w = weight + o * geometry.taps();
        C total = bias ? C(bias[o]) : C(0);
        each_tap(geometry, Place(at, geometry.output), [&](int tap, int64 i) {
            if (i >= 0) total += C(w[tap]) * C(from[i]);
        });
        out[t] = T(total);
    }
}

template <class T>
__global__ void depthwise_grad_input(
    const T* g, const T* weight, T* out, Geometry geometry, int64 batch, int64 outputs,
    int64 each) {
    using C = compute_t<T>;
    const int64 size = geometry.outputs(), plane = geometry.inputs();
    const int64 channels = outputs / each;
    for (int64 t = thread_of_grid(); t < batch * channels * plane; t += threads_of_grid()) {
        const int64 i = t % plane, c = t / plane % channels, n = t / plane / channels;
        C total = C(0);
        for (int64 o = c * each; o < (c + 1) * each; ++o) {
            const T* from = g + (n * outputs + o) * size;
            const T* w = weight + o * geometry.taps();
            each_window(geometry, Place(i, geometry.input), [&](int tap, int64 at) {
                total += C(w[tap]) * C(from[at]);
            });
        }
        out[t] = T(total);
    }
}

// A block for each weight.
template <class T>
__global__ void depthwise_grad_weight(
    const T* g, const T* x, T* out, Geometry geometry, int64 batch, int64 outputs, int64 each) {
    using C = compute_t<T>;
    const Geometry& w = geometry;
    const int64 size = w.outputs(), plane = w.inputs(), taps = w.taps();
    for (int64 b = blockIdx.x; b < outputs * taps; b += gridDim.x) {
        const int64 o = b / taps;
        const Place tap(b % taps, w.kernel);
        C total = C(0);
        for (int64 t = threadIdx.x; t < batch * size; t += blockDim.x) {
            const int64 n = t / size, at = t % size;
            const Place output(at, w.output);
            int64 i = 0;
            bool is_inside = true;
            for (int d = 0; d < 3; ++d) {
                const int place =
                    output.at[d] * w.stride[d] - w.padding[d] + tap.at[d] * w.dilation[d];
                is_inside &= place >= 0 && place < w.input[d];
                i = i * w.input[d] + place;
            }
            if (!is_inside) continue;
            total += C(g[(n * outputs + o) * size + at])
                * C(x[(n * (outputs / each) + o / each) * plane + i]);
        }
        total = reduce_block(total, Sum(), C(0));
        if (threadIdx.x == 0) out[b] = T(total);
        __syncthreads();
    }
}

}  // namespace nnkit
