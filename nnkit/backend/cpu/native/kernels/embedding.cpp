// Bags of rows of a table: their sums and their largest elements.
#include <algorithm>

#include "indexing.h"
#include "vector.h"

namespace nnkit {
namespace {

constexpr Index work_of_task = 32768;

// Where each bag begins among positions that are in the order of their bags, and where the last one
// ends; false for another order.
bool find_starts(Array bags, Index count, Index* starts) {
    const std::int64_t* bag_of = bags.data<std::int64_t>();
    Index bag = 0;
    starts[0] = 0;
    for (Index i = 0; i < bags.size(); ++i) {
        if (bag_of[i] < bag || bag_of[i] >= count) return false;
        while (bag < bag_of[i]) starts[++bag] = i;
    }
    while (bag < count) starts[++bag] = bags.size();
    return true;
}

// out[j] = sum of the elements j of some rows, one after the other, each times its factor if there
// are factors.
template <class T, bool weighted, int vectors>
void add_block(const T* table, Index width, const Index* rows, const T* factors, Index count,
               T* out) {
    Vector<T> sums[vectors] = {};
    for (Index i = 0; i < count; ++i) {
        const T* row = table + rows[i] * width;
        const Vector<T> factor = broadcast(weighted ? factors[i] : T(1));
#pragma GCC unroll 4
        for (int k = 0; k < vectors; ++k) {
            const Vector<T> term = load(row + k * lanes<T>);
            sums[k] += weighted ? term * factor : term;
        }
    }
    for (int k = 0; k < vectors; ++k) store(out + k * lanes<T>, sums[k]);
}

template <class T, bool weighted>
void add_rows(const T* table, Index width, const Index* rows, const T* factors, Index count,
              T* out) {
    constexpr int many = 4;
    Index j = 0;
    for (; j + many * lanes<T> <= width; j += many * lanes<T>) {
        add_block<T, weighted, many>(table + j, width, rows, factors, count, out + j);
    }
    for (; j + lanes<T> <= width; j += lanes<T>) {
        add_block<T, weighted, 1>(table + j, width, rows, factors, count, out + j);
    }
    std::fill(out + j, out + width, T(0));
    for (Index i = 0; i < count && j < width; ++i) {
        const T* row = table + rows[i] * width;
        for (Index k = j; k < width; ++k) out[k] += weighted ? row[k] * factors[i] : row[k];
    }
}

// Calls `run(bag)` for every bag, several threads with parts of them.
template <class Run> void for_bags(Index count, Index positions, Index width, Run run) {
    const Index work = (positions / std::max<Index>(count, 1) + 1) * width;
    parallel_for(count, std::max<Index>(1, work_of_task / (work + 1)), [&](Index begin, Index end) {
        for (Index bag = begin; bag < end; ++bag) run(bag);
    });
}

template <class T>
PyObject* sums_of_bags(Array table, const Index* rows, Array factors, const Index* starts,
                       Index count) {
    const Index width = table.shape(1);
    const T* from = table.data<T>();
    const T* factor = factors ? factors.data<T>() : nullptr;
    PyObject* result = empty<T>({count, width});
    if (result == nullptr) return nullptr;
    T* out = Array(result).data<T>();
    for_bags(count, starts[count], width, [&](Index bag) {
        const Index begin = starts[bag], held = starts[bag + 1] - begin;
        if (factor == nullptr) {
            add_rows<T, false>(from, width, rows + begin, nullptr, held, out + bag * width);
        } else {
            add_rows<T, true>(from, width, rows + begin, factor + begin, held, out + bag * width);
        }
    });
    return result;
}

// bag_sum(table, index, bags, factors?; count)
PyObject* bag_sum(Arguments arguments) {
    Array table = arguments.array(0), index = arguments.array(1);
    Array bags = arguments.plain<std::int64_t>(2), factors = arguments.array(3);
    const Index count = arguments.integer(4);
    if (!table || !table.is_behaved() || table.ndim() != 2 || !is_index(index) || !bags) {
        return decline();
    }
    if (table.type() != Type::float32 && table.type() != Type::float64) return decline();
    if (!index.is_plain() || index.size() != bags.size() || count < 0) return decline();
    if (!arguments.is_none(3)) {
        if (!factors || factors.type() != table.type() || !factors.is_plain()) return decline();
        if (factors.size() != index.size()) return decline();
    }
    Scratch<Index> starts(count + 1), rows(index.size());
    if (!find_starts(bags, count, starts.data())) return decline();
    Bounds bounds{table.shape(0)};
    with_position(index, [&](auto position) {
        const auto* from = index.data<decltype(position)>();
        for (Index i = 0; i < index.size(); ++i) rows[i] = bounds.checked(from[i]);
    });
    if (bounds.broken) return decline();
    Owned plain;  // of an expanded gradient or a transposed table, if that is less than all terms
    if (!table.is_plain()) {
        if (table.shape(0) > index.size()) return decline();
        plain = Owned(plain_copy(table));
        if (!plain) return nullptr;
        table = plain.array();
    }
    const auto sums = table.type() == Type::float32 ? sums_of_bags<float> : sums_of_bags<double>;
    return sums(table, rows.data(), factors, starts.data(), count);
}

template <class T>
PyObject* largest_of_bags(Array x, const Index* starts, Index count) {
    const Index width = x.shape(1);
    Owned values(empty<T>({count, width})), places(empty<std::int64_t>({count, width}));
    if (!values || !places) return nullptr;
    const T* from = x.data<T>();
    T* out = values.array().template data<T>();
    std::int64_t* rows = places.array().template data<std::int64_t>();
    for_bags(count, starts[count], width, [&](Index bag) {
        T* best = out + bag * width;
        std::int64_t* place = rows + bag * width;
        const Index begin = starts[bag], end = starts[bag + 1];
        if (begin == end) {
            std::fill_n(best, width, T(0));
            std::fill_n(place, width, -1);
            return;
        }
        std::copy_n(from + begin * width, width, best);
        std::fill_n(place, width, begin);
        for (Index i = begin + 1; i < end; ++i) {
            const T* row = from + i * width;
            for (Index j = 0; j < width; ++j) {
                const bool wins = (row[j] > best[j]) | ((row[j] != row[j]) & (best[j] == best[j]));
                best[j] = wins ? row[j] : best[j];
                place[j] = wins ? i : place[j];
            }
        }
    });
    return tuple({values.release(), places.release()});
}

// bag_max(x, bags; count) -> values, rows
PyObject* bag_max(Arguments arguments) {
    Array x = arguments.array(0), bags = arguments.plain<std::int64_t>(1);
    const Index count = arguments.integer(2);
    if (!x || !x.is_plain() || x.ndim() != 2 || !bags || bags.size() != x.shape(0) || count < 0) {
        return decline();
    }
    Scratch<Index> starts(count + 1);
    if (!find_starts(bags, count, starts.data())) return decline();
    if (x.type() == Type::float32) return largest_of_bags<float>(x, starts.data(), count);
    if (x.type() == Type::float64) return largest_of_bags<double>(x, starts.data(), count);
    return decline();
}

Registration bag_sum_("bag_sum", bag_sum), bag_max_("bag_max", bag_max);

}  // namespace
}  // namespace nnkit
