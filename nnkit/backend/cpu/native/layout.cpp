// The shape and the order in which several arrays are walked together.
#include "layout.h"

#include <algorithm>

namespace nnkit {

bool broadcast_shapes(const Array* arrays, int count, int* ndim, npy_intp* shape) {
    *ndim = 0;
    for (int k = 0; k < count; ++k) *ndim = std::max(*ndim, arrays[k].ndim());
    if (*ndim > most_axes) return false;
    std::fill(shape, shape + *ndim, npy_intp{1});
    for (int k = 0; k < count; ++k) {
        int shift = *ndim - arrays[k].ndim();
        for (int i = 0; i < arrays[k].ndim(); ++i) {
            npy_intp size = arrays[k].shape()[i];
            npy_intp& common = shape[i + shift];
            if (common == 1) common = size;
            else if (size != 1 && size != common) return false;
        }
    }
    return true;
}

void order_axes(const Array* arrays, Operand* operands, int count, int ndim, const npy_intp* shape,
                Walk* walk) {
    Index strides[most_operands_of_walk][most_axes];
    for (int k = 0; k < count; ++k) {
        int shift = ndim - arrays[k].ndim();
        for (int i = 0; i < ndim; ++i) {
            bool repeats = i < shift || arrays[k].shape()[i - shift] == 1;
            strides[k][i] = repeats ? 0 : arrays[k].strides()[i - shift];
        }
    }
    // NumPy's rule: an insertion sort from the last axis on. An axis moves inwards past another if the
    // operands that move along both say so; where they disagree, C order wins.
    for (int i = 0; i < ndim; ++i) walk->order[i] = i;
    for (int placed = ndim - 2; placed >= 0; --placed) {
        int axis = walk->order[placed], target = placed;
        for (int at = placed + 1; at < ndim; ++at) {
            bool decided = false, inwards = false;
            for (int k = 0; k < count; ++k) {
                Index a = std::abs(strides[k][axis]), b = std::abs(strides[k][walk->order[at]]);
                if (a == 0 || b == 0) continue;
                if (a >= b) inwards = false;
                else if (!decided) inwards = true;
                decided = true;
            }
            if (decided && !inwards) break;
            if (inwards) target = at;
        }
        std::rotate(walk->order + placed, walk->order + placed + 1, walk->order + target + 1);
    }
    walk->ndim = ndim;
    for (int i = 0; i < ndim; ++i) {
        walk->shape[i] = shape[walk->order[i]];
        for (int k = 0; k < count; ++k) operands[k].strides[i] = strides[k][walk->order[i]];
    }
}

void merge_axes(Walk* walk, Operand* operands, int count) {
    int kept = 0;
    for (int i = 0; i < walk->ndim; ++i) {
        if (walk->shape[i] == 1) continue;
        bool joins = kept > 0;
        for (int k = 0; joins && k < count; ++k) {
            joins = operands[k].strides[kept - 1] == operands[k].strides[i] * walk->shape[i];
        }
        if (joins) walk->shape[kept - 1] *= walk->shape[i];
        else walk->shape[kept++] = walk->shape[i];
        for (int k = 0; k < count; ++k) operands[k].strides[kept - 1] = operands[k].strides[i];
    }
    walk->ndim = kept;
}

}  // namespace nnkit
