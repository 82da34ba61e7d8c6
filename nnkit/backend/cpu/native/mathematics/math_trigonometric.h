// Circular functions, with an argument reduction that is right for every float, and inverses.
#pragma once

#include "math_exponential.h"

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

// The same for |x| < 2^17, which is fast: two parts of pi / 2 are enough, the first of 30 bits, so
// that its products are exact. Sines, cosines and tangents come out as from the other angles, to the
// last bit (tried for every float).
struct NearAngle {
    static constexpr float bound = 0x1p17f;
    double r;
    std::uint32_t quadrant;

    explicit NearAngle(float x) {
        const double shifted = x * (2 / pi) + Format<double>::rounder;
        const double whole = shifted - Format<double>::rounder;
        r = (x - whole * 0x1.921fb54p+0) - whole * 0x1.10b4611a62633p-30;
        quadrant = std::uint32_t(bits_of(shifted));
    }
};

// sin and cos of |r| <= pi / 4
inline double sine(double r) {
    const double z = r * r;
    return r * (1.0 + z * polynomial(z, 2.724962e-6, -0.0001984008438, 0.00833333187,
                                     -0.1666666666));
}
inline double cosine(double r) {
    const double z = r * r;
    return 1.0 + z * polynomial(z, 2.454768971e-5, -0.001388830187, 0.04166666465, -0.5);
}

// sin of an angle ``quarters`` quarter turns on: quadrants 1 and 3 take the cosine, 2 and 3 the
// negative sign.
template <class Angle>
inline float sin_from(const Angle& angle, std::uint32_t quarters) {
    const std::uint32_t quadrant = angle.quadrant + quarters;
    const double s = sine(angle.r), c = cosine(angle.r);
    const auto value = float(quadrant & 1 ? c : s);
    return from_bits<float>(bits_of(value) ^ ((quadrant & 2) << 30));
}

// sin / cos, a quarter turn on -cos / sin
template <class Angle>
inline float tan_of(const Angle& angle) {
    const double s = sine(angle.r), c = cosine(angle.r);
    const bool odd = angle.quadrant & 1;
    return float((odd ? -c : s) / (odd ? s : c));
}

// The circular functions of floats that are reduced to one kind of angles, and of single doubles.
template <class Angle>
struct Circle {
    static float sin(float x) { return sin_from(Angle(x), 0); }
    static float cos(float x) { return sin_from(Angle(x), 1); }
    static float tan(float x) { return tan_of(Angle(x)); }
    static double sin(double x) { return std::sin(x); }
    static double cos(double x) { return std::cos(x); }
    static double tan(double x) { return std::tan(x); }
};

// The same angle of a double |x| < 2^19, and what r lacks: of the three parts of pi / 2 the first
// two have 33 bits, so that their products are exact.
struct WideAngle {
    static constexpr double bound = 0x1p19;
    double r, rest;
    std::uint64_t quadrant;

    explicit WideAngle(double x) {
        const double shifted = x * (2 / pi) + Format<double>::rounder;
        const double whole = shifted - Format<double>::rounder;
        const double first = x - whole * 0x1.921fb544p+0, second = whole * 0x1.0b4611a6p-34;
        const double most = first - second;
        const double less = ((first - most) - second) - whole * 0x1.3198a2e037073p-69;
        r = less == 0.0 ? most : most + less;  // -0 stays what it is
        rest = (most - r) + less;
        quadrant = bits_of(shifted);
    }
    double sine() const {
        const double z = r * r, more = r * z * polynomial(
            z, 1.5918128541918062e-10, -2.505113185503842e-08, 2.755731610272352e-06,
            -0.0001984126983675921, 0.00833333333333095, -0.16666666666666666);
        return r == 0.0 ? r : r + (more + rest);
    }
    double cosine() const {
        const double z = r * r, more = z * z * polynomial(
            z, -1.1382630975566567e-11, 2.087614625949924e-09, -2.755731727175415e-07,
            2.48015872987659e-05, -0.0013888888888887398, 0.041666666666666664);
        const double begin = 1.0 - 0.5 * z;
        return begin + (((1.0 - begin) - 0.5 * z) + (more - r * rest));
    }
};

