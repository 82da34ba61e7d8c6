// Convolution as a matrix product whose one factor is read where it lies: a tile of 6 positions
// and a panel of outputs, summed over channels and taps. No columns are made; the input is copied
// only where it needs zeros around it.
#include <algorithm>

#include "conv_kernels.h"
#include "conv_tile.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index block_of_positions = 32 * tile_rows;
constexpr Index block_of_products = 256;  // so that a panel of weights stays in the first cache

// The plan of one pass: tables, and its weights as panels [group][panel][product][column].
template <class T> struct PassPlan {
    const Product<T>& product;
    const Pass& pass;
    Index rows, panels, products, runs;
    Region region;
    std::vector<Index> positions, offsets, places;
    Index packed_start;  // of its weights in the buffer of all passes

    PassPlan(const Product<T>& product_, const Pass& pass_, Index packed_start_)
        : product(product_), pass(pass_),
          rows(rows_at_a_time(pass, product.channels, sizeof(T))),
          panels((product.outputs + panel<T> - 1) / panel<T>),
          products(product.channels * pass.taps()),
          runs((pass.axes[0].outputs + rows - 1) / rows),
          region(pass, product.channels, rows, sizeof(T)),
          positions(position_offsets(pass, region, rows)),
          offsets(tap_offsets(pass, region, product.channels)),
          places(tap_places(pass, product.kernel)), packed_start(packed_start_) {}

    Index packed() const { return product.groups * panels * products * panel<T>; }
    Index work() const { return pass.outputs() * products * panels * panel<T>; }

    void pack_panel(Index number, T* buffer) const;
    void run(Index image, Index number, const T* packed, T* copy, T* sums) const;
    void write(Index channel, Index columns, Index first, Index count, Index row, const T* sums,
               T* out) const;
};

template <class T> void PassPlan<T>::pack_panel(Index number, T* buffer) const {
    const Index group = number / panels, first = number % panels * panel<T>;
    const Index columns = std::min(panel<T>, product.outputs - first);
    T* to = buffer + packed_start + number * products * panel<T>;
    const T* from = product.weight + group * product.group_step + first * product.output_step;
    const Index taps = pass.taps();
    if (columns < panel<T>) std::fill_n(to, products * panel<T>, T{});
    for (Index c = 0; c < product.channels; ++c, from += product.channel_step) {
        for (Index t = 0; t < taps; ++t, to += panel<T>) {
            const T* source = from + places[static_cast<std::size_t>(t)];
            for (Index o = 0; o < columns; ++o) to[o] = source[o * product.output_step];
        }
    }
}

template <class T>
void PassPlan<T>::run(Index image, Index number, const T* packed, T* copy, T* sums) const {
    const Index group = image % product.groups, row = number * rows;
    const Index some = std::min(rows, pass.axes[0].outputs - row);
    const Index plane = pass.axes[0].inputs * pass.axes[1].inputs * pass.axes[2].inputs;
    const T* from = product.input + image * product.channels * plane;
    const T* base = region.of(from, row, some, copy);
    const Index count = some * pass.axes[1].outputs * pass.axes[2].outputs;
    const Index length = pass.axes[0].length * pass.axes[1].length * pass.axes[2].length;
    T* out = product.output + image * product.outputs * length;
    for (Index start = 0; start < count; start += block_of_positions) {
        const Index stop = std::min(count, start + block_of_positions);
        for (Index p = 0; p < panels; ++p) {
            poll();
            const Index first = p * panel<T>, columns = std::min(panel<T>, product.outputs - first);
            T initial[panel<T>] = {};
            if (product.bias != nullptr) {
                std::copy_n(product.bias + group * product.outputs + first, columns, initial);
            }
            const T* weights =
                packed + packed_start + (group * panels + p) * products * panel<T>;
            for (Index k = 0; k < products; k += block_of_products) {
                const Index depth = std::min(block_of_products, products - k);
                for (Index j = start; j < stop; j += tile_rows) {
                    const Index height = std::min<Index>(tile_rows, stop - j);
                    const T* inputs[tile_rows];
                    for (Index i = 0; i < height; ++i) {
                        inputs[i] = base + positions[static_cast<std::size_t>(j + i)];
                    }
                    add_products(height, inputs, offsets.data() + k, depth, weights + k * panel<T>,
                                 k == 0 ? initial : nullptr, sums + (j - start) * panel<T>);
                }
            }
            write(first, columns, start, stop - start, row, sums, out);
        }
    }
}

