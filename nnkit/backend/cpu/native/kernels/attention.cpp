// Scaled dot-product attention by strips: the scores of a few queries stay in the cache and are
// never all in memory at once; backward computes them again (T. Dao et al., "FlashAttention",
// 2022). Queries, keys and values may lie in memory with the heads inside of the time steps.
#include <algorithm>
#include <cmath>

#include "layout.h"
#include "math.h"
#include "parallel.h"
#include "product.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index rows_of_strip = 36, fewest_rows = 6;
constexpr Index scores_of_strip = Index{1} << 16;
constexpr Index work_of_piece = Index{1} << 20;  // multiplications

// A stack of matrices; its leading axes are broadcast to those of the whole call.
template <class T> struct Stack {
    T* data = nullptr;
    Index row = 0, column = 0;
    Index lead[NPY_MAXDIMS];
};

// The leading axes that all arrays of a call share.
struct Batch {
    int ndim = 0;
    npy_intp shape[NPY_MAXDIMS];

    // Takes the axes of x into account; false if they do not fit.
    bool join(Array x) {
        int own = x.ndim() - 2;
        if (own < 0) return false;
        for (; ndim < own; ++ndim) {
            std::copy_backward(shape, shape + ndim, shape + ndim + 1);
            shape[0] = 1;
        }
        for (int i = 0; i < own; ++i) {
            npy_intp& size = shape[ndim - own + i];
            if (size == 1) size = x.shape()[i];
            else if (x.shape()[i] != size && x.shape()[i] != 1) return false;
        }
        return true;
    }

    Index count() const {
        Index product = 1;
        for (int i = 0; i < ndim; ++i) product *= shape[i];
        return product;
    }

    template <class T> bool read(Array x, Stack<T>* out) const {
        constexpr Index size = static_cast<Index>(sizeof(T));
        int missing = ndim - (x.ndim() - 2);
        out->data = x.data<T>();
        for (int i = 0; i < x.ndim(); ++i) {
            if (x.strides()[i] % size != 0) return false;
        }
        auto stride = [&](int axis) {
            return x.shape()[axis] == 1 ? 0 : x.strides()[axis] / size;
        };
        for (int i = 0; i < ndim; ++i) out->lead[i] = i < missing ? 0 : stride(i - missing);
        out->row = stride(x.ndim() - 2);
        out->column = stride(x.ndim() - 1);
        return true;
    }

    template <class T> Stack<T> at(const Stack<T>& stack, Index position) const {
        Stack<T> result = stack;
        if (stack.data == nullptr) return result;  // there is no mask
        for (int i = ndim - 1; i >= 0; --i) {
            result.data += position % shape[i] * stack.lead[i];
            position /= shape[i];
        }
        return result;
    }

    // A new array (batch, rows, columns): by rows, or with its axes in an order of memory.
    template <class T>
    PyObject* make(Index rows, Index columns, const int* order = nullptr) const {
        npy_intp all[NPY_MAXDIMS];
        std::copy(shape, shape + ndim, all);
        all[ndim] = rows;
        all[ndim + 1] = columns;
        if (order == nullptr) return empty<T>(ndim + 2, all);
        return empty_in_order(ndim + 2, all, order, PyArray_DescrFromType(type_number<T>()));
    }
};

template <class T> Matrix<T> matrix(const Stack<T>& stack, Index first = 0) {
    return {stack.data + first * stack.row, stack.row, stack.column};
}

template <class T> struct Problem {
    Batch batch;
    Stack<T> q, k, v, mask;
    Index queries, keys, width, value_width;
    bool has_mask = false, is_causal = false;
    T scale;
    Index strip;

    bool read(Array query, Array key, Array value, Array added, bool causal, double factor) {
        queries = query.shape(-2);
        keys = key.shape(-2);
        width = query.shape(-1);
        value_width = value.shape(-1);
        if (key.shape(-1) != width || value.shape(-2) != keys) return false;
        if (!batch.join(query) || !batch.join(key) || !batch.join(value)) return false;
        has_mask = static_cast<bool>(added);
        if (has_mask) {
            if (!batch.join(added)) return false;
            if (added.shape(-2) != 1 && added.shape(-2) != queries) return false;
            if (added.shape(-1) != 1 && added.shape(-1) != keys) return false;
            if (!batch.read(added, &mask)) return false;
        }
        is_causal = causal;
        scale = static_cast<T>(factor);
        Index fitting = scores_of_strip / std::max<Index>(1, keys);
        strip = std::clamp(fitting, fewest_rows, rows_of_strip);
        return batch.read(query, &q) && batch.read(key, &k) && batch.read(value, &v);
    }

    // Whether torch computes it in one kernel, of which the result lies as the queries do and the
    // gradients have the heads inside of the rows.
    bool is_fused(Array query, Array key, Array value, Array added) const {
        if (has_mask && added.ndim() == 3) return false;
        if (width != value_width || queries == 0 || keys == 0) return false;
        for (Array x : {query, key, value}) {
            if (x.ndim() != 4 || x.shape()[0] != query.shape()[0]) return false;
            if (x.shape()[1] != query.shape()[1]) return false;
            Index step = x.strides()[3];
            if (step != static_cast<Index>(sizeof(T)) && (step != 0 || width != 1)) return false;
        }
        return true;
    }

    // How many keys the query in that row may look at, and how many of them any row of a strip.
    Index seen(Index row) const { return is_causal ? std::min(keys, row + 1) : keys; }

    // The number of pieces of `rows` queries, with so many products each, for a thread at a time.
    Index grain(Index rows, Index products) const {
        Index work = rows * keys * std::max<Index>(1, width) * products;
        return std::max<Index>(1, work_of_piece / std::max<Index>(1, work));
    }
};

