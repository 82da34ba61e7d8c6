// Softmax and its logarithm: each slice along the axis is shifted by its maximum first.
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index elements_of_piece = 8192;
constexpr Index elements_of_group = 1024;  // short rows are worked on together: exp is vectorised
constexpr Index elements_of_tile = 4096;   // where slices do not lie in a row; it fits the cache
constexpr Index narrowest_tile = 64, widest_tile = 256;

// Some slices that are worked on together, and a buffer as large as they are. Either each is a row
// of `count` elements, one row after the other; or each is a column, its elements `step` apart.
// `out` may be `a`.
template <class T> struct Block {
    const T *a, *b;
    T *out, *buffer;
    Index slices, count, step;

    // Calls f(start, length) for all stretches in which columns lie without a gap.
    template <class F> void stretches(F f) const {
        if (step == slices) f(Index{0}, count * slices);
        else for (Index k = 0; k < count; ++k) f(k * step, slices);
    }
    // out[i] = f(i, column), row by row of the columns
    template <class F> void fill_columns(F f) const {
        for (Index k = 0; k < count; ++k) {
            for (Index j = 0; j < slices; ++j) out[k * step + j] = f(k * step + j, j);
        }
    }
};

// A value of type T as it is once it has been stored as an S, which may be of half precision.
template <class S, class T> T stored(T value) {
    if constexpr (std::is_same_v<S, T>) return value;
    else return convert<T>(convert<S>(value));
}

// In half precision torch stores what it computes between: the exponentials of a softmax along
// another axis than the last, and along the last the sum for a logarithm, and its logarithm.
struct Softmax {
    template <class S, class T> [[gnu::noinline]] static void rows(const Block<T>& block) {
        Index count = block.count;
        Buffer<T, elements_of_group> shift(block.slices);
        exp_of_rows(block.a, block.out, block.slices, count, shift.data());
        for (Index r = 0; r < block.slices; ++r) {
            T* out = block.out + r * count;
            T total = sum_of(out, count);
            for (Index i = 0; i < count; ++i) out[i] /= total;
        }
    }
    template <class S, class T> [[gnu::noinline]] static void columns(const Block<T>& block) {
        T largest[widest_tile], total[widest_tile];
        const T* x = block.a;
        T* out = block.out;
        max_of_columns(x, block.count, block.step, block.slices, largest);
        block.fill_columns([&](Index i, Index j) { return x[i] - largest[j]; });
        block.stretches([&](Index start, Index length) {
            for (Index i = start; i < start + length; ++i) out[i] = math::exp_of_negative(out[i]);
        });
        sum_columns(block.count, block.step, block.slices, total,
                    [&](Index i, Index) { return out[i]; });
        block.fill_columns([&](Index i, Index j) { return stored<S>(out[i]) / total[j]; });
    }
};

struct LogSoftmax {
    template <class S, class T> [[gnu::noinline]] static void rows(const Block<T>& block) {
        Index count = block.count;
        Buffer<T, elements_of_group> shift(block.slices), normalizer(block.slices);
        exp_of_rows(block.a, block.buffer, block.slices, count, shift.data());
        for (Index r = 0; r < block.slices; ++r) {
            normalizer[r] = sum_of(block.buffer + r * count, count);
        }
        T* totals = normalizer.data();
        for (Index r = 0; r < block.slices; ++r) {
            totals[r] = stored<S>(math::log(stored<S>(totals[r])));
        }
        for (Index r = 0; r < block.slices; ++r) {
            const T* x = block.a + r * count;
            T *out = block.out + r * count, largest = shift[r], total = totals[r];
            for (Index i = 0; i < count; ++i) out[i] = (x[i] - largest) - total;
        }
    }
    template <class S, class T> [[gnu::noinline]] static void columns(const Block<T>& block) {
        T largest[widest_tile], total[widest_tile];
        const T* x = block.a;
        T *out = block.out, *buffer = block.buffer;
        Index width = block.slices;
        max_of_columns(x, block.count, block.step, block.slices, largest);
        block.fill_columns([&](Index i, Index j) { return x[i] - largest[j]; });
        Index at = 0;
        block.stretches([&](Index start, Index length) {
            for (Index i = 0; i < length; ++i) {
                buffer[at + i] = math::exp_of_negative(out[start + i]);
            }
            at += length;
        });
        sum_columns(block.count, width, width, total, [&](Index i, Index) { return buffer[i]; });
        for (Index j = 0; j < width; ++j) total[j] = math::log(total[j]);
        block.fill_columns([&](Index i, Index j) { return out[i] - total[j]; });
    }
};

