// Vectors of a fixed width, whatever the instruction set: so sums are added in the same order
// everywhere. A vector is made of as many registers as it takes; GCC keeps each in a register, while
// it would keep one wider type than that in memory. The loops over registers are unrolled by
// pragmas, since GCC may else keep the vector in memory.
#pragma once

#include "array.h"
#include "register.h"

namespace nnkit {

constexpr int vector_bytes = 64;
constexpr int registers = vector_bytes / register_bytes;
template <class T> constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

template <class T> struct Vector {
    Register<T> part[registers];
};

template <class T> inline Vector<T> load(const T* from) {
    Vector<T> result;
#pragma GCC unroll 4
    for (int i = 0; i < registers; ++i) {
        std::memcpy(&result.part[i], from + i * (lanes<T> / registers), register_bytes);
    }
    return result;
}

template <class T> inline void store(T* to, const Vector<T>& value) {
#pragma GCC unroll 4
    for (int i = 0; i < registers; ++i) {
        std::memcpy(to + i * (lanes<T> / registers), &value.part[i], register_bytes);
    }
}

// `function` on the registers of one vector or of several.
template <class T, class Function>
inline Vector<T> by_register(const Vector<T>& a, Function function) {
    Vector<T> result;
#pragma GCC unroll 4
    for (int i = 0; i < registers; ++i) result.part[i] = function(a.part[i]);
    return result;
}

template <class T, class Function>
inline Vector<T> by_register(const Vector<T>& a, const Vector<T>& b, Function function) {
    Vector<T> result;
#pragma GCC unroll 4
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
#pragma GCC unroll 4
    for (int i = 0; i < registers; ++i) result.part[i] = value - Register<T>{};
    return result;
}

// The larger and the smaller lanes; NaN where one of the two is NaN.
template <class T> inline Vector<T> maximum(const Vector<T>& a, const Vector<T>& b) {
    return by_register(a, b, [](auto x, auto y) { return ((x < y) | (y != y)) ? y : x; });
}
template <class T> inline Vector<T> minimum(const Vector<T>& a, const Vector<T>& b) {
    return by_register(a, b, [](auto x, auto y) { return ((x > y) | (y != y)) ? y : x; });
}

template <class T> inline T maximum(T a, T b) { return ((a < b) | (b != b)) ? b : a; }
template <class T> inline T minimum(T a, T b) { return ((a > b) | (b != b)) ? b : a; }

// The sum of the lanes of a register, or of a part of one, pair by pair: the second half is added
// to the first until one lane is left.
template <class T, int bytes> inline T sum_of_lanes(typename RegisterOf<T, bytes>::type value) {
    if constexpr (bytes == 2 * sizeof(T)) {
        return value[0] + value[1];
    } else {
        typename RegisterOf<T, bytes / 2>::type half[2];
        std::memcpy(half, &value, sizeof value);
        return sum_of_lanes<T, bytes / 2>(half[0] + half[1]);
    }
}

// The sum of the lanes, pair by pair.
template <class T> inline T sum_lanes(Vector<T> value) {
    for (int width = registers / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) value.part[i] += value.part[i + width];
    }
    return sum_of_lanes<T, register_bytes>(value.part[0]);
}

}  // namespace nnkit
