// Padding with a value or with the array's own elements, row by row: along each axis a table says
// what each place of the result repeats.
#include <algorithm>
#include <vector>

#include "computed.h"
#include "indexing.h"
#include "layout.h"

namespace nnkit {
namespace {

constexpr Index outside = -1;  // nothing is repeated there

enum class Mode { value, reflect, replicate, circular };

struct Padding {
    int ndim;
    npy_intp shape[most_axes];  // of the padded array
    std::vector<Index> sources[most_axes];
    Index begin, end;  // of the places of the last axis that lie as their sources do

    // The widths of an array of this shape; negative ones crop, where a value is put.
    bool read(int axes, const npy_intp* inner, PyObject* widths, Mode mode) {
        ndim = axes;
        if (ndim < 1 || !PyTuple_CheckExact(widths)) return false;
        if (PyTuple_GET_SIZE(widths) != ndim) return false;
        for (int a = 0; a < ndim; ++a) {
            Index pair[2];
            if (read_integers(PyTuple_GET_ITEM(widths, a), pair, 2) != 2) return false;
            const Index n = inner[a], before = pair[0], after = pair[1];
            shape[a] = n + before + after;
            if (shape[a] < 0) return false;
            if (mode != Mode::value) {
                const Index most = mode == Mode::replicate  ? PTRDIFF_MAX
                                   : mode == Mode::circular ? n
                                                            : n - 1;
                const bool is_padded = before != 0 || after != 0;
                if (before < 0 || after < 0 || std::max(before, after) > most) return false;
                if (n == 0 && is_padded) return false;
            }
            sources[a].resize(static_cast<std::size_t>(shape[a]));
            for (Index i = 0; i < shape[a]; ++i) {
                sources[a][static_cast<std::size_t>(i)] = source_of(i - before, n, mode);
            }
            begin = std::min(std::max<Index>(before, 0), shape[a]);
            end = std::max(begin, shape[a] - std::max<Index>(after, 0));
        }
        return true;
    }

    static Index source_of(Index i, Index n, Mode mode) {
        if (i >= 0 && i < n) return i;
        switch (mode) {
            case Mode::reflect: return i < 0 ? -i : 2 * (n - 1) - i;
            case Mode::replicate: return i < 0 ? 0 : n - 1;
            case Mode::circular: return i < 0 ? i + n : i - n;
            default: return outside;
        }
    }

