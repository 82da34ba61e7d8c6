// Rows of halves. float16 by the processor's own instructions, which round as half.h does but keep
// more of the bits of a NaN; bfloat16 by the upper halves of rounded numbers, where none is NaN.
#include "half.h"

#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace nnkit {

void convert_row(const Float16* from, float* to, std::ptrdiff_t count) {
    std::ptrdiff_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
#endif
    for (; i < count; ++i) to[i] = widen(from[i]);
}

void convert_row(const float* from, Float16* to, std::ptrdiff_t count) {
    std::ptrdiff_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
        const __m256 wide = _mm256_loadu_ps(from + i);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < count; ++i) to[i] = narrow_float16(from[i]);
}

#if defined(__AVX512BW__)
namespace {

constexpr std::ptrdiff_t narrowed = 32;  // numbers at once

// The bits of 16 numbers with the upper halves rounded to nearest even; false where one is NaN.
inline bool round_upper(const float* from, __m512i* bits) {
    const __m512 wide = _mm512_loadu_ps(from);
    const __m512i given = _mm512_castps_si512(wide);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(given, 16), _mm512_set1_epi32(1));
    *bits = _mm512_add_epi32(_mm512_add_epi32(given, odd), _mm512_set1_epi32(0x7fff));
    return _mm512_cmp_ps_mask(wide, wide, _CMP_UNORD_Q) == 0;
}

inline bool narrow_some(const float* from, BFloat16* to) {
    alignas(64) static const std::uint16_t upper[32] = {
        1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    __m512i low, high;
    if (!(round_upper(from, &low) & round_upper(from + 16, &high))) return false;
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(low, _mm512_load_si512(upper), high));
    return true;
}

}  // namespace
#elif defined(__AVX2__)
namespace {

constexpr std::ptrdiff_t narrowed = 16;  // numbers at once

// The upper halves of 8 numbers, rounded to nearest even; false where one is NaN.
inline bool round_upper(const float* from, __m256i* bits) {
    const __m256 wide = _mm256_loadu_ps(from);
    const __m256i given = _mm256_castps_si256(wide);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(given, 16), _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(given, odd), _mm256_set1_epi32(0x7fff));
    *bits = _mm256_srli_epi32(sum, 16);
    return _mm256_movemask_ps(_mm256_cmp_ps(wide, wide, _CMP_UNORD_Q)) == 0;
}

inline bool narrow_some(const float* from, BFloat16* to) {
    __m256i low, high;
    if (!(round_upper(from, &low) & round_upper(from + 8, &high))) return false;
    // It packs the two halves of the registers apart.
    const __m256i packed = _mm256_packus_epi32(low, high);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xd8));
    return true;
}

}  // namespace
#else
namespace {

constexpr std::ptrdiff_t narrowed = 16;

inline bool narrow_some(const float*, BFloat16*) { return false; }

}  // namespace
#endif

void convert_row(const float* from, BFloat16* to, std::ptrdiff_t count) {
    std::ptrdiff_t i = 0;
    for (; i + narrowed <= count; i += narrowed) {
        if (narrow_some(from + i, to + i)) continue;
        for (std::ptrdiff_t k = i; k < i + narrowed; ++k) to[k] = narrow_bfloat16(from[k]);
    }
    for (; i < count; ++i) to[i] = narrow_bfloat16(from[i]);
}

}  // namespace nnkit
