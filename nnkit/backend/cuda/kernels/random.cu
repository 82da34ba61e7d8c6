// Random numbers from Philox in the order of backend/philox.py, element by element as
// backend/cpu/random_philox.py makes them: a block of four words serves the elements t,
// t + threads, t + 2 threads, ... of thread t (of the stream, not of the grid).
#include "common.cuh"

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

// Calls ``body(element, number)`` with uniform numbers: float, or double where C is.
template <class C, class Body>
__device__ void each_uniform(const Stream& given, int64 count, Body body) {
    const Stream stream = resolved(given);
    constexpr int of_block = sizeof(C) == 8 ? 2 : 4;
    const int64 rounds = (count + stream.threads * of_block - 1) / (stream.threads * of_block);
    for (int64 b = thread_of_grid(); b < rounds * stream.threads; b += threads_of_grid()) {
        const int64 thread = b % stream.threads, round = b / stream.threads;
        const Words drawn = philox(stream.seed, thread, stream.first + round);
        #pragma unroll
        for (int k = 0; k < of_block; ++k) {
            const int64 element = (round * of_block + k) * stream.threads + thread;
            if (element >= count) break;
            if constexpr (of_block == 4) body(element, unit_of(drawn.word[k]));
            else body(element, unit_of(drawn.word[2 * k], drawn.word[2 * k + 1]));
        }
    }
}

template <class T>
__global__ void uniform(T* x, int64 count, Stream stream, double low, double high) {
    using C = compute_t<T>;
    each_uniform<C>(stream, count, [&](int64 i, C u) {
        const T value = T(C(u * C(high - low)) + C(low));
        x[i] = C(value) == C(T(C(high))) ? T(C(low)) : value;
    });
}

// By Box and Muller's method: sine and cosine of one pair follow each other.
template <class T>
__global__ void normal(T* x, int64 count, Stream stream, double mean, double deviation) {
    stream = resolved(stream);
    using C = compute_t<T>;
    constexpr int of_block = sizeof(C) == 8 ? 2 : 4;
    const int64 rounds = (count + stream.threads * of_block - 1) / (stream.threads * of_block);
    for (int64 b = thread_of_grid(); b < rounds * stream.threads; b += threads_of_grid()) {
        const int64 thread = b % stream.threads, round = b / stream.threads;
        const Words drawn = philox(stream.seed, thread, stream.first + round);
        #pragma unroll
        for (int k = 0; k < of_block; k += 2) {
            C radius, angle;
            if constexpr (of_block == 2) {
                radius = math::sqrt(-2.0 * math::log(unit_of(drawn.word[0], drawn.word[1])));
                angle = 2.0 * math::pi * unit_of(drawn.word[2], drawn.word[3]);
            } else {
                const float turn = 2.3283064365386963e-10f * float(2.0 * math::pi);
                radius = math::sqrt(-2.0f * math::log(unit_of(drawn.word[k])));
                angle = float(drawn.word[k + 1]) * turn + turn / 2.0f;
            }
            const C pair[2] = {radius * math::sin(angle), radius * math::cos(angle)};
            for (int j = 0; j < 2; ++j) {
                const int64 i = (round * of_block + k + j) * stream.threads + thread;
                if (i < count) x[i] = T(C(pair[j] * C(deviation)) + C(mean));
            }
        }
    }
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

// Where each element has its own chance.
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
