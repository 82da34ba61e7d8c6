// Powers: one exponent for a whole loop, where simple ones need no logarithm, and general ones.
#pragma once

#include <cmath>

#include "math.h"

namespace nnkit::math {

inline double pow(double x, double y) { return std::pow(x, y); }

// |x|^y as e^(y log|x|) in double precision, where the error of the product, at most 2^-44, is lost
// in the rounding to float; then C's rules for negative x and for what has no logarithm.
inline float pow(float x, float y) {
    const double size = std::fabs(static_cast<double>(x)), exponent = y;
    const float magnitude = static_cast<float>(exp(exponent * log(size)));
    const float half = y * 0.5f;
    const bool is_integer = std::trunc(y) == y, is_odd = is_integer & (std::trunc(half) != half);
    const float signed_ = is_odd ? std::copysign(magnitude, x) : magnitude;
    const bool has_none = (x < 0.0f) & !is_integer & (std::fabs(x) < INFINITY);
    const float value = has_none ? NAN : signed_;
    return (y == 0.0f) | (x == 1.0f) | ((x == -1.0f) & (std::fabs(y) == INFINITY)) ? 1.0f : value;
}

// Calls `loop(power)` with the function that raises to `exponent`, so that the loop is compiled for
// each of the exponents that occur most. They are computed as torch computes them.
template <class T, class LoopOfPower> inline void with_power(double exponent, LoopOfPower loop) {
    if (exponent == 2) return loop([](T x) { return x * x; });
    if (exponent == 3) return loop([](T x) { return x * x * x; });
    if (exponent == 1) return loop([](T x) { return x; });
    if (exponent == 0.5) return loop([](T x) { return std::sqrt(x); });
    if (exponent == -0.5) return loop([](T x) { return T(1) / std::sqrt(x); });
    if (exponent == -1) return loop([](T x) { return T(1) / x; });
    if (exponent == -2) return loop([](T x) { return T(1) / (x * x); });
    const T general = static_cast<T>(exponent);
    loop([general](T x) { return pow(x, general); });
}

}  // namespace nnkit::math
