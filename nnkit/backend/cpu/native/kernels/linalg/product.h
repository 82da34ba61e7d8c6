// Matrix products with results that depend on the operands alone: every element is a sum over k in
// one fixed order, whatever the shape of the rest, the partition and the number of threads.
#pragma once

#include "array.h"
#include "memory.h"
#include "prepared.h"

namespace nnkit {

// A matrix as it lies in memory; the distances of rows and columns are in elements.
template <class T> struct Matrix {
    const T* data;
    Index row, column;

    Matrix transposed() const { return {data, column, row}; }
    Matrix from(Index i, Index j) const { return {data + i * row + j * column, row, column}; }
};

enum class Write { replace, add };

// out = a b (or out += a b) with a of m x k and b of k x n; rows of `out` are contiguous and lie
// `row` elements apart. `bias`, where it is not null, is added to every row. By several threads
// where that pays; inside a section by the calling thread alone.
template <class T>
void multiply(Index m, Index n, Index k, Matrix<T> a, Matrix<T> b, T* out, Index row,
              const T* bias = nullptr, Write write = Write::replace);

// The same in the calling thread.
template <class T>
void multiply_here(Index m, Index n, Index k, Matrix<T> a, Matrix<T> b, T* out, Index row,
                   const T* bias = nullptr, Write write = Write::replace);

// A matrix b of k x n packed once for many products.
template <class T> class Panels {
public:
    Panels(Index n, Index k, Matrix<T> b);
    const T* data() const { return packed_.data(); }
    const Index n, k;

private:
    const Prepared<T> packed_;
};

// `multiply_here` with all columns of b.
template <class T>
void multiply_here(Index m, Matrix<T> a, const Panels<T>& b, T* out, Index row,
                   const T* bias = nullptr, Write write = Write::replace);

// out = w x + bias with w of n x k whose rows are contiguous, and x contiguous.
template <class T>
void multiply_vector(Index n, Index k, Matrix<T> w, const T* x, T* out, const T* bias = nullptr);

// sum of x[i] y[i]; both contiguous.
template <class T> T dot_product(Index count, const T* x, const T* y);

}  // namespace nnkit
