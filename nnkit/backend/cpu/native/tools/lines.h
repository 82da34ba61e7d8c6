// The lines of an array along one axis, each brought into one straight piece where it is none.
#pragma once

#include <algorithm>

#include "axis.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {

// The results of a line: `kept` values (where `values` is not null) and as many indices.
template <class T> struct LineResults {
    T* values;
    std::int64_t* indices;
};

// Calls `body(line, results)` for every line of x along an axis; each gives `kept` elements to
// arrays of the same shape but for that axis.
template <class T, class Body>
void for_lines(const AlongAxis& along, const T* x, Index kept, LineResults<T> out, Index grain,
               Body body) {
    Index count = along.count, inner = along.inner;
    if (inner == 1) {
        parallel_for(along.outer, grain, [&](Index begin, Index end) {
            for (Index r = begin; r < end; ++r) {
                T* values = out.values == nullptr ? nullptr : out.values + r * kept;
                body(x + r * count, LineResults<T>{values, out.indices + r * kept});
            }
        });
        return;
    }
    // Neighbouring lines share the lines of the cache.
    constexpr Index widest = 64 / static_cast<Index>(sizeof(T));
    Index tiles = (inner + widest - 1) / widest;
    Index tile_grain = std::max<Index>(1, grain / widest);
    parallel_for(along.outer * tiles, tile_grain, [&](Index begin, Index end) {
        Scratch<T> lines(widest * count), values(widest * kept);
        Scratch<std::int64_t> indices(widest * kept);
        for (Index task = begin; task < end; ++task) {
            Index row = task / tiles, column = task % tiles * widest;
            Index width = std::min(widest, inner - column);
            const T* from = x + row * count * inner + column;
            for (Index i = 0; i < count; ++i) {
                for (Index j = 0; j < width; ++j) lines[j * count + i] = from[i * inner + j];
            }
            for (Index j = 0; j < width; ++j) {
                body(lines.data() + j * count,
                     LineResults<T>{values.data() + j * kept, indices.data() + j * kept});
            }
            Index to = row * kept * inner + column;
            for (Index i = 0; i < kept; ++i) {
                for (Index j = 0; j < width; ++j) {
                    if (out.values != nullptr) {
                        out.values[to + i * inner + j] = values[j * kept + i];
                    }
                    out.indices[to + i * inner + j] = indices[j * kept + i];
                }
            }
        }
    });
}

}  // namespace nnkit
