// Vectors of a fixed width, whatever the instruction set: so sums are added in the same order
// everywhere. A vector is made of as many registers as it takes; GCC keeps each in a register, while
// it would keep one wider type than that in memory.
#pragma once

#include <cstring>

#include "array.h"

namespace nnkit {

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif
constexpr int vector_bytes = 64;
constexpr int registers = vector_bytes / register_bytes;
template <class T> constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

template <class T> struct RegisterOf;
template <> struct RegisterOf<float> {
    typedef float type __attribute__((vector_size(register_bytes)));
};
template <> struct RegisterOf<double> {
    typedef double type __attribute__((vector_size(register_bytes)));
};
template <> struct RegisterOf<std::int32_t> {
    typedef std::int32_t type __attribute__((vector_size(register_bytes)));
};
template <> struct RegisterOf<std::int64_t> {
    typedef std::int64_t type __attribute__((vector_size(register_bytes)));
};
template <class T> using Register = typename RegisterOf<T>::type;

template <class T> struct Vector {
    Register<T> part[registers];
};

template <class T> inline Vector<T> load(const T* from) {
    Vector<T> result;
    for (int i = 0; i < registers; ++i) {
        std::memcpy(&result.part[i], from + i * (lanes<T> / registers), register_bytes);
    }
    return result;
}

template <class T> inline void store(T* to, const Vector<T>& value) {
    for (int i = 0; i < registers; ++i) {
        std::memcpy(to + i * (lanes<T> / registers), &value.part[i], register_bytes);
    }
}

// `function` on the registers of one vector or of several.
template <class T, class Function>
inline Vector<T> by_register(const Vector<T>& a, Function function) {
    Vector<T> result;
    for (int i = 0; i < registers; ++i) result.part[i] = function(a.part[i]);
    return result;
}

template <class T, class Function>
inline Vector<T> by_register(const Vector<T>& a, const Vector<T>& b, Function function) {
    Vector<T> result;
    for (int i = 0; i < registers; ++i) result.part[i] = function(a.part[i], b.part[i]);
    return result;
}

template <class T> inline Vector<T> operator+(const Vector<T>& a, const Vector<T>& b) {
    return by_register(a, b, [](auto x, auto y) { return x + y; });
}
template <class T> inline Vector<T> operator-(const Vector<T>& a, const Vector<T>& b) {
    return by_register(a, b, [](auto x, auto y) { return x - y; });
}
template <class T> inline Vector<T> operator*(const Vector<T>& a, const Vector<T>& b) {
    return by_register(a, b, [](auto x, auto y) { return x * y; });
}
template <class T> inline Vector<T> operator/(const Vector<T>& a, const Vector<T>& b) {
    return by_register(a, b, [](auto x, auto y) { return x / y; });
}
template <class T> inline Vector<T> operator-(const Vector<T>& a, T b) {
    return by_register(a, [b](auto x) { return x - b; });
}
template <class T> inline Vector<T>& operator+=(Vector<T>& a, const Vector<T>& b) {
    return a = a + b;
}
template <class T> inline Vector<T>& operator-=(Vector<T>& a, const Vector<T>& b) {
    return a = a - b;
}
template <class T> inline Vector<T>& operator*=(Vector<T>& a, const Vector<T>& b) {
    return a = a * b;
}

template <class T> inline Vector<T> broadcast(T value) {
    Vector<T> result;
    for (int i = 0; i < registers; ++i) result.part[i] = value - Register<T>{};
    return result;
}

// The larger and the smaller lanes; NaN where one of the two is NaN.
template <class T> inline Vector<T> maximum(const Vector<T>& a, const Vector<T>& b) {
    return by_register(a, b, [](auto x, auto y) { return (x > y) | (x != x) ? x : y; });
}
template <class T> inline Vector<T> minimum(const Vector<T>& a, const Vector<T>& b) {
    return by_register(a, b, [](auto x, auto y) { return (x < y) | (x != x) ? x : y; });
}

template <class T> inline T maximum(T a, T b) { return (a > b) | (a != a) ? a : b; }
template <class T> inline T minimum(T a, T b) { return (a < b) | (a != a) ? a : b; }

// The sum of the lanes of a register, or of a part of one, pair by pair: the second half is added
// to the first until one lane is left.
template <class T, int bytes> struct Lanes {
    typedef T type __attribute__((vector_size(bytes)));

    static T sum(type value) {
        if constexpr (bytes == 2 * sizeof(T)) {
            return value[0] + value[1];
        } else {
            typename Lanes<T, bytes / 2>::type half[2];
            std::memcpy(half, &value, sizeof value);
            return Lanes<T, bytes / 2>::sum(half[0] + half[1]);
        }
    }
};

// The sum of the lanes, pair by pair.
template <class T> inline T sum_lanes(Vector<T> value) {
    for (int width = registers / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) value.part[i] += value.part[i + width];
    }
    return Lanes<T, register_bytes>::sum(value.part[0]);
}

}  // namespace nnkit
