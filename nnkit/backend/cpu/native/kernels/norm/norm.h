// Shared by all normalizations: mean and variance of long stretches, pieces of work.
#pragma once

#include <cmath>

#include "computed.h"
#include "parallel.h"

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
        // Around the first number: the mean of equal numbers is that number, as torch's.
        T first = std::isfinite(x[0]) ? x[0] : T(0);
        double shift = sum_of<T>(count, [first](auto v) { return v - first; }, x) / n;
        T mean = static_cast<T>(first + shift);
        double squares = sum_of<T>(
            count, [mean](auto v) { auto distance = v - mean; return distance * distance; }, x);
        double both = count_ + n, step = mean - mean_;
        mean_ += count_ == 0 ? step : step * (n / both);
        squares_ += count_ == 0 ? squares : squares + step * step * (count_ * n / both);
        count_ = both;
    }

    double count_ = 0, mean_ = 0, squares_ = 0;
};

// A statistic as torch keeps it: in the type of the input.
template <class T> inline T kept(T statistic, Type type) {
    if (type == Type::float16) return static_cast<T>(convert<float>(convert<Float16>(statistic)));
    if (type == Type::bfloat16) return static_cast<T>(convert<float>(convert<BFloat16>(statistic)));
    return statistic;
}

template <class T> inline T inverse_deviation(T variance, double eps) {
    return T(1) / std::sqrt(variance + static_cast<T>(eps));
}

}  // namespace nnkit
