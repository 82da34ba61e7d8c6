// Shared by reading and writing at positions: rows of several arrays, checked positions.
#pragma once

#include <atomic>
#include <cstring>
#include <utility>

#include "array.h"
#include "layout.h"
#include "memory.h"
#include "owned.h"
#include "parallel.h"

namespace nnkit {

constexpr Index moves_of_piece = 32768;  // elements moved that repay waking a thread

// An element of which only the bytes matter.
template <int bytes> struct Bits;
template <> struct Bits<1> { using type = std::uint8_t; };
template <> struct Bits<2> { using type = std::uint16_t; };
template <> struct Bits<4> { using type = std::uint32_t; };
template <> struct Bits<8> { using type = std::uint64_t; };
struct Pair { std::uint64_t low, high; };
template <> struct Bits<16> { using type = Pair; };

inline Index item_bytes(Array array) { return PyDataType_ELSIZE(array.descriptor()); }

// Whether the elements are numbers, which may be moved as bytes.
inline bool is_movable(Array array) {
    int number = array.number();
    return PyTypeNum_ISNUMBER(number) || number == NPY_BOOL || number == bfloat16_number;
}

// `body(Item{})` with an unsigned number (or a pair) as large as an element; false if none is.
template <class Body> bool with_item(Index bytes, Body&& body) {
    switch (bytes) {
        case 1: body(Bits<1>::type{}); return true;
        case 2: body(Bits<2>::type{}); return true;
        case 4: body(Bits<4>::type{}); return true;
        case 8: body(Bits<8>::type{}); return true;
        case 16: body(Bits<16>::type{}); return true;
        default: return false;
    }
}

template <class T> inline T read_at(const char* pointer) {
    return *reinterpret_cast<const T*>(pointer);
}
template <class T> inline T& at(char* pointer) { return *reinterpret_cast<T*>(pointer); }

// Calls `row(pointers, position, length)` for the straight rows that make up the elements
// [start, start + count) of the walk; `position` counts from 0. Along a row operand k goes on by
// operands[k].strides[walk.ndim - 1] bytes.
template <int operand_count, class Row>
inline void for_joint_rows(const Walk& walk, const Operand* operands, Index start, Index count,
                           Row row) {
    char* pointers[operand_count];
    for (int k = 0; k < operand_count; ++k) pointers[k] = operands[k].data;
    int last = walk.ndim - 1;
    if (last < 0) {
        row(pointers, Index{0}, count);
        return;
    }
    Index position[most_axes] = {};
    for (int i = last; i >= 0 && start > 0; --i) {
        position[i] = start % walk.shape[i];
        start /= walk.shape[i];
        for (int k = 0; k < operand_count; ++k) {
            pointers[k] += position[i] * operands[k].strides[i];
        }
    }
    for (Index done = 0; done < count;) {
        Index length = std::min(walk.shape[last] - position[last], count - done);
        row(pointers, done, length);
        done += length;
        position[last] += length;
        for (int k = 0; k < operand_count; ++k) pointers[k] += length * operands[k].strides[last];
        for (int i = last; i > 0 && position[i] == walk.shape[i]; --i) {
            for (int k = 0; k < operand_count; ++k) {
                pointers[k] += operands[k].strides[i - 1] - position[i] * operands[k].strides[i];
            }
            position[i] = 0;
            ++position[i - 1];
        }
    }
}

// The distance of neighbours in the rows of a walk.
inline Index step_of(const Walk& walk, const Operand& operand) {
    return walk.ndim ? operand.strides[walk.ndim - 1] : 0;
}

// Positions from 0 to size - 1, where `wraps` also from -size on; a wrong one is noted.
struct Bounds {
    Index size;
    bool wraps = false;
    std::atomic<bool> broken{false};

    // 0 for a wrong one: nothing outside is touched before the twin says what is wrong.
    inline Index checked(Index k) {
        if (static_cast<std::size_t>(k) < static_cast<std::size_t>(size)) return k;
        if (wraps && k < 0 && k >= -size) return k + size;
        broken.store(true, std::memory_order_relaxed);
        return 0;
    }
};

// An array of positions (int64 or int32) that a kernel may walk through.
inline bool is_index(Array index) {
    if (!index || !index.is_behaved()) return false;
    return index.type() == Type::int64 || index.type() == Type::int32;
}

// `body(Position{})` with the type of the positions.
template <class Body> void with_position(Array index, Body&& body) {
    if (index.type() == Type::int64) body(std::int64_t{});
    else body(std::int32_t{});
}

// An index of integer arrays that follow each other, full slices before and after them.
struct ArrayIndex {
    int axis = 0, count = 0;
    Array arrays[8];
};

// False for any other index, right or wrong: the twin knows them all.
bool read_array_index(PyObject* object, int ndim, ArrayIndex* index);

// Positions of any shape that stand for `axes` axes of an array from `axis` on; one counts `stride`
// bytes.
struct Slices {
    int axis = 0, axes = 0;
    Array index;
    Index stride = 0;
};

// Of several arrays it makes one of distances in bytes, which it checks, and keeps it in `offsets`.
bool find_slices(Array x, const ArrayIndex& index, Owned* offsets, Slices* slices,
                 Bounds* bounds);

// The elements of x (or, with fewer axes in the mask, its slices) where the mask is true.
PyObject* select_by_mask(Array x, Array mask);

// Whether writing one may change the other.
bool may_overlap(Array a, Array b);

// A copy in C order, made by several threads.
PyObject* plain_copy(Array x);
// The same with the axes in the order of the strides.
PyObject* copy_in_order(Array x);
// A new array of zeros.
PyObject* zeros(int ndim, const npy_intp* shape, PyArray_Descr* descriptor);

}  // namespace nnkit
