// What the norms of vectors and the distances between them are reductions by.
#pragma once

#include <cmath>
#include <limits>

#include "reducer.h"

namespace nnkit {

struct Maximum : Plainly {
    using Parts = Maximum;
    template <class Value> static Value combine(Value a, Value b) { return maximum(a, b); }
};

template <class T> inline T magnitude(T x) { return std::fabs(x); }
template <class T> inline Vector<T> magnitude(const Vector<T>& x) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    return by_register(x, [](auto v) {
        return (Register<T>)((Register<Bits>)v & std::numeric_limits<Bits>::max());
    });
}

template <class Base> struct Magnitudes : Base {
    template <class Value> static Value map(Value x, Value) { return magnitude(x); }
};

struct SumOfSquares : Sum {
    template <class Value> static Value map(Value x, Value) { return x * x; }
};

}  // namespace nnkit
