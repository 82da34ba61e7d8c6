// CuPy's stable sorts by Thrust, played: done when their stream comes to them.
#include "played.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace {

template <class T> bool less(T x, T y) { return x != x ? false : y != y ? true : x < y; }
template <class T> bool less(std::complex<T> x, std::complex<T> y) {
    const bool x_is_nan = x != x, y_is_nan = y != y;
    if (x_is_nan || y_is_nan) return !x_is_nan && y_is_nan;
    return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag());
}

// Positions of the sorted elements of each row, and the rows sorted.
template <class T>
void sort_rows(T* data, size_t* index, size_t count, size_t length) {
    std::vector<size_t> order(length);
    std::vector<T> row(length);
    for (size_t start = 0; start < count; start += length) {
        std::iota(order.begin(), order.end(), size_t(0));
        std::copy(data + start, data + start + length, row.begin());
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return less(row[a], row[b]); });
        for (size_t i = 0; i < length; ++i) {
            data[start + i] = row[order[i]];
            if (index) index[start + i] = order[i];
        }
    }
}

template <class T>
void order_by_keys(const T* keys, size_t* index, size_t number, size_t count) {
    std::iota(index, index + count, size_t(0));
    for (size_t k = 0; k < number; ++k) {
        const T* key = keys + k * count;
        std::stable_sort(index, index + count,
                         [&](size_t a, size_t b) { return less(key[a], key[b]); });
    }
}

// CuPy's numbers of dtypes (cupy/type_dispatcher.cuh).
template <class Run>
void with_dtype(int dtype, Run run) {
    switch (dtype) {
        case 0: return run(int8_t());
        case 1: return run(uint8_t());
        case 2: return run(int16_t());
        case 3: return run(uint16_t());
        case 4: return run(int32_t());
        case 5: return run(uint32_t());
        case 6: return run(int64_t());
        case 7: return run(uint64_t());
        case 8: return run(_Float16());
        case 9: return run(float());
        case 10: return run(double());
        case 11: return run(std::complex<float>());
        case 12: return run(std::complex<double>());
        case 13: return run(uint8_t());
        default: abort();
    }
}

size_t elements(const std::vector<long>& shape) {
    size_t n = 1;
    for (long length : shape) n *= length;
    return n;
}

}  // namespace

void thrust_sort(int dtype, void* data, size_t*, const std::vector<long>& shape, long stream, void*) {
    const size_t count = elements(shape), length = shape.back();
    played::enqueue(reinterpret_cast<void*>(stream), [=] {
        with_dtype(dtype, [=](auto one) {
            sort_rows(static_cast<decltype(one)*>(data), nullptr, count, length);
        });
        return 0;
    });
}
void thrust_argsort(int dtype, size_t* index, void* data, void*, const std::vector<long>& shape,
                    long stream, void*) {
    const size_t count = elements(shape), length = shape.back();
    played::enqueue(reinterpret_cast<void*>(stream), [=] {
        with_dtype(dtype, [=](auto one) {
            sort_rows(static_cast<decltype(one)*>(data), index, count, length);
        });
        return 0;
    });
}
void thrust_lexsort(int dtype, size_t* index, void* keys, size_t number, size_t count, long stream,
                    void*) {
    played::enqueue(reinterpret_cast<void*>(stream), [=] {
        with_dtype(dtype, [=](auto one) {
            order_by_keys(static_cast<const decltype(one)*>(keys), index, number, count);
        });
        return 0;
    });
}
