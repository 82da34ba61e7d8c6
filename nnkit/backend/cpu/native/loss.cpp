// Losses on class labels. Classes stand on axis 1, or 0 where there is no batch.
#include "math.h"
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index elements_of_piece = 8192;
constexpr Index elements_of_group = 1024;  // short rows are worked on together: exp is vectorised

enum class Reduction { none, mean, sum, unknown };

Reduction read_reduction(PyObject* name) {
    if (!PyUnicode_Check(name)) return Reduction::unknown;
    if (PyUnicode_CompareWithASCIIString(name, "mean") == 0) return Reduction::mean;
    if (PyUnicode_CompareWithASCIIString(name, "sum") == 0) return Reduction::sum;
    if (PyUnicode_CompareWithASCIIString(name, "none") == 0) return Reduction::none;
    return Reduction::unknown;
}

// The labels of a call, the weights of their classes, and how their losses are reduced.
template <class T> struct Labels {
    const std::int64_t* label;
    Index count, classes;
    std::int64_t ignored;
    const T* weight;  // of each class; null: they all weigh 1
    Reduction reduction;
    bool any_ignored = false;

    // Whether each label is a class or to be ignored.
    bool check() {
        bool valid = true;
        for (Index i = 0; i < count; ++i) {
            bool is_ignored = label[i] == ignored;
            any_ignored |= is_ignored;
            valid &= is_ignored | (static_cast<std::uint64_t>(label[i]) <
                                   static_cast<std::uint64_t>(classes));
        }
        return valid;
    }
    bool is_ignored(Index i) const { return any_ignored && label[i] == ignored; }
    T weight_of(Index i) const {
        if (is_ignored(i)) return 0;
        return weight == nullptr ? T(1) : weight[label[i]];
    }
    T sum_of_weights() const {
        if (weight == nullptr && !any_ignored) return static_cast<T>(count);
        Buffer<T> each(count);
        for (Index i = 0; i < count; ++i) each[i] = weight_of(i);
        return sum_of(each.data(), count);
    }
    T sum_of_class_weights() const {
        return weight == nullptr ? static_cast<T>(classes) : sum_of(weight, classes);
    }
};

// Calls `body(rows, first, count)` for tiles of scores: `count` rows of classes, one after the
// other in memory, for the labels from `first` on. `body` changes the rows, which are then `out`.
template <class T, class S, class Body>
void for_rows_of_classes(const Slices& slices, const S* in, S* out, Body body) {
    Index classes = slices.count, inner = slices.inner;
    Index span = inner == 1 ? slices.outer : inner;  // of the labels that follow each other
    Index group = std::max<Index>(1, elements_of_group / classes);
    Index tiles = (span + group - 1) / group;
    Index outer = slices.rows() / span;
    Index grain = std::max<Index>(1, elements_of_piece / (group * classes));
    constexpr bool same = std::is_same_v<S, T>;
    parallel_for(outer * tiles, grain, [&](Index begin, Index end) {
        bool direct = same && inner == 1;
        Buffer<T, elements_of_group> buffer(direct ? 0 : std::min(group, span) * classes);
        for (Index tile = begin; tile < end; ++tile) {
            Index start = tile % tiles * group, rows = std::min(group, span - start);
            Index first = tile / tiles * span + start;
            if (inner == 1) {
                const S* from = in + first * classes;
                S* to = out + first * classes;
                T* wide = buffer.data();
                if constexpr (same) wide = to;
                convert_row(from, wide, rows * classes);
                body(wide, first, rows);
                if constexpr (!same) convert_row(wide, to, rows * classes);
                continue;
            }
            Index at = tile / tiles * classes * inner + start;
            for (Index k = 0; k < classes; ++k) {
                const S* from = in + at + k * inner;
                for (Index j = 0; j < rows; ++j) buffer[j * classes + k] = convert<T>(from[j]);
            }
            body(buffer.data(), first, rows);
            for (Index k = 0; k < classes; ++k) {
                S* to = out + at + k * inner;
                for (Index j = 0; j < rows; ++j) to[j] = convert<S>(buffer[j * classes + k]);
            }
        }
    });
}

