// Polynomials, for C++ (cpu/native/mathematics/math_format.h) and CUDA (cuda/kernels/math.cuh). NNKIT_INLINE is
// how a function is declared there.
#pragma once

namespace nnkit {
namespace math {

// Horner's scheme for the even and the odd powers apart, which halves the chain of operations
// that wait for each other; the highest power comes first.
template <typename T, typename... Coefficients>
NNKIT_INLINE T polynomial(T x, T first, T second, Coefficients... others) {
    const T square = x * x;
    T before = first, last = second;
    const auto append = [&](T coefficient) {
        const T next = before * square + coefficient;
        before = last;
        last = next;
    };
    (append(T(others)), ...);
    return before * x + last;
}

}  // namespace math
}  // namespace nnkit
