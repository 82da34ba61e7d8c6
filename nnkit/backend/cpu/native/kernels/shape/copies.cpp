// Copies into new shapes: contiguous, cast, concat, stack, flip and tile.
#include <algorithm>
#include <numeric>

#include "moving.h"
#include "owned.h"
#include "rows.h"

namespace nnkit {
namespace {

bool is_operand(Array x) { return x && is_movable(x) && x.is_behaved() && x.ndim() <= most_axes; }

PyObject* empty_of(int ndim, const npy_intp* shape, Array like) {
    Py_INCREF(like.descriptor());
    return empty(ndim, shape, like.descriptor());
}

// All elements of one array to the other, of the same shape, in the order of the memory of the first;
// from the other end along the axes that are turned.
Move move_between(Array to, Array from, const bool* turned = nullptr) {
    int order[most_axes];
    std::iota(order, order + to.ndim(), 0);
    if (!to.is_plain()) {
        std::stable_sort(order, order + to.ndim(), [to](int a, int b) {
            return std::abs(to.strides()[a]) > std::abs(to.strides()[b]);
        });
    }
    Move move;
    move.operands[Move::to].data = to.bytes();
    move.operands[Move::from].data = from.bytes();
    move.operands[Move::to].type = to.type();
    move.operands[Move::from].type = from.type();
    for (int i = 0; i < to.ndim(); ++i) {
        int axis = order[i];
        Index size = to.shape(axis), stride = from.strides()[axis];
        if (turned != nullptr && turned[axis]) {
            move.operands[Move::from].data += (size - 1) * stride;
            stride = -stride;
        }
        move.add_axis(size, to.strides()[axis], stride);
    }
    return move;
}

void copy_elements(Array to, Array from) {
    Move move = move_between(to, from);
    run_move(move, item_bytes(to));
}

PyObject* copy_of(Array x) {
    Py_INCREF(x.descriptor());
    Owned result(empty_as(x, x.descriptor()));
    if (result) copy_elements(result.array(), x);
    return result.release();
}

// copy(x)
PyObject* copy(Arguments arguments) {
    Array x = arguments.array(0);
    return is_operand(x) ? copy_of(x) : decline();
}

// contiguous(x)
PyObject* contiguous(Arguments arguments) {
    Array x = arguments.array(0);
    if (!is_operand(x)) return decline();
    return x.is_plain() ? Py_NewRef(x.object()) : plain_copy(x);
}

// copy_(x, source)
PyObject* copy_into(Arguments arguments) {
    Array x = arguments.array(0), source = arguments.array(1);
    if (!is_operand(x) || !is_operand(source) || !x.is_writeable()) return decline();
    int shift = x.ndim() - source.ndim();
    bool converts = x.number() != source.number();
    if (shift < 0 || (converts && !can_convert(source.type(), x.type()))) return decline();
    if (x.size() > 0 && source.size() > 0 && may_overlap(x, source)) return decline();
    Move move;
    move.operands[Move::to].data = x.bytes();
    move.operands[Move::from].data = source.bytes();
    move.operands[Move::to].type = x.type();
    move.operands[Move::from].type = source.type();
    for (int i = 0; i < x.ndim(); ++i) {
        bool repeats = i < shift || source.shape(i - shift) == 1;
        if (!repeats && source.shape(i - shift) != x.shape(i)) return decline();
        move.add_axis(x.shape(i), x.strides()[i], repeats ? 0 : source.strides()[i - shift]);
    }
    if (converts) run_conversion(move);
    else run_move(move, item_bytes(x));
    return Py_NewRef(x.object());
}

// cast(x; dtype)
PyObject* cast(Arguments arguments) {
    Array x = arguments.array(0);
    if (!x || x.ndim() > most_axes || !x.is_behaved()) return decline();
    if (!PyArray_DescrCheck(arguments[1])) return decline();
    auto* descriptor = reinterpret_cast<PyArray_Descr*>(arguments[1]);
    if (descriptor->type_num == x.number() && is_movable(x)) return copy_of(x);
    Py_INCREF(descriptor);
    Owned result(empty_as(x, descriptor));
    if (!result) return nullptr;
    Array out = result.array();
    if (!out.is_behaved() || !can_convert(x.type(), out.type())) return decline();
    Move move = move_between(out, x);
    run_conversion(move);
    return result.release();
}

// Arrays side by side along an axis, or along a new one.
PyObject* join(Arguments arguments, bool is_new_axis) {
    PyObject* list = arguments[0];
    Index axis = arguments.integer(1);
    if (!PyList_CheckExact(list) && !PyTuple_CheckExact(list)) return decline();
    Index count = PySequence_Fast_GET_SIZE(list);
    PyObject** items = PySequence_Fast_ITEMS(list);
    if (count == 0 || !PyArray_CheckExact(items[0])) return decline();
    Array first(items[0]);
    int ndim = first.ndim() + is_new_axis;
    if (!is_operand(first) || ndim > most_axes || axis < 0 || axis >= ndim) return decline();
    npy_intp shape[most_axes];
    for (int i = 0, k = 0; i < ndim; ++i) {
        shape[i] = is_new_axis && i == axis ? count : first.shape(k++);
    }
    if (!is_new_axis) shape[axis] = 0;
    for (Index k = 0; k < count; ++k) {
        if (!PyArray_CheckExact(items[k])) return decline();
        Array x(items[k]);
        if (x.number() != first.number() || !x.is_plain() || x.ndim() != first.ndim()) {
            return decline();
        }
        for (int i = 0; i < x.ndim(); ++i) {
            if ((is_new_axis || i != axis) && x.shape(i) != first.shape(i)) return decline();
        }
        if (!is_new_axis) shape[axis] += x.shape(static_cast<int>(axis));
    }
    Owned result(empty_of(ndim, shape, first));
    if (!result) return nullptr;
    Array out = result.array();
    Index outer = 1, bytes = item_bytes(first);
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    if (outer == 0) return result.release();
    Index line = out.size() / outer * bytes;
    char* target = out.bytes();
    for (Index k = 0; k < count; ++k) {
        Array x(items[k]);
        Index run = x.size() / outer * bytes;
        Move move;
        move.operands[Move::to].data = target;
        move.operands[Move::from].data = x.bytes();
        move.add_axis(outer, line, run);
        move.add_axis(run / bytes, bytes, bytes);
        run_move(move, bytes);
        target += run;
    }
    return result.release();
}

PyObject* concat(Arguments arguments) { return join(arguments, false); }
PyObject* stack(Arguments arguments) { return join(arguments, true); }

// flip(x; axes)
PyObject* flip(Arguments arguments) {
    Array x = arguments.array(0);
    Index axes[most_axes];
    int count = read_integers(arguments[1], axes, most_axes);
    if (!is_operand(x) || count < 0) return decline();
    bool turned[most_axes] = {};
    for (int k = 0; k < count; ++k) {
        Index axis = axes[k] < 0 ? axes[k] + x.ndim() : axes[k];
        if (axis < 0 || axis >= x.ndim()) return decline();
        turned[axis] = true;
    }
    Py_INCREF(x.descriptor());
    Owned result(empty_in_order_of(x, x.descriptor()));
    if (!result || x.size() == 0) return result.release();
    Move move = move_between(result.array(), x, turned);
    run_move(move, item_bytes(x));
    return result.release();
}

// tile(x; repeats)
PyObject* tile(Arguments arguments) {
    Array x = arguments.array(0);
    Index repeats[most_axes];
    int ndim = read_integers(arguments[1], repeats, most_axes);
    if (!is_operand(x) || PyLong_Check(arguments[1]) || ndim < x.ndim() || 2 * ndim > most_axes) {
        return decline();
    }
    int shift = ndim - x.ndim();
    npy_intp shape[most_axes];
    for (int i = 0; i < ndim; ++i) {
        if (repeats[i] < 0) return decline();
        shape[i] = repeats[i] * (i < shift ? 1 : x.shape(i - shift));
    }
    Owned result(empty_of(ndim, shape, x));
    if (!result) return nullptr;
    Array out = result.array();
    Move move;
    move.operands[Move::to].data = out.bytes();
    move.operands[Move::from].data = x.bytes();
    for (int i = 0; i < ndim; ++i) {
        Index size = i < shift ? 1 : x.shape(i - shift);
        move.add_axis(repeats[i], out.strides()[i] * size, 0);
        if (i >= shift) move.add_axis(size, out.strides()[i], x.strides()[i - shift]);
    }
    run_move(move, item_bytes(x));
    return result.release();
}

Registration registrations[] = {
    {"copy", copy},
    {"contiguous", contiguous},
    {"copy_", copy_into},
    {"cast", cast},
    {"concat", concat},
    {"stack", stack},
    {"flip", flip},
    {"tile", tile},
};

}  // namespace

PyObject* plain_copy(Array x) {
    Owned result(empty_of(x.ndim(), x.shape(), x));
    if (result) copy_elements(result.array(), x);
    return result.release();
}

Owned in_order(Array a) {
    if (a.is_plain()) return Owned(Py_NewRef(a.object()));
    if (is_operand(a)) return Owned(plain_copy(a));
    return Owned(PyArray_FromArray(reinterpret_cast<PyArrayObject*>(a.object()),
                                   PyArray_DescrFromType(a.number()), NPY_ARRAY_CARRAY_RO));
}

PyObject* copy_in_order(Array x) {
    if (x.is_plain()) return plain_copy(x);
    Py_INCREF(x.descriptor());
    Owned result(empty_in_order_of(x, x.descriptor()));
    if (result) copy_elements(result.array(), x);
    return result.release();
}

}  // namespace nnkit
