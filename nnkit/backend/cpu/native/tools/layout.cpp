// The shape and the order in which several arrays are walked together.
#include "layout.h"

#include <algorithm>

#include "memory.h"
#include "owned.h"

namespace nnkit {
namespace {

// The distance of an array's elements along an axis; along an inserted one of size 1, which NumPy
// gives none, that of the elements inside of it, as torch does.
Index step_along(Array array, int axis) {
    Index step = array.strides()[axis];
    if (step != 0 || array.shape(axis) != 1) return std::abs(step);
    bool last = axis + 1 == array.ndim();
    return last ? static_cast<Index>(PyDataType_ELSIZE(array.descriptor()))
                : array.shape(axis + 1) * step_along(array, axis + 1);
}

}  // namespace

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

void sort_axes(const Index (*steps)[most_axes], int count, int ndim, const npy_intp* shape,
               int* order) {
    // Positive if axis a belongs outside of axis b, 0 if no operand says anything.
    auto compare = [&](int a, int b) {
        for (int k = 0; k < count; ++k) {
            Index step_a = steps[k][a], step_b = steps[k][b];
            if (step_a == 0 || step_b == 0) continue;
            if (step_a != step_b) return step_a > step_b ? 1 : -1;
            if (shape[a] > shape[b]) return 1;
        }
        return 0;
    };
    // The innermost axis first; an insertion sort that passes over axes of which nothing is known.
    int inner[most_axes];
    for (int i = 0; i < ndim; ++i) inner[i] = ndim - 1 - i;
    for (int i = 1; i < ndim; ++i) {
        for (int at = i, before = i - 1; before >= 0; --before) {
            int result = compare(inner[before], inner[at]);
            if (result < 0) break;
            if (result == 0) continue;
            std::swap(inner[before], inner[at]);
            at = before;
        }
    }
    std::reverse_copy(inner, inner + ndim, order);
}

void order_axes(const Array* arrays, Operand* operands, int count, int ndim, const npy_intp* shape,
                Walk* walk, const int* deciding, int deciding_count) {
    Index strides[most_operands_of_walk][most_axes], steps[most_operands_of_walk][most_axes];
    auto repeats = [&](int k, int i) {
        int axis = i - (ndim - arrays[k].ndim());
        return axis < 0 || (arrays[k].shape()[axis] == 1 && shape[i] != 1);
    };
    for (int k = 0; k < count; ++k) {
        int shift = ndim - arrays[k].ndim();
        for (int i = 0; i < ndim; ++i) {
            strides[k][i] = repeats(k, i) ? 0 : arrays[k].strides()[i - shift];
        }
    }
    if (deciding == nullptr) deciding_count = count;
    for (int n = 0; n < deciding_count; ++n) {
        int k = deciding == nullptr ? n : deciding[n];
        int shift = ndim - arrays[k].ndim();
        for (int i = 0; i < ndim; ++i) {
            steps[n][i] = repeats(k, i) ? 0 : step_along(arrays[k], i - shift);
        }
    }
    sort_axes(steps, deciding_count, ndim, shape, walk->order);
    walk->ndim = ndim;
    for (int i = 0; i < ndim; ++i) {
        walk->shape[i] = shape[walk->order[i]];
        for (int k = 0; k < count; ++k) operands[k].strides[i] = strides[k][walk->order[i]];
    }
}

PyObject* empty_in_order(int ndim, const npy_intp* shape, const int* order,
                         PyArray_Descr* descriptor) {
    npy_intp ordered[most_axes], back[most_axes];
    bool by_rows = true;
    for (int i = 0; i < ndim; ++i) {
        ordered[i] = shape[order[i]];
        back[order[i]] = i;
        by_rows = by_rows && order[i] == i;
    }
    PyObject* result = empty(ndim, ordered, descriptor);
    if (result == nullptr || by_rows) return result;
    PyArray_Dims axes{back, ndim};
    PyObject* turned = PyArray_Transpose(reinterpret_cast<PyArrayObject*>(result), &axes);
    Py_DECREF(result);
    return turned;
}

PyObject* empty_in_order_of(Array x, PyArray_Descr* descriptor) {
    Walk walk;
    Operand operand;
    order_axes(&x, &operand, 1, x.ndim(), x.shape(), &walk);
    return empty_in_order(x.ndim(), x.shape(), walk.order, descriptor);
}

PyObject* empty_as(Array x, PyArray_Descr* descriptor) {
    Owned result(x.is_plain() ? empty(x.ndim(), x.shape(), descriptor)
                              : empty_in_order_of(x, descriptor));
    if (!result || x.size() == 0) return result.release();
    Array out = result.array();
    Index size = static_cast<Index>(PyDataType_ELSIZE(x.descriptor()));
    Index size_of_copy = static_cast<Index>(PyDataType_ELSIZE(out.descriptor()));
    npy_intp strides[most_axes];
    bool differs = false;
    for (int i = 0; i < x.ndim(); ++i) {
        strides[i] = x.strides()[i] / size * size_of_copy;
        if (strides[i] == out.strides()[i]) continue;
        if (x.shape(i) != 1) return result.release();  // x has gaps
        differs = true;
    }
    return differs ? view_of(out, x.ndim(), x.shape(), strides) : result.release();
}

bool has_channels_last(Array x) {
    if ((x.ndim() != 4 && x.ndim() != 5) || x.is_plain() || !x.is_behaved()) return false;
    Index step = static_cast<Index>(PyDataType_ELSIZE(x.descriptor()));
    auto follows = [&](int axis) {
        bool fits = x.shape(axis) == 1 || x.strides()[axis] == step;
        step *= x.shape(axis);
        return fits;
    };
    bool all = follows(1);
    for (int i = x.ndim() - 1; i > 1; --i) all = all && follows(i);
    return all && follows(0);
}

PyObject* view_of(Array x, int ndim, const npy_intp* shape, const npy_intp* strides, Index offset,
                  PyArray_Descr* descriptor) {
    if (descriptor == nullptr) Py_INCREF(descriptor = x.descriptor());
    int flags = x.is_writeable() ? NPY_ARRAY_WRITEABLE : 0;
    PyObject* view = PyArray_NewFromDescr(&PyArray_Type, descriptor, ndim, shape, strides,
                                          x.bytes() + offset, flags, nullptr);
    if (view == nullptr) return nullptr;
    auto* array = reinterpret_cast<PyArrayObject*>(view);
    if (PyArray_SetBaseObject(array, Py_NewRef(x.object())) < 0) Py_CLEAR(view);
    return view;
}

PyObject* with_axis_moved(Array x, int from, int to) {
    npy_intp axes[most_axes];
    for (int i = 0, next = 0; i < x.ndim(); ++i) {
        if (i == to) {
            axes[i] = from;
            continue;
        }
        if (next == from) ++next;
        axes[i] = next++;
    }
    PyArray_Dims order{axes, x.ndim()};
    return PyArray_Transpose(reinterpret_cast<PyArrayObject*>(x.object()), &order);
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
