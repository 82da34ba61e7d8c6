// The inner loops of a reduction, made from an operation on two values and a map of one.
#pragma once

#include <algorithm>

#include "reduction.h"
#include "vector.h"

namespace nnkit {

// An operation has `combine(a, b)` and `map(x, centre)` for numbers and for vectors of them,
// `has_centre`, and as `Parts` the operation that combines its results: it takes terms as they are.
// This is a base of such ones.
struct Plainly {
    template <class Value> static Value map(Value x, Value) { return x; }
    static constexpr bool has_centre = false;
};

struct Sum : Plainly {
    using Parts = Sum;
    template <class Value> static Value combine(Value a, Value b) { return a + b; }
};

// Combines values pair by pair as they come, like the digits of a binary counter.
template <class Value, class Operation> class Cascade {
public:
    void push(Value value) {
        for (Index bits = count_++; bits & 1; bits >>= 1) {
            value = Operation::combine(levels_[--depth_], value);
        }
        levels_[depth_++] = value;
    }

    Value total() {
        while (depth_ > 1) {
            --depth_;
            levels_[depth_ - 1] = Operation::combine(levels_[depth_ - 1], levels_[depth_]);
        }
        return levels_[0];
    }

private:
    Value levels_[48];
    int depth_ = 0;
    Index count_ = 0;
};

// The lanes of a register, or of a part of one, to one value.
template <class T, class Operation, int bytes>
T reduce_register(typename RegisterOf<T, bytes>::type value) {
    if constexpr (bytes == 2 * sizeof(T)) {
        return Operation::combine(T(value[0]), T(value[1]));
    } else {
        typename RegisterOf<T, bytes / 2>::type half[2];
        std::memcpy(half, &value, sizeof value);
        return reduce_register<T, Operation, bytes / 2>(Operation::combine(half[0], half[1]));
    }
}

// The lanes to one value: in halves, whatever the width of a register.
template <class T, class Operation> T reduce_lanes(Vector<T> value) {
#pragma GCC unroll 4
    for (int half = registers / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
        for (int i = 0; i < half; ++i) {
            value.part[i] = Operation::combine(value.part[i], value.part[i + half]);
        }
    }
    return reduce_register<T, Operation, register_bytes>(value.part[0]);
}

// `value`, with the last `count` numbers before `end` combined into the lanes at its end; there are
// as many numbers there as lanes.
template <class T, class Operation>
Vector<T> combine_last(const Vector<T>& value, const Vector<T>& last, int count) {
    using Lane = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    constexpr int width = lanes<T> / registers;
    Register<Lane> lane;
    for (int k = 0; k < width; ++k) lane[k] = k;
    Vector<T> result;
#pragma GCC unroll 4
    for (int i = 0; i < registers; ++i) {
        auto both = Operation::combine(value.part[i], last.part[i]);
        result.part[i] = lane >= static_cast<Lane>(lanes<T> - i * width - count) ? both
                                                                                : value.part[i];
    }
    return result;
}

// Terms, at least one, to one value: `at(i)` is a vector of them, from the i-th on, `number(i)` one.
template <class T, class Operation, class At, class Number>
inline T reduce_terms(Index count, At at, Number number) {
    constexpr Index width = lanes<T>, block = 64 * width;
    if (count < width) {
        T total = number(0);
        for (Index k = 1; k < count; ++k) total = Operation::combine(total, number(k));
        return total;
    }
    Cascade<Vector<T>, Operation> blocks;
    Index i = 0;
    while (count - i >= 4 * width) {
        Index end = std::min(count - 4 * width, i + block - 4 * width);
        Vector<T> a = at(i), b = at(i + width), c = at(i + 2 * width), d = at(i + 3 * width);
        for (i += 4 * width; i <= end; i += 4 * width) {
            a = Operation::combine(a, at(i));
            b = Operation::combine(b, at(i + width));
            c = Operation::combine(c, at(i + 2 * width));
            d = Operation::combine(d, at(i + 3 * width));
        }
        blocks.push(Operation::combine(Operation::combine(a, b), Operation::combine(c, d)));
    }
    Vector<T> total;
    if (count - i >= width) {
        total = at(i);
        bool is_first = i == 0;
        for (i += width; count - i >= width; i += width) total = Operation::combine(total, at(i));
        if (!is_first) blocks.push(total);
    }
    if (count >= 4 * width) total = blocks.total();
    if (i < count) {
        total = combine_last<T, Operation>(total, at(count - width), static_cast<int>(count - i));
    }
    return reduce_lanes<T, Operation>(total);
}

// The elements of a straight array, at least one, to one value.
template <class T, class Operation> T reduce_run(const T* x, Index count, const T* centre) {
    const T middle = Operation::has_centre ? *centre : T(0);
    const Vector<T> middles = broadcast(middle);
    return reduce_terms<T, Operation>(
        count, [&](Index i) { return Operation::map(load(x + i), middles); },
        [&](Index i) { return Operation::map(x[i], middle); });
}

// Rows combined column by column, eight of them pair by pair.
template <class T, class Operation>
void combine_rows(const T* const* rows, Index count, Index width, const T* centres, bool is_first,
                 T* out) {
    auto pass = [&](auto tree) {
        Index j = 0;
        for (; j + lanes<T> <= width; j += lanes<T>) {
            Vector<T> middles{};
            if (Operation::has_centre) middles = load(centres + j);
            auto value = tree([&](int r) { return Operation::map(load(rows[r] + j), middles); });
            store(out + j, is_first ? value : Operation::combine(load(out + j), value));
        }
        for (; j < width; ++j) {
            T middle = Operation::has_centre ? centres[j] : T(0);
            T value = tree([&](int r) { return Operation::map(rows[r][j], middle); });
            out[j] = is_first ? value : Operation::combine(out[j], value);
        }
    };
    if (count == 8) {
        pass([&](auto at) {
            auto a = Operation::combine(Operation::combine(at(0), at(1)),
                                       Operation::combine(at(2), at(3)));
            auto b = Operation::combine(Operation::combine(at(4), at(5)),
                                       Operation::combine(at(6), at(7)));
            return Operation::combine(a, b);
        });
        return;
    }
    for (Index r = 0; r < count; ++r) {
        pass([&](auto at) { return at(static_cast<int>(r)); });
        is_first = false;
    }
}

template <class T, class Operation> constexpr Reducer<T> reducer_of() {
    using Parts = typename Operation::Parts;
    return {reduce_run<T, Operation>, combine_rows<T, Operation>, reduce_run<T, Parts>,
            combine_rows<T, Parts>};
}

}  // namespace nnkit