struct SoftmaxGrad {
    template <class S, class T> [[gnu::noinline]] static void rows(const Block<T>& block) {
        for (Index r = 0; r < block.slices; ++r) {
            const T *g = block.a + r * block.count, *y = block.b + r * block.count;
            T* out = block.out + r * block.count;
            T total = sum_of<T>(block.count, [](auto a, auto b) { return a * b; }, g, y);
            for (Index i = 0; i < block.count; ++i) out[i] = (g[i] - total) * y[i];
        }
    }
    template <class S, class T> [[gnu::noinline]] static void columns(const Block<T>& block) {
        T total[widest_tile];
        const T *g = block.a, *y = block.b;
        sum_columns(block.count, block.step, block.slices, total,
                    [&](Index i, Index) { return g[i] * y[i]; });
        block.fill_columns([&](Index i, Index j) { return (g[i] - total[j]) * y[i]; });
    }
};

struct LogSoftmaxGrad {
    template <class S, class T> [[gnu::noinline]] static void rows(const Block<T>& block) {
        Index count = block.count;
        const T* all = block.b;
        T* buffer = block.buffer;
        for (Index i = 0; i < block.slices * count; ++i) buffer[i] = math::exp(all[i]);
        for (Index r = 0; r < block.slices; ++r) {
            const T *g = block.a + r * count, *p = buffer + r * count;
            T* out = block.out + r * count;
            T total = sum_of(g, count);
            for (Index i = 0; i < count; ++i) out[i] = g[i] - p[i] * total;
        }
    }
    template <class S, class T> [[gnu::noinline]] static void columns(const Block<T>& block) {
        T total[widest_tile];
        const T *g = block.a, *y = block.b;
        T *out = block.out, *buffer = block.buffer;
        Index width = block.slices, step = block.step, at = 0;
        block.stretches([&](Index start, Index length) {
            for (Index i = 0; i < length; ++i) buffer[at + i] = math::exp(y[start + i]);
            at += length;
        });
        sum_columns(block.count, step, width, total, [&](Index i, Index) { return g[i]; });
        for (Index k = 0; k < block.count; ++k) {
            for (Index j = 0; j < width; ++j) {
                out[k * step + j] = g[k * step + j] - buffer[k * width + j] * total[j];
            }
        }
    }
};

// AxisView that lie in rows; halves are widened, group by group.
template <class Kind, class S>
void along_rows(const AxisView& slices, const S* a, const S* b, S* out) {
    using T = Computed<S>;
    constexpr bool is_half = !std::is_same_v<S, T>;
    Index count = slices.count;
    Index group = std::max<Index>(1, elements_of_group / count);
    Index grain = std::max<Index>(1, elements_of_piece / (count * group)) * group;
    parallel_for(slices.outer, grain, [&](Index begin, Index end) {
        Index most = std::min(group, end - begin) * count;
        Buffer<T, elements_of_group> buffer(most), wide_a(is_half ? most : 0);
        Buffer<T, elements_of_group> wide_b(is_half ? most : 0);
        for (Index row = begin; row < end; row += group) {
            Index rows = std::min(group, end - row), at = row * count;
            if constexpr (is_half) {
                convert_row(a + at, wide_a.data(), rows * count);
                if (b != nullptr) convert_row(b + at, wide_b.data(), rows * count);
                Kind::template rows<S>(Block<T>{wide_a.data(), wide_b.data(), wide_a.data(), buffer.data(),
                                    rows, count, 0});
                convert_row(wide_a.data(), out + at, rows * count);
            } else {
                const T* second = b == nullptr ? nullptr : b + at;
                Kind::template rows<S>(Block<T>{a + at, second, out + at, buffer.data(), rows, count, 0});
            }
        }
    });
}

