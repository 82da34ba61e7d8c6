// Rows of float16. The processor rounds as half.h does, but keeps more of the bits of a NaN.
#include "half.h"

#if defined(__F16C__)
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

}  // namespace nnkit
