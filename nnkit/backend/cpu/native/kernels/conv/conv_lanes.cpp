// Convolution and its gradient in the weight for many groups of few outputs (depthwise above all):
// each lane of a vector is a group of its own, so that short lines cost no more than long ones. The
// images are laid out with the groups side by side.
#include <algorithm>

#include "conv_pieces.h"
#include "conv_tile.h"

namespace nnkit {
namespace {

constexpr Index tasks_wanted = 16;
constexpr Index block_of_positions = 256;  // so that what they read stays in the first cache
constexpr int registers_of_lanes = 64 / register_bytes;

// Groups at a time, whatever the width of the registers: sums are the same on every machine.
template <class T> constexpr Index lanes_of_groups = 64 / static_cast<Index>(sizeof(T));

// How far apart in memory the lanes and the positions of images lie; one of the two distances is 1.
struct Spread {
    Index lane, position;

    Spread(bool channels_last, Index groups, Index group_size)
        : lane(channels_last ? 1 : group_size), position(channels_last ? groups : 1) {}
};

// A copy of a whole register is no call of a function.
template <class T> void copy_lanes(const T* from, Index some, T* to) {
    constexpr Index lanes = lanes_of_groups<T>;
    if (some == lanes) std::memcpy(to, from, lanes * sizeof(T));
    else std::copy_n(from, some, to);
}

// `some` lanes of neighbouring positions, laid out one position after the other; and back.
template <class T>
void gather_lanes(const T* from, Spread spread, Index some, Index positions, T* to) {
    constexpr Index lanes = lanes_of_groups<T>;
    if (spread.lane != 1) return transpose(some, positions, from, spread.lane, to, lanes);
    for (Index p = 0; p < positions; ++p, from += spread.position, to += lanes) {
        copy_lanes(from, some, to);
    }
}
template <class T>
void scatter_lanes(const T* from, Index positions, Index some, T* to, Spread spread) {
    constexpr Index lanes = lanes_of_groups<T>;
    if (spread.lane != 1) return transpose(positions, some, from, lanes, to, spread.lane);
    for (Index p = 0; p < positions; ++p, from += lanes, to += spread.position) {
        copy_lanes(from, some, to);
    }
}

// The part of the input that a run of rows reads, as copy[channel][z][y][x][lane], with zeros around
// the image.
template <class T> class LaneRegion {
public:
    static constexpr Index lanes = lanes_of_groups<T>;

    LaneRegion(const Pass& pass, Index channels)
        : pass_(pass), channels_(channels),
          rows_(rows_at_a_time(pass, channels * lanes, sizeof(T))),
          region_(pass, channels, rows_, sizeof(T), 1),
          positions_(position_offsets(pass, region_, rows_)),
          offsets_(tap_offsets(pass, region_, channels)) {
        for (auto* all : {&positions_, &offsets_}) {
            for (Index& offset : *all) offset *= lanes;
        }
    }

    Index rows() const { return rows_; }
    Index runs() const { return (pass_.axes[0].outputs + rows_ - 1) / rows_; }
    Index line() const { return pass_.axes[1].outputs * pass_.axes[2].outputs; }
    Index copied() const { return region_.copied() * lanes; }
    const Index* positions() const { return positions_.data(); }
    const Index* offsets() const { return offsets_.data(); }
    // `image`: channel 0 of the first of `some` groups.
    void lay_out(const T* image, Spread spread, Index some, Index row, Index some_rows,
                 T* copy) const;

private:
    const Pass& pass_;
    Index channels_, rows_;
    Region region_;
    std::vector<Index> positions_, offsets_;
};

template <class T>
void LaneRegion<T>::lay_out(const T* image, Spread spread, Index some, Index row, Index some_rows,
                            T* copy) const {
    const Axis &outer = pass_.axes[0], &middle = pass_.axes[1], &inner = pass_.axes[2];
    const Index slice = middle.inputs * inner.inputs, plane = outer.inputs * slice;
    const Index first = row * outer.step + outer.lowest(), height = outer.reach(some_rows);
    const Index above = middle.lowest(), left = inner.lowest(), width = region_.inner();
    // Rows [top, bottom) and elements [from, to) of the copy come from the input.
    const Index top = std::clamp<Index>(-first, 0, height);
    const Index bottom = std::clamp<Index>(outer.inputs - first, top, height);
    const Index from = std::clamp<Index>(-left, 0, width);
    const Index to = std::clamp<Index>(inner.inputs - left, from, width);
    const bool whole = region_.middle() == middle.inputs && above == 0 &&
                       width == inner.inputs && left == 0;
    if (some < lanes) std::fill_n(copy, copied(), T{});  // lanes that nobody reads are added up
    for (Index c = 0; c < channels_; ++c, image += plane) {
        const auto at = [&](Index z, Index y) { return copy + region_.offset(c, z, y, 0) * lanes; };
        std::fill(at(0, 0), at(top, 0), T{});
        std::fill(at(bottom, 0), at(height, 0), T{});
        if (whole) {
            gather_lanes(image + (first + top) * slice * spread.position, spread, some,
                         (bottom - top) * slice, at(top, 0));
            continue;
        }
        for (Index z = top; z < bottom; ++z) {
            for (Index y = 0; y < region_.middle(); ++y) {
                const bool inside = above + y >= 0 && above + y < middle.inputs;
                T* line = at(z, y);
                if (!inside) {
                    std::fill_n(line, width * lanes, T{});
                    continue;
                }
                const Index start = (first + z) * slice + (above + y) * inner.inputs + left + from;
                std::fill_n(line, from * lanes, T{});
                gather_lanes(image + start * spread.position, spread, some, to - from,
                             line + from * lanes);
                std::fill_n(line + to * lanes, (width - to) * lanes, T{});
            }
        }
    }
}

// The product, in one of its passes

// out[i][lane] = initial[lane] + sum over k of from[positions[i] + offsets[k]][lane] *
// weights[k][lane]
template <class T, int rows>
void multiply_lanes(const T* from, const Index* positions, const Index* offsets, Index count,
                    const T* weights, const T* initial, T* out) {
    using V = Register<T>;
    constexpr int lanes = register_lanes<T>, registers = registers_of_lanes;
    V sum[rows][registers];
    const T* row[rows];
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
        row[i] = from + positions[i];
#pragma GCC unroll 4
        for (int j = 0; j < registers; ++j) sum[i][j] = load_as<V>(initial + j * lanes);
    }
    for (Index k = 0; k < count; ++k, weights += lanes_of_groups<T>) {
        const Index offset = offsets[k];
        V weight[registers];
#pragma GCC unroll 4
        for (int j = 0; j < registers; ++j) weight[j] = load_as<V>(weights + j * lanes);
#pragma GCC unroll 6
        for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
            for (int j = 0; j < registers; ++j) {
                const V value = load_as<V>(row[i] + offset + j * lanes);
                sum[i][j] = multiply_add(weight[j], value, sum[i][j]);
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < registers; ++j, out += lanes) store_as(out, sum[i][j]);
    }
}

template <class T> struct LaneProduct {
    static constexpr Index lanes = lanes_of_groups<T>;
    const Product<T>& product;
    const Pass& pass;
    LaneRegion<T> region;
    Index products, blocks, packed_start;
    std::vector<Index> places;
    Spread input, output;

    LaneProduct(const Product<T>& product_, const Pass& pass_, Index packed_start_)
        : product(product_), pass(pass_), region(pass, product.channels),
          products(product.channels * pass.taps()), blocks((product.groups + lanes - 1) / lanes),
          packed_start(packed_start_), places(tap_places(pass, product.kernel)),
          input(product.channels_last, product.groups, product.channels * inputs()),
          output(product.channels_last, product.groups, product.outputs * length()) {}

    Index packed() const { return blocks * product.outputs * (1 + products) * lanes; }
    Index tasks() const { return product.batch * blocks * region.runs(); }
    Index work() const {
        return pass.outputs() * products * product.outputs * lanes * product.batch * blocks;
    }
    Index copied() const { return region.copied(); }
    Index scratch() const { return region.rows() * region.line() * lanes; }
    Index inputs() const {
        return pass.axes[0].inputs * pass.axes[1].inputs * pass.axes[2].inputs;
    }
    Index length() const {
        return pass.axes[0].length * pass.axes[1].length * pass.axes[2].length;
    }
    void pack(T* buffer) const;
    void run(Index task, const T* packed, T* copy, T* columns) const;
    void write(Index row, Index some_rows, Index some, const T* columns, T* out) const;
};

// Bias and weights as [block][output][1 + product][lane].
template <class T> void LaneProduct<T>::pack(T* buffer) const {
    T* to = buffer + packed_start;
    auto put = [&](const T* from, Index first, Index step) {
        for (Index lane = 0; lane < lanes; ++lane) {
            const bool is_there = from != nullptr && first + lane < product.groups;
            *to++ = is_there ? from[(first + lane) * step] : T{};
        }
    };
    for (Index group = 0; group < blocks * lanes; group += lanes) {
        for (Index o = 0; o < product.outputs; ++o) {
            put(product.bias == nullptr ? nullptr : product.bias + o, group, product.outputs);
            const T* weight = product.weight + o * product.output_step;
            for (Index c = 0; c < product.channels; ++c) {
                for (Index place : places) {
                    put(weight + c * product.channel_step + place, group, product.group_step);
                }
            }
        }
    }
}

template <class T>
void LaneProduct<T>::run(Index task, const T* packed, T* copy, T* columns) const {
    const Index sample = task / (blocks * region.runs()), block = task / region.runs() % blocks;
    const Index row = task % region.runs() * region.rows(), group = block * lanes;
    const Index some_rows = std::min(region.rows(), pass.axes[0].outputs - row);
    const Index some = std::min(lanes, product.groups - group), count = some_rows * region.line();
    const Index images = sample * product.groups;
    region.lay_out(product.input + images * product.channels * inputs() + group * input.lane, input,
                   some, row, some_rows, copy);
    packed += packed_start + block * product.outputs * (1 + products) * lanes;
    T* out = product.output + images * product.outputs * length() + group * output.lane;
    for (Index o = 0; o < product.outputs; ++o, out += length()) {
        poll();
        const T* initial = packed + o * (1 + products) * lanes;
        for (Index p = 0; p < count; p += tile_rows) {
            by_rows(std::min<Index>(tile_rows, count - p), [&](auto height) {
                multiply_lanes<T, height>(copy, region.positions() + p, region.offsets(), products,
                                          initial + lanes, initial, columns + p * lanes);
            });
        }
        write(row, some_rows, some, columns, out);
    }
}

// The positions of `some_rows` rows into one output of each of `some` groups.
template <class T>
void LaneProduct<T>::write(Index row, Index some_rows, Index some, const T* columns,
                           T* out) const {
    const Axis &outer = pass.axes[0], &middle = pass.axes[1], &inner = pass.axes[2];
    if (length() == pass.outputs()) {
        out += row * region.line() * output.position;
        return scatter_lanes(columns, some_rows * region.line(), some, out, output);
    }
    for (Index z = row; z < row + some_rows; ++z) {
        for (Index y = 0; y < middle.outputs; ++y, columns += inner.outputs * lanes) {
            const Index start = inner.first + ((outer.first + z * outer.apart) * middle.length +
                                               middle.first + y * middle.apart) * inner.length;
            if (output.lane == 1) {
                for (Index x = 0; x < inner.outputs; ++x) {
                    copy_lanes(columns + x * lanes, some,
                               out + (start + x * inner.apart) * output.position);
                }
                continue;
            }
            T* line = out + start;
            for (Index lane = 0; lane < some; ++lane, line += output.lane) {
                for (Index x = 0; x < inner.outputs; ++x) {
                    line[x * inner.apart] = columns[x * lanes + lane];
                }
            }
        }
    }
}

// The gradient in the weight

// sums[i][lane] += sum over positions of from[positions[p] + offsets[i]][lane] * gradient[p][lane]
template <class T, int rows>
void add_lanes(const T* from, const Index* positions, Index count, const Index* offsets,
               const T* gradient, T* sums) {
    using V = Register<T>;
    constexpr int lanes = register_lanes<T>, registers = registers_of_lanes;
    V sum[rows][registers] = {};
    const T* row[rows];
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) row[i] = from + offsets[i];
    for (Index p = 0; p < count; ++p, gradient += lanes_of_groups<T>) {
        const Index position = positions[p];
        V above[registers];
#pragma GCC unroll 4
        for (int j = 0; j < registers; ++j) above[j] = load_as<V>(gradient + j * lanes);
#pragma GCC unroll 6
        for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
            for (int j = 0; j < registers; ++j) {
                const V value = load_as<V>(row[i] + position + j * lanes);
                sum[i][j] = multiply_add(value, above[j], sum[i][j]);
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < registers; ++j, sums += lanes) {
            store_as(sums, load_as<V>(sums) + sum[i][j]);
        }
    }
}

