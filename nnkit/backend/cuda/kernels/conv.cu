// Convolution around matrix products: windows to columns and back, and depthwise convolution, which
// is no matrix product, by itself.
#include "geometry.cuh"

namespace nnkit {

// How the columns of x (samples, channels, plane) lie: those of taps ``tap_step`` apart, those of
// samples ``sample_step``.
struct Columns {
    int64 channels, tap_step, sample_step;

    __device__ int64 start(const Geometry& geometry, int64 sample, int64 channel) const {
        return channel * geometry.taps() * tap_step + sample * sample_step;
    }
};

using Several = Planes<most_planes>;

// columns[c, tap, n, o] = x[n, c, where the window of output o has its place ``tap``].
template <class T>
__global__ void im2col(
    const T* x, T* columns, Geometry geometry, int64 planes, Columns layout) {
    const Geometry& w = geometry;
    const int64 plane = w.inputs();
    each_of_planes<Several>(planes, w.output, [&](Several several, const Place& place) {
        const T* from[most_planes];
        T* to[most_planes];
        several.each(layout.channels, [&](int k, int64 n, int64 c) {
            from[k] = x + several[k] * plane;
            to[k] = columns + layout.start(w, n, c) + place.number(w.output);
        });
        int start[3];
        for (int d = 0; d < 3; ++d) start[d] = place.at[d] * w.stride[d] - w.padding[d];
        const auto is_inside = [&](int at, int d) { return uint32(at) < uint32(w.input[d]); };
        int64 column = 0;
        for (int a = 0; a < w.kernel[0]; ++a) {
            const int i0 = start[0] + a * w.dilation[0];
            for (int b = 0; b < w.kernel[1]; ++b) {
                const int i1 = start[1] + b * w.dilation[1];
                const bool is_row = is_inside(i0, 0) && is_inside(i1, 1);
                const int row = (i0 * w.input[1] + i1) * w.input[2];
                int i2 = start[2];
                for (int c = 0; c < w.kernel[2]; ++c) {
                    const bool is_there = is_row && is_inside(i2, 2);
                    #pragma unroll
                    for (int k = 0; k < most_planes; ++k) {
                        const T value = is_there ? from[k][row + i2] : T(compute_t<T>(0));
                        if (several.has(k)) to[k][column] = value;
                    }
                    i2 += w.dilation[2];
                    column += layout.tap_step;
                }
            }
        }
    });
}

// The adjoint: each element of x gathers what its places in the columns hold, in a fixed order.
template <class T>
__global__ void col2im(const T* columns, T* x, Geometry geometry, int64 planes, Columns layout) {
    using C = compute_t<T>;
    const Geometry& w = geometry;
    each_of_planes<Several>(planes, w.input, [&](Several several, const Place& place) {
        const T* from[most_planes];
        C totals[most_planes] = {};
        several.each(layout.channels, [&](int k, int64 n, int64 c) {
            from[k] = columns + layout.start(w, n, c);
        });
        each_window(w, place, [&](int tap, const Place& output) {
            const int64 at = tap * layout.tap_step + output.number(w.output);
            #pragma unroll
            for (int k = 0; k < most_planes; ++k) totals[k] += C(from[k][at]);
        });
        several.write(x, w.inputs(), place.number(w.input), totals);
    });
}

// out[j, i, :] = x[i, j, :] of x (rows, columns, size), plus bias[i]; ``width`` elements at once.
template <class T, int width>
__global__ void swap_batch(
    const T* x, const T* bias, T* out, int64 rows, int columns, int packs) {
    using C = compute_t<T>;
    using Some = Pack<T, width>;
    const int sizes[3] = {1, columns, packs};
    PlaneWalk walk(thread_of_grid(), threads_of_grid(), sizes);
    const Some* from = reinterpret_cast<const Some*>(x) + thread_of_grid();
    for (; walk.plane < rows; walk.next(), from += threads_of_grid()) {
        Some pack = *from;
        if (bias) {
            const C more = C(bias[walk.plane]);
            #pragma unroll
            for (int k = 0; k < width; ++k) pack[k] = T(C(C(pack[k]) + more));
        }
        const int64 at = (walk.place.at[1] * rows + walk.plane) * packs + walk.place.at[2];
        reinterpret_cast<Some*>(out)[at] = pack;
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
    const T* x, const T* weight, const T* bias, T* out, Geometry geometry, int64 planes,
    int64 outputs, int64 each) {
    using C = compute_t<T>;
    const Geometry& w = geometry;
    each_of_planes<Several>(planes, w.output, [&](Several several, const Place& place) {
        const T *from[most_planes], *factors[most_planes];
        C totals[most_planes];
        several.each(outputs, [&](int k, int64, int64 o) {
            from[k] = x + (each == 1 ? several[k] : several[k] / each) * w.inputs();
            factors[k] = weight + o * w.taps();
            totals[k] = bias ? C(bias[o]) : C(0);
        });
        each_tap(w, place, [&](int tap, int i) {
            #pragma unroll
            for (int k = 0; k < most_planes; ++k) totals[k] += C(factors[k][tap]) * C(from[k][i]);
        });
        several.write(out, w.outputs(), place.number(w.output), totals);
    });
}

template <class T>
__global__ void depthwise_grad_input(
    const T* g, const T* weight, T* out, Geometry geometry, int64 planes, int64 channels,
    int64 each) {
    using C = compute_t<T>;
    const Geometry& w = geometry;
    each_of_planes<Several>(planes, w.input, [&](Several several, const Place& place) {
        C totals[most_planes] = {};
        for (int64 j = 0; j < each; ++j) {
            const T *from[most_planes], *factors[most_planes];
            several.each(channels, [&](int k, int64, int64 c) {
                from[k] = g + (several[k] * each + j) * w.outputs();
                factors[k] = weight + (c * each + j) * w.taps();
            });
            each_window(w, place, [&](int tap, const Place& output) {
                const int at = output.number(w.output);
                #pragma unroll
                for (int k = 0; k < most_planes; ++k) {
                    totals[k] += C(factors[k][tap]) * C(from[k][at]);
                }
            });
        }
        several.write(out, w.inputs(), place.number(w.input), totals);
    });
}

// A block for each weight. Its threads walk along the outputs whose window has its tap inside of x,
// in as many samples at once as a thread takes planes.
template <class T>
__global__ void depthwise_grad_weight(
    const T* g, const T* x, T* out, Geometry geometry, int64 batch, int64 outputs, int64 each) {
    using C = compute_t<T>;
    const Geometry& w = geometry;
    for (int64 b = blockIdx.x; b < outputs * w.taps(); b += gridDim.x) {
        const int64 o = b / w.taps();
        int rest = int(b - o * w.taps()), firsts[3], sizes[3], shifts[3];
        bool is_empty = false;
        for (int d = 2; d >= 0; --d) {
            const int tap = rest % w.kernel[d];
            rest /= w.kernel[d];
            shifts[d] = tap * w.dilation[d] - w.padding[d];  // from an output, times stride
            const int room = w.input[d] - 1 - shifts[d];
            firsts[d] = shifts[d] < 0 ? w.by_stride[d](w.stride[d] - 1 - shifts[d]) : 0;
            const int last = room < 0 ? 0 : w.by_stride[d](room) + 1;
            sizes[d] = (last < w.output[d] ? last : w.output[d]) - firsts[d];
            is_empty |= sizes[d] <= 0;
        }
        C total = C(0);
        if (!is_empty) {
            const T* of_output = g + o * w.outputs();
            const T* of_input = x + o / each * w.inputs();
            const int64 g_step = outputs * w.outputs(), x_step = outputs / each * w.inputs();
            PlaneWalk walk(threadIdx.x, blockDim.x, sizes);
            for (; walk.plane * most_planes < batch; walk.next()) {
                const Several several = {walk.plane * most_planes, batch};
                Place output, input;
                #pragma unroll
                for (int d = 0; d < 3; ++d) {
                    output.at[d] = firsts[d] + walk.place.at[d];
                    input.at[d] = output.at[d] * w.stride[d] + shifts[d];
                }
                const int from = output.number(w.output), i = input.number(w.input);
                #pragma unroll
                for (int k = 0; k < most_planes; ++k) {
                    if (!several.has(k)) break;
                    const int64 n = several.first + k;
                    total += C(of_output[n * g_step + from]) * C(of_input[n * x_step + i]);
                }
            }
        }
        total = reduce_block(total, Sum(), C(0));
        if (threadIdx.x == 0) out[b] = T(total);
        __syncthreads();
    }
}

}  // namespace nnkit
