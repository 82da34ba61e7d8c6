// Uniform numbers and what is made of one, coins, integers and permutations.
#include "random.h"

#include <cmath>

#include "math.h"
#include "owned.h"

namespace nnkit {
namespace {

constexpr Index cheap_grain = 16384, costly_grain = 4096;

// An array to fill in the order of its memory.
bool is_target(Array x) { return x && x.is_plain() && x.is_writeable(); }

bool read_numbers(Arguments arguments, Index first, double* values, int count) {
    for (int i = 0; i < count; ++i) {
        PyObject* value = arguments[first + i];
        if (!PyFloat_Check(value) && !PyLong_Check(value)) return false;
        values[i] = PyFloat_AsDouble(value);
        if (values[i] == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    }
    return true;
}

template <class T> struct Uniform {
    T low, high, span;
    // Rounding may reach the open end.
    T operator()(T u) const {
        T value = fused(u, span, low);
        return value == high ? low : value;
    }
};

// uniform_(x; low, high, generator)
PyObject* uniform(Arguments arguments) {
    Array x = arguments.array(0);
    double bounds[2];
    if (!is_target(x) || !read_numbers(arguments, 1, bounds, 2)) return decline();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    Stream stream(arguments[3]);
    if (!stream) return decline();
    if (x.type() == Type::float64) {
        Uniform<double> scale{bounds[0], bounds[1], bounds[1] - bounds[0]};
        double* out = x.data<double>();
        for_words<2>(stream, x.size(), cheap_grain, [=](const std::uint32_t* words, Index begin,
                                                        Index end) {
            for (Index i = begin; i < end; ++i) out[i] = scale(double_of(words + 2 * (i - begin)));
        });
    } else {
        auto low = static_cast<float>(bounds[0]), high = static_cast<float>(bounds[1]);
        Uniform<float> scale{low, high, high - low};
        float* out = x.data<float>();
        for_words<1>(stream, x.size(), cheap_grain, [=](const std::uint32_t* words, Index begin,
                                                        Index end) {
            for (Index i = begin; i < end; ++i) out[i] = scale(single_of(words[i - begin]));
        });
    }
    return Py_NewRef(x.object());
}

// Coins: element i is `heads` where its 53 bits are below the threshold, else `tails`.
template <class T>
void toss(Stream& stream, T* out, Index count, double chance, T heads, T tails) {
    auto threshold = static_cast<std::int64_t>(std::ceil(chance * 0x1p53));
    for_words<2>(stream, count, cheap_grain, [=](const std::uint32_t* words, Index begin,
                                                 Index end) {
        for (Index i = begin; i < end; ++i) {
            auto bits = static_cast<std::int64_t>(bits53_of(words + 2 * (i - begin)));
            out[i] = bits < threshold ? heads : tails;
        }
    });
}

// The same as bytes: the comparisons of 64 bits first, which would else be made one by one.
void toss_flags(Stream& stream, std::uint8_t* out, Index count, double chance) {
    auto threshold = static_cast<std::int64_t>(std::ceil(chance * 0x1p53));
    for_words<2>(stream, count, cheap_grain, [=](const std::uint32_t* words, Index begin,
                                                 Index end) {
        constexpr Index turn = 256;
        alignas(alignment) std::int32_t heads[turn];
        for (Index start = begin; start < end; start += turn) {
            Index size = std::min(turn, end - start);
            const std::uint32_t* pairs = words + 2 * (start - begin);
            for (Index i = 0; i < size; ++i) {
                heads[i] = static_cast<std::int64_t>(bits53_of(pairs + 2 * i)) < threshold;
            }
            for (Index i = 0; i < size; ++i) out[start + i] = static_cast<std::uint8_t>(heads[i]);
        }
    });
}

// bernoulli_(x; p, generator)
PyObject* bernoulli(Arguments arguments) {
    Array x = arguments.array(0);
    double p;
    if (!is_target(x) || !read_numbers(arguments, 1, &p, 1)) return decline();
    Type type = x.type();
    bool known = type == Type::float32 || type == Type::float64 || type == Type::boolean ||
                 type == Type::int64;
    if (!known) return decline();
    Stream stream(arguments[2]);
    if (!stream) return decline();
    Index n = x.size();
    if (type == Type::float32) toss(stream, x.data<float>(), n, p, 1.0f, 0.0f);
    else if (type == Type::float64) toss(stream, x.data<double>(), n, p, 1.0, 0.0);
    else if (type == Type::int64) toss<std::int64_t>(stream, x.data<std::int64_t>(), n, p, 1, 0);
    else toss_flags(stream, x.data<std::uint8_t>(), n, p);
    return Py_NewRef(x.object());
}

// Whether each chance lies within [0, 1].
template <class T> bool are_chances(const T* p, Index count) {
    bool inside = true;
    for (Index i = 0; i < count; ++i) inside &= (p[i] >= 0) & (p[i] <= 1);
    return inside;
}

// Coins that each have a chance of their own, of as many bits as it.
template <class T> bool toss_each(Stream& stream, const T* p, T* out, Index count) {
    if (!are_chances(p, count)) return false;
    constexpr int each = sizeof(T) / sizeof(std::uint32_t);
    for_words<each>(stream, count, cheap_grain, [=](const std::uint32_t* words, Index begin,
                                                    Index end) {
        for (Index i = begin; i < end; ++i) {
            const std::uint32_t* own = words + each * (i - begin);
            T u;
            if constexpr (each == 1) u = single_of(*own);
            else u = double_of(own);
            out[i] = u < p[i];
        }
    });
    return true;
}

bool toss_each(PyObject* generator, Array p, Array out) {
    Stream stream(generator);
    if (!stream) return false;
    if (p.type() == Type::float32) {
        return toss_each(stream, p.data<float>(), out.data<float>(), p.size());
    }
    return toss_each(stream, p.data<double>(), out.data<double>(), p.size());
}

bool has_chances(Array p) {
    return p && p.is_plain() && (p.type() == Type::float32 || p.type() == Type::float64);
}

// bernoulli_from_(x, p; generator): of one shape and dtype.
PyObject* bernoulli_from(Arguments arguments) {
    Array x = arguments.array(0), p = arguments.array(1);
    if (!is_target(x) || !has_chances(p) || x.type() != p.type() || !x.same_shape(p)) {
        return decline();
    }
    return toss_each(arguments[2], p, x) ? Py_NewRef(x.object()) : decline();
}

// bernoulli(p; generator)
PyObject* bernoulli_of(Arguments arguments) {
    Array p = arguments.array(0);
    if (!has_chances(p)) return decline();
    Owned result(empty_like(p));
    if (!result) return nullptr;
    return toss_each(arguments[1], p, result.array()) ? result.release() : decline();
}

// dropout_mask(x; p, generator)
PyObject* dropout_mask(Arguments arguments) {
    Array x = arguments.array(0);
    double p;
    if (!x || !x.is_plain() || !read_numbers(arguments, 1, &p, 1)) return decline();
    Stream stream(arguments[2]);
    if (!stream) return decline();
    Owned result(empty<bool>(x.ndim(), x.shape()));
    if (!result) return nullptr;
    toss_flags(stream, result.array().data<std::uint8_t>(), x.size(), 1.0 - p);
    return result.release();
}

template <class T>
void drop(Stream& stream, const T* x, T* out, T* noise, Index count, double p) {
    auto threshold = static_cast<std::int64_t>(std::ceil((1.0 - p) * 0x1p53));
    T kept = T{1} / static_cast<T>(1.0 - p);
    for_words<2>(stream, count, cheap_grain, [=](const std::uint32_t* words, Index begin,
                                                 Index end) {
        for (Index i = begin; i < end; ++i) {
            auto bits = static_cast<std::int64_t>(bits53_of(words + 2 * (i - begin)));
            noise[i] = bits < threshold ? kept : T{0};
        }
        for (Index i = begin; i < end; ++i) out[i] = x[i] * noise[i];
    });
}

// dropout(x; p, feature) -> out, noise
PyObject* dropout(Arguments arguments) {
    Array x = arguments.array(0);
    double p;
    if (!x || !x.is_plain() || !read_numbers(arguments, 1, &p, 1)) return decline();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    if (arguments[2] != Py_False) return decline();
    Stream stream(Py_None);
    if (!stream) return decline();
    Owned out(empty_like(x)), noise(empty_like(x));
    if (out && noise) {
        Array a = out.array(), b = noise.array();
        if (x.type() == Type::float32) {
            drop(stream, x.data<float>(), a.data<float>(), b.data<float>(), x.size(), p);
        } else {
            drop(stream, x.data<double>(), a.data<double>(), b.data<double>(), x.size(), p);
        }
    }
    return tuple({out.release(), noise.release()});
}

// Fills the first argument with `make(u)`, u uniform in [0, 1), in double precision.
template <class Make>
PyObject* fill_from_uniform(Arguments arguments, PyObject* generator, Make make) {
    Array x = arguments.array(0);
    if (!is_target(x)) return decline();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    Stream stream(generator);
    if (!stream) return decline();
    auto fill = [&](auto* out) {
        using T = std::remove_pointer_t<decltype(out)>;
        for_words<2>(stream, x.size(), costly_grain, [=](const std::uint32_t* words, Index begin,
                                                         Index end) {
            for (Index i = begin; i < end; ++i) {
                out[i] = static_cast<T>(make(double_of(words + 2 * (i - begin))));
            }
        });
    };
    if (x.type() == Type::float32) fill(x.data<float>());
    else fill(x.data<double>());
    return Py_NewRef(x.object());
}

// exponential_(x; lambd, generator)
PyObject* exponential(Arguments arguments) {
    double lambd;
    if (!read_numbers(arguments, 1, &lambd, 1) || lambd == 0) return decline();
    return fill_from_uniform(arguments, arguments[2], [factor = -1.0 / lambd](double u) {
        return factor * math::log1p(-u);
    });
}

// geometric_(x; p, generator)
PyObject* geometric(Arguments arguments) {
    double p;
    if (!read_numbers(arguments, 1, &p, 1)) return decline();
    return fill_from_uniform(arguments, arguments[2], [scale = std::log1p(-p)](double u) {
        return std::ceil(std::log(u) / scale);
    });
}

// cauchy_(x; median, sigma, generator)
PyObject* cauchy(Arguments arguments) {
    double given[2];
    if (!read_numbers(arguments, 1, given, 2)) return decline();
    return fill_from_uniform(arguments, arguments[3],
                             [median = given[0], sigma = given[1]](double u) {
        return fused(std::tan(3.141592653589793 * (u - 0.5)), sigma, median);
    });
}

// A word modulo a divisor below 2**28, by way of the quotient in double, vectorised.
struct Remainder {
    double divisor, inverse;
    explicit Remainder(std::int64_t divisor)
        : divisor(static_cast<double>(divisor)), inverse(1.0 / this->divisor) {}
    std::int64_t operator()(std::uint32_t word) const {
        double x = bit_cast<double>(word | 0x4330000000000000u) - 0x1p52;
        double rest = x - std::floor(x * inverse) * divisor;  // each step but the product is exact
        rest = rest < 0 ? rest + divisor : rest;
        rest = rest >= divisor ? rest - divisor : rest;
        return bit_cast<std::int64_t>(rest + 0x1p52) - 0x4330000000000000;
    }
};

template <class T>
void draw_integers(Stream& stream, T* out, Index count, std::int64_t low, std::uint64_t range,
                   bool wide) {
    if (!wide) {
        Remainder remainder(static_cast<std::int64_t>(range));
        for_words<1>(stream, count, cheap_grain, [=](const std::uint32_t* words, Index begin,
                                                     Index end) {
            for (Index i = begin; i < end; ++i) {
                out[i] = static_cast<T>(remainder(temper(words[i - begin])) + low);
            }
        });
        return;
    }
    for_words<2>(stream, count, cheap_grain, [=](const std::uint32_t* words, Index begin,
                                                 Index end) {
        for (Index i = begin; i < end; ++i) {
            const std::uint32_t* pair = words + 2 * (i - begin);
            std::uint64_t high = temper(pair[0]), low_half = temper(pair[1]);
            std::uint64_t value = (high << 32 | low_half) % range;
            out[i] = static_cast<T>(static_cast<std::int64_t>(value) + low);
        }
    });
}

// random_(x; low, high, generator)
PyObject* random_integers(Arguments arguments) {
    Array x = arguments.array(0);
    if (!is_target(x)) return decline();
    Type type = x.type();
    std::int64_t low = 0;
    std::uint64_t range;
    if (arguments.is_none(1)) {
        if (type == Type::float32) range = (std::uint64_t{1} << 24) + 1;
        else if (type == Type::float64) range = (std::uint64_t{1} << 53) + 1;
        else if (type == Type::int64) range = std::uint64_t{1} << 63;
        else return decline();
    } else {
        if (!PyLong_Check(arguments[1]) || !PyLong_Check(arguments[2])) return decline();
        int low_overflow, high_overflow;
        low = PyLong_AsLongLongAndOverflow(arguments[1], &low_overflow);
        std::int64_t high = PyLong_AsLongLongAndOverflow(arguments[2], &high_overflow);
        if (low_overflow || high_overflow || low >= high) return decline();
        range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    }
    bool wide = range >= (std::uint64_t{1} << 28);
    bool known = type == Type::float32 || type == Type::float64 || type == Type::int64 ||
                 type == Type::int32;
    if (!known) return decline();
    Stream stream(arguments[3]);
    if (!stream) return decline();
    auto fill = [&](auto* out) { draw_integers(stream, out, x.size(), low, range, wide); };
    if (type == Type::int64) fill(x.data<std::int64_t>());
    else if (type == Type::int32) fill(x.data<std::int32_t>());
    else if (type == Type::float32) fill(x.data<float>());
    else fill(x.data<double>());
    return Py_NewRef(x.object());
}

// Fisher-Yates, forwards: step i exchanges place i with place i + r mod (n - i). The words of a
// block are known beforehand, so the places that it will touch are called into cache in time.
void permute(Stream& stream, std::int64_t* out, Index n) {
    constexpr Index block = 1024, ahead = 16;
    for (Index i = 0; i < n; ++i) out[i] = i;
    std::uint32_t words[block];
    Index targets[block];
    for (Index start = 0; start < n - 1; start += block) {
        Index count = std::min(block, n - 1 - start);
        stream.draw(words, count);
        for (Index i = 0; i < count; ++i) {
            auto left = static_cast<std::uint32_t>(n - start - i);
            targets[i] = start + i + temper(words[i]) % left;
        }
        for (Index i = 0; i < count; ++i) {
            if (i + ahead < count) __builtin_prefetch(out + targets[i + ahead], 1);
            std::swap(out[start + i], out[targets[i]]);
        }
    }
}

// randperm(; n, dtype, generator)
PyObject* randperm(Arguments arguments) {
    Index n = arguments.integer(0);
    if (n < 2 || n > INT32_MAX || !PyArray_DescrCheck(arguments[1])) return decline();
    auto* descriptor = reinterpret_cast<PyArray_Descr*>(arguments[1]);
    if (descriptor->type_num != NPY_INT64) return decline();
    Stream stream(arguments[2]);
    if (!stream) return decline();
    Owned result(empty<std::int64_t>({n}));
    if (result) permute(stream, result.array().data<std::int64_t>(), n);
    return result.release();
}

Registration registrations[] = {
    {"uniform_", uniform},
    {"bernoulli_", bernoulli},
    {"bernoulli_from_", bernoulli_from},
    {"bernoulli", bernoulli_of},
    {"dropout_mask", dropout_mask},
    {"dropout", dropout},
    {"exponential_", exponential},
    {"geometric_", geometric},
    {"cauchy_", cauchy},
    {"random_", random_integers},
    {"randperm", randperm},
};

}  // namespace
}  // namespace nnkit
