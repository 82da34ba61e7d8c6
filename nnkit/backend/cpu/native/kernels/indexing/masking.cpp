// Masks: reading and writing where they are true, and the places where that is.
#include <vector>

#include "indexing.h"
#include "owned.h"

namespace nnkit {
namespace {

constexpr Index mask_piece = 16384;

Index count_true(const std::uint8_t* mask, Index count) {
    Index total = 0;
    while (count > 0) {
        Index block = std::min<Index>(count, 255 * 16);  // the lanes' sums fit into 16 bits
        std::uint16_t part = 0;
        for (Index i = 0; i < block; ++i) part = static_cast<std::uint16_t>(part + (mask[i] != 0));
        total += part;
        mask += block;
        count -= block;
    }
    return total;
}

// For every piece of the mask, how many true elements come before it; at the end, all of them.
std::vector<Index> count_pieces(const std::uint8_t* mask, Index size) {
    std::vector<Index> before(static_cast<std::size_t>((size + mask_piece - 1) / mask_piece + 1));
    parallel_for(size, mask_piece * 8, [&](Index begin, Index end) {
        for (Index i = begin; i < end; i += mask_piece) {
            Index count = count_true(mask + i, std::min(mask_piece, end - i));
            before[static_cast<std::size_t>(i / mask_piece + 1)] = count;
        }
    });
    for (std::size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
    return before;
}

// Calls `visit(position, rank)` for the true elements of [begin, end), `rank` counting from `rank`.
template <class Visit>
inline void for_true(const std::uint8_t* mask, Index begin, Index end, Index rank, Visit visit) {
    Index i = begin;
    for (; i + 8 <= end; i += 8) {
        std::uint64_t word;
        std::memcpy(&word, mask + i, 8);
        if (word == 0) continue;
        for (Index k = i; k < i + 8; ++k) {
            if (mask[k]) visit(k, rank++);
        }
    }
    for (; i < end; ++i) {
        if (mask[i]) visit(i, rank++);
    }
}

// The elements where the mask is true, without a branch for each: what is written in vain is
// written over. `out` has room for `count` elements, the true ones of [begin, end).
template <class Item>
void compress(const std::uint8_t* mask, const Item* x, Index begin, Index end, Item* out,
              Index count) {
    Index rank = 0, i = begin;
    for (; i < end && rank < count; ++i) {
        out[rank] = x[i];
        rank += mask[i] != 0;
    }
}

bool is_mask(Array mask) { return mask && mask.type() == Type::boolean && mask.is_plain(); }

template <class Body> void for_pieces(Index size, Body body) {
    parallel_for(size, mask_piece * 4, [&](Index begin, Index end) {
        for (Index i = begin; i < end; i += mask_piece) body(i, std::min(end, i + mask_piece));
    });
}

}  // namespace

PyObject* select_by_mask(Array x, Array mask) {
    if (!x || !is_mask(mask) || !is_movable(x) || !x.is_plain()) return decline();
    int axes = mask.ndim();
    if (axes < 1 || axes > x.ndim() || !PyArray_CompareLists(x.shape(), mask.shape(), axes)) {
        return decline();
    }
    Index size = mask.size();
    if (size == 0) return decline();
    const auto* flags = mask.data<std::uint8_t>();
    std::vector<Index> before = count_pieces(flags, size);
    if (axes < x.ndim() && before.back() == 0) return decline();
    npy_intp shape[most_axes];
    int ndim = 0;
    Index slice = item_bytes(x);
    if (x.ndim() - axes + 1 > most_axes) return decline();
    shape[ndim++] = before.back();
    for (int i = axes; i < x.ndim(); ++i) {
        if (x.shape(i) <= 1) return decline();  // strides of which the twin takes care
        shape[ndim++] = x.shape(i);
        slice *= x.shape(i);
    }
    Py_INCREF(x.descriptor());
    Owned result(empty(ndim, shape, x.descriptor()));
    if (!result) return nullptr;
    char *out = result.array().bytes(), *in = x.bytes();
    for_pieces(size, [&](Index begin, Index end) {
        auto piece = static_cast<std::size_t>(begin / mask_piece);
        Index rank = before[piece];
        bool done = axes == x.ndim() && with_item(slice, [&](auto item) {
            using Item = decltype(item);
            compress(flags, reinterpret_cast<const Item*>(in), begin, end,
                     reinterpret_cast<Item*>(out) + rank, before[piece + 1] - rank);
        });
        if (done) return;
        for_true(flags, begin, end, rank, [&](Index i, Index k) {
            std::memcpy(out + k * slice, in + i * slice, static_cast<std::size_t>(slice));
        });
    });
    return result.release();
}

namespace {

// masked_select(x, mask)
PyObject* masked_select(Arguments arguments) {
    Array x = arguments.array(0), mask = arguments.array(1);
    if (!x || !mask || !x.same_shape(mask)) return decline();
    return select_by_mask(x, mask);
}

// masked_select_adjoint(y, mask; shape)
PyObject* masked_select_adjoint(Arguments arguments) {
    Array y = arguments.array(0), mask = arguments.array(1);
    Index sizes[most_axes];
    int ndim = read_integers(arguments[2], sizes, most_axes);
    if (!y || !is_mask(mask) || !y.is_plain() || !is_movable(y) || y.ndim() != 1) return decline();
    if (ndim != mask.ndim() || !PyArray_CompareLists(mask.shape(), sizes, ndim)) return decline();
    Py_INCREF(y.descriptor());
    Owned result(zeros(ndim, sizes, y.descriptor()));
    if (!result || mask.size() == 0) return result.release();
    const auto* flags = mask.data<std::uint8_t>();
    std::vector<Index> before = count_pieces(flags, mask.size());
    if (before.back() != y.size()) return decline();
    with_item(item_bytes(y), [&](auto item) {
        using Item = decltype(item);
        Item *out = result.array().data<Item>(), *in = y.data<Item>();
        for_pieces(mask.size(), [&](Index begin, Index end) {
            Index rank = before[static_cast<std::size_t>(begin / mask_piece)];
            for_true(flags, begin, end, rank, [&](Index i, Index k) { out[i] = in[k]; });
        });
    });
    return result.release();
}

// masked_fill(x, mask; value): of one shape, or with a mask that is repeated along leading axes.
template <bool in_place> PyObject* masked_fill(Arguments arguments) {
    Array x = arguments.array(0), mask = arguments.array(1);
    if (!x || !is_mask(mask) || !is_movable(x) || !x.is_plain()) return decline();
    int shift = x.ndim() - mask.ndim();
    if (shift < 0 || !PyArray_CompareLists(x.shape() + shift, mask.shape(), mask.ndim())) {
        return decline();
    }
    alignas(16) char value[16];
    if (item_bytes(x) > 16) return decline();
    if (PyArray_Pack(x.descriptor(), value, arguments[2]) < 0) {
        PyErr_Clear();  // the twin says what is wrong
        return decline();
    }
    if (in_place && !x.is_writeable()) return decline();
    PyObject* result = in_place ? Py_NewRef(x.object()) : empty_like(x);
    if (result == nullptr || x.size() == 0) return result;
    const auto* flags = mask.data<std::uint8_t>();
    Index period = mask.size();
    with_item(item_bytes(x), [&](auto item) {
        using Item = decltype(item);
        Item *out = Array(result).data<Item>(), *in = x.data<Item>(), filling;
        std::memcpy(&filling, value, sizeof filling);
        parallel_for(x.size(), moves_of_piece * 4, [&](Index begin, Index end) {
            for (Index i = begin; i < end;) {
                Index from = i % period, length = std::min(end - i, period - from);
                for (Index j = 0; j < length; ++j) {
                    Item old = in[i + j];
                    out[i + j] = flags[from + j] ? filling : old;
                }
                i += length;
            }
        });
    });
    return result;
}

// masked_scatter(x, mask, source): of one shape.
template <bool in_place> PyObject* masked_scatter(Arguments arguments) {
    Array x = arguments.array(0), mask = arguments.array(1), source = arguments.array(2);
    if (!x || !is_mask(mask) || !source || !is_movable(x) || !x.same_shape(mask)) return decline();
    if (!x.is_plain() || !source.is_plain() || x.number() != source.number()) return decline();
    if (in_place && (!x.is_writeable() || may_overlap(x, source))) return decline();
    const auto* flags = mask.data<std::uint8_t>();
    std::vector<Index> before = count_pieces(flags, mask.size());
    if (before.back() > source.size()) return decline();
    Owned result(in_place ? Py_NewRef(x.object()) : empty_like(x));
    if (!result) return nullptr;
    with_item(item_bytes(x), [&](auto item) {
        using Item = decltype(item);
        Item *out = result.array().data<Item>(), *old = x.data<Item>();
        const Item* in = source.data<Item>();
        for_pieces(x.size(), [&](Index begin, Index end) {
            Index rank = before[static_cast<std::size_t>(begin / mask_piece)];
            if (!in_place) std::copy(old + begin, old + end, out + begin);
            for_true(flags, begin, end, rank, [&](Index i, Index k) { out[i] = in[k]; });
        });
    });
    return result.release();
}

// One coordinate after the other; carries are rare, so no division is needed.
struct Coordinates {
    int ndim;
    const npy_intp* shape;
    Index values[most_axes];
    Index position;