// -log softmax(scores)[label] of some rows, into `losses`; the rows become their softmax.
template <class T>
void cross_entropy_rows(const Labels<T>& labels, T smoothing, T class_weights, T* p, T* losses,
                        Index first, Index rows) {
    Index classes = labels.classes;
    Buffer<T> smooth(smoothing != 0 ? rows : 0), total(rows);
    for (Index r = 0; r < rows; ++r) {
        T* row = p + r * classes;
        T shift = max_of(row, classes);
        for (Index i = 0; i < classes; ++i) row[i] -= shift;
        losses[r] = labels.is_ignored(first + r) ? T(0) : row[labels.label[first + r]];
        if (smoothing == 0) continue;
        auto product = [](auto a, auto b) { return a * b; };
        smooth[r] = labels.weight == nullptr ? sum_of(row, classes)
                                             : sum_of<T>(classes, product, row, labels.weight);
    }
    for (Index i = 0; i < rows * classes; ++i) p[i] = math::exp(p[i]);
    for (Index r = 0; r < rows; ++r) {
        T* row = p + r * classes;
        total[r] = sum_of(row, classes);
        for (Index i = 0; i < classes; ++i) row[i] /= total[r];
    }
    for (Index r = 0; r < rows; ++r) total[r] = math::log(total[r]);
    for (Index r = 0; r < rows; ++r) {
        bool ignored = labels.is_ignored(first + r);
        T loss = total[r] - losses[r];
        if (labels.weight != nullptr && !ignored) loss *= labels.weight_of(first + r);
        if (smoothing != 0) {
            T all = class_weights * total[r] - smooth[r];
            loss = loss * (1 - smoothing) + all * (smoothing / static_cast<T>(classes));
        }
        losses[r] = ignored ? T(0) : loss;
    }
}

// The loss of all labels from the loss of each.
template <class T, class S>
void reduce_losses(const Labels<T>& labels, const T* losses, S* out) {
    if (labels.reduction == Reduction::none) {
        convert_row(losses, out, labels.count);
        return;
    }
    T total = sum_of(losses, labels.count);
    if (labels.reduction == Reduction::mean) total /= labels.sum_of_weights();
    *out = convert<S>(total);
}

// What the calls have in common: the arrays in order, with the labels as int64.
struct Call {
    Owned scores, labels, weight;
    std::int64_t ignored = 0;
    Reduction reduction = Reduction::unknown;

    // False: the twin is to be called, or an exception is set.
    bool read(Array x, Array target, Arguments arguments, Index weight_at) {
        PyObject* weight_object = arguments[weight_at];
        ignored = PyLong_AsLongLong(arguments[weight_at + 1]);
        reduction = read_reduction(arguments[weight_at + 2]);
        if (PyErr_Occurred() || reduction == Reduction::unknown) return false;
        if (!x || !target || x.type() < Type::float16 || x.type() == Type::other) return false;
        if (x.ndim() == 0 || x.size() == 0 || target.type() == Type::other) return false;
        if (target.type() >= Type::float16) return false;
        Index classes = x.shape(x.ndim() > 1 ? 1 : 0);
        if (target.ndim() != x.ndim() - 1 || target.size() * classes != x.size()) return false;
        if (weight_object != Py_None) {
            Array w = arguments.array(weight_at);
            if (!w || w.type() != x.type() || w.ndim() != 1 || w.size() != classes) return false;
            weight = in_order(w);
            if (!weight) return false;
        }
        PyArray_Descr* descriptor = PyArray_DescrFromType(NPY_INT64);
        labels = Owned(PyArray_FromArray(reinterpret_cast<PyArrayObject*>(target.object()),
                                         descriptor, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST));
        scores = in_order(x);
        return labels && scores;
    }
    Slices slices() const {
        return Slices(scores.array(), scores.array().ndim() > 1 ? 1 : 0);
    }
    // `wide` takes the weights of the classes in the type of the computation.
    template <class S, class T> Labels<T> labels_as(Buffer<T, 64>& wide) const {
        Array target = labels.array();
        if (weight) convert_row(weight.array().data<S>(), wide.data(), slices().count);
        return {target.data<std::int64_t>(), target.size(), slices().count, ignored,
                weight ? wide.data() : nullptr, reduction};
    }
    Index weights() const { return weight ? slices().count : 0; }
};