// One head, taken out of the stacks.
template <class T> struct Head {
    const Problem<T>& problem;
    Stack<T> q, k, v, mask;

    Head(const Problem<T>& of, Index number)
        : problem(of), q(of.batch.at(of.q, number)), k(of.batch.at(of.k, number)),
          v(of.batch.at(of.v, number)), mask(of.batch.at(of.mask, number)) {}

    // The products of queries [first, first + rows) with `count` keys.
    void products(Index first, Index rows, Index count, T* scores) const {
        multiply_here<T>(rows, count, problem.width, matrix(q, first), matrix(k).transposed(),
                         scores, count);
    }

    // Scaled and masked, in place.
    void finish(Index query, Index count, T* row) const {
        const T scale = problem.scale;
        for (Index j = 0; j < count; ++j) row[j] *= scale;
        if (!problem.has_mask) return;
        const T* added = mask.data + query * mask.row;
        if (mask.column == 1) {
            for (Index j = 0; j < count; ++j) row[j] += added[j];
        } else {
            for (Index j = 0; j < count; ++j) row[j] += added[j * mask.column];
        }
    }
};

// Of `seen` elements of a row; the rest are zeros. The loops walk a little beyond what is seen, so
// that all is done in whole vectors.
template <class T> void exponentials(Index seen, Index count, T shift, T* row) {
    Index whole = std::min(count, (seen + lanes<T> - 1) / lanes<T> * lanes<T>);
    std::fill(row + seen, row + whole, -std::numeric_limits<T>::infinity());
    for (Index j = 0; j < whole; ++j) row[j] = math::exp_of_negative(row[j] - shift);
    std::fill(row + whole, row + count, T(0));
}

template <class T>
void attend(const Head<T>& head, Index first, Index rows, Stack<T> out, T* log_total, T* scores) {
    const Problem<T>& problem = head.problem;
    Index count = problem.seen(first + rows - 1);
    T totals[rows_of_strip];
    head.products(first, rows, count, scores);
    for (Index r = 0; r < rows; ++r) {
        T* row = scores + r * count;
        Index seen = problem.seen(first + r);
        head.finish(first + r, seen, row);
        T top = max_of(row, seen);
        if (top == -std::numeric_limits<T>::infinity()) top = 0;  // it may look nowhere
        exponentials(seen, count, top, row);
        T total = sum_of(row, count);
        log_total[first + r] = std::log(total) + top;
        totals[r] = total == 0 ? T(1) : total;
    }
    T* to = out.data + first * out.row;
    multiply_here<T>(rows, problem.value_width, count, {scores, count, 1}, matrix(head.v), to,
                     out.row);
    for (Index r = 0; r < rows; ++r) {
        T* row = to + r * out.row;
        for (Index j = 0; j < problem.value_width; ++j) row[j] /= totals[r];
    }
}

