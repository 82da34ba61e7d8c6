// Functions of formulas that are written once, for C++ (cpu/native/mathematics/math.h) and for CUDA
// (cuda/kernels/math.cuh). Both have the elementary functions in this namespace, and there say with
// NNKIT_INLINE how a function is declared.
#pragma once

namespace nnkit {
namespace math {

// ---- sign and size

// 0 at NaN, as in torch
template <typename T>
NNKIT_INLINE T sign(T x) {
    return T((x > T(0) ? T(1) : T(0)) - (x < T(0) ? T(1) : T(0)));
}
template <typename T>
NNKIT_INLINE T sgn(T x) { return sign(x); }

// 0 below 0 and at NaN, 1 above, y at 0
template <typename T>
NNKIT_INLINE T heaviside(T x, T y) {
    const T step = x > T(0) ? T(1) : T(0);
    return x == T(0) ? y : step;
}

// The larger and the smaller, NaN if either is, and x of equal zeros. Written with two choices, of
// which GCC vectorises one inside the other; a choice by two conditions it makes into branches then.
template <typename T>
NNKIT_INLINE T maximum(T x, T y) {
    const T larger = x < y ? y : x;
    return y == y ? larger : y;
}
template <typename T>
NNKIT_INLINE T minimum(T x, T y) {
    const T smaller = x > y ? y : x;
    return y == y ? smaller : y;
}

// The same, but a NaN loses to a number.
template <typename T>
NNKIT_INLINE T fmax(T x, T y) { return ((x < y) | (x != x)) ? y : x; }
template <typename T>
NNKIT_INLINE T fmin(T x, T y) { return ((x > y) | (x != x)) ? y : x; }

// ---- quotients and roots

// With the sign of x
template <typename T>
NNKIT_INLINE T frac(T x) { return T(x - trunc(x)); }
template <typename T>
NNKIT_INLINE T reciprocal(T x) { return T(1) / x; }

// The power of two next above |x|, 0 where there is none
NNKIT_INLINE double exponent(double x) {
    int power = 0;
    if (x - x == 0.0) ::frexp(x, &power);
    return double(power);
}
NNKIT_INLINE float exponent(float x) { return float(exponent(double(x))); }

// ---- sums of exponentials

// log(1 / (1 + e^-x)), without overflow
template <typename T>
NNKIT_INLINE T log_sigmoid(T x) { return T(minimum(x, T(0)) - log1p_exp(-abs(x))); }

// log(e^x + e^y) = max + log(1 + e^-|x - y|); equal infinities have no difference.
template <typename T>
NNKIT_INLINE T logaddexp(T x, T y) {
    const auto value = T(maximum(x, y) + log1p_exp(-abs(x - y)));
    return x == y ? x + T(log_2) : value;
}

// The same to base 2
template <typename T>
NNKIT_INLINE T logaddexp2(T x, T y) {
    const auto more = log1p_exp2(-abs(x - y));
    const auto value = T(maximum(x, y) + more * decltype(more)(1 / log_2));
    return x == y ? x + T(1) : value;
}

// ---- derivatives of the gamma function's logarithm

// Of digamma(x) = log x - 1 / (2 x) - y s(y) with y = 1 / x^2, for x from 8 on.
NNKIT_INLINE double digamma_series(double y) {
    return polynomial(
        y, -0.4432598039215686, 0.08333333333333333, -0.02109279609279609,
        0.007575757575757576, -0.004166666666666667, 0.003968253968253968,
        -0.008333333333333333, 0.08333333333333333);
}

// The derivative of lgamma: between 1 and 2 a polynomial that keeps its precision at the root,
// shifted there by digamma(x + 1) = digamma(x) + 1 / x; from 10 on the asymptotic series; on the
// left the reflection formula. Infinite at 0, NaN at the negative integers.
NNKIT_INLINE double digamma(double x) {
    if (x == 0.0) return -copysign(double(INFINITY), x);
    if (x < 0.0) {
        const double f = x - ::rint(x);
        return f == 0.0 || isinf(x) ? double(NAN) : digamma(1.0 - x) - pi / ::tan(pi * f);
    }
    if (!(x < 10.0)) {
        const double square = 1.0 / (x * x);
        return ::log(x) - 0.5 / x - square * digamma_series(square);
    }
    const double n = ::floor(x), f = x - n;
    const double series = polynomial(
        2.0 * f - 1.0, -8.50550766013261e-11, 2.478695345606839e-10, -2.7580994814377e-10,
        8.657533672812613e-10, -3.7083753242807277e-09, 1.1039363482759935e-08,
        -3.162911147408454e-08, 9.500659034300503e-08, -2.863161166883193e-07,
        8.59134317611421e-07, -2.578093954045772e-06, 7.741156049273805e-06,
        -2.3258242519113285e-05, 6.995020506384849e-05, -0.00021074841138175561,
        0.0006368880282849916, -0.001935066664861307, 0.005936795278436479,
        -0.018550615381735008, 0.060135621060193475, -0.2118137106407303, 0.9510558760318328);
    double value = (f - 0.46163214496836236 + 1.5522348162858677e-17) * series;
    for (int k = 1; k < n; ++k) value += 1.0 / (f + k);
    return n < 1.0 ? value - 1.0 / x : value;
}
NNKIT_INLINE float digamma(float x) { return float(digamma(double(x))); }

// The sum of (q + k)^-s over k >= 0 for q > 0, s > 1, after Euler and Maclaurin.
NNKIT_INLINE double hurwitz_zeta(double s, double q) {
    if (q == double(INFINITY)) return 0.0;
    constexpr double bernoulli_by_factorial[] = {
        1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
        -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000};
    double value = 0.0;
    for (int k = 0; k < 12; ++k) value += ::pow(q + k, -s);
    const double end = q + 12.0, last = ::pow(end, -s);
    // The rest is 0 as well. Its factors may be infinite: torch's are from the 23rd root of the
    // largest number on, and with all terms 0 the result is NaN.
    if (last == 0.0) return value == 0.0 && s > 2.524e13 ? double(NAN) : value;
    value += last * end / (s - 1.0) + 0.5 * last;
    double factor = last * s / end;
    for (int k = 1; k <= 8; ++k) {
        value += factor * bernoulli_by_factorial[k - 1];
        factor *= (s + 2 * k - 1) * (s + 2 * k) / (end * end);
    }
    return value;
}

// The derivative of digamma. The reflection pi^2 / sin^2(pi x) with the rounded product and the
// few terms of the asymptotic series are torch's, in the precision of x: large, but not infinite,
// at the negative integers.
template <class T>
NNKIT_INLINE T trigamma(T x) {
    T value = 0;
    const bool left = x < T(0.5);
    if (left) {
        const T pi = T(3.141592653589793), sine = T(::sin(pi * x));
        value -= pi * pi / (sine * sine);
        x = T(1) - x;
    }
    for (int k = 0; k < 6; ++k, x += T(1)) value += T(1) / (x * x);
    const T square = T(1) / (x * x);
    const T series = T(1.0 / 6) - square * (T(1.0 / 30) - square * T(1.0 / 42));
    value += (T(1) + T(1) / (T(2) * x) + square * series) / x;
    return left ? -value : value;
}

// The n-th derivative of digamma, (-1)^(n + 1) n! zeta(n + 1, x). On the left the terms with
// x + k < 0 are those of another such sum, seen upwards from 1 - f, f the fraction of x.
NNKIT_INLINE double polygamma_at(double x, double n) {
    if (n == 0.0) return digamma(x);
    if (n == 1.0) return trigamma(x);
    if (x == double(INFINITY)) return double(NAN);  // as in torch
    const double s = n + 1.0, sign = ::fmod(n, 2.0) == 0.0 ? -1.0 : 1.0;
    if (x == -double(INFINITY)) return sign * double(INFINITY);  // as in torch
    const double factor = n < 171.0 ? ::tgamma(s) : double(INFINITY);
    if (x <= 0.0) {
        const double f = x - ::floor(x);
        if (f == 0.0) return sign * double(INFINITY);
        const double mirrored = hurwitz_zeta(s, 1.0 - f) - hurwitz_zeta(s, 1.0 - x);
        return sign * factor * (hurwitz_zeta(s, f) + sign * mirrored);
    }
    return sign * factor * hurwitz_zeta(s, x);
}
NNKIT_INLINE float polygamma_at(float x, double n) {
    return n == 1.0 ? trigamma(x) : float(polygamma_at(double(x), n));
}

// ---- the error function's relatives

// exp(x^2) erfc(x), after J. L. Schonfelder
NNKIT_INLINE double erfcx(double x) {
    const double size = abs(x), t = 1.0 - 7.0 / (size + 3.5);
    const double value = polynomial(
        t,
        -1.1656687889203665e-09, 6.040390099342991e-11, 1.3624442778701048e-08,
        6.651894382376532e-10, -9.64004253144383e-08, -8.611571571113718e-09,
        6.014823849950426e-07, -4.309237398316666e-08, -3.814012584490695e-06,
        2.3273309537791425e-06, 2.4260300984917994e-05, -4.2781739959539994e-05,
        -0.00012151212091980101, 0.0005643842668705102, -0.0003022679534333239,
        -0.004215019879774186, 0.019099330953271165, -0.04882332583088402,
        0.08798315382403678, -0.11508959816003075, 0.09751909515328706,
        -0.01055559633222167, -0.1400091801376197, 1.2423492448711544) /
        (1.0 + 2.0 * size);
    return x < 0.0 ? 2.0 * ::exp(x * x) - value : value;
}
NNKIT_INLINE float erfcx(float x) { return float(erfcx(double(x))); }

// The x of which the normal distribution function is p (S. L. Moshier, Cephes): in the middle in
// (p - 1/2)^2, in the tails in 1 / sqrt(-2 log(p)).
NNKIT_INLINE double ndtri(double p) {
    if (p == 0.0) return -double(INFINITY);
    if (p == 1.0) return double(INFINITY);
    if (!(p > 0.0 && p < 1.0)) return double(NAN);
    constexpr double edge = 0.13533528323661269189;  // exp(-2)
    const double tail = p > 0.5 ? 1.0 - p : p;
    if (tail > edge) {
        const double y = p - 0.5, square = y * y;
        const double quotient =
            polynomial(
            square,
            -59.96335010141079, 98.00107541859997, -56.67628574690703,
            13.931260938727968, -1.2391658386738125) /
            polynomial(
                square,
                1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905,
                -225.46268785411937, 200.26021238006066, -82.03722561683334,
                15.90562251262117, -1.1833162112133);
        return (y + y * square * quotient) * 2.50662827463100050242;  // sqrt(2 pi)
    }
    const double x = ::sqrt(-2.0 * ::log(tail)), z = 1.0 / x;
    const double near = x - ::log(x) / x;
    const double far = z * (
        x < 8.0 ? polynomial(
            z,
            4.0554489230596245, 31.525109459989388, 57.16281922464213,
            44.08050738932008, 14.684956192885803, 2.1866330685079025,
            -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854) /
            polynomial(
                z,
                1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672,
                15.04253856929075, 2.504649462083094, -0.14218292285478779,
                -0.03808064076915783, -0.0009332594808954574)
                : polynomial(
            z,
            3.2377489177694603, 6.915228890689842, 3.9388102529247444,
            1.3330346081580755, 0.20148538954917908, 0.012371663481782003,
            0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09) /
            polynomial(
                z,
                1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132,
                0.21623699359449663, 0.013420400608854318, 0.00032801446468212774,
                2.8924786474538068e-06, 6.790194080099813e-09));
    return p > 0.5 ? near - far : far - near;
}
NNKIT_INLINE float ndtri(float p) { return float(ndtri(double(p))); }

// ---- the modified Bessel functions of the first kind, of order 0 and 1

// Up to 8 the power series in (x / 2)^2, beyond a polynomial in 16 / x - 1; `scaled` by exp(-|x|).
NNKIT_INLINE double bessel_i(double x, int order, bool scaled) {
    const double size = abs(x);
    double value;
    if (size <= 8.0) {
        const double t = size * size / 4.0;
        value = order == 0
            ? polynomial(
                  t,
                  2.5976979980828152e-48, 1.4962740468957016e-45,
                  7.915289708078262e-43, 3.8310002187098785e-40,
                  1.6894710964510564e-37, 6.757884385804225e-35,
                  2.4395962632753253e-32, 7.904291893012054e-30,
                  2.2843403570804838e-27, 5.8479113141260385e-25,
                  1.3157800456783586e-22, 2.5789288895295828e-20,
                  4.358389823304995e-18, 6.276081345559193e-16,
                  7.594058428126623e-14, 7.594058428126624e-12,
                  6.151187326782565e-10, 3.936759889140842e-08,
                  1.9290123456790124e-06, 6.944444444444444e-05,
                  0.001736111111111111, 0.027777777777777776, 0.25, 1.0, 1.0)
            : size / 2.0 *
                  polynomial(
                      t,
                      1.0390791992331261e-49, 6.234475195398757e-47,
                      3.4414303078601135e-44, 1.7413637357772174e-41,
                      8.045100459290744e-39, 3.3789421929021126e-36,
                      1.2839980333028028e-33, 4.391273273895586e-31,
                      1.3437296218120491e-28, 3.654944571328774e-26,
                      8.771866971189057e-24, 1.842092063949702e-21,
                      3.352607556388458e-19, 5.230067787965994e-17,
                      6.903689480115112e-15, 7.594058428126623e-13,
                      6.834652585313961e-11, 4.920949861426052e-09,
                      2.755731922398589e-07, 1.1574074074074073e-05,
                      0.00034722222222222224, 0.006944444444444444,
                      0.08333333333333333, 0.5, 1.0);
        if (scaled) value *= ::exp(-size);
    } else {
        const double t = 16.0 / size - 1.0;
        value = order == 0
            ? polynomial(
                  t,
                  -2.0260604287413626e-11, 9.36508689281819e-11,
                  1.5279202694981569e-10, -6.633287112547084e-10,
                  -5.715843864202709e-10, 2.1968921378829006e-09,
                  1.5200816953924232e-09, -4.575553424534973e-09,
                  -3.505966530879332e-09, 6.560138746917057e-09,
                  7.552583062123384e-09, -5.0381064879032845e-09,
                  -1.340891754008974e-08, -6.8493381882697866e-09,
                  7.554691881248808e-09, 2.1566251453104354e-08,
                  3.932584334552952e-08, 8.872034383314144e-08,
                  2.9735985885673923e-07, 1.4838476651250266e-06,
                  1.1143033790932038e-05, 0.00013621607438984735,
                  0.0033605519836678614, 0.4021765094450081)
            : polynomial(
                  t,
                  1.8515118828852956e-11, -9.752397204138195e-11,
                  -1.4011625179770627e-10, 6.917089294193807e-10,
                  5.295625441161261e-10, -2.297004161885201e-09,
                  -1.4387250533041013e-09, 4.810597405089944e-09,
                  3.4262341490077958e-09, -6.983839624895866e-09,
                  -7.64239413436356e-09, 5.59337010179061e-09,
                  1.4034238782067183e-08, 6.8401389977069586e-09,
                  -8.427766093735185e-09, -2.339250374801858e-08,
                  -4.312917729178349e-08, -1.000109565963654e-07,
                  -3.483855761044295e-07, -1.8349102358955385e-06,
                  -1.5038547200567218e-05, -0.0002192357638317243,
                  -0.009749577193235737, 0.38939845902587233);
        value /= ::sqrt(size);
        if (!scaled) {  // in two halves, since exp(x) overflows before the function does
            const double half = ::exp(size / 2.0);
            value = value * half * half;
        }
    }
    return order == 1 && x < 0.0 ? -value : value;
}
NNKIT_INLINE double i0(double x) { return bessel_i(x, 0, false); }
NNKIT_INLINE float i0(float x) { return float(i0(double(x))); }
NNKIT_INLINE double i0e(double x) { return bessel_i(x, 0, true); }
NNKIT_INLINE float i0e(float x) { return float(i0e(double(x))); }
NNKIT_INLINE double i1(double x) { return bessel_i(x, 1, false); }
NNKIT_INLINE float i1(float x) { return float(i1(double(x))); }
NNKIT_INLINE double i1e(double x) { return bessel_i(x, 1, true); }
NNKIT_INLINE float i1e(float x) { return float(i1e(double(x))); }

// ---- Hurwitz's zeta function and the incomplete gamma functions

// The sum of (q + k)^-s over k >= 0. Infinite where s is 1 or q is 0 or a negative integer; NaN for
// s < 1 and, unless s is an integer, for other negative q.
NNKIT_INLINE double zeta(double s, double q) {
    if (s == 1.0) return double(INFINITY);
    if (s < 1.0 || q != q || q == double(INFINITY)) return double(NAN);
    if (q > 0.0) return hurwitz_zeta(s, q);
    if (q == ::floor(q)) return double(INFINITY);
    const double f = q - ::floor(q);
    if (::rint(s) != s) return double(NAN);
    const double mirrored = hurwitz_zeta(s, 1.0 - f) - hurwitz_zeta(s, 1.0 - q);
    return hurwitz_zeta(s, f) + (::fmod(s, 2.0) == 0.0 ? mirrored : -mirrored);
}
NNKIT_INLINE float zeta(float s, float q) { return float(zeta(double(s), double(q))); }

// One of the two shares of Gamma(a) in which x divides its integral, whichever is found without
// cancellation: below by a power series, above by a continued fraction (Cephes).
NNKIT_INLINE double gamma_share_summed(double a, double x, bool above) {
    const double factor = ::exp(a * ::log(x) - x - double(lgamma(a)));
    if (above) {
        double y = 1.0 - a, z = x + y + 1.0, c = 0.0;
        double p2 = 1.0, q2 = x, p1 = x + 1.0, q1 = z * x;
        double value = p1 / q1, last = value, before = value;
        for (int k = 0; k < 2000; ++k) {
            c += 1.0;
            y += 1.0;
            z += 2.0;
            const double p = p1 * z - p2 * y * c, q = q1 * z - q2 * y * c;
            before = last, last = value;
            if (q != 0.0) value = p / q;
            p2 = p1, p1 = p, q2 = q1, q1 = q;
            if (abs(p) > 4503599627370496.0) {
                constexpr double small = 1.0 / 4503599627370496.0;
                p2 *= small, p1 *= small, q2 *= small, q1 *= small;
            }
            if (value == last || value == before) break;  // it may swing by its last bit
        }
        return value * factor;
    }
    double term = 1.0 / a, total = term, n = a;
    for (int k = 0; k < 10000 && term > 1e-17 * total; ++k) {
        n += 1.0;
        term *= x / n;
        total += term;
    }
    return total * factor;
}

// The share for large a near x (Temme's uniform expansion, DLMF 8.12), where the series take too
// many terms and their factor is a difference of large numbers.
NNKIT_INLINE double gamma_share_of_large(double a, double x, bool upper) {
    constexpr double tau = 6.283185307179586;
    const double m = (x - a) / a, square = 2.0 * (m - ::log1p(m));
    const double eta = square > 0.0 ? copysign(::sqrt(square), m) : 0.0;
    double first, second;
    if (abs(eta) < 0.05) {
        first = polynomial(
            eta,
            -2.1854485106799922e-6, 3.9192631785224378e-5, -0.00017875514403292181,
            0.0003527336860670194, 0.0011574074074074074, -0.014814814814814815,
            0.083333333333333333, -0.33333333333333333);
        second = polynomial(
            eta,
            -4.0187757201646091e-7, 0.00020576131687242798, -0.00099022633744855967,
            0.0026455026455026455, -0.0034722222222222222, -0.0018518518518518519);
    } else {
        first = 1.0 / m - 1.0 / eta;
        second = 1.0 / (eta * eta * eta) - (1.0 / (m * m) + 1.0 / m + 1.0 / 12.0) / m;
    }
    const double rest = ::exp(-0.5 * a * square) / ::sqrt(tau * a) * (first + second / a);
    const double sign = upper ? 1.0 : -1.0;
    return 0.5 * ::erfc(sign * eta * ::sqrt(0.5 * a)) + sign * rest;
}

// The lower and the upper regularised incomplete gamma functions
NNKIT_INLINE double gamma_share(double a, double x, bool upper) {
    if (!(x >= 0.0) || a < 0.0 || (a == 0.0 && x == 0.0)) return double(NAN);
    if (x == 0.0) return upper ? 1.0 : 0.0;
    if (a != a) return double(NAN);
    if (a == double(INFINITY)) {
        return x == double(INFINITY) ? double(NAN) : upper ? 1.0 : 0.0;
    }
    if (a == 0.0 || x == double(INFINITY)) return upper ? 0.0 : 1.0;
    if (a > 1e4 && abs(x - a) < 0.3 * a) return gamma_share_of_large(a, x, upper);
    const bool above = x > 1.0 && x > a;
    const double part = gamma_share_summed(a, x, above);
    return upper == above ? part : 1.0 - part;
}
NNKIT_INLINE double igamma(double a, double x) { return gamma_share(a, x, false); }
NNKIT_INLINE float igamma(float a, float x) { return float(igamma(double(a), double(x))); }
NNKIT_INLINE double igammac(double a, double x) { return gamma_share(a, x, true); }
NNKIT_INLINE float igammac(float a, float x) { return float(igammac(double(a), double(x))); }

// ---- The classical orthogonal polynomials, by their recurrences in the degree

// The degree as an integer, -1 for what is no number
template <typename T>
NNKIT_INLINE long long degree_of(T n) {
    return n > T(-1) && n < T(4e18) ? static_cast<long long>(n) : -1LL;
}

// From the polynomials 1 and `first`; (d k + 1) P(k + 1) is ((a k + b) x + c k + e) P(k) less
// (f k + g) P(k - 1).
template <typename T>
NNKIT_INLINE T by_recurrence(T x, long long n, T first, T a, T b, T c, T e, T f, T g, T d) {
    if (n < 0) return T(0);
    if (n == 0) return T(1);
    T before = T(1), last = first;
    for (long long k = 1; k < n && last == last; ++k) {
        const T t = T(k), factor = (a * t + b) * x + (c * t + e);
        const T next = (factor * last - (f * t + g) * before) / (d * t + T(1));
        before = last, last = next;
    }
    return last;
}

template <typename T>
NNKIT_INLINE T chebyshev_recurrence(T x, long long n, T first) {
    return by_recurrence(x, n, first, T(0), T(2), T(0), T(0), T(0), T(1), T(0));
}
template <typename T>
NNKIT_INLINE T chebyshev_polynomial_t(T x, T degree) {
    const long long n = degree_of(degree);
    if (n > 6 && abs(x) < T(1)) return cos(T(n) * acos(x));
    return chebyshev_recurrence(x, n, x);
}
template <typename T>
NNKIT_INLINE T chebyshev_polynomial_u(T x, T degree) {
    const long long n = degree_of(degree);
    if (n > 8 && abs(x) < T(1)) return sin(T(n + 1) * acos(x)) / sin(acos(x));
    return chebyshev_recurrence(x, n, x + x);
}
template <typename T>
NNKIT_INLINE T chebyshev_polynomial_v(T x, T degree) {
    const long long n = degree_of(degree);
    if (n > 8 && abs(x) < T(1)) {
        return cos((T(n) + T(0.5)) * acos(x)) / cos(acos(x) / T(2));
    }
    return chebyshev_recurrence(x, n, x + x - T(1));
}
template <typename T>
NNKIT_INLINE T chebyshev_polynomial_w(T x, T degree) {
    const long long n = degree_of(degree);
    if (n > 8 && abs(x) < T(1)) {
        return sin((T(n) + T(0.5)) * acos(x)) / sin(acos(x) / T(2));
    }
    return chebyshev_recurrence(x, n, x + x + T(1));
}
// Beyond the degree at which the numbers overflow they are NaN, as in torch.
template <typename T>
NNKIT_INLINE T hermite(T x, T degree, T scale) {
    const long long n = degree_of(degree);
    if (n > (sizeof(T) == 4 ? 128 : 512)) return T(NAN);
    return by_recurrence(x, n, scale * x, T(0), scale, T(0), T(0), scale, T(0), T(0));
}
template <typename T>
NNKIT_INLINE T hermite_polynomial_h(T x, T n) { return hermite(x, n, T(2)); }
template <typename T>
NNKIT_INLINE T hermite_polynomial_he(T x, T n) { return hermite(x, n, T(1)); }
template <typename T>
NNKIT_INLINE T laguerre_polynomial_l(T x, T degree) {
    const long long n = degree_of(degree);
    if (x == T(0) && n >= 0) return T(1);
    return by_recurrence(x, n, T(1) - x, T(0), T(-1), T(2), T(1), T(1), T(0), T(1));
}
template <typename T>
NNKIT_INLINE T legendre_polynomial_p(T x, T n) {
    return by_recurrence(x, degree_of(n), x, T(2), T(1), T(0), T(0), T(1), T(0), T(1));
}

}  // namespace math
}  // namespace nnkit