// A loss: of the labels' shape, or a single number.
PyObject* new_loss(const Call& call) {
    Array target = call.labels.array();
    PyArray_Descr* descriptor = call.scores.array().descriptor();
    Py_INCREF(descriptor);
    return empty(call.reduction == Reduction::none ? target.ndim() : 0, target.shape(), descriptor);
}

template <class S> PyObject* cross_entropy_of(const Call& call, double smoothing) {
    using T = Computed<S>;
    Buffer<T, 64> wide(call.weights());
    Labels<T> labels = call.labels_as<S>(wide);
    if (!labels.check()) return decline();
    Owned loss(new_loss(call)), p(empty_like(call.scores.array()));
    if (!loss || !p) return nullptr;
    Buffer<T> losses(labels.count);
    T class_weights = labels.sum_of_class_weights();
    for_rows_of_classes<T>(
        call.slices(), call.scores.array().data<S>(), p.array().data<S>(),
        [&](T* rows, Index first, Index count) {
            cross_entropy_rows(labels, static_cast<T>(smoothing), class_weights, rows,
                               losses.data() + first, first, count);
        });
    reduce_losses(labels, losses.data(), loss.array().data<S>());
    return tuple({loss.release(), p.release()});
}

template <class S>
PyObject* cross_entropy_grad_of(const Call& call, Array g, double label_smoothing) {
    using T = Computed<S>;
    Buffer<T, 64> wide(call.weights());
    Labels<T> labels = call.labels_as<S>(wide);
    if (!labels.check()) return decline();
    Owned out(empty_like(call.scores.array()));
    if (!out) return nullptr;
    bool each_has_one = labels.reduction == Reduction::none;
    T common = convert<T>(*g.data<S>());
    if (labels.reduction == Reduction::mean) common /= labels.sum_of_weights();
    T smoothing = static_cast<T>(label_smoothing), class_weights = labels.sum_of_class_weights();
    Index classes = labels.classes;
    for_rows_of_classes<T>(
        call.slices(), call.scores.array().data<S>(), out.array().data<S>(),
        [&](T* rows, Index first, Index count) {
            for (Index r = 0; r < count; ++r) {
                T* row = rows + r * classes;
                Index i = first + r;
                if (labels.is_ignored(i)) {
                    for (Index k = 0; k < classes; ++k) row[k] *= T(0);
                    continue;
                }
                T share = each_has_one ? convert<T>(g.data<S>()[i]) : common;
                T each = share * labels.weight_of(i), scale = each;
                if (smoothing != 0) {
                    each *= 1 - smoothing;
                    share *= smoothing / static_cast<T>(classes);
                    scale = each + share * class_weights;
                }
                for (Index k = 0; k < classes; ++k) row[k] *= scale;
                if (smoothing != 0 && labels.weight == nullptr) {
                    for (Index k = 0; k < classes; ++k) row[k] -= share;
                } else if (smoothing != 0) {
                    for (Index k = 0; k < classes; ++k) row[k] -= share * labels.weight[k];
                }
                row[labels.label[i]] -= each;
            }
        });
    return out.release();
}