template <class T>
PyObject* attention_of(Array q, Array k, Array v, Array mask, bool is_causal, double scale) {
    Problem<T> problem;
    if (!problem.read(q, k, v, mask, is_causal, scale)) return decline();
    const Batch& batch = problem.batch;
    Walk walk;
    Operand operand;
    bool is_fused = problem.is_fused(q, k, v, mask);
    if (is_fused) order_axes(&q, &operand, 1, q.ndim(), q.shape(), &walk);
    Owned out(batch.make<T>(problem.queries, problem.value_width, is_fused ? walk.order : nullptr));
    npy_intp shape[NPY_MAXDIMS];
    std::copy(batch.shape, batch.shape + batch.ndim, shape);
    shape[batch.ndim] = problem.queries;
    Owned log_total(empty<T>(batch.ndim + 1, shape));
    if (!out || !log_total) return nullptr;
    Stack<T> result;
    batch.read(out.array(), &result);
    T* totals = log_total.array().template data<T>();
    Index strips = (problem.queries + problem.strip - 1) / problem.strip;
    Index even = strips == 0 ? 1 : (problem.queries + strips - 1) / strips;
    parallel_for(batch.count() * strips, problem.grain(even, 2), [&](Index begin, Index end) {
        Scratch<T> scores(even * problem.keys);
        for (Index piece = begin; piece < end; ++piece) {
            Index number = piece / strips, first = piece % strips * even;
            Index rows = std::min(even, problem.queries - first);
            if (rows <= 0) continue;
            attend(Head<T>(problem, number), first, rows, batch.at(result, number),
                   totals + number * problem.queries, scores.data());
        }
    });
    return tuple({out.release(), log_total.release()});
}

// The stacks that the gradient of one head goes to.
template <class T> struct Gradients {
    Stack<T> q, k, v, mask;
};

template <class T>
void differentiate(const Head<T>& head, Stack<T> g, const T* log_total, Gradients<T> gradients,
                   T* scores, T* g_scores) {
    const Problem<T>& problem = head.problem;
    auto clear = [&](const Stack<T>& stack, Index columns) {
        for (Index j = 0; j < problem.keys; ++j) {
            std::fill_n(stack.data + j * stack.row, columns, T(0));
        }
    };
    clear(gradients.k, problem.width);
    clear(gradients.v, problem.value_width);
    for (Index first = 0; first < problem.queries; first += problem.strip) {
        Index rows = std::min(problem.strip, problem.queries - first);
        Index count = problem.seen(first + rows - 1);
        head.products(first, rows, count, scores);
        multiply_here<T>(rows, count, problem.value_width, matrix(g, first),
                         matrix(head.v).transposed(), g_scores, count);
        for (Index r = 0; r < rows; ++r) {
            T *row = scores + r * count, *g_row = g_scores + r * count;
            Index seen = problem.seen(first + r);
            head.finish(first + r, seen, row);
            T shift = log_total[first + r];
            if (shift == -std::numeric_limits<T>::infinity()) shift = 0;
            exponentials(seen, count, shift, row);
            std::fill(g_row + seen, g_row + count, T(0));
            // By their own total, which is 1 but for what `shift` was rounded by.
            T total = sum_of(row, count);
            T inner = sum_of<T>(count, [](auto a, auto b) { return a * b; }, row, g_row);
            inner /= total == 0 ? T(1) : total;
            for (Index j = 0; j < count; ++j) g_row[j] = (g_row[j] - inner) * row[j];
            if (gradients.mask.data != nullptr) {
                T* to = gradients.mask.data + (first + r) * gradients.mask.row;
                std::copy_n(g_row, count, to);
                std::fill(to + count, to + problem.keys, T(0));
            }
            for (Index j = 0; j < count; ++j) g_row[j] *= problem.scale;
        }
        Matrix<T> weights{scores, count, 1}, g_weights{g_scores, count, 1};
        multiply_here<T>(count, problem.value_width, rows, weights.transposed(), matrix(g, first),
                         gradients.v.data, gradients.v.row, nullptr, Write::add);
        multiply_here<T>(rows, problem.width, count, g_weights, matrix(head.k),
                         gradients.q.data + first * gradients.q.row, gradients.q.row);
        multiply_here<T>(count, problem.width, rows, g_weights.transposed(), matrix(head.q, first),
                         gradients.k.data, gradients.k.row, nullptr, Write::add);
    }
}

// A copy whose last two axes lie in memory the other way round.
PyObject* by_columns(Array x) {
    int order[NPY_MAXDIMS];
    for (int i = 0; i < x.ndim(); ++i) order[i] = i;
    std::swap(order[x.ndim() - 2], order[x.ndim() - 1]);
    PyArray_Descr* descriptor = x.descriptor();
    Py_INCREF(descriptor);
    Owned copy(empty_in_order(x.ndim(), x.shape(), order, descriptor));
    if (!copy) return nullptr;
    auto* to = reinterpret_cast<PyArrayObject*>(copy.array().object());
    if (PyArray_CopyInto(to, reinterpret_cast<PyArrayObject*>(x.object())) < 0) return nullptr;
    return copy.release();
}

