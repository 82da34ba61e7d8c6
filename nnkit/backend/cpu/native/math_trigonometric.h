// Circular functions, float ones by an own argument reduction that is right for every float.
#pragma once

#include "math_format.h"

namespace nnkit::math {

// x = quadrant pi / 2 + r with |r| <= pi / 4, up to whole turns.
struct Angle {
    double r;
    std::uint32_t quadrant;

    // x times 2 / pi, which is cut into three parts. The first two have 28 bits, so that their
    // products with a float are exact (Cody and Waite). A large float is a multiple of 2^28, 2^54
    // or 2^80, and multiples of 4 in 2 / pi times this power only give whole turns: they are left
    // out, which makes room for further digits (M. H. Payne and R. N. Hanek, "Radian reduction
    // for trigonometric functions", 1983).
    explicit Angle(float x) {
        constexpr double rounder = Format<double>::rounder;
        const double size = std::fabs(double(x));
        const auto choose = [size](double small, double medium, double large, double huge) {
            const double first = size < 0x1p51 ? small : medium;
            const double second = size < 0x1p77 ? first : large;
            return size < 0x1p103 ? second : huge;
        };
        const double high = x * choose(0x1.45f306cp-1, 0x1.727220ap-27, 0x1.4a7f09cp-54,
                                       0x1.abe8fa8p-79);
        const double middle = x * choose(0x1.c9c882ap-29, 0x1.29fc274p-56, 0x1.5f47d4cp-82,
                                         0x1.a6ee06cp-107);
        const double low = x * choose(0x1.4fe13abe8fa9ap-59, 0x1.7d1f534ddc0dbp-84,
                                      0x1.377036d8a5665p-110, 0x1.b14acc9e21c82p-135);
        const double whole = high + rounder, second_whole = middle + rounder;
        const double fraction = (high - (whole - rounder)) + (middle - (second_whole - rounder));
        const double last_whole = fraction + rounder;
        r = ((fraction - (last_whole - rounder)) + low) * (0.5 * pi);
        quadrant = std::uint32_t(bits_of(whole) + bits_of(second_whole) + bits_of(last_whole));
    }
};

// sin and cos of |r| <= pi / 4
template <typename T>
inline T sine(T r) {
    const T z = r * r;
    const T value = r + r * z * polynomial(z, T(2.724962e-6), T(-0.0001984008438), 0.00833333187,
                                           -0.1666666666);
    return r == T(0) ? r : value;  // the sum forgets a negative zero
}
template <typename T>
inline T cosine(T r) {
    const T z = r * r;
    return T(1) + z * polynomial(z, T(2.454768971e-5), T(-0.001388830187), 0.04166666465, -0.5);
}

// sin of an angle ``quarters`` quarter turns on: quadrants 1 and 3 take the cosine, 2 and 3 the
// negative sign.
inline float sin_from(const Angle& angle, std::uint32_t quarters) {
    const std::uint32_t quadrant = angle.quadrant + quarters;
    const float r = float(angle.r), s = sine(r), c = cosine(r);
    const float value = quadrant & 1 ? c : s;
    return from_bits<float>(bits_of(value) ^ ((quadrant & 2) << 30));
}

inline float sin(float x) { return sin_from(Angle(x), 0); }
inline double sin(double x) { return std::sin(x); }

inline float cos(float x) { return sin_from(Angle(x), 1); }
inline double cos(double x) { return std::cos(x); }

// sin / cos, a quarter turn on -cos / sin
inline float tan(float x) {
    const Angle angle(x);
    const double s = sine(angle.r), c = cosine(angle.r);
    const bool odd = angle.quadrant & 1;
    return float((odd ? -c : s) / (odd ? s : c));
}
inline double tan(double x) { return std::tan(x); }

// These are rare in loops over arrays; the C library's serve.
template <typename T>
inline T asin(T x) { return std::asin(x); }
template <typename T>
inline T acos(T x) { return std::acos(x); }
template <typename T>
inline T atan(T x) { return std::atan(x); }
template <typename T>
inline T atan2(T y, T x) { return std::atan2(y, x); }
template <typename T>
inline T asinh(T x) { return std::asinh(x); }
template <typename T>
inline T acosh(T x) { return std::acosh(x); }
template <typename T>
inline T atanh(T x) { return std::atanh(x); }

}  // namespace nnkit::math