// Puts the sums of positions first ... first + count, counted from `row`, in their places.
template <class T>
void PassPlan<T>::write(Index channel, Index columns, Index first, Index count, Index row,
                        const T* sums, T* out) const {
    const Axis &outer = pass.axes[0], &middle = pass.axes[1], &inner = pass.axes[2];
    const Index length = outer.length * middle.length * inner.length;
    out += channel * length;
    if (outer.apart * middle.apart * inner.apart == 1) {
        out += row * middle.length * inner.length + first;
        transpose(count, columns, sums, panel<T>, out, length);
        return;
    }
    Index x = first % inner.outputs, y = first / inner.outputs % middle.outputs;
    Index z = row + first / (inner.outputs * middle.outputs);
    for (Index done = 0; done < count;) {
        const Index line = std::min(inner.outputs - x, count - done);
        T* to = out + ((outer.first + z * outer.apart) * middle.length + middle.first +
                       y * middle.apart) * inner.length + inner.first + x * inner.apart;
        for (Index c = 0; c < columns; ++c, to += length) {
            const T* from = sums + done * panel<T> + c;
            for (Index i = 0; i < line; ++i) to[i * inner.apart] = from[i * panel<T>];
        }
        done += line;
        x = 0;
        if (++y == middle.outputs) {
            y = 0;
            ++z;
        }
    }
}

bool is_without_taps(const Pass& pass) { return pass.taps() == 0; }

// Of results that no tap reaches there is the bias.
template <class T> void fill_with_bias(const Product<T>& product) {
    const Pass& pass = product.passes[0];
    const Index length = pass.axes[0].length * pass.axes[1].length * pass.axes[2].length;
    const Index outputs = product.groups * product.outputs;
    parallel_for(product.batch * outputs, std::max<Index>(1, work_of_piece / 16 / length),
                 [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            const T value = product.bias == nullptr ? T{} : product.bias[i % outputs];
            std::fill_n(product.output + i * length, length, value);
        }
    });
}

}  // namespace

template <class T> void multiply_tiles(const Product<T>& product) {
    std::vector<PassPlan<T>> plans;
    plans.reserve(product.passes.size());
    Index packed_size = 0, copied = 0, runs = 0, work = 0;
    if (std::any_of(product.passes.begin(), product.passes.end(), is_without_taps)) {
        fill_with_bias(product);
    }
    for (const Pass& pass : product.passes) {
        if (is_without_taps(pass)) continue;
        plans.emplace_back(product, pass, packed_size);
        packed_size += plans.back().packed();
        copied = std::max(copied, plans.back().region.copied());
        runs += plans.back().runs;
        work += plans.back().work();
    }
    if (plans.empty()) return;
    const Index panels = product.groups * plans[0].panels;
    const Index packing = packed_size / panels;
    const Prepared<T> packed(product.weight, Preparation::conv_tiles, product.recipe, packed_size,
                             [&](T* to) {
        parallel_for(panels, std::max<Index>(1, work_of_piece / 8 / (packing + 1)),
                     [&](Index begin, Index end) {
            for (const PassPlan<T>& plan : plans) {
                for (Index i = begin; i < end; ++i) plan.pack_panel(i, to);
            }
        });
    });
    // All passes of an image one after the other: they write between each other's results.
    const Index tasks = product.batch * product.groups * runs;
    const Index grain = std::max<Index>(1, work_of_piece / (work / runs + 1));
    parallel_for(tasks, grain, [&](Index begin, Index end) {
        Scratch<T> copy(copied), sums(block_of_positions * panel<T>);
        for (Index task = begin; task < end; ++task) {
            Index run = task % runs;
            auto plan = plans.begin();
            for (; run >= plan->runs; ++plan) run -= plan->runs;
            plan->run(task / runs, run, packed.data(), copy.data(), sums.data());
        }
    });
}

template void multiply_tiles(const Product<float>&);
template void multiply_tiles(const Product<double>&);

}  // namespace nnkit
