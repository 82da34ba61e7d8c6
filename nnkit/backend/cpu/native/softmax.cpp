// Softmax and its logarithm: each slice along the axis is shifted by its maximum first.
#include "math.h"
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index elements_of_piece = 8192;
constexpr Index elements_of_group = 1024;  // short rows are worked on together: exp is vectorised
constexpr Index columns = 256;             // of a tile where slices do not lie in a row
constexpr Index block_of_sum = 64;         // rows of a tile whose sum is added up at once

// Each functor computes a few rows, one after the other in memory. `a` and `out` may be one.
struct Softmax {
    template <class T>
    static void rows(const T* x, const T*, T* out, T*, Index rows, Index count) {
        for (Index r = 0; r < rows; ++r) {
            T shift = max_of(x + r * count, count);
            for (Index i = r * count; i < (r + 1) * count; ++i) out[i] = x[i] - shift;
        }
        for (Index i = 0; i < rows * count; ++i) out[i] = math::exp(out[i]);
        for (Index r = 0; r < rows; ++r) {
            T total = sum_of(out + r * count, count);
            for (Index i = r * count; i < (r + 1) * count; ++i) out[i] /= total;
        }
    }
};

struct LogSoftmax {
    template <class T>
    static void rows(const T* x, const T*, T* out, T* buffer, Index rows, Index count) {
        for (Index r = 0; r < rows; ++r) {
            T shift = max_of(x + r * count, count);
            for (Index i = r * count; i < (r + 1) * count; ++i) out[i] = x[i] - shift;
        }
        for (Index i = 0; i < rows * count; ++i) buffer[i] = math::exp(out[i]);
        for (Index r = 0; r < rows; ++r) {
            T normalizer = math::log(sum_of(buffer + r * count, count));
            for (Index i = r * count; i < (r + 1) * count; ++i) out[i] -= normalizer;
        }
    }
};

struct SoftmaxGrad {
    template <class T>
    static void rows(const T* g, const T* y, T* out, T*, Index rows, Index count) {
        for (Index r = 0; r < rows; ++r) {
            auto product = [](auto a, auto b) { return a * b; };
            T total = sum_of<T>(count, product, g + r * count, y + r * count);
            for (Index i = r * count; i < (r + 1) * count; ++i) out[i] = (g[i] - total) * y[i];
        }
    }
};

struct LogSoftmaxGrad {
    template <class T>
    static void rows(const T* g, const T* y, T* out, T* buffer, Index rows, Index count) {
        for (Index i = 0; i < rows * count; ++i) buffer[i] = math::exp(y[i]);
        for (Index r = 0; r < rows; ++r) {
            T total = sum_of(g + r * count, count);
            for (Index i = r * count; i < (r + 1) * count; ++i) out[i] = g[i] - buffer[i] * total;
        }
    }
};

// Slices that lie in rows; halves are widened group by group.
template <class Kind, class S>
void along_rows(const Slices& slices, const S* a, const S* b, S* out) {
    using T = Computed<S>;
    Index count = slices.count;
    Index group = std::max<Index>(1, elements_of_group / count);
    Index grain = (std::max<Index>(1, elements_of_piece / count) + group - 1) / group * group;
    parallel_for(slices.outer, grain, [&](Index begin, Index end) {
        Index most = std::min(group, end - begin) * count;
        Buffer<T, elements_of_group> buffer(most);
        Buffer<T, std::is_same_v<S, T> ? 1 : elements_of_group> wide_a(std::is_same_v<S, T> ? 1 : most);
        Buffer<T, std::is_same_v<S, T> ? 1 : elements_of_group> wide_b(std::is_same_v<S, T> ? 1 : most);
        for (Index row = begin; row < end; row += group) {
            Index rows = std::min(group, end - row), at = row * count;
            const S* second = b == nullptr ? nullptr : b + at;
            if constexpr (std::is_same_v<S, T>) {
                Kind::rows(a + at, second, out + at, buffer.data(), rows, count);
            } else {
                convert_row(a + at, wide_a.data(), rows * count);
                if (b != nullptr) convert_row(second, wide_b.data(), rows * count);
                Kind::rows(wide_a.data(), wide_b.data(), wide_a.data(), buffer.data(), rows, count);
                convert_row(wide_a.data(), out + at, rows * count);
            }
        }
    });
}

