// What is called of cuBLAS, played: products multiplied one by one, when their stream comes to it.
#include "played.h"

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>

#define API extern "C" __attribute__((visibility("default")))

namespace {

struct Handle {
    void* stream = nullptr;
    size_t workspace = 0;
    int mode = 0;
};

struct Half {
    uint16_t bits;
    operator float() const {
        _Float16 half;
        memcpy(&half, &bits, sizeof half);
        return float(half);
    }
    explicit Half(float x) {
        const _Float16 half = _Float16(x);
        memcpy(&bits, &half, sizeof bits);
    }
};
struct Bfloat16 {
    uint16_t bits;
    operator float() const {
        const uint32_t whole = uint32_t(bits) << 16;
        float x;
        memcpy(&x, &whole, sizeof x);
        return x;
    }
    explicit Bfloat16(float x) {
        uint32_t whole;
        memcpy(&whole, &x, sizeof whole);
        const uint32_t rounded = whole + 0x7fffu + ((whole >> 16) & 1u);
        bits = uint16_t(x != x ? (whole >> 16) | 0x40u : rounded >> 16);
    }
};

enum Status { success = 0, not_initialized = 1, invalid_value = 7, not_supported = 15 };
enum Operation { as_it_is, transposed, adjoint };

template <class T> T conjugated(T x) { return x; }
template <class T> std::complex<T> conjugated(std::complex<T> x) { return std::conj(x); }

// A matrix by columns, as cuBLAS has it.
template <class T>
struct Matrix {
    const T* data;
    int operation;
    int64_t step;

    template <class Wide> Wide at(int64_t row, int64_t column) const {
        const T found = operation ? data[column + row * step] : data[row + column * step];
        return operation == adjoint ? conjugated(Wide(found)) : Wide(found);
    }
};

bool is_there(const void* data, int rows, int columns, int64_t step, int64_t stride, int batch,
              size_t size, const char* what) {
    if (rows <= 0 || columns <= 0) return true;
    const int64_t elements = (batch - 1) * stride + (columns - 1) * step + rows;
    const bool fits = step >= rows && played::is_live(data, elements * size);
    if (!fits) {
        fprintf(stderr, "BAD PRODUCT: %s of %d x %d, step %ld, stride %ld, %d of them at %p\n", what,
                rows, columns, long(step), long(stride), batch, data);
    }
    return fits;
}

template <class T, class Wide>
int product(void* handle, int tx, int ty, int m, int n, int k, const void* alpha, const void* x,
            int64_t ldx, int64_t stride_x, const void* y, int64_t ldy, int64_t stride_y,
            const void* beta, void* out, int64_t ldo, int64_t stride_o, int batch) {
    if (!handle) return not_initialized;
    const size_t size = sizeof(T);
    const bool fits =
        is_there(x, tx ? k : m, tx ? m : k, ldx, stride_x, batch, size, "the left matrix")
        && is_there(y, ty ? n : k, ty ? k : n, ldy, stride_y, batch, size, "the right matrix")
        && is_there(out, m, n, ldo, stride_o, batch, size, "the result");
    if (!fits) return invalid_value;
    const Wide a = *static_cast<const Wide*>(alpha), b = *static_cast<const Wide*>(beta);
    return played::enqueue(static_cast<Handle*>(handle)->stream, [=] {
        for (int i = 0; i < batch; ++i) {
            const Matrix<T> left{static_cast<const T*>(x) + i * stride_x, tx, ldx};
            const Matrix<T> right{static_cast<const T*>(y) + i * stride_y, ty, ldy};
            T* to = static_cast<T*>(out) + i * stride_o;
            for (int64_t column = 0; column < n; ++column) {
                for (int64_t row = 0; row < m; ++row) {
                    Wide sum = Wide(0);
                    for (int64_t j = 0; j < k; ++j) {
                        sum += left.template at<Wide>(row, j) * right.template at<Wide>(j, column);
                    }
                    T& place = to[row + column * ldo];
                    const Wide before = b == Wide(0) ? Wide(0) : b * Wide(place);
                    place = T(a * sum + before);
                }
            }
        }
        return 0;
    }) ? 14 : success;
}

// cudaDataType's numbers.
int by_kind(void* handle, int tx, int ty, int m, int n, int k, const void* alpha, const void* x,
            int kind_x, int64_t ldx, int64_t stride_x, const void* y, int kind_y, int64_t ldy,
            int64_t stride_y, const void* beta, void* out, int kind, int64_t ldo, int64_t stride_o,
            int batch, int compute) {
    if (kind_x != kind || kind_y != kind) return not_supported;
    const bool wide = compute == 70;
    if (wide != (kind == 1 || kind == 5)) return not_supported;
#define AS(T, Wide)                                                                              \
    product<T, Wide>(handle, tx, ty, m, n, k, alpha, x, ldx, stride_x, y, ldy, stride_y, beta, \
                     out, ldo, stride_o, batch)
    switch (kind) {
        case 0: return AS(float, float);
        case 1: return AS(double, double);
        case 2: return AS(Half, float);
        case 4: return AS(std::complex<float>, std::complex<float>);
        case 5: return AS(std::complex<double>, std::complex<double>);
        case 14: return AS(Bfloat16, float);
        default: return not_supported;
    }
}

}  // namespace

