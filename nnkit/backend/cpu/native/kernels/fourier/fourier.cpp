// Discrete Fourier transforms of lines whose length has no large prime factor.
//
// As many lines are transformed at once as a register has lanes: element k of a block of lines is
// two registers, the real and the imaginary parts. Each pass takes a factor out of the length and
// leaves the elements in order (Stockham's algorithm). A long line is a matrix, whose columns are
// transformed, multiplied by roots of 1, and whose rows are transformed then.
//
// An inverse transform is one with real and imaginary parts exchanged. Real numbers are taken two
// by two as complex ones: the transform of half as many tells theirs.
#include <algorithm>
#include <numeric>
#include <type_traits>

#include "layout.h"
#include "memory.h"
#include "owned.h"
#include "parallel.h"
#include "rows.h"
#include "transform.h"
#include "transpose.h"

namespace nnkit {
namespace {

using namespace fourier;

constexpr Index work_of_piece = 32768;  // elements

// Up to `width` lines of complex numbers: how far apart the numbers are, and the lines.
template <class T> struct Lines {
    T* start;
    Index step, line, count;

    void load(std::remove_const_t<T>* block, Index size) const {
        if (step == 2) return transpose(count, 2 * size, start, line, block, width<T>);
        for (Index k = 0; k < size; ++k, block += 2 * width<T>) {
            const T* from = start + k * step;
            for (Index i = 0; i < count; ++i) {
                block[i] = from[i * line], block[width<T> + i] = from[i * line + 1];
            }
        }
    }
    void store(const T* block, Index size) const {
        if (step == 2) return transpose(2 * size, count, block, width<T>, start, line);
        for (Index k = 0; k < size; ++k, block += 2 * width<T>) {
            T* to = start + k * step;
            for (Index i = 0; i < count; ++i) {
                to[i * line] = block[i], to[i * line + 1] = block[width<T> + i];
            }
        }
    }
};

template <class T> void scale_by(T* x, Index count, double scale) {
    if (scale == 1) return;
    const T factor = static_cast<T>(scale);
    for (Index i = 0; i < count; ++i) x[i] *= factor;
}

// Two blocks of lines.
template <class T> struct Blocks {
    explicit Blocks(Index size) : memory(4 * width<T> * size), first(memory.data()),
                                  second(memory.data() + 2 * width<T> * size) {
        std::fill_n(first, 2 * width<T> * size, T(0));
    }
    Scratch<T> memory;
    T *first, *second;
};

Index grain_of(Index elements) { return std::max<Index>(1, work_of_piece / elements); }

// Transforms one line as a matrix; the memory of x and out may be the same.
template <class T>
void transform_matrix(const Transform<T>& how, const T* x, T* out, bool inverse, double scale) {
    const Index height = how.rows.size, columns = how.row.size;
    Scratch<T> turned(2 * how.size());
    parallel_for(blocks_of<T>(columns), grain_of(height * width<T>), [&](Index i, Index end) {
        Blocks<T> blocks(height);
        for (; i < end; ++i) {
            const Index first = i * width<T>, count = std::min(width<T>, columns - first);
            Lines<const T>{x + 2 * first, 2 * columns, 2, count}.load(blocks.first, height);
            T* found = how.rows.run(blocks.first, blocks.second, inverse);
            const Block<T> block(found, width<T>, inverse);
            const T* roots = how.roots.data() + 2 * first * height;
            for (Index k = 0; k < height; ++k, roots += 2 * width<T>) {
                const auto re = load_as<Register<T>>(roots);
                const auto im = load_as<Register<T>>(roots + width<T>);
                block.set(k, block[k].times(re, im));
            }
            Lines<T>{turned.data() + 2 * first, 2 * columns, 2, count}.store(found, height);
        }
    });
    parallel_for(blocks_of<T>(height), grain_of(columns * width<T>), [&](Index i, Index end) {
        Blocks<T> blocks(columns);
        for (; i < end; ++i) {
            const Index first = i * width<T>, count = std::min(width<T>, height - first);
            const T* from = turned.data() + 2 * first * columns;
            Lines<const T>{from, 2, 2 * columns, count}.load(blocks.first, columns);
            T* found = how.row.run(blocks.first, blocks.second, inverse);
            scale_by(found, 2 * columns * width<T>, scale);
            Lines<T>{out + 2 * first, 2 * height, 2, count}.store(found, columns);
        }
    });
}

// Transforms the lines along the middle one of three axes; the memory of x and out may be the same.
template <class T>
void transform_axis(const T* x, T* out, Index outer, Index n, Index inner, bool inverse,
                    double scale) {
    const auto how = transform_of<T>(n, inner == 1 ? matrix_width(n, outer) : 1);
    if (how->is_matrix()) {
        parallel_for(outer, grain_of(n), [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                transform_matrix(*how, x + 2 * i * n, out + 2 * i * n, inverse, scale);
            }
        });
        return;
    }
    const Index lines = inner == 1 ? outer : inner, line = inner == 1 ? 2 * n : 2;
    const Index blocks = blocks_of<T>(lines), all = inner == 1 ? blocks : outer * blocks;
    parallel_for(all, grain_of(n * width<T>), [&](Index i, Index end) {
        Blocks<T> memory(n);
        for (; i < end; ++i) {
            const Index first = i % blocks * width<T>;
            const Index offset = i / blocks * 2 * n * inner + first * line;
            const Index count = std::min(width<T>, lines - first);
            Lines<const T>{x + offset, 2 * inner, line, count}.load(memory.first, n);
            T* found = how->rows.run(memory.first, memory.second, inverse);
            scale_by(found, 2 * n * width<T>, scale);
            Lines<T>{out + offset, 2 * inner, line, count}.store(found, n);
        }
    });
}

// Of the transform of n/2 pairs of real numbers, in its place, the half of that of the n numbers.
template <class V, class T> void separate(const Elements<V, T>& z, Index n, const T* roots) {
    const Index half = n / 2;
    const Complex<V> first = z[0];
    z.set(0, {first.re + first.im, V{}});
    z.set(half, {first.re - first.im, V{}});
    for (Index k = 1; k <= half / 2; ++k) {
        const Complex<V> a = z[k], b = z[half - k].conjugate();
        const Complex<V> even = (a + b).times(T(0.5)), odd = (a - b).times(T(0.5));
        const Complex<V> turned = odd.times_minus_i().times(roots[2 * k], roots[2 * k + 1]);
        z.set(k, even + turned);
        z.set(half - k, (even - turned).conjugate());
    }
}

// The opposite, of which the inverse transform gives twice the pairs.
template <class V, class T> void join(const Elements<V, T>& x, Index n, const T* roots) {
    const Index half = n / 2;
    const V first = x[0].re, last = x[half].re;
    x.set(0, {first + last, first - last});
    for (Index k = 1; k <= half / 2; ++k) {
        const Complex<V> a = x[k], b = x[half - k].conjugate();
        const Complex<V> even = a + b, turned = (a - b).times(roots[2 * k], -roots[2 * k + 1]);
        x.set(k, even + turned.times_i());
        x.set(half - k, even.conjugate() + turned.conjugate().times_i());
    }
}

// The numbers of a line from the half on that tells all to the `kept`th, which are conjugates.
template <class T> void mirror(T* line, Index n, Index kept) {
    for (Index k = n / 2 + 1; k < kept; ++k) {
        line[2 * k] = line[2 * (n - k)], line[2 * k + 1] = -line[2 * (n - k) + 1];
    }
}

// Real lines of n numbers to `kept` complex ones each: the half that tells all, or n.
template <class T>
void from_real(const T* x, T* out, Index lines, Index n, Index kept, double scale) {
    const Index half = n / 2;
    const auto how = transform_of<T>(half, matrix_width(half, lines), true);
    const T* roots = how->halves.data();
    const Index of_block = how->is_matrix() ? 1 : width<T>;
    const Index blocks = how->is_matrix() ? lines : blocks_of<T>(lines);
    parallel_for(blocks, grain_of(n * of_block), [&](Index i, Index end) {
        Blocks<T> memory(how->is_matrix() ? 0 : half + 1);
        for (; i < end; ++i) {
            const Index first = i * of_block, count = std::min(of_block, lines - first);
            const T* from = x + first * n;
            T* to = out + 2 * first * kept;
            if (how->is_matrix()) {
                transform_matrix(*how, from, to, false, scale);
                separate(Elements<T, T>(to, 1, false), n, roots);
            } else {
                Lines<const T>{from, 2, n, count}.load(memory.first, half);
                T* found = how->rows.run(memory.first, memory.second, false);
                separate(Block<T>(found, width<T>, false), n, roots);
                scale_by(found, 2 * (half + 1) * width<T>, scale);
                Lines<T>{to, 2, 2 * kept, count}.store(found, half + 1);
            }
            for (Index i = 0; i < count; ++i) mirror(to + 2 * i * kept, n, kept);
        }
    });
}

// Calls `make(line, first, count)` for lines of n complex numbers in memory of their own, as many at
// a time as stay in the cache: what is real, of an odd length, is transformed as they are.
template <class T, class Make> void in_whole_lines(Index lines, Index n, Make make) {
    const Index most = std::clamp<Index>(32768 / n, 1, lines);
    Scratch<T> whole(2 * n * most);
    for (Index first = 0; first < lines; first += most) {
        make(whole.data(), first, std::min(most, lines - first));
    }
}

template <class T>
void from_odd_real(const T* x, T* out, Index lines, Index n, Index kept, double scale) {
    in_whole_lines<T>(lines, n, [&](T* whole, Index first, Index count) {
        for (Index i = 0; i < count * n; ++i) {
            whole[2 * i] = x[first * n + i];
            whole[2 * i + 1] = T(0);
        }
        transform_axis<T>(whole, whole, count, n, 1, false, scale);
        for (Index i = 0; i < count; ++i) {
            T* line = out + 2 * (first + i) * kept;
            std::copy_n(whole + 2 * i * n, 2 * (n / 2 + 1), line);
            mirror(line, n, kept);
        }
    });
}

template <class T> void to_odd_real(const T* x, T* out, Index lines, Index n, double scale) {
    const Index half = n / 2;
    in_whole_lines<T>(lines, n, [&](T* whole, Index first, Index count) {
        for (Index i = 0; i < count; ++i) {
            T* line = whole + 2 * i * n;
            std::copy_n(x + 2 * (first + i) * (half + 1), 2 * (half + 1), line);
            line[1] = T(0);
            mirror(line, n, n);
        }
        transform_axis<T>(whole, whole, count, n, 1, true, scale);
        for (Index i = 0; i < count * n; ++i) out[first * n + i] = whole[2 * i];
    });
}

// The opposite: lines of n/2 + 1 complex numbers to real ones.
template <class T> void to_real(const T* x, T* out, Index lines, Index n, double scale) {
    const Index half = n / 2;
    const auto how = transform_of<T>(half, matrix_width(half, lines), true);
    const T* roots = how->halves.data();
    const Index of_block = how->is_matrix() ? 1 : width<T>;
    const Index blocks = how->is_matrix() ? lines : blocks_of<T>(lines);
    parallel_for(blocks, grain_of(n * of_block), [&](Index i, Index end) {
        Blocks<T> memory(half + 1);
        for (; i < end; ++i) {
            const Index first = i * of_block, count = std::min(of_block, lines - first);
            const T* from = x + 2 * first * (half + 1);
            T* to = out + first * n;
            if (how->is_matrix()) {
                std::copy_n(from, n + 2, memory.first);
                join(Elements<T, T>(memory.first, 1, false), n, roots);
                transform_matrix(*how, memory.first, to, true, scale);
            } else {
                Lines<const T>{from, 2, n + 2, count}.load(memory.first, half + 1);
                join(Block<T>(memory.first, width<T>, false), n, roots);
                T* found = how->rows.run(memory.first, memory.second, true);
                scale_by(found, n * width<T>, scale);
                Lines<T>{to, 2, n, count}.store(found, half);
            }
        }
    });
}

// An array with its axes in another order: those that are not transformed by falling strides, then
// the transformed ones so, then a last one; and in that order in memory.
class Ordered {
public:
    // False if there is no memory for a copy.
    bool read(Array x, const Index* axes, Index count, Index last) {
        ndim = x.ndim();
        const Index* const end = axes + count;
        npy_intp* first = order;
        for (Index axis = 0; axis < ndim; ++axis) {
            if (axis != last && std::find(axes, end, axis) == end) *first++ = axis;
        }
        npy_intp* const transformed = std::copy(axes, end, first);
        if (last >= 0) *transformed = last;
        const npy_intp* strides = x.strides();
        const auto falling = [=](npy_intp a, npy_intp b) { return strides[a] > strides[b]; };
        std::stable_sort(order, first, falling);
        std::stable_sort(first, transformed, falling);
        PyArray_Dims permutation{order, ndim};
        Owned turned(PyArray_Transpose(reinterpret_cast<PyArrayObject*>(x.object()), &permutation));
        if (!turned) return false;
        lines = in_order(turned.array());
        if (lines) std::copy_n(lines.array().shape(), ndim, shape);
        return static_cast<bool>(lines);
    }
    // An array in the order of the one that was read: it takes over the reference.
    PyObject* restored(PyObject* result) const {
        Owned owned(result);
        npy_intp inverse[NPY_MAXDIMS];
        for (int i = 0; i < ndim; ++i) inverse[order[i]] = i;
        if (!owned || std::is_sorted(order, order + ndim)) return owned.release();
        PyArray_Dims permutation{inverse, ndim};
        return PyArray_Transpose(reinterpret_cast<PyArrayObject*>(owned.object()), &permutation);
    }

