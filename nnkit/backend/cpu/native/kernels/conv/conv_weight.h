// How a gradient in the weight is cut into tasks; not by the number of threads, so that no sum
// depends on it.
#pragma once

#include <algorithm>

#include "conv_plan.h"

namespace nnkit {

constexpr Index panels_of_task = 4;  // that share what is prepared of the input

// A part of the samples for a set of the panels of a group.
struct WeightTask {
    Index part, group, panel, panels;  // the first panel, and how many
    Index first, last;                 // samples
};

struct WeightTasks {
    Index batch, groups, panels, sets, parts, samples;

    // `columns`: outputs in a panel; `wanted`: how many tasks there should at least be.
    WeightTasks(const Geometry& g, Index columns, Index wanted)
        : batch(g.batch), groups(g.groups), panels((g.outputs + columns - 1) / columns),
          sets((panels + panels_of_task - 1) / panels_of_task),
          parts(std::clamp<Index>(wanted / (g.groups * sets), 1, g.batch)),
          samples((g.batch + parts - 1) / parts) {
        parts = (g.batch + samples - 1) / samples;
    }

    Index count() const { return parts * groups * sets; }
    Index most_panels() const { return std::min(panels_of_task, panels); }
    WeightTask operator[](Index number) const {
        const Index part = number / (groups * sets), panel = number % sets * panels_of_task;
        return {part, number / sets % groups, panel, std::min(panels_of_task, panels - panel),
                part * samples, std::min(batch, (part + 1) * samples)};
    }
};

}  // namespace nnkit
