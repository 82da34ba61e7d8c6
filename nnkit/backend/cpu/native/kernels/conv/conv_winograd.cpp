// Convolution with 3 x 3 kernels by Winograd's minimal filtering.
#include "conv_winograd.h"

#include <algorithm>
#include <atomic>
#include <utility>

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

// Tile rows whose inputs, transformed, stay in the second-level cache; of a small image there are
// fewer.
Index rows_in_cache(Index across, Index channels, std::size_t item) {
    constexpr Index cache = 512 * 1024;
    return std::max<Index>(1, cache / (points * channels * across * static_cast<Index>(item)));
}

// The same number in each of as few runs as possible.
Index rows_of_run(Index down, Index rows) {
    const Index runs = (down + rows - 1) / rows;
    return (down + runs - 1) / runs;
}

// Elements first, first + 2, first + 4 ... of both vectors, one after the other.
template <class T, int first, int... lanes>
inline Register<T> every_other(Register<T> a, Register<T> b,
                               std::integer_sequence<int, lanes...>) {
    return pick<T, (first + 2 * lanes)...>(a, b);
}
template <class T, int first> inline Register<T> every_other(Register<T> a, Register<T> b) {
    return every_other<T, first>(a, b, std::make_integer_sequence<int, register_lanes<T>>());
}

}  // namespace

WinogradTiles::WinogradTiles(const Pass& pass, Index channels, Index in_cache, Index most,
                             std::size_t item)
    : pass_(in_whole_tiles(pass)), channels_(channels), across_(pass_.axes[2].outputs / 2),
      down_(pass_.axes[0].outputs / 2),
      rows_(rows_of_run(down_, rows_in_cache(across_, in_cache, item))),
      runs_((down_ + rows_ - 1) / rows_),
      images_(std::clamp<Index>(rows_in_cache(across_, in_cache, item) / 2 / down_, 1, most)),
      step_(((most_tiles() + 31) / 16 | 1) * 16),
      region_(pass_, channels, 2 * rows_, item, 1) {}

Index WinogradTiles::tile_rows_of(Index run) const {
    return std::min(rows_, down_ - run * rows_);
}

