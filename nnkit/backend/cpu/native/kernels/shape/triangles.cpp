// Triangles of matrices: cut out, into a new array or in place, and the indices of their elements.
#include <algorithm>

#include "indexing.h"
#include "rows.h"

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
    if (!x || !is_movable(x) || x.ndim() < 2) return decline();
    if (in_place && !(x.is_plain() && x.is_writeable())) return decline();
    // What lies otherwise is laid by rows, and cut where it then is.
    const bool moves = !in_place && x.is_plain();
    Owned result = in_place ? Owned(Py_NewRef(x.object()))
                 : moves    ? Owned(empty_like(x))
                            : in_order(x);
    if (!result || x.size() == 0) return result.release();
    if (!moves) x = result.array();
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
                if (moves) std::memcpy(target, source, left);
                std::memset(target + left, 0, right);
            } else {
                std::memset(target, 0, left);
                if (moves) std::memcpy(target + left, source + left, right);
            }
        }
    });
    return result.release();
}

// How many elements the lower triangle has in the rows before this one.
Index count_before(Index row, Index columns, Index offset) {
    const Index first = std::max<Index>(0, -offset);                // row that has an element,
    const Index whole = std::max<Index>(first, columns - offset - 1);  // and that has all
    const Index growing = std::min(row, whole) - std::min(row, first);
    return growing * (first + offset + 1) + growing * (growing - 1) / 2 +
           (row - std::min(row, whole)) * columns;
}

template <bool lower, class T>
void list_elements(Index rows, Index columns, Index offset, Index count, T* out) {
    // No row without elements is visited: there may be any number of them.
    const Index first = lower ? std::max<Index>(0, -offset) : 0;
    const Index last = lower ? rows : std::min(rows, columns - offset - 1);
    const Index grain = std::max<Index>(1, moves_of_piece / columns);
    parallel_for(last - first, grain, [=](Index begin, Index end) {
        for (Index row = first + begin; row < first + end; ++row) {
            const Index edge = edge_of(row, offset, columns);
            const Index below = count_before(row, columns, offset);
            const Index left = lower ? 0 : edge, right = lower ? edge : columns;
            T* to = out + (lower ? below : row * columns - below);
            for (Index column = left; column < right; ++column, ++to) {
                to[0] = static_cast<T>(row);
                to[count] = static_cast<T>(column);
            }
        }
    });
}

// tril_indices(; rows, columns, offset, dtype), triu_indices(...): row by row.
template <bool lower> PyObject* indices(Arguments arguments) {
    const Index rows = arguments.integer(0), columns = arguments.integer(1);
    const Index offset = arguments.integer(2) - (lower ? 0 : 1);
    if (!PyArray_DescrCheck(arguments[3])) return decline();
    auto* descriptor = reinterpret_cast<PyArray_Descr*>(arguments[3]);
    const Index below = count_before(rows, columns, offset);
    const Index count = lower ? below : rows * columns - below;
    const npy_intp shape[] = {2, count};
    Py_INCREF(descriptor);
    Owned result(empty(2, shape, descriptor));
    if (!result) return nullptr;
    Array out = result.array();
    if (out.type() != Type::int64 && out.type() != Type::int32) return decline();
    if (count == 0) return result.release();
    if (out.type() == Type::int64) {
        list_elements<lower>(rows, columns, offset, count, out.data<std::int64_t>());
    } else {
        list_elements<lower>(rows, columns, offset, count, out.data<std::int32_t>());
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
