// Normal numbers by the Box-Muller transform, bit for bit as PyTorch's CPU kernels compute them.
//
// With u1 in (0, 1] and u2 in [0, 1), sqrt(-2 log u1) times cos(2 pi u2) and sin(2 pi u2) are two
// normals. In float32, log, sin and cos are Cephes' polynomials with fused multiply-adds.
#include <cmath>

#include "random.h"

namespace nnkit {
namespace {

constexpr Index group = 16;          // eight u1, eight u2: eight cosine halves, eight sine halves
constexpr Index pairs_of_turn = 128; // computed at a time, in arrays on the stack
constexpr double two_pi = 6.283185307179586;

struct Scale {
    double mean, std;
    bool is_standard() const { return mean == 0 && std == 1; }
    double operator()(double normal) const { return fused(normal, std, mean); }
};

// log(u) for u in (0, 1].
inline float log_of(float u) {
    std::int32_t bits = bit_cast<std::int32_t>(u);
    std::int32_t half = (bits & 0x7fffff) | 0x3f000000;  // the mantissa, in [1/2, 1)
    std::int32_t low = bit_cast<float>(half) < 0.707106781186547524f ? 1 : 0;
    auto exponent = static_cast<float>((bits >> 23) - 126 - low);
    float x = bit_cast<float>(half + (low << 23)) - 1.0f;
    float z = x * x;
    float y = 7.0376836292e-2f;
    y = fused(y, x, -1.1514610310e-1f);
    y = fused(y, x, 1.1676998740e-1f);
    y = fused(y, x, -1.2420140846e-1f);
    y = fused(y, x, 1.4249322787e-1f);
    y = fused(y, x, -1.6668057665e-1f);
    y = fused(y, x, 2.0000714765e-1f);
    y = fused(y, x, -2.4999993993e-1f);
    y = fused(y, x, 3.3333331174e-1f);
    y = y * x;
    y = fused(y, z, exponent * -2.12194440e-4f);
    y = fused(z, -0.5f, y);
    return fused(exponent, 0.693359375f, x + y);
}

struct SineCosine {
    float sine, cosine;
};

// Of an angle in [0, 2 pi].
inline SineCosine sine_cosine_of(float angle) {
    auto octant = (static_cast<std::int32_t>(angle * 1.27323954473516f) + 1) & ~1;
    auto turn = static_cast<float>(octant);
    float x = fused(turn, -0.78515625f, angle);
    x = fused(turn, -2.4187564849853515625e-4f, x);
    x = fused(turn, -3.77489497744594108e-8f, x);
    float z = x * x;
    float s = fused(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = fused(s, z, -1.6666654611e-1f) * z;
    s = fused(s, x, x);
    float c = fused(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = fused(c, z, 4.166664568298827e-2f) * z;
    c = fused(c, z, z * -0.5f) + 1.0f;
    // In the second and fourth quarter sine and cosine change places.
    auto change = -(octant >> 1 & 1);
    auto bits_s = bit_cast<std::int32_t>(s), bits_c = bit_cast<std::int32_t>(c);
    auto both = (bits_s ^ bits_c) & change;
    bits_s ^= both ^ static_cast<std::int32_t>(static_cast<std::uint32_t>(octant & 4) << 29);
    bits_c ^= both ^ static_cast<std::int32_t>(static_cast<std::uint32_t>((octant + 2) & 4) << 29);
    return {bit_cast<float>(bits_s), bit_cast<float>(bits_c)};
}

// Normals of whole groups from as many words.
void singles(const std::uint32_t* words, float* out, Index count, Scale scale) {
    auto mean = static_cast<float>(scale.mean), std = static_cast<float>(scale.std);
    alignas(alignment) float first[pairs_of_turn], second[pairs_of_turn];
    for (Index start = 0; start < count; start += 2 * pairs_of_turn) {
        Index size = std::min(2 * pairs_of_turn, count - start), pairs = size / 2;
        for (Index i = 0; i < size; i += group) {
            for (Index j = 0; j < 8; ++j) {
                first[i / 2 + j] = single_of(words[start + i + j]);
                second[i / 2 + j] = single_of(words[start + i + 8 + j]);
            }
        }
        for (Index i = 0; i < pairs; ++i) {
            float radius = std::sqrt(log_of(1.0f - first[i]) * -2.0f);
            SineCosine turn = sine_cosine_of(second[i] * static_cast<float>(two_pi));
            first[i] = turn.cosine * radius;
            second[i] = turn.sine * radius;
        }
        if (!scale.is_standard()) {
            for (Index i = 0; i < pairs; ++i) {
                first[i] = fused(first[i], std, mean);
                second[i] = fused(second[i], std, mean);
            }
        }
        for (Index i = 0; i < size; i += group) {
            std::memcpy(out + start + i, first + i / 2, 8 * sizeof(float));
            std::memcpy(out + start + i + 8, second + i / 2, 8 * sizeof(float));
        }
    }
}

void doubles(const std::uint32_t* words, double* out, Index count, Scale scale) {
    for (Index i = 0; i < count; i += group) {
        for (Index j = i; j < i + 8; ++j) {
            double radius = std::sqrt(-2.0 * std::log(1.0 - double_of(words + 2 * j)));
            double angle = two_pi * double_of(words + 2 * (j + 8));
            out[j] = scale(radius * std::cos(angle));
            out[j + 8] = scale(radius * std::sin(angle));
        }
    }
}

template <int each, class T, class Make>
void fill_groups(Stream& stream, T* out, Index size, Make make) {
    Index whole = size / group * group;
    static_assert(words_of_block % (2 * group) == 0);
    for_words<each>(stream, whole / group * group, 4096,
                    [=](const std::uint32_t* words, Index begin, Index end) {
        make(words, out + begin, end - begin);
    });
    if (whole == size) return;
    // The last 16 are drawn afresh; words for the rest were used up all the same.
    std::uint32_t words[group * each];
    stream.skip((size - whole) * each);
    stream.draw(words, group * each);
    make(words, out + size - group, group);
}

// `make(normal)` of normals in pairs; the second of an odd last pair waits in the generator.
template <class T, class Make>
bool fill_pairs(Stream& stream, T* out, Index size, Make make) {
    double waiting;
    if (size > 0 && stream.take_waiting(&waiting)) {
        *out++ = static_cast<T>(make(waiting));
        --size;
    }
    for_words<4>(stream, (size + 1) / 2, 2048, [&](const std::uint32_t* words, Index begin,
                                                   Index end) {
        for (Index i = begin; i < end; ++i) {
            const std::uint32_t* own = words + 4 * (i - begin);
            double radius = std::sqrt(-2.0 * std::log1p(-double_of(own + 2)));
            double angle = two_pi * double_of(own), sine = radius * std::sin(angle);
            out[2 * i] = static_cast<T>(make(radius * std::cos(angle)));
            if (2 * i + 1 < size) out[2 * i + 1] = static_cast<T>(make(sine));
            else waiting = sine;
        }
    });
    return size % 2 == 0 || stream.put_waiting(waiting);
}

// Fills x by `fill(stream, numbers, size, scale)`, as in `normal_(x; mean, std, generator)`.
template <class Fill> PyObject* fill_normals(Arguments arguments, Fill fill) {
    Array x = arguments.array(0);
    if (!x || !x.is_plain() || !x.is_writeable()) return decline();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    Scale scale{arguments.number(1), arguments.number(2)};
    if (PyErr_Occurred()) return nullptr;
    Stream stream(arguments[3]);
    if (!stream) return decline();
    bool done = x.type() == Type::float32 ? fill(stream, x.data<float>(), x.size(), scale)
                                          : fill(stream, x.data<double>(), x.size(), scale);
    return done ? Py_NewRef(x.object()) : nullptr;
}

bool fill_many(Stream& stream, float* out, Index size, Scale scale) {
    fill_groups<1>(stream, out, size, [=](const std::uint32_t* words, float* to, Index count) {
        singles(words, to, count, scale);
    });
    return true;
}

bool fill_many(Stream& stream, double* out, Index size, Scale scale) {
    fill_groups<2>(stream, out, size, [=](const std::uint32_t* words, double* to, Index count) {
        doubles(words, to, count, scale);
    });
    return true;
}

PyObject* normal(Arguments arguments) {
    return fill_normals(arguments, [](Stream& stream, auto* out, Index size, Scale scale) {
        return size < group ? fill_pairs(stream, out, size, scale)
                            : fill_many(stream, out, size, scale);
    });
}

// log_normal_(x; mean, std, generator)
PyObject* log_normal(Arguments arguments) {
    return fill_normals(arguments, [](Stream& stream, auto* out, Index size, Scale scale) {
        return fill_pairs(stream, out, size, [scale](double normal) {
            return std::exp(scale(normal));
        });
    });
}

Registration normal_("normal_", normal), log_normal_("log_normal_", log_normal);

}  // namespace
}  // namespace nnkit
