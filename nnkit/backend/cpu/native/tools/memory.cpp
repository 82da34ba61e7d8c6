// The caching allocator: free lists by size class, bounded, safe for threads and for fork.
#include "memory.h"

#include <pthread.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <array>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "arena.h"
#include "owned.h"

namespace nnkit {
namespace {

// Smaller arrays are NumPy's, aligned to 16 bytes alone: so every second load of a large register
// touches two lines of the cache.
constexpr std::size_t smallest_cached = std::size_t{1} << 12;
constexpr int steps_per_doubling = 4;  // so at most a fifth of a block is wasted
constexpr int class_count = 30 * steps_per_doubling;

struct SizeClass {
    int number;
    std::size_t bytes;
};

SizeClass size_class(std::size_t bytes) {
    std::size_t base = smallest_cached;
    for (int number = 0; number < class_count; number += steps_per_doubling, base *= 2) {
        if (bytes > 2 * base) continue;
        for (int step = 0; step <= steps_per_doubling; ++step) {
            std::size_t size = base + base / steps_per_doubling * step;
            if (bytes <= size) return {number + step, size};
        }
    }
    return {-1, bytes};
}

class Cache {
public:
    void* take(const SizeClass& kind) {
        std::lock_guard<std::mutex> lock(mutex_);
        std::vector<void*>& list = free_[kind.number];
        if (list.empty()) return nullptr;
        void* block = list.back();
        list.pop_back();
        held_ -= kind.bytes;
        return block;
    }

    bool keep(void* block, const SizeClass& kind) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (held_ + kind.bytes > limit_) return false;
        try {
            free_[kind.number].push_back(block);
        } catch (const std::bad_alloc&) {
            return false;
        }
        held_ += kind.bytes;
        return true;
    }

    void shrink(std::size_t limit) {
        std::lock_guard<std::mutex> lock(mutex_);
        limit_ = limit;
        release();
    }

    void release() {
        for (std::vector<void*>& list : free_) {
            for (void* block : list) std::free(block);
            list.clear();
        }
        held_ = 0;
    }

    void clear() {
        std::lock_guard<std::mutex> lock(mutex_);
        release();
    }

    std::size_t held() {
        std::lock_guard<std::mutex> lock(mutex_);
        return held_;
    }

