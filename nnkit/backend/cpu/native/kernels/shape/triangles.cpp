// Triangles of matrices: cut out, into a new array or in place, and the indices of their elements.
#include <algorithm>

#include "indexing.h"

namespace nnkit {
namespace {

// Where the lower triangle ends in a row: it has the columns before that one.
Index edge_of(Index row, Index offset, Index columns) {
    return std::clamp<Index>(row + offset + 1, 0, columns);
}

// tril(x; offset), triu(x; offset), and those that write into x: the last two axes.
template <bool lower, bool in_place> PyObject* triangle(Arguments arguments) {
    Array x = arguments.array(0);
    const Index offset = arguments.integer(1) - (lower ? 0 : 1);
    if (!x || !is_movable(x) || !x.is_plain() || x.ndim() < 2) return decline();
    if (in_place && !x.is_writeable()) return decline();
    Owned result(in_place ? Py_NewRef(x.object()) : empty_like(x));
    if (!result || x.size() == 0) return result.release();
    Index rows = x.shape(-2), columns = x.shape(-1), item = item_bytes(x);
    char *out = result.array().bytes(), *in = x.bytes();
    Index grain = std::max<Index>(1, moves_of_piece * 8 / (columns * item));
    parallel_for(x.size() / columns, grain, [&](Index begin, Index end) {
        for (Index k = begin; k < end; ++k) {
            auto left = static_cast<std::size_t>(edge_of(k % rows, offset, columns) * item);
            std::size_t right = static_cast<std::size_t>(columns * item) - left;
            char* target = out + k * columns * item;
            const char* source = in + k * columns * item;
            if (lower) {
                if (!in_place) std::memcpy(target, source, left);
                std::memset(target + left, 0, right);
            } else {
                std::memset(target, 0, left);
                if (!in_place) std::memcpy(target + left, source + left, right);
            }
        }
    });
    return result.release();
}

template <class T>
void list_elements(Index rows, Index columns, Index offset, bool lower, Index count, T* out) {
    for (Index row = 0; row < rows; ++row) {
        const Index edge = edge_of(row, offset, columns);
        const Index begin = lower ? 0 : edge, end = lower ? edge : columns;
        std::fill(out, out + (end - begin), static_cast<T>(row));
        for (Index column = begin; column < end; ++column) {
            out[count + column - begin] = static_cast<T>(column);
        }
        out += end - begin;
    }
}

// tril_indices(; rows, columns, offset, dtype), triu_indices(...): row by row.
template <bool lower> PyObject* indices(Arguments arguments) {
    const Index rows = arguments.integer(0), columns = arguments.integer(1);
    const Index offset = arguments.integer(2) - (lower ? 0 : 1);
    if (!PyArray_DescrCheck(arguments[3])) return decline();
    auto* descriptor = reinterpret_cast<PyArray_Descr*>(arguments[3]);
    Index count = 0;
    for (Index row = 0; row < rows; ++row) {
        const Index edge = edge_of(row, offset, columns);
        count += lower ? edge : columns - edge;
    }
    const npy_intp shape[] = {2, count};
    Py_INCREF(descriptor);
    Owned result(empty(2, shape, descriptor));
    if (!result) return nullptr;
    Array out = result.array();
    if (out.type() == Type::int64) {
        list_elements(rows, columns, offset, lower, count, out.data<std::int64_t>());
    } else if (out.type() == Type::int32) {
        list_elements(rows, columns, offset, lower, count, out.data<std::int32_t>());
    } else {
        return decline();
    }
    return result.release();
}

Registration registrations[] = {
    {"tril", triangle<true, false>},
    {"tril_", triangle<true, true>},
    {"tril_indices", indices<true>},
    {"triu", triangle<false, false>},
    {"triu_", triangle<false, true>},
    {"triu_indices", indices<false>},
};

}  // namespace
}  // namespace nnkit
