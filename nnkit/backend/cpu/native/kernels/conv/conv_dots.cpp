// The gradient of a convolution in its weight for groups of few outputs (depthwise above all): dot
// products of lines of the output's gradient with lines of the input, six taps at a time.
#include <algorithm>

#include "conv_pieces.h"
#include "conv_tile.h"

namespace nnkit {
namespace {

constexpr Index tasks_wanted = 16;

// Sums are kept in this many lanes, whatever the width of the registers: the same on every machine.
template <class T> constexpr Index dot_lanes = 64 / static_cast<Index>(sizeof(T));
template <class T> constexpr int dot_registers = 64 / register_bytes;

// Ones in all bits of the elements of the last vector of a line that belong to it, zeros in others.
template <class T> struct LastVector {
    using Lane = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    Register<Lane> part[dot_registers<T>];

    explicit LastVector(Index length) {
        const Index some = length % dot_lanes<T> == 0 ? dot_lanes<T> : length % dot_lanes<T>;
        Lane lanes[dot_lanes<T>];
        for (Index i = 0; i < dot_lanes<T>; ++i) lanes[i] = i < some ? Lane{-1} : Lane{0};
        std::memcpy(part, lanes, sizeof part);
    }
    // Leaves nothing of what lies behind a line, which may be infinite.
    Register<T> keep(const Register<T>& value, int j) const {
        return (Register<T>)((Register<Lane>)value & part[j]);
    }
};

// sums[i][lane] += products of `gradient` with the line at from[i], for `count` lines of whole
// vectors: behind the ends of the gradient's lines stand zeros.
template <class T, int rows>
void add_dots(const T* const* from, const Index* lines, Index count, Index length,
              const LastVector<T>& last, const T* gradient, T* sums) {
    using V = Register<T>;
    constexpr int lanes = register_lanes<T>, registers = dot_registers<T>;
    V sum[rows][registers] = {};
    const T* row[rows];
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) row[i] = from[i];
    auto add = [&](Index n, Index x, auto kept) {
        V above[registers];
#pragma GCC unroll 4
        for (int j = 0; j < registers; ++j) above[j] = load_as<V>(gradient + x + j * lanes);
#pragma GCC unroll 6
        for (int i = 0; i < rows; ++i) {
            const T* line = row[i] + lines[n] + x;
#pragma GCC unroll 4
            for (int j = 0; j < registers; ++j) {
                const V below = kept(load_as<V>(line + j * lanes), j);
                sum[i][j] = multiply_add(below, above[j], sum[i][j]);
            }
        }
    };
    for (Index n = 0; n < count; ++n, gradient += length) {
        Index x = 0;
        for (; x + dot_lanes<T> < length; x += dot_lanes<T>) {
            add(n, x, [](const V& value, int) { return value; });
        }
        add(n, x, [&](const V& value, int j) { return last.keep(value, j); });
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < registers; ++j, sums += lanes) {
            store_as(sums, load_as<V>(sums) + sum[i][j]);
        }
    }
}

// Lines of `from` to lines of `length` elements, with zeros behind them.
template <class T>
void lengthen(const T* from, Index count, Index line, Index length, T* to) {
    for (Index n = 0; n < count; ++n, from += line, to += length) {
        std::copy_n(from, line, to);
        std::fill_n(to + line, length - line, T{});
    }
}

