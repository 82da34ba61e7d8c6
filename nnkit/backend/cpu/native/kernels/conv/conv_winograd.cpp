// Convolution with 3 x 3 kernels by Winograd's minimal filtering.
#include "conv_winograd.h"

#include <algorithm>

#include "conv_kernels.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {
namespace {

// The pass with whole tiles: one more row or column of outputs where their number is odd.
Pass in_whole_tiles(Pass pass) {
    for (int a : {0, 2}) pass.axes[a].outputs += pass.axes[a].outputs % 2;
    return pass;
}

// Tile rows whose inputs, transformed, stay in the second-level cache.
Index rows_in_cache(Index across, Index down, Index channels, std::size_t item) {
    constexpr Index cache = 512 * 1024;
    const Index row = points * channels * across * static_cast<Index>(item);
    const Index rows = std::clamp<Index>(cache / row, 1, down), runs = (down + rows - 1) / rows;
    return (down + runs - 1) / runs;
}

}  // namespace

WinogradTiles::WinogradTiles(const Pass& pass, Index channels, std::size_t item)
    : pass_(in_whole_tiles(pass)), channels_(channels), across_(pass_.axes[2].outputs / 2),
      down_(pass_.axes[0].outputs / 2), rows_(rows_in_cache(across_, down_, channels, item)),
      runs_((down_ + rows_ - 1) / rows_),
      step_(((most_tiles() + 31) / 16 | 1) * 16),
      region_(pass_, channels, 2 * rows_, item, 2) {}

Index WinogradTiles::tile_rows_of(Index run) const {
    return std::min(rows_, down_ - run * rows_);
}

template <class T>
void WinogradTiles::transform(const T* image, Index run, T* copy, T* out) const {
    const Index rows = tile_rows_of(run);
    const T* base = region_.of(image, first_row(run), 2 * rows, copy);
    const Index to_odd = region_.offset(0, 0, 0, 1), line = region_.offset(0, 1, 0, 0);
    using V = Register<T>;
    for (Index c = 0; c < channels_; ++c) {
        for (Index y = 0; y < rows; ++y) {
            const T* even = base + region_.offset(c, 2 * y, 0, 0);
            // Vectors may reach over the end of a row: the next one is written after it.
            T* to = out + c * step_ + y * across_;
            for (Index x = 0; x < across_; x += register_lanes<T>, even += register_lanes<T>) {
                const T* columns[4] = {even, even + to_odd, even + 1, even + to_odd + 1};
                auto across = [&](int i, auto combine) {
                    V row[4], result[4];
                    for (int j = 0; j < 4; ++j) row[j] = combine(columns[j]);
                    transform_input(row[0], row[1], row[2], row[3], result);
                    for (int j = 0; j < 4; ++j) {
                        store_as(to + (4 * i + j) * point_step() + x, result[j]);
                    }
                };
                auto at = [&](const T* from, int i) { return load_as<V>(from + i * line); };
                across(0, [&](const T* from) { return V(at(from, 0) - at(from, 2)); });
                across(1, [&](const T* from) { return V(at(from, 1) + at(from, 2)); });
                across(2, [&](const T* from) { return V(at(from, 2) - at(from, 1)); });
                across(3, [&](const T* from) { return V(at(from, 1) - at(from, 3)); });
            }
        }
    }
}

template void WinogradTiles::transform(const float*, Index, float*, float*) const;
template void WinogradTiles::transform(const double*, Index, double*, double*) const;

