// Distributions drawn by rejection: how many words an element takes is not known before, so one
// thread draws them one after the other, in the order of the elements.
#include <cmath>
#include <limits>

#include "owned.h"
#include "random.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr double two_pi = 6.283185307179586;

// Single numbers of a stream.
class Draws {
public:
    explicit Draws(Stream& stream) : stream_(stream) {
        has_waiting_ = stream.take_waiting(&waiting_);
    }
    // False with an error set.
    bool finish() { return !has_waiting_ || stream_.put_waiting(waiting_); }
    // In [0, 1).
    double uniform() {
        std::uint32_t words[2];
        stream_.draw(words, 2);
        return double_of(words);
    }
    double normal() {
        if (std::exchange(has_waiting_, false)) return waiting_;
        double angle = two_pi * uniform();
        double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
        waiting_ = radius * std::sin(angle);
        has_waiting_ = true;
        return radius * std::cos(angle);
    }

private:
    Stream& stream_;
    double waiting_ = 0;
    bool has_waiting_;
};

// Marsaglia and Tsang 2000; a concentration below 1 is raised by 1, and the draw scaled.
template <class T> double draw_gamma(T alpha, Draws& draws) {
    double scale = 1;
    if (alpha < 1) {
        if (alpha == 0) return 0;
        scale = std::pow(1 - draws.uniform(), static_cast<double>(T{1} / alpha));
        alpha += 1;
    }
    double d = alpha - static_cast<T>(1.0f / 3.0f), c = 1 / std::sqrt(9 * d);
    for (;;) {
        double x, y;
        do {
            x = draws.normal();
            y = 1 + c * x;
        } while (y <= 0);
        double v = y * y * y, u = 1 - draws.uniform(), square = x * x;
        if (u < 1 - static_cast<double>(0.0331f) * square * square) return scale * d * v;
        if (std::log(u) < 0.5 * square + d * (1 - v + std::log(v))) return scale * d * v;
    }
}

// Knuth's count of factors until the product falls below exp(-rate).
double draw_poisson_small(double rate, Draws& draws) {
    double limit = std::exp(-rate), product = draws.uniform(), count = 0;
    for (; product > limit; product *= draws.uniform()) ++count;
    return count;
}

// Transformed rejection with squeeze (Hoermann 1993, PTRS), for rates of at least 10.
double draw_poisson_large(double rate, Draws& draws) {
    double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    double log_rate = std::log(rate);
    for (;;) {
        double u = draws.uniform() - 0.5, v = draws.uniform(), us = 0.5 - std::fabs(u);
        double k = std::floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= v_r) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        double left = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
        if (left <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
    }
}

// Sums of geometric numbers, until they pass the count; for count * p below 10.
double draw_binomial_small(double count, double p, Draws& draws) {
    double scale = std::log1p(-p), sum = 0, successes = 0;
    for (;; ++successes) {
        sum += std::ceil(std::log(draws.uniform()) / scale);
        if (!(sum <= count)) return successes;
    }
}