    // Which element of an array with these steps a row of the result begins with, as if the last
    // axis were not padded; `outside` for a row that repeats none.
    Index row_source(Index row, const npy_intp* steps) const {
        Index offset = 0;
        for (int a = ndim - 2; a >= 0; --a) {
            const Index source = sources[a][static_cast<std::size_t>(row % shape[a])];
            if (source == outside) return outside;
            offset += source * steps[a];
            row /= shape[a];
        }
        return offset;
    }
};

Mode read_mode(PyObject* name) {
    if (!PyUnicode_Check(name)) throw Declined();
    auto is = [name](const char* known) {
        return PyUnicode_CompareWithASCIIString(name, known) == 0;
    };
    if (is("reflect")) return Mode::reflect;
    if (is("replicate")) return Mode::replicate;
    if (is("circular")) return Mode::circular;
    throw Declined();
}

bool is_operand(Array x) {
    return x && is_movable(x) && x.is_behaved() && x.ndim() <= most_axes && item_bytes(x) <= 16;
}

template <class Item>
void fill_rows(const Padding& padding, Array x, Item filling, Item* out) {
    const int last = padding.ndim - 1;
    const Index width = padding.shape[last], step = x.strides()[last];
    const Index *source = padding.sources[last].data(), begin = padding.begin, end = padding.end;
    Index rows = 1;
    for (int a = 0; a < last; ++a) rows *= padding.shape[a];
    if (rows == 0 || width == 0) return;
    parallel_for(rows, std::max<Index>(1, moves_of_piece / width), [&](Index first, Index stop) {
        for (Index row = first; row < stop; ++row) {
            Item* to = out + row * width;
            const Index offset = padding.row_source(row, x.strides());
            if (offset == outside) {
                std::fill_n(to, width, filling);
                continue;
            }
            const char* from = x.bytes() + offset;
            auto border = [&](Index i) {
                to[i] = source[i] == outside ? filling : read_at<Item>(from + source[i] * step);
            };
            for (Index i = 0; i < begin; ++i) border(i);
            const char* straight = from + (begin < end ? source[begin] * step : 0);
            if (step == static_cast<Index>(sizeof(Item))) {
                std::copy_n(reinterpret_cast<const Item*>(straight), end - begin, to + begin);
            } else {
                for (Index i = begin; i < end; ++i) {
                    to[i] = read_at<Item>(straight + (i - begin) * step);
                }
            }
            for (Index i = end; i < width; ++i) border(i);
        }
    });
}

PyObject* padded(const Padding& padding, Array x, const char* value) {
    Py_INCREF(x.descriptor());
    Owned result(empty(padding.ndim, padding.shape, x.descriptor()));
    if (!result) return nullptr;
    with_item(item_bytes(x), [&](auto item) {
        using Item = decltype(item);
        Item filling{};
        if (value != nullptr) std::memcpy(&filling, value, sizeof filling);
        fill_rows(padding, x, filling, result.array().template data<Item>());
    });
    return result.release();
}

// pad(x; widths, value): negative widths crop.
PyObject* pad(Arguments arguments) {
    Array x = arguments.array(0);
    Padding padding;
    if (!is_operand(x) || !padding.read(x.ndim(), x.shape(), arguments[1], Mode::value)) {
        return decline();
    }
    alignas(16) char value[16];
    if (PyArray_Pack(x.descriptor(), value, arguments[2]) < 0) {
        PyErr_Clear();  // the twin says what is wrong
        return decline();
    }
    return padded(padding, x, value);
}

// pad_mode(x; widths, mode)
PyObject* pad_mode(Arguments arguments) {
    Array x = arguments.array(0);
    Padding padding;
    if (!is_operand(x)) return decline();
    if (!padding.read(x.ndim(), x.shape(), arguments[1], read_mode(arguments[2]))) return decline();
    return padded(padding, x, nullptr);
}

// The rows of one part of the gradient, all that is along the axes from `first` on, to those that
// they were copied from.
template <class T>
void add_rows(const Padding& padding, const T* gradient, Index rows, const npy_intp* steps,
              T* out) {
    const int last = padding.ndim - 1;
    const Index width = padding.shape[last];
    const Index *source = padding.sources[last].data(), begin = padding.begin, end = padding.end;
    for (Index row = 0; row < rows; ++row, gradient += width) {
        T* to = out + padding.row_source(row, steps);
        for (Index i = 0; i < begin; ++i) to[source[i]] += gradient[i];
        T* straight = to + (begin < end ? source[begin] : 0);
        for (Index i = begin; i < end; ++i) straight[i - begin] += gradient[i];
        for (Index i = end; i < width; ++i) to[source[i]] += gradient[i];
    }
}

// pad_mode_adjoint(g; widths, mode)
PyObject* pad_mode_adjoint(Arguments arguments) {
    Array g = arguments.array(0);
    npy_intp inner[most_axes], steps[most_axes];
    if (!is_floating(g) || g.ndim() < 1 || g.ndim() > most_axes) return decline();
    const int ndim = g.ndim();
    if (!PyTuple_CheckExact(arguments[1])) return decline();
    if (PyTuple_GET_SIZE(arguments[1]) != ndim) return decline();
    int first = ndim - 1;  // of the axes that are padded
    for (int a = ndim - 1; a >= 0; --a) {
        Index pair[2];
        if (read_integers(PyTuple_GET_ITEM(arguments[1], a), pair, 2) != 2) return decline();
        inner[a] = g.shape()[a] - pair[0] - pair[1];
        if (inner[a] < 0) return decline();
        if (pair[0] != 0 || pair[1] != 0) first = a;
    }
    Padding padding;
    if (!padding.read(ndim, inner, arguments[1], read_mode(arguments[2]))) return decline();
    Input gradient;
    if (!gradient.read_foreign(g, g.type(), g.size())) return decline();
    Index parts = 1, size = 1, rows = 1;
    for (int a = ndim - 1; a >= 0; --a) {
        steps[a] = a < first ? 0 : size;
        if (a >= first) size *= inner[a];
        else parts *= inner[a];
        if (a >= first && a < ndim - 1) rows *= padding.shape[a];
    }
    return by_computed_type(g.type(), [&](auto like) -> PyObject* {
        using T = decltype(like);
        Owned result(empty<T>(ndim, inner));
        if (!result) return nullptr;
        T* out = result.array().template data<T>();
        const T* from = gradient.data<T>();
        const Index part = rows * padding.shape[ndim - 1];
        const Index grain = std::max<Index>(1, moves_of_piece / std::max<Index>(part, 1));
        parallel_for(parts, grain, [&](Index begin, Index end) {
            for (Index p = begin; p < end; ++p) {
                std::fill_n(out + p * size, size, T(0));
                add_rows(padding, from + p * part, rows, steps, out + p * size);
            }
        });
        return narrowed(std::move(result), g.type());
    });
}

const Registration registrations[] = {
    {"pad", pad},
    {"pad_mode", pad_mode},
    {"pad_mode_adjoint", pad_mode_adjoint},
};

}  // namespace
}  // namespace nnkit