template <class T>
void WinogradTiles::transform(const T* image, Index run, T* copy, T* out) const {
    using V = Register<T>;
    constexpr Index lanes = register_lanes<T>;
    const Index rows = tile_rows_of(run);
    const T* base = region_.of(image, first_row(run), 2 * rows, copy);
    const Index line = region_.offset(0, 1, 0, 0);
    // The four lines of a row of tiles, transformed downwards: first what stands at even places.
    const Index half = (across_ / lanes + 2) * lanes;
    Scratch<T> lines(8 * half);
    for (Index c = 0; c < channels_; ++c) {
        for (Index y = 0; y < rows; ++y) {
            const T* from = base + region_.offset(c, 2 * y, 0, 0);
            for (Index x = 0; x <= across_; x += lanes, from += 2 * lanes) {
                auto at = [&](Index i, Index j) { return load_as<V>(from + i * line + j * lanes); };
                V low[4], high[4];
                transform_input(at(0, 0), at(1, 0), at(2, 0), at(3, 0), low);
                transform_input(at(0, 1), at(1, 1), at(2, 1), at(3, 1), high);
                for (int i = 0; i < 4; ++i) {
                    T* to = lines.data() + 2 * i * half + x;
                    store_as(to, every_other<T, 0>(low[i], high[i]));
                    store_as(to + half, every_other<T, 1>(low[i], high[i]));
                }
            }
            // Vectors may reach over the end of a row: the next one is written after it.
            T* to = out + c * step_ + y * across_;
            for (Index x = 0; x < across_; x += lanes) {
                for (int i = 0; i < 4; ++i) {
                    const T *even = lines.data() + 2 * i * half + x, *odd = even + half;
                    V result[4];
                    transform_input(load_as<V>(even), load_as<V>(odd), load_as<V>(even + 1),
                                    load_as<V>(odd + 1), result);
                    for (int j = 0; j < 4; ++j) {
                        store_as(to + (4 * i + j) * point_step() + x, result[j]);
                    }
                }
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
        : product(product_), pass(product.passes[0]),
          tiles(pass, product.channels, product.channels, images_of_task(), sizeof(T)),
          panels((product.outputs + panel<T> - 1) / panel<T>) {}

    // So that each thread has a task; no result depends on it.
    Index images_of_task() const {
        return std::max<Index>(1, product.batch * product.groups / thread_count());
    }
    Index blocks() const { return (product.batch + tiles.images() - 1) / tiles.images(); }
    Index tasks() const { return blocks() * product.groups * tiles.runs(); }

    Index panel_size() const { return points * product.channels * panel<T>; }
    Index sums_size() const { return points * point_size<T>(tiles.most_tiles()); }
    Index lines_size() const { return 4 * tiles.most_tiles() * panel<T>; }

    void pack(Index number, T* weights) const;
    // Whether all results are finite.
    bool run(Index task, const T* weights, T* copy, T* inputs, T* sums, T* lines) const;
    bool gather(Index count, Index across, const T* sums, const T* bias, T* lines) const;
};

// The transformed weights of one panel, [point][channel][column].
template <class T> void WinogradPlan<T>::pack(Index number, T* weights) const {
    using V = Register<T>;
    const Index group = number / panels, first = number % panels * panel<T>;
    const Index columns = std::min(panel<T>, product.outputs - first);
    const Axis &outer = pass.axes[0], &inner = pass.axes[2];
    // Backwards the taps stand in the opposite order.
    Index places[3][3];
    for (const Tap& y : outer.taps) {
        for (const Tap& x : inner.taps) {
            places[y.offset - outer.lowest()][x.offset - inner.lowest()] = y.place * 3 + x.place;
        }
    }
    auto transform = [](V a, V b, V c, V* out) {
        out[0] = a;
        out[1] = (a + b + c) / 2;
        out[2] = (a - b + c) / 2;
        out[3] = c;
    };
    const T* from = product.weight + group * product.group_step + first * product.output_step;
    T* to = weights + number * panel_size();
    T kernel[9 * panel<T>] = {};
    for (Index c = 0; c < product.channels; ++c, from += product.channel_step, to += panel<T>) {
        transpose(columns, 9, from, product.output_step, kernel, panel<T>);
        for (Index lane = 0; lane < panel<T>; lane += register_lanes<T>) {
            V half[3][4];
            for (int j = 0; j < 3; ++j) {
                V column[3];
                for (int i = 0; i < 3; ++i) {
                    column[i] = load_as<V>(kernel + places[i][j] * panel<T> + lane);
                }
                transform(column[0], column[1], column[2], half[j]);
            }
            for (int i = 0; i < 4; ++i) {
                V row[4];
                transform(half[0][i], half[1][i], half[2][i], row);
                for (int j = 0; j < 4; ++j) {
                    store_as(to + (4 * i + j) * product.channels * panel<T> + lane, row[j]);
                }
            }
        }
    }
}

template <class T>
bool WinogradPlan<T>::run(Index task, const T* weights, T* copy, T* inputs, T* sums,
                          T* lines) const {
    const Axis &outer = pass.axes[0], &inner = pass.axes[2];
    const Index run = task % tiles.runs(), group = task / tiles.runs() % product.groups;
    const Index image = task / (tiles.runs() * product.groups) * tiles.images();
    const Index images = std::min(tiles.images(), product.batch - image);
    const Index row = tiles.first_row(run), across = tiles.across();
    const Index of_image = tiles.tile_rows_of(run) * across, count = images * of_image;
    const Index rows = std::min(2 * tiles.tile_rows_of(run), outer.outputs - row);
    const Index plane = outer.inputs * inner.inputs, length = outer.length * inner.length;
    for (Index i = 0; i < images; ++i) {
        const Index number = (image + i) * product.groups + group;
        tiles.transform(product.input + number * product.channels * plane, run, copy,
                        inputs + i * of_image);
    }
    bool finite = true;
    for (Index p = 0; p < panels; ++p) {
        poll();
        const T* columns = weights + (group * panels + p) * panel_size();
        for (Index point = 0; point < points; ++point) {
            multiply_panel(count, inputs + point * tiles.point_step(), tiles.channel_step(),
                           product.channels, columns, sums + point * point_size<T>(count));
            columns += product.channels * panel<T>;
        }
        const Index first = p * panel<T>, some = std::min(panel<T>, product.outputs - first);
        T bias[panel<T>] = {};
        if (product.bias != nullptr) {
            std::copy_n(product.bias + group * product.outputs + first, some, bias);
        }
        finite = gather(count, across, sums, bias, lines) && finite;
        for (Index i = 0; i < images; ++i) {
            const T* from = lines + 4 * i * of_image * panel<T>;
            const Index number = (image + i) * product.groups + group;
            T* out = product.output + (number * product.outputs + first) * length;
            for (Index y = 0; y < rows; ++y, from += 2 * across * panel<T>) {
                transpose(inner.outputs, some, from, panel<T>, out + (row + y) * inner.length,
                          length);
            }
        }
    }
    return finite;
}

// The 2 x 2 outputs of each tile, as lines [y][x][column]; whether all of them are finite.
template <class T>
bool WinogradPlan<T>::gather(Index count, Index across, const T* sums, const T* bias,
                             T* lines) const {
    using V = Register<T>;
    V check = {};  // the sum of results times zero
    for (Index tile = 0; tile < count; ++tile) {
        T* to = lines + (tile / across * 4 * across + tile % across * 2) * panel<T>;
        for (Index lane = 0; lane < panel<T>; lane += register_lanes<T>) {
            const V constant = load_as<V>(bias + lane);
            const T* from = sums + tile * panel<T> + lane;
            V high[4], low[4];
            for (int j = 0; j < 4; ++j) {
                V m[4];
                for (int i = 0; i < 4; ++i) {
                    m[i] = load_as<V>(from + (4 * i + j) * point_size<T>(count));
                }
                high[j] = m[0] + m[1] + m[2];
                low[j] = m[1] - m[2] - m[3];
            }
            auto finish = [&](T* place, V result) {
                store_as(place + lane, result);
                check = multiply_add(result, V{}, check);
            };
            T* below = to + 2 * across * panel<T>;
            finish(to, high[0] + high[1] + high[2] + constant);
            finish(to + panel<T>, high[1] - high[2] - high[3] + constant);
            finish(below, low[0] + low[1] + low[2] + constant);
            finish(below + panel<T>, low[1] - low[2] - low[3] + constant);
        }
    }
    return is_zero<T>(check);
}

}  // namespace

template <class T> bool multiply_winograd(const Product<T>& product) {
    const WinogradPlan<T> plan(product);
    const Index panels = product.groups * plan.panels;
    const Prepared<T> weights(product.weight, Preparation::conv_winograd, product.recipe,
                              panels * plan.panel_size(), [&](T* to) {
        parallel_for(panels, std::max<Index>(1, work_of_piece / 4 / plan.panel_size()),
                     [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) plan.pack(i, to);
        });
    });
    std::atomic<bool> finite = true;
    const Index work = plan.tiles.size() * plan.panels * panel<T>;
    parallel_for(plan.tasks(), std::max<Index>(1, work_of_piece / work),
                 [&](Index begin, Index end) {
        Scratch<T> copy(plan.tiles.copied()), inputs(plan.tiles.size());
        Scratch<T> sums(plan.sums_size()), lines(plan.lines_size());
        for (Index task = begin; task < end && finite; ++task) {
            if (!plan.run(task, weights.data(), copy.data(), inputs.data(), sums.data(),
                          lines.data())) finite = false;
        }
    });
    return finite;
}

template bool multiply_winograd(const Product<float>&);
template bool multiply_winograd(const Product<double>&);

}  // namespace nnkit
