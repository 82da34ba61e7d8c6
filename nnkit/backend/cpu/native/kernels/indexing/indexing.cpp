// Positions that are integer arrays, and fresh arrays to write into.
#include "indexing.h"
#include "owned.h"

namespace nnkit {
namespace {

bool is_full_slice(PyObject* item) {
    if (!PySlice_Check(item)) return false;
    auto* slice = reinterpret_cast<PySliceObject*>(item);
    return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

// Adds stride * position to every offset; the positions have the strides of a broadcast array.
template <class Position>
void add_offsets(const Walk& walk, const Operand* operands, Index stride, Bounds* bounds) {
    Index step = step_of(walk, operands[1]);
    auto add = [&](char* const* p, Index, Index length) {
        auto* offsets = reinterpret_cast<std::int64_t*>(p[0]);
        for (Index j = 0; j < length; ++j) {
            offsets[j] += stride * bounds->checked(read_at<Position>(p[1] + j * step));
        }
    };
    for_joint_rows<2>(walk, operands, 0, walk.size(), add);
}

}  // namespace

bool read_array_index(PyObject* object, int ndim, ArrayIndex* index) {
    if (!PyTuple_CheckExact(object)) return false;
    PyObject* const* items = &PyTuple_GET_ITEM(object, 0);
    Index count = PyTuple_GET_SIZE(object);
    if (count > ndim || count == 0) return false;
    bool ended = false;
    for (Index i = 0; i < count; ++i) {
        if (PyArray_CheckExact(items[i])) {
            Array array(items[i]);
            if (ended || index->count == 8 || array.ndim() == 0 || !is_index(array)) return false;
            index->arrays[index->count++] = array;
        } else if (!is_full_slice(items[i])) {
            return false;
        } else if (index->count == 0) {
            ++index->axis;
        } else {
            ended = true;
        }
    }
    return index->count > 0;
}

bool find_slices(Array x, const ArrayIndex& index, Owned* offsets, Slices* slices,
                 Bounds* bounds) {
    slices->axis = index.axis;
    slices->axes = index.count;
    if (index.count == 1) {
        slices->index = index.arrays[0];
        slices->stride = x.strides()[index.axis];
        bounds->size = x.shape(index.axis);
        return true;
    }
    int ndim;
    npy_intp shape[most_axes];
    if (!broadcast_shapes(index.arrays, index.count, &ndim, shape)) return false;
    offsets->reset(zeros(ndim, shape, PyArray_DescrFromType(NPY_INT64)));
    if (!*offsets) return false;
    Array out = offsets->array();
    for (int k = 0; k < index.count && out.size() > 0; ++k) {
        Array positions = index.arrays[k];
        Index stride = x.strides()[index.axis + k];
        bounds->size = x.shape(index.axis + k);
        if (stride < 0) return false;
        Walk walk;
        walk.ndim = ndim;
        Operand operands[2];
        operands[0].data = out.bytes();
        operands[1].data = positions.bytes();
        int shift = ndim - positions.ndim();
        for (int i = 0; i < ndim; ++i) {
            bool repeats = i < shift || positions.shape(i - shift) == 1;
            walk.shape[i] = shape[i];
            operands[0].strides[i] = out.strides()[i];
            operands[1].strides[i] = repeats ? 0 : positions.strides()[i - shift];
        }
        merge_axes(&walk, operands, 2);
        with_position(positions, [&](auto position) {
            add_offsets<decltype(position)>(walk, operands, stride, bounds);
        });
    }
    if (bounds->broken) return false;
    slices->index = out;
    slices->stride = 1;
    bounds->size = PTRDIFF_MAX;
    return true;
}

bool may_overlap(Array a, Array b) {
    auto extent = [](Array x, char** low, char** high) {
        *low = *high = x.bytes();
        for (int i = 0; i < x.ndim(); ++i) {
            Index reach = x.strides()[i] * (x.shape(i) - 1);
            (reach < 0 ? *low : *high) += reach;
        }
        *high += item_bytes(x);
    };
    char *low_a, *high_a, *low_b, *high_b;
    extent(a, &low_a, &high_a);
    extent(b, &low_b, &high_b);
    return low_a < high_b && low_b < high_a;
}

PyObject* zeros(int ndim, const npy_intp* shape, PyArray_Descr* descriptor) {
    Owned result(empty(ndim, shape, descriptor));
    if (!result) return nullptr;
    Array out = result.array();
    char* bytes = out.bytes();
    parallel_for(out.size() * item_bytes(out), moves_of_piece * 16, [&](Index begin, Index end) {
        std::memset(bytes + begin, 0, static_cast<std::size_t>(end - begin));
    });
    return result.release();
}

}  // namespace nnkit
