#pragma once
#include <cmath>
#include <limits>
namespace nnkit::math {
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
#define F1(n, e) inline float n(float x) { return e; } inline double n(double x) { return e; }
#define F2(n, e) inline float n(float x, float y) { return e; } inline double n(double x, double y) { return e; }
#define P1(n, e) inline bool n(float x) { return e; } inline bool n(double x) { return e; }
F1(abs, std::fabs(x)) F1(sign, (x > 0) - (x < 0) + (x != x ? x : 0)) F1(sgn, sign(x)) F1(exp, std::exp(x)) F1(exp2, std::exp2(x)) F1(expm1, std::expm1(x))
F1(log, std::log(x)) F1(log2, std::log2(x)) F1(log10, std::log10(x)) F1(log1p, std::log1p(x)) F1(sqrt, std::sqrt(x)) F1(rsqrt, 1 / std::sqrt(x))
F1(reciprocal, 1 / x) F1(tanh, std::tanh(x)) F1(sigmoid, 1 / (1 + std::exp(-x))) F1(erf, std::erf(x)) F1(erfc, std::erfc(x)) F1(sin, std::sin(x)) F1(cos, std::cos(x)) F1(tan, std::tan(x))
F1(asin, std::asin(x)) F1(acos, std::acos(x)) F1(atan, std::atan(x)) F1(sinh, std::sinh(x)) F1(cosh, std::cosh(x)) F1(asinh, std::asinh(x)) F1(acosh, std::acosh(x)) F1(atanh, std::atanh(x))
F1(floor, std::floor(x)) F1(ceil, std::ceil(x)) F1(trunc, std::trunc(x)) F1(round, std::nearbyint(x)) F2(maximum, (x > y || x != x) ? x : y) F2(minimum, (x < y || x != x) ? x : y)
F2(pow, std::pow(x, y)) F2(fmax, std::fmax(x, y)) F2(fmin, std::fmin(x, y)) F2(copysign, std::copysign(x, y)) F2(atan2, std::atan2(x, y)) F2(hypot, std::hypot(x, y))
P1(isnan, x != x) P1(isinf, std::isinf(x)) P1(isfinite, std::isfinite(x)) P1(signbit, std::signbit(x))
F1(frac, x - std::trunc(x)) F2(div_floor, std::floor(x / y)) F2(div_trunc, std::trunc(x / y)) F2(remainder, x - y * std::floor(x / y)) F2(fmod, std::fmod(x, y))
F1(erfinv, x) F2(logaddexp, std::log(std::exp(x) + std::exp(y))) F2(logaddexp2, x) F2(heaviside, x > 0 ? 1 : x == 0 ? y : 0) F2(nextafter, std::nextafter(x, y)) F1(lgamma, std::lgamma(x)) F1(digamma, x)
}
