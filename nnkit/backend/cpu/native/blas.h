// Matrix products by the BLAS that NumPy has loaded: its C interface is looked up at run time.
#pragma once

#include "array.h"

namespace nnkit {

// Finds the BLAS through the file of NumPy's own extension; false if it offers no known interface.
bool find_blas(const char* numpy_extension);
bool has_blas();
const char* blas_name();

// c = alpha op(a) op(b) + beta c with op(a) of m x k and op(b) of k x n, all row by row; `lda` is
// the distance of two rows of a as it lies in memory. Needs has_blas().
template <class T>
void gemm(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
          Index lda, const T* b, Index ldb, T beta, T* c, Index ldc);

// While one lives, products run in the thread that asks for them: our pool has the other cores.
class SingleThreadedBlas {
public:
    explicit SingleThreadedBlas(bool active = true);
    ~SingleThreadedBlas();
    SingleThreadedBlas(const SingleThreadedBlas&) = delete;

private:
    bool active_;
};

}  // namespace nnkit
