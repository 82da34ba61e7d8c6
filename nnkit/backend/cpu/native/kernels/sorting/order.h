// The order of numbers as an order of unsigned keys, and sorting by them.
//
// NaN is greater than all numbers and equal to itself, both zeros are equal. With an index beside
// every key no two items are equal, so any way of sorting gives the one stable order.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "half.h"
#include "memory.h"
#include "owned.h"
#include "parallel.h"

namespace nnkit {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

// Keys compare like the numbers, or the other way round.
template <class T> inline KeyOf<T> key_of(T x, bool descending) {
    using Key = KeyOf<T>;
    constexpr Key top = Key{1} << (8 * sizeof(Key) - 1);
    Key key;
    if constexpr (std::is_floating_point_v<T>) {
        Key bits = bit_cast<Key>(x + T(0));  // -0 becomes 0
        key = (bits & top) != 0 ? ~bits : bits | top;
        if (x != x) key = ~Key{0};
    } else {
        key = static_cast<Key>(x) ^ top;
    }
    return descending ? ~key : key;
}

template <class Key> struct Item {
    Key key;
    Key index;

    bool operator<(const Item& other) const {
        return key < other.key || (key == other.key && index < other.index);
    }
};

// One instruction compares a short key together with its index.
template <> struct Item<std::uint32_t> {
    std::uint64_t both;

    Item() = default;
    Item(std::uint32_t key, std::uint32_t index) : both(std::uint64_t{key} << 32 | index) {}
    bool operator<(const Item& other) const { return both < other.both; }
};

inline std::uint32_t key_of_item(const Item<std::uint32_t>& item) {
    return static_cast<std::uint32_t>(item.both >> 32);
}
inline std::uint64_t key_of_item(const Item<std::uint64_t>& item) { return item.key; }
inline Index index_of_item(const Item<std::uint32_t>& item) {
    return static_cast<Index>(item.both & 0xffffffffu);
}
inline Index index_of_item(const Item<std::uint64_t>& item) {
    return static_cast<Index>(item.index);
}

// Sorts items that lie in the order of their indices by one digit of their keys after the other.
// `room` takes as many items; the result lies in the one or the other.
template <class Key, int bits>
Item<Key>* sort_by_digits(Item<Key>* items, Item<Key>* room, Index count) {
    constexpr int size = 8 * sizeof(Key), digits = (size + bits - 1) / bits;
    constexpr Key last = (Key{1} << bits) - 1;
    Scratch<std::uint32_t> counts(Index{digits} << bits);
    std::fill_n(counts.data(), Index{digits} << bits, 0u);
    for (Index i = 0; i < count; ++i) {
        Key key = key_of_item(items[i]);
        for (int d = 0; d < digits; ++d) ++counts[(d << bits) + ((key >> (d * bits)) & last)];
    }
    for (int d = 0; d < digits; ++d) {
        poll();
        std::uint32_t* places = counts.data() + (d << bits);
        Key first = (key_of_item(items[0]) >> (d * bits)) & last;
        if (places[first] == count) continue;  // all have the same digit
        std::uint32_t before = 0;
        for (Index v = 0; v <= static_cast<Index>(last); ++v) {
            before += std::exchange(places[v], before);
        }
        for (Index i = 0; i < count; ++i) {
            room[places[(key_of_item(items[i]) >> (d * bits)) & last]++] = items[i];
        }
        std::swap(items, room);
    }
    return items;
}

constexpr Index most_by_comparisons = 96;  // more are sorted faster by digits

template <class Key> void sort_few(Item<Key>* items, Index count) {
    for (Index i = 1; i < count; ++i) {
        Item<Key> item = items[i];
        Index at = i;
        for (; at > 0 && item < items[at - 1]; --at) items[at] = items[at - 1];
        items[at] = item;
    }
}

// Sorts items that lie in the order of their indices; the result lies in `items` or in `room`,
// which is needed for more than `most_by_comparisons`.
template <class Key> Item<Key>* sort_items(Item<Key>* items, Item<Key>* room, Index count) {
    if (count <= 24) {
        sort_few(items, count);
        return items;
    }
    if (count <= most_by_comparisons) {
        std::sort(items, items + count);
        return items;
    }
    return count < 800 ? sort_by_digits<Key, 8>(items, room, count)
                       : sort_by_digits<Key, 11>(items, room, count);
}

// The key that has `*place` ones before it when they are sorted; then `*place` tells how many of
// these are equal to it. The keys are overwritten. Of many only those that share the next digit with
// it are looked at again.
template <class Key> Key select_key(Key* keys, Index count, Index* place) {
    constexpr int bits = 8;
    constexpr Index many = 2048;
    for (int shift = 8 * sizeof(Key) - bits; count > many && shift >= 0; shift -= bits) {
        poll();
        std::uint32_t counts[1 << bits] = {};
        for (Index i = 0; i < count; ++i) ++counts[(keys[i] >> shift) & ((1 << bits) - 1)];
        Key digit = 0;
        for (; *place >= static_cast<Index>(counts[digit]); ++digit) *place -= counts[digit];
        Index kept = 0;
        for (Index i = 0; i < count; ++i) {
            keys[kept] = keys[i];
            kept += ((keys[i] >> shift) & ((1 << bits) - 1)) == digit ? 1 : 0;
        }
        count = kept;
    }
    std::nth_element(keys, keys + *place, keys + count);
    const Key key = keys[*place];
    *place = std::count(keys, keys + *place, key);
    return key;
}

template <class T>
void fill_items(const T* x, Index count, bool descending, Item<KeyOf<T>>* items) {
    for (Index i = 0; i < count; ++i) {
        items[i] = {key_of(x[i], descending), static_cast<KeyOf<T>>(i)};
    }
}

// The indices of a line's elements in their order.
template <class T> class Order {
public:
    Order(const T* line, Index count, bool descending)
        : room_(count > most_by_comparisons ? 2 * count : 0) {
        items_ = count > most_by_comparisons ? room_.data() : nearby_;
        fill_items(line, count, descending, items_);
        items_ = sort_items(items_, items_ + count, count);
    }
    Index operator[](Index i) const { return index_of_item(items_[i]); }

private:
    using Key = KeyOf<T>;
    Item<Key> nearby_[most_by_comparisons];
    Scratch<Item<Key>> room_;
    Item<Key>* items_;
};

// Calls `body(T())` with the type that elements of `type` are ordered as; false for other types.
template <class Body> bool with_ordered_type(Type type, Body body) {
    switch (type) {
        case Type::float32: body(float()); return true;
        case Type::float64: body(double()); return true;
        case Type::int32: body(std::int32_t()); return true;
        case Type::int64: body(std::int64_t()); return true;
        default: return false;
    }
}

}  // namespace nnkit
