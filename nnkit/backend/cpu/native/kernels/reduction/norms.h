// What the norms of vectors and the distances between them are reductions by.
#pragma once

#include "reducer.h"

namespace nnkit {

struct Maximum : Plainly {
    using Parts = Maximum;
    template <class Value> static Value combine(Value a, Value b) { return maximum(a, b); }
};

template <class T> inline T magnitude(T x) { return x < 0 ? -x : x + T(0); }
template <class T> inline Vector<T> magnitude(const Vector<T>& x) {
    return by_register(x, [](auto v) { return v < 0 ? -v : v + decltype(v){}; });
}

template <class Base> struct Magnitudes : Base {
    template <class Value> static Value map(Value x, Value) { return magnitude(x); }
};

struct SumOfSquares : Sum {
    template <class Value> static Value map(Value x, Value) { return x * x; }
};

}  // namespace nnkit
