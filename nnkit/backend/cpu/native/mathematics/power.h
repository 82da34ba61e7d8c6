// Powers: one exponent for a whole loop, where simple ones need no logarithm, and general ones.
#pragma once

#include <cmath>
#include <type_traits>

#include "half.h"
#include "math.h"

namespace nnkit::math {

// The factor of a power of a negative number, by its exponent.
template <class T> struct PowerSign {
    T of_finite, of_limits;  // of x < 0, and of -0 and -infinity, which need no integer

    explicit PowerSign(T exponent) {
        const T half = exponent * T(0.5);
        const bool is_integer = std::trunc(exponent) == exponent;
        const bool is_odd = is_integer & (std::trunc(half) != half);
        of_limits = is_odd ? T(-1) : T(1);
        of_finite = is_integer ? of_limits : Format<T>::nan;
    }
    T of(T x) const {
        const T size = std::fabs(x);
        const T factor = (size == T(0)) | (size == Format<T>::infinity) ? of_limits : of_finite;
        return signbit(x) ? factor : T(1);
    }
};

// |x|^y as e^(y log|x|) in double precision, where the error of the product, at most 2^-44, is lost
// in the rounding to float. Wrong where y log|x| is NaN: y = 0, and infinite y at x = 1 or -1.
inline float ordinary_power(float x, double exponent, PowerSign<float> sign) {
    return static_cast<float>(exp(exponent * log(std::fabs(double(x))))) * sign.of(x);
}

// A number as the sum of two, of which the second is what the first lacks (T. J. Dekker, "A
// floating-point technique for extending the available precision", 1971).
struct Twofold {
    double high, low;
};
// x + y for |x| >= |y|
inline Twofold sum_of(double x, double y) {
    const double sum = x + y;
    return {sum, y - (sum - x)};
}
inline Twofold product_of(double x, double y) {
    constexpr double splitter = 0x1p27 + 1;
    const double scaled_x = x * splitter, scaled_y = y * splitter, product = x * y;
    const double x1 = scaled_x - (scaled_x - x), y1 = scaled_y - (scaled_y - y);
    const double x2 = x - x1, y2 = y - y1;
    return {product, x2 * y2 - (((product - x1 * y1) - x2 * y1) - x1 * y2)};
}
inline Twofold product_of(Twofold x, double y) {
    const Twofold product = product_of(x.high, y);
    return {product.high, product.low + x.low * y};
}
inline Twofold product_of(Twofold x, Twofold y) {
    const Twofold product = product_of(x.high, y.high);
    return {product.high, product.low + (x.high * y.low + x.low * y.high)};
}

// log(x) of a positive number as e log(2) + 2 s + 2/3 s^3 + s^5 P(s^2), s = f / (2 + f)
inline Twofold twofold_log(double x) {
    const bool is_subnormal = x < std::numeric_limits<double>::min();
    const Split<double> split(x, is_subnormal ? 0x1p53 : 1.0);
    const double f = split.m - 1.0;
    const Twofold divisor = sum_of(2.0, f);
    const double quotient = f / divisor.high;
    const Twofold back = product_of(divisor, quotient);
    const Twofold s = {quotient, ((f - back.high) - back.low) / divisor.high};
    const Twofold square = product_of(s, s), cube = product_of(square, s);
    const Twofold third = product_of(cube, Twofold{0x1.5555555555555p-1, 0x1.5555555555555p-55});
    const double z = square.high;
    const double rest = cube.high * z * polynomial(
        z, 0.11724327060889509, 0.11706126464558674, 0.13334808798812547, 0.15384594887007175,
        0.18181818336099846, 0.22222222221652765, 0.28571428571429371, 0.4);
    const Twofold first = sum_of(split.e * Format<double>::log_2_high, 2.0 * s.high);
    const Twofold second = sum_of(first.high, third.high);
    const double low = split.e * Format<double>::log_2_low + 2.0 * s.low;
    return sum_of(second.high, (first.low + second.low) + (low + (third.low + rest)));
}

// |x|^y as e^(y log|x|), of a logarithm to more digits than its product with y loses
inline double ordinary_power(double x, double exponent, PowerSign<double> sign) {
    const double size = std::fabs(x), longest = std::fabs(exponent) < 0x1p70 ? exponent : 0x1p70;
    const Twofold product = product_of(twofold_log(size), std::copysign(longest, exponent));
    const bool is_limit = (size == 0.0) | (size == Format<double>::infinity);
    const bool is_ordinary = (std::fabs(product.high) < 750.0) & !is_limit;
    PowerOfE<double> power(is_ordinary ? product.high : 0.0);
    power.low += (is_ordinary ? product.low : 0.0) * (1.0 + (power.high + power.low));
    const double value = times_power_of_two(sum_of(power), power.shifted);
    const bool grows = (size > 1.0) == (exponent > 0.0);
    const double magnitude = is_ordinary ? value : grows ? Format<double>::infinity : 0.0;
    return ((size == size) & (exponent == exponent) ? magnitude : x + exponent) * sign.of(x);
}

template <class T> inline T pow(T x, T y) {
    const bool has_limit = (x == T(-1)) & (std::fabs(y) == Format<T>::infinity);
    const bool is_one = (y == T(0)) | (x == T(1)) | has_limit;
    return is_one ? T(1) : ordinary_power(x, y, PowerSign<T>(y));
}

// The power to one ordinary exponent: what depends on that alone is computed once.
template <class T> inline auto power_to(T exponent) {
    return [exponent = double{exponent}, sign = PowerSign<T>(exponent)](T x) {
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
