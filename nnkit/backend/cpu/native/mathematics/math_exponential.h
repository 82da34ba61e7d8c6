// Exponentials, logarithms and what follows from them.
//
// The methods are standard: W. J. Cody and W. Waite, "Software Manual for the Elementary
// Functions" (1980). tools/fit_polynomials.py computes the polynomials. Most float functions are
// computed in double precision with short polynomials, so that they are rounded once, as torch's.
#pragma once

#include "math_format.h"

namespace nnkit::math {

// value * 2^n for the n in the lowest bits of ``shifted`` = n + rounder. Two factors, since 2^n
// alone may overflow or underflow where the product does not.
template <typename T>
inline T times_power_of_two(T value, T shifted) {
    using F = Format<T>;
    const auto biased = bits_of(shifted) - bits_of(F::rounder) + 2 * F::bias;  // positive
    const auto half = biased >> 1;
    return value * from_bits<T>(half << F::mantissa) * from_bits<T>((biased - half) << F::mantissa);
}

// 2^(n + lift) for the same n, where that is a normal number.
template <typename T>
inline T power_of_two(T shifted, int lift = 0) {
    using F = Format<T>;
    return from_bits<T>((bits_of(shifted) - bits_of(F::rounder) + (F::bias + lift)) << F::mantissa);
}

// ``value``, which is NaN for NaN; outside low .. high the function's limits.
template <typename T>
inline T within(T x, T low, T high, T below, T value, T above) {
    const T bounded = x > high ? above : value;
    return x < low ? below : bounded;
}

// (e^r - 1 - r) / r^2 for |r| <= log(2) / 2
inline float exponential_tail(float r) {
    return polynomial(r, 0.0001989103065f, 0.001393368586f, 0.00833331089f, 0.0416664646f,
                      0.1666666668f, 0.5f);
}
inline double exponential_tail(double r) {
    return polynomial(r, 2.5100424157005067e-8, 2.7620138719733996e-7, 2.7557268378684193e-6,
                      2.4801521190217728e-5, 0.00019841269863105969, 0.0013888888917281793,
                      0.0083333333333300513, 0.041666666666623992, 0.16666666666666667, 0.5);
}

// e^x = 2^n e^r with r = x - n log(2) and e^r = 1 + high + low, where ``high`` is exact.
template <typename T>
struct PowerOfE {
    T shifted, high, low;

    explicit PowerOfE(T x) {
        using F = Format<T>;
        shifted = x * T(1 / log_2) + F::rounder;
        const T n = shifted - F::rounder;
        high = x - n * F::log_2_high;
        const T rest = n * F::log_2_low, r = high - rest;
        low = r * r * exponential_tail(r) - rest;
    }
};

// e^r = 1 + high + low; what 1 + high loses is given back with ``low`` (T. J. Dekker's sum, 1971).
template <typename T>
inline T sum_of(const PowerOfE<T>& power) {
    const T sum = T(1) + power.high, lost = power.high - (sum - T(1));
    return sum + (lost + power.low);
}

template <typename T>
inline T exp(T x) {
    const PowerOfE<T> power(x);
    const T value = times_power_of_two(sum_of(power), power.shifted);
    constexpr bool single = sizeof(T) == sizeof(float);
    return within(x, T(single ? -104 : -746), T(single ? 89 : 710), T(0), value,
                  Format<T>::infinity);
}

// The same bits with less work for x <= 0 and NaN: 2^(n + lift) cannot overflow.
template <typename T>
inline T exp_of_negative(T x) {
    constexpr bool single = sizeof(T) == sizeof(float);
    constexpr T lowest = single ? -104 : -746;
    constexpr int lift = single ? 64 : 512;
    constexpr T back = single ? T(0x1p-64) : T(0x1p-512);
    const PowerOfE<T> power(lowest > x ? lowest : x);
    return sum_of(power) * power_of_two(power.shifted, lift) * back;
}

// The same bits where 2^n is a normal number: for x from -87 to 88 at least.
template <typename T>
inline T exp_of_moderate(T x) {
    const PowerOfE<T> power(x);
    return sum_of(power) * power_of_two(power.shifted);
}

// (e^x - 1) / 4 as 2^n (e^r - 1) + (2^n - 1), both quartered since the highest 2^n overflow.
inline double quarter_expm1(double x) {
    const PowerOfE<double> power(x);
    const double scale = power_of_two(power.shifted, -2);
    return (scale * power.high + (scale - 0.25)) + scale * power.low;
}

inline double expm1(double x) {
    const double value = std::fabs(x) < 0x1p-54 ? x : std::copysign(4.0 * quarter_expm1(x), x);
    return within(x, -40.0, 710.0, -1.0, value, Format<double>::infinity);
}

// e^x = 2^n + 2^n (e^r - 1) for a result that is rounded to float
struct WidePowerOfE {
    double whole, more;

