// Finds cblas_sgemm and cblas_dgemm in the libraries that NumPy's extension is linked with.
#include "blas.h"

#include <dlfcn.h>
#include <pthread.h>

#include <mutex>
#include <string>

namespace nnkit {
namespace {

enum { row_major = 101, no_transpose = 111, transpose = 112 };

template <class Integer, class T>
using Gemm = void (*)(int order, int transpose_a, int transpose_b, Integer m, Integer n, Integer k,
                      T alpha, const T* a, Integer lda, const T* b, Integer ldb, T beta, T* c,
                      Integer ldc);

template <class T> struct Product {
    Gemm<std::int64_t, T> wide = nullptr;  // 64-bit integers, as NumPy's wheels are built
    Gemm<std::int32_t, T> narrow = nullptr;
    bool found() const { return wide != nullptr || narrow != nullptr; }
};

Product<float> single_product;
Product<double> double_product;
void (*set_threads)(int) = nullptr;
int (*get_threads)() = nullptr;
std::string name;

template <class T> Product<T>& product();
template <> Product<float>& product<float>() { return single_product; }
template <> Product<double>& product<double>() { return double_product; }

template <class Function> bool look_up(void* library, const std::string& symbol, Function& out) {
    out = reinterpret_cast<Function>(dlsym(library, symbol.c_str()));
    return out != nullptr;
}

}  // namespace

bool find_blas(const char* numpy_extension) {
    // RTLD_NOLOAD: only what is there already; its dependencies are searched with it.
    void* library = dlopen(numpy_extension, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return false;
    for (const char* prefix : {"scipy_", ""}) {
        for (const char* suffix : {"64_", ""}) {
            std::string head = prefix, tail = suffix;
            if (*suffix) {
                look_up(library, head + "cblas_sgemm" + tail, single_product.wide);
                look_up(library, head + "cblas_dgemm" + tail, double_product.wide);
            } else {
                look_up(library, head + "cblas_sgemm", single_product.narrow);
                look_up(library, head + "cblas_dgemm", double_product.narrow);
            }
            if (!single_product.found() || !double_product.found()) continue;
            look_up(library, head + "openblas_set_num_threads" + tail, set_threads);
            look_up(library, head + "openblas_get_num_threads" + tail, get_threads);
            name = head + "cblas" + tail;
            return true;
        }
    }
    return false;
}

bool has_blas() { return !name.empty(); }
const char* blas_name() { return name.c_str(); }

template <class T>
void gemm(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
          Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
    const Product<T>& known = product<T>();
    int ta = transpose_a ? transpose : no_transpose, tb = transpose_b ? transpose : no_transpose;
    if (known.wide != nullptr) {
        known.wide(row_major, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    } else {
        auto narrow = [](Index value) {
            if (value > INT32_MAX) throw Declined();
            return static_cast<std::int32_t>(value);
        };
        known.narrow(row_major, ta, tb, narrow(m), narrow(n), narrow(k), alpha, a, narrow(lda), b,
                     narrow(ldb), beta, c, narrow(ldc));
    }
}

template void gemm<float>(bool, bool, Index, Index, Index, float, const float*, Index,
                          const float*, Index, float, float*, Index);
template void gemm<double>(bool, bool, Index, Index, Index, double, const double*, Index,
                           const double*, Index, double, double*, Index);

namespace {

// The setting is the process's: the first of several Python threads changes it, the last restores.
std::mutex& setting = *new std::mutex;
int users = 0;
int threads_before = 0;  // 0: ask the library

[[maybe_unused]] const int fork_handlers =
    pthread_atfork([] { setting.lock(); }, [] { setting.unlock(); },
                   [] {
                       // The users stay behind in the parent; the next one here restores.
                       if (users == 0) threads_before = 0;
                       users = 0;
                       setting.unlock();
                   });

}  // namespace

SingleThreadedBlas::SingleThreadedBlas(bool active)
    : active_(active && set_threads != nullptr && get_threads != nullptr) {
    if (!active_) return;
    std::lock_guard<std::mutex> lock(setting);
    if (users++ > 0) return;
    if (threads_before == 0) threads_before = get_threads();
    if (threads_before > 1) set_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
    if (!active_) return;
    std::lock_guard<std::mutex> lock(setting);
    if (--users > 0) return;
    if (threads_before > 1) set_threads(threads_before);
    threads_before = 0;
}

}  // namespace nnkit
