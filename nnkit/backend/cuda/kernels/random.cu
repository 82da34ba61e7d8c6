// Random numbers from Philox in the order of backend/philox.py, element by element as
// backend/cpu/random_philox.py makes them: a block of four words serves the elements t,
// t + threads, t + 2 threads, ... of thread t (of the stream, not of the grid).
#include "team.cuh"

namespace nnkit {

struct Stream {
    uint64 seed;
    uint64 first;  // blocks that each thread has drawn before
    int64 threads;
    const uint64* place;  // in a captured graph: the seed, and what comes before `first`
};

__device__ inline Stream resolved(Stream stream) {
    if (stream.place) {
        stream.seed = stream.place[0];
        stream.first += stream.place[1];
    }
    return stream;
}

// Before a graph is replayed.
__global__ void write_place(uint64* place, uint64 seed, uint64 first) {
    place[0] = seed;
    place[1] = first;
}

// In (0, 1], from one word and from two.
__device__ inline float unit_of(uint32 word) {
    const float per_word = 2.3283064365386963e-10f;
    return float(word) * per_word + per_word / 2.0f;
}
__device__ inline double unit_of(uint32 low, uint32 high) {
    const uint64 bits = uint64(low) ^ (uint64(high) << 21);
    return double(bits) * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}

// Calls ``body(element, k, words)`` for the k-th of the elements that each block of words serves.
template <int of_block, class Body>
__device__ void each_block(const Stream& stream, int64 count, Body body) {
    const uint32 threads = uint32(stream.threads), grid = uint32(threads_of_grid());
    const int64 rest = int64(of_block - 1) * threads;
    const uint32 rounds_on = grid / threads, threads_on = grid - rounds_on * threads;
    const uint32 rounds_before = uint32(thread_of_grid()) / threads;
    uint32 thread = uint32(thread_of_grid()) - rounds_before * threads;
    uint64 round = stream.first + rounds_before;
    int64 first = thread_of_grid() + rounds_before * rest;
    while (first < count) {
        const Words words = philox(stream.seed, thread, round);
        if (first + rest < count) {
            #pragma unroll
            for (int k = 0; k < of_block; ++k) body(first + int64(k) * threads, k, words);
        } else {
            #pragma unroll
            for (int k = 0; k < of_block; ++k) {
                const int64 element = first + int64(k) * threads;
                if (element < count) body(element, k, words);
            }
        }
        thread += threads_on;
        round += rounds_on;
        first += grid + rounds_on * rest;
        if (thread < threads) continue;
        thread -= threads;
        ++round;
        first += rest;
    }
}

// Calls ``body(element, first, second)`` with the words of each element: two if ``is_wide``.
template <bool is_wide, class Body>
__device__ void each_drawn(const Stream& given, int64 count, Body body) {
    const Stream stream = resolved(given);
    each_block<is_wide ? 2 : 4>(stream, count, [&](int64 element, int k, const Words& drawn) {
        if constexpr (is_wide) body(element, drawn.word[2 * k], drawn.word[2 * k + 1]);
        else body(element, drawn.word[k], 0u);
    });
}

// Calls ``body(element, number)`` with uniform numbers: float, or double where C is.
template <class C, class Body>
__device__ void each_uniform(const Stream& stream, int64 count, Body body) {
    each_drawn<sizeof(C) == 8>(stream, count, [&](int64 i, uint32 first, uint32 second) {
        if constexpr (sizeof(C) == 8) body(i, unit_of(first, second));
        else body(i, unit_of(first));
    });
}

// The type of the uniform numbers from which elements of T are made.
template <class T> struct UnitOf { using type = float; };
template <> struct UnitOf<double> { using type = double; };
template <class T> using unit_t = typename UnitOf<T>::type;

template <class T>
__global__ void uniform(T* x, int64 count, Stream stream, double low, double high) {
    using C = compute_t<T>;
    each_uniform<C>(stream, count, [&](int64 i, C u) {
        const T value = T(C(u * C(high - low)) + C(low));
        x[i] = C(value) == C(T(C(high))) ? T(C(low)) : value;
    });
}

// By Box and Muller's method: sine and cosine of one pair follow each other. ``of_logarithm``: the
// logarithm of what is made is normal.
template <class T, bool of_logarithm>
__global__ void normal(T* x, int64 count, Stream stream, double mean, double deviation) {
    using C = compute_t<T>;
    constexpr int of_block = sizeof(C) == 8 ? 2 : 4;
    C radius, angle;
    each_block<of_block>(resolved(stream), count, [&](int64 i, int k, const Words& drawn) {
        if (k % 2 == 0) {
            if constexpr (of_block == 2) {
                radius = math::sqrt(-2.0 * math::log(unit_of(drawn.word[0], drawn.word[1])));
                angle = 2.0 * math::pi * unit_of(drawn.word[2], drawn.word[3]);
            } else {
                const float turn = 2.3283064365386963e-10f * float(2.0 * math::pi);
                radius = math::sqrt(-2.0f * math::log(unit_of(drawn.word[k])));
                angle = float(drawn.word[k + 1]) * turn + turn / 2.0f;
            }
        }
        const C value = C(radius * (k % 2 ? math::cos(angle) : math::sin(angle)) * C(deviation));
        x[i] = T(of_logarithm ? math::exp(value + C(mean)) : value + C(mean));
    });
}

// 1 with chance p, else 0.
template <class T>
__global__ void bernoulli(T* x, int64 count, Stream stream, double p) {
    each_uniform<float>(stream, count, [&](int64 i, float u) { x[i] = T(u < float(p)); });
}
template <>
__global__ void bernoulli(double* x, int64 count, Stream stream, double p) {
    each_uniform<double>(stream, count, [&](int64 i, double u) { x[i] = double(u < p); });
}

// Integers in [low, low + range); a range of 0 stands for all 64 bits.
template <class T, bool is_wide>
__global__ void integers(T* x, int64 count, Stream stream, int64 low, uint64 range) {
    each_drawn<is_wide>(stream, count, [&](int64 i, uint32 first, uint32 second) {
        uint64 drawn = first;
        if constexpr (is_wide) drawn = drawn << 32 | second;
        if (range) drawn = is_wide ? drawn % range : first % uint32(range);
        x[i] = T(compute_t<T>(int64(drawn + uint64(low))));
    });
}

// The logarithm of a uniform number, below 0.
template <class C>
__device__ C log_of_unit(C u) {
    const C half = sizeof(C) == 8 ? C(1.1102230246251565e-16) : C(5.9604644775390625e-08);
    return u >= C(1) - half ? -half : math::log(u);
}

template <class T>
__global__ void exponential(T* x, int64 count, Stream stream, double factor) {
    using C = unit_t<T>;
    each_uniform<C>(stream, count, [&](int64 i, C u) { x[i] = T(C(factor) * log_of_unit(u)); });
}

// The number of trials up to the first success; ``log_failure``: the logarithm of 1 - p.
template <class T>
__global__ void geometric(T* x, int64 count, Stream stream, double log_failure) {
    using C = unit_t<T>;
    each_uniform<C>(stream, count, [&](int64 i, C u) {
        const C trials = math::ceil(math::log(u) / C(log_failure));
        if constexpr (Limits<compute_t<T>>::is_small_integer) x[i] = T(int64(trials));
        else x[i] = T(trials);
    });
}

template <class T>
__global__ void cauchy(T* x, int64 count, Stream stream, double median, double sigma) {
    using C = unit_t<T>;
    const C eps = sizeof(C) == 8 ? C(2.220446049250313e-16) : C(1.1920928955078125e-07);
    each_uniform<C>(stream, count, [&](int64 i, C u) {
        u = u < eps ? eps : u > C(1) - eps ? C(1) - eps : u;
        x[i] = T(C(median) + C(sigma) * math::tan(C(math::pi) * (u - C(0.5))));
    });
}

// A random slope for each negative element or zero, else 1.
template <class T>
__global__ void rrelu_noise(
    T* noise, int64 count, Stream stream, const T* x, double lower, double upper) {
    using C = unit_t<T>;
    each_uniform<C>(stream, count, [&](int64 i, C u) {
        noise[i] = T(C(x[i]) <= C(0) ? u * C(upper - lower) + C(lower) : C(1));
    });
}

// Reports weights that are negative, infinite or NaN, and rows of zeros.
template <class T>
__global__ void check_weights(
    const T* weights, int64 rows, int64 classes, Failure* failure, int code) {
    using C = compute_t<T>;
    const RowTeam<by_warp> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        C total = C(0);
        for (int64 c = team.rank; c < classes; c += team.size) {
            const C weight = C(weights[r * classes + c]);
            if (!(weight >= C(0) && weight < Limits<C>::infinity())) report(failure, code, r, rows);
            total += weight;
        }
        total = team.sum(total);
        if (team.rank == 0 && total == C(0)) report(failure, code, r, rows);
    }
}

