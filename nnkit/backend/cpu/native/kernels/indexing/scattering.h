// Writing at positions along an axis: every line along it is one thread's, and goes in order.
#pragma once

#include "indexing.h"

namespace nnkit {

// An array is seen as lines along an axis (or along the offsets that stand for several). Elements
// of different lines never meet, so lines may be cut among threads; within one, position after
// position is done in order. Result and sum are the same for any number of threads. The positions
// are int64: those of another type are copied, so that there is one loop for each step.
struct Lines {
    enum { target, positions, source, count };
    Walk walk;  // over the lines
    Operand operands[count];
    Index length = 0;      // of a line: so many positions
    Index position_step = 0, source_step = 0;  // bytes along a line
    Index stride = 0;      // bytes in the target that a position counts
    Owned wide;            // the positions where a copy of them had to be made

    // Whether lines lie apart in the target, so that one after the other goes through its memory.
    bool go_one_by_one() const {
        return walk.ndim == 0 || std::abs(stride) < std::abs(step_of(walk, operands[target]));
    }
};

// The lines of a target under an index that has its axes; a source of one element is repeated.
bool lines_of_elements(Array target, Array index, Array source, Index axis, Lines* lines);

// The lines of a target under positions in C order that stand for some of its axes. The source has
// their axes in that place, in C order; or it is one element.
bool lines_of_slices(Array target, const Slices& slices, Array source, Lines* lines);

// Whether all positions are in bounds, before anything is written.
bool all_in_bounds(Array index, Bounds* bounds);

// Runs `step(element, value, position)` for lines [begin, end).
template <class T, class Step>
void run_lines(const Lines& lines, Bounds* bounds, Index begin, Index end, Step step) {
    Index target_step = step_of(lines.walk, lines.operands[Lines::target]);
    Index position_step = step_of(lines.walk, lines.operands[Lines::positions]);
    Index source_step = step_of(lines.walk, lines.operands[Lines::source]);
    Index n = lines.length;
    Index along_positions = lines.position_step, along_source = lines.source_step;
    constexpr Index item = sizeof(T);
    bool one_by_one = lines.go_one_by_one();
    bool is_straight = one_by_one && lines.stride == item && along_source == item &&
                       along_positions == static_cast<Index>(sizeof(std::int64_t));
    auto size = static_cast<std::size_t>(bounds->size);
    auto run = [&, size, n](char* const* p, Index, Index width) {
        char *target = p[Lines::target], *positions = p[Lines::positions];
        char* source = p[Lines::source];
        if (is_straight) {
            for (Index j = 0; j < width; ++j) {
                auto* line = reinterpret_cast<T*>(target + j * target_step);
                auto* where = reinterpret_cast<const std::int64_t*>(positions + j * position_step);
                auto* values = reinterpret_cast<const T*>(source + j * source_step);
                for (Index i = 0; i < n; ++i) {
                    Index k = where[i];
                    if (static_cast<std::size_t>(k) >= size) k = bounds->checked(k);
                    step(line[k], values[i], k);
                }
            }
        } else if (one_by_one) {
            for (Index j = 0; j < width; ++j) {
                char* line = target + j * target_step;
                const char* where = positions + j * position_step;
                const char* values = source + j * source_step;
                for (Index i = 0; i < n; ++i) {
                    Index k = bounds->checked(read_at<std::int64_t>(where + i * along_positions));
                    step(at<T>(line + k * lines.stride), read_at<T>(values + i * along_source), k);
                }
            }
        } else if (position_step == 0 && target_step == item && source_step == item) {
            for (Index i = 0; i < n; ++i) {
                Index k = bounds->checked(read_at<std::int64_t>(positions + i * along_positions));
                T* row = &at<T>(target + k * lines.stride);
                const T* values = &at<T>(source + i * along_source);
                for (Index j = 0; j < width; ++j) step(row[j], values[j], k);
            }
        } else {
            for (Index i = 0; i < n; ++i) {
                const char* where = positions + i * along_positions;
                const char* values = source + i * along_source;
                for (Index j = 0; j < width; ++j) {
                    Index k = bounds->checked(read_at<std::int64_t>(where + j * position_step));
                    step(at<T>(target + j * target_step + k * lines.stride),
                         read_at<T>(values + j * source_step), k);
                }
            }
        }
    };
    for_joint_rows<Lines::count>(lines.walk, lines.operands, begin, end - begin, run);
}

}  // namespace nnkit
