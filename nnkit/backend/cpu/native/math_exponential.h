// Exponentials, logarithms and what follows from them.
//
// The methods are standard: W. J. Cody and W. Waite, "Software Manual for the Elementary
// Functions" (1980). The polynomials interpolate at Chebyshev nodes, computed with 60 digits.
// Where a float function would need care against cancellation, double precision serves instead.
#pragma once

#include "math_format.h"

namespace nnkit::math {

// value * 2^n for the n in the lowest bits of ``shifted`` = n + rounder. Two factors, since 2^n
// alone may overflow or underflow where the product does not.
template <typename T>
inline T times_power_of_two(T value, T shifted) {
    using F = Format<T>;
    const auto biased = bits_of(shifted) - bits_of(F::rounder) + 2 * (F::bias + 1);  // positive
    const auto half = biased >> 1;
    const T first = from_bits<T>((half - 1) << F::mantissa);
    const T second = from_bits<T>((biased - half - 1) << F::mantissa);
    return value * first * second;
}

// e^x = 2^n e^r with |r| <= log(2) / 2. log(2) has two parts, n times the first is exact; so is
// ``high``, and r = high - low enters the sum without its rounding error.
inline float exp(float x) {
    x = x < -104.0f ? -104.0f : x;  // the result is 0 from here on, NaN is kept
    x = x > 89.0f ? 89.0f : x;      // infinity
    const float shifted = x * float(1 / log_2) + Format<float>::rounder;
    const float n = shifted - Format<float>::rounder;
    const float high = x - n * 0.693359375f, low = n * -2.12194440e-4f, r = high - low;
    const float tail = polynomial(r, 0.001392621347f, 0.008363202972f, 0.04166655444f,
                                  0.1666657685f, 0.5f);
    return times_power_of_two(1.0f + (high + (r * r * tail - low)), shifted);
}

inline double exp(double x) {
    x = x < -746.0 ? -746.0 : x;
    x = x > 710.0 ? 710.0 : x;
    const double shifted = x * (1 / log_2) + Format<double>::rounder;
    const double n = shifted - Format<double>::rounder;
    const double high = x - n * 0x1.62e42feep-1, low = n * 1.90821492927058770002e-10;
    const double r = high - low;
    const double tail = polynomial(
        r, 2.5100424157005067e-8, 2.7620138719733996e-7, 2.7557268378684193e-6,
        2.4801521190217728e-5, 0.00019841269863105969, 0.0013888888917281793,
        0.0083333333333300513, 0.041666666666623992, 0.16666666666666667, 0.5);
    return times_power_of_two(1.0 + (high + (r * r * tail - low)), shifted);
}

// x = m 2^e with m between sqrt(1/2) and sqrt(2), for positive finite x.
template <typename T>
struct Split {
    T m, e;

