// Windows over one to three spatial axes (backend/cuda/geometry.py).
#pragma once

#include "common.cuh"

namespace nnkit {

// Of axes that are not there, every size is 1 and every distance 1; the padding is 0.
struct Geometry {
    int input[3], kernel[3], output[3], stride[3], padding[3], dilation[3];

    __device__ int taps() const { return kernel[0] * kernel[1] * kernel[2]; }
    __device__ int64 inputs() const { return int64(input[0]) * input[1] * input[2]; }
    __device__ int64 outputs() const { return int64(output[0]) * output[1] * output[2]; }
};

struct Place {
    int at[3];

    // From the number of an element of a plane of these sizes.
    __device__ Place(int64 i, const int* sizes) {
        const uint32 number = uint32(i), row = number / uint32(sizes[2]);
        at[2] = int(number - row * uint32(sizes[2]));
        at[0] = int(row / uint32(sizes[1]));
        at[1] = int(row % uint32(sizes[1]));
    }
};

// Calls ``body(tap, i)`` for each place of the window of an output; i is -1 in the padding.
template <class Body>
__device__ void each_tap(const Geometry& geometry, const Place& output, Body body) {
    const Geometry& w = geometry;
    int tap = 0;
    for (int a = 0; a < w.kernel[0]; ++a) {
        const int x = output.at[0] * w.stride[0] - w.padding[0] + a * w.dilation[0];
        for (int b = 0; b < w.kernel[1]; ++b) {
            const int y = output.at[1] * w.stride[1] - w.padding[1] + b * w.dilation[1];
            const bool is_row_inside = x >= 0 && x < w.input[0] && y >= 0 && y < w.input[1];
            const int64 row = (int64(x) * w.input[1] + y) * w.input[2];
            for (int c = 0; c < w.kernel[2]; ++c, ++tap) {
                const int z = output.at[2] * w.stride[2] - w.padding[2] + c * w.dilation[2];
                body(tap, is_row_inside && z >= 0 && z < w.input[2] ? row + z : int64(-1));
            }
        }
    }
}

// Calls ``body(tap, o)`` for each output whose window has this input at the place ``tap``.
template <class Body>
__device__ void each_window(const Geometry& geometry, const Place& input, Body body) {
    const Geometry& w = geometry;
    for (int a = 0; a < w.kernel[0]; ++a) {
        const int x = input.at[0] + w.padding[0] - a * w.dilation[0];
        if (x < 0 || x % w.stride[0] || x / w.stride[0] >= w.output[0]) continue;
        for (int b = 0; b < w.kernel[1]; ++b) {
            const int y = input.at[1] + w.padding[1] - b * w.dilation[1];
            if (y < 0 || y % w.stride[1] || y / w.stride[1] >= w.output[1]) continue;
            const int64 row = (int64(x / w.stride[0]) * w.output[1] + y / w.stride[1])
                * w.output[2];
            for (int c = 0; c < w.kernel[2]; ++c) {
                const int z = input.at[2] + w.padding[2] - c * w.dilation[2];
                if (z < 0 || z % w.stride[2] || z / w.stride[2] >= w.output[2]) continue;
                body((a * w.kernel[1] + b) * w.kernel[2] + c, row + z / w.stride[2]);
            }
        }
    }
}

}  // namespace nnkit