template <class T> struct DotPlan {
    const Geometry& geometry;
    const T* gradient;
    const T* input;
    Pass pass;
    Index rows, products, parts, samples;
    Index length;  // of a line in whole vectors
    LastVector<T> last;
    Region region;
    std::vector<Index> lines, offsets;

    DotPlan(const Geometry& g, const T* gradient_, const T* input_)
        : geometry(g), gradient(gradient_), input(input_), pass(g.forward()),
          rows(rows_at_a_time(pass, g.channels, sizeof(T))), products(g.channels * g.places()),
          parts(std::clamp<Index>(tasks_wanted / g.groups, 1, g.batch)),
          samples((g.batch + parts - 1) / parts),
          length((g.output[2] + dot_lanes<T> - 1) / dot_lanes<T> * dot_lanes<T>),
          last(g.output[2]),
          region(pass, g.channels, rows, sizeof(T), g.stride[2]),
          offsets(tap_offsets(pass, region, g.channels)) {
        parts = (g.batch + samples - 1) / samples;
        for (Index z = 0; z < rows; ++z) {
            for (Index y = 0; y < g.output[1]; ++y) {
                lines.push_back(region.offset(0, z * g.stride[0], y * g.stride[1], 0));
            }
        }
    }

    Index group_size() const { return geometry.outputs * products; }
    Index part_size() const { return geometry.groups * group_size(); }
    // Elements of the lines that are made longer at a time; 0 if all are whole vectors.
    Index lengthened() const {
        const Index line = geometry.output[2];
        return length == line ? 0 : rows * geometry.output[1] * length;
    }
    void run(Index task, T* copy, T* longer, T* sums, T* out) const;
};

// Samples of one part of one group; `sums` has lanes for each weight of the group.
template <class T> void DotPlan<T>::run(Index task, T* copy, T* longer, T* sums, T* out) const {
    const Geometry& g = geometry;
    const Index part = task / g.groups, group = task % g.groups;
    std::fill_n(sums, group_size() * dot_lanes<T>, T{});
    const Index end = std::min(g.batch, (part + 1) * samples);
    for (Index sample = part * samples; sample < end; ++sample) {
        const Index image = sample * g.groups + group;
        const T* above = gradient + image * g.outputs * g.output_plane();
        for (Index row = 0; row < g.output[0]; row += rows) {
            const Index some = std::min(rows, g.output[0] - row);
            const T* source = input + image * g.channels * g.input_plane();
            const T* base = region.of(source, row, some, copy);
            const T* start = above + row * g.output[1] * g.output[2];
            for (Index o = 0; o < g.outputs; ++o, start += g.output_plane()) {
                if (o > 0) poll();
                const Index count = some * g.output[1];
                const bool is_longer = lengthened() > 0;
                if (is_longer) lengthen(start, count, g.output[2], length, longer);
                for (Index k = 0; k < products; k += tile_rows) {
                    const Index height = std::min<Index>(tile_rows, products - k);
                    const T* from[tile_rows];
                    for (Index i = 0; i < height; ++i) {
                        from[i] = base + offsets[static_cast<std::size_t>(k + i)];
                    }
                    by_rows(height, [&](auto taps) {
                        add_dots<T, taps>(from, lines.data(), count, length, last,
                                          is_longer ? longer : start,
                                          sums + (o * products + k) * dot_lanes<T>);
                    });
                }
            }
        }
    }
    out += part * part_size() + group * group_size();
    for (Index i = 0; i < group_size(); ++i, sums += dot_lanes<T>) {
        for (Index width = dot_lanes<T> / 2; width > 0; width /= 2) {
            for (Index lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
        }
        out[i] = sums[0];
    }
}

}  // namespace

template <class T>
void weight_gradient_of_lines(const Geometry& geometry, const T* gradient, const T* input, T* out) {
    const DotPlan<T> plan(geometry, gradient, input);
    const Index work = plan.samples * geometry.output_plane() * plan.group_size();
    const Index grain = std::max<Index>(1, work_of_piece / 4 / (work + 1));
    sum_parts(plan.parts, plan.part_size(), out, [&](T* to) {
        parallel_for(plan.parts * geometry.groups, grain, [&](Index begin, Index end) {
            Scratch<T> copy(plan.region.copied()), sums(plan.group_size() * dot_lanes<T>);
            Scratch<T> longer(plan.lengthened());
            for (Index task = begin; task < end; ++task) {
                plan.run(task, copy.data(), longer.data(), sums.data(), to);
            }
        });
    });
}

template void weight_gradient_of_lines(const Geometry&, const float*, const float*, float*);
template void weight_gradient_of_lines(const Geometry&, const double*, const double*, double*);

}  // namespace nnkit
