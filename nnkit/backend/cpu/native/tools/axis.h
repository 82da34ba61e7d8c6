// A plain array seen along one of its axes.
#pragma once

#include "array.h"

namespace nnkit {

// The array in C order as (outer, count, inner), with the axis in the middle.
struct AlongAxis {
    Index outer = 1, count = 1, inner = 1;

    Index size() const { return outer * count * inner; }
};

inline AlongAxis along_axis(Array x, int axis) {
    AlongAxis along;
    for (int i = 0; i < x.ndim(); ++i) {
        (i < axis ? along.outer : i == axis ? along.count : along.inner) *= x.shape()[i];
    }
    return along;
}

// Reads the axis, an int, of an array that has axes; false for anything else.
inline bool read_axis(Array x, PyObject* axis, AlongAxis* along) {
    Index a;
    if (!PyLong_Check(axis) || read_integers(axis, &a, 1) != 1) return false;
    if (a < 0) a += x.ndim();
    if (a < 0 || a >= x.ndim()) return false;
    *along = along_axis(x, static_cast<int>(a));
    return true;
}

}  // namespace nnkit
