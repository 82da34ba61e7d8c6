// What all normalizations share: mean and variance of long stretches, arguments, pieces of work.
#pragma once

#include <cmath>
#include <optional>

#include "parallel.h"
#include "rows.h"

namespace nnkit {

constexpr Index elements_of_norm_piece = 16384;

// Mean and sum of squared distances from it, of numbers that come in chunks: each chunk is added up
// around its own mean while it is in the cache, and chunks are joined by T. F. Chan's formula.
class Moments {
public:
    template <class T> void add(const T* x, Index count, bool centre) {
        constexpr Index chunk = 4096;
        for (Index start = 0; start < count; start += chunk) {
            add_chunk(x + start, std::min(chunk, count - start), centre);
        }
    }
    double mean() const { return mean_; }
    double variance() const { return squares_ / count_; }

private:
    template <class T> void add_chunk(const T* x, Index count, bool centre) {
        if (!centre) {
            squares_ += sum_of<T>(count, [](auto v) { return v * v; }, x);
            count_ += static_cast<double>(count);
            return;
        }
        double n = static_cast<double>(count);
        T mean = static_cast<T>(sum_of(x, count) / n);
        double squares = sum_of<T>(
            count, [mean](auto v) { auto distance = v - mean; return distance * distance; }, x);
        double both = count_ + n, step = mean - mean_;
        mean_ += count_ == 0 ? step : step * (n / both);
        squares_ += count_ == 0 ? squares : squares + step * step * (count_ * n / both);
        count_ = both;
    }

    double count_ = 0, mean_ = 0, squares_ = 0;
};

template <class T> inline T inverse_deviation(T variance, double eps) {
    return T(1) / std::sqrt(variance + static_cast<T>(eps));
}

// A parameter or another array of a call, in the type that is computed in: halves are widened.
class Input {
public:
    // False if the array is not of this size or type, or lies oddly (an error may be set).
    bool read(Array a, Type type, Index size) {
        if (!a || a.type() != type || a.size() != size || !a.is_behaved()) return false;
        array_ = in_order(a);
        if (!array_) return false;
        if (item_size(type) > 2) return true;
        Owned wide(empty<float>(a.ndim(), a.shape()));
        if (!wide) return false;
        float* to = wide.array().data<float>();
        if (type == Type::float16) convert_row(array_.array().data<Float16>(), to, size);
        else convert_row(array_.array().data<BFloat16>(), to, size);
        array_ = std::move(wide);
        return true;
    }
    // The same, but None is fine.
    bool read_optional(Arguments arguments, Index i, Type type, Index size) {
        return arguments.is_none(i) || read(arguments.array(i), type, size);
    }
    Array array() const { return array_.array(); }
    template <class T> const T* data() const { return array_ ? array().data<T>() : nullptr; }

private:
    Owned array_;
};

// A result that was computed in float32 as the half that it is to be; others stay as they are.
inline PyObject* narrowed(Owned result, Type type) {
    if (!result || item_size(type) > 2) return result.release();
    Array a = result.array();
    int number = type == Type::float16 ? static_cast<int>(NPY_HALF) : bfloat16_number;
    Owned half(empty(a.ndim(), a.shape(), PyArray_DescrFromType(number)));
    if (!half) return nullptr;
    if (type == Type::float16) convert_row(a.data<float>(), half.array().data<Float16>(), a.size());
    else convert_row(a.data<float>(), half.array().data<BFloat16>(), a.size());
    return half.release();
}

// `run(float())` or `run(double())`, whatever the floating type is computed in.
template <class Run> auto by_computed_type(Type type, Run run) {
    return type == Type::float64 ? run(double()) : run(float());
}

inline bool is_floating(Array a) {
    return a && a.type() >= Type::float16 && a.type() != Type::other;
}

}  // namespace nnkit
