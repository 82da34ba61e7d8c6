// How the pieces of a convolution are handed out: the tasks of several passes, and the parts of a
// batch whose sums are added up in the end.
#pragma once

#include <algorithm>
#include <vector>

#include "conv_kernels.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {

// Runs the tasks of `Plan(product, pass, where its weights lie)` for each pass of a product. A plan
// has tasks(), work() of one, packed(), copied() and scratch() elements, pack() and run().
template <class Plan, class T> void run_passes(const Product<T>& product) {
    std::vector<Plan> plans;
    plans.reserve(product.passes.size());
    Index packed_size = 0, copied = 0, scratch = 0, tasks = 0, work = 0;
    for (const Pass& pass : product.passes) {
        plans.emplace_back(product, pass, packed_size);
        const Plan& plan = plans.back();
        packed_size += plan.packed();
        copied = std::max(copied, plan.copied());
        scratch = std::max(scratch, plan.scratch());
        tasks += plan.tasks();
        work += plan.work();
    }
    Scratch<T> packed(packed_size);
    for (const Plan& plan : plans) plan.pack(packed.data());
    // A multiplication takes some four times as long as in tiles: there is more to move around it.
    const Index grain = std::max<Index>(1, work_of_piece / 4 / (work / tasks + 1));
    parallel_for(tasks, grain, [&](Index begin, Index end) {
        Scratch<T> copy(copied), sums(scratch);
        Index first = 0;
        for (const Plan& plan : plans) {
            const Index stop = std::min(end - first, plan.tasks());
            for (Index task = std::max<Index>(0, begin - first); task < stop; ++task) {
                plan.run(task, packed.data(), copy.data(), sums.data());
            }
            first += plan.tasks();
        }
    });
}

// `compute(to)` writes `parts` arrays of `size` elements one after the other; their sum goes to
// `out`.
template <class T, class Compute> void sum_parts(Index parts, Index size, T* out, Compute compute) {
    if (parts == 1) return compute(out);
    Scratch<T> each(parts * size);
    compute(each.data());
    std::copy_n(each.data(), size, out);
    for (Index part = 1; part < parts; ++part) {
        const T* other = each.data() + part * size;
        for (Index i = 0; i < size; ++i) out[i] += other[i];
    }
}

}  // namespace nnkit
