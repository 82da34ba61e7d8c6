// Reads the arguments of pools into tables of windows.
#include "pooling.h"

namespace nnkit {

bool is_handled(Array x) {
    return x && (x.type() == Type::float32 || x.type() == Type::float64) && x.is_plain() &&
           x.ndim() >= 3 && x.ndim() <= 2 + pool_axes && x.size() > 0;
}

bool read_windows(int ndim, const Index* shape, PyObject* kernel, PyObject* stride,
                  PyObject* padding, PyObject* dilation, bool ceil, Windows* windows) {
    const int axes = ndim - 2;
    if (axes < 1 || axes > pool_axes) return false;
    Index k[pool_axes], s[pool_axes], p[pool_axes], d[pool_axes] = {1, 1, 1};
    if (read_integers(kernel, k, pool_axes) != axes) return false;
    if (read_integers(stride, s, pool_axes) != axes) return false;
    if (read_integers(padding, p, pool_axes) != axes) return false;
    if (dilation != nullptr && read_integers(dilation, d, pool_axes) != axes) return false;
    for (int i = 0; i < axes; ++i) {
        WindowAxis& axis = windows->axes[pool_axes - axes + i];
        if (k[i] < 1 || s[i] < 1 || d[i] < 1 || p[i] < 0) return false;
        axis.inputs = shape[2 + i];
        axis.kernel = k[i];
        axis.stride = s[i];
        axis.padding = p[i];
        axis.step = d[i];
        const Index span = axis.inputs + 2 * p[i] - d[i] * (k[i] - 1) - 1;
        if (span < 0) return false;
        axis.outputs = (ceil ? (span + s[i] - 1) / s[i] : span / s[i]) + 1;
        // A window may run over the end, but not start in the padding behind it.
        if (ceil && (axis.outputs - 1) * s[i] >= axis.inputs + p[i]) --axis.outputs;
        axis.first.clear();
        axis.count.clear();
        for (Index o = 0; o < axis.outputs; ++o) {
            const Index start = o * s[i] - p[i];
            const Index skipped = start < 0 ? (-start + d[i] - 1) / d[i] : 0;
            const Index first = start + skipped * d[i];
            if (first >= axis.inputs) return false;
            const Index count =
                std::min(k[i] - skipped, (axis.inputs - 1 - first) / d[i] + 1);
            if (count < 1) return false;
            axis.first.push_back(first);
            axis.count.push_back(count);
        }
    }
    return true;
}

bool read_adaptive(int axes, const Index* spatial, const Index* size, Windows* windows) {
    if (axes < 1 || axes > pool_axes) return false;
    for (int i = 0; i < axes; ++i) {
        WindowAxis& axis = windows->axes[pool_axes - axes + i];
        axis.inputs = spatial[i];
        axis.outputs = size[i];
        if (spatial[i] < 1 || size[i] < 1) return false;
        axis.first.clear();
        axis.count.clear();
        for (Index o = 0; o < size[i]; ++o) {
            const Index first = o * spatial[i] / size[i];
            const Index end = ((o + 1) * spatial[i] + size[i] - 1) / size[i];
            axis.first.push_back(first);
            axis.count.push_back(end - first);
        }
    }
    return true;
}

void pooled_shape(const Windows& windows, int ndim, const npy_intp* shape, npy_intp* result) {
    result[0] = shape[0];
    result[1] = shape[1];
    for (int i = 2; i < ndim; ++i) {
        result[i] = windows.axes[pool_axes - ndim + i].outputs;
    }
}

}  // namespace nnkit