template <class T>
PyObject* attention_grad_of(Array g, Array q, Array k, Array v, Array mask, Array log_total,
                            bool is_causal, double scale, bool needs_mask) {
    Problem<T> problem;
    if (!problem.read(q, k, v, mask, is_causal, scale)) return decline();
    const Batch& batch = problem.batch;
    Stack<T> g_out;
    if (g.ndim() != batch.ndim + 2 || !batch.read(g, &g_out) ||
        log_total.size() != batch.count() * problem.queries) {
        return decline();
    }
    constexpr int heads_inside[] = {0, 2, 1, 3};
    bool is_fused = !needs_mask && problem.is_fused(q, k, v, mask);
    const int* order = is_fused ? heads_inside : nullptr;
    Owned g_q(batch.make<T>(problem.queries, problem.width, order));
    Owned g_k(batch.make<T>(problem.keys, problem.width, order));
    Owned g_v(batch.make<T>(problem.keys, problem.value_width, order));
    Owned g_mask(needs_mask ? batch.make<T>(problem.queries, problem.keys) : none());
    if (!g_q || !g_k || !g_v || !g_mask) return nullptr;
    Gradients<T> all;
    batch.read(g_q.array(), &all.q);
    batch.read(g_k.array(), &all.k);
    batch.read(g_v.array(), &all.v);
    if (needs_mask) batch.read(g_mask.array(), &all.mask);
    const T* totals = log_total.data<T>();
    parallel_for(batch.count(), problem.grain(problem.queries, 5), [&](Index begin, Index end) {
        Scratch<T> scores(problem.strip * problem.keys), g_scores(problem.strip * problem.keys);
        for (Index number = begin; number < end; ++number) {
            Gradients<T> own{batch.at(all.q, number), batch.at(all.k, number),
                             batch.at(all.v, number), all.mask};
            if (needs_mask) own.mask = batch.at(all.mask, number);
            differentiate(Head<T>(problem, number), batch.at(g_out, number),
                          totals + number * problem.queries, own, scores.data(), g_scores.data());
        }
    });
    if (!is_fused) {
        g_k.reset(by_columns(g_k.array()));
        if (!g_k) return nullptr;
    }
    return tuple({g_q.release(), g_k.release(), g_v.release(), g_mask.release()});
}

// An array of floats like `model`, with at least two axes.
bool fits(Array x, Array model) {
    return x && x.ndim() >= 2 && x.ndim() < NPY_MAXDIMS - 2 && x.type() == model.type() &&
           x.is_behaved();
}

PyObject* attention(Arguments arguments) {
    Array q = arguments.array(0), k = arguments.array(1), v = arguments.array(2);
    Array mask = arguments.array(3);
    if (arguments.count() != 6 || !q || !fits(q, q) || !fits(k, q) || !fits(v, q)) return decline();
    if (!arguments.is_none(3) && !fits(mask, q)) return decline();
    bool is_causal = arguments.truth(4);
    double scale = arguments.number(5);
    if (PyErr_Occurred()) return nullptr;
    if (q.type() == Type::float32) return attention_of<float>(q, k, v, mask, is_causal, scale);
    if (q.type() == Type::float64) return attention_of<double>(q, k, v, mask, is_causal, scale);
    return decline();
}

PyObject* attention_grad(Arguments arguments) {
    if (arguments.count() != 9) return decline();
    Array g = arguments.array(0), q = arguments.array(1), k = arguments.array(2);
    Array v = arguments.array(3), mask = arguments.array(4), log_total = arguments.array(5);
    if (!q || !fits(g, q) || !fits(q, q) || !fits(k, q) || !fits(v, q)) return decline();
    if (!arguments.is_none(4) && !fits(mask, q)) return decline();
    if (!log_total || log_total.type() != q.type() || !log_total.is_plain()) return decline();
    bool is_causal = arguments.truth(6);
    double scale = arguments.number(7);
    PyObject* needs = arguments[8];
    if (!PyTuple_Check(needs) || PyTuple_GET_SIZE(needs) != 4) return decline();
    bool needs_mask = mask && PyObject_IsTrue(PyTuple_GET_ITEM(needs, 3)) == 1;
    if (PyErr_Occurred()) return nullptr;
    auto run = [&](auto zero) {
        return attention_grad_of<decltype(zero)>(g, q, k, v, mask, log_total, is_causal, scale,
                                                 needs_mask);
    };
    if (q.type() == Type::float32) return run(0.0f);
    return q.type() == Type::float64 ? run(0.0) : decline();
}

const Registration registrations[] = {
    {"attention", attention}, {"attention_grad", attention_grad},
};

}  // namespace
}  // namespace nnkit
