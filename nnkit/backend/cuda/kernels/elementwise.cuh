// The kernels around a printed formula. The formula is a struct with its numbers as members and
// one function of the operands' elements, which are given in the type T it is computed in.
#pragma once
#include "common.cuh"

namespace nnkit {

template <int... i> struct Indices {};
template <int count, int... i> struct MakeIndices : MakeIndices<count - 1, count - 1, i...> {};
template <int... i> struct MakeIndices<0, i...> { using type = Indices<i...>; };

// An operand, passed by value: one element for each of the result's along the fastest dimension,
template <class A>
struct Each {
    const A* data;
    template <int width> __device__ Pack<A, width> load(int64 pack) const {
        return reinterpret_cast<const Pack<A, width>*>(data)[pack];
    }
    template <int width> __device__ Pack<A, width> at(int64 offset) const {
        return *reinterpret_cast<const Pack<A, width>*>(data + offset);
    }
    __device__ A one(int64 i) const { return data[i]; }
};
// or the same one for all.
template <class A>
struct Same {
    const A* data;
    template <int width> __device__ Pack<A, width> load(int64) const { return at<width>(0); }
    template <int width> __device__ Pack<A, width> at(int64 offset) const {
        Pack<A, width> pack;
        #pragma unroll
        for (int k = 0; k < width; ++k) pack[k] = data[offset];
        return pack;
    }
    __device__ A one(int64) const { return *data; }
};

template <class T, class A>
__device__ T computed(A value) {
    return T(compute_t<A>(value));
}

// As an element of the result. A floating number becomes a small integer by way of a large one,
// so that it wraps around as it does on the CPU.
template <class R, class T>
__device__ R stored(T value) {
    if constexpr (math::is_floating<T> && Limits<compute_t<R>>::is_small_integer) {
        return R(int64(value));
    } else {
        return R(value);
    }
}

template <class F, class R, int width, class... Packs>
__device__ void apply(const F& formula, Pack<R, width>& result, const Packs&... packs) {
    #pragma unroll
    for (int k = 0; k < width; ++k) {
        result[k] = stored<R>(formula(computed<typename F::T>(packs[k])...));
    }
}

// Operands and result follow each other in memory alike; `width` elements go at once.
template <class F, class R, int width, class... Operands>
__global__ void elementwise_linear(F formula, int64 count, R* out, Operands... operands) {
    const int64 packs = count / width;
    for (int64 i = thread_of_grid(); i < packs; i += threads_of_grid()) {
        Pack<R, width> result;
        apply<F, R, width>(formula, result, operands.template load<width>(i)...);
        reinterpret_cast<Pack<R, width>*>(out)[i] = result;
    }
    const int64 rest = packs * width + thread_of_grid();
    if (rest < count) {
        out[rest] = stored<R>(formula(computed<typename F::T>(operands.one(rest))...));
    }
}

// How far each array moves in each dimension, the result first; the last dimension runs fastest,
// and is counted in packs.
template <int arrays>
struct Walk {
    int dimensions, unused;
    int64 sizes[8];
    int64 strides[arrays][8];
};

template <class F, class R, class Index, int width, int... i, class... Operands>
__device__ void elementwise_at(const F& formula, Index element,
                               const Walk<sizeof...(Operands) + 1>& walk, Indices<i...>, R* out,
                               const Operands&... operands) {
    int64 offsets[sizeof...(Operands) + 1] = {};
    for (int d = walk.dimensions - 1; d >= 0; --d) {
        const Index size = Index(walk.sizes[d]);
        const Index next = element / size, here = element - next * size;
        #pragma unroll
        for (int a = 0; a < int(sizeof...(Operands)) + 1; ++a) {
            offsets[a] += here * walk.strides[a][d];
        }
        element = next;
    }
    Pack<R, width> result;
    apply<F, R, width>(formula, result, operands.template at<width>(offsets[i + 1])...);
    *reinterpret_cast<Pack<R, width>*>(out + offsets[0]) = result;
}

// Any strides, among them 0 for what is broadcast; ``width`` elements go at once where they lie side
// by side in the result. Index is 32 bits wide where that is enough: a division of 64 bits costs
// several times as much.
template <class F, class R, class Index, int width, class... Operands>
__global__ void elementwise_strided(F formula, int64 packs, Walk<sizeof...(Operands) + 1> walk,
                                    R* out, Operands... operands) {
    for (int64 i = thread_of_grid(); i < packs; i += threads_of_grid()) {
        elementwise_at<F, R, Index, width>(
            formula, Index(i), walk, typename MakeIndices<sizeof...(Operands)>::type(), out,
            operands...);
    }
}

}  // namespace nnkit
