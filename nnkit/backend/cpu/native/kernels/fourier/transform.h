// How lines are transformed: butterflies, passes, matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "array.h"
#include "register.h"

namespace nnkit {
namespace fourier {

constexpr int largest_radix = 61;
constexpr Index longest_block = 2048;  // longer lines are matrices, where that can be,
constexpr Index longest_alone = 255;   // shorter ones too where they are few
constexpr Index few = 4;
constexpr Index narrowest = 8;             // of a matrix
constexpr Index longest = Index{1} << 20;  // numbers of a line, each of which has a root
constexpr Index most_kept = longest;       // numbers, of all lengths whose roots are kept

template <class T> constexpr Index width = register_lanes<T>;
template <class T> constexpr Index blocks_of(Index lines) {
    return (lines + width<T> - 1) / width<T>;
}

template <class V> struct Complex {
    V re, im;

    Complex operator+(const Complex& o) const { return {re + o.re, im + o.im}; }
    Complex operator-(const Complex& o) const { return {re - o.re, im - o.im}; }
    template <class T> Complex times(T a) const { return {re * a, im * a}; }
    template <class W> Complex times(const W& a, const W& b) const {
        return {re * a - im * b, re * b + im * a};
    }
    Complex times_minus_i() const { return {im, -re}; }
    Complex times_i() const { return {-im, re}; }
    Complex conjugate() const { return {re, -im}; }
};

// exp(-2 pi i k / n), by an angle of at most an eighth of a turn.
inline Complex<double> root(Index k, Index n) {
    const Index eighths = 8 * (k % n), octant = eighths / n, rest = eighths - octant * n;
    const double angle = std::atan(1.0) * static_cast<double>(octant % 2 ? n - rest : rest) /
                         static_cast<double>(n);
    double x = std::cos(angle), y = std::sin(angle);
    if ((octant + 1) / 2 % 2) std::swap(x, y);
    if (octant >= 2 && octant < 6) x = -x;
    return {x, octant < 4 ? -y : y};
}

template <class T> void add(std::vector<T>& to, const Complex<double>& w) {
    to.push_back(static_cast<T>(w.re)), to.push_back(static_cast<T>(w.im));
}

// The elements of a block, or of one line: where its parts lie. `step` numbers make a part.
template <class V, class T> struct Elements {
    T* real;
    T* imaginary;
    Index step;

    // The parts follow each other, exchanged for an inverse transform.
    Elements(T* block, Index step, bool inverse)
        : real(block + (inverse ? step : 0)),
          imaginary(block + (inverse ? 0 : step)),
          step(2 * step) {}
    Complex<V> operator[](Index k) const {
        return {load_as<V>(real + k * step), load_as<V>(imaginary + k * step)};
    }
    void set(Index k, const Complex<V>& value) const {
        store_as(real + k * step, value.re);
        store_as(imaginary + k * step, value.im);
    }
};

template <class T> using Block = Elements<Register<T>, T>;

// The transform of 2 or 4 numbers, or of an odd count of them, in their place. `turns` are the
// powers of exp(-2 pi i / radix).
template <class T> [[gnu::always_inline]] inline void
transform(Complex<Register<T>>* a, int radix, const T* turns) {
    using Number = Complex<Register<T>>;
    if (radix == 2) {
        const Number first = a[0];
        a[0] = first + a[1];
        a[1] = first - a[1];
        return;
    }
    if (radix == 4) {
        const Number even = a[0] + a[2], odd = a[1] + a[3];
        const Number left = a[0] - a[2], right = (a[1] - a[3]).times_minus_i();
        a[0] = even + odd, a[1] = left + right, a[2] = even - odd, a[3] = left - right;
        return;
    }
    const int half = radix / 2;
    Number sum[largest_radix / 2], difference[largest_radix / 2], total = a[0];
#pragma GCC unroll 3
    for (int j = 0; j < half; ++j) {
        sum[j] = a[j + 1] + a[radix - 1 - j];
        difference[j] = a[j + 1] - a[radix - 1 - j];
        total = total + sum[j];
    }
#pragma GCC unroll 3
    for (int k = 1; k <= half; ++k) {
        Number even = a[0], odd = difference[0].times(turns[2 * k + 1]);
#pragma GCC unroll 3
        for (int j = 0; j < half; ++j) {
            const T* turn = turns + (j + 1) * k % radix * 2;
            even = even + sum[j].times(turn[0]);
            if (j) odd = odd + difference[j].times(turn[1]);
        }
        a[k] = even + odd.times_i();
        a[radix - k] = even + odd.times_minus_i();
    }
    a[0] = total;
}

// A factor of a length: `count` transforms of `radix` numbers on each of `inner` places.
struct Pass {
    int radix;
    Index count, inner, roots;  // where its roots begin
};

// `fixed` is the radix, or 0 for one that is known now only.
template <class T, int fixed>
void run_pass(const Pass& pass, const Block<T>& x, const Block<T>& y, const T* roots) {
    const int radix = fixed ? fixed : pass.radix;
    const Index count = pass.count, inner = pass.inner;
    const T* turns = roots;
    roots += 2 * radix;
    for (Index p = 0; p < count; ++p, roots += 2 * (radix - 1)) {
        for (Index q = 0; q < inner; ++q) {
            Complex<Register<T>> a[fixed ? fixed : largest_radix];
            a[0] = x[q + inner * p];
#pragma GCC unroll 7
            for (int j = 1; j < radix; ++j) a[j] = x[q + inner * (p + count * j)];
            transform(a, radix, turns);
            y.set(q + inner * radix * p, a[0]);
#pragma GCC unroll 7
            for (int k = 1; k < radix; ++k) {
                y.set(q + inner * (radix * p + k), a[k].times(roots[2 * k - 2], roots[2 * k - 1]));
            }
        }
    }
}

// The next factor of a length.
inline int next_radix(Index n) {
    if (n % 4 == 0) return 4;
    for (int radix = 2; radix <= largest_radix; ++radix) {
        if (n % radix == 0) return radix;
    }
    return 0;
}

template <class T> class Plan {
public:
    explicit Plan(Index n) : size(n) {
        for (Index rest = n; rest > 1;) {
            const int radix = next_radix(rest);
            const Index count = rest / radix;
            passes_.push_back({radix, count, n / rest, static_cast<Index>(roots_.size())});
            for (int k = 0; k < radix; ++k) add(roots_, root(k, radix));
            for (Index p = 0; p < count; ++p) {
                for (int k = 1; k < radix; ++k) add(roots_, root(p * k, rest));
            }
            rest = count;
        }
    }

    // Transforms a block, by turns in it and in another one; returns the one that has the result.
    T* run(T* block, T* other, bool inverse) const {
        for (const Pass& pass : passes_) {
            const Block<T> x(block, width<T>, inverse), y(other, width<T>, inverse);
            run_pass_of(pass, x, y);
            std::swap(block, other);
        }
        return block;
    }

    const Index size;

private:
    void run_pass_of(const Pass& pass, const Block<T>& x, const Block<T>& y) const {
        const T* roots = roots_.data() + pass.roots;
        switch (pass.radix) {
            case 2: return run_pass<T, 2>(pass, x, y, roots);
            case 3: return run_pass<T, 3>(pass, x, y, roots);
            case 4: return run_pass<T, 4>(pass, x, y, roots);
            case 5: return run_pass<T, 5>(pass, x, y, roots);
            case 7: return run_pass<T, 7>(pass, x, y, roots);
            default: return run_pass<T, 0>(pass, x, y, roots);
        }
    }

    std::vector<Pass> passes_;
    std::vector<T> roots_;
};

// Whether lines of this length are transformed here.
inline bool is_smooth(Index n) {
    if (n < 1 || n > longest) return false;
    for (int radix = 1; radix != 0 && n > 1; radix = next_radix(n)) n /= radix;
    return n == 1;
}

// The width of the matrix that each of some lines becomes: near the root of its length; 1 if it
// becomes none.
inline Index matrix_width(Index n, Index lines) {
    if (n <= (lines < few ? longest_alone : longest_block)) return 1;
    Index factor = static_cast<Index>(std::sqrt(static_cast<double>(n)));
    while (n % factor) --factor;
    return factor < narrowest ? 1 : factor;
}

// How lines of one length are transformed: as they are (a matrix of one column) or as matrices. Two
// times as many real numbers are transformed so too, as real and imaginary parts.
template <class T> struct Transform {
    Transform(Index n, Index columns, bool is_real) : rows(n / columns), row(columns) {
        for (Index k = 0; is_real && k <= n / 2; ++k) add(halves, root(k, 2 * n));
        if (columns == 1) return;
        const Index blocks = blocks_of<T>(columns);
        roots.resize(2 * width<T> * blocks * rows.size);
        const Block<T> to(roots.data(), width<T>, false);
        for (Index i = 0; i < blocks * rows.size; ++i) {
            Complex<Register<T>> of_lanes;
            for (Index lane = 0; lane < width<T>; ++lane) {
                const Index column = i / rows.size * width<T> + lane;
                const Complex<double> w = root(i % rows.size * column, n);
                of_lanes.re[lane] = static_cast<T>(w.re), of_lanes.im[lane] = static_cast<T>(w.im);
            }
            to.set(i, of_lanes);
        }
    }
    Index size() const { return rows.size * row.size; }
    bool is_matrix() const { return row.size > 1; }

    Plan<T> rows;  // down the columns: of the whole line, where that is no matrix
    Plan<T> row;
    std::vector<T> roots;   // by which the elements of the matrix are multiplied, block by block
    std::vector<T> halves;  // exp(-2 pi i k / 2n), for real numbers
};

// The transform of lines of n numbers, which is kept. The caller holds the GIL.
template <class T>
std::shared_ptr<const Transform<T>> transform_of(Index n, Index columns, bool is_real = false) {
    static std::map<std::tuple<Index, Index, bool>, std::shared_ptr<const Transform<T>>> known;
    static Index kept = 0;
    auto& found = known[{n, columns, is_real}];
    if (found) return found;
    const auto made = std::make_shared<const Transform<T>>(n, columns, is_real);
    if (kept += n; kept <= most_kept) return found = made;
    known.clear(), kept = 0;
    return made;
}

}  // namespace fourier
}  // namespace nnkit