inline double sin_from(const WideAngle& angle, std::uint64_t quarters) {
    const std::uint64_t quadrant = angle.quadrant + quarters;
    const double s = angle.sine(), c = angle.cosine();
    return from_bits<double>(bits_of(quadrant & 1 ? c : s) ^ ((quadrant & 2) << 62));
}
inline double tan_of(const WideAngle& angle) {
    const double s = angle.sine(), c = angle.cosine();
    const bool odd = angle.quadrant & 1;
    return (odd ? -c : s) / (odd ? s : c);
}

// The circular functions of doubles within the bound, and of all: alike to the last bit.
struct NearCircle {
    static double sin(double x) { return sin_from(WideAngle(x), 0); }
    static double cos(double x) { return sin_from(WideAngle(x), 1); }
    static double tan(double x) { return tan_of(WideAngle(x)); }
};
struct WholeCircle {
    static bool is_near(double x) { return std::fabs(x) < WideAngle::bound; }
    static double sin(double x) { return is_near(x) ? NearCircle::sin(x) : std::sin(x); }
    static double cos(double x) { return is_near(x) ? NearCircle::cos(x) : std::cos(x); }
    static double tan(double x) { return is_near(x) ? NearCircle::tan(x) : std::tan(x); }
};

template <class T>
inline T sin(T x) { return Circle<Angle>::sin(x); }
template <class T>
inline T cos(T x) { return Circle<Angle>::cos(x); }
template <class T>
inline T tan(T x) { return Circle<Angle>::tan(x); }

// Calls `loop(circle, start, stop)` for blocks of the angles x.
template <class T, class LoopOfCircle>
inline void with_circle(const T* x, std::ptrdiff_t count, LoopOfCircle loop) {
    if constexpr (sizeof(T) > sizeof(float)) {
        in_blocks<2048>(x, count, WholeCircle::is_near, NearCircle(), WholeCircle(), loop);
    } else {
        const auto fits = [](T angle) { return std::fabs(angle) < NearAngle::bound; };
        in_blocks<2048>(x, count, fits, Circle<NearAngle>(), Circle<Angle>(), loop);
    }
}

// The inverse functions: those of floats in double precision, since their sums would cancel, those
// of doubles with what pi lacks in double precision.

// atan of 0 <= t <= 1
inline double atan_of_share(double t) {
    const double z = t * t;
    return t + t * z * polynomial(z, 0.001488691939, -0.009144629761, 0.02630500111,
                                  -0.04896051403, 0.0703191425, -0.08931826777, 0.1108826163,
                                  -0.1428400379, 0.1999994932, -0.3333333308);
}

constexpr double pi_low = 0x1.1a62633145c07p-53;

// atan(small / large) of 0 <= small <= large: from tan(pi / 8) on pi / 4 less the atan of
// (large - small) / (large + small).
inline double atan_of_ratio(double small, double large) {
    const bool folded = small > 0x1.a827999fcef32p-2 * large;
    const double unit = large > 0x1p1000 ? 0x1p-60 : 1.0;  // against a sum that overflows
    const double above = folded ? small * unit - large * unit : small;
    const double t = above / (folded ? small * unit + large * unit : large), z = t * t;
    const double more = t * z * polynomial(
        z, 0.016271944751537432, -0.03455809255132811, 0.045511081263214864, -0.052303478730151704,
        0.058789145444004825, -0.066664236280692436, 0.076922963049744691, -0.090909087510766358,
        0.11111111105106705, -0.14285714285659327, 0.19999999999999803, -0.33333333333333333);
    return folded ? 0.25 * pi + (t + (more + 0.25 * pi_low)) : t + more;
}

inline double atan(double x) {
    const double size = std::fabs(x);
    const bool above = size > 1.0;
    const double angle = atan_of_ratio(above ? 1.0 : size, above ? size : 1.0);
    return std::copysign(above ? 0.5 * pi - (angle - 0.5 * pi_low) : angle, x);
}

inline float atan(float x) {
    const double size = std::fabs(x);
    const bool above = size > 1.0;
    const double angle = atan_of_share((above ? 1.0 : size) / (above ? size : 1.0));
    return std::copysign(float(above ? 0.5 * pi - angle : angle), x);
}

// The angle of the point (x, y): that of the smaller size over the larger, mirrored.
inline float atan2(float y, float x) {
    const double width = std::fabs(x), height = std::fabs(y);
    const bool steep = height > width;
    const double large = steep ? height : width, small = steep ? width : height;
    const bool equal = small == large;  // two infinities among them; two zeros have the share 0
    const double share = (equal ? double(large > 0.0) : small) / (equal ? 1.0 : large);
    const double first = atan_of_share(share), turned = steep ? 0.5 * pi - first : first;
    return std::copysign(float(bits_of(x) >> 31 ? pi - turned : turned), y);
}

