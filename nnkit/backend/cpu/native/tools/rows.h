// Tools of kernels over rows: arrays as (outer, count, inner), sums and maxima of a row, buffers.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "array.h"
#include "half.h"
#include "math.h"
#include "memory.h"
#include "owned.h"
#include "vector.h"

namespace nnkit {

// The type that a storage type is computed in.
template <class S> using Computed = std::conditional_t<(sizeof(S) < 4), float, S>;

// An array seen as (outer, count, inner): a slice is `count` elements, `inner` apart.
struct AxisView {
    Index outer = 1, count = 1, inner = 1;

    AxisView(Array x, int axis) {
        int i = 0;
        for (; i < axis; ++i) outer *= x.shape()[i];
        if (i < x.ndim()) count = x.shape()[i++];
        for (; i < x.ndim(); ++i) inner *= x.shape()[i];
    }
    Index rows() const { return outer * inner; }
    Index size() const { return outer * count * inner; }
};

// The array itself if a kernel may walk along its bare pointer, else a copy in plain C order; none,
// with the error set, if there is no memory.
Owned in_order(Array a);

// A buffer that lies on the stack while it is small: an allocation costs as much as a short row.
template <class T, Index small = 512> class Buffer {
public:
    explicit Buffer(Index count) {
        if (count > small) {
            bytes_ = static_cast<std::size_t>(count) * sizeof(T);
            data_ = static_cast<T*>(allocate(bytes_));
        }
    }
    ~Buffer() {
        if (data_ != local_) deallocate(data_, bytes_);
    }
    Buffer(const Buffer&) = delete;
    T* data() { return data_; }
    T& operator[](Index i) { return data_[i]; }

private:
    alignas(alignment) T local_[small];
    T* data_ = local_;
    std::size_t bytes_ = 0;
};

// The largest number; NaN does not count.
template <class T> inline T max_of(const T* x, Index count) {
    constexpr Index width = register_bytes / sizeof(T);
    T best = -std::numeric_limits<T>::infinity();
    Index i = 0;
    if (count >= 2 * width) {
        Register<T> low, high;
        std::memcpy(&low, x, sizeof low);
        std::memcpy(&high, x + width, sizeof high);
        for (i = 2 * width; i + 2 * width <= count; i += 2 * width) {
            Register<T> first, second;
            std::memcpy(&first, x + i, sizeof first);
            std::memcpy(&second, x + i + width, sizeof second);
            low = first > low ? first : low;
            high = second > high ? second : high;
        }
        low = high > low ? high : low;
        T part[width];
        std::memcpy(part, &low, sizeof part);
        for (T value : part) best = value > best ? value : best;
    }
    for (; i < count; ++i) best = x[i] > best ? x[i] : best;
    return best;
}

// exp(x - shift) of rows that follow each other; `shift[r]` becomes the largest number of row r.
template <class T> void exp_of_rows(const T* x, T* out, Index rows, Index count, T* shift) {
    for (Index r = 0; r < rows; ++r) {
        T largest = shift[r] = max_of(x + r * count, count);
        for (Index i = r * count; i < (r + 1) * count; ++i) out[i] = x[i] - largest;
    }
    // In one loop, which uses whole registers for short rows too.
    for (Index i = 0; i < rows * count; ++i) out[i] = math::exp_of_negative(out[i]);
}

// The sum of f(a[i], b[i] ...) over the elements of rows. Each block is added up in lanes of a
// fixed width, and the blocks in double precision: the order depends on the count alone.
template <class T, class Term, class... Rows>
inline T sum_of(Index count, Term term, const Rows*... rows) {
    constexpr Index block = 64 * lanes<T>;
    double total = 0;
    Index i = 0;
    while (i + lanes<T> <= count) {
        Index end = std::min(i + block, count);
        Vector<T> sums[4] = {};
        for (; i + 4 * lanes<T> <= end; i += 4 * lanes<T>) {
            sums[0] += term(load(rows + i)...);
            sums[1] += term(load(rows + i + lanes<T>)...);
            sums[2] += term(load(rows + i + 2 * lanes<T>)...);
            sums[3] += term(load(rows + i + 3 * lanes<T>)...);
        }
        for (; i + lanes<T> <= end; i += lanes<T>) sums[0] += term(load(rows + i)...);
        total += sum_lanes<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
    T rest = 0;
    for (; i < count; ++i) rest += term(rows[i]...);
    return static_cast<T>(total + rest);
}

template <class T> inline T sum_of(const T* x, Index count) {
    return sum_of<T>(count, [](auto value) { return value; }, x);
}

// The sums down `width` columns of term(position, column), `step` apart, into `total`. Blocks of
// rows are added up in double precision, so that long columns are as exact as short ones.
template <class T, class Term>
inline void sum_columns(Index count, Index step, Index width, T* total, Term term) {
    constexpr Index block = 64;
    Buffer<double> wide(count > block ? width : 0);
    std::fill_n(wide.data(), count > block ? width : 0, 0.0);
    for (Index start = 0; start < count; start += block) {
        std::fill_n(total, width, T(0));
        for (Index k = start; k < std::min(start + block, count); ++k) {
            for (Index j = 0; j < width; ++j) total[j] += term(k * step + j, j);
        }
        if (count > block) for (Index j = 0; j < width; ++j) wide[j] += total[j];
    }
    if (count > block) for (Index j = 0; j < width; ++j) total[j] = static_cast<T>(wide[j]);
}

// The largest numbers of `width` columns of `count` elements, `step` apart.
template <class T>
inline void max_of_columns(const T* x, Index count, Index step, Index width, T* largest) {
    std::copy_n(x, width, largest);
    for (Index k = 1; k < count; ++k) {
        const T* row = x + k * step;
        for (Index j = 0; j < width; ++j) largest[j] = row[j] > largest[j] ? row[j] : largest[j];
    }
}

// Calls `run` with a number of the C++ type of a floating type.
template <class Run> auto by_type(Type type, Run run) {
    switch (type) {
        case Type::float16: return run(Float16());
        case Type::bfloat16: return run(BFloat16());
        case Type::float32: return run(float());
        default: return run(double());
    }
}

}  // namespace nnkit
