// Copies between arrays of any layout, and between types of numbers.
#pragma once

#include "indexing.h"

namespace nnkit {

// A walk over the elements of two arrays: where to, and where from.
struct Move {
    enum { to, from, count };
    Walk walk;
    Operand operands[count];

    // Adds an axis, from the outermost to the innermost.
    void add_axis(Index size, Index stride_to, Index stride_from) {
        walk.shape[walk.ndim] = size;
        operands[to].strides[walk.ndim] = stride_to;
        operands[from].strides[walk.ndim++] = stride_from;
    }
};

// Moves elements of `bytes` bytes; false for a size that no number has.
bool run_move(Move& move, Index bytes);

// Whether there is a loop that converts one type into the other.
bool can_convert(Type from, Type to);
// Moves and converts; the types are those of the operands.
void run_conversion(Move& move);

}  // namespace nnkit
