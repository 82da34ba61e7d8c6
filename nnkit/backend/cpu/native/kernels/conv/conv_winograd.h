// Winograd's minimal filtering for 3 x 3 kernels: 2 x 2 outputs from 4 x 4 inputs by 16
// multiplications instead of 36, as 16 matrix products over tiles.
//
// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), F(2x2, 3x3);
// the gradient in the weight is F(3x3, 2x2) on the same transformed inputs.
#pragma once

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

// The tiles of images: inputs of 4 x 4 that overlap by 2, as a matrix [point][channel][tile].
class WinogradTiles {
public:
    WinogradTiles(const Pass& pass, Index channels, std::size_t item);

    Index runs() const { return runs_; }
    Index across() const { return across_; }
    Index tile_rows_of(Index run) const;
    Index first_row(Index run) const { return 2 * run * rows_; }
    Index most_tiles() const { return rows_ * across_; }
    // The distances of two channels and of two points.
    Index channel_step() const { return step_; }
    Index point_step() const { return channels_ * step_; }
    Index copied() const { return region_.copied(); }
    Index size() const { return points * point_step(); }

    // Fills `out` (of size()) with the tiles of a run; `copy` has room for copied() elements.
    template <class T> void transform(const T* image, Index run, T* copy, T* out) const;

private:
    Pass pass_;
    Index channels_, across_, down_, rows_, runs_, step_;
    Region region_;
};

}  // namespace nnkit
