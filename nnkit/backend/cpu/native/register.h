// The registers of this instruction set, as vector types of GCC and Clang.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstring>
#include <type_traits>

namespace nnkit {

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

template <class T, int bytes> struct RegisterOf {
    typedef T type __attribute__((vector_size(bytes)));
};
template <class T> using Register = typename RegisterOf<T, register_bytes>::type;
template <class T> constexpr int register_lanes = register_bytes / static_cast<int>(sizeof(T));

template <class V, class T> inline V load_as(const T* from) {
    V result;
    std::memcpy(&result, from, sizeof result);
    return result;
}

template <class V, class T> inline void store_as(T* to, const V& value) {
    std::memcpy(to, &value, sizeof value);
}

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
