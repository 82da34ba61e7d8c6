// Words of the Mersenne Twister, straight from the state of NumPy's bit generator, and what
// distributions make of them. Words are drawn in order by one thread; only what is computed from
// them is shared out, so no number depends on how many threads there are.
#pragma once

#include <cstring>

#include "array.h"
#include "half.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {

// The state as NumPy keeps it: 624 words, and the place of the next one.
struct Twister {
    std::uint32_t words[624];
    int position;
};

// The stream behind a Generator (or the default one, for None) of the engine mt19937.
class Stream {
public:
    explicit Stream(PyObject* generator);
    ~Stream() { Py_XDECREF(bits_); }
    Stream(const Stream&) = delete;
    // False for other engines: the twin draws.
    explicit operator bool() const { return state_ != nullptr; }
    // The next words, before tempering; needs the GIL.
    void draw(std::uint32_t* words, Index count);
    void skip(Index count);
    // The second of a pair of normals that waits for the next draw.
    bool take_waiting(double* normal);
    bool put_waiting(double normal);

private:
    PyObject* generator_ = nullptr;
    PyObject* bits_ = nullptr;  // ours as well: another thread may seed the generator meanwhile
    Twister* state_ = nullptr;
    bool is_drawn_ = false;
    Interruptible half_drawn_{true};  // an array is as random as a whole one
};

inline std::uint32_t temper(std::uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

// 24 bits of a word as a number in [0, 1).
inline float single_of(std::uint32_t word) {
    return static_cast<float>(static_cast<std::int32_t>(temper(word) & 0xffffffu)) * 0x1p-24f;
}

typedef std::uint64_t WordPair __attribute__((may_alias, aligned(4)));

// 53 bits of two words, the first one high. Both are tempered side by side in one register.
inline std::uint64_t bits53_of(const std::uint32_t* words) {
    std::uint64_t y = *reinterpret_cast<const WordPair*>(words);
    y ^= (y >> 11) & 0x001fffff001fffffu;
    y ^= (y << 7) & 0x9d2c56809d2c5680u;
    y ^= (y << 15) & 0xefc60000efc60000u;
    y ^= (y >> 18) & 0x00003fff00003fffu;
    return (y << 32 | y >> 32) & 0x1fffffffffffffu;
}

// An integer below 2**53 as double, in halves whose exponents are written by hand: so it is
// vectorised where the processor has no instruction for it.
inline double to_double(std::uint64_t x) {
    double high = bit_cast<double>(x >> 32 | 0x4530000000000000u) - 0x1.00000001p84;
    return high + bit_cast<double>((x & 0xffffffffu) | 0x4330000000000000u);
}

inline double double_of(const std::uint32_t* words) {
    return to_double(bits53_of(words)) * 0x1p-53;
}

// a b + c, rounded once, with the same bits on every processor.
#if defined(__FMA__) || defined(__aarch64__)
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
inline float fused(float a, float b, float c) {
    // The sum in double, rounded to odd, does not disturb the rounding to float.
    double product = static_cast<double>(a) * b, sum = product + c, back = sum - product;
    double rest = (product - (sum - back)) + (c - back);
    auto bits = bit_cast<std::int64_t>(sum);
    bool away = (rest > 0) == (sum > 0);
    std::int64_t odd = (bits & 1) ? bits : bits + (away ? 1 : -1);
    return static_cast<float>(bit_cast<double>(rest != 0 ? odd : bits));
}
#endif
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

constexpr Index words_of_block = 65536;  // drawn at once: they stay in the second-level cache

// Calls `make(words, begin, end)` for pieces of the elements [0, count), where the words of
// element `begin` come first; each takes `each` words. `grain`: elements that repay a thread.
template <int each, class Make>
void for_words(Stream& stream, Index count, Index grain, Make make) {
    constexpr Index block = words_of_block / each;
    Scratch<std::uint32_t> words(std::min(count, block) * each);
    for (Index start = 0; start < count; start += block) {
        Index size = std::min(block, count - start);
        stream.draw(words.data(), size * each);
        parallel_for(size, grain, [&](Index begin, Index end) {
            make(words.data() + begin * each, start + begin, start + end);
        });
    }
}

}  // namespace nnkit
