// The windows of pools: which elements each output sees along each of three axes.
#pragma once

#include <algorithm>
#include <vector>

#include "rows.h"

namespace nnkit {

constexpr int pool_axes = 3;  // axes that are not there have length 1

// Along one axis: output o sees elements first[o], first[o] + step ... , count[o] of them.
struct WindowAxis {
    Index inputs = 1, outputs = 1;
    Index kernel = 1, stride = 1, padding = 0, step = 1;  // of a regular pool
    enum { regular, adaptive, fractional } placing = regular;
    bool is_regular() const { return placing == regular; }
    std::vector<Index> first{0}, count{1};  // filled by `tabulate`

    // Calls `visit(first output, how many, what the first one sees, stride, k)` for each place k in a
    // window of a regular pool; those that lie in the padding for all outputs are skipped, since
    // there may be many more of them than elements.
    template <class Visit> void each_tap(Visit&& visit) const {
        for (Index k = 0; k < kernel;) {
            const Index at = k * step - padding;  // of output 0
            const Index begin = at >= 0 ? 0 : (-at + stride - 1) / stride;
            const Index room = inputs - 1 - at;
            const Index end = room < 0 ? 0 : std::min(room / stride + 1, outputs);
            if (begin < end) {
                visit(begin, end - begin, at + begin * stride, stride, k);
                ++k;
            } else if (begin == 0) {
                return;  // behind the end, as all that follow
            } else {  // on to where the output before sees its first element
                const Index next = padding - (std::min(begin, outputs) - 1) * stride;
                k = std::max(k + 1, (next + step - 1) / step);
            }
        }
    }

    // False if a window sees no element. Those of a fractional pool lie at the end at first.
    bool tabulate();
};

struct Windows {
    WindowAxis axes[pool_axes];
    Index input_plane() const { return axes[0].inputs * axes[1].inputs * axes[2].inputs; }
    Index output_plane() const { return axes[0].outputs * axes[1].outputs * axes[2].outputs; }
    // The tables of all axes: after the result was made, since they are as long as it is.
    bool tabulate();
    // Whether a row of a window takes so long that it should be possible to interrupt the pool.
    bool are_large = false;
};

// The windows of a regular pool over the last axes of `shape`; `arguments` are kernel, stride,
// padding and dilation (null: 1). False if something does not fit.
bool read_windows(int ndim, const Index* shape, PyObject* kernel, PyObject* stride,
                  PyObject* padding, PyObject* dilation, bool ceil, Windows* windows);

// Windows that divide each axis into parts that are as even as can be.
bool read_adaptive(int axes, const Index* spatial, const Index* size, Windows* windows);

// Windows of `kernel` elements for as many outputs as `size` says, which are yet to be placed.
bool read_fractional(int axes, const Index* spatial, PyObject* kernel, PyObject* size,
                     Windows* windows);

// The first two lengths of `shape`, then the outputs of the windows.
void pooled_shape(const Windows& windows, int ndim, const npy_intp* shape, npy_intp* result);

// Whether kernels take x: planes of float or double in plain order.
bool is_handled(Array x);

// The kernel on arrays by rows: copies of those among its arguments that lie otherwise.
template <KernelFunction kernel> PyObject* by_rows(Arguments arguments) {
    constexpr Index most = 8;
    PyObject* values[most];
    Owned copies[most];
    if (arguments.count() > most) return decline();
    for (Index i = 0; i < arguments.count(); ++i) {
        values[i] = arguments[i];
        Array a = arguments.array(i);
        const bool is_taken = a && (a.type() == Type::float32 || a.type() == Type::float64 ||
                                    a.type() == Type::int64);
        if (!is_taken || a.is_plain() || !a.is_behaved()) continue;
        copies[i] = in_order(a);
        if (!copies[i]) return nullptr;
        values[i] = copies[i].object();
    }
    return kernel(Arguments(values, arguments.count()));
}

// Elements that a piece of work should at least see.
constexpr Index elements_of_piece = 1 << 17;

}  // namespace nnkit