    Coordinates(int ndim, const npy_intp* shape, Index start)
        : ndim(ndim), shape(shape), position(start) {
        for (int i = ndim - 1; i >= 0; --i) {
            values[i] = start % shape[i];
            start /= shape[i];
        }
    }
    void go_to(Index target) {
        values[ndim - 1] += target - position;
        position = target;
        for (int i = ndim - 1; i > 0 && values[i] >= shape[i]; --i) {
            Index carry = values[i] / shape[i];
            values[i] -= carry * shape[i];
            values[i - 1] += carry;
        }
    }
};

template <class T>
void find_flags(const T* x, std::uint8_t* flags, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) flags[i] = x[i] != 0;
}

// nonzero(x): a row of coordinates for every element that is not zero; each column lies together.
PyObject* nonzero(Arguments arguments) {
    Array x = arguments.array(0);
    if (!x || !x.is_plain() || x.ndim() < 1 || x.ndim() > most_axes || x.size() == 0) {
        return decline();
    }
    Index size = x.size();
    Type type = x.type();
    bool known = type == Type::boolean || type == Type::float32 || type == Type::float64 ||
                 type == Type::int64;
    if (!known) return decline();
    Scratch<std::uint8_t> scratch(type == Type::boolean ? 0 : size);
    const std::uint8_t* flags = x.data<std::uint8_t>();
    if (type != Type::boolean) {
        flags = scratch.data();
        parallel_for(size, moves_of_piece * 4, [&](Index begin, Index end) {
            std::uint8_t* out = scratch.data();
            if (type == Type::float32) find_flags(x.data<float>(), out, begin, end);
            else if (type == Type::float64) find_flags(x.data<double>(), out, begin, end);
            else find_flags(x.data<std::int64_t>(), out, begin, end);
        });
    }
    std::vector<Index> before = count_pieces(flags, size);
    int ndim = x.ndim();
    Index count = before.back();
    if (count == 0) return decline();  // whose strides the twin knows
    Owned columns(empty<std::int64_t>({ndim, count}));
    if (!columns) return nullptr;
    auto* out = columns.array().data<std::int64_t>();
    for_pieces(size, [&](Index begin, Index end) {
        Index rank = before[static_cast<std::size_t>(begin / mask_piece)];
        Coordinates at(ndim, x.shape(), begin);
        for_true(flags, begin, end, rank, [&](Index i, Index k) {
            at.go_to(i);
            for (int axis = 0; axis < ndim; ++axis) out[axis * count + k] = at.values[axis];
        });
    });
    return PyArray_Transpose(reinterpret_cast<PyArrayObject*>(columns.object()), nullptr);
}

Registration registrations[] = {
    {"masked_select", masked_select},
    {"masked_select_adjoint", masked_select_adjoint},
    {"masked_fill", masked_fill<false>},
    {"masked_fill_", masked_fill<true>},
    {"masked_scatter", masked_scatter<false>},
    {"masked_scatter_", masked_scatter<true>},
    {"nonzero", nonzero},
};

}  // namespace
}  // namespace nnkit
