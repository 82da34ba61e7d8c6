// The gamma function's logarithm and its derivative, of many positive floats at once.
#pragma once

#include "math_exponential.h"
#include "math_format.h"
#include "math_special.h"

namespace nnkit::math {

// By Gamma(x + 8) = x (x + 1) ... (x + 7) Gamma(x) from 8 on, where few terms of the asymptotic
// series are needed. In double precision, since both have zeros where the terms cancel.
struct GammaOfPositive {
    static float lgamma(float x) {
        const Raised raised(x);
        const double y = raised.y, square = 1.0 / (y * y);
        const double series = polynomial(
            square, -0.029550653594771242, 0.00641025641025641, -0.0019175269175269176,
            0.0008417508417508417, -0.0005952380952380953, 0.0007936507936507937,
            -0.002777777777777778, 0.08333333333333333);
        const double half_log_of_2_pi = 0.9189385332046727;
        const double value = (y - 0.5) * (log_of_normal(y) - 1.0) + (half_log_of_2_pi - 0.5);
        const double result = value + series / y - log_of_normal(raised.product);
        return x == 1.0f || x == 2.0f ? 0.0f : float(result);  // exactly
    }
    static float digamma(float x) {
        const Raised raised(x);
        const double y = raised.y, square = 1.0 / (y * y), rest = square * digamma_series(square);
        return float(log_of_normal(y) - 0.5 / y - rest - raised.slope / raised.product);
    }
    static double lgamma(double x) { return math::lgamma(x); }
    static double digamma(double x) { return math::digamma(x); }

private:
    // x + 8, x (x + 1) ... (x + 7) and the derivative of that; or x, 1 and 0.
    struct Raised {
        double y, product, slope;

        explicit Raised(double x) {
            double all = x, change = 1.0;
            for (int k = 1; k < 8; ++k) {
                change = change * (x + k) + all;
                all *= x + k;
            }
            const bool is_small = x < 8.0;
            y = is_small ? x + 8.0 : x;
            product = is_small ? all : 1.0;
            slope = is_small ? change : 0.0;
        }
    };
};
struct GammaOfAll {
    template <class T> static T lgamma(T x) { return math::lgamma(x); }
    template <class T> static T digamma(T x) { return math::digamma(x); }
};

// Calls `loop(gamma, start, stop)` for blocks of the numbers x.
template <class T, class LoopOfGamma>
inline void with_gamma(const T* x, std::ptrdiff_t count, LoopOfGamma loop) {
    if constexpr (sizeof(T) > sizeof(float)) {
        loop(GammaOfAll(), 0, count);
    } else {
        const auto fits = [](T y) { return y > 0 && y < Format<T>::infinity; };
        in_blocks<32>(x, count, fits, GammaOfPositive(), GammaOfAll(), loop);
    }
}

}  // namespace nnkit::math
