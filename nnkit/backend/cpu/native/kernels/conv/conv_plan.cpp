// Reads the arguments of a convolution, and copies with zeros around what its windows reach over.
#include "conv_plan.h"

#include <algorithm>

#include "register.h"

namespace nnkit {

Index Axis::lowest() const {
    Index result = taps.empty() ? 0 : taps[0].offset;
    for (const Tap& tap : taps) result = std::min(result, tap.offset);
    return result;
}

Index Axis::reach(Index count) const {
    Index highest = taps.empty() ? 0 : taps[0].offset;
    for (const Tap& tap : taps) highest = std::max(highest, tap.offset);
    return (count - 1) * step + highest - lowest() + 1;
}

bool Axis::needs_padding() const {
    return lowest() < 0 || lowest() + reach(outputs) > inputs;
}

Index Pass::outputs() const { return axes[0].outputs * axes[1].outputs * axes[2].outputs; }

Index Pass::taps() const {
    std::size_t count = axes[0].taps.size() * axes[1].taps.size() * axes[2].taps.size();
    return static_cast<Index>(count);
}

Geometry Geometry::along_lines() const {
    Geometry result = *this;
    for (int a = 1; a < axis_count; ++a) {
        if (input[a] != 1 || output[a] != 1 || kernel[a] != 1) return result;
    }
    for (auto values : {result.input, result.output, result.kernel, result.stride, result.padding,
                        result.dilation}) {
        std::swap(values[0], values[2]);
    }
    return result;
}

std::vector<Index> Geometry::numbers() const {
    std::vector<Index> all{batch, groups, channels, outputs};
    for (auto values : {input, output, kernel, stride, padding, dilation}) {
        all.insert(all.end(), values, values + axis_count);
    }
    return all;
}

Pass Geometry::forward() const {
    Pass pass;
    for (int a = 0; a < axis_count; ++a) {
        Axis& axis = pass.axes[a];
        axis.inputs = input[a];
        axis.outputs = axis.length = output[a];
        axis.step = stride[a];
        axis.taps.clear();
        for (Index k = 0; k < kernel[a]; ++k) {
            axis.taps.push_back({k, k * dilation[a] - padding[a]});
        }
    }
    return pass;
}

std::vector<Pass> Geometry::backward() const {
    std::vector<Axis> axes[axis_count];
    for (int a = 0; a < axis_count; ++a) {
        for (Index residue = 0; residue < std::min(stride[a], input[a]); ++residue) {
            Axis axis;
            axis.inputs = output[a];
            axis.length = input[a];
            axis.outputs = (input[a] - residue + stride[a] - 1) / stride[a];
            axis.first = residue;
            axis.apart = stride[a];
            axis.taps.clear();
            for (Index k = 0; k < kernel[a]; ++k) {
                Index at = residue + padding[a] - k * dilation[a];
                if (at % stride[a] == 0) axis.taps.push_back({k, at / stride[a]});
            }
            axes[a].push_back(axis);
        }
    }
    std::vector<Pass> passes;
    for (const Axis& outer : axes[0]) {
        for (const Axis& middle : axes[1]) {
            for (const Axis& inner : axes[2]) passes.push_back({{outer, middle, inner}});
        }
    }
    return passes;
}

bool read_geometry(int ndim, const Index* input, const Index* weight, const Index* output,
                   Arguments arguments, Index first, Geometry* geometry) {
    const int axes = ndim - 2;
    if (axes < 1 || axes > axis_count) return false;
    Geometry& g = *geometry;
    Index stride[axis_count], padding[axis_count], dilation[axis_count];
    if (read_integers(arguments[first], stride, axis_count) != axes) return false;
    if (read_integers(arguments[first + 1], padding, axis_count) != axes) return false;
    if (read_integers(arguments[first + 2], dilation, axis_count) != axes) return false;
    g.groups = arguments.integer(first + 3);
    if (g.groups < 1 || weight[0] % g.groups != 0) return false;
    g.batch = input[0];
    g.channels = weight[1];
    g.outputs = weight[0] / g.groups;
    if (input[1] != g.channels * g.groups) return false;
    for (int a = 0; a < axis_count; ++a) {
        g.input[a] = g.output[a] = g.kernel[a] = g.stride[a] = g.dilation[a] = 1;
        g.padding[a] = 0;
    }
    constexpr int places[axis_count][axis_count] = {{0}, {0, 2}, {0, 1, 2}};
    for (int i = 0; i < axes; ++i) {
        const int a = places[axes - 1][i];
        g.input[a] = input[2 + i];
        g.kernel[a] = weight[2 + i];
        g.stride[a] = stride[i];
        g.padding[a] = padding[i];
        g.dilation[a] = dilation[i];
        if (stride[i] < 1 || dilation[i] < 1 || weight[2 + i] < 1) return false;
        Index room = input[2 + i] + 2 * padding[i] - dilation[i] * (weight[2 + i] - 1) - 1;
        if (room < 0) return false;
        g.output[a] = room / stride[i] + 1;
        if (output != nullptr) {
            if (output[2 + i] < 1 || output[2 + i] > g.output[a]) return false;
            g.output[a] = output[2 + i];
        }
    }
    if (output != nullptr && (output[0] != g.batch || output[1] != weight[0])) return false;
    return g.batch > 0 && g.channels > 0 && g.outputs > 0;
}

Region::Region(const Pass& pass, Index channels, Index rows, std::size_t item, Index split)
    : pass_(pass), channels_(channels) {
    const Axis& outer = pass.axes[0];
    middle_ = pass.axes[1].inputs;
    inner_ = pass.axes[2].inputs;
    plane_ = outer.inputs * middle_ * inner_;
    // Channels a multiple of 1 KB apart share few sets of the cache: they push each other out.
    bool alias = channels > 4 && plane_ * static_cast<Index>(item) % 1024 == 0;
    bool padded = false;
    for (const Axis& axis : pass.axes) padded = padded || axis.needs_padding();
    if (!alias && !padded && split == 0) return;
    split_ = std::max<Index>(split, 1);
    middle_ = pass.axes[1].reach(pass.axes[1].outputs);
    inner_ = (pass.axes[2].reach(pass.axes[2].outputs) + split_ - 1) / split_ * split_;
    const Index line = 64 / static_cast<Index>(item);
    plane_ = ((outer.reach(rows) * middle_ * inner_ + line - 1) / line | 1) * line;
    copied_ = channels * plane_ + (split > 0 ? overhang : 0);
}

// Elements [from, to) of a line are those of `source`, the others are zeros.
template <class T>
void Region::copy_line(const T* source, Index from, Index to, T* out) const {
    if (split_ == 1) {
        Index x = 0;
        for (; x < from; ++x) out[x] = 0;
        for (; x + register_lanes<T> <= to; x += register_lanes<T>) {
            store_as(out + x, load_as<Register<T>>(source + x));
        }
        for (; x < to; ++x) out[x] = source[x];
        for (; x < inner_; ++x) out[x] = 0;
        return;
    }
    for (Index part = 0, x; part < split_; ++part) {
        for (x = part; x < from; x += split_) *out++ = 0;
        for (; x < to; x += split_) *out++ = source[x];
        for (; x < inner_; x += split_) *out++ = 0;
    }
}

template <class T>
const T* Region::of(const T* input, Index row, Index rows, T* copy) const {
    const Axis &outer = pass_.axes[0], &middle = pass_.axes[1], &inner = pass_.axes[2];
    const Index first = row * outer.step + outer.lowest();
    if (copied_ == 0) {
        return input + (first * middle.inputs + middle.lowest()) * inner.inputs + inner.lowest();
    }
    const Index height = outer.reach(rows), slice = middle.inputs * inner.inputs;
    const Index y_first = middle.lowest(), x_first = inner.lowest();
    // Rows [top, bottom) and elements [from, to) of the copy come from the input.
    const Index top = std::clamp<Index>(-first, 0, height);
    const Index bottom = std::clamp<Index>(outer.inputs - first, top, height);
    const Index from = std::clamp<Index>(-x_first, 0, inner_);
    const Index to = std::clamp<Index>(inner.inputs - x_first, from, inner_);
    const bool whole = middle_ == middle.inputs && y_first == 0 && inner_ == inner.inputs &&
                       x_first == 0 && split_ == 1;
    for (Index c = 0; c < channels_; ++c) {
        const T* channel = input + c * outer.inputs * slice;
        T* out = copy + c * plane_;
        std::fill_n(out, top * middle_ * inner_, T{});
        out += top * middle_ * inner_;
        if (whole) {
            std::copy_n(channel + (first + top) * slice, (bottom - top) * slice, out);
            out += (bottom - top) * slice;
        } else {
            for (Index z = first + top; z < first + bottom; ++z) {
                for (Index y = y_first; y < y_first + middle_; ++y, out += inner_) {
                    const bool inside = y >= 0 && y < middle.inputs;
                    const T* source = channel + z * slice + y * inner.inputs + x_first;
                    copy_line(source, inside ? from : inner_, inside ? to : inner_, out);
                }
            }
        }
        std::fill_n(out, (height - bottom) * middle_ * inner_, T{});
    }
    return copy;
}

template const float* Region::of(const float*, Index, Index, float*) const;
template const double* Region::of(const double*, Index, Index, double*) const;

Index rows_at_a_time(const Pass& pass, Index channels, std::size_t item) {
    constexpr Index cache = 160 * 1024, fewest_positions = 192;
    const Axis &outer = pass.axes[0], &middle = pass.axes[1], &inner = pass.axes[2];
    Index line = channels * middle.reach(middle.outputs) * inner.reach(inner.outputs) *
                 static_cast<Index>(item);
    Index fitting = (cache / line - outer.reach(1)) / outer.step + 1;
    Index useful = (fewest_positions + middle.outputs * inner.outputs - 1) /
                   (middle.outputs * inner.outputs);
    Index rows = std::clamp<Index>(std::max(fitting, useful), 1, outer.outputs);
    Index runs = (outer.outputs + rows - 1) / rows;
    return (outer.outputs + runs - 1) / runs;
}

std::vector<Index> position_offsets(const Pass& pass, const Region& region, Index rows) {
    const Axis &outer = pass.axes[0], &middle = pass.axes[1], &inner = pass.axes[2];
    std::vector<Index> offsets;
    offsets.reserve(static_cast<std::size_t>(rows * middle.outputs * inner.outputs));
    for (Index z = 0; z < rows; ++z) {
        for (Index y = 0; y < middle.outputs; ++y) {
            for (Index x = 0; x < inner.outputs; ++x) {
                offsets.push_back(
                    region.offset(0, z * outer.step, y * middle.step, x * inner.step));
            }
        }
    }
    return offsets;
}

std::vector<Index> tap_offsets(const Pass& pass, const Region& region, Index channels) {
    const Axis &outer = pass.axes[0], &middle = pass.axes[1], &inner = pass.axes[2];
    std::vector<Index> offsets;
    offsets.reserve(static_cast<std::size_t>(channels * pass.taps()));
    for (Index c = 0; c < channels; ++c) {
        for (const Tap& z : outer.taps) {
            for (const Tap& y : middle.taps) {
                for (const Tap& x : inner.taps) {
                    offsets.push_back(region.offset(c, z.offset - outer.lowest(),
                                                    y.offset - middle.lowest(),
                                                    x.offset - inner.lowest()));
                }
            }
        }
    }
    return offsets;
}

std::vector<Index> tap_places(const Pass& pass, const Index* kernel) {
    std::vector<Index> places;
    for (const Tap& z : pass.axes[0].taps) {
        for (const Tap& y : pass.axes[1].taps) {
            for (const Tap& x : pass.axes[2].taps) {
                places.push_back((z.place * kernel[1] + y.place) * kernel[2] + x.place);
            }
        }
    }
    return places;
}

}  // namespace nnkit
