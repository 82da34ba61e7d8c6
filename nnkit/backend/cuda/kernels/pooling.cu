// Pooling over one to three spatial axes. Planes are the (N, C) of an array; indices are into the
// flat spatial plane.
#include "geometry.cuh"

namespace nnkit {

// The largest element of a window and its place: the first of equal ones; of NaN, which wins over
// everything, the last.
template <class T>
struct Largest {
    using C = compute_t<T>;
    C best = Limits<C>::lowest();
    int place = -1;

    __device__ void meet(const T* from, int i) {
        const C value = C(from[i]);
        if (place >= 0 && !(value > best || value != value)) return;
        best = value;
        place = i;
    }
};

// Calls ``body(i, place)`` for the elements of a box within a plane of these sizes.
template <class Body>
__device__ void each_of_box(const int* first, const int* last, const int* sizes, Body body) {
    for (int x = first[0]; x < last[0]; ++x) {
        for (int y = first[1]; y < last[1]; ++y) {
            const int row = (x * sizes[1] + y) * sizes[2];
            for (int z = first[2]; z < last[2]; ++z) body(row + z, Place{{x, y, z}});
        }
    }
}

// The elements of a window, as the kinds of pooling have it: for each output a body is called with
// the numbers of those that are in the plane. ``alike`` planes have the same windows.
struct RegularWindows {
    static constexpr int alike = most_planes;
    Geometry geometry;
    template <class Body>
    __device__ void each(int64, const Place& output, Body body) const {
        each_tap(geometry, output, [&](int, int i) { body(i); });
    }
};

// The bounds of window ``o`` of an adaptive pool along an axis.
__device__ inline int first_of(int64 o, int64 size, int64 count) { return int(o * size / count); }
__device__ inline int last_of(int64 o, int64 size, int64 count) {
    return int(((o + 1) * size + count - 1) / count);
}

struct AdaptiveWindows {
    static constexpr int alike = most_planes;
    Geometry geometry;
    template <class Body>
    __device__ void each(int64, const Place& output, Body body) const {
        int first[3], last[3];
        #pragma unroll
        for (int d = 0; d < 3; ++d) {
            first[d] = first_of(output.at[d], geometry.input[d], geometry.output[d]);
            last[d] = last_of(output.at[d], geometry.input[d], geometry.output[d]);
        }
        each_of_box(first, last, geometry.input, [&](int i, const Place&) { body(i); });
    }
};

// Windows at pseudo-random distances (Graham, 2014). samples (planes, axes) in [0, 1).
template <class T>
struct FractionalWindows {
    using C = compute_t<T>;
    static constexpr int alike = 1;
    Geometry geometry;
    const T* samples;
    int axes;
    template <class Body>
    __device__ void each(int64 plane, const Place& output, Body body) const {
        const Geometry& w = geometry;
        int first[3] = {0, 0, 0}, last[3] = {1, 1, 1};
        #pragma unroll
        for (int d = 0; d < 3; ++d) {
            if (d < 3 - axes) continue;
            const C sample = C(samples[plane * axes + d - (3 - axes)]);
            const int room = w.input[d] - w.kernel[d];
            first[d] = room;
            if (output.at[d] != w.output[d] - 1) {
                const C alpha = C(room) / C(w.output[d] - 1);
                first[d] = int((C(output.at[d]) + sample) * alpha) - int(sample * alpha);
            }
            last[d] = first[d] + w.kernel[d];
        }
        each_of_box(first, last, w.input, [&](int i, const Place&) { body(i); });
    }
};

template <class T, class Windows>
__device__ void pool_largest(
    const T* x, T* out, int64* indices, const Windows& windows, int64 planes) {
    using Several = Planes<Windows::alike>;
    const Geometry& w = windows.geometry;
    const int64 size = w.outputs(), plane = w.inputs();
    each_of_planes<Several>(planes, w.output, [&](Several several, const Place& place) {
        const T* from[Several::count];
        Largest<T> largest[Several::count];
        #pragma unroll
        for (int k = 0; k < Several::count; ++k) from[k] = x + several[k] * plane;
        windows.each(several.first, place, [&](int i) {
            #pragma unroll
            for (int k = 0; k < Several::count; ++k) largest[k].meet(from[k], i);
        });
        #pragma unroll
        for (int k = 0; k < Several::count; ++k) {
            if (!several.has(k)) break;
            const int64 at = several[k] * size + place.number(w.output);
            out[at] = T(largest[k].best);
            indices[at] = largest[k].place;
        }
    });
}

template <class T>
__global__ void max_pool(const T* x, T* out, int64* indices, Geometry geometry, int64 planes) {
    pool_largest(x, out, indices, RegularWindows{geometry}, planes);
}
template <class T>
__global__ void adaptive_max_pool(
    const T* x, T* out, int64* indices, Geometry geometry, int64 planes) {
    pool_largest(x, out, indices, AdaptiveWindows{geometry}, planes);
}
template <class T>
__global__ void fractional_max_pool(
    const T* x, const T* samples, T* out, int64* indices, Geometry geometry, int64 planes,
    int axes) {
    pool_largest(x, out, indices, FractionalWindows<T>{geometry, samples, axes}, planes);
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
                // A window without an element has no index.
                if (i < 0 || o <= last[i]) continue;
                waits = true;
                atomicMin(&next[i], int(o));
            }
            if (!__syncthreads_or(waits)) break;
            for (int64 o = threadIdx.x; o < size; o += blockDim.x) {
                const int64 i = indices[p * size + o];
                if (i < 0 || next[i] != o) continue;
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
        const int64 i = indices[t];
        out[t] = i < 0 ? T(compute_t<T>(0)) : x[t / size * plane + i];
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

// The divisor of a window's sum: ``divisor``, or the number of its elements.
__device__ inline int64 divisor_of(
    const Geometry& w, const Place& output, bool includes_padding, int64 divisor) {
    if (divisor) return divisor;
    int count = 1;
    #pragma unroll
    for (int d = 0; d < 3; ++d) {
        const int start = output.at[d] * w.stride[d] - w.padding[d];
        const int end = w.input[d] + (includes_padding ? w.padding[d] : 0);
        const int stop = start + w.kernel[d] < end ? start + w.kernel[d] : end;
        count *= stop - (includes_padding || start > 0 ? start : 0);
    }
    return count;
}

// ``divisor_of(output, count)``: what the sum of ``count`` elements is divided by.
template <class T, class Windows, class Divisor>
__device__ void pool_average(
    const T* x, T* out, const Windows& windows, int64 planes, Divisor divisor_of) {
    using C = compute_t<T>;
    using Several = Planes<Windows::alike>;
    const Geometry& w = windows.geometry;
    const int64 size = w.outputs(), plane = w.inputs();
    each_of_planes<Several>(planes, w.output, [&](Several several, const Place& place) {
        const T* from[Several::count];
        C totals[Several::count] = {};
        #pragma unroll
        for (int k = 0; k < Several::count; ++k) from[k] = x + several[k] * plane;
        int64 count = 0;
        windows.each(several.first, place, [&](int i) {
            #pragma unroll
            for (int k = 0; k < Several::count; ++k) totals[k] += C(from[k][i]);
            ++count;
        });
        const C divisor = C(divisor_of(place, count));
        #pragma unroll
        for (int k = 0; k < Several::count; ++k) totals[k] = totals[k] / divisor;
        several.write(out, size, place.number(w.output), totals);
    });
}

template <class T>
__global__ void avg_pool(
    const T* x, T* out, Geometry geometry, int64 planes, int includes_padding, int64 divisor) {
    pool_average(x, out, RegularWindows{geometry}, planes, [&](const Place& output, int64) {
        return divisor_of(geometry, output, includes_padding, divisor);
    });
}
template <class T>
__global__ void adaptive_avg_pool(const T* x, T* out, Geometry geometry, int64 planes) {
    pool_average(x, out, AdaptiveWindows{geometry}, planes,
                 [](const Place&, int64 count) { return count; });
}

// Each input gathers ``g / divisor`` of the outputs whose windows hold it, of which
// ``each_output(input, body)`` calls ``body(output, divisor)``.
template <class T, class Outputs>
__device__ void gather_shares(
    const T* g, T* out, const Geometry& w, int64 planes, Outputs each_output) {
    using C = compute_t<T>;
    using Several = Planes<2 * most_planes>;  // for which a divisor is found once
    const int64 size = w.outputs();
    each_of_planes<Several>(planes, w.input, [&](Several several, const Place& place) {
        const T* from[Several::count];
        C totals[Several::count] = {};
        #pragma unroll
        for (int k = 0; k < Several::count; ++k) from[k] = g + several[k] * size;
        each_output(place, [&](const Place& output, int divisor) {
            const int o = output.number(w.output);
            const C share = C(1) / C(divisor);
            #pragma unroll
            for (int k = 0; k < Several::count; ++k) {
                const C value = C(from[k][o]);
                // How a reciprocal is rounded, half precision does not see.
                totals[k] += sizeof(T) == 2 ? value * share : value / C(divisor);
            }
        });
        several.write(out, w.inputs(), place.number(w.input), totals);
    });
}

template <class T>
__global__ void avg_pool_grad(
    const T* g, T* out, Geometry geometry, int64 planes, int includes_padding, int64 divisor) {
    gather_shares(g, out, geometry, planes, [&](const Place& input, auto body) {
        each_window(geometry, input, [&](int, const Place& output) {
            body(output, int(divisor_of(geometry, output, includes_padding, divisor)));
        });
    });
}

template <class T>
__global__ void adaptive_avg_pool_grad(const T* g, T* out, Geometry geometry, int64 planes) {
    const Geometry& w = geometry;
    gather_shares(g, out, geometry, planes, [&](const Place& input, auto body) {
        // The outputs whose windows hold this input, along each axis.
        int first[3], last[3];
        #pragma unroll
        for (int d = 0; d < 3; ++d) {
            const int64 n = w.input[d], m = w.output[d], i = input.at[d];
            first[d] = int(i * m / n);
            while (first[d] > 0 && last_of(first[d] - 1, n, m) > i) --first[d];
            while (last_of(first[d], n, m) <= i) ++first[d];
            last[d] = first[d];
            while (last[d] < m && first_of(last[d], n, m) <= i) ++last[d];
        }
        each_of_box(first, last, w.output, [&](int, const Place& output) {
            int divisor = 1;
            #pragma unroll
            for (int d = 0; d < 3; ++d) {
                divisor *= last_of(output.at[d], w.input[d], w.output[d])
                    - first_of(output.at[d], w.input[d], w.output[d]);
            }
            body(output, divisor);
        });
    });
}

}  // namespace nnkit