template <class S> PyObject* nll_loss_of(const Call& call) {
    using T = Computed<S>;
    Buffer<T, 64> wide(call.weights());
    Labels<T> labels = call.labels_as<S>(wide);
    if (!labels.check()) return decline();
    Owned loss(new_loss(call));
    if (!loss) return nullptr;
    Slices slices = call.slices();
    const S* x = call.scores.array().data<S>();
    Buffer<T> losses(labels.count);
    for (Index o = 0, i = 0; o < slices.outer; ++o, x += slices.count * slices.inner) {
        for (Index j = 0; j < slices.inner; ++j, ++i) {
            losses[i] = 0;
            if (labels.is_ignored(i)) continue;
            T value = -convert<T>(x[labels.label[i] * slices.inner + j]);
            losses[i] = labels.weight == nullptr ? value : value * labels.weight_of(i);
        }
    }
    reduce_losses(labels, losses.data(), loss.array().data<S>());
    return loss.release();
}

template <class S> PyObject* nll_loss_grad_of(const Call& call, Array g) {
    using T = Computed<S>;
    Buffer<T, 64> wide(call.weights());
    Labels<T> labels = call.labels_as<S>(wide);
    if (!labels.check()) return decline();
    Owned result(empty_like(call.scores.array()));
    if (!result) return nullptr;
    Slices slices = call.slices();
    S* out = result.array().data<S>();
    std::memset(static_cast<void*>(out), 0, static_cast<std::size_t>(slices.size()) * sizeof(S));
    bool each_has_one = labels.reduction == Reduction::none;
    T common = convert<T>(*g.data<S>());
    if (labels.reduction == Reduction::mean) common /= labels.sum_of_weights();
    for (Index o = 0, i = 0; o < slices.outer; ++o, out += slices.count * slices.inner) {
        for (Index j = 0; j < slices.inner; ++j, ++i) {
            if (labels.is_ignored(i)) continue;
            T share = each_has_one ? convert<T>(g.data<S>()[i]) : common;
            out[labels.label[i] * slices.inner + j] = convert<S>(-(share * labels.weight_of(i)));
        }
    }
    return result.release();
}

// The gradient of the loss, in order: one number, or one for each label.
Owned read_gradient(Array g, const Call& call) {
    Array x = call.scores.array();
    Index count = call.reduction == Reduction::none ? call.labels.array().size() : 1;
    return g && g.type() == x.type() && g.size() == count ? in_order(g) : Owned();
}

PyObject* cross_entropy(Arguments arguments) {
    if (arguments.count() != 6) return decline();
    double smoothing = arguments.number(5);
    Call call;
    if (!call.read(arguments.array(0), arguments.array(1), arguments, 2)) return decline();
    return by_type(call.scores.array().type(), [&](auto like) {
        return cross_entropy_of<decltype(like)>(call, smoothing);
    });
}

PyObject* cross_entropy_grad(Arguments arguments) {
    if (arguments.count() != 7) return decline();
    double smoothing = arguments.number(6);
    Call call;
    if (!call.read(arguments.array(1), arguments.array(2), arguments, 3)) return decline();
    Owned g = read_gradient(arguments.array(0), call);
    if (!g) return decline();
    return by_type(call.scores.array().type(), [&](auto like) {
        return cross_entropy_grad_of<decltype(like)>(call, g.array(), smoothing);
    });
}

PyObject* nll_loss(Arguments arguments) {
    Call call;
    if (arguments.count() != 5) return decline();
    if (!call.read(arguments.array(0), arguments.array(1), arguments, 2)) return decline();
    return by_type(call.scores.array().type(),
                   [&](auto like) { return nll_loss_of<decltype(like)>(call); });
}

PyObject* nll_loss_grad(Arguments arguments) {
    Call call;
    if (arguments.count() != 6) return decline();
    if (!call.read(arguments.array(1), arguments.array(2), arguments, 3)) return decline();
    Owned g = read_gradient(arguments.array(0), call);
    if (!g) return decline();
    return by_type(call.scores.array().type(), [&](auto like) {
        return nll_loss_grad_of<decltype(like)>(call, g.array());
    });
}

Registration cross_entropy_("cross_entropy", cross_entropy);
Registration cross_entropy_grad_("cross_entropy_grad", cross_entropy_grad);
Registration nll_loss_("nll_loss", nll_loss);
Registration nll_loss_grad_("nll_loss_grad", nll_loss_grad);

}  // namespace
}  // namespace nnkit
