// Teams of threads that work on one row, and strided rows.
#pragma once

#include "common.cuh"

namespace nnkit {

// The threads that work on one row together. A warp needs no barrier for its sums; single threads
// take rows whose elements do not lie side by side (backend/cuda/team.py).
enum TeamKind { by_block, by_warp, by_thread };

// Launch bounds of kernels for teams, whose threads keep so many elements: half of a processor's
// 65536 registers for a block, or all of them where that is not enough.
template <int kind> constexpr int most_threads = kind == by_block ? 512 : 256;
template <int kind, int kept = 0>
constexpr int least_blocks = (kind == by_block ? 1 : 2) * (kept > 8 ? 1 : 2);

template <int kind>
struct RowTeam {
    int rank, size;
    int64 row, rows_at_once;

    __device__ RowTeam() {
        const int members = kind == by_warp ? warp_size : kind == by_thread ? 1 : blockDim.x;
        const int teams = blockDim.x / members;
        rank = threadIdx.x % members;
        size = members;
        row = int64(blockIdx.x) * teams + threadIdx.x / members;
        rows_at_once = int64(gridDim.x) * teams;
    }
    template <class Value, class Combine>
    __device__ Value reduce(Value value, Combine combine, Value identity) const {
        if constexpr (kind == by_warp) return reduce_warp(value, combine);
        else if constexpr (kind == by_block) return reduce_block(value, combine, identity);
        else return value;
    }
    template <class T>
    __device__ T sum(T value) const { return reduce(value, nnkit::Sum(), T(0)); }
    template <class T>
    __device__ T maximum(T value) const {
        return reduce(value, Maximum(), Limits<T>::lowest());
    }
};

// The pack of ``width`` elements of a row from ``first`` on. ``packed``: all packs are whole and
// aligned (backend/cuda/team.py); else elements go one by one, in the same order.
template <class T, int width, bool packed>
struct PackOfRow {
    static constexpr int elements = width;
    int64 first, length;

    // Which of them is this element of the row; -1: none.
    __device__ int index_of(int64 element) const {
        const int64 index = element - first;
        return uint64(index) < uint64(width) ? int(index) : -1;
    }
    // Calls ``body(k)`` for each element that there is.
    template <class Body>
    __device__ void each(Body body) const {
        #pragma unroll
        for (int k = 0; k < width; ++k) {
            if (packed || first + k < length) body(k);
        }
    }
    __device__ Pack<T, width> read(const T* row) const {
        if constexpr (packed) return *reinterpret_cast<const Pack<T, width>*>(row + first);
        Pack<T, width> pack;
        each([&](int k) { pack[k] = row[first + k]; });
        return pack;
    }
    template <class Value>
    __device__ void write(T* row, Value value) const {
        Pack<T, width> pack;
        each([&](int k) { pack[k] = T(value(k)); });
        if constexpr (packed) *reinterpret_cast<Pack<T, width>*>(row + first) = pack;
        else each([&](int k) { row[first + k] = pack[k]; });
    }
};

template <class T, bool packed> using place_t = PackOfRow<T, 16 / sizeof(T), packed>;

// Calls ``body(place)`` for all elements of rows of T, at whatever places these lie: for packs of 16
// bytes where all of them are aligned alike, one by one before, behind and elsewhere.
template <class T, class Team, class Body, class... Rows>
__device__ void each_place(
    const Team& team, int64 length, Body body, const T* first, const Rows*... more) {
    constexpr int width = 16 / sizeof(T);
    const uint64 start = reinterpret_cast<uint64>(first);
    const bool alike = ((reinterpret_cast<uint64>(more) % 16 == start % 16) & ... & true);
    const int64 missing = (width - start / sizeof(T) % width) % width;
    const int64 head = alike && missing < length ? missing : length;
    const int64 packs = (length - head) / width;
    for (int64 i = team.rank; i < head; i += team.size) body(PackOfRow<T, 1, true>{i, length});
    for (int64 p = team.rank; p < packs; p += team.size) {
        body(PackOfRow<T, width, true>{head + p * width, length});
    }
    for (int64 i = head + packs * width + team.rank; i < length; i += team.size) {
        body(PackOfRow<T, 1, true>{i, length});
    }
}

// The largest of numbers, and the sum of exp(number - largest), as they are met. A NaN need not be
// the largest: it makes the total NaN.
template <class C>
struct Exponentials {
    C largest = Limits<C>::lowest(), total = C(0);