inline double atan2(double y, double x) {
    const double width = std::fabs(x), height = std::fabs(y);
    const bool steep = height > width;
    const double large = steep ? height : width, small = steep ? width : height;
    const bool equal = small == large;
    const double first = atan_of_ratio(equal ? double(large > 0.0) : small, equal ? 1.0 : large);
    const double turned = steep ? 0.5 * pi - (first - 0.5 * pi_low) : first;
    return std::copysign(bits_of(x) >> 63 ? pi - (turned - pi_low) : turned, y);
}

// asin of |x| <= 1/2, from there on pi / 2 - 2 asin(sqrt((1 - |x|) / 2)).
struct ArcSine {
    double near;  // the asin of |x| or of the root
    bool far;

    explicit ArcSine(float x) {
        const double size = std::fabs(x);
        far = size > 0.5;
        const double z = far ? 0.5 * (1.0 - size) : size * size;
        const double root = far ? std::sqrt(z) : size;
        near = root + root * z * polynomial(z, 0.03371555207, 0.01713542645, 0.03110332782,
                                            0.04459919537, 0.07500095088, 0.1666666634);
    }
};

inline float asin(float x) {
    const ArcSine arc(x);
    return std::copysign(float(arc.far ? 0.5 * pi - 2.0 * arc.near : arc.near), x);
}

inline float acos(float x) {
    const ArcSine arc(x);
    const double angle = arc.far ? 2.0 * arc.near : 0.5 * pi - arc.near;
    return float(x < 0.0f ? pi - angle : angle);
}

// The same of doubles, with what the root lacks.
struct WideArcSine {
    double root, more;  // the asin of |x| or of the root is their sum
    bool far;

    explicit WideArcSine(double x) {
        const double size = std::fabs(x);
        far = size > 0.5;
        const double z = far ? 0.5 * (1.0 - size) : size * size;
        const double whole = far ? std::sqrt(z) : size;
        const double tail = whole * z * polynomial(
            z, 0.02966958634600455, -0.019331442635653324, 0.019616311323766656,
            0.0030201597708104343, 0.0093259243192010294, 0.0096207400460010952,
            0.011566590456414095, 0.013963769422268295, 0.01735281711261822, 0.022372157423732683,
            0.030381944475937224, 0.044642857142547606, 0.075000000000001195, 0.16666666666666667);
        root = far ? upper_half(whole) : whole;
        more = tail + (far && z > 0.0 ? (z - root * root) / (whole + root) : 0.0);
    }
};

inline double asin(double x) {
    const WideArcSine arc(x);
    const double near = arc.root + arc.more;
    const double far = (0.5 * pi - 2.0 * arc.root) - (2.0 * arc.more - 0.5 * pi_low);
    return std::copysign(arc.far ? far : near, x);
}

inline double acos(double x) {
    const WideArcSine arc(x);
    const double sign = x < 0.0 ? -1.0 : 1.0, twice = 2.0 * (arc.root + arc.more);
    const double near = 0.5 * pi - (sign * arc.root - (0.5 * pi_low - sign * arc.more));
    const double far = x < 0.0 ? pi - (twice - pi_low) : twice;
    return arc.far ? far : near;
}

inline float asinh(float x) {
    const double size = std::fabs(x), square = size * size;
    const double more = square / (1.0 + std::sqrt(1.0 + square));
    const double value = log1p(size + (size < Format<double>::infinity ? more : size));
    return std::copysign(float(value), x);
}
inline float acosh(float x) {
    const double above = double(x) - 1.0;
    const double value = log1p(above + std::sqrt(above * (double(x) + 1.0)));
    return float(above < 0.0 ? Format<double>::nan : value);
}
inline float atanh(float x) {
    const double size = std::fabs(x);
    return std::copysign(float(0.5 * log1p(2.0 * size / (1.0 - size))), x);
}
inline double atanh(double x) {
    const double size = std::fabs(x), far = 0.5 * log1p(2.0 * size / (1.0 - size));
    const double near = size + 0.5 * (size * atanh_tail(size * size));
    return std::copysign(size < 0.17 ? near : far, x);
}

// These are rare in loops over arrays; the C library's serve, as torch.
inline double asinh(double x) { return std::asinh(x); }
inline double acosh(double x) { return std::acosh(x); }

}  // namespace nnkit::math
