// The elementary functions of formulas under the names of backend/cpu/native/mathematics/math.h, for float,
// double and, where they make sense, integers and bool.
#pragma once

#define NNKIT_INLINE __device__ inline
#include "../../polynomial.h"

namespace nnkit {
namespace math {

template <class T> struct IsFloating { static constexpr bool value = false; };
template <> struct IsFloating<float> { static constexpr bool value = true; };
template <> struct IsFloating<double> { static constexpr bool value = true; };
template <class T> constexpr bool is_floating = IsFloating<T>::value;

[[maybe_unused]] constexpr double pi = 3.14159265358979323846;
[[maybe_unused]] constexpr double log_2 = 0.693147180559945309417;

// Constants of formulas, under the names of the C library's
#ifndef NNKIT_EMULATED
#define INFINITY nnkit::Limits<float>::infinity()
#define NAN nnkit::Limits<float>::nan()
#endif

// CUDA's own functions, by type
#define NNKIT_FUNCTION(name, of_float, of_double)                     \
    __device__ inline float name(float x) { return ::of_float(x); }   \
    __device__ inline double name(double x) { return ::of_double(x); }
NNKIT_FUNCTION(exp, expf, exp)
NNKIT_FUNCTION(exp2, exp2f, exp2)
NNKIT_FUNCTION(expm1, expm1f, expm1)
NNKIT_FUNCTION(log, logf, log)
NNKIT_FUNCTION(log2, log2f, log2)
NNKIT_FUNCTION(log10, log10f, log10)
NNKIT_FUNCTION(log1p, log1pf, log1p)
NNKIT_FUNCTION(sqrt, sqrtf, sqrt)
NNKIT_FUNCTION(tanh, tanhf, tanh)
NNKIT_FUNCTION(erf, erff, erf)
NNKIT_FUNCTION(erfc, erfcf, erfc)
NNKIT_FUNCTION(erfinv, erfinvf, erfinv)
NNKIT_FUNCTION(sin, sinf, sin)
NNKIT_FUNCTION(cos, cosf, cos)
NNKIT_FUNCTION(tan, tanf, tan)
NNKIT_FUNCTION(asin, asinf, asin)
NNKIT_FUNCTION(acos, acosf, acos)
NNKIT_FUNCTION(atan, atanf, atan)
NNKIT_FUNCTION(sinh, sinhf, sinh)
NNKIT_FUNCTION(cosh, coshf, cosh)
NNKIT_FUNCTION(asinh, asinhf, asinh)
NNKIT_FUNCTION(acosh, acoshf, acosh)
NNKIT_FUNCTION(atanh, atanhf, atanh)
NNKIT_FUNCTION(lgamma, lgammaf, lgamma)
#undef NNKIT_FUNCTION

// Functions of two numbers, and those that leave an integer as it is
__device__ inline float pow(float x, float y) { return ::powf(x, y); }
__device__ inline double pow(double x, double y) { return ::pow(x, y); }
__device__ inline float atan2(float y, float x) { return ::atan2f(y, x); }
__device__ inline double atan2(double y, double x) { return ::atan2(y, x); }
__device__ inline float hypot(float x, float y) { return ::hypotf(x, y); }
__device__ inline double hypot(double x, double y) { return ::hypot(x, y); }
__device__ inline float nextafter(float x, float y) { return ::nextafterf(x, y); }
__device__ inline double nextafter(double x, double y) { return ::nextafter(x, y); }
__device__ inline float copysign(float x, float y) { return ::copysignf(x, y); }
__device__ inline double copysign(double x, double y) { return ::copysign(x, y); }
__device__ inline float fmod_of(float x, float y) { return ::fmodf(x, y); }
__device__ inline double fmod_of(double x, double y) { return ::fmod(x, y); }
__device__ inline float floor_of(float x) { return ::floorf(x); }
__device__ inline double floor_of(double x) { return ::floor(x); }
__device__ inline float ceil_of(float x) { return ::ceilf(x); }
__device__ inline double ceil_of(double x) { return ::ceil(x); }
__device__ inline float trunc_of(float x) { return ::truncf(x); }
__device__ inline double trunc_of(double x) { return ::trunc(x); }
__device__ inline float round_of(float x) { return ::rintf(x); }
__device__ inline double round_of(double x) { return ::rint(x); }
__device__ inline float abs_of(float x) { return ::fabsf(x); }
__device__ inline double abs_of(double x) { return ::fabs(x); }

template <class T> __device__ T floor(T x) {
    if constexpr (is_floating<T>) return floor_of(x); else return x;
}
template <class T> __device__ T ceil(T x) {
    if constexpr (is_floating<T>) return ceil_of(x); else return x;
}
template <class T> __device__ T trunc(T x) {
    if constexpr (is_floating<T>) return trunc_of(x); else return x;
}
// Half to even
template <class T> __device__ T round(T x) {
    if constexpr (is_floating<T>) return round_of(x); else return x;
}
template <class T> __device__ T abs(T x) {
    if constexpr (is_floating<T>) return abs_of(x); else return x < T(0) ? T(-x) : x;
}

// Where the result is rounded to half precision T: what the processor has for powers of two, whose
// error of some 2^-20 that does not see. ``power_for`` takes no negative x.
template <class T, class C> __device__ C exp_for(C x) {
#ifndef NNKIT_EMULATED
    if constexpr (sizeof(T) == 2) {
        float power;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
        return power;
    }
#endif
    return exp(x);
}
template <class T, class C> __device__ C power_for(C x, C y) {
#ifndef NNKIT_EMULATED
    if constexpr (sizeof(T) == 2) {
        float logarithm, power;
        asm("lg2.approx.f32 %0, %1;" : "=f"(logarithm) : "f"(x));
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(y * logarithm));
        return power;
    }
#endif
    return pow(x, y);
}

// ---- predicates

template <class T> __device__ bool isnan(T x) { return x != x; }
template <class T> __device__ bool isinf(T x) {
    if constexpr (is_floating<T>) return abs_of(x) == Limits<T>::infinity(); else return false;
}
template <class T> __device__ bool isfinite(T x) {
    if constexpr (is_floating<T>) return abs_of(x) < Limits<T>::infinity(); else return true;
}
template <class T> __device__ bool signbit(T x) {
    if constexpr (is_floating<T>) return copysign(T(1), x) < T(0); else return x < T(0);
}

// ---- division. An integer divided by zero gives 0, as NumPy's does.

// The lowest number divided by -1 overflows; the remainder of that division is 0 all the same.
template <class T> __device__ T quotient(T x, T y) {
    if constexpr (is_floating<T>) return trunc_of(x / y);
    else return y == T(0) ? T(0) : y == T(-1) && T(-1) < T(0) ? T(0 - uint64(x)) : T(x / y);
}
template <class T> __device__ T div_trunc(T x, T y) { return quotient(x, y); }
// With the sign of x
template <class T> __device__ T fmod(T x, T y) {
    if constexpr (is_floating<T>) return fmod_of(x, y);
    else return y == T(0) || (y == T(-1) && T(-1) < T(0)) ? T(0) : T(x % y);
}
// With the sign of y, a zero too
template <class T> __device__ T remainder(T x, T y) {
    const T rest = fmod(x, y);
    if constexpr (is_floating<T>) {
        if (rest == T(0)) return copysign(T(0), y);
    }
    return rest != T(0) && (rest < T(0)) != (y < T(0)) ? T(rest + y) : rest;
}
template <class T> __device__ T div_floor(T x, T y) {
    if constexpr (is_floating<T>) {
        if (y == T(0)) return x / y;
        // From the exact remainder: x / y itself may have been rounded up to the next integer.
        const T rest = fmod(x, y);
        const bool below = rest != T(0) && (rest < T(0)) != (y < T(0));
        const T whole = (x - rest) / y - (below ? T(1) : T(0));
        return whole == T(0) ? copysign(T(0), x / y) : round_of(whole);
    } else {
        const T whole = quotient(x, y), rest = fmod(x, y);
        return rest != T(0) && (rest < T(0)) != (y < T(0)) ? T(whole - T(1)) : whole;
    }
}

// Of integers by repeated squaring; a negative exponent is a division of 1.
template <class T> __device__ T power(T x, T y) {
    if constexpr (is_floating<T>) {
        return pow(x, y);
    } else {
        if (y < T(0)) return x == T(1) ? T(1) : x == T(-1) ? (y % T(2) ? T(-1) : T(1)) : T(0);
        T result = T(1);
        for (T base = x, rest = y; rest != T(0); rest = T(rest / T(2))) {
            if (rest % T(2)) result = T(result * base);
            base = T(base * base);
        }
        return result;
    }
}

template <class T> __device__ T invert(T x) { return T(~x); }
template <> __device__ inline bool invert(bool x) { return !x; }

// A shift by more than the width of the number leaves 0, or the sign.
template <class T> __device__ T left_shift(T x, T y) {
    return y < T(0) || y >= T(8 * sizeof(T)) ? T(0) : T(uint64(x) << y);
}
template <class T> __device__ T right_shift(T x, T y) {
    return y < T(0) || y >= T(8 * sizeof(T)) ? T(x < T(0) ? -1 : 0) : T(x >> y);
}

// ---- made of the above

// 1 / (1 + e^-x), without overflow on either side
template <class T> __device__ T sigmoid(T x) {
    const T e = exp(-abs_of(x));
    return (x < T(0) ? e : T(1)) / (T(1) + e);
}

// log(1 + e^x) for x <= 0, and the same of 2^x
template <class T> __device__ T log1p_exp(T x) { return log1p(exp(x)); }
template <class T> __device__ T log1p_exp2(T x) { return log1p(exp2(x)); }

}  // namespace math
}  // namespace nnkit

#include "../../functions.h"