    explicit WidePowerOfE(double x) {
        const double shifted = x * (1 / log_2) + Format<double>::rounder;
        const double r = x - (shifted - Format<double>::rounder) * log_2;
        whole = power_of_two(shifted);
        more = whole * (r * polynomial(r, 0.0001989933205656, 0.001394116075383, 0.008333298413941,
                                       0.04166635226808, 0.1666666671915, 0.5000000047259, 1.0));
    }
    double less_one() const { return (whole - 1.0) + more; }
};

inline float expm1(float x) {
    const float above = -40.0f > x ? -40.0f : x;  // where it rounds to -1
    const WidePowerOfE power(89.0f < above ? 89.0f : above);
    return std::copysign(float(power.less_one()), x);
}

// 2^x = 2^n 2^r with r = x - n, which is exact, and 2^r = 1 + high + low; ``high`` is exact too.
inline float exp2(float x) {
    constexpr float log_2_high = 0x1.62ep-1f, log_2_low = log_2 - log_2_high;
    const float shifted = x + Format<float>::rounder, r = x - (shifted - Format<float>::rounder);
    const float first = from_bits<float>(bits_of(r) & 0xfffff000u), high = first * log_2_high;
    const float tail = polynomial(r, 0.0001545318283f, 0.001339088633f, 0.00961808252f,
                                  0.05550357071f, 0.2402265076f);
    const float low = (r - first) * log_2_high + r * log_2_low + r * r * tail;
    const float sum = 1.0f + high, lost = high - (sum - 1.0f);
    const float value = times_power_of_two(sum + (lost + low), shifted);
    return within(x, -151.0f, 129.0f, 0.0f, value, Format<float>::infinity);
}
// The same with less precision where 2^n is a normal number: for x from -126 to 127.
inline float exp2_of_moderate(float x) {
    const float shifted = x + Format<float>::rounder, r = x - (shifted - Format<float>::rounder);
    const float power = 1.0f + r * polynomial(r, 0.0001545318283f, 0.001339088633f, 0.00961808252f,
                                              0.05550357071f, 0.2402265076f, 0.693147188f);
    return power * power_of_two(shifted);
}
inline double exp2(double x) {
    using F = Format<double>;
    const double shifted = x + F::rounder, r = x - (shifted - F::rounder);
    const double first = upper_half(r), high = first * F::log_2_high, y = r * log_2;
    const double low = (r - first) * F::log_2_high + r * F::log_2_low +
                       y * y * exponential_tail(y);
    const double sum = 1.0 + high, lost = high - (sum - 1.0);
    const double value = times_power_of_two(sum + (lost + low), shifted);
    return within(x, -1076.0, 1025.0, 0.0, value, F::infinity);
}

// x = m 2^e with m between sqrt(1/2) and sqrt(2), for positive finite x.
template <typename T>
struct Split {
    T m, e;