// For each uniform number (rows, samples) its place among the running totals (rows, classes) of
// weights: the first whose share of the whole reaches it.
template <class C>
__global__ void draw_classes(
    const C* totals, const double* numbers, int64* out, int64 count, int64 samples,
    int64 classes) {
    for (int64 t = thread_of_grid(); t < count; t += threads_of_grid()) {
        const C* row = totals + t / samples * classes;
        int64 low = 0, high = classes - 1;  // the last share is the whole, whatever its rounding
        while (low < high) {
            const int64 middle = (low + high) / 2;
            if (double(row[middle] / row[classes - 1]) < numbers[t]) low = middle + 1;
            else high = middle;
        }
        out[t] = low;
    }
}

// Bernoulli numbers of which each has a chance of its own.
template <class C>
__global__ void bernoulli_from(
    bool* x, const C* p, int64 count, Stream stream, Failure* failure, int code) {
    each_uniform<C>(stream, count, [&](int64 i, C u) {
        if (!(p[i] >= C(0) && p[i] <= C(1))) report(failure, code, i, count);
        x[i] = u <= p[i];
    });
}

// noise is 1 / (1 - p) with chance 1 - p, else 0; out = x * noise.
template <class T>
__global__ void dropout(const T* x, T* out, T* noise, int64 count, Stream stream, double p) {
    using C = compute_t<T>;
    const float chance = float(1.0 - p);
    const C kept = C(T(C(1) / C(1.0 - p)));
    each_uniform<float>(stream, count, [&](int64 i, float u) {
        const C factor = u < chance ? kept : C(0);
        noise[i] = T(factor);
        out[i] = T(C(x[i]) * factor);
    });
}

}  // namespace nnkit
