// Runs CUDA kernels on the CPU: g++ compiles a .cu file behind this header.
//
// The threads of a block are fibers that take turns: one runs until it waits for the others (a
// barrier, an exchange within its warp) or is done. Blocks run one after the other. So every
// kernel runs, with barriers, shared memory, warp shuffles and atomics alike; what cannot show
// here are races, memory that the GPU would not find, and speed.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 { unsigned x, y, z; };
static dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {

constexpr int warp_size = 32;
constexpr size_t stack_size = 256 << 10;
enum class State { ready, at_barrier, in_warp, done };

// A fiber is entered once as a context; from then on it takes turns by jumps, which need no call of
// the system.
struct Fiber {
    ucontext_t context;
    jmp_buf place;
    bool is_entered = false;
    State state;
    dim3 index;
    char* stack;
};

struct Block {
    ucontext_t launcher;
    jmp_buf scheduler;
    std::vector<Fiber> fibers;
    Fiber* current = nullptr;
    // What each thread hands to the others of its warp.
    std::vector<uint64_t> handed;
    void (*body)(void*) = nullptr;
    void* arguments = nullptr;
};

static Block block;
alignas(16) static unsigned char dynamic_shared[256 << 10];

inline void wait(State state) {
    Fiber* fiber = block.current;
    fiber->state = state;
    if (!_setjmp(fiber->place)) _longjmp(block.scheduler, 1);
}

// One thread of each block that is launched.
inline void enter() {
    for (;;) {
        block.body(block.arguments);
        wait(State::done);
    }
}

// Lets a fiber go on until it waits.
inline void resume(Fiber& fiber) {
    block.current = &fiber;
    threadIdx = fiber.index;
    if (_setjmp(block.scheduler)) return;
    if (fiber.is_entered) _longjmp(fiber.place, 1);
    fiber.is_entered = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = stack_size;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, enter, 0);
    swapcontext(&block.launcher, &fiber.context);
}

inline size_t number_of(const dim3& index) {
    return (size_t(index.z) * blockDim.y + index.y) * blockDim.x + index.x;
}

// Lets those go on for whom all others of their group wait, or are done.
inline bool release(size_t first, size_t last, State state) {
    bool any = false;
    for (size_t i = first; i < last; ++i) {
        const State is = block.fibers[i].state;
        if (is != state && is != State::done) return false;
        any |= is == state;
    }
    for (size_t i = first; i < last; ++i) {
        if (block.fibers[i].state == state) block.fibers[i].state = State::ready;
    }
    return any;
}

inline void run_block() {
    const size_t count = size_t(blockDim.x) * blockDim.y * blockDim.z;
    while (block.fibers.size() < count) {
        block.fibers.emplace_back();
        block.fibers.back().stack = static_cast<char*>(malloc(stack_size));
    }
    block.handed.resize(2 * count);
    for (size_t i = 0; i < count; ++i) {
        Fiber& fiber = block.fibers[i];
        fiber.state = State::ready;
        fiber.index = {unsigned(i % blockDim.x), unsigned(i / blockDim.x % blockDim.y),
                       unsigned(i / blockDim.x / blockDim.y)};
    }
    for (;;) {
        bool ran = false;
        for (size_t i = 0; i < count; ++i) {
            Fiber& fiber = block.fibers[i];
            if (fiber.state != State::ready) continue;
            ran = true;
            resume(fiber);
        }
        for (size_t i = 0; i < count; i += warp_size) {
            const size_t last = i + warp_size < count ? i + warp_size : count;
            ran |= release(i, last, State::in_warp);
        }
        ran |= release(0, count, State::at_barrier);
        if (!ran) break;
    }
    for (size_t i = 0; i < count; ++i) {
        if (block.fibers[i].state != State::done) {
            fprintf(stderr, "emulation: thread %zu waits for ever: not every thread of its block "
                            "or warp comes to the same barrier\n", i);
            abort();
        }
    }
}

// What lane ``source`` of this thread's warp passed.
template <class T>
inline T exchange(T value, int source) {
    static_assert(sizeof(T) <= 16, "at most 16 bytes");
    const size_t self = number_of(block.current->index);
    const size_t other = self / warp_size * warp_size + source;
    memcpy(&block.handed[2 * self], &value, sizeof value);
    wait(State::in_warp);
    T found = value;
    const size_t count = size_t(blockDim.x) * blockDim.y * blockDim.z;
    if (source >= 0 && source < warp_size && other < count) {
        memcpy(&found, &block.handed[2 * other], sizeof found);
    }
    wait(State::in_warp);
    return found;
}

inline int lane() { return int(number_of(block.current->index) % warp_size); }

template <class Kernel, class... Parameters, size_t... i>
void call(void* bound, std::index_sequence<i...>) {
    auto& [kernel, values] = *static_cast<std::pair<Kernel, void**>*>(bound);
    kernel(*static_cast<std::remove_const_t<std::remove_reference_t<Parameters>>*>(values[i])...);
}

