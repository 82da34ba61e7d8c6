// Powers: one exponent for a whole loop, where simple ones need no logarithm, and general ones.
#pragma once

#include <cmath>
#include <type_traits>

#include "half.h"
#include "math.h"

namespace nnkit::math {

inline double pow(double x, double y) { return std::pow(x, y); }

// The factor of a power of a negative number, by its exponent.
struct PowerSign {
    float of_finite, of_limits;  // of x < 0, and of -0 and -infinity, which need no integer

    explicit PowerSign(float exponent) {
        const float half = exponent * 0.5f;
        const bool is_integer = std::trunc(exponent) == exponent;
        const bool is_odd = is_integer & (std::trunc(half) != half);
        of_limits = is_odd ? -1.0f : 1.0f;
        of_finite = is_integer ? of_limits : NAN;
    }
};

// |x|^y as e^(y log|x|) in double precision, where the error of the product, at most 2^-44, is lost
// in the rounding to float. Wrong where y log|x| is NaN: y = 0, and infinite y at x = 1 or -1.
inline float ordinary_power(float x, double exponent, PowerSign sign) {
    const float size = std::fabs(x);
    const auto magnitude = static_cast<float>(exp(exponent * log(static_cast<double>(size))));
    const bool is_limit = (size == 0.0f) | (size == INFINITY);
    const float factor = is_limit ? sign.of_limits : sign.of_finite;
    return signbit(x) ? magnitude * factor : magnitude;
}

inline float pow(float x, float y) {
    const bool is_one = (y == 0.0f) | (x == 1.0f) | ((x == -1.0f) & (std::fabs(y) == INFINITY));
    return is_one ? 1.0f : ordinary_power(x, y, PowerSign(y));
}

// The power to one ordinary exponent: what depends on that alone is computed once.
template <class T> inline auto power_to(T exponent) {
    return [exponent](T x) { return pow(x, exponent); };
}
template <> inline auto power_to(float exponent) {
    return [exponent = double{exponent}, sign = PowerSign(exponent)](float x) {
        return ordinary_power(x, exponent, sign);
    };
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
    if (exponent == 0) return loop([](T) { return T(1); });
    const T general = static_cast<T>(exponent);
    if (!std::isfinite(general)) return loop([general](T x) { return std::pow(x, general); });
    loop(power_to(general));
}

// A power in half precision: as in torch bfloat16 is raised to some numbers in steps.
template <class Half, class T, class Power>
inline T power_in_steps(Power power, double exponent, T x) {
    if constexpr (std::is_same_v<Half, BFloat16>) {
        if (exponent == 3) return rounded<Half>(x * x) * x;
        if (exponent == -2) return T(1) / rounded<Half>(x * x);
    }
    return power(x);
}

}  // namespace nnkit::math
