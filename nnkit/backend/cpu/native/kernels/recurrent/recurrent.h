// What the recurrent layers share: the steps of packed sequences, and the gradients of what is
// computed for all steps at once.
#pragma once

#include <algorithm>
#include <vector>

#include "parallel.h"
#include "product.h"
#include "rows.h"

namespace nnkit {

// The rows of each step, in the order of computation. Sequences are sorted by falling length, so a
// step's rows belong to the first ones of the batch.
class Steps {
public:
    struct Step { Index start, rows; };

    // False if `sizes` is no tuple of positive ints that fall and add up to `total`.
    bool read(PyObject* sizes, bool reverse, Index batch, Index total);

    Index count() const { return static_cast<Index>(steps_.size()); }
    const Step& operator[](Index i) const { return steps_[i]; }
    // The number of rows that the step after i has; going on there, the others have ended.
    Index rows_after(Index i) const { return i + 1 < count() ? steps_[i + 1].rows : 0; }

    // Where rows [first, first + rows) of step i were one step earlier in `values`, of `width`
    // columns each; rows that begin with this step are in `begin`. `scratch` has room for them.
    template <class T>
    const T* before(Index i, const T* values, const T* begin, Index width, Index first, Index rows,
                    T* scratch) const {
        if (i == 0) return begin + first * width;
        const Step& last = steps_[i - 1];
        const T* source = values + (last.start + first) * width;
        Index known = std::clamp<Index>(last.rows - first, 0, rows);
        if (known == rows) return source;
        if (known == 0) return begin + first * width;
        std::copy_n(source, known * width, scratch);
        std::copy_n(begin + (first + known) * width, (rows - known) * width,
                    scratch + known * width);
        return scratch;
    }

    // Rows of the batch that one thread carries through all steps.
    static Index grain(Index batch) { return std::clamp<Index>((batch + 1) / 2, 1, 16); }

private:
    std::vector<Step> steps_;
};

// The arguments of a layer in plain order; `read` fails where they do not fit.
template <class T> struct Layer {
    Steps steps;
    Index gates, rows, batch, input, hidden;
    Owned arrays[8];
    const T *x, *h0, *weight_ih, *weight_hh, *bias_ih = nullptr, *bias_hh = nullptr;

    // `states` counts h0 and c0, which follow x.
    bool read(Arguments arguments, Index first, Index states, Index gate_count, PyObject* sizes,
              PyObject* reverse);

    Index width() const { return gates * hidden; }
    // x W_ih' + bias for the rows of all steps.
    void project(T* out, const T* bias) const {
        multiply<T>(rows, width(), input, {x, input, 1}, Matrix<T>{weight_ih, 1, input}, out,
                    width(), bias);
    }
    // The sum of both biases; empty if there are none.
    std::vector<T> biases() const {
        std::vector<T> sum;
        if (bias_ih != nullptr) sum.assign(bias_ih, bias_ih + width());
        for (std::size_t j = 0; bias_hh != nullptr && j < sum.size(); ++j) sum[j] += bias_hh[j];
        return sum;
    }
    // Gradients of x, weight_ih, weight_hh, bias_ih and bias_hh, None where `needs` is false, from
    // those of the projections of x and of the state. `output` is what the layer gave.
    bool parameters(const T* g_inner, const T* g_hidden, const T* output, const bool* needs,
                    Owned* gradients) const;
};

// An array of T with that shape in plain order (a copy if need be); none if it does not fit.
template <class T> Owned plain_array(PyObject* object, std::initializer_list<Index> shape);

// Calls `run` with a number of the type of x; declines what is neither float nor double.
template <class Run> PyObject* by_type_of(Array x, Run run) {
    if (!x) return decline();
    if (x.type() == Type::float32) return run(float());
    return x.type() == Type::float64 ? run(double()) : decline();
}

// The last arguments of the gradients: which inputs want one.
inline bool is_tuple_of(PyObject* object, Py_ssize_t count) {
    return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == count;
}
// Those of x, weight_ih, weight_hh, bias_ih and bias_hh, where `states` others follow x.
inline void read_needs(PyObject* all, bool* needs, Index states = 1) {
    for (Index i = 0; i < 5; ++i) {
        needs[i] = PyObject_IsTrue(PyTuple_GET_ITEM(all, i == 0 ? 0 : i + states)) == 1;
    }
}

}  // namespace nnkit