    template <class T, int width>
    __device__ void add(const Pack<T, width>& pack) {
        const C before = largest;
        #pragma unroll
        for (int k = 0; k < width; ++k) largest = C(pack[k]) > largest ? C(pack[k]) : largest;
        const C shift = largest > Limits<C>::lowest() ? largest : C(0);
        if (before != largest) total *= math::exp(before - shift);
        #pragma unroll
        for (int k = 0; k < width; ++k) total += math::exp(C(pack[k]) - shift);
    }
    // Of all threads of a team.
    template <class Team>
    __device__ void join(const Team& team) {
        const C own = largest;
        largest = team.maximum(largest);
        total = team.sum(total * math::exp(own - largest));
    }
};

// The row that a team works on, by packs of 16 bytes of T; ``load(pack, values)`` gives a pack's
// values. Each thread keeps up to ``kept`` of them in registers; 0: they are loaded each time.
template <class T, class Value, int kept, bool packed, class Load>
struct Row {
    static constexpr int width = 16 / sizeof(T), packs = kept / width;
    using Place = place_t<T, packed>;
    Value values[packs ? packs : 1][width];
    int rank, size;
    int64 length;
    Load load;

    template <class Team>
    __device__ Row(const Team& team, int64 length, Load load)
        : rank(team.rank), size(team.size), length(length), load(load) {
        #pragma unroll
        for (int p = 0; p < packs; ++p) {
            const Place place{int64(rank + p * size) * width, length};
            if (place.first < length) load(place, values[p]);
        }
    }
    // Calls ``body(place, values)`` for each pack. What it changes stays changed if it is kept.
    template <class Body>
    __device__ void each_pack(Body body) {
        if constexpr (packs > 0) {
            #pragma unroll
            for (int p = 0; p < packs; ++p) {
                const Place place{int64(rank + p * size) * width, length};
                if (place.first < length) body(place, values[p]);
            }
        } else {
            for (int64 first = int64(rank) * width; first < length; first += int64(size) * width) {
                const Place place{first, length};
                load(place, values[0]);
                body(place, values[0]);
            }
        }
    }
    template <class Body>
    __device__ void each(Body body) {
        each_pack([&](const Place& place, Value* pack) {
            place.each([&](int k) { body(pack[k]); });
        });
    }
    template <class F>
    __device__ void write(T* to, F f) {
        each_pack([&](const Place& place, Value* pack) {
            place.write(to, [&](int k) { return f(pack[k]); });
        });
    }
};
template <class T, class Value, int kept, bool packed, class Team, class Load>
__device__ Row<T, Value, kept, packed, Load> row_of(const Team& team, int64 length, Load load) {
    return Row<T, Value, kept, packed, Load>(team, length, load);
}

template <class T, int width, class F, class... Packs>
__device__ void map_pack(Pack<T, width>& result, F f, const Packs&... packs) {
    #pragma unroll
    for (int k = 0; k < width; ++k) result[k] = f(packs[k]...);
}

// to[i] = f(from[i]...) for the elements of a row, by packs of 16 bytes where all rows are aligned.
template <class T, class F, class... Rows>
__device__ void map_row(T* to, int64 length, int rank, int size, F f, const Rows*... from) {
    constexpr int width = 16 / sizeof(T);
    const uint64 addresses = (reinterpret_cast<uint64>(to) | ... | reinterpret_cast<uint64>(from));
    const int64 packs = addresses % 16 ? 0 : length / width;
    for (int64 p = rank; p < packs; p += size) {
        Pack<T, width> result;
        map_pack(result, f, reinterpret_cast<const Pack<Rows, width>*>(from)[p]...);
        reinterpret_cast<Pack<T, width>*>(to)[p] = result;
    }
    for (int64 i = packs * width + rank; i < length; i += size) to[i] = f(from[i]...);
}

// Some axes of a strided array, walked in C order (backend/cuda/strided.py).
struct Walk {
    int64 dimensions;
    int64 sizes[8], strides[8];

    // The place of element ``i``.
    __device__ int64 operator()(int64 i) const {
        if (dimensions == 1) return i * strides[0];
        int64 offset = 0;
        for (int d = int(dimensions) - 1; d > 0; --d) {
            int64 rest;
            if (i >> 32 | sizes[d] >> 32) {
                rest = i % sizes[d];
                i /= sizes[d];
            } else {
                rest = uint32(i) % uint32(sizes[d]);
                i = uint32(i) / uint32(sizes[d]);
            }
            offset += rest * strides[d];
        }
        return dimensions ? offset + i * strides[0] : 0;
    }
};

}  // namespace nnkit
