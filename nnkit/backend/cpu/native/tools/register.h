// The registers of this instruction set, as vector types of GCC and Clang.
#pragma once

#include <cstring>

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

}  // namespace nnkit