// Runs ``kernel`` on a grid; ``values`` are pointers to the arguments, as for cuLaunchKernel.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), const unsigned* shape, void** values) {
    using Kernel = void (*)(Parameters...);
    std::pair<Kernel, void**> bound{kernel, values};
    gridDim = {shape[0], shape[1], shape[2]};
    blockDim = {shape[3], shape[4], shape[5]};
    block.arguments = &bound;
    block.body = [](void* b) {
        call<Kernel, Parameters...>(b, std::index_sequence_for<Parameters...>{});
    };
    for (unsigned z = 0; z < gridDim.z; ++z) {
        for (unsigned y = 0; y < gridDim.y; ++y) {
            for (unsigned x = 0; x < gridDim.x; ++x) {
                blockIdx = {x, y, z};
                memset(dynamic_shared, 0xA5, sizeof dynamic_shared);
                run_block();
            }
        }
    }
    // A process loads hundreds of such libraries: with all stacks kept it could not fork any more.
    for (Fiber& fiber : block.fibers) free(fiber.stack);
    block.fibers.clear();
}

inline float float_of_float16(uint16_t bits) {
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return float(half);
}
inline uint16_t bits_of_float16(float x) {
    const _Float16 half = _Float16(x);
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    return bits;
}

}  // namespace emulation

// ---- what CUDA offers in every kernel

inline void __syncthreads() { emulation::wait(emulation::State::at_barrier); }
inline int __syncthreads_or(int condition) {
    static int any;
    __syncthreads();
    any = 0;
    __syncthreads();
    any |= condition != 0;
    __syncthreads();
    return any;
}
inline void __syncwarp(unsigned = ~0u) { emulation::wait(emulation::State::in_warp); }
inline void __threadfence() {}

template <class T> T __shfl_sync(unsigned, T value, int source, int = 32) {
    return emulation::exchange(value, source);
}
template <class T> T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
    return emulation::exchange(value, emulation::lane() ^ mask);
}
template <class T> T __shfl_down_sync(unsigned, T value, unsigned distance, int = 32) {
    return emulation::exchange(value, emulation::lane() + int(distance));
}
template <class T> T __shfl_up_sync(unsigned, T value, unsigned distance, int = 32) {
    return emulation::exchange(value, emulation::lane() - int(distance));
}
inline unsigned __ballot_sync(unsigned, int condition) {
    const size_t first = emulation::number_of(emulation::block.current->index)
        / emulation::warp_size * emulation::warp_size;
    const size_t threads = size_t(blockDim.x) * blockDim.y * blockDim.z;
    unsigned votes = 0;
    for (int lane = 0; lane < emulation::warp_size; ++lane) {
        const int vote = emulation::exchange(condition, lane);
        if (first + lane < threads && vote) votes |= 1u << lane;
    }
    return votes;
}
inline int __any_sync(unsigned mask, int condition) { return __ballot_sync(mask, condition) != 0; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }

template <class T, class U> T atomicAdd(T* place, U value) {
    const T old = *place;
    *place = T(old + value);
    return old;
}
template <class T, class U, class V> T atomicCAS(T* place, U expected, V value) {
    const T old = *place;
    if (old == T(expected)) *place = T(value);
    return old;
}
template <class T, class U> T atomicExch(T* place, U value) {
    const T old = *place;
    *place = T(value);
    return old;
}
template <class T, class U> T atomicMax(T* place, U value) {
    const T old = *place;
    if (T(value) > old) *place = T(value);
    return old;
}
template <class T, class U> T atomicMin(T* place, U value) {
    const T old = *place;
    if (T(value) < old) *place = T(value);
    return old;
}

template <class T> T __ldg(const T* place) { return *place; }
inline float __int_as_float(int bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
inline int __float_as_int(float x) {
    int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline unsigned __float_as_uint(float x) { return unsigned(__float_as_int(x)); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline unsigned __umulhi(unsigned x, unsigned y) { return unsigned((uint64_t(x) * y) >> 32); }

// Newton's iteration for erf(y) = x, from Winitzki's approximation.
inline double erfinv(double x) {
    if (!(fabs(x) < 1.0)) return x == 1.0 || x == -1.0 ? copysign(INFINITY, x) : NAN;
    if (x == 0.0) return x;
    const double a = 0.147, l = log1p(-x * x), b = 2 / (M_PI * a) + l / 2;
    double y = copysign(sqrt(sqrt(b * b - l / a) - b), x);
    for (int i = 0; i < 4; ++i) {
        const double error = x > 0 ? (1 - x) - erfc(y) : erfc(-y) - (1 + x);
        y -= error * sqrt(M_PI) / 2 * exp(y * y);
    }
    return y;
}
inline float erfinvf(float x) { return float(erfinv(double(x))); }