// Slices across rows: a tile of some columns is brought into a buffer where they lie in rows.
template <class Kind, class S>
void across_rows(const Slices& slices, const S* a, const S* b, S* out) {
    using T = Computed<S>;
    Index count = slices.count, inner = slices.inner;
    Index width = std::clamp<Index>(elements_of_piece / count, 16, columns);
    Index tiles = (inner + width - 1) / width;
    Index grain = std::max<Index>(1, elements_of_piece / (count * std::min(width, inner)));
    parallel_for(slices.outer * tiles, grain, [&](Index begin, Index end) {
        Index most = count * std::min(width, inner);
        Scratch<T> wide_a(most), wide_b(b == nullptr ? 1 : most), buffer(most);
        for (Index tile = begin; tile < end; ++tile) {
            Index first = tile % tiles * width, rows = std::min(width, inner - first);
            Index at = tile / tiles * count * inner + first;
            for (Index k = 0; k < count; ++k) {
                for (Index j = 0; j < rows; ++j) {
                    wide_a[j * count + k] = convert<T>(a[at + k * inner + j]);
                    if (b != nullptr) wide_b[j * count + k] = convert<T>(b[at + k * inner + j]);
                }
            }
            Kind::rows(wide_a.data(), wide_b.data(), wide_a.data(), buffer.data(), rows, count);
            for (Index k = 0; k < count; ++k) {
                for (Index j = 0; j < rows; ++j) {
                    out[at + k * inner + j] = convert<S>(wide_a[j * count + k]);
                }
            }
        }
    });
}

template <class Kind, class S> void run(const Slices& slices, Array a, Array b, Array out) {
    const S* second = b ? b.data<S>() : nullptr;
    if (slices.inner == 1) along_rows<Kind>(slices, a.data<S>(), second, out.data<S>());
    else across_rows<Kind>(slices, a.data<S>(), second, out.data<S>());
}

template <class Kind> PyObject* start(Array a, Array b, Index axis) {
    if (axis < 0) axis += a.ndim();
    if (axis < 0 || axis > std::max(0, a.ndim() - 1)) return decline();
    if (b && (b.type() != a.type() || !b.same_shape(a))) return decline();
    if (a.type() < Type::float16 || a.type() == Type::other) return decline();
    Owned first = in_order(a), second(b ? in_order(b) : Owned());
    if (!first || (b && !second)) return nullptr;
    Owned out(empty_like(first.array()));
    Slices slices(a, static_cast<int>(axis));
    if (!out || slices.size() == 0) return out.release();
    switch (a.type()) {
        case Type::float16: run<Kind, Float16>(slices, first.array(), second.array(), out.array()); break;
        case Type::bfloat16: run<Kind, BFloat16>(slices, first.array(), second.array(), out.array()); break;
        case Type::float32: run<Kind, float>(slices, first.array(), second.array(), out.array()); break;
        default: run<Kind, double>(slices, first.array(), second.array(), out.array()); break;
    }
    return out.release();
}

template <class Kind> PyObject* unary(Arguments arguments) {
    Array x = arguments.array(0);
    return arguments.count() == 2 && x ? start<Kind>(x, Array(), arguments.integer(1)) : decline();
}

template <class Kind> PyObject* binary(Arguments arguments) {
    Array g = arguments.array(0), y = arguments.array(1);
    return arguments.count() == 3 && g && y ? start<Kind>(g, y, arguments.integer(2)) : decline();
}

Registration softmax_("softmax", unary<Softmax>);
Registration softmax_grad_("softmax_grad", binary<SoftmaxGrad>);
Registration log_softmax_("log_softmax", unary<LogSoftmax>);
Registration log_softmax_grad_("log_softmax_grad", binary<LogSoftmaxGrad>);

}  // namespace
}  // namespace nnkit
