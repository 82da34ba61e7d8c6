// Exponentials, logarithms and what follows from them.
//
// The methods are standard: W. J. Cody and W. Waite, "Software Manual for the Elementary
// Functions" (1980). tools/fit_polynomials.py computes the polynomials. Where a float function
// would need care against cancellation, double precision serves instead.
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

// 2^n (e^r - 1) + (2^n - 1), both halved since the highest 2^n overflows.
template <typename T>
inline T expm1(T x) {
    using F = Format<T>;
    const PowerOfE<T> power(x);
    const T scale = power_of_two(power.shifted, -1);
    const T half = (scale * power.high + (scale - T(0.5))) + scale * power.low;
    const T value = std::copysign(T(2) * half, x);
    return within(x, T(-40), T(F::bias) * T(log_2) + T(1), T(-1), value, F::infinity);
}

// 2^x = 2^n 2^r with r = x - n, which is exact.
struct PowerOfTwo {
    float shifted, fraction;

    explicit PowerOfTwo(float x) : shifted(x + Format<float>::rounder) {
        const float r = x - (shifted - Format<float>::rounder);
        fraction = 1.0f + r * polynomial(r, 0.0001545318283f, 0.001339088633f, 0.00961808252f,
                                         0.05550357071f, 0.2402265076f, 0.693147188f);
    }
};

inline float exp2(float x) {
    const PowerOfTwo power(x);
    const float value = times_power_of_two(power.fraction, power.shifted);
    return within(x, -151.0f, 129.0f, 0.0f, value, Format<float>::infinity);
}
// The same bits where 2^n is a normal number: for x from -126 to 127.
inline float exp2_of_moderate(float x) {
    const PowerOfTwo power(x);
    return power.fraction * power_of_two(power.shifted);
}
inline double exp2(double x) { return std::exp2(x); }

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

// log(1 + f) is f - f^2 / 2 and this, f^3 P(f).
inline float log_tail(float f) {
    const float tail = polynomial(f, 0.06971611471f, -0.1147973385f, 0.1168541992f, -0.1242568733f,
                                  0.1424905765f, -0.1666780232f, 0.2000071575f, -0.2499999696f,
                                  0.3333333118f);
    return tail * f * (f * f);
}

// e log(2) + log(1 + f)
inline float log_of_parts(float f, float e) {
    const float low = log_tail(f) + e * Format<float>::log_2_low;
    return (f + (low - 0.5f * (f * f))) + e * Format<float>::log_2_high;
}

// The same with log(1 + f) = 2 atanh(s), s = f / (2 + f); since 2 s = f - s f, the rounding of s
// is made small (P. T. P. Tang's and the Sun library's arrangement).
inline double log_of_parts(double f, double e) {
    const double half_square = 0.5 * f * f, s = f / (2.0 + f), z = s * s;
    const double tail = z * polynomial(z, 0.14617807153417325, 0.15331611722055008,
                                       0.18182892432536871, 0.22222211089379496,
                                       0.28571428626253838, 0.39999999999898891,
                                       0.66666666666666697);
    const double low = s * (half_square + tail) + e * Format<double>::log_2_low;
    return e * Format<double>::log_2_high - ((half_square - low) - f);
}

template <typename T>
inline T log(T x) {
    constexpr T lift = T(typename Format<T>::Bits(1) << (Format<T>::mantissa + 1));
    const Split<T> split(x, x < std::numeric_limits<T>::min() ? lift : T(1));  // subnormal
    return log_of_special(x, log_of_parts(split.m - T(1), split.e));
}

// log(u) with u = 1 + x, whose rounding error, divided by 2^e, is given back to f.
template <typename T>
inline T log1p(T x) {
    using F = Format<T>;
    const T u = T(1) + x, lost = x - (u - T(1));
    const Split<T> split(u);
    const auto biased = bits_of(F::rounder) - bits_of(split.e + F::rounder) + (F::bias + 1);
    const T scale = from_bits<T>(biased << F::mantissa);  // 2^(1 - e), as 2^-e may be subnormal
    const T f = (split.m - T(1)) + lost * scale * T(0.5);
    return std::copysign(log_of_special(u, log_of_parts(f, split.e)), x);
}

// What a logarithm to another base is made of: the logarithm of 2 to that base, and 1 / log(base),
// both as a few bits, by which products are exact, and the rest.
struct Base2 {
    static constexpr float of_2_high = 1, of_2_low = 0;
    static constexpr float inverse_high = 0x1.716p+0f, inverse_low = -0x1.7135a8p-13f;
};
struct Base10 {
    static constexpr float of_2_high = 0x1.3441p-2f, of_2_low = 0x1.a84fbcp-21f;
    static constexpr float inverse_high = 0x1.bccp-2f, inverse_low = -0x1.09d5b2p-15f;
};

// The logarithm to a base: log(1 + f) as 12 bits and the rest, in which what is added up loses
// nothing that the result would show (the Sun library's arrangement).
template <class Base>
inline float log_to(float x) {
    constexpr float lift = 0x1p24f;
    const Split<float> split(x, x < std::numeric_limits<float>::min() ? lift : 1.0f);  // subnormal
    const float f = split.m - 1.0f, half_square = 0.5f * (f * f);
    const float high = from_bits<float>(bits_of(f - half_square) & 0xfffff000u);
    const float low = ((f - high) - half_square) + log_tail(f);
    const float whole = split.e * Base::of_2_high, share = high * Base::inverse_high;
    const float sum = whole + share, lost = (whole - sum) + share;
    const float rest = (low + high) * Base::inverse_low + low * Base::inverse_high;
    return log_of_special(x, sum + (lost + (split.e * Base::of_2_low + rest)));
}

inline float log2(float x) { return log_to<Base2>(x); }
inline double log2(double x) { return std::log2(x); }
inline float log10(float x) { return log_to<Base10>(x); }
inline double log10(double x) { return std::log10(x); }

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

// Near 0 x + x^3 P(x^2), elsewhere 1 - 2 / (e^(2 x) + 1), which is 1 from 10 on.
inline float tanh(float x) {
    const float size = std::fabs(x), z = x * x;
    const float near = size + size * z * polynomial(z, 0.002292744816f, -0.008343945516f,
                                                    0.02176891865f, -0.05395925958f,
                                                    0.1333330356f, -0.3333333317f);
    const float power = exp_of_moderate(2.0f * (size > 10.0f ? 10.0f : size));
    const float far = 1.0f - 2.0f / (power + 1.0f);
    return std::copysign(size < 0.625f ? near : far, x);
}

// The same with a quotient P / Q near 0; both regions share one division. It is 1 from 20 on.
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
inline double sinh(double x) { return std::sinh(x); }

// (e^x + e^-x) / 2
inline float cosh(float x) {
    const double power = exp(double(x));
    return float(0.5 * (power + 1.0 / power));
}
inline double cosh(double x) { return std::cosh(x); }

}  // namespace nnkit::math
