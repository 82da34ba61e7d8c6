// The gradient of a convolution in its 3 x 3 weight by Winograd's minimal filtering: 3 x 3 results
// from 4 x 4 inputs and 2 x 2 gradients by 16 multiplications instead of 36. The products of all
// tiles are summed before they are transformed back.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "conv_kernels.h"
#include "conv_weight.h"
#include "conv_winograd.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index tasks_wanted = 8;

// One dimension: the gradients of a tile to what is multiplied, ...
template <class V> inline void transform_gradient(V a, V b, V* out) {
    out[0] = a;
    out[1] = a + b;
    out[2] = a - b;
    out[3] = b;
}

// ... and products, of which the middle ones are twice what they should be, to the three taps.
template <class V> inline void transform_products(const V* m, V* out) {
    const V sum = (m[1] + m[2]) / 2;
    out[0] = m[0] + sum;
    out[1] = (m[1] - m[2]) / 2;
    out[2] = sum - m[3];
}

template <class T> struct WinogradWeightPlan {
    const Geometry& geometry;
    const T* gradient;
    const T* input;
    Pass pass;
    WeightTasks tasks;
    WinogradTiles tiles;
    std::vector<Index> numbers;  // of tiles

    WinogradWeightPlan(const Geometry& g, const T* gradient_, const T* input_)
        : geometry(g), gradient(gradient_), input(input_), pass(g.forward()),
          tasks(g, panel<T>, tasks_wanted),
          tiles(pass, g.channels, channels_in_cache(), tasks.samples, sizeof(T)),
          numbers(static_cast<std::size_t>(tiles.most_tiles())) {
        std::iota(numbers.begin(), numbers.end(), Index{0});
    }

    // Half of them, and so few that there are many tiles at a time: for each time all sums are read
    // and written.
    Index channels_in_cache() const {
        return std::min<Index>((geometry.channels + tasks.most_panels() * panel<T>) / 2, 64);
    }
    Index lines_size() const { return 4 * tiles.most_tiles() * panel<T>; }
    // Gradients are [point][panel][tile][column].
    Index gradients_size() const {
        return points * point_size<T>(tasks.most_panels() * tiles.most_tiles());
    }
    // Sums are [part][group][panel][point][channel][column].
    Index channels_size() const { return point_size<T>(geometry.channels); }
    Index panel_size() const { return points * channels_size(); }
    Index part_size() const { return tasks.groups * tasks.panels * panel_size(); }
    Index work() const { return tasks.samples * tiles.size() * tasks.most_panels() * panel<T>; }

    void run(const WeightTask& task, T* copy, T* inputs, T* lines, T* gradients, T* sums) const;
    void lay_out(const T* from, Index columns, Index row, Index rows, T* lines) const;
    void transform(const T* lines, Index count, T* to, Index point_step) const;
    bool finish(Index number, const T* sums, T* out) const;
};

template <class T>
void WinogradWeightPlan<T>::run(const WeightTask& task, T* copy, T* inputs, T* lines, T* gradients,
                                T* sums) const {
    const Geometry& g = geometry;
    const Index plane = g.output_plane();
    sums += task.part * part_size() + (task.group * tasks.panels + task.panel) * panel_size();
    std::fill_n(sums, task.panels * panel_size(), T{});
    for (Index sample = task.first; sample < task.last; sample += tiles.images()) {
        const Index images = std::min(tiles.images(), task.last - sample);
        for (Index run = 0; run < tiles.runs(); ++run) {
            poll();
            const Index rows = tiles.tile_rows_of(run), of_image = rows * tiles.across();
            const Index count = images * of_image, panel_step = count * panel<T>;
            const Index point_step = point_size<T>(task.panels * count);
            for (Index i = 0; i < images; ++i) {
                const Index number = (sample + i) * g.groups + task.group;
                tiles.transform(input + number * g.channels * g.input_plane(), run, copy,
                                inputs + i * of_image);
                for (Index p = 0; p < task.panels; ++p) {
                    const Index output = (task.panel + p) * panel<T>;
                    lay_out(gradient + (number * g.outputs + output) * plane,
                            std::min(panel<T>, g.outputs - output), tiles.first_row(run), 2 * rows,
                            lines);
                    transform(lines, of_image, gradients + p * panel_step + i * of_image * panel<T>,
                              point_step);
                }
            }
            for (Index point = 0; point < points; ++point) {
                const T* column = gradients + point * point_step;
                for (Index p = 0; p < task.panels; ++p, column += panel_step) {
                    T* to = sums + p * panel_size() + point * channels_size();
                    for (Index c = 0; c < g.channels; c += tile_rows) {
                        const Index height = std::min<Index>(tile_rows, g.channels - c);
                        const T* from[tile_rows];
                        for (Index i = 0; i < height; ++i) {
                            from[i] = inputs + point * tiles.point_step() +
                                      (c + i) * tiles.channel_step();
                        }
                        const T* no_initial = nullptr;
                        add_products(height, from, numbers.data(), count, column, no_initial,
                                     to + c * panel<T>);
                    }
                }
            }
        }
    }
}

