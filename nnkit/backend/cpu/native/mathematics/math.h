// The elementary functions of formulas for float and double, as the printed loops call them:
// ``out[i] = math::tanh(x[i])``. They agree with NumPy on NaN, infinities and signed zeros.
#pragma once

#include <math.h>  // ::pow and others, for functions.h

#include "math_exponential.h"
#include "math_format.h"
#include "math_special.h"
#include "math_trigonometric.h"

namespace nnkit::math {

// ---- predicates

template <typename T>
inline bool isnan(T x) { return x != x; }
template <typename T>
inline bool isinf(T x) { return std::fabs(x) == Format<T>::infinity; }
template <typename T>
inline bool isfinite(T x) { return std::fabs(x) < Format<T>::infinity; }
template <typename T>
inline bool signbit(T x) { return bits_of(x) >> (8 * sizeof(T) - 1); }

// ---- sign and size

template <typename T>
inline T abs(T x) { return std::fabs(x); }
template <typename T>
inline T copysign(T x, T y) { return std::copysign(x, y); }

// The number next to x, one step of its bits away from 0 or towards it
template <typename T>
inline T nextafter(T x, T y) {
    using Bits = typename Format<T>::Bits;
    const T least = std::copysign(std::numeric_limits<T>::denorm_min(), y);
    const Bits step = (y > x) == (x > T(0)) ? Bits(1) : Bits(-1);
    const T next = x == T(0) ? least : from_bits<T>(bits_of(x) + step);
    const T result = x == y ? y : next;
    return (x != x) | (y != y) ? x + y : result;
}

// ---- rounding and division

template <typename T>
inline T floor(T x) { return std::floor(x); }
template <typename T>
inline T ceil(T x) { return std::ceil(x); }
template <typename T>
inline T trunc(T x) { return std::trunc(x); }
// Half to even
template <typename T>
inline T round(T x) { return std::rint(x); }

// With the sign of x
inline double fmod(double x, double y) {
#ifdef __FMA__
    // There the whole part of the quotient is right, or 1 too much, and what is left is exact.
    const double length = std::fabs(x), size = std::fabs(y), share = length / size;
    if (length < size) return x;
    if (share < 0x1p52) {
        const double rest = std::fma(-std::trunc(share), size, length);
        return std::copysign(rest < 0.0 ? rest + size : rest, x);
    }
#endif
    return std::fmod(x, y);
}
inline float fmod(float x, float y) {
#ifdef __FMA__
    // x is brought below 2^250 y, 2^200 y ... y: what is taken off is a whole number of less than
    // 53 bits times y, and what is left a multiple of x's or y's last digit, so that it is exact.
    const double size = std::fabs(double(y)), share = 1.0 / size;
    double rest = std::fabs(double(x));
    const auto reduce = [&](double scale) {
        rest = std::fma(-std::rint(rest * (share * (1.0 / scale))), size * scale, rest);
    };
    reduce(0x1p250), reduce(0x1p200), reduce(0x1p150), reduce(0x1p100), reduce(0x1p50), reduce(1);
    rest = rest < 0.0 ? rest + size : rest;
    rest = rest >= size ? rest - size : rest;
    const float result = std::copysign(float(rest), x);
    return std::fabs(x) < std::fabs(y) ? x : result;  // of y = inf too
#else
    return std::fmod(x, y);
#endif
}

// With the sign of y, a zero with that of x
template <typename T>
inline T remainder(T x, T y) {
    const T rest = fmod(x, y);
    return (rest != T(0)) & ((rest < T(0)) != (y < T(0))) ? rest + y : rest;
}

// x / y rounded down, from the exact remainder: x / y itself may have been rounded up to the
// next integer.
template <typename T>
inline T div_floor(T x, T y) {
    const T share = x / y, rest = fmod(x, y);
    const bool below = (rest != T(0)) & ((rest < T(0)) != (y < T(0)));
    const T quotient = (x - rest) / y - (below ? T(1) : T(0));
    const T whole = quotient == T(0) ? std::copysign(T(0), share) : std::rint(quotient);
    return y == T(0) ? share : whole;
}
template <typename T>
inline T div_trunc(T x, T y) { return std::trunc(x / y); }

// ---- roots

template <typename T>
inline T sqrt(T x) { return std::sqrt(x); }
// Of numbers whose squares leave the range, scaled by a power of two
inline double hypot(double x, double y) {
    const double width = std::fabs(x), height = std::fabs(y);
    const double larger = width < height ? height : width;
    const double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-400 ? 0x1p600 : 1.0;
    const double a = x * scale, b = y * scale, root = std::sqrt(a * a + b * b) / scale;
    return isinf(x) | isinf(y) ? Format<double>::infinity : root;
}
inline float hypot(float x, float y) {
    const double root = std::sqrt(double(x) * x + double(y) * y);
    return isinf(x) | isinf(y) ? Format<float>::infinity : float(root);
}

// ---- what is nothing to do for real numbers

template <typename T>
inline T conj(T x) { return x; }
template <typename T>
inline T real(T x) { return x; }
template <typename T>
inline T zeros_like(T) { return T(0); }

}  // namespace nnkit::math

#include "functions.h"
#include "math_gamma.h"  // which takes digamma from there
