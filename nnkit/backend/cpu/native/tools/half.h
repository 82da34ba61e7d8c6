// float16 and bfloat16: stored in 16 bits, widened to float32 to compute, rounded to nearest even.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nnkit {

struct Float16 { std::uint16_t bits; };
struct BFloat16 { std::uint16_t bits; };

template <class To, class From> inline To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline float widen(BFloat16 x) { return bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

inline float widen(Float16 x) {
    std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
    std::uint32_t rest = x.bits & 0x7fffu;
    // A product with 2**112 moves the exponent to float32's bias and normalises subnormal numbers.
    float finite = bit_cast<float>(rest << 13) * 0x1p112f;
    std::uint32_t special = (rest << 13) | 0x7f800000u;
    std::uint32_t magnitude = rest >= 0x7c00u ? special : bit_cast<std::uint32_t>(finite);
    return bit_cast<float>(sign | magnitude);
}

inline BFloat16 narrow_bfloat16(float x) {
    std::uint32_t bits = bit_cast<std::uint32_t>(x);
    std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    std::uint32_t quiet = (bits & 0x80000000u) | 0x7fc00000u;
    return {static_cast<std::uint16_t>((is_nan ? quiet : rounded) >> 16)};
}

inline Float16 narrow_float16(float x) {
    std::uint32_t bits = bit_cast<std::uint32_t>(x);
    std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    // Below 2**-14 the result is subnormal: adding 0.5 lets the hardware round at the right bit.
    std::uint32_t small = bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    std::uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    std::uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    std::uint32_t result = magnitude < 0x38800000u ? small : normal;
    if (magnitude >= 0x477ff000u) result = special;
    return {static_cast<std::uint16_t>(sign | result)};
}

// A float rounded to half precision, by operations that loops over it have for vectors; to nothing
// but itself where `Half` is void.
template <class Half, class T> inline T rounded(T x) { return x; }
template <> inline float rounded<BFloat16, float>(float x) {
    const auto bits = bit_cast<std::uint32_t>(x);
    const float result = bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
    return x == x ? result : x;
}
template <> inline float rounded<Float16, float>(float x) {
    const auto bits = bit_cast<std::uint32_t>(x);
    const float normal = bit_cast<float>((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
    const float size = std::fabs(x), small = (size + 0.5f) - 0.5f;  // as in `narrow_float16`
    const float kept = size < 0x1p-14f ? std::copysign(small, x) : normal;
    const float result = std::fabs(kept) > 65504.0f ? std::copysign(INFINITY, x) : kept;
    return x == x ? result : x;
}

// A bool as memory holds it: any byte but 0 is true, since bytes can be viewed as bools.
struct Boolean {
    std::uint8_t byte;
    constexpr operator std::uint8_t() const { return byte < 1 ? byte : 1; }
};

// A number of one type as another; halves go through float32.
template <class To, class From> inline To convert(From x) { return static_cast<To>(x); }
template <> inline float convert<float, Float16>(Float16 x) { return widen(x); }
template <> inline double convert<double, Float16>(Float16 x) { return widen(x); }
template <> inline float convert<float, BFloat16>(BFloat16 x) { return widen(x); }
template <> inline double convert<double, BFloat16>(BFloat16 x) { return widen(x); }
template <> inline Float16 convert<Float16, float>(float x) { return narrow_float16(x); }
template <> inline BFloat16 convert<BFloat16, float>(float x) { return narrow_bfloat16(x); }
template <> inline Float16 convert<Float16, double>(double x) {
    return narrow_float16(static_cast<float>(x));
}
template <> inline BFloat16 convert<BFloat16, double>(double x) {
    return narrow_bfloat16(static_cast<float>(x));
}

// Numbers of one type, one after the other, as another; halves by instructions of the processor
// that GCC does not find.
template <class To, class From>
inline void convert_row(const From* from, To* to, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}
void convert_row(const Float16* from, float* to, std::ptrdiff_t count);
void convert_row(const float* from, Float16* to, std::ptrdiff_t count);
void convert_row(const float* from, BFloat16* to, std::ptrdiff_t count);

}  // namespace nnkit
