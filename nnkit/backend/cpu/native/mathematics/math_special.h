// The error function and its relatives, the gamma function's logarithm.
#pragma once

#include "math_exponential.h"

namespace nnkit::math {

// Near 0, erf(x) = x P(x^2); elsewhere 1 - 2^Q(|x|), where Q approximates log2(erfc).
inline float erf(float x) {
    const float near = x + x * polynomial(x * x, -0.0006102687037f, 0.005014484151f,
                                          -0.02678071913f, 0.1128219409f, -0.376125288f,
                                          0.128379155f);
    float size = std::fabs(x);
    size = size > 4.0f ? 4.0f : size;  // erf rounds to 1 from here on
    const float far = 1.0f - exp2_of_moderate(polynomial(
        size, -2.444788963e-5f, 0.0005460973657f, -0.005569258178f, 0.03491094201f,
        -0.1539470271f, -0.9159575237f, -1.628372716f, -2.77671486e-6f));
    return size < 0.9f ? near : std::copysign(far, x);
}

// The same in double precision, with 1 - e^(-x^2) P(|x|) / Q(|x|) from 1 on.
inline double erf(double x) {
    const double near =
        x + x * polynomial(x * x, -7.7958988270021422e-10, 1.3720064546777686e-8,
                           -1.6208483801871706e-7, 1.6447424703317362e-6,
                           -1.492473690741966e-5, 0.00012055294904839708,
                           -0.00085483259753896921, 0.0052239776071164227,
                           -0.02686617064323777, 0.11283791670945006, -0.3761263890318354,
                           0.1283791670955126);
    double size = std::fabs(x);
    size = size > 6.0 ? 6.0 : size;
    const double p = polynomial(size, 0.0031079255739564814, 0.035233832893107047,
                                0.19240795368408681, 0.63123348964213221, 1.3059022415881372,
                                1.6294938456049844, 1.0000000184569415);
    const double q = polynomial(size, 0.0055086534363860223, 0.062450401626667908,
                                0.3437872064513646, 1.1500765030079444, 2.4822226639223297,
                                3.4178277912025413, 2.7578732228476261, 1.0);
    const double far = 1.0 - exp_of_moderate(-size * size) * p / q;
    return size < 1.0 ? near : std::copysign(far, x);
}

// e^(-x^2) P(|x|) / Q(|x|); the square of a float is exact in double precision.
inline float erfc(float x) {
    double size = std::fabs(x);
    size = size > 10.1 ? 10.1 : size;  // erfc rounds to 0 from here on
    const double p = polynomial(size, 0.01202671066, 0.1060437233, 0.4428455937, 1.066797544,
                                1.485467604, 1.0);
    const double q = polynomial(size, 0.02131679731, 0.1879571797, 0.7955922921, 1.984674773,
                                3.016207991, 2.613846769, 1.0);
    const double value = exp(-size * size) * p / q;
    return float(x < 0.0f ? 2.0 - value : value);
}
inline double erfc(double x) { return std::erfc(x); }

// The y with erf(y) = x: x P(w) with w = -log(1 - x^2), in the tails x Q(sqrt(w))
// (M. Giles, "Approximating the erfinv function", 2011).
// That of a float is computed in double precision, so that it is rounded once, as torch's.
inline double erfinv_near(double w) {
    return polynomial(
        w * 0.4 - 1.0, 1.6335380494319003e-07, -5.0497316108145964e-08,
        -1.7954317344206318e-06, 3.0952563389233227e-06, 8.606797645482773e-06,
        -4.160558984035741e-05, 2.0491465976282284e-05, 0.000292258875282433,
        -0.0008341396736029983, -0.0004879123790397179, 0.008525401325553985,
        -0.019573559782441536, -0.026108235787447746, 0.6166006918263983, 1.501409351110792);
}
inline float erfinv(float x) {
    const double wide = x, w = -log((1.0 - wide) * (1.0 + wide));
    const double near = erfinv_near(where(w > 5.0, 5.0, w));
    const double root = (std::sqrt(w) - 3.118033988749895) * 1.1338305416416344;  // as -1 .. 1
    const double far = polynomial(
        root, -9.093909301805384e-08, -7.088886696741419e-07, 2.973032772148733e-06,
        -5.176392727730076e-07, -1.7032246467107434e-05, 4.5905983099207844e-05,
        -3.586403780415413e-05, -0.00013451914073931006, 0.000600816585934313,
        -0.0013729858072052158, 0.0023495642394317216, -0.0037101408626904614,
        0.00556933416453032, 0.8851584846183984, 2.951328578343118);
    const double value = wide * (w > 5.0 ? far : near);
    return std::fabs(x) == 1.0f ? std::copysign(Format<float>::infinity, x) : float(value);
}

// The same to double precision, with two pieces for the tails: sqrt(w) from 2.5 and from 4 on.
inline double wide_erfinv_near(double w) {
    return polynomial(
        w * 0.32 - 1.0,
        7.680990475576525e-10, -8.186442916595773e-11, -8.557984074479201e-9,
        9.050516362783658e-9, 3.914267100133108e-8, -1.0509863560329017e-7,
        -1.0167881522843899e-8, 5.455731449441755e-7, -1.059336931327948e-6, -6.87597660449069e-7,
        7.1300663740767115e-6, -1.12556848303199e-5, -1.5027713926607672e-5, 9.336693850145469e-5,
        -0.00011688883906368398, -0.0002643935887486061, 0.001232485568550093,
        -0.0012716922767024804, -0.004137314377403391, 0.01780836181873851, -0.022604447453450232,
        -0.058922567103787134, 0.7504943200799635, 1.6536545626831027);
}
inline double erfinv(double x) {
    const double w = -log((1.0 - x) * (1.0 + x)), root = std::sqrt(w);
    const double near = wide_erfinv_near(where(w > 6.25, 6.25, w));
    const double middle = polynomial(
        (root - 3.25) * 1.3333333333333333,
        -6.466960514925277e-11, 3.864597530875862e-12, 9.889115389827979e-10,
        -2.7192930488742553e-9, -3.6862448212666726e-10, 2.670345089321486e-8,
        -9.468994570246937e-8, 9.267697270993584e-8, 5.264624728714587e-7, -2.664698628136375e-6,
        5.127316664497411e-6, 2.405839302031157e-6, -4.739182728807125e-5, 0.0001696650258988731,
        -0.00040063569835709886, 0.0007883078510001966, -0.00158254108940711,
        0.003021139436383993, 0.753944225770624, 3.0838856104922208);
    const double far = polynomial(
        (root - 5.005) * 0.9950248756218907,
        -2.176723165890148e-11, 4.473663896740377e-11, 7.687980313982737e-11,
        -4.6557218290825973e-10, 1.38041656480558e-9, -3.606732412809658e-9, 8.063318180668587e-9,
        -1.5626560895415953e-8, 2.9636525898009633e-8, -6.916210050694725e-8,
        2.352459594260808e-7, -1.0188859160590139e-6, 4.6278955281859755e-6,
        -2.0040082724546032e-5, 7.702638882462607e-5, -0.00021673389058898907,
        -0.0001433562777345521, 1.0153505568899488, 4.854957900238093);
    const double tail = root > 4.0 ? far : middle;
    const double value = x * (root > 2.5 ? tail : near);
    return std::fabs(x) == 1.0 ? std::copysign(Format<double>::infinity, x) : value;
}

// Both for numbers that are not near 1, and for all.
struct MiddleOfErf {
    static float erfinv(float x) {
        const double wide = x, w = -log_of_normal((1.0 - wide) * (1.0 + wide));
        return float(wide * erfinv_near(w));
    }
    static double erfinv(double x) {
        return x * wide_erfinv_near(-log_of_normal((1.0 - x) * (1.0 + x)));
    }
};
struct WholeOfErf {
    template <class T> static T erfinv(T x) { return math::erfinv(x); }
};

// Calls `loop(inverse, start, stop)` for blocks of the numbers x: few are near 1, so they are short.
template <class T, class LoopOfInverse>
inline void with_inverse(const T* x, std::ptrdiff_t count, LoopOfInverse loop) {
    const auto fits = [](T y) {
        return std::fabs(y) < (sizeof(T) == sizeof(float) ? T(0.9966) : T(0.999));
    };
    in_blocks<32>(x, count, fits, MiddleOfErf(), WholeOfErf(), loop);
}

// log |Gamma(x)|
inline double lgamma(double x) { return std::lgamma(x); }
inline float lgamma(float x) { return float(std::lgamma(double(x))); }

}  // namespace nnkit::math
