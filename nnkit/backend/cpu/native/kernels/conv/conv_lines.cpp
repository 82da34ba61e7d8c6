// Convolution along lines, for groups of few outputs (depthwise above all): vectors of neighbouring
// positions, up to six outputs at a time. Lines of a vector or more are written where they belong;
// shorter ones that lie one after the other in the copied region are taken as one: what is computed
// at the places between them is left behind.
#include <algorithm>
#include <type_traits>

#include "conv_pieces.h"
#include "conv_tile.h"

namespace nnkit {
namespace {

constexpr Index most_outputs = 6;
constexpr Index most_positions = 2048;  // of a run, so that its sums stay in the first cache
constexpr Index block_of_products = 256;

// sums[i][x] = initial[i] + sum over k of weights[k][i] * from[offsets[k] + x], for some vectors of
// columns; without `initial` it is added to what is there.
template <class T, int rows, int columns>
inline void add_vectors(const T* weights, const Index* offsets, Index count, const T* from,
                        const T* initial, T* sums, Index line) {
    using V = Register<T>;
    constexpr int lanes = register_lanes<T>;
    V sum[rows][columns];
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
        const V value = (initial != nullptr ? initial[i] : T{}) - V{};
#pragma GCC unroll 4
        for (int j = 0; j < columns; ++j) sum[i][j] = value;
    }
    for (Index k = 0; k < count; ++k, weights += rows) {
        const T* source = from + offsets[k];
        V column[columns];
#pragma GCC unroll 4
        for (int j = 0; j < columns; ++j) column[j] = load_as<V>(source + j * lanes);
#pragma GCC unroll 6
        for (int i = 0; i < rows; ++i) {
            const V weight = weights[i] - V{};
#pragma GCC unroll 4
            for (int j = 0; j < columns; ++j) {
                sum[i][j] = multiply_add(weight, column[j], sum[i][j]);
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < columns; ++j) {
            T* to = sums + i * line + j * lanes;
            store_as(to, initial != nullptr ? sum[i][j] : load_as<V>(to) + sum[i][j]);
        }
    }
}

// The same along a line of `length` positions, which is rounded up to whole vectors or, where it
// is `exact`, ends with a vector that computes some of the last one's positions again.
template <class T, int rows, bool exact>
[[gnu::noinline]] void add_line_of(const T* weights, const Index* offsets, Index count,
                                   const T* from, Index length, const T* initial, T* sums,
                                   Index line) {
    constexpr int columns = rows <= 2 ? 4 : 2;
    constexpr Index lanes = register_lanes<T>, width = columns * lanes;
    auto add = [&](auto some, Index x) {
        add_vectors<T, rows, some>(weights, offsets, count, from + x, initial, sums + x, line);
    };
    Index x = 0;
    for (; x + (exact ? width : 1) <= length; x += width) {
        add(std::integral_constant<int, columns>(), x);
    }
    if (!exact) return;
    for (; x + lanes <= length; x += lanes) add(std::integral_constant<int, 1>(), x);
    if (x < length) add(std::integral_constant<int, 1>(), length - lanes);
}

template <class T, bool exact>
void add_line(Index rows, const T* weights, const Index* offsets, Index count, const T* from,
              Index length, const T* initial, T* sums, Index line) {
    by_rows(rows, [&](auto some) {
        add_line_of<T, some, exact>(weights, offsets, count, from, length, initial, sums, line);
    });
}

// Lengths are rounded up to this, so that vectors never reach from one line's sums into the next.
constexpr Index rounded(Index length) { return (length + overhang - 1) / overhang * overhang; }

template <class T> struct LinePlan {
    const Product<T>& product;
    const Pass& pass;
    Index rows, height, sets, products, runs;
    bool direct, merged;
    Region region;
    std::vector<Index> offsets, places;
    Index packed_start;

    LinePlan(const Product<T>& product_, const Pass& pass_, Index packed_start_)
        : product(product_), pass(pass_),
          rows(std::min(rows_at_a_time(pass, product.channels, sizeof(T)),
                        std::max<Index>(1, most_positions / line_outputs()))),
          sets((product.outputs + most_outputs - 1) / most_outputs),
          products(product.channels * pass.taps()),
          runs((pass.axes[0].outputs + rows - 1) / rows),
          direct(pass.axes[2].apart == 1 && pass.axes[2].outputs >= register_lanes<T> &&
                 products <= block_of_products),
          merged(pass.axes[0].step == 1 && pass.axes[1].step == 1),
          region(pass, product.channels, rows, sizeof(T), pass.axes[2].step),
          offsets(tap_offsets(pass, region, product.channels)),
          places(tap_places(pass, product.kernel)), packed_start(packed_start_) {
        height = (product.outputs + sets - 1) / sets;
    }

    Index line_outputs() const { return pass.axes[1].outputs * pass.axes[2].outputs; }
    Index packed() const { return product.groups * sets * products * height; }
    Index tasks() const { return product.batch * product.groups * runs; }
    Index work() const {
        return pass.outputs() * products * product.outputs * product.batch * product.groups;
    }
    Index copied() const { return region.copied(); }
    Index scratch() const { return height * line_of_sums(); }
    // The offset of the sums of line y of row z of a run.
    Index sums_of(Index z, Index y) const {
        if (merged) return region.offset(0, z, y, 0);
        return (z * pass.axes[1].outputs + y) * rounded(pass.axes[2].outputs);
    }
    Index line_of_sums() const {
        return merged ? rounded(sums_of(rows - 1, pass.axes[1].outputs - 1) + pass.axes[2].outputs)
                      : sums_of(rows, 0);
    }

    // The offset of line y of row z of the result.
    Index place_of(Index z, Index y) const {
        const Axis &outer = pass.axes[0], &middle = pass.axes[1], &inner = pass.axes[2];
        return ((outer.first + z * outer.apart) * middle.length + middle.first + y * middle.apart) *
                   inner.length + inner.first;
    }

    void pack(T* buffer) const;
    void run(Index task, const T* packed, T* copy, T* sums) const;
    void add_to(Index row, Index some, const T* weights, const T* base, const T* initial, T* out,
                Index length) const;
    void add(Index some, const T* weights, const T* base, const T* initial, T* sums) const;
    void write(Index row, Index some, const T* sums, T* out) const;
};

// Weights as [group][set][product][output of the set].
template <class T> void LinePlan<T>::pack(T* buffer) const {
    T* to = buffer + packed_start;
    for (Index group = 0; group < product.groups; ++group) {
        for (Index first = 0; first < sets * height; first += height) {
            for (Index c = 0; c < product.channels; ++c) {
                for (Index place : places) {
                    const T* from = product.weight + group * product.group_step +
                                    c * product.channel_step + place;
                    for (Index o = first; o < first + height; ++o) {
                        *to++ = o < product.outputs ? from[o * product.output_step] : T{};
                    }
                }
            }
        }
    }
}

template <class T>
void LinePlan<T>::run(Index task, const T* packed, T* copy, T* sums) const {
    const Index sample = task / (product.groups * runs), group = task / runs % product.groups;
    const Index row = task % runs * rows, some = std::min(rows, pass.axes[0].outputs - row);
    const Index plane = pass.axes[0].inputs * pass.axes[1].inputs * pass.axes[2].inputs;
    const Index length = pass.axes[0].length * pass.axes[1].length * pass.axes[2].length;
    const Index image = sample * product.groups + group;
    const T* base = region.of(product.input + image * product.channels * plane, row, some, copy);
    const Index line = line_of_sums();
    for (Index set = 0; set < sets; ++set) {
        if (set > 0) poll();
        const Index first = set * height, outputs = std::min(height, product.outputs - first);
        const T* weights = packed + packed_start + (group * sets + set) * products * height;
        T* out = product.output + (image * product.outputs + first) * length;
        T initial[most_outputs] = {};
        if (product.bias != nullptr) {
            std::copy_n(product.bias + group * product.outputs + first, outputs, initial);
        }
        if (direct && outputs == height) {
            add_to(row, some, weights, base, initial, out, length);
            continue;
        }
        add(some, weights, base, initial, sums);
        for (Index i = 0; i < outputs; ++i) {
            write(row, some, sums + i * line, out + i * length);
        }
    }
}

// The lines of the result itself.
template <class T>
void LinePlan<T>::add_to(Index row, Index some, const T* weights, const T* base, const T* initial,
                         T* out, Index length) const {
    const Axis &outer = pass.axes[0], &middle = pass.axes[1], &inner = pass.axes[2];
    for (Index z = 0; z < some; ++z) {
        for (Index y = 0; y < middle.outputs; ++y) {
            add_line<T, true>(height, weights, offsets.data(), products,
                              base + region.offset(0, z * outer.step, y * middle.step, 0),
                              inner.outputs, initial, out + place_of(row + z, y), length);
        }
    }
}

template <class T>
void LinePlan<T>::add(Index some, const T* weights, const T* base, const T* initial,
                      T* sums) const {
    const Axis &outer = pass.axes[0], &middle = pass.axes[1], &inner = pass.axes[2];
    const Index line = line_of_sums();
    // At least once: without any tap there is the bias.
    for (Index k = 0; k == 0 || k < products; k += block_of_products) {
        const Index depth = std::min(block_of_products, products - k);
        const T *some_weights = weights + k * height, *start = k == 0 ? initial : nullptr;
        if (merged) {
            const Index length = sums_of(some - 1, middle.outputs - 1) + inner.outputs;
            add_line<T, false>(height, some_weights, offsets.data() + k, depth, base, length,
                               start, sums, line);
            continue;
        }
        for (Index z = 0; z < some; ++z) {
            for (Index y = 0; y < middle.outputs; ++y) {
                add_line<T, false>(height, some_weights, offsets.data() + k, depth,
                                   base + region.offset(0, z * outer.step, y * middle.step, 0),
                                   inner.outputs, start, sums + sums_of(z, y), line);
            }
        }
    }
}

template <class T>
void LinePlan<T>::write(Index row, Index some, const T* sums, T* out) const {
    const Axis &middle = pass.axes[1], &inner = pass.axes[2];
    for (Index z = 0; z < some; ++z) {
        for (Index y = 0; y < middle.outputs; ++y) {
            const T* from = sums + sums_of(z, y);
            T* to = out + place_of(row + z, y);
            if (inner.apart == 1) {
                for (Index x = 0; x < inner.outputs; ++x) to[x] = from[x];
            } else {
                for (Index x = 0; x < inner.outputs; ++x) to[x * inner.apart] = from[x];
            }
        }
    }
}

}  // namespace

template <class T> void multiply_lines(const Product<T>& product) {
    run_passes<LinePlan<T>>(product);
}

template void multiply_lines(const Product<float>&);
template void multiply_lines(const Product<double>&);

}  // namespace nnkit