    Owned lines;
    int ndim;
    npy_intp order[NPY_MAXDIMS], shape[NPY_MAXDIMS];
};

// Transforms `count` axes that end before axis `end` of an array in C order, the last one first.
template <class T>
void transform_axes(const T* x, T* out, const npy_intp* shape, int ndim, int end, Index count,
                    bool inverse, double scale) {
    for (Index axis = end - 1; axis >= end - count; --axis) {
        Index outer = 1, inner = 1;
        for (Index i = 0; i < axis; ++i) outer *= shape[i];
        for (Index i = axis + 1; i < ndim; ++i) inner *= shape[i];
        const bool is_last = axis == end - count;
        transform_axis(x, out, outer, shape[axis], inner, inverse, is_last ? scale : 1.0);
        x = out;
    }
}

// The axes of a call; false for what is left to the twin.
bool read_axes(Array x, PyObject* object, Index* axes, Index* count) {
    if (!x || x.size() == 0 || x.ndim() > most_axes) return false;
    const int read = read_integers(object, axes, most_axes);
    if (read < 1) return false;
    *count = read;
    return std::all_of(axes, axes + read, [x](Index i) { return i >= 0 && i < x.ndim(); });
}

bool are_smooth(Array x, const Index* axes, Index count) {
    return std::all_of(axes, axes + count, [x](Index axis) { return is_smooth(x.shape()[axis]); });
}

template <class Run> PyObject* by_number(int number, Run run) {
    return number == NPY_CFLOAT || number == NPY_FLOAT ? run(float()) : run(double());
}

bool is_complex(Array x) { return x.number() == NPY_CFLOAT || x.number() == NPY_CDOUBLE; }

// fft_c2c(x, axes, scale, inverse)
PyObject* transform_complex(Array x, const Index* axes, Index count, double scale, bool inverse) {
    Ordered ordered;
    if (!ordered.read(x, axes, count, -1)) return nullptr;
    Owned out(empty(ordered.ndim, ordered.shape, PyArray_DescrFromType(x.number())));
    if (!out) return nullptr;
    return by_number(x.number(), [&](auto zero) {
        using T = decltype(zero);
        transform_axes(ordered.lines.array().data<const T>(), out.array().data<T>(), ordered.shape,
                       ordered.ndim, ordered.ndim, count, inverse, scale);
        return ordered.restored(out.release());
    });
}

PyObject* fft_c2c(Arguments arguments) {
    Array x = arguments.array(0);
    Index axes[most_axes], count;
    if (!read_axes(x, arguments[1], axes, &count) || !is_complex(x) ||
        !are_smooth(x, axes, count)) {
        return decline();
    }
    return transform_complex(x, axes, count, arguments.number(2), arguments.truth(3));
}

// fft_r2c(x, axes, scale, onesided)
PyObject* fft_r2c(Arguments arguments) {
    Array x = arguments.array(0);
    Index axes[most_axes], count;
    if (!read_axes(x, arguments[1], axes, &count)) return decline();
    const bool is_real = x.number() == NPY_FLOAT || x.number() == NPY_DOUBLE;
    const Index n = x.shape()[axes[count - 1]];
    if (!is_real || n < 2 || !are_smooth(x, axes, count)) return decline();
    const double scale = arguments.number(2);
    const Index kept = arguments.truth(3) ? n / 2 + 1 : n;
    Ordered ordered;
    if (!ordered.read(x, axes, count - 1, axes[count - 1])) return nullptr;
    ordered.shape[ordered.ndim - 1] = kept;
    const int number = x.number() == NPY_FLOAT ? NPY_CFLOAT : NPY_CDOUBLE;
    Owned out(empty(ordered.ndim, ordered.shape, PyArray_DescrFromType(number)));
    if (!out) return nullptr;
    return by_number(number, [&](auto zero) {
        using T = decltype(zero);
        T* const result = out.array().data<T>();
        const auto transform = n % 2 ? from_odd_real<T> : from_real<T>;
        transform(ordered.lines.array().data<const T>(), result, x.size() / n, n, kept,
                  count == 1 ? scale : 1.0);
        transform_axes<T>(result, result, ordered.shape, ordered.ndim, ordered.ndim - 1, count - 1,
                          false, scale);
        return ordered.restored(out.release());
    });
}

// fft_c2r(x, axes, scale, size)
PyObject* fft_c2r(Arguments arguments) {
    Array x = arguments.array(0);
    Index axes[most_axes], count;
    if (!read_axes(x, arguments[1], axes, &count) || !is_complex(x)) return decline();
    const Index last = axes[count - 1], n = arguments.integer(3);
    if (n < 2 || !is_smooth(n) || x.shape()[last] != n / 2 + 1 ||
        !are_smooth(x, axes, count - 1)) {
        return decline();
    }
    Owned transformed;
    if (count > 1) {
        transformed.reset(transform_complex(x, axes, count - 1, 1.0, true));
        if (!transformed) return nullptr;
        x = transformed.array();
    }
    Ordered ordered;
    if (!ordered.read(x, axes, 0, last)) return nullptr;
    ordered.shape[ordered.ndim - 1] = n;
    const int number = x.number() == NPY_CFLOAT ? NPY_FLOAT : NPY_DOUBLE;
    Owned out(empty(ordered.ndim, ordered.shape, PyArray_DescrFromType(number)));
    if (!out) return nullptr;
    return by_number(number, [&](auto zero) {
        using T = decltype(zero);
        const auto transform = n % 2 ? to_odd_real<T> : to_real<T>;
        transform(ordered.lines.array().data<const T>(), out.array().data<T>(),
                  x.size() / (n / 2 + 1), n, arguments.number(2));
        return ordered.restored(out.release());
    });
}

const Registration registrations[] = {
    {"fft_c2c", fft_c2c}, {"fft_r2c", fft_r2c}, {"fft_c2r", fft_c2r}};

}  // namespace
}  // namespace nnkit
