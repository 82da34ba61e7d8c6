// The gradient of a convolution in its weight: the same tiles, summed over positions. The output's
// gradient is laid out as panels; the input is read where it lies, six taps at a time.
#include <algorithm>

#include "conv_kernels.h"
#include "conv_tile.h"
#include "conv_weight.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index block_of_positions = 256;  // so that a panel of them stays in the first cache
constexpr Index tasks_wanted = 16;

template <class T> struct WeightPlan {
    const Geometry& geometry;
    const T* gradient;
    const T* input;
    Pass pass;
    WeightTasks tasks;
    Index rows, runs, products;
    Region region;
    std::vector<Index> positions, offsets;

    WeightPlan(const Geometry& g, const T* gradient_, const T* input_)
        : geometry(g), gradient(gradient_), input(input_), pass(g.forward()),
          tasks(g, panel<T>, tasks_wanted), rows(rows_at_a_time(pass, g.channels, sizeof(T))),
          runs((g.output[0] + rows - 1) / rows), products(g.channels * g.places()),
          region(pass, g.channels, rows, sizeof(T)),
          positions(position_offsets(pass, region, rows)),
          offsets(tap_offsets(pass, region, g.channels)) {}

    Index panel_size() const { return products * panel<T>; }
    Index part_size() const { return tasks.groups * tasks.panels * panel_size(); }
    Index columns_size() const {
        return rows * pass.axes[1].outputs * pass.axes[2].outputs * panel<T> * panels_of_task;
    }

    void run(const WeightTask& task, T* copy, T* columns, T* sums) const;
    void lay_out(const T* from, Index first, Index count, T* columns) const;
    void finish(Index number, const T* sums, T* out) const;
};

template <class T>
void WeightPlan<T>::run(const WeightTask& task, T* copy, T* columns, T* sums) const {
    const Geometry& g = geometry;
    sums += task.part * part_size() + (task.group * tasks.panels + task.panel) * panel_size();
    std::fill_n(sums, task.panels * panel_size(), T{});
    const Index line = g.output[1] * g.output[2];
    const T* no_initial = nullptr;
    for (Index sample = task.first; sample < task.last; ++sample) {
        const Index number = sample * g.groups + task.group;
        const T* image = input + number * g.channels * g.input_plane();
        const T* above = gradient + number * g.outputs * g.output_plane();
        for (Index row = 0; row < g.output[0]; row += rows) {
            const Index some = std::min(rows, g.output[0] - row), count = some * line;
            const T* base = region.of(image, row, some, copy);
            for (Index p = 0; p < task.panels; ++p) {
                lay_out(above + row * line, (task.panel + p) * panel<T>, count,
                        columns + p * count * panel<T>);
            }
            for (Index start = 0; start < count; start += block_of_positions) {
                poll();
                const Index depth = std::min(block_of_positions, count - start);
                for (Index p = 0; p < task.panels; ++p) {
                    const T* block = columns + (p * count + start) * panel<T>;
                    for (Index k = 0; k < products; k += tile_rows) {
                        const Index height = std::min<Index>(tile_rows, products - k);
                        const T* from[tile_rows];
                        for (Index i = 0; i < height; ++i) {
                            from[i] = base + offsets[static_cast<std::size_t>(k + i)];
                        }
                        add_products(height, from, positions.data() + start, depth, block,
                                     no_initial, sums + p * panel_size() + k * panel<T>);
                    }
                }
            }
        }
    }
}

// columns[position][o] from the planes of the outputs first ... first + panel.
template <class T>
void WeightPlan<T>::lay_out(const T* from, Index first, Index count, T* columns) const {
    const Index plane = geometry.output_plane();
    const Index some = std::min(panel<T>, geometry.outputs - first);
    if (some < panel<T>) std::fill_n(columns, count * panel<T>, T{});
    transpose(some, count, from + first * plane, plane, columns, panel<T>);
}

// The sum of the parts of one panel, in the order of the weight.
template <class T> void WeightPlan<T>::finish(Index number, const T* sums, T* out) const {
    const Index group = number / tasks.panels, first = number % tasks.panels * panel<T>;
    const Index some = std::min(panel<T>, geometry.outputs - first);
    Scratch<T> total(panel_size());
    std::copy_n(sums + number * panel_size(), panel_size(), total.data());
    for (Index part = 1; part < tasks.parts; ++part) {
        const T* other = sums + part * part_size() + number * panel_size();
        for (Index i = 0; i < panel_size(); ++i) total[i] += other[i];
    }
    out += (group * geometry.outputs + first) * products;
    transpose(products, some, total.data(), panel<T>, out, products);
}

}  // namespace

template <class T>
void weight_gradient(const Geometry& geometry, const T* gradient, const T* input, T* out) {
    const WeightPlan<T> plan(geometry, gradient, input);
    Scratch<T> sums(plan.tasks.parts * plan.part_size());
    const Index work = plan.tasks.samples * geometry.output_plane() * plan.products * panel<T> *
                       plan.tasks.most_panels();
    const Index grain = std::max<Index>(1, work_of_piece / (work + 1));
    parallel_for(plan.tasks.count(), grain, [&](Index begin, Index end) {
        Scratch<T> copy(plan.region.copied()), columns(plan.columns_size());
        for (Index task = begin; task < end; ++task) {
            plan.run(plan.tasks[task], copy.data(), columns.data(), sums.data());
        }
    });
    const Index panel_work = plan.panel_size() * plan.tasks.parts;
    parallel_for(geometry.groups * plan.tasks.panels,
                 std::max<Index>(1, work_of_piece / 8 / panel_work),
                 [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) plan.finish(i, sums.data(), out);
    });
}

template void weight_gradient(const Geometry&, const float*, const float*, float*);
template void weight_gradient(const Geometry&, const double*, const double*, double*);

}  // namespace nnkit
