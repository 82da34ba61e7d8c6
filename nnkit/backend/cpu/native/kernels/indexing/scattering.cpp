// Writing and adding at positions: scatter, index_add and their kin, and the adjoints of reading.
#include "scattering.h"

#include "math.h"

namespace nnkit {
namespace {

struct Assign {
    template <class T> void operator()(T& element, T value, Index) const { element = value; }
};
struct Add {
    template <class T> void operator()(T& element, T value, Index) const { element += value; }
};
struct Multiply {
    template <class T> void operator()(T& element, T value, Index) const { element *= value; }
};
template <class T> struct AddScaled {
    T scale;
    void operator()(T& element, T value, Index) const { element += scale * value; }
};
struct Maximum {
    template <class T> void operator()(T& element, T value, Index) const {
        element = element > value || element != element ? element : value;
    }
};
struct Minimum {
    template <class T> void operator()(T& element, T value, Index) const {
        element = element < value || element != element ? element : value;
    }
};

template <class T, class Step>
void run_all(const Lines& lines, Bounds* bounds, Step step) {
    Index count = lines.walk.size();
    if (count * lines.length == 0) return;
    Index grain = std::max<Index>(1, moves_of_piece / lines.length);
    // Many columns at once: short pieces of rows would waste the cache lines that they touch.
    if (!lines.go_one_by_one() && count * lines.length > moves_of_piece) {
        Index quarter = (count / 4 + 15) / 16 * 16;
        grain = std::max(grain, std::min<Index>(512, std::max<Index>(16, quarter)));
    }
    parallel_for(count, grain, [&](Index begin, Index end) {
        run_lines<T>(lines, bounds, begin, end, step);
    });
}

// `step` for all elements of one of the types that are computed with; false for another one.
template <class Step>
bool run_typed(Array target, const Lines& lines, Bounds* bounds, Step step) {
    switch (target.type()) {
        case Type::float32: run_all<float>(lines, bounds, step); return true;
        case Type::float64: run_all<double>(lines, bounds, step); return true;
        case Type::int64: run_all<std::int64_t>(lines, bounds, step); return true;
        default: return false;
    }
}

bool is_summable(Array x) {
    Type type = x.type();
    return type == Type::float32 || type == Type::float64 || type == Type::int64;
}

void run_assignment(Array target, const Lines& lines, Bounds* bounds) {
    with_item(item_bytes(target), [&](auto item) {
        run_all<decltype(item)>(lines, bounds, Assign{});
    });
}

bool is_operand(Array x) { return x && is_movable(x) && x.is_behaved(); }

// Checks what all functions that write share, and copies the array unless it is written itself.
bool prepare(Array x, Array index, Array source, bool in_place, Owned* target,
             PyObject* (*copied)(Array) = plain_copy) {
    if (!is_operand(x) || !is_index(index) || !is_operand(source)) return false;
    if (x.number() != source.number()) return false;
    if (!in_place) {
        target->reset(copied(x));
        return static_cast<bool>(*target);
    }
    if (!x.is_writeable() || may_overlap(x, source) || may_overlap(x, index)) return false;
    target->reset(Py_NewRef(x.object()));
    return true;
}

// The result of a function that has run: nothing (the twin is called) if a position was wrong.
PyObject* finish(Owned& target, const Bounds& bounds) {
    return bounds.broken ? decline() : target.release();
}

// scatter(x, index, source; axis), scatter_add(x, index, source; axis)
template <bool adds, bool in_place> PyObject* scatter(Arguments arguments) {
    Array x = arguments.array(0), index = arguments.array(1), source = arguments.array(2);
    Index axis = arguments.integer(3);
    if (!x || axis < 0 || axis >= x.ndim() || (adds && !is_summable(x))) return decline();
    Bounds bounds{x.shape(static_cast<int>(axis))};
    Owned target;
    if (!prepare(x, index, source, in_place, &target)) return decline();
    Lines lines;
    if (!lines_of_elements(target.array(), index, source, axis, &lines)) return decline();
    if (in_place && !all_in_bounds(index, &bounds)) return decline();
    if (bounds.size == 0 && index.size() > 0) return decline();
    if (adds) run_typed(target.array(), lines, &bounds, Add{});
    else run_assignment(target.array(), lines, &bounds);
    return finish(target, bounds);
}

// gather_adjoint(y, index; axis, shape): zeros with y added where gather read.
PyObject* gather_adjoint(Arguments arguments) {
    Array y = arguments.array(0), index = arguments.array(1);
    Index axis = arguments.integer(2);
    Index sizes[most_axes];
    int ndim = read_integers(arguments[3], sizes, most_axes);
    if (!is_operand(y) || !is_summable(y) || !is_index(index) || ndim < 1) return decline();
    if (axis < 0 || axis >= ndim) return decline();
    Py_INCREF(y.descriptor());
    Owned target(zeros(ndim, sizes, y.descriptor()));
    Lines lines;
    Bounds bounds{sizes[axis]};
    if (!target || !lines_of_elements(target.array(), index, y, axis, &lines)) return decline();
    if (bounds.size == 0 && index.size() > 0) return decline();
    run_typed(target.array(), lines, &bounds, Add{});
    return finish(target, bounds);
}

// Zeros of a shape with y added at slices.
PyObject* add_slices_to_zeros(Array y, int ndim, const Index* sizes, const ArrayIndex& index,
                              bool wraps) {
    Py_INCREF(y.descriptor());
    Owned target(zeros(ndim, sizes, y.descriptor()));
    if (!target) return nullptr;
    Owned offsets;
    Slices slices;
    Lines lines;
    Bounds bounds{0, wraps};
    if (!find_slices(target.array(), index, &offsets, &slices, &bounds)) return decline();
    if (!lines_of_slices(target.array(), slices, y, &lines)) return decline();
    if (bounds.size == 0 && slices.index.size() > 0) return decline();
    run_typed(target.array(), lines, &bounds, Add{});
    return finish(target, bounds);
}

// index_select_adjoint(y, index; axis, shape)
PyObject* index_select_adjoint(Arguments arguments) {
    Array y = arguments.array(0);
    ArrayIndex index;
    index.arrays[index.count++] = arguments.array(1);
    index.axis = static_cast<int>(arguments.integer(2));
    Index sizes[most_axes];
    int ndim = read_integers(arguments[3], sizes, most_axes);
    if (!is_operand(y) || !is_summable(y) || !is_index(index.arrays[0])) return decline();
    if (index.axis < 0 || index.axis >= ndim) return decline();
    return add_slices_to_zeros(y, ndim, sizes, index, false);
}

// index_adjoint(y; positions, shape)
PyObject* index_adjoint(Arguments arguments) {
    Array y = arguments.array(0);
    Index sizes[most_axes];
    int ndim = read_integers(arguments[2], sizes, most_axes);
    ArrayIndex index;
    if (!is_operand(y) || !is_summable(y) || ndim < 1) return decline();
    if (!read_array_index(arguments[1], ndim, &index)) return decline();
    return add_slices_to_zeros(y, ndim, sizes, index, true);
}

// index_add(x, index, source; axis, alpha), index_copy(x, index, source; axis)
template <bool adds, bool in_place, auto copied = plain_copy>
PyObject* index_write(Arguments arguments) {
    Array x = arguments.array(0), index = arguments.array(1), source = arguments.array(2);
    Index axis = arguments.integer(3);
    if (!x || axis < 0 || axis >= x.ndim() || (adds && !is_summable(x))) return decline();
    Owned target;
    if (!prepare(x, index, source, in_place, &target, copied) || index.ndim() != 1) return decline();
    Slices slices{static_cast<int>(axis), 1, index, target.array().strides()[axis]};
    Lines lines;
    if (!lines_of_slices(target.array(), slices, source, &lines)) return decline();
    Bounds bounds{x.shape(static_cast<int>(axis))};
    if (in_place && !all_in_bounds(index, &bounds)) return decline();
    if (bounds.size == 0 && index.size() > 0) return decline();
    double alpha = adds ? arguments.number(4) : 1;
    if (!adds) {
        run_assignment(target.array(), lines, &bounds);
    } else if (alpha == 1) {
        run_typed(target.array(), lines, &bounds, Add{});
    } else {
        if (x.type() == Type::float32) {
            run_all<float>(lines, &bounds, AddScaled<float>{static_cast<float>(alpha)});
        } else if (x.type() == Type::float64) {
            run_all<double>(lines, &bounds, AddScaled<double>{alpha});
        } else {
            return decline();
        }
    }
    return finish(target, bounds);
}

// A number as an array of no axes with the elements of x; empty if it does not fit.
Owned scalar_like(PyObject* value, Array x) {
    Py_INCREF(x.descriptor());
    Owned result(empty(0, nullptr, x.descriptor()));
    if (result && PyArray_Pack(x.descriptor(), result.array().bytes(), value) < 0) {
        PyErr_Clear();  // the twin says what is wrong
        return Owned();
    }
    return result;
}

// scatter_fill(x, index; axis, value)
PyObject* scatter_fill(Arguments arguments) {
    Array x = arguments.array(0);
    if (!is_operand(x)) return decline();
    Owned value = scalar_like(arguments[3], x);
    if (!value) return decline();
    PyObject* values[] = {arguments[0], arguments[1], value.array().object(), arguments[2]};
    return scatter<false, false>(Arguments(values, 4));
}

// index_fill(x, index; axis, value): the axes keep their order.
template <bool in_place> PyObject* index_fill(Arguments arguments) {
    Array x = arguments.array(0);
    if (!is_operand(x)) return decline();
    Owned value = scalar_like(arguments[3], x);
    if (!value) return decline();
    PyObject* values[] = {arguments[0], arguments[1], value.array().object(), arguments[2]};
    return index_write<false, in_place, copy_in_order>(Arguments(values, 4));
}

// Writes or adds a number or an array of the shape that reading would give; the axes keep their order.
PyObject* write_at_index(Array x, PyObject* value, PyObject* positions, bool adds,
                         bool in_place) {
    ArrayIndex index;
    if (!is_operand(x) || (adds && !is_summable(x))) return decline();
    if (!read_array_index(positions, x.ndim(), &index)) return decline();
    Owned number;
    Array source;
    if (PyArray_CheckExact(value)) {
        source = Array(value);
    } else {
        number = scalar_like(value, x);
        if (!number) return decline();
        source = number.array();
    }
    if (!source.is_plain()) {
        number = Owned(plain_copy(source));
        if (!number) return nullptr;
        source = number.array();
    }
    Owned target, offsets;
    if (!prepare(x, index.arrays[0], source, in_place, &target, copy_in_order)) return decline();
    Slices slices;
    Lines lines;
    Bounds bounds{0, true};
    if (!find_slices(target.array(), index, &offsets, &slices, &bounds)) return decline();
    if (!lines_of_slices(target.array(), slices, source, &lines)) return decline();
    if (in_place && !all_in_bounds(slices.index, &bounds)) return decline();
    if (bounds.size == 0 && slices.index.size() > 0) return decline();
    if (adds) run_typed(target.array(), lines, &bounds, Add{});
    else run_assignment(target.array(), lines, &bounds);
    return finish(target, bounds);
}

// index_put(x, value; positions, accumulate)
template <bool in_place> PyObject* index_put(Arguments arguments) {
    return write_at_index(arguments.array(0), arguments[1], arguments[2], arguments.truth(3),
                          in_place);
}

// The start of each reduction of scatter_reduce where the array itself does not count.
template <class T> T identity(const char* reduce) {
    bool is_maximum = std::strcmp(reduce, "amax") == 0;
    if (std::strcmp(reduce, "sum") == 0) return 0;
    if (std::strcmp(reduce, "prod") == 0) return 1;
    using Limits = std::numeric_limits<T>;
    if (Limits::has_infinity) return is_maximum ? -Limits::infinity() : Limits::infinity();
    return is_maximum ? Limits::lowest() : Limits::max();
}

struct AssignIdentity {
    const char* reduce;
    template <class T> void operator()(T& element, T, Index) const {
        element = identity<T>(reduce);
    }
};

// scatter_reduce(x, index, source; axis, reduce, include_self)
template <bool in_place> PyObject* scatter_reduce(Arguments arguments) {
    Array x = arguments.array(0), index = arguments.array(1), source = arguments.array(2);
    Index axis = arguments.integer(3);
    const char* reduce = PyUnicode_AsUTF8(arguments[4]);
    if (reduce == nullptr) return nullptr;
    if (!x || axis < 0 || axis >= x.ndim() || !is_summable(x)) return decline();
    if (std::strcmp(reduce, "mean") == 0) return decline();
    Bounds bounds{x.shape(static_cast<int>(axis))};
    Owned target;
    if (!prepare(x, index, source, in_place, &target)) return decline();
    Lines lines;
    Array out = target.array();
    if (!lines_of_elements(out, index, source, axis, &lines)) return decline();
    if (!all_in_bounds(index, &bounds)) return decline();
    if (!arguments.truth(5)) run_typed(out, lines, &bounds, AssignIdentity{reduce});
    if (std::strcmp(reduce, "sum") == 0) run_typed(out, lines, &bounds, Add{});
    else if (std::strcmp(reduce, "prod") == 0) run_typed(out, lines, &bounds, Multiply{});
    else if (std::strcmp(reduce, "amax") == 0) run_typed(out, lines, &bounds, Maximum{});
    else run_typed(out, lines, &bounds, Minimum{});
    return finish(target, bounds);
}

template <class T> struct AddShare {
    const T* counts;
    void operator()(T& element, T value, Index k) const { element += value / counts[k]; }
};

template <class T>
void add_shares(Array target, const Lines& lines, Bounds* bounds) {
    Scratch<T> counts(bounds->size);
    std::fill_n(counts.data(), bounds->size, T{0});
    const char* positions = lines.operands[Lines::positions].data;
    for (Index i = 0; i < lines.length; ++i) {
        Index k = read_at<std::int64_t>(positions + i * lines.position_step);
        counts[bounds->checked(k)] += 1;
    }
    run_all<T>(lines, bounds, AddShare<T>{counts.data()});
}

// embedding_grad(g, index; count, padding_idx, scale_grad_by_freq)
PyObject* embedding_grad(Arguments arguments) {
    Array g = arguments.array(0), index = arguments.array(1);
    npy_intp sizes[] = {arguments.integer(2), 0};
    if (!is_operand(g) || !is_index(index) || g.ndim() < 1) return decline();
    Owned in_order(PyArray_FROM_OF(arguments[1], NPY_ARRAY_C_CONTIGUOUS));
    if (!in_order) return nullptr;
    index = in_order.array();
    bool by_frequency = arguments.truth(4);
    if (g.type() != Type::float32 && g.type() != Type::float64) return decline();
    sizes[1] = g.shape(-1);
    Py_INCREF(g.descriptor());
    Owned target(zeros(2, sizes, g.descriptor()));
    Bounds bounds{sizes[0]};
    if (!target) return nullptr;
    Slices slices{0, 1, index, target.array().strides()[0]};
    Lines lines;
    if (!lines_of_slices(target.array(), slices, g, &lines)) return decline();
    if (bounds.size == 0 && index.size() > 0) return decline();
    if (!by_frequency) run_typed(target.array(), lines, &bounds, Add{});
    else if (g.type() == Type::float32) add_shares<float>(target.array(), lines, &bounds);
    else add_shares<double>(target.array(), lines, &bounds);
    if (!arguments.is_none(3) && sizes[0] > 0) {
        Index row = target.array().strides()[0];
        std::memset(target.array().bytes() + arguments.integer(3) * row, 0,
                    static_cast<std::size_t>(sizes[1] * item_bytes(g)));
    }
    return finish(target, bounds);
}

Registration registrations[] = {
    {"scatter", scatter<false, false>},
    {"scatter_", scatter<false, true>},
    {"scatter_fill", scatter_fill},
    {"scatter_add", scatter<true, false>},
    {"scatter_add_", scatter<true, true>},
    {"scatter_reduce", scatter_reduce<false>},
    {"scatter_reduce_", scatter_reduce<true>},
    {"gather_adjoint", gather_adjoint},
    {"index_select_adjoint", index_select_adjoint},
    {"index_adjoint", index_adjoint},
    {"index_add", index_write<true, false>},
    {"index_add_", index_write<true, true>},
    {"index_copy", index_write<false, false>},
    {"index_copy_", index_write<false, true>},
    {"index_fill", index_fill<false>},
    {"index_fill_", index_fill<true>},
    {"index_put", index_put<false>},
    {"index_put_", index_put<true>},
    {"embedding_grad", embedding_grad},
};

}  // namespace
}  // namespace nnkit