// AxisView across rows, in tiles of some columns. Many rows that lie apart are copied: the distance
// is often a power of two, and they would share few sets of the cache.
template <class Kind, class S>
void across_rows(const AxisView& slices, const S* a, const S* b, S* out) {
    using T = Computed<S>;
    Index count = slices.count, inner = slices.inner;
    Index width = elements_of_tile / count / 16 * 16;
    width = std::clamp<Index>(width, narrowest_tile, widest_tile);
    Index tiles = (inner + width - 1) / width;
    Index grain = std::max<Index>(1, elements_of_piece / (count * std::min(width, inner)));
    const bool copies =
        !std::is_same_v<S, T> || (width < inner && count * width > elements_of_tile);
    parallel_for(slices.outer * tiles, grain, [&](Index begin, Index end) {
        Index most = count * std::min(width, inner);
        Buffer<T, elements_of_tile> buffer(most), copy_a(copies ? most : 0);
        Buffer<T, elements_of_tile> copy_b(copies && b != nullptr ? most : 0);
        for (Index tile = begin; tile < end; ++tile) {
            Index first = tile % tiles * width, columns = std::min(width, inner - first);
            Index at = tile / tiles * count * inner + first;
            if (copies) {
                for (Index k = 0; k < count; ++k) {
                    Index from = at + k * inner, to = k * columns;
                    convert_row(a + from, copy_a.data() + to, columns);
                    if (b != nullptr) convert_row(b + from, copy_b.data() + to, columns);
                }
                Kind::template columns<S>(Block<T>{copy_a.data(), copy_b.data(), copy_a.data(),
                                                   buffer.data(), columns, count, columns});
                for (Index k = 0; k < count; ++k) {
                    convert_row(copy_a.data() + k * columns, out + at + k * inner, columns);
                }
            } else if constexpr (std::is_same_v<S, T>) {
                const T* second = b == nullptr ? nullptr : b + at;
                Kind::template columns<S>(
                    Block<T>{a + at, second, out + at, buffer.data(), columns, count, inner});
            }
        }
    });
}

template <class Kind> PyObject* run(Array a, Array b, Index axis) {
    if (axis < 0) axis += a.ndim();
    if (axis < 0 || axis > std::max(0, a.ndim() - 1)) return decline();
    if (b && (b.type() != a.type() || !b.same_shape(a))) return decline();
    if (a.type() < Type::float16 || a.type() == Type::other) return decline();
    Owned first = in_order(a), second = b ? in_order(b) : Owned();
    if (!first || (b && !second)) return nullptr;
    Owned result(empty_like(first.array()));
    AxisView slices(a, static_cast<int>(axis));
    const bool is_last = axis >= a.ndim() - 1;
    if (!result || slices.size() == 0) return result.release();
    by_type(a.type(), [&](auto like) {
        using S = decltype(like);
        const S* x = first.array().data<S>();
        const S* y = second ? second.array().data<S>() : nullptr;
        S* out = result.array().data<S>();
        if (slices.inner == 1 && (is_last || sizeof(S) > 2)) along_rows<Kind>(slices, x, y, out);
        else across_rows<Kind>(slices, x, y, out);
    });
    return result.release();
}

template <class Kind> PyObject* unary(Arguments arguments) {
    Array x = arguments.array(0);
    return x ? run<Kind>(x, Array(), arguments.integer(1)) : decline();
}

template <class Kind> PyObject* binary(Arguments arguments) {
    Array g = arguments.array(0), y = arguments.array(1);
    return g && y ? run<Kind>(g, y, arguments.integer(2)) : decline();
}

Registration softmax_("softmax", unary<Softmax>);
Registration softmax_grad_("softmax_grad", binary<SoftmaxGrad>);
Registration log_softmax_("log_softmax", unary<LogSoftmax>);
Registration log_softmax_grad_("log_softmax_grad", binary<LogSoftmaxGrad>);

}  // namespace
}  // namespace nnkit