    std::mutex& mutex() { return mutex_; }

private:
    std::mutex mutex_;
    std::array<std::vector<void*>, class_count + 1> free_;
    std::size_t held_ = 0;
    std::size_t limit_ = std::size_t{256} << 20;
};

// Never destroyed: arrays may be freed after static objects at the end of the process.
Cache& cache = *new Cache;

// Nobody is inside the cache while a process forks, so the child finds it whole.
[[maybe_unused]] const int fork_handlers =
    pthread_atfork([] { cache.mutex().lock(); }, [] { cache.mutex().unlock(); },
                   [] { cache.mutex().unlock(); });

[[maybe_unused]] constexpr std::size_t page = std::size_t{1} << 12;
constexpr std::size_t huge_page = std::size_t{1} << 21;

// Large blocks ask for huge pages: a fault for each 2 MiB instead of one for each 4 KiB, and
// addresses that the processor finds at once. Only the largest begin with one: before those of two,
// the gaps would take a third of the memory.
void* aligned(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - alignment) return nullptr;
    std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
#if defined(__linux__)
    if (rounded >= 2 * huge_page) {
        void* block = nullptr;
        std::size_t begin = rounded >= 4 * huge_page ? huge_page : page;
        if (posix_memalign(&block, begin, rounded) != 0) return nullptr;
        madvise(block, rounded / huge_page * huge_page, MADV_HUGEPAGE);  // or smaller pages serve
        return block;
    }
#endif
    return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

// Of the cache, or of the system where it has none.
void* take(std::size_t bytes) {
    SizeClass kind = size_class(bytes);
    if (kind.number >= 0) {
        if (void* block = cache.take(kind)) return block;
    }
    void* block = aligned(kind.bytes);
    if (block == nullptr) {
        cache.clear();
        block = aligned(kind.bytes);
    }
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

constexpr const char* owner_name = "nnkit.native.block";

void free_owned(PyObject* capsule) {
    void* block = PyCapsule_GetPointer(capsule, owner_name);
    auto bytes = reinterpret_cast<std::size_t>(PyCapsule_GetContext(capsule));
    deallocate(block, bytes);
}

}  // namespace

void* allocate(std::size_t bytes) {
    if (bytes < smallest_cached) {
        if (void* block = aligned(bytes)) return block;
        throw std::bad_alloc();
    }
    if (void* block = take_planned(bytes)) return block;
    void* block = take(bytes);
    note_taken(block, bytes);
    return block;
}

void* allocate_lasting(std::size_t bytes) { return take(bytes); }

void deallocate(void* block, std::size_t bytes) noexcept {
    if (bytes >= smallest_cached) {
        if (return_planned(block)) return;
        SizeClass kind = size_class(bytes);
        if (kind.number >= 0 && cache.keep(block, kind)) return;
    }
    std::free(block);
}

std::size_t cached_bytes() { return cache.held(); }

void empty_cache() {
    cache.clear();
#if defined(__GLIBC__)
    malloc_trim(0);  // which keeps what lies before a block that is in use
#endif
}

void set_cache_limit(std::size_t bytes) { cache.shrink(bytes); }

PyObject* memory_is_out(PyObject* what) {
    PyErr_Clear();  // NumPy may have said so of its own
    Owned errors(PyImport_ImportModule("nnkit.backend.errors"));
    Owned type(errors ? PyObject_GetAttrString(errors.object(), "HostMemoryError") : nullptr);
    Owned error(type ? PyObject_CallMethod(type.object(), "of", "O", what) : nullptr);
    if (error) PyErr_SetObject(type.object(), error.object());
    return nullptr;
}

PyObject* memory_is_out(const char* what) {
    Owned text(PyUnicode_FromString(what));
    return text ? memory_is_out(text.object()) : nullptr;
}

PyObject* empty(int ndim, const npy_intp* shape, PyArray_Descr* descriptor) {
    npy_intp bytes = PyDataType_ELSIZE(descriptor);
    bool fits = true;
    for (int i = 0; i < ndim; ++i) fits &= !__builtin_mul_overflow(bytes, shape[i], &bytes);
    // NumPy knows what to say of a size that no memory has.
    if (!fits || bytes < static_cast<npy_intp>(smallest_cached)) {
        return PyArray_NewFromDescr(&PyArray_Type, descriptor, ndim, shape, nullptr, nullptr, 0,
                                    nullptr);
    }
    void* block;
    try {
        block = allocate(static_cast<std::size_t>(bytes));
    } catch (const std::bad_alloc&) {
        Py_DECREF(descriptor);
        Owned what(PyUnicode_FromFormat("a result of %zd bytes", bytes));
        return what ? memory_is_out(what.object()) : nullptr;
    }
    PyObject* owner = PyCapsule_New(block, owner_name, free_owned);
    if (owner == nullptr) {
        Py_DECREF(descriptor);
        deallocate(block, static_cast<std::size_t>(bytes));
        return nullptr;
    }
    PyCapsule_SetContext(owner, reinterpret_cast<void*>(bytes));
    PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descriptor, ndim, shape, nullptr, block,
                                           NPY_ARRAY_CARRAY, nullptr);
    if (array == nullptr) {
        Py_DECREF(owner);
        return nullptr;
    }
    if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), owner) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

PyObject* empty_like(Array like) {
    PyArray_Descr* descriptor = like.descriptor();
    Py_INCREF(descriptor);
    return empty(like.ndim(), like.shape(), descriptor);
}

}  // namespace nnkit
