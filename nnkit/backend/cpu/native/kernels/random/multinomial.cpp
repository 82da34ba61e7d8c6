// Categories drawn from rows of weights.
#include <algorithm>
#include <limits>

#include "computed.h"
#include "owned.h"
#include "random.h"

namespace nnkit {
namespace {

constexpr Index work_of_task = 8192;  // weights

// Whether the weights are finite and not negative, and each row has one above 0.
template <class T> bool are_weights(const T* p, Index rows, Index categories) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    for (Index row = 0; row < rows; ++row, p += categories) {
        bool inside = true, any = false;
        for (Index i = 0; i < categories; ++i) {
            inside &= (p[i] >= 0) & (p[i] < infinity);
            any |= p[i] > 0;
        }
        if (!inside || !any) return false;
    }
    return true;
}

// The category of each uniform number: the first whose share of the sum, with all before it, is as
// large.
template <class T>
void choose(const T* sums, Index categories, const double* uniform, Index samples,
            std::int64_t* chosen) {
    const T whole = sums[categories - 1];
    for (Index k = 0; k < samples; ++k) {
        const T* place = std::lower_bound(sums, sums + categories - 1, uniform[k],
                                          [whole](T sum, double u) { return sum / whole < u; });
        chosen[k] = place - sums;
    }
}

template <class T> PyObject* multinomial_of(Array p, Index samples, Stream& stream) {
    const Index categories = p.shape(-1), rows = p.size() / categories;
    const T* weights = p.data<T>();
    if (!are_weights(weights, rows, categories)) return decline();
    npy_intp shape[] = {rows, samples};
    Owned result(p.ndim() == 1 ? empty<std::int64_t>(1, shape + 1) : empty<std::int64_t>(2, shape));
    if (!result) return nullptr;
    Scratch<double> uniform(rows * samples);
    for_words<2>(stream, rows * samples, work_of_task,
                 [&](const std::uint32_t* words, Index begin, Index end) {
                     for (Index i = begin; i < end; ++i) {
                         uniform[i] = double_of(words + 2 * (i - begin));
                     }
                 });
    std::int64_t* chosen = result.array().template data<std::int64_t>();
    const Index grain = std::max<Index>(1, work_of_task / categories);
    parallel_for(rows, grain, [&](Index begin, Index end) {
        Buffer<T> sums(categories);
        for (Index row = begin; row < end; ++row) {
            poll();
            T sum = 0;
            for (Index i = 0; i < categories; ++i) {
                sum += weights[row * categories + i];
                sums[i] = sum;
            }
            choose(sums.data(), categories, uniform.data() + row * samples, samples,
                   chosen + row * samples);
        }
    });
    return result.release();
}

// multinomial(p; num_samples, replacement, generator), with replacement
PyObject* multinomial(Arguments arguments) {
    Array p = arguments.array(0);
    if (!p || !p.is_plain() || p.size() == 0 || !arguments.truth(2)) return decline();
    if (p.ndim() == 0 || p.ndim() > 2) return decline();
    if (p.type() != Type::float32 && p.type() != Type::float64) return decline();
    Stream stream(arguments[3]);
    if (!stream) return decline();
    const Index samples = arguments.integer(1);
    return p.type() == Type::float32 ? multinomial_of<float>(p, samples, stream)
                                     : multinomial_of<double>(p, samples, stream);
}

Registration multinomial_("multinomial", multinomial);

}  // namespace
}  // namespace nnkit