    explicit Split(T x) {
        using F = Format<T>;
        constexpr T lift = T(typename F::Bits(1) << (F::mantissa + 1));
        const bool subnormal = x < std::numeric_limits<T>::min();
        const T normal = subnormal ? x * lift : x;
        const auto root = bits_of(T(0.70710678118654752440));
        const auto shifted = bits_of(normal) - root + (F::bias << F::mantissa);
        const auto mask = (typename F::Bits(1) << F::mantissa) - 1;
        m = from_bits<T>(((bits_of(normal) - root) & mask) + root);
        // The integer becomes a number as the lowest bits of 2^mantissa; there is no
        // vector instruction for it in double precision before AVX-512.
        const T power = T(typename F::Bits(1) << F::mantissa);
        e = from_bits<T>((shifted >> F::mantissa) | bits_of(power)) - (power + T(F::bias));
        e = subnormal ? e - T(F::mantissa + 1) : e;
    }
};

// Gives ``value`` = log(x) its meaning at 0, infinity, NaN and below 0.
template <typename T>
inline T log_of_special(T x, T value) {
    value = x < Format<T>::infinity ? value : x;  // infinity and NaN
    value = x == T(0) ? -Format<T>::infinity : value;
    return x < T(0) ? Format<T>::nan : value;
}

// log(x) = e log(2) + log(1 + f), the latter as f - f^2 / 2 + f^3 P(f).
inline float log(float x) {
    const Split<float> split(x);
    const float f = split.m - 1.0f, e = split.e, square = f * f;
    float tail = polynomial(f, 0.06971611471f, -0.1147973385f, 0.1168541992f, -0.1242568733f,
                            0.1424905765f, -0.1666780232f, 0.2000071575f, -0.2499999696f,
                            0.3333333118f);
    tail = tail * f * square + e * -2.12194440e-4f;
    return log_of_special(x, (f + (tail - 0.5f * square)) + e * 0.693359375f);
}

// The same with log(1 + f) = 2 atanh(s), s = f / (2 + f); since 2 s = f - s f, the rounding of s
// is made small (P. T. P. Tang's and the Sun library's arrangement).
inline double log(double x) {
    const Split<double> split(x);
    const double f = split.m - 1.0, e = split.e, half_square = 0.5 * f * f;
    const double s = f / (2.0 + f), z = s * s;
    const double tail = z * polynomial(z, 0.14617807153417325, 0.15331611722055008,
                                       0.18182892432536871, 0.22222211089379496,
                                       0.28571428626253838, 0.39999999999898891,
                                       0.66666666666666697);
    const double low = s * (half_square + tail) + e * 1.90821492927058770002e-10;
    return log_of_special(x, e * 0x1.62e42feep-1 - ((half_square - low) - f));
}

// In double precision e^x - 1 loses to cancellation only what float does not see.
inline float expm1(float x) {
    const double wide = x, value = exp(wide) - 1.0;
    return float(std::fabs(x) < 0x1p-20f ? wide * (1.0 + 0.5 * wide) : value);
}
inline double expm1(double x) { return std::expm1(x); }

// 1 + x is rounded in double precision; too small an x is the result itself.
inline float log1p(float x) {
    const double wide = x, value = log(1.0 + wide);
    return float(std::fabs(x) < 0x1p-20f ? wide * (1.0 - 0.5 * wide) : value);
}
inline double log1p(double x) { return std::log1p(x); }

inline float exp2(float x) { return float(exp(double(x) * log_2)); }
inline double exp2(double x) { return std::exp2(x); }
inline float log2(float x) { return float(log(double(x)) * (1 / log_2)); }
inline double log2(double x) { return std::log2(x); }
inline float log10(float x) { return float(log(double(x)) * (1 / log_10)); }
inline double log10(double x) { return std::log10(x); }

// 1 / (1 + e^-x), for negative x as e^x / (1 + e^x), which does not lose its last values to
// an overflow of e^-x.
template <typename T>
inline T sigmoid(T x) {
    const T power = exp(-std::fabs(x));
    return (x < T(0) ? power : T(1)) / (T(1) + power);
}

// Near 0 x + x^3 P(x^2), elsewhere 1 - 2 / (e^(2 x) + 1).
inline float tanh(float x) {
    const float size = std::fabs(x), z = x * x;
    const float near = size + size * z * polynomial(z, 0.002292744816f, -0.008343945516f,
                                                    0.02176891865f, -0.05395925958f,
                                                    0.1333330356f, -0.3333333317f);
    const float far = 1.0f - 2.0f / (exp(2.0f * size) + 1.0f);
    return std::copysign(size < 0.625f ? near : far, x);
}

// The same with a quotient P / Q near 0; both regions share one division.
inline double tanh(double x) {
    const double size = std::fabs(x), z = x * x;
    const double p = polynomial(z, -0.0001991780435861287, -0.020498799708498873,
                                -0.33333333333333333);
    const double q = polynomial(z, 0.0002065337374875025, 0.023291331876298859,
                                0.46149639912549314, 1.0);
    const double power = exp(2.0 * size);
    const bool near = size < 0.625;
    const double quotient = (near ? size * z * p : -2.0) / (near ? q : power + 1.0);
    return std::copysign((near ? size : 1.0) + quotient, x);
}

// (e^x - e^-x) / 2, near 0 two terms of its series.
inline float sinh(float x) {
    const double wide = x, power = exp(wide);
    const double value = 0.5 * (power - 1.0 / power);
    return float(std::fabs(x) < 0x1p-6f ? wide + wide * wide * wide * (1.0 / 6.0) : value);
}
inline double sinh(double x) { return std::sinh(x); }

// (e^x + e^-x) / 2
inline float cosh(float x) {
    const double power = exp(double(x));
    return float(0.5 * (power + 1.0 / power));
}
inline double cosh(double x) { return std::cosh(x); }

// e^(y log |x|) in double precision, negative for negative x and odd y. What C says of zeros and
// infinities follows from the arithmetic, but for the last three lines.
inline float pow(float x, float y) {
    constexpr double rounder = Format<double>::rounder;
    const float size = std::fabs(x);
    double exponent = y < -0x1p25f ? -0x1p25f : y;  // beyond 2^24 all numbers are even
    exponent = exponent > 0x1p25 ? 0x1p25 : exponent;
    const double half = 0.5 * exponent;
    const bool whole = (exponent + rounder) - rounder == exponent;
    const bool odd = whole & ((half + rounder) - rounder != half);
    double value = exp(double(y) * log(double(size)));
    value = odd ? std::copysign(value, double(x)) : value;
    value = (x < 0.0f) & (size < Format<float>::infinity) & !whole ? Format<double>::nan : value;
    value = (y == 0.0f) | (x == 1.0f) ? 1.0 : value;
    return float((size == 1.0f) & (std::fabs(y) == Format<float>::infinity) ? 1.0 : value);
}
inline double pow(double x, double y) { return std::pow(x, y); }

}  // namespace nnkit::math
