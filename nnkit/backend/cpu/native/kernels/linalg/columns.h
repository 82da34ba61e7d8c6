// Matrices that lie by columns, as LAPACK and torch leave them.
#pragma once

#include <utility>

#include "layout.h"
#include "memory.h"
#include "owned.h"
#include "transpose.h"

namespace nnkit {

constexpr Index most_rows = 16;  // of what is factored or solved here; the rest is LAPACK's

// A copy that lies by columns, in the order of its memory; null with the error set.
template <class T> Owned by_columns(Array x) {
    Owned turned(with_axis_moved(x, x.ndim() - 2, x.ndim() - 1));
    if (!turned) return turned;
    auto* source = reinterpret_cast<PyArrayObject*>(turned.object());
    Owned columns(empty<T>(x.ndim(), PyArray_DIMS(source)));
    if (columns && x.is_plain()) {
        const Index rows = x.shape(-2), width = x.shape(-1), size = rows * width;
        T* to = columns.array().data<T>();
        for (Index at = 0; at < x.size(); at += size) {
            transpose(rows, width, x.data<T>() + at, width, to + at, rows);
        }
        return columns;
    }
    auto* target = reinterpret_cast<PyArrayObject*>(columns.object());
    return columns && PyArray_CopyInto(target, source) == 0 ? std::move(columns) : Owned();
}

}  // namespace nnkit
