// Winograd's minimal filtering for 3 x 3 kernels: 2 x 2 outputs from 4 x 4 inputs by 16
// multiplications instead of 36, as 16 matrix products over tiles.
//
// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), F(2x2, 3x3);
// the gradient in the weight is F(3x3, 2x2) on the same transformed inputs.
#pragma once

#include <algorithm>

#include "conv_plan.h"
#include "conv_tile.h"

namespace nnkit {

constexpr Index points = 16;  // products of a tile

// One tap, one line: (a, b, c, d) to what is multiplied, in one dimension.
template <class V> inline void transform_input(V a, V b, V c, V d, V* out) {
    out[0] = a - c;
    out[1] = b + c;
    out[2] = c - b;
    out[3] = b - d;
}

// The distance of two points in [point][line][column]. An odd number of lines of the cache: where
// it is a power of 2, the points push each other out.
template <class T> constexpr Index point_size(Index lines) { return (lines | 1) * panel<T>; }

// Whether a sum of results times zero says that all of them are finite.
template <class T> inline bool is_zero(Register<T> sum) {
    T lanes[register_lanes<T>];
    store_as(lanes, sum);
    return std::all_of(lanes, lanes + register_lanes<T>, [](T lane) { return lane == 0; });
}

// The tiles of images: inputs of 4 x 4 that overlap by 2, as a matrix [point][channel][tile]. It
// holds a run of tile rows of one image, or small images whole.
class WinogradTiles {
public:
    // `in_cache`: the number of channels whose tiles should stay in the cache together; `most`: the
    // largest number of images at a time.
    WinogradTiles(const Pass& pass, Index channels, Index in_cache, Index most, std::size_t item);

    Index images() const { return images_; }
    Index runs() const { return runs_; }
    Index across() const { return across_; }
    Index tile_rows_of(Index run) const;
    Index first_row(Index run) const { return 2 * run * rows_; }
    Index most_tiles() const { return images_ * rows_ * across_; }
    // The distances of two channels and of two points.
    Index channel_step() const { return step_; }
    Index point_step() const { return channels_ * step_; }
    Index copied() const { return region_.copied(); }
    Index size() const { return points * point_step(); }

    // Fills `out` (of size(), or its part from a tile on) with the tiles of a run of an image; a
    // vector may reach over its end. `copy` has room for copied() elements.
    template <class T> void transform(const T* image, Index run, T* copy, T* out) const;

private:
    Pass pass_;
    Index channels_, across_, down_, rows_, runs_, images_, step_;
    Region region_;
};

}  // namespace nnkit
