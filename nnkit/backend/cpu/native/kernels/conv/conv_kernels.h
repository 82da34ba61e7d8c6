// The kernels that a convolution is computed by; which one takes a call is decided in conv.cpp.
#pragma once

#include "conv_plan.h"
#include "prepared.h"

namespace nnkit {

// One convolution-like product: out[n, o, j] = bias[o] + sum over channels c and taps t of
// weight[o, c, t] * in[n, c, ...], for each group, in one or several passes.
template <class T> struct Product {
    const T* input;
    const T* weight;
    const T* bias;  // may be null
    T* output;
    Index batch, groups, channels, outputs;  // channels and outputs of a group
    // The distances of weights: of two groups, two outputs, two channels.
    Index group_step, output_step, channel_step;
    const Index* kernel;
    std::vector<Pass> passes;
    Recipe recipe;  // all that packed weights depend on besides their elements
    bool channels_last = false;  // in memory; known to `multiply_lanes` of one channel each alone
};

template <class T> void multiply_tiles(const Product<T>& product);

// The same for 3 x 3 kernels with stride 1 and dilation 1. False if a result is not finite: the
// differences of infinite numbers, of which it makes its sums, are NaN where the sums are not.
template <class T> bool multiply_winograd(const Product<T>& product);

// The gradient in the weight, in the order of the weight.
template <class T>
void weight_gradient(const Geometry& geometry, const T* gradient, const T* input, T* out);

// The same for 3 x 3 kernels with stride 1 and dilation 1; false as above.
template <class T>
bool weight_gradient_winograd(const Geometry& geometry, const T* gradient, const T* input, T* out);

// The same two along lines of positions: for groups of few outputs.
template <class T> void multiply_lines(const Product<T>& product);
template <class T>
void weight_gradient_of_lines(const Geometry& geometry, const T* gradient, const T* input, T* out);

// The same two with a lane of a vector for each group: for short lines, and many groups of few
// outputs.
bool fills_lanes_with_groups(const Geometry& geometry, std::size_t item);
template <class T> void multiply_lanes(const Product<T>& product);
template <class T>
void weight_gradient_of_groups(const Geometry& geometry, const T* gradient, const T* input,
                               bool channels_last, T* out);

// Multiplications that a piece of work should at least have, so that handing it out pays.
constexpr Index work_of_piece = 1 << 20;

}  // namespace nnkit