// lines[y][x][column] from `rows` rows of planes; what lies outside of them is zero.
template <class T>
void WinogradWeightPlan<T>::lay_out(const T* from, Index columns, Index row, Index rows,
                                    T* lines) const {
    const Index height = geometry.output[0], width = geometry.output[2];
    const Index line = 2 * tiles.across() * panel<T>;
    const bool whole = columns == panel<T> && width % 2 == 0 && row + rows <= height;
    if (!whole) std::fill_n(lines, rows * line, T{});
    for (Index y = 0; y < std::min(rows, height - row); ++y) {
        transpose(columns, width, from + (row + y) * width, height * width, lines + y * line,
                  panel<T>);
    }
}

// to[point][tile][column] from the lines of `count` tiles.
template <class T>
void WinogradWeightPlan<T>::transform(const T* lines, Index count, T* to, Index point_step) const {
    using V = Register<T>;
    const Index across = tiles.across(), line = 2 * across * panel<T>;
    for (Index tile = 0; tile < count; ++tile, to += panel<T>) {
        const T* from = lines + tile / across * 2 * line + tile % across * 2 * panel<T>;
        for (Index lane = 0; lane < panel<T>; lane += register_lanes<T>) {
            V left[4], right[4], row[4];
            auto at = [&](Index place) { return load_as<V>(from + place + lane); };
            transform_gradient(at(0), at(line), left);
            transform_gradient(at(panel<T>), at(line + panel<T>), right);
            for (int i = 0; i < 4; ++i) {
                transform_gradient(left[i], right[i], row);
                for (int j = 0; j < 4; ++j) {
                    store_as(to + (4 * i + j) * point_step + lane, row[j]);
                }
            }
        }
    }
}

// The sum of the parts of one panel, in the order of the weight; whether all of it is finite.
template <class T>
bool WinogradWeightPlan<T>::finish(Index number, const T* sums, T* out) const {
    using V = Register<T>;
    const Index group = number / tasks.panels, first = number % tasks.panels * panel<T>;
    const Index some = std::min(panel<T>, geometry.outputs - first);
    const Index taps = 9 * geometry.channels;
    Scratch<T> total(taps * panel<T>);
    V check = {};  // the sum of results times zero
    for (Index c = 0; c < geometry.channels; ++c) {
        for (Index lane = 0; lane < panel<T>; lane += register_lanes<T>) {
            const T* from = sums + number * panel_size() + c * panel<T> + lane;
            V rows[3][4];
            for (int j = 0; j < 4; ++j) {
                V m[4] = {}, column[3];
                for (Index part = 0; part < tasks.parts; ++part) {
                    const T* some_sums = from + part * part_size();
                    for (int i = 0; i < 4; ++i) {
                        m[i] += load_as<V>(some_sums + (4 * i + j) * channels_size());
                    }
                }
                transform_products(m, column);
                for (int i = 0; i < 3; ++i) rows[i][j] = column[i];
            }
            for (int i = 0; i < 3; ++i) {
                V row[3];
                transform_products(rows[i], row);
                for (int j = 0; j < 3; ++j) {
                    store_as(total.data() + (c * 9 + i * 3 + j) * panel<T> + lane, row[j]);
                    check = multiply_add(row[j], V{}, check);
                }
            }
        }
    }
    out += (group * geometry.outputs + first) * taps;
    transpose(taps, some, total.data(), panel<T>, out, taps);
    return is_zero<T>(check);
}

}  // namespace

template <class T>
bool weight_gradient_winograd(const Geometry& geometry, const T* gradient, const T* input,
                              T* out) {
    const WinogradWeightPlan<T> plan(geometry, gradient, input);
    Scratch<T> sums(plan.tasks.parts * plan.part_size());
    parallel_for(plan.tasks.count(), std::max<Index>(1, work_of_piece / plan.work()),
                 [&](Index begin, Index end) {
        Scratch<T> copy(plan.tiles.copied()), inputs(plan.tiles.size());
        Scratch<T> lines(plan.lines_size()), gradients(plan.gradients_size());
        for (Index task = begin; task < end; ++task) {
            plan.run(plan.tasks[task], copy.data(), inputs.data(), lines.data(), gradients.data(),
                     sums.data());
        }
    });
    std::atomic<bool> finite = true;
    const Index panel_work = plan.panel_size() * plan.tasks.parts;
    parallel_for(geometry.groups * plan.tasks.panels,
                 std::max<Index>(1, work_of_piece / 8 / panel_work),
                 [&](Index begin, Index end) {
        for (Index i = begin; i < end && finite; ++i) {
            if (!plan.finish(i, sums.data(), out)) finite = false;
        }
    });
    return finite;
}

template bool weight_gradient_winograd(const Geometry&, const float*, const float*, float*);
template bool weight_gradient_winograd(const Geometry&, const double*, const double*, double*);

}  // namespace nnkit
