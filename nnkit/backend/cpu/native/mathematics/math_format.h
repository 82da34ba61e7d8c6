// What the elementary functions are made of: the formats of float and double, and polynomials
// (polynomial.h).
//
// All functions of math*.h are free of branches and of fused multiply-adds where they are meant
// to be vectorised, so a plain loop over them gives the same bits on every instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#define NNKIT_INLINE inline
#include "polynomial.h"

namespace nnkit::math {

template <typename T>
struct Format;

template <>
struct Format<float> {
    using Bits = std::uint32_t;
    static constexpr int mantissa = 23;
    static constexpr Bits bias = 127;
    // Adding it rounds to an integer, half to even, which then stands in the lowest bits.
    static constexpr float rounder = 0x1.8p23f;
    // log(2) in two parts, the first so short that an exponent times it is exact
    static constexpr float log_2_high = 0.693359375f;
    static constexpr float log_2_low = -2.12194440e-4f;
    static constexpr float infinity = std::numeric_limits<float>::infinity();
    static constexpr float nan = std::numeric_limits<float>::quiet_NaN();
};

template <>
struct Format<double> {
    using Bits = std::uint64_t;
    static constexpr int mantissa = 52;
    static constexpr Bits bias = 1023;
    static constexpr double rounder = 0x1.8p52;
    // log(2) in two parts, the first so short that an exponent times it is exact
    static constexpr double log_2_high = 0x1.62e42feep-1;
    static constexpr double log_2_low = 1.90821492927058770002e-10;
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
};

constexpr double pi = 3.14159265358979323846;
constexpr double log_2 = 0.693147180559945309417;
constexpr double log_10 = 2.30258509299404568402;

template <typename T>
inline typename Format<T>::Bits bits_of(T x) {
    typename Format<T>::Bits bits;
    std::memcpy(&bits, &x, sizeof x);
    return bits;
}

template <typename T>
inline T from_bits(typename Format<T>::Bits bits) {
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// x cut to its first 21 bits, so that the product with a number of 32 bits is exact.
inline double upper_half(double x) {
    return from_bits<double>(bits_of(x) & ~Format<double>::Bits(0xffffffff));
}

// The second argument where the condition holds, else the third; both are always computed.
template <typename T>
inline T where(bool condition, T yes, T no) {
    return condition ? yes : no;
}

// Calls `loop(functions, start, stop)` for blocks of the numbers x: with `near`, whose functions are
// faster, where all of a block are as `fits(number)` says, else with `far`.
template <std::ptrdiff_t block, class T, class Fits, class Near, class Far, class Loop>
inline void in_blocks(const T* x, std::ptrdiff_t count, Fits fits, Near near, Far far, Loop loop) {
    for (std::ptrdiff_t start = 0; start < count; start += block) {
        const std::ptrdiff_t stop = std::min(start + block, count);
        typename Format<T>::Bits beyond = 0;  // GCC does not vectorise this with a bool
        for (std::ptrdiff_t i = start; i < stop; ++i) beyond |= !fits(x[i]);
        if (beyond) loop(far, start, stop);
        else loop(near, start, stop);
    }
}

}  // namespace nnkit::math
