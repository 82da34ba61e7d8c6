// Reads the arguments of pools into tables of windows.
#include "pooling.h"

namespace nnkit {

constexpr Index large_row = 1024;

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
    }
    return true;
}

bool read_adaptive(int axes, const Index* spatial, const Index* size, Windows* windows) {
    if (axes < 1 || axes > pool_axes) return false;
    for (int i = 0; i < axes; ++i) {
        WindowAxis& axis = windows->axes[pool_axes - axes + i];
        axis.inputs = spatial[i];
        axis.outputs = size[i];
        axis.placing = WindowAxis::adaptive;
        if (spatial[i] < 1 || size[i] < 1) return false;
    }
    return true;
}

bool read_fractional(int axes, const Index* spatial, PyObject* kernel, PyObject* size,
                     Windows* windows) {
    Index k[pool_axes], outputs[pool_axes];
    if (axes < 1 || axes > pool_axes || read_integers(kernel, k, pool_axes) != axes ||
        read_integers(size, outputs, pool_axes) != axes) {
        return false;
    }
    for (int i = 0; i < axes; ++i) {
        if (k[i] < 1 || k[i] > spatial[i] || outputs[i] < 1) return false;
        WindowAxis& axis = windows->axes[pool_axes - axes + i];
        axis.inputs = spatial[i];
        axis.outputs = outputs[i];
        axis.kernel = k[i];
        axis.placing = WindowAxis::fractional;
    }
    return true;
}

bool WindowAxis::tabulate() {
    const std::size_t length = static_cast<std::size_t>(outputs);
    if (placing == fractional) {
        first.assign(length, inputs - kernel);
        count.assign(length, kernel);
        return true;
    }
    first.clear();
    count.clear();
    first.reserve(length);
    count.reserve(length);
    for (Index o = 0; o < outputs; ++o) {
        if (placing == adaptive) {
            first.push_back(o * inputs / outputs);
            count.push_back(((o + 1) * inputs + outputs - 1) / outputs - first.back());
            continue;
        }
        const Index start = o * stride - padding;
        const Index skipped = start < 0 ? (-start + step - 1) / step : 0;
        const Index from = start + skipped * step;
        if (from >= inputs) return false;
        first.push_back(from);
        count.push_back(std::min(kernel - skipped, (inputs - 1 - from) / step + 1));
        if (count.back() < 1) return false;
    }
    return true;
}

bool Windows::tabulate() {
    for (WindowAxis& axis : axes) {
        if (!axis.tabulate()) return false;
    }
    are_large = axes[2].inputs > large_row || axes[2].kernel > large_row;
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
