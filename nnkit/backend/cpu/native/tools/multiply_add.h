// a b + c with one rounding. Apart from register.h: the compiler's header of all its instructions
// takes longer to read than most kernels take to compile.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <type_traits>

#include "register.h"

namespace nnkit {

// a b + c in registers, rounded once where the instruction set can.
template <class V> inline V multiply_add(V a, V b, V c) {
    [[maybe_unused]] constexpr bool single = std::is_same_v<V, Register<float>>;
#if defined(__AVX512F__)
    if constexpr (single) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    else return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    if constexpr (single) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    else return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
    if constexpr (single) return (V)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
    else return (V)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}

}  // namespace nnkit