template <class T> struct LaneGradient {
    static constexpr Index lanes = lanes_of_groups<T>;
    const Geometry& geometry;
    const T* gradient;
    const T* input;
    Pass pass;
    LaneRegion<T> region;
    Index products, blocks, parts, samples;
    Spread above, below;

    LaneGradient(const Geometry& g, const T* gradient_, const T* input_, bool channels_last)
        : geometry(g), gradient(gradient_), input(input_), pass(g.forward()),
          region(pass, g.channels), products(g.channels * g.places()),
          blocks((g.groups + lanes - 1) / lanes),
          parts(std::clamp<Index>(tasks_wanted / blocks, 1, g.batch)),
          samples((g.batch + parts - 1) / parts),
          above(channels_last, g.groups, g.outputs * g.output_plane()),
          below(channels_last, g.groups, g.channels * g.input_plane()) {
        parts = (g.batch + samples - 1) / samples;
    }

    Index group_size() const { return geometry.outputs * products; }
    Index part_size() const { return geometry.groups * group_size(); }
    void run(Index task, T* copy, T* columns, T* sums, T* out) const;
};

// Samples of one part, for one block of groups; `sums` has lanes for each weight of a group.
template <class T>
void LaneGradient<T>::run(Index task, T* copy, T* columns, T* sums, T* out) const {
    const Geometry& g = geometry;
    const Index part = task / blocks, group = task % blocks * lanes;
    const Index some = std::min(lanes, g.groups - group), line = region.line();
    std::fill_n(sums, group_size() * lanes, T{});
    if (some < lanes) std::fill_n(columns, region.rows() * line * lanes, T{});
    const Index last = std::min(g.batch, (part + 1) * samples);
    for (Index sample = part * samples; sample < last; ++sample) {
        const Index images = sample * g.groups;
        const T* slopes = gradient + images * g.outputs * g.output_plane() + group * above.lane;
        const T* image = input + images * g.channels * g.input_plane() + group * below.lane;
        for (Index row = 0; row < g.output[0]; row += region.rows()) {
            const Index some_rows = std::min(region.rows(), g.output[0] - row);
            const T* slope = slopes + row * line * above.position;
            region.lay_out(image, below, some, row, some_rows, copy);
            for (Index o = 0; o < g.outputs; ++o, slope += g.output_plane()) {
                poll();
                gather_lanes(slope, above, some, some_rows * line, columns);
                for (Index start = 0; start < some_rows * line; start += block_of_positions) {
                    const Index depth = std::min(block_of_positions, some_rows * line - start);
                    for (Index k = 0; k < products; k += tile_rows) {
                        by_rows(std::min<Index>(tile_rows, products - k), [&](auto height) {
                            add_lanes<T, height>(copy, region.positions() + start, depth,
                                                 region.offsets() + k, columns + start * lanes,
                                                 sums + (o * products + k) * lanes);
                        });
                    }
                }
            }
        }
    }
    out += part * part_size() + group * group_size();
    transpose(group_size(), some, sums, lanes, out, group_size());
}

}  // namespace