namespace {

template <class T> struct WinogradPlan {
    const Product<T>& product;
    const Pass& pass;
    WinogradTiles tiles;
    Index panels;

    explicit WinogradPlan(const Product<T>& product_)
        : product(product_), pass(product.passes[0]), tiles(pass, product.channels, sizeof(T)),
          panels((product.outputs + panel<T> - 1) / panel<T>) {}

    Index panel_size() const { return points * product.channels * panel<T>; }
    Index sums_size() const { return points * tiles.most_tiles() * panel<T>; }
    Index lines_size() const { return 4 * tiles.most_tiles() * panel<T>; }

    void pack(Index number, T* weights) const;
    void run(Index task, const T* weights, T* copy, T* inputs, T* sums, T* lines) const;
    void gather(Index count, Index across, const T* sums, const T* bias, T* lines) const;
};

// The transformed weights of one panel, [point][channel][column].
template <class T> void WinogradPlan<T>::pack(Index number, T* weights) const {
    const Index group = number / panels, first = number % panels * panel<T>;
    const Index columns = std::min(panel<T>, product.outputs - first);
    const Axis &outer = pass.axes[0], &inner = pass.axes[2];
    T* to = weights + number * panel_size();
    for (Index c = 0; c < product.channels; ++c, to += panel<T>) {
        const T* from = product.weight + group * product.group_step + c * product.channel_step +
                        first * product.output_step;
        T kernel[3][3][panel<T>] = {};
        for (const Tap& y : outer.taps) {
            for (const Tap& x : inner.taps) {
                T* place = kernel[y.offset - outer.lowest()][x.offset - inner.lowest()];
                const T* source = from + y.place * 3 + x.place;
                for (Index o = 0; o < columns; ++o) place[o] = source[o * product.output_step];
            }
        }
        for (Index o = 0; o < panel<T>; ++o) {
            T half[4][3];
            auto transform = [](T a, T b, T c, T* out, Index step) {
                out[0] = a;
                out[step] = (a + b + c) / 2;
                out[2 * step] = (a - b + c) / 2;
                out[3 * step] = c;
            };
            for (int j = 0; j < 3; ++j) {
                transform(kernel[0][j][o], kernel[1][j][o], kernel[2][j][o], &half[0][j], 3);
            }
            const Index step = product.channels * panel<T>;
            for (int i = 0; i < 4; ++i) {
                transform(half[i][0], half[i][1], half[i][2], to + 4 * i * step + o, step);
            }
        }
    }
}

template <class T>
void WinogradPlan<T>::run(Index task, const T* weights, T* copy, T* inputs, T* sums,
                          T* lines) const {
    const Axis &outer = pass.axes[0], &inner = pass.axes[2];
    const Index image = task / tiles.runs(), run = task % tiles.runs();
    const Index group = image % product.groups;
    const T* from = product.input + image * product.channels * outer.inputs * inner.inputs;
    tiles.transform(from, run, copy, inputs);
    const Index row = tiles.first_row(run), across = tiles.across();
    const Index count = tiles.tile_rows_of(run) * across;
    const Index rows = std::min(2 * tiles.tile_rows_of(run), outer.outputs - row);
    for (Index p = 0; p < panels; ++p) {
        poll();
        const T* columns = weights + (group * panels + p) * panel_size();
        for (Index point = 0; point < points; ++point) {
            multiply_panel(count, inputs + point * tiles.point_step(), tiles.channel_step(),
                           product.channels, columns, sums + point * count * panel<T>);
            columns += product.channels * panel<T>;
        }
        const Index first = p * panel<T>, some = std::min(panel<T>, product.outputs - first);
        T bias[panel<T>] = {};
        if (product.bias != nullptr) {
            std::copy_n(product.bias + group * product.outputs + first, some, bias);
        }
        gather(count, across, sums, bias, lines);
        T* out = product.output + (image * product.outputs + first) * outer.length * inner.length;
        for (Index y = 0; y < rows; ++y) {
            transpose(inner.outputs, some, lines + y * 2 * across * panel<T>, panel<T>,
                      out + (row + y) * inner.length, outer.length * inner.length);
        }
    }
}

// The 2 x 2 outputs of each tile, as lines [y][x][column].
template <class T>
void WinogradPlan<T>::gather(Index count, Index across, const T* sums, const T* bias,
                             T* lines) const {
    using V = Register<T>;
    for (Index tile = 0; tile < count; ++tile) {
        T* to = lines + (tile / across * 4 * across + tile % across * 2) * panel<T>;
        for (Index lane = 0; lane < panel<T>; lane += register_lanes<T>) {
            const V constant = load_as<V>(bias + lane);
            V high[4], low[4];
            for (int j = 0; j < 4; ++j) {
                V m[4];
                for (int i = 0; i < 4; ++i) {
                    m[i] = load_as<V>(sums + ((4 * i + j) * count + tile) * panel<T> + lane);
                }
                high[j] = m[0] + m[1] + m[2];
                low[j] = m[1] - m[2] - m[3];
            }
            T* below = to + 2 * across * panel<T>;
            store_as(to + lane, V(high[0] + high[1] + high[2] + constant));
            store_as(to + panel<T> + lane, V(high[1] - high[2] - high[3] + constant));
            store_as(below + lane, V(low[0] + low[1] + low[2] + constant));
            store_as(below + panel<T> + lane, V(low[1] - low[2] - low[3] + constant));
        }
    }
}

}  // namespace

template <class T> void multiply_winograd(const Product<T>& product) {
    const WinogradPlan<T> plan(product);
    const Index panels = product.groups * plan.panels;
    const Prepared<T> weights(product.weight, Preparation::conv_winograd, product.recipe,
                              panels * plan.panel_size(), [&](T* to) {
        parallel_for(panels, std::max<Index>(1, work_of_piece / 4 / plan.panel_size()),
                     [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) plan.pack(i, to);
        });
    });
    const Index tasks = product.batch * product.groups * plan.tiles.runs();
    const Index work = plan.tiles.size() * plan.panels * panel<T>;
    parallel_for(tasks, std::max<Index>(1, work_of_piece / work), [&](Index begin, Index end) {
        Scratch<T> copy(plan.tiles.copied()), inputs(plan.tiles.size());
        Scratch<T> sums(plan.sums_size()), lines(plan.lines_size());
        for (Index task = begin; task < end; ++task) {
            plan.run(task, weights.data(), copy.data(), inputs.data(), sums.data(), lines.data());
        }
    });
}

template void multiply_winograd(const Product<float>&);
template void multiply_winograd(const Product<double>&);

}  // namespace nnkit
