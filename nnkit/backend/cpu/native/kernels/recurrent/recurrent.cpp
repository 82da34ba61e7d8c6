// Steps of packed sequences, and products over all steps of a recurrent layer.
#include "recurrent.h"

namespace nnkit {
namespace {

constexpr Index columns_of_sum = 64, rows_of_sum = 64;

// The sums of the columns, block by block of rows.
template <class T> void sum_columns(Index rows, Index columns, const T* x, T* out) {
    parallel_for(columns, columns_of_sum, [&](Index begin, Index end) {
        Index count = end - begin;
        T block[columns_of_sum] = {};
        std::fill_n(out + begin, count, T(0));
        for (Index i = 0; i < rows; ++i) {
            const T* row = x + i * columns + begin;
            for (Index j = 0; j < count; ++j) block[j] += row[j];
            if ((i + 1) % rows_of_sum != 0 && i + 1 < rows) continue;
            for (Index j = 0; j < count; ++j) {
                out[begin + j] += block[j];
                block[j] = 0;
            }
        }
    });
}

}  // namespace

bool Steps::read(PyObject* sizes, bool reverse, Index batch, Index total) {
    if (!PyTuple_Check(sizes) || PyTuple_GET_SIZE(sizes) == 0) return false;
    Index start = 0, last = batch;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i) {
        PyObject* item = PyTuple_GET_ITEM(sizes, i);
        if (!PyLong_Check(item)) return false;
        Index rows = PyLong_AsSsize_t(item);
        if (rows < 1 || rows > last) return false;
        if (i == 0 && rows != batch) return false;
        steps_.push_back({start, rows});
        start += rows;
        last = rows;
    }
    if (reverse) std::reverse(steps_.begin(), steps_.end());
    return start == total;
}

template <class T> Owned plain_array(PyObject* object, std::initializer_list<Index> shape) {
    if (!PyArray_CheckExact(object)) return Owned();
    Array array(object);
    if (array.type() != type_of<T>() || array.ndim() != static_cast<int>(shape.size()) ||
        !std::equal(shape.begin(), shape.end(), array.shape())) {
        return Owned();
    }
    return in_order(array);
}

template <class T>
bool Layer<T>::read(Arguments arguments, Index first, Index states, Index gate_count,
                    PyObject* sizes, PyObject* reverse) {
    Array data = arguments.array(first), state = arguments.array(first + 1);
    Array weight = arguments.array(first + 1 + states);
    if (!data || !state || !weight) return false;
    if (data.ndim() != 2 || state.ndim() != 2 || weight.ndim() != 2) return false;
    gates = gate_count;
    rows = data.shape(0);
    input = data.shape(1);
    batch = state.shape(0);
    hidden = state.shape(1);
    int count = 0;
    auto take = [&](PyObject* object, std::initializer_list<Index> shape, const T** out) {
        arrays[count] = plain_array<T>(object, shape);
        if (!arrays[count]) return false;
        *out = arrays[count++].array().template data<T>();
        return true;
    };
    Index w = first + 1 + states;
    if (!take(arguments[first], {rows, input}, &x) ||
        !take(arguments[first + 1], {batch, hidden}, &h0) ||
        !take(arguments[w], {width(), input}, &weight_ih) ||
        !take(arguments[w + 1], {width(), hidden}, &weight_hh)) {
        return false;
    }
    if (!arguments.is_none(w + 2) && !take(arguments[w + 2], {width()}, &bias_ih)) return false;
    if (!arguments.is_none(w + 3) && !take(arguments[w + 3], {width()}, &bias_hh)) return false;
    if ((bias_ih == nullptr) != (bias_hh == nullptr)) return false;
    return steps.read(sizes, PyObject_IsTrue(reverse) == 1, batch, rows);
}

template <class T>
bool Layer<T>::parameters(const T* g_inner, const T* g_hidden, const T* output, const bool* needs,
                          Owned* gradients) const {
    Index n = width();
    auto make = [&](int i, bool needed, std::initializer_list<npy_intp> shape) -> T* {
        gradients[i] = Owned(needed ? empty<T>(shape) : none());
        return needed && gradients[i] ? gradients[i].array().template data<T>() : nullptr;
    };
    if (T* g_x = make(0, needs[0], {rows, input})) {
        multiply<T>(rows, input, n, {g_inner, n, 1}, Matrix<T>{weight_ih, input, 1}, g_x, input);
    }
    if (T* g_weight = make(1, needs[1], {n, input})) {
        multiply<T>(n, input, rows, {g_inner, 1, n}, Matrix<T>{x, input, 1}, g_weight, input);
    }
    if (T* g_weight = make(2, needs[2], {n, hidden})) {
        Scratch<T> before(rows * hidden), scratch(batch * hidden);
        for (Index i = 0; i < steps.count(); ++i) {
            const T* from = steps.before(i, output, h0, hidden, 0, steps[i].rows, scratch.data());
            std::copy_n(from, steps[i].rows * hidden, before.data() + steps[i].start * hidden);
        }
        multiply<T>(n, hidden, rows, {g_hidden, 1, n}, Matrix<T>{before.data(), hidden, 1},
                    g_weight, hidden);
    }
    bool biased = bias_ih != nullptr;
    T* g_bias_ih = make(3, biased && needs[3], {n});
    if (g_bias_ih != nullptr) sum_columns(rows, n, g_inner, g_bias_ih);
    if (T* g_bias = make(4, biased && needs[4], {n})) {
        if (g_bias_ih != nullptr && g_inner == g_hidden) std::copy_n(g_bias_ih, n, g_bias);
        else sum_columns(rows, n, g_hidden, g_bias);
    }
    return std::all_of(gradients, gradients + 5, [](const Owned& one) { return bool(one); });
}

template Owned plain_array<float>(PyObject*, std::initializer_list<Index>);
template Owned plain_array<double>(PyObject*, std::initializer_list<Index>);
template struct Layer<float>;
template struct Layer<double>;

}  // namespace nnkit