bool fills_lanes_with_groups(const Geometry& geometry, std::size_t item) {
    return geometry.groups * static_cast<Index>(item) >= 32;
}

template <class T> void multiply_lanes(const Product<T>& product) {
    run_passes<LaneProduct<T>>(product);
}

template <class T>
void weight_gradient_of_groups(const Geometry& geometry, const T* gradient, const T* input,
                               bool channels_last, T* out) {
    const LaneGradient<T> plan(geometry, gradient, input, channels_last);
    const Index work = plan.samples * geometry.output_plane() * plan.group_size() * plan.lanes;
    const Index grain = std::max<Index>(1, work_of_piece / 2 / (work + 1));
    sum_parts(plan.parts, plan.part_size(), out, [&](T* to) {
        parallel_for(plan.parts * plan.blocks, grain, [&](Index begin, Index end) {
            Scratch<T> copy(plan.region.copied()), sums(plan.group_size() * plan.lanes);
            Scratch<T> columns(plan.region.rows() * plan.region.line() * plan.lanes);
            for (Index task = begin; task < end; ++task) {
                plan.run(task, copy.data(), columns.data(), sums.data(), to);
            }
        });
    });
}

template void multiply_lanes(const Product<float>&);
template void multiply_lanes(const Product<double>&);
template void weight_gradient_of_groups(const Geometry&, const float*, const float*, bool,
                                        float*);
template void weight_gradient_of_groups(const Geometry&, const double*, const double*, bool,
                                        double*);

}  // namespace nnkit