    explicit Split(T x, T scale = T(1)) {
        using F = Format<T>;
        using Bits = typename F::Bits;
        const Bits root = bits_of(T(0.70710678118654752440)), mask = (Bits(1) << F::mantissa) - 1;
        const Bits above = bits_of(x * scale) - root;
        m = from_bits<T>((above & mask) + root);
        // The exponent becomes a number as the lowest bits of 2^mantissa: double precision has
        // no vector instruction for that before AVX-512. Twice the bias keeps it positive.
        const Bits biased = (above + bits_of(T(1)) - bits_of(scale)) + (2 * F::bias << F::mantissa);
        const T power = T(Bits(1) << F::mantissa);
        e = from_bits<T>((biased >> F::mantissa) | bits_of(power)) - (power + T(2 * F::bias));
    }
};

// Gives ``value`` = log(x) its meaning at 0, infinity, NaN and below 0.
template <typename T>
inline T log_of_special(T x, T value) {
    value = x < Format<T>::infinity ? value : x;  // infinity and NaN
    value = x == T(0) ? -Format<T>::infinity : value;
    return x < T(0) ? Format<T>::nan : value;
}

// (2 atanh(s) - 2 s) / s for z = s^2
inline double atanh_tail(double z) {
    return z * polynomial(z, 0.14617807153417325, 0.15331611722055008, 0.18182892432536871,
                          0.22222211089379496, 0.28571428626253838, 0.39999999999898891,
                          0.66666666666666697);
}

// e log(2) + log(1 + f) with log(1 + f) = 2 atanh(s), s = f / (2 + f); since 2 s = f - s f, the
// rounding of s is made small (P. T. P. Tang's and the Sun library's arrangement).
inline double log_of_parts(double f, double e) {
    const double half_square = 0.5 * f * f, s = f / (2.0 + f);
    const double low = s * (half_square + atanh_tail(s * s)) + e * Format<double>::log_2_low;
    return e * Format<double>::log_2_high - ((half_square - low) - f);
}

// The same divided by log(base): the logarithm of 2 to that base and 1 / log(base) are given in two
// parts, of which the first has so few bits that its products are exact.
inline double log_to(double x, double of_2, double of_2_low, double inverse, double inverse_low) {
    const bool is_subnormal = x < std::numeric_limits<double>::min();
    const Split<double> split(x, is_subnormal ? 0x1p53 : 1.0);
    const double f = split.m - 1.0, half_square = 0.5 * f * f, s = f / (2.0 + f);
    const double high = upper_half(f - half_square);
    const double low = (f - high) - half_square + s * (half_square + atanh_tail(s * s));
    const double whole = split.e * of_2, first = high * inverse, sum = whole + first;
    const double rest = (low + high) * inverse_low + low * inverse + split.e * of_2_low;
    return log_of_special(x, sum + (((whole - sum) + first) + rest));
}

inline double log2(double x) {
    return log_to(x, 1.0, 0.0, 0x1.71547652p+0, 0x1.705fc2eefa2p-33);
}
inline double log10(double x) {
    return log_to(x, 0x1.34413509f78p-2, 0x1.fef311f12b358p-46, 0x1.bcb7b152p-2,
                  0x1.b9438ca9aadd5p-36);
}

inline double log_of_normal(double x) {
    const Split<double> split(x);
    return log_of_parts(split.m - 1.0, split.e);
}

inline double log(double x) {
    const bool is_subnormal = x < std::numeric_limits<double>::min();
    const Split<double> split(x, is_subnormal ? 0x1p53 : 1.0);
    return log_of_special(x, log_of_parts(split.m - 1.0, split.e));
}

// log(u) with u = 1 + x, whose rounding error, divided by 2^e, is given back to f.
inline double log1p(double x) {
    using F = Format<double>;
    const double u = 1.0 + x, lost = x - (u - 1.0);
    const Split<double> split(u);
    const auto biased = bits_of(F::rounder) - bits_of(split.e + F::rounder) + (F::bias + 1);
    // 2^(1 - e), as 2^-e may be subnormal
    const double scale = from_bits<double>(biased << F::mantissa);
    const double f = (split.m - 1.0) + lost * scale * 0.5;
    return std::copysign(log_of_special(u, log_of_parts(f, split.e)), x);
}

// scale log(1 + f) for a result that is rounded to float
inline double wide_log(double f, double scale = 1) {
    const double s = f / (2.0 + f), z = s * s;
    return s * (2.0 * scale + z * polynomial(z, 0.2333161447184 * scale, 0.2855077863319 * scale,
                                             0.4000012221181 * scale, 0.6666666655404 * scale));
}

// The logarithm to a base, of which that of 2 and 1 / log(base) are given.
inline float log_to(float x, double of_2, double inverse) {
    const bool is_subnormal = x < std::numeric_limits<float>::min();
    const Split<float> split(x, is_subnormal ? 0x1p24f : 1.0f);
    return log_of_special(x, float(split.e * of_2 + wide_log(split.m - 1.0f, inverse)));
}

inline float log(float x) { return log_to(x, log_2, 1); }
inline float log2(float x) { return log_to(x, 1, 1 / log_2); }
inline float log10(float x) { return log_to(x, log_2 / log_10, 1 / log_10); }

// log(u) with u = 1 + x, which may have lost x where it is near 1.
inline float log1p(float x) {
    const double wide = x, u = 1.0 + wide;
    const Split<double> split(u);
    const double f = split.e == 0.0 ? wide : split.m - 1.0;
    const auto value = float(split.e * log_2 + wide_log(f));
    return std::copysign(log_of_special(float(u), value), x);
}

// log(1 + e^x) = 2 atanh(s), s = e^x / (2 + e^x), for x <= 0 and a result that is rounded to float
inline double wide_log1p_exp(double x) {
    const WidePowerOfE power(x);
    const double share = power.whole + power.more, s = share / (2.0 + share), z = s * s;
    const double value = s * (2.0 + z * polynomial(z, 0.2078761685575, 0.1746470246544,
                                                   0.22264711209, 0.2857030572188, 0.4000001076995,
                                                   0.6666666665002));
    return x < -150 * log_2 ? 0.0 : value;  // it rounds to 0 there
}

// log(1 + e^x) for x <= 0, of a float in double precision
inline double log1p_exp(double x) { return log1p(exp(x)); }
inline double log1p_exp(float x) { return wide_log1p_exp(x); }

// The same of 2^x
inline double log1p_exp2(double x) { return log1p(exp2(x)); }
inline double log1p_exp2(float x) { return wide_log1p_exp(x * log_2); }

// 1 / (1 + e^-x), of which both parts are made smaller by 2^-drop: e^-x may overflow where the
// quotient is not yet 0. The exponential's last sum is a plain one.
template <typename T>
inline T sigmoid(T x) {
    constexpr bool single = sizeof(T) == sizeof(float);
    constexpr T lowest = single ? -20 : -40, highest = single ? 104 : 746;
    constexpr int drop = single ? 64 : 512;
    constexpr T one = single ? T(0x1p-64) : T(0x1p-512);
    const T above = lowest > -x ? lowest : -x;
    const PowerOfE<T> power(highest < above ? highest : above);
    return one / (one + (T(1) + (power.high + power.low)) * power_of_two(power.shifted, -drop));
}

// p / (2 + p) with p = e^(2 x) - 1, which is 1 from 10 on.
inline float tanh(float x) {
    const float size = std::fabs(x);
    const double power = WidePowerOfE(2.0f * (size > 10.0f ? 10.0f : size)).less_one();
    return std::copysign(float(power / (2.0 + power)), x);
}

// Near 0 x + x^3 P(x^2) / Q(x^2), elsewhere 1 - 2 / (e^(2 x) + 1), which is 1 from 20 on; both
// regions share one division.
inline double tanh(double x) {
    const double size = std::fabs(x), z = x * x;
    const double p = polynomial(z, -0.0001991780435861287, -0.020498799708498873,
                                -0.33333333333333333);
    const double q = polynomial(z, 0.0002065337374875025, 0.023291331876298859,
                                0.46149639912549314, 1.0);
    const double power = exp_of_moderate(2.0 * (size > 20.0 ? 20.0 : size));
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

// (e^|x| - 1) / 2 for the hyperbolic functions; infinity where they overflow.
inline double half_expm1_of_size(double x) {
    const double size = std::fabs(x);
    return 2.0 * quarter_expm1(size > 710.6 ? 710.6 : size);
}

// h + h / (1 + 2 h) with h = (e^|x| - 1) / 2, up to 1 a polynomial.
inline double sinh(double x) {
    const double size = std::fabs(x), half = half_expm1_of_size(x), z = x * x;
    const double far = half + (0.5 - 0.5 / (1.0 + 2.0 * half));
    const double near = size + size * z * polynomial(
        z, 7.7462782248108145e-13, 1.6057676882739472e-10, 2.5052117723953198e-8,
        2.7557319191250886e-6, 0.00019841269841324471, 0.0083333333333332992, 0.16666666666666667);
    return std::copysign(size < 1.0 ? near : far, x);
}

// (e^x + e^-x) / 2
inline float cosh(float x) {
    const double power = exp(double(x));
    return float(0.5 * (power + 1.0 / power));
}
inline double cosh(double x) {
    const double half = half_expm1_of_size(x) + 0.5;
    return half + 0.25 / half;
}

}  // namespace nnkit::math
