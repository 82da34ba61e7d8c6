// The lines of an array that is written at positions.
#include "scattering.h"

namespace nnkit {
namespace {

// The positions as int64; none, with the error set, if there is no memory for a copy.
Array widened(Array index, Lines* lines) {
    if (index.type() == Type::int64) return index;
    lines->wide.reset(PyArray_FromArray(reinterpret_cast<PyArrayObject*>(index.object()),
                                        PyArray_DescrFromType(NPY_INT64), NPY_ARRAY_CARRAY_RO));
    return lines->wide.array();
}

}  // namespace

bool lines_of_elements(Array target, Array index, Array source, Index axis, Lines* lines) {
    int ndim = target.ndim();
    if (axis < 0 || axis >= ndim || index.ndim() != ndim || ndim > most_axes) return false;
    index = widened(index, lines);
    if (!index) return false;
    bool repeats = source.ndim() == 0;
    if (!repeats && source.ndim() != ndim) return false;
    int kept = 0;
    for (int i = 0; i < ndim; ++i) {
        Index n = index.shape(i), step = repeats ? 0 : source.strides()[i];
        if (!repeats && n > source.shape(i)) return false;
        if (i == axis) {
            lines->length = n;
            lines->position_step = index.strides()[i];
            lines->source_step = step;
            lines->stride = target.strides()[i];
            continue;
        }
        if (n > target.shape(i)) return false;
        lines->walk.shape[kept] = n;
        lines->operands[Lines::target].strides[kept] = target.strides()[i];
        lines->operands[Lines::positions].strides[kept] = index.strides()[i];
        lines->operands[Lines::source].strides[kept++] = step;
    }
    lines->walk.ndim = kept;
    lines->operands[Lines::target].data = target.bytes();
    lines->operands[Lines::positions].data = index.bytes();
    lines->operands[Lines::source].data = source.bytes();
    merge_axes(&lines->walk, lines->operands, Lines::count);
    return true;
}

bool lines_of_slices(Array target, const Slices& slices, Array source, Lines* lines) {
    int ndim = target.ndim();
    Array index = widened(slices.index, lines);
    bool repeats = source.ndim() == 0;
    if (!index || !index.is_plain() || (!repeats && !source.is_plain())) return false;
    if (!repeats && source.ndim() != ndim - slices.axes + index.ndim()) return false;
    int kept = 0;
    Index inner = item_bytes(source);
    for (int i = ndim - 1, k = source.ndim() - 1; i >= 0; --i) {
        if (i == slices.axis + slices.axes - 1) {
            lines->length = index.size();
            lines->position_step = item_bytes(index);
            lines->source_step = repeats ? 0 : inner;
            lines->stride = slices.stride;
            for (int j = index.ndim() - 1; j >= 0 && !repeats; --j) {
                if (source.shape(k--) != index.shape(j)) return false;
            }
            inner *= index.size();
            i -= slices.axes - 1;
            continue;
        }
        if (!repeats && source.shape(k--) != target.shape(i)) return false;
        lines->walk.shape[kept] = target.shape(i);
        lines->operands[Lines::target].strides[kept] = target.strides()[i];
        lines->operands[Lines::positions].strides[kept] = 0;
        lines->operands[Lines::source].strides[kept++] = repeats ? 0 : inner;
        inner *= target.shape(i);
    }
    lines->walk.ndim = kept;
    std::reverse(lines->walk.shape, lines->walk.shape + kept);
    for (Operand& operand : lines->operands) {
        std::reverse(operand.strides, operand.strides + kept);
    }
    lines->operands[Lines::target].data = target.bytes();
    lines->operands[Lines::positions].data = index.bytes();
    lines->operands[Lines::source].data = source.bytes();
    merge_axes(&lines->walk, lines->operands, Lines::count);
    return true;
}

bool all_in_bounds(Array index, Bounds* bounds) {
    Walk walk;
    walk.ndim = index.ndim();
    Operand operand;
    operand.data = index.bytes();
    std::copy_n(index.shape(), walk.ndim, walk.shape);
    std::copy_n(index.strides(), walk.ndim, operand.strides);
    merge_axes(&walk, &operand, 1);
    Index low = bounds->wraps ? -bounds->size : 0, size = bounds->size;
    with_position(index, [&](auto position) {
        using Position = decltype(position);
        Index step = step_of(walk, operand);
        parallel_for(walk.size(), moves_of_piece * 4, [&](Index begin, Index end) {
            bool inside = true;
            for_joint_rows<1>(walk, &operand, begin, end - begin,
                              [&](char* const* p, Index, Index length) {
                for (Index i = 0; i < length; ++i) {
                    Index k = read_at<Position>(p[0] + i * step);
                    inside &= k >= low && k < size;
                }
            });
            if (!inside) bounds->broken = true;
        });
    });
    return !bounds->broken;
}

}  // namespace nnkit
