// Vectors of a fixed width, whatever the instruction set: so sums are added in the same order
// everywhere. The compiler maps them on the registers that there are.
#pragma once

#include <cstring>

#include "array.h"

namespace nnkit {

constexpr int vector_bytes = 64;
template <class T> constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

template <class T> struct VectorOf;
template <> struct VectorOf<float> { typedef float type __attribute__((vector_size(64))); };
template <> struct VectorOf<double> { typedef double type __attribute__((vector_size(64))); };
template <class T> using Vector = typename VectorOf<T>::type;

template <class T> inline Vector<T> load(const T* from) {
    Vector<T> result;
    std::memcpy(&result, from, sizeof result);
    return result;
}

template <class T> inline void store(T* to, const Vector<T>& value) {
    std::memcpy(to, &value, sizeof value);
}

template <class T> inline Vector<T> broadcast(T value) { return value - Vector<T>{}; }

// The sum of the lanes, pair by pair.
template <class T> inline T sum_lanes(const Vector<T>& value) {
    T part[lanes<T>];
    store(part, value);
    for (int width = lanes<T> / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) part[i] += part[i + width];
    }
    return part[0];
}

}  // namespace nnkit