// The remainder of Stirling's formula for log k!.
double stirling_rest(double k) {
    static const double first[] = {
        0.0810614667953272582, 0.0413406959554092941, 0.0276779256849983391, 0.0207906721037650931,
        0.0166446911898211922, 0.0138761288230707480, 0.0118967099458917701, 0.0104112652619720964,
        0.0092554621827127329, 0.0083305634333628711,
    };
    if (k <= 9) return first[static_cast<int>(k)];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Transformed rejection (Hoermann 1993, BTRS), for count * p of at least 10.
double draw_binomial_large(double count, double p, Draws& draws) {
    double stddev = std::sqrt(count * p * (1 - p));
    double b = 1.15 + 2.53 * stddev, a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5;
    double v_r = 0.92 - 4.2 / b, r = p / (1 - p), alpha = (2.83 + 5.1 / b) * stddev;
    double m = std::floor((count + 1) * p);
    for (;;) {
        double u = draws.uniform() - 0.5, v = draws.uniform(), us = 0.5 - std::fabs(u);
        double k = std::floor((2 * a / us + b) * u + c);
        if (k < 0 || k > count) continue;
        if (us >= 0.07 && v <= v_r) return k;
        double bound = (m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) +
                       (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                       (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) + stirling_rest(m) +
                       stirling_rest(count - m) - stirling_rest(k) - stirling_rest(count - k);
        if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
    }
}

double draw_binomial(double count, double p, Draws& draws) {
    if (count <= 0 || p <= 0) return 0;
    if (p >= 1) return count;
    if (!(p == p)) return p;
    double rarer = p <= 0.5 ? p : 1 - p;
    double drawn = count * rarer >= 10 ? draw_binomial_large(count, rarer, draws)
                                       : draw_binomial_small(count, rarer, draws);
    return p <= 0.5 ? drawn : count - drawn;
}

// Fills an array shaped as x; `draw` is given the index of an element.
template <class T, class Draw>
PyObject* sample(Array x, PyObject* generator, Draw draw) {
    Stream stream(generator);
    if (!stream) return decline();
    Owned result(empty_like(x));
    if (!result) return nullptr;
    Draws draws(stream);
    T* out = result.array().data<T>();
    for (Index i = 0; i < x.size(); ++i) {
        if (i % 4096 == 4095) poll();
        out[i] = static_cast<T>(draw(i, draws));
    }
    return draws.finish() ? result.release() : nullptr;
}

bool is_source(Array x) {
    return x && (x.type() == Type::float32 || x.type() == Type::float64);
}

// standard_gamma(x; generator)
template <class T> PyObject* gamma_of(Array x, PyObject* generator) {
    const T* alpha = x.data<T>();
    return sample<T>(x, generator, [=](Index i, Draws& draws) {
        auto drawn = static_cast<T>(draw_gamma(alpha[i], draws));
        return std::max(std::numeric_limits<T>::min(), drawn);
    });
}

PyObject* standard_gamma(Arguments arguments) {
    if (!is_source(arguments.array(0))) return decline();
    Owned x = in_order(arguments.array(0));
    if (!x) return nullptr;
    if (x.array().type() == Type::float32) return gamma_of<float>(x.array(), arguments[1]);
    return gamma_of<double>(x.array(), arguments[1]);
}

// poisson(x; generator)
template <class T> PyObject* poisson_of(Array x, PyObject* generator) {
    const T* rates = x.data<T>();
    for (Index i = 0; i < x.size(); ++i) {
        if (!(rates[i] >= 0)) return decline();
    }
    return sample<T>(x, generator, [=](Index i, Draws& draws) -> double {
        double rate = rates[i];
        if (rate == 0) return 0;
        return rate >= 10 ? draw_poisson_large(rate, draws) : draw_poisson_small(rate, draws);
    });
}

PyObject* poisson(Arguments arguments) {
    if (!is_source(arguments.array(0))) return decline();
    Owned x = in_order(arguments.array(0));
    if (!x) return nullptr;
    if (x.array().type() == Type::float32) return poisson_of<float>(x.array(), arguments[1]);
    return poisson_of<double>(x.array(), arguments[1]);
}

// binomial(count, p; generator)
template <class T> PyObject* binomial_of(Array count, Array p, PyObject* generator) {
    const T *counts = count.data<T>(), *chances = p.data<T>();
    return sample<T>(count, generator, [=](Index i, Draws& draws) {
        return draw_binomial(counts[i], chances[i], draws);
    });
}

PyObject* binomial(Arguments arguments) {
    Array given = arguments.array(0), chances = arguments.array(1);
    if (!is_source(given) || !is_source(chances) || given.type() != chances.type() ||
        given.size() != chances.size()) {
        return decline();
    }
    Owned count = in_order(given), p = in_order(chances);
    if (!count || !p) return nullptr;
    auto sampled = given.type() == Type::float32 ? binomial_of<float> : binomial_of<double>;
    return sampled(count.array(), p.array(), arguments[2]);
}

Registration registrations[] = {
    {"standard_gamma", standard_gamma},
    {"poisson", poisson},
    {"binomial", binomial},
};

}  // namespace
}  // namespace nnkit
