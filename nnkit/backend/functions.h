// Functions of formulas that are written once, for C++ (cpu/native/math.h) and for CUDA
// (cuda/kernels/math.cuh). Both have the elementary functions in this namespace, and there say with
// NNKIT_INLINE how a function is declared.
#pragma once

namespace nnkit {
namespace math {

// ---- sign and size

// 0 at NaN, as in torch
template <typename T>
NNKIT_INLINE T sign(T x) {
    return T((x > T(0) ? T(1) : T(0)) - (x < T(0) ? T(1) : T(0)));
}
template <typename T>
NNKIT_INLINE T sgn(T x) { return sign(x); }

// 0 below 0 and at NaN, 1 above, y at 0
template <typename T>
NNKIT_INLINE T heaviside(T x, T y) {
    const T step = x > T(0) ? T(1) : T(0);
    return x == T(0) ? y : step;
}

// The larger and the smaller, NaN if either is, and x of equal zeros. Written with two choices, of
// which GCC vectorises one inside the other; a choice by two conditions it makes into branches then.
template <typename T>
NNKIT_INLINE T maximum(T x, T y) {
    const T larger = x < y ? y : x;
    return y == y ? larger : y;
}
template <typename T>
NNKIT_INLINE T minimum(T x, T y) {
    const T smaller = x > y ? y : x;
    return y == y ? smaller : y;
}

// The same, but a NaN loses to a number.
template <typename T>
NNKIT_INLINE T fmax(T x, T y) { return ((x < y) | (x != x)) ? y : x; }
template <typename T>
NNKIT_INLINE T fmin(T x, T y) { return ((x > y) | (x != x)) ? y : x; }

// ---- quotients and roots

// With the sign of x
template <typename T>
NNKIT_INLINE T frac(T x) { return T(x - trunc(x)); }
template <typename T>
NNKIT_INLINE T reciprocal(T x) { return T(1) / x; }

// ---- sums of exponentials

// log(1 / (1 + e^-x)), without overflow
template <typename T>
NNKIT_INLINE T log_sigmoid(T x) { return minimum(x, T(0)) - log1p(exp(-abs(x))); }

// log(e^x + e^y) = max + log(1 + e^-|x - y|); equal infinities have no difference.
template <typename T>
NNKIT_INLINE T logaddexp(T x, T y) {
    const T value = maximum(x, y) + log1p(exp(-abs(x - y)));
    return x == y ? x + T(log_2) : value;
}

// The same to base 2
template <typename T>
NNKIT_INLINE T logaddexp2(T x, T y) {
    const T value = maximum(x, y) + log1p(exp2(-abs(x - y))) * T(1 / log_2);
    return x == y ? x + T(1) : value;
}

// ---- derivatives of the gamma function's logarithm

// The derivative of lgamma: between 1 and 2 a polynomial that keeps its precision at the root,
// shifted there by digamma(x + 1) = digamma(x) + 1 / x; from 10 on the asymptotic series; on the
// left the reflection formula. Infinite at 0, NaN at the negative integers.
NNKIT_INLINE double digamma(double x) {
    if (x == 0.0) return -copysign(double(INFINITY), x);
    if (x < 0.0) {
        const double f = x - ::rint(x);
        return f == 0.0 || isinf(x) ? double(NAN) : digamma(1.0 - x) - pi / ::tan(pi * f);
    }
    if (!(x < 10.0)) {
        const double square = 1.0 / (x * x);
        const double series = polynomial(
            square, -0.4432598039215686, 0.08333333333333333, -0.02109279609279609,
            0.007575757575757576, -0.004166666666666667, 0.003968253968253968,
            -0.008333333333333333, 0.08333333333333333);
        return ::log(x) - 0.5 / x - square * series;
    }
    const double n = ::floor(x), f = x - n;
    const double series = polynomial(
        2.0 * f - 1.0, -8.50550766013261e-11, 2.478695345606839e-10, -2.7580994814377e-10,
        8.657533672812613e-10, -3.7083753242807277e-09, 1.1039363482759935e-08,
        -3.162911147408454e-08, 9.500659034300503e-08, -2.863161166883193e-07,
        8.59134317611421e-07, -2.578093954045772e-06, 7.741156049273805e-06,
        -2.3258242519113285e-05, 6.995020506384849e-05, -0.00021074841138175561,
        0.0006368880282849916, -0.001935066664861307, 0.005936795278436479,
        -0.018550615381735008, 0.060135621060193475, -0.2118137106407303, 0.9510558760318328);
    double value = (f - 0.46163214496836236 + 1.5522348162858677e-17) * series;
    for (int k = 1; k < n; ++k) value += 1.0 / (f + k);
    return n < 1.0 ? value - 1.0 / x : value;
}
NNKIT_INLINE float digamma(float x) { return float(digamma(double(x))); }

// The sum of (q + k)^-s over k >= 0 for q > 0, s > 1, after Euler and Maclaurin.
NNKIT_INLINE double hurwitz_zeta(double s, double q) {
    if (q == double(INFINITY)) return 0.0;
    constexpr double bernoulli_by_factorial[] = {
        1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
        -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000};
    double value = 0.0;
    for (int k = 0; k < 12; ++k) value += ::pow(q + k, -s);
    const double end = q + 12.0, last = ::pow(end, -s);
    value += last * end / (s - 1.0) + 0.5 * last;
    double factor = last * s / end;
    for (int k = 1; k <= 8; ++k) {
        value += factor * bernoulli_by_factorial[k - 1];
        factor *= (s + 2 * k - 1) * (s + 2 * k) / (end * end);
    }
    return value;
}

// The n-th derivative of digamma, (-1)^(n + 1) n! zeta(n + 1, x). On the left the terms with
// x + k < 0 are those of another such sum, seen upwards from 1 - f, f the fraction of x.
NNKIT_INLINE double polygamma_at(double x, double n) {
    if (n == 0.0) return digamma(x);
    if (x == double(INFINITY) && n > 1.0) return double(NAN);  // as in torch
    const double s = n + 1.0, sign = ::fmod(n, 2.0) == 0.0 ? -1.0 : 1.0;
    if (x == -double(INFINITY)) {  // as in torch
        return n == 1.0 ? double(NAN) : sign * double(INFINITY);
    }
    const double factor = n < 171.0 ? ::tgamma(s) : double(INFINITY);
    if (x <= 0.0) {
        const double f = x - ::floor(x);
        if (f == 0.0) return sign * double(INFINITY);
        const double mirrored = hurwitz_zeta(s, 1.0 - f) - hurwitz_zeta(s, 1.0 - x);
        return sign * factor * (hurwitz_zeta(s, f) + sign * mirrored);
    }
    return sign * factor * hurwitz_zeta(s, x);
}
NNKIT_INLINE float polygamma_at(float x, double n) { return float(polygamma_at(double(x), n)); }

}  // namespace math
}  // namespace nnkit
