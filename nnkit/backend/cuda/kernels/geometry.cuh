// Windows over one to three spatial axes (backend/cuda/geometry.py), and threads that walk along
// planes. Indices are advanced, not divided: a division costs more than what it finds.
#pragma once

#include "common.cuh"

namespace nnkit {

// Division of a number from 0 on by one that is known before the launch.
struct Divisor {
    uint32 factor, shift;

    __device__ int operator()(int x) const {
        return int(uint32(uint64(uint32(x) * 2) * factor >> 32) >> shift);
    }
};

// Of axes that are not there, every size is 1 and every distance 1; the padding is 0. Planes have
// fewer than 2^31 elements.
struct Geometry {
    int input[3], kernel[3], output[3], stride[3], padding[3], dilation[3];
    // Taps that are ``tap_step`` apart meet an input in outputs that are ``output_step`` apart.
    int tap_step[3], output_step[3];
    Divisor by_stride[3];

    __device__ int taps() const { return kernel[0] * kernel[1] * kernel[2]; }
    __device__ int64 inputs() const { return int64(input[0]) * input[1] * input[2]; }
    __device__ int64 outputs() const { return int64(output[0]) * output[1] * output[2]; }
};

struct Place {
    int at[3];

    // Its number in a plane of these sizes.
    __device__ int number(const int* sizes) const {
        return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
    }
};

// From a place of a plane to that which lies a fixed number of elements further, in the same plane
// or a later one.
struct PlaneWalk {
    int64 plane;
    Place place;

    // ``first``, ``step``: numbers of elements; both are numbers of threads.
    __device__ PlaneWalk(int64 first, int64 step, const int* sizes) : sizes(sizes) {
        plane = apart(uint32(first), place.at);
        plane_step = apart(uint32(step), steps);
    }

    __device__ void next() {
        int carry = 0;
        #pragma unroll
        for (int d = 2; d >= 0; --d) {
            place.at[d] += steps[d] + carry;
            carry = place.at[d] >= sizes[d];
            if (carry) place.at[d] -= sizes[d];
        }
        plane += plane_step + carry;
    }

private:
    const int* sizes;
    int64 plane_step;
    int steps[3];

    __device__ int64 apart(uint32 number, int* at) const {
        #pragma unroll
        for (int d = 2; d >= 0; --d) {
            const uint32 rest = number / uint32(sizes[d]);
            at[d] = int(number - rest * uint32(sizes[d]));
            number = rest;
        }
        return number;
    }
};

// Planes that follow each other and are treated alike: what a thread finds out about a place serves
// all of them. Those beyond the last one are the last one again, and are not written.
constexpr int most_planes = 4;
template <int number>
struct Planes {
    static constexpr int count = number;
    int64 first, all;

    __device__ int64 operator[](int k) const { return first + k < all ? first + k : all - 1; }
    __device__ bool has(int k) const { return first + k < all; }

    // Calls ``body(k, sample, channel)`` for each of them.
    template <class Body>
    __device__ void each(int64 channels, Body body) const {
        int64 sample = first / channels, channel = first - sample * channels;
        #pragma unroll
        for (int k = 0; k < count; ++k) {
            body(k, sample, channel);
            if (!has(k + 1)) continue;
            const bool is_last = ++channel == channels;
            sample += is_last;
            if (is_last) channel = 0;
        }
    }

    // Their elements at one place.
    template <class T>
    __device__ void write(T* out, int64 size, int place, const compute_t<T>* values) const {
        #pragma unroll
        for (int k = 0; k < count; ++k) {
            if (has(k)) out[(first + k) * size + place] = T(values[k]);
        }
    }
};

// Calls ``body(planes, place)`` for every place of all planes, shared by the grid's threads.
template <class Several, class Body>
__device__ void each_of_planes(int64 planes, const int* sizes, Body body) {
    PlaneWalk walk(thread_of_grid(), threads_of_grid(), sizes);
    for (; walk.plane * Several::count < planes; walk.next()) {
        body(Several{walk.plane * Several::count, planes}, walk.place);
    }
}

// Calls ``body(tap, i)`` for the elements of an output's window that are not padding.
template <class Body>
__device__ void each_tap(const Geometry& w, const Place& output, Body body) {
    int taps[3], firsts[3], lasts[3];
    #pragma unroll
    for (int d = 0; d < 3; ++d) {
        int first = output.at[d] * w.stride[d] - w.padding[d], tap = 0;
        const int last = first + (w.kernel[d] - 1) * w.dilation[d] + 1;
        for (; first < 0; ++tap) first += w.dilation[d];
        taps[d] = tap;
        firsts[d] = first;
        lasts[d] = last < w.input[d] ? last : w.input[d];
    }
    int plane_tap = taps[0] * w.kernel[1];
    for (int x = firsts[0]; x < lasts[0]; x += w.dilation[0], plane_tap += w.kernel[1]) {
        int row_tap = (plane_tap + taps[1]) * w.kernel[2] + taps[2];
        for (int y = firsts[1]; y < lasts[1]; y += w.dilation[1], row_tap += w.kernel[2]) {
            const int row = (x * w.input[1] + y) * w.input[2];
            int tap = row_tap;
            for (int z = firsts[2]; z < lasts[2]; z += w.dilation[2], ++tap) body(tap, row + z);
        }
    }
}

// The taps and outputs that meet an input along an axis.
struct Meetings {
    int tap, output;

    __device__ Meetings(const Geometry& w, int d, int at) : tap(0) {
        int x = at + w.padding[d];
        for (;; ++tap, x -= w.dilation[d]) {
            output = x < 0 ? -1 : w.by_stride[d](x);
            if (x < 0 || tap >= w.kernel[d] || output * w.stride[d] == x) break;
        }
        while (output >= w.output[d]) next(w, d);
    }
    __device__ bool is_one(const Geometry& w, int d) const {
        return tap < w.kernel[d] && output >= 0;
    }
    __device__ void next(const Geometry& w, int d) {
        tap += w.tap_step[d];
        output -= w.output_step[d];
    }
};

// Calls ``body(tap, place)`` for each output whose window has this input at the place ``tap``.
template <class Body>
__device__ void each_window(const Geometry& w, const Place& input, Body body) {
    const Meetings xs(w, 0, input.at[0]), ys(w, 1, input.at[1]), zs(w, 2, input.at[2]);
    for (Meetings x = xs; x.is_one(w, 0); x.next(w, 0)) {
        for (Meetings y = ys; y.is_one(w, 1); y.next(w, 1)) {
            const int tap = (x.tap * w.kernel[1] + y.tap) * w.kernel[2];
            for (Meetings z = zs; z.is_one(w, 2); z.next(w, 2)) {
                body(tap + z.tap, Place{{x.output, y.output, z.output}});
            }
        }
    }
}

}  // namespace nnkit
