// The windows of pools: which elements each output sees along each of three axes.
#pragma once

#include <vector>

#include "array.h"

namespace nnkit {

constexpr int pool_axes = 3;  // axes that are not there have length 1

// Along one axis: output o sees elements first[o], first[o] + step ... , count[o] of them.
struct WindowAxis {
    Index inputs = 1, outputs = 1;
    Index kernel = 1, stride = 1, padding = 0, step = 1;  // of a regular pool
    std::vector<Index> first{0}, count{1};
    // The outputs [begin, end) for which tap k of a regular pool is inside; where it lies for 0.
    Index begin(Index k) const {
        const Index at = k * step - padding;
        return at >= 0 ? 0 : (-at + stride - 1) / stride;
    }
    Index end(Index k) const {
        const Index room = inputs - 1 - (k * step - padding);
        const Index stop = room < 0 ? 0 : room / stride + 1;
        return stop < outputs ? stop : outputs;
    }
    Index offset(Index k) const { return k * step - padding; }
};

struct Windows {
    WindowAxis axes[pool_axes];
    Index input_plane() const { return axes[0].inputs * axes[1].inputs * axes[2].inputs; }
    Index output_plane() const { return axes[0].outputs * axes[1].outputs * axes[2].outputs; }
};

// The windows of a regular pool over the last axes of `shape`; `arguments` are kernel, stride,
// padding and dilation (null: 1). False if a window sees no element, or something does not fit.
bool read_windows(int ndim, const Index* shape, PyObject* kernel, PyObject* stride,
                  PyObject* padding, PyObject* dilation, bool ceil, Windows* windows);

// Windows that divide each axis into parts that are as even as can be.
bool read_adaptive(int axes, const Index* spatial, const Index* size, Windows* windows);

// The first two lengths of `shape`, then the outputs of the windows.
void pooled_shape(const Windows& windows, int ndim, const npy_intp* shape, npy_intp* result);

// Whether kernels take x: planes of float or double in plain order.
bool is_handled(Array x);

// Elements that a piece of work should at least see.
constexpr Index elements_of_piece = 1 << 17;

}  // namespace nnkit