API const char* cublasGetStatusString(int status) {
    return status == not_supported ? "CUBLAS_STATUS_NOT_SUPPORTED"
        : status == invalid_value ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_INTERNAL_ERROR";
}
API int cublasCreate_v2(void** handle) { *handle = new Handle; return success; }
API int cublasDestroy_v2(void* handle) { delete static_cast<Handle*>(handle); return success; }
API int cublasGetVersion_v2(void*, int* v) { *v = 130000; return success; }
API int cublasSetStream_v2(void* handle, void* stream) {
    *static_cast<Handle*>(handle) = {stream, 0, static_cast<Handle*>(handle)->mode};
    return success;
}
API int cublasGetStream_v2(void* handle, void** stream) {
    *stream = static_cast<Handle*>(handle)->stream;
    return success;
}
API int cublasSetWorkspace_v2(void* handle, void* workspace, size_t size) {
    if (!played::is_live(workspace, size) || uintptr_t(workspace) % 256) return invalid_value;
    static_cast<Handle*>(handle)->workspace = size;
    return success;
}
API int cublasSetMathMode(void* handle, int mode) {
    static_cast<Handle*>(handle)->mode = mode;
    return success;
}
API int cublasGetMathMode(void* handle, int* mode) {
    *mode = static_cast<Handle*>(handle)->mode;
    return success;
}
API int cublasSetPointerMode_v2(void*, int) { return success; }
API int cublasGetPointerMode_v2(void*, int* mode) { *mode = 0; return success; }

API int cublasGemmEx(void* handle, int tx, int ty, int m, int n, int k, const void* alpha,
                     const void* x, int kind_x, int ldx, const void* y, int kind_y, int ldy,
                     const void* beta, void* out, int kind, int ldo, int compute, int) {
    return by_kind(handle, tx, ty, m, n, k, alpha, x, kind_x, ldx, 0, y, kind_y, ldy, 0, beta, out,
                   kind, ldo, 0, 1, compute);
}
API int cublasGemmStridedBatchedEx(
    void* handle, int tx, int ty, int m, int n, int k, const void* alpha, const void* x, int kind_x,
    int ldx, long long stride_x, const void* y, int kind_y, int ldy, long long stride_y,
    const void* beta, void* out, int kind, int ldo, long long stride_o, int batch, int compute,
    int) {
    return by_kind(handle, tx, ty, m, n, k, alpha, x, kind_x, ldx, stride_x, y, kind_y, ldy,
                   stride_y, beta, out, kind, ldo, stride_o, batch, compute);
}
#define OF_DTYPE(letter, T)                                                                        \
    API int cublas##letter##gemm_v2(                                                               \
        void* handle, int tx, int ty, int m, int n, int k, const void* alpha, const void* x,       \
        int ldx, const void* y, int ldy, const void* beta, void* out, int ldo) {                   \
        return product<T, T>(handle, tx, ty, m, n, k, alpha, x, ldx, 0, y, ldy, 0, beta, out, ldo, \
                             0, 1);                                                                \
    }                                                                                              \
    API int cublas##letter##gemmStridedBatched(                                                    \
        void* handle, int tx, int ty, int m, int n, int k, const void* alpha, const void* x,       \
        int ldx, long long stride_x, const void* y, int ldy, long long stride_y, const void* beta, \
        void* out, int ldo, long long stride_o, int batch) {                                       \
        return product<T, T>(handle, tx, ty, m, n, k, alpha, x, ldx, stride_x, y, ldy, stride_y,   \
                             beta, out, ldo, stride_o, batch);                                     \
    }
OF_DTYPE(S, float)
OF_DTYPE(D, double)
OF_DTYPE(C, std::complex<float>)
OF_DTYPE(Z, std::complex<double>)
