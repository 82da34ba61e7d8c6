// Reading at positions: gather, index_select, take, embedding, and indices of whole arrays.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "indexing.h"
#include "rows.h"

namespace nnkit {
namespace {

// Operands of a reading walk: the result, the positions, and the array (no stride along the axis).
enum { result_, positions_, source_, operand_count };

// Rows [begin, end) of so many bytes, each at a position; those to come are fetched ahead.
template <class Position>
void read_slices(const Operand* operands, const Index* steps, Index axis_stride, Bounds* bounds,
                 Index begin, Index end, Index bytes) {
    constexpr Index ahead = 8;
    auto at_row = [&](int operand, Index row) {
        return operands[operand].data + row * steps[operand];
    };
    for (Index row = begin; row < end; ++row) {
        if (row + ahead < end) {
            const Index next = read_at<Position>(at_row(positions_, row + ahead));
            if (next >= 0 && next < bounds->size) {
                const char* from = at_row(source_, row + ahead) + next * axis_stride;
                for (Index k = 0; k < std::min<Index>(bytes, 512); k += 64) {
                    __builtin_prefetch(from + k);
                }
            }
        }
        const Index k = bounds->checked(read_at<Position>(at_row(positions_, row)));
        std::memcpy(at_row(result_, row), at_row(source_, row) + k * axis_stride,
                    static_cast<std::size_t>(bytes));
    }
}

template <class Item, class Position>
void read_rows(const Walk& walk, const Operand* operands, Index axis_stride, Bounds* bounds,
               Index begin, Index end) {
    Index out_step = step_of(walk, operands[result_]);
    Index at_step = step_of(walk, operands[positions_]);
    Index in_step = step_of(walk, operands[source_]);
    bool is_slice = at_step == 0 && in_step == static_cast<Index>(sizeof(Item)) &&
                    out_step == in_step;
    constexpr Index item = sizeof(Item);
    bool is_straight = axis_stride == item && in_step == 0 && out_step == item &&
                       at_step == static_cast<Index>(sizeof(Position));
    auto size = static_cast<std::size_t>(bounds->size);
    if (is_slice && walk.ndim == 2) {
        const Index length = walk.shape[1], steps[] = {operands[result_].strides[0],
                                                       operands[positions_].strides[0],
                                                       operands[source_].strides[0]};
        if (begin % length == 0 && end % length == 0) {
            read_slices<Position>(operands, steps, axis_stride, bounds, begin / length,
                                  end / length, length * item);
            return;
        }
    }
    auto read = [&, size](char* const* p, Index, Index length) {
        if (is_slice) {
            Index k = bounds->checked(read_at<Position>(p[positions_]));
            std::memcpy(p[result_], p[source_] + k * axis_stride,
                        static_cast<std::size_t>(length) * sizeof(Item));
            return;
        }
        if (is_straight) {
            auto* where = reinterpret_cast<const Position*>(p[positions_]);
            auto* from = reinterpret_cast<const Item*>(p[source_]);
            auto* to = reinterpret_cast<Item*>(p[result_]);
            for (Index j = 0; j < length; ++j) {
                Index k = where[j];
                if (static_cast<std::size_t>(k) >= size) k = bounds->checked(k);
                to[j] = from[k];
            }
            return;
        }
        const char *positions = p[positions_], *source = p[source_];
        char* out = p[result_];
        for (Index j = 0; j < length; ++j) {
            Index k = bounds->checked(read_at<Position>(positions + j * at_step));
            at<Item>(out + j * out_step) = read_at<Item>(source + j * in_step + k * axis_stride);
        }
    };
    for_joint_rows<operand_count>(walk, operands, begin, end - begin, read);
}

// Fills a new array, which it takes over, from `x`. Each of its axes has a stride in positions and in
// x; the positions count along one axis of x, `axis_stride` bytes apart. `order` is that of the axes
// in its memory.
PyObject* read_at_positions(PyObject* fresh, const int* order, Array x, Array index,
                            const Index* index_strides, const Index* x_strides, Index axis_stride,
                            Bounds* bounds) {
    Owned result(fresh);
    if (!result) return nullptr;
    Array out = result.array();
    int ndim = out.ndim();
    if (out.size() == 0) return result.release();
    if (bounds->size == 0) return decline();
    Walk walk;
    walk.ndim = ndim;
    Operand operands[operand_count];
    operands[result_].data = out.bytes();
    operands[positions_].data = index.bytes();
    operands[source_].data = x.bytes();
    for (int i = 0; i < ndim; ++i) {
        int axis = order[i];
        walk.shape[i] = out.shape(axis);
        operands[result_].strides[i] = out.strides()[axis];
        operands[positions_].strides[i] = index_strides[axis];
        operands[source_].strides[i] = x_strides[axis];
    }
    merge_axes(&walk, operands, operand_count);
    Index grain = std::max<Index>(1, moves_of_piece * 8 / (item_bytes(x) + 4));
    if (walk.ndim == 2) grain = (grain + walk.shape[1] - 1) / walk.shape[1] * walk.shape[1];
    with_item(item_bytes(x), [&](auto item) {
        with_position(index, [&](auto position) {
            parallel_for(out.size(), grain, [&](Index begin, Index end) {
                read_rows<decltype(item), decltype(position)>(walk, operands, axis_stride, bounds,
                                                              begin, end);
            });
        });
    });
    return bounds->broken ? decline() : result.release();
}

// gather(x, index; axis): index has the axes of x.
PyObject* gather(Arguments arguments) {
    Array x = arguments.array(0), index = arguments.array(1);
    Index axis = arguments.integer(2);
    if (!x || !is_movable(x) || !x.is_behaved() || !is_index(index)) return decline();
    if (x.ndim() == 0 || x.ndim() != index.ndim() || axis < 0 || axis >= x.ndim()) return decline();
    Index x_strides[most_axes], index_strides[most_axes];
    int order[most_axes];
    if (x.ndim() > most_axes) return decline();
    for (int i = 0; i < x.ndim(); ++i) {
        if (i != axis && index.shape(i) > x.shape(i)) return decline();
        x_strides[i] = i == axis ? 0 : x.strides()[i];
        index_strides[i] = index.strides()[i];
        order[i] = i;
    }
    Bounds bounds{x.shape(static_cast<int>(axis))};
    Py_INCREF(x.descriptor());
    PyObject* fresh = empty(x.ndim(), index.shape(), x.descriptor());
    return read_at_positions(fresh, order, x, index, index_strides, x_strides, x.strides()[axis],
                             &bounds);
}

// The steps along the axes of a result of positions that count along `common` of them, from axis
// `before` on, and have axes of size 1 beside them (its twin is `_seen_among` in backend/index.py).
void steps_among(Array positions, int before, int common, int ndim, const npy_intp* shape,
                 Index* steps) {
    int missing = common - positions.ndim();
    auto own = [&](int k) {
        bool repeats = k < missing || positions.shape(k - missing) != shape[before + k];
        return repeats ? Index{0} : positions.strides()[k - missing];
    };
    Index step = own(common - 1), count = 1;
    for (int i = before + common; i < ndim; ++i) steps[i] = shape[i] == 1 ? step : 0;
    for (int k = common - 1; k >= 0; --k) {
        Index size = shape[before + k];
        if (size != 1 && own(k) != count * step) {
            step = own(k);
            count = 1;
        }
        steps[before + k] = count * step;
        count *= size;
    }
    for (int i = 0; i < before; ++i) steps[i] = shape[i] == 1 ? count * step : 0;
}

// Positions of any shape in place of some axes of x. The result lies by rows, or as x and the
// positions do that are `walked` together.
PyObject* read_slices(Array x, const Slices& slices, Bounds* bounds, const ArrayIndex* walked) {
    int ndim = x.ndim() - slices.axes + slices.index.ndim();
    if (ndim > most_axes) return decline();
    npy_intp shape[most_axes];
    Index strides[2][most_axes];  // of x and of the positions
    int order[most_axes];
    int at = 0;
    auto add = [&](npy_intp size, Index x_stride, Index index_stride) {
        shape[at] = size;
        strides[0][at] = x_stride;
        strides[1][at] = index_stride;
        order[at] = at;
        ++at;
    };
    for (int i = 0; i <= x.ndim(); ++i) {
        if (i == slices.axis) {
            Array index = slices.index;
            for (int k = 0; k < index.ndim(); ++k) add(index.shape(k), 0, index.strides()[k]);
            i += slices.axes;
        }
        if (i < x.ndim()) add(x.shape(i), x.strides()[i], 0);
    }
    if (walked != nullptr) {
        if (std::find(shape, shape + ndim, 0) != shape + ndim) return decline();
        Index steps[1 + std::size(walked->arrays)][most_axes];
        std::copy(strides[0], strides[0] + ndim, steps[0]);
        for (int k = 0; k < walked->count; ++k) {
            steps_among(walked->arrays[k], slices.axis, slices.index.ndim(), ndim, shape,
                        steps[1 + k]);
        }
        sort_axes(steps, 1 + walked->count, ndim, shape, order);
    }
    Py_INCREF(x.descriptor());
    PyObject* fresh = empty_in_order(ndim, shape, order, x.descriptor());
    return read_at_positions(fresh, order, x, slices.index, strides[1], strides[0], slices.stride,
                             bounds);
}

PyObject* read_along(Array x, Array index, Index axis) {
    if (!x || !is_movable(x) || !x.is_behaved() || !is_index(index)) return decline();
    if (axis < 0 || axis >= x.ndim()) return decline();
    Bounds bounds{x.shape(static_cast<int>(axis))};
    return read_slices(x, {static_cast<int>(axis), 1, index, x.strides()[axis]}, &bounds, nullptr);
}

// index_select(x, index; axis)
PyObject* index_select(Arguments arguments) {
    return read_along(arguments.array(0), arguments.array(1), arguments.integer(2));
}

// take(x, index): positions in the memory of rows of x.
PyObject* take(Arguments arguments) {
    Array x = arguments.array(0), index = arguments.array(1);
    if (!x || !is_movable(x) || !is_index(index) || index.ndim() > most_axes) return decline();
    Owned rows(in_order(x));
    if (!rows) return nullptr;
    Index x_strides[most_axes] = {}, index_strides[most_axes];
    int order[most_axes];
    std::iota(order, order + index.ndim(), 0);
    std::copy_n(index.strides(), index.ndim(), index_strides);
    Bounds bounds{x.size(), true};
    Py_INCREF(x.descriptor());
    PyObject* fresh = empty(index.ndim(), index.shape(), x.descriptor());
    return read_at_positions(fresh, order, rows.array(), index, index_strides, x_strides,
                             item_bytes(x), &bounds);
}

// wrap_index(index; size)
PyObject* wrap_index(Arguments arguments) {
    Array index = arguments.array(0);
    const Index size = arguments.integer(1);
    if (!index || index.type() != Type::int64 || !index.is_plain()) return decline();
    const std::int64_t* given = index.data<std::int64_t>();
    bool is_within = true;
    for (Index i = 0; i < index.size(); ++i) is_within &= given[i] >= -size && given[i] < size;
    if (!is_within) return decline();
    Owned result(empty_like(index));
    if (!result) return nullptr;
    std::int64_t* out = result.array().data<std::int64_t>();
    for (Index i = 0; i < index.size(); ++i) out[i] = given[i] < 0 ? given[i] + size : given[i];
    return result.release();
}

// embedding(weight, index; padding_idx, scale_grad_by_freq)
PyObject* embedding(Arguments arguments) {
    return read_along(arguments.array(0), arguments.array(1), 0);
}

// index(x; positions): integer arrays that follow each other among full slices, or one mask.
PyObject* index(Arguments arguments) {
    Array x = arguments.array(0);
    if (!x || !is_movable(x) || !x.is_behaved()) return decline();
    if (PyTuple_CheckExact(arguments[1]) && PyTuple_GET_SIZE(arguments[1]) == 1) {
        PyObject* only = PyTuple_GET_ITEM(arguments[1], 0);
        if (PyArray_CheckExact(only) && Array(only).type() == Type::boolean) {
            return select_by_mask(x, Array(only));
        }
    }
    ArrayIndex index;
    if (!read_array_index(arguments[1], x.ndim(), &index)) return decline();
    Owned offsets;
    Slices slices;
    Bounds bounds{0, true};
    if (!find_slices(x, index, &offsets, &slices, &bounds)) return decline();
    return read_slices(x, slices, &bounds, &index);
}

Registration gather_("gather", gather);
Registration index_select_("index_select", index_select);
Registration take_("take", take);
Registration wrap_index_("wrap_index", wrap_index);
Registration embedding_("embedding", embedding);
Registration index_("index", index);

}  // namespace
}  // namespace nnkit
