// Pooling over one to three spatial axes. Planes are the (N, C) of an array; indices are into the
// flat spatial plane.
#include "geometry.cuh"

namespace nnkit {

// Whether a value takes the place of the largest so far: NaN wins over everything, the last one.
template <class C>
__device__ bool replaces(C value, C best) { return value > best || value != value; }

template <class T>
__global__ void max_pool(const T* x, T* out, int64* indices, Geometry geometry, int64 planes) {
    using C = compute_t<T>;
    const int64 size = geometry.outputs(), plane = geometry.inputs();
    for (int64 t = thread_of_grid(); t < planes * size; t += threads_of_grid()) {
        const T* from = x + t / size * plane;
        C best = Limits<C>::lowest();
        int64 place = -1;
        each_tap(geometry, Place(t % size, geometry.output), [&](int, int64 i) {
            if (i < 0) return;
            const C value = C(from[i]);
            if (place < 0 || replaces(value, best)) {
                best = value;
                place = i;
            }
        });
        out[t] = T(best);
        indices[t] = place;
    }
}

// Where window ``o`` of an adaptive pool begins and ends along an axis.
__device__ inline int first_of(int64 o, int64 size, int64 count) { return int(o * size / count); }
__device__ inline int last_of(int64 o, int64 size, int64 count) {
    return int(((o + 1) * size + count - 1) / count);
}

// Calls ``body(i)`` for the elements of window ``output`` of an adaptive pool.
template <class Body>
__device__ void each_of_part(const Geometry& geometry, const Place& output, Body body) {
    int first[3], last[3];
    for (int d = 0; d < 3; ++d) {
        first[d] = first_of(output.at[d], geometry.input[d], geometry.output[d]);
        last[d] = last_of(output.at[d], geometry.input[d], geometry.output[d]);
    }
    for (int a = first[0]; a < last[0]; ++a) {
        for (int b = first[1]; b < last[1]; ++b) {
            const int64 row = (int64(a) * geometry.input[1] + b) * geometry.input[2];
            for (int c = first[2]; c < last[2]; ++c) body(row + c);
        }
    }
}

template <class T>
__global__ void adaptive_max_pool(
    const T* x, T* out, int64* indices, Geometry geometry, int64 planes) {
    using C = compute_t<T>;
    const int64 size = geometry.outputs(), plane = geometry.inputs();
    for (int64 t = thread_of_grid(); t < planes * size; t += threads_of_grid()) {
        const T* from = x + t / size * plane;
        C best = Limits<C>::lowest();
        int64 place = -1;
        each_of_part(geometry, Place(t % size, geometry.output), [&](int64 i) {
            const C value = C(from[i]);
            if (place < 0 || replaces(value, best)) {
                best = value;
                place = i;
            }
        });
        out[t] = T(best);
        indices[t] = place;
    }
}

// Windows at pseudo-random distances (Graham, 2014). samples (planes, axes) in [0, 1).
template <class T>
__global__ void fractional_max_pool(
    const T* x, const T* samples, T* out, int64* indices, Geometry geometry, int64 planes,
    int axes) {
    using C = compute_t<T>;
    const Geometry& w = geometry;
    const int64 size = w.outputs(), plane = w.inputs();
    for (int64 t = thread_of_grid(); t < planes * size; t += threads_of_grid()) {
        const Place output(t % size, w.output);
        int start[3] = {0, 0, 0};
        for (int d = 3 - axes; d < 3; ++d) {
            const C sample = C(samples[t / size * axes + d - (3 - axes)]);
            const int room = w.input[d] - w.kernel[d];
            if (output.at[d] == w.output[d] - 1) {
                start[d] = room;
            } else {
                const C alpha = C(room) / C(w.output[d] - 1);
                start[d] = int((C(output.at[d]) + sample) * alpha) - int(sample * alpha);
            }
        }
        const T* from = x + t / size * plane;
        C best = Limits<C>::lowest();
        int64 place = -1;
        for (int a = start[0]; a < start[0] + w.kernel[0]; ++a) {
            for (int b = start[1]; b < start[1] + w.kernel[1]; ++b) {
                for (int c = start[2]; c < start[2] + w.kernel[2]; ++c) {
                    const int64 i = (int64(a) * w.input[1] + b) * w.input[2] + c;
                    const C value = C(from[i]);
                    if (place < 0 || replaces(value, best)) {
                        best = value;
                        place = i;
                    }
                }
            }
        }
        out[t] = T(best);
        indices[t] = place;
    }
}

constexpr int nobody = 2147483647;

// Adds g at its indices, in the order of the outputs and without atomic additions: a block works on
// a plane in rounds, in each of which every element takes the next of the outputs that name it.
// turn and done have one number for each element of ``total``.
template <class T>
__global__ void max_pool_grad(
    const T* g, const int64* indices, compute_t<T>* total, int* turn, int* done, int64 planes,
    int64 size, int64 plane) {
    for (int64 p = blockIdx.x; p < planes; p += gridDim.x) {
        compute_t<T>* sums = total + p * plane;
        int* next = turn + p * plane;
        int* last = done + p * plane;
        for (int64 i = threadIdx.x; i < plane; i += blockDim.x) {
            sums[i] = compute_t<T>(0);
            next[i] = nobody;
            last[i] = -1;
        }
        for (;;) {
            __syncthreads();
            bool waits = false;
            for (int64 o = threadIdx.x; o < size; o += blockDim.x) {
                const int64 i = indices[p * size + o];
                if (o <= last[i]) continue;
                waits = true;
                atomicMin(&next[i], int(o));
            }
            if (!__syncthreads_or(waits)) break;
            for (int64 o = threadIdx.x; o < size; o += blockDim.x) {
                const int64 i = indices[p * size + o];
                if (next[i] != o) continue;
                sums[i] += compute_t<T>(g[p * size + o]);
                last[i] = int(o);
                next[i] = nobody;
            }
        }
    }
}

template <class T>
__global__ void max_pool_gather(
    const T* x, const int64* indices, T* out, int64 count, int64 size, int64 plane) {
    for (int64 t = thread_of_grid(); t < count; t += threads_of_grid()) {
        out[t] = x[t / size * plane + indices[t]];
    }
}

// Of several outputs that name an element the last one is written: first who it is, then the value.
__global__ void unpool_owners(
    const int64* indices, int* owners, int64 count, int64 size, int64 plane, Failure* failure,
    int code) {
    for (int64 t = thread_of_grid(); t < count; t += threads_of_grid()) {
        const int64 i = indices[t];
        if (i < 0 || i >= plane) report(failure, code, i, plane);
        else atomicMax(&owners[t / size * plane + i], int(t % size) + 1);
    }
}
template <class T>
__global__ void max_unpool(
    const T* x, const int* owners, T* out, int64 count, int64 size, int64 plane) {
    for (int64 t = thread_of_grid(); t < count; t += threads_of_grid()) {
        const int owner = owners[t];
        out[t] = owner ? x[t / plane * size + owner - 1] : T(compute_t<T>(0));
    }
}

// What the sum of a window is divided by: ``divisor``, or the number of its elements.
__device__ inline int64 divisor_of(
    const Geometry& w, const Place& output, bool includes_padding, int64 divisor) {
    if (divisor) return divisor;
    int64 count = 1;
    for (int d = 0; d < 3; ++d) {
        const int start = output.at[d] * w.stride[d] - w.padding[d];
        const int end = w.input[d] + (includes_padding ? w.padding[d] : 0);
        const int stop = start + w.kernel[d] < end ? start + w.kernel[d] : end;
        count *= stop - (includes_padding || start > 0 ? start : 0);
    }
    return count;
}

template <class T>
__global__ void avg_pool(
    const T* x, T* out, Geometry geometry, int64 planes, int includes_padding, int64 divisor) {
    using C = compute_t<T>;
    const int64 size = geometry.outputs(), plane = geometry.inputs();
    for (int64 t = thread_of_grid(); t < planes * size; t += threads_of_grid()) {
        const T* from = x + t / size * plane;
        const Place output(t % size, geometry.output);
        C total = C(0);
        each_tap(geometry, output, [&](int, int64 i) {
            if (i >= 0) total += C(from[i]);
        });
        out[t] = T(total / C(divisor_of(geometry, output, includes_padding, divisor)));
    }
}

template <class T>
__global__ void avg_pool_grad(
    const T* g, T* out, Geometry geometry, int64 planes, int includes_padding, int64 divisor) {
    using C = compute_t<T>;
    const int64 size = geometry.outputs(), plane = geometry.inputs();
    for (int64 t = thread_of_grid(); t < planes * plane; t += threads_of_grid()) {
        const T* from = g + t / plane * size;
        C total = C(0);
        each_window(geometry, Place(t % plane, geometry.input), [&](int, int64 o) {
            const Place output(o, geometry.output);
            total += C(from[o]) / C(divisor_of(geometry, output, includes_padding, divisor));
        });
        out[t] = T(total);
    }
}

template <class T>
__global__ void adaptive_avg_pool(const T* x, T* out, Geometry geometry, int64 planes) {
    using C = compute_t<T>;
    const int64 size = geometry.outputs(), plane = geometry.inputs();
    for (int64 t = thread_of_grid(); t < planes * size; t += threads_of_grid()) {
        const T* from = x + t / size * plane;
        C total = C(0);
        int64 count = 0;
        each_of_part(geometry, Place(t % size, geometry.output), [&](int64 i) {
            total += C(from[i]);
            ++count;
        });
        out[t] = T(total / C(count));
    }
}

template <class T>
__global__ void adaptive_avg_pool_grad(const T* g, T* out, Geometry geometry, int64 planes) {
    using C = compute_t<T>;
    const Geometry& w = geometry;
    const int64 size = w.outputs(), plane = w.inputs();
    for (int64 t = thread_of_grid(); t < planes * plane; t += threads_of_grid()) {
        const T* from = g + t / plane * size;
        const Place input(t % plane, w.input);
        // The outputs whose windows hold this input, along each axis.
        int first[3], last[3];
        for (int d = 0; d < 3; ++d) {
            const int64 n = w.input[d], m = w.output[d], i = input.at[d];
            first[d] = int(i * m / n);
            while (first[d] > 0 && last_of(first[d] - 1, n, m) > i) --first[d];
            while (last_of(first[d], n, m) <= i) ++first[d];
            last[d] = first[d];
            while (last[d] < m && first_of(last[d], n, m) <= i) ++last[d];
        }
        C total = C(0);
        for (int a = first[0]; a < last[0]; ++a) {
            for (int b = first[1]; b < last[1]; ++b) {
                for (int c = first[2]; c < last[2]; ++c) {
                    const int at[3] = {a, b, c};
                    int64 count = 1;
                    for (int d = 0; d < 3; ++d) {
                        count *= last_of(at[d], w.input[d], w.output[d])
                            - first_of(at[d], w.input[d], w.output[d]);
                    }
                    total += C(from[(int64(a) * w.output[1] + b) * w.output[2] + c]) / C(count);
                }
            }
        }
        out[t] = T(total);
    }
}

}  // namespace nnkit
