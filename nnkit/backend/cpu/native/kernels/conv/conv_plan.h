// The geometry of a convolution as its kernels see it: what each output reads along each axis.
//
// A convolution, its gradient in the input and a transposed convolution are all of one form:
// out[j] = sum over taps t of weight[t] * in[j * step + offset[t]]. With a stride, the gradient in
// the input falls into passes, one for each residue of the position, with the taps that meet it.
#pragma once

#include <vector>

#include "array.h"

namespace nnkit {

constexpr int axis_count = 3;  // outer, middle, inner; axes that are not there have length 1

struct Tap {
    Index place;   // in the kernel, along this axis
    Index offset;  // of the input that it reads
};

struct Axis {
    Index inputs = 1;            // length of what is read
    Index outputs = 1;           // how many positions this pass computes
    Index step = 1;              // how far apart they read
    Index first = 0, apart = 1;  // where in the result the first one lies, and how far the others
    Index length = 1;            // of the result
    std::vector<Tap> taps{{0, 0}};

    Index lowest() const;
    // The number of inputs that `count` neighbouring outputs reach over.
    Index reach(Index count) const;
    bool needs_padding() const;
};

struct Pass {
    Axis axes[axis_count];
    Index outputs() const;
    Index taps() const;
};

// The arguments of a call, with the three axes filled up.
struct Geometry {
    Index batch, groups, channels, outputs;  // channels and outputs of a group
    Index input[axis_count], output[axis_count], kernel[axis_count];
    Index stride[axis_count], padding[axis_count], dilation[axis_count];

    Index channels_of_all() const { return groups * channels; }
    Index outputs_of_all() const { return groups * outputs; }
    Index input_plane() const { return input[0] * input[1] * input[2]; }
    Index output_plane() const { return output[0] * output[1] * output[2]; }
    Index places() const { return kernel[0] * kernel[1] * kernel[2]; }

    std::vector<Index> numbers() const;
    // The same with a single axis as the inner one instead of the outer one.
    Geometry along_lines() const;
    Pass forward() const;
    std::vector<Pass> backward() const;
};

// Reads (input shape, weight shape, output shape or null) and stride, padding, dilation and groups,
// the arguments from number `first` on; false if they do not fit each other.
bool read_geometry(int ndim, const Index* input, const Index* weight, const Index* output,
                   Arguments arguments, Index first, Geometry* geometry);

// The part of the input that a run of rows (positions along the outer axis) reads: it is used where
// it lies, or copied with zeros around it.
class Region {
public:
    // `rows`: the largest number of rows at a time. With a `split`, a copy is made in any
    // case, its lines in that many parts: every split-th element, starting with each of the first.
    // Positions so far apart then lie side by side, and a vector may reach over the end.
    Region(const Pass& pass, Index channels, Index rows, std::size_t item, Index split = 0);

    // Elements of the copy; 0 if none is made.
    Index copied() const { return copied_; }
    // The distances, in the region, of what neighbouring taps and positions read.
    Index offset(Index channel, Index outer, Index middle, Index inner) const {
        return channel * plane_ + (outer * middle_ + middle) * inner_ +
               inner % split_ * (inner_ / split_) + inner / split_;
    }
    Index middle() const { return middle_; }
    Index inner() const { return inner_; }
    // Channel 0 of the rows that start at `row`; `copy` has room for copied() elements.
    template <class T> const T* of(const T* input, Index row, Index rows, T* copy) const;

private:
    template <class T> void copy_line(const T* source, Index from, Index to, T* out) const;

    const Pass& pass_;
    Index channels_, plane_, middle_, inner_, copied_ = 0, split_ = 1;
};

// The most elements that a vector of positions reaches over the end of a region.
constexpr Index overhang = 64;

// The number of rows to compute at a time, so that their inputs stay in the second-level cache.
Index rows_at_a_time(const Pass& pass, Index channels, std::size_t item);

// The inputs of each position of `rows` rows, and the offset of each tap of each channel.
std::vector<Index> position_offsets(const Pass& pass, const Region& region, Index rows);
std::vector<Index> tap_offsets(const Pass& pass, const Region& region, Index channels);
// The places in the kernel of the taps of a pass, counted row by row.
std::vector<Index> tap_places(const Pass& pass, const Index* kernel);

}  // namespace nnkit
