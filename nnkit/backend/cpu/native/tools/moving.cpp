// The loops of copies: straight runs, rows with steps, and tiles where two arrays disagree about
// which axis is the inner one.
#include "moving.h"

#include <type_traits>

#include "transpose.h"

namespace nnkit {
namespace {

// The side of a tile: its rows are a few lines of the cache long, and it fits into the first level.
template <class Item> constexpr Index tile = sizeof(Item) <= 4 ? 64 : sizeof(Item) == 8 ? 32 : 16;

template <class Item> void move_rows(const Move& move, Index begin, Index end) {
    Index to = step_of(move.walk, move.operands[Move::to]);
    Index from = step_of(move.walk, move.operands[Move::from]);
    constexpr Index item = sizeof(Item);
    for_joint_rows<Move::count>(move.walk, move.operands, begin, end - begin,
                                [&](char* const* p, Index, Index length) {
        char *target = p[Move::to], *source = p[Move::from];
        if (to == item && from == item && length > 16) {
            std::memcpy(target, source, static_cast<std::size_t>(length * item));
        } else if (to == item && from == 0) {
            std::fill_n(reinterpret_cast<Item*>(target), length, read_at<Item>(source));
        } else if (to == item && from == -item) {  // a constant step, which is vectorised
            for (Index i = 0; i < length; ++i) {
                reinterpret_cast<Item*>(target)[i] = read_at<Item>(source - i * item);
            }
        } else if (to == item) {
            for (Index i = 0; i < length; ++i) {
                reinterpret_cast<Item*>(target)[i] = read_at<Item>(source + i * from);
            }
        } else {
            for (Index i = 0; i < length; ++i) {
                at<Item>(target + i * to) = read_at<Item>(source + i * from);
            }
        }
    });
}

// Whether the inner axis repeats each element a few times side by side.
bool repeats_elements(const Move& move, Index bytes) {
    const int last = move.walk.ndim - 1;
    return last >= 1 && move.walk.shape[last] <= 16 &&
           move.operands[Move::from].strides[last] == 0 &&
           move.operands[Move::to].strides[last] == bytes;
}

// The elements that are repeated, as many of them as [begin, end) says.
template <class Item> void repeat_elements(const Move& move, Index begin, Index end) {
    Move once = move;
    const Index count = move.walk.shape[--once.walk.ndim];
    const Index to = step_of(once.walk, once.operands[Move::to]);
    const Index from = step_of(once.walk, once.operands[Move::from]);
    for_joint_rows<Move::count>(once.walk, once.operands, begin, end - begin,
                                [&](char* const* p, Index, Index length) {
        auto repeat = [&](auto times) {
            for (Index i = 0; i < length; ++i) {
                const Item value = read_at<Item>(p[Move::from] + i * from);
                auto* place = reinterpret_cast<Item*>(p[Move::to] + i * to);
                for (Index k = 0; k < times; ++k) place[k] = value;
            }
        };
        if (count == 2) repeat(std::integral_constant<Index, 2>{});
        else if (count == 3) repeat(std::integral_constant<Index, 3>{});
        else repeat(count);
    });
}

// The outer axis along which the source goes on by one element, if the inner one does not; else -1.
int crossing_axis(const Move& move, Index bytes) {
    const Walk& walk = move.walk;
    int last = walk.ndim - 1;
    if (last < 1 || walk.shape[last] < 4) return -1;
    if (std::abs(move.operands[Move::from].strides[last]) <= bytes) return -1;
    for (int i = 0; i < last; ++i) {
        if (move.operands[Move::from].strides[i] == bytes && walk.shape[i] >= 4) return i;
    }
    return -1;
}

// A tile whose source is read column by column, each some whole lines of the cache, into a buffer:
// reading across would meet the same few sets of the cache again and again.
template <class Item>
void move_tile(char* to, Index to_row, Index to_column, const char* from, Index from_column,
               Index rows, Index columns) {
    constexpr Index item = sizeof(Item), side = tile<Item>;
    alignas(alignment) Item buffer[side][side + static_cast<Index>(alignment) / item];
    for (Index j = 0; j < columns; ++j) {
        const char* source = from + j * from_column;
        if (rows == side) std::memcpy(buffer[j], source, side * item);
        else std::memcpy(buffer[j], source, static_cast<std::size_t>(rows * item));
    }
    if (to_column == item && to_row % item == 0) {
        auto* target = reinterpret_cast<Item*>(to);
        const Index step = to_row / item;
        if constexpr (item == 4 || item == 8) {
            transpose(columns, rows, buffer[0], buffer[1] - buffer[0], target, step);
        } else {
            for (Index i = 0; i < rows; ++i) {
                for (Index j = 0; j < columns; ++j) target[i * step + j] = buffer[j][i];
            }
        }
        return;
    }
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) {
            at<Item>(to + i * to_row + j * to_column) = buffer[j][i];
        }
    }
}

// The crossing axis and the inner one in tiles, the others one index after the other.
template <class Item> void move_tiles(const Move& move, int crossing) {
    const Walk& walk = move.walk;
    int last = walk.ndim - 1;
    constexpr Index side = tile<Item>;
    const Index *to = move.operands[Move::to].strides, *from = move.operands[Move::from].strides;
    Index rows = walk.shape[crossing], columns = walk.shape[last];
    Index stripes = (rows + side - 1) / side, outer = walk.size() / (rows * columns);
    Index grain = std::max<Index>(1, moves_of_piece * 4 / (side * columns));
    parallel_for(outer * stripes, grain, [&](Index begin, Index end) {
        for (Index k = begin; k < end; ++k) {
            Index row = k % stripes * side, rest = k / stripes;
            char* target = move.operands[Move::to].data + row * to[crossing];
            const char* source = move.operands[Move::from].data + row * from[crossing];
            for (int i = last - 1; i >= 0; --i) {
                if (i == crossing) continue;
                target += rest % walk.shape[i] * to[i];
                source += rest % walk.shape[i] * from[i];
                rest /= walk.shape[i];
            }
            Index height = std::min(side, rows - row);
            for (Index column = 0; column < columns; column += side) {
                move_tile<Item>(target + column * to[last], to[crossing], to[last],
                                source + column * from[last], from[last], height,
                                std::min(side, columns - column));
            }
        }
    });
}

template <class From, class To>
void convert_rows(const Move& move, Index begin, Index end) {
    Index to = step_of(move.walk, move.operands[Move::to]);
    Index from = step_of(move.walk, move.operands[Move::from]);
    bool is_dense = to == sizeof(To) && from == sizeof(From);
    for_joint_rows<Move::count>(move.walk, move.operands, begin, end - begin,
                                [&](char* const* p, Index, Index length) {
        if (is_dense) {
            convert_row(reinterpret_cast<const From*>(p[Move::from]),
                        reinterpret_cast<To*>(p[Move::to]), length);
        } else {
            for (Index i = 0; i < length; ++i) {
                at<To>(p[Move::to] + i * to) = convert<To>(read_at<From>(p[Move::from] + i * from));
            }
        }
    });
}

using Converter = void (*)(const Move&, Index, Index);

Converter converter(Type from, Type to) {
    switch (to) {
        case Type::float32:
            switch (from) {
                case Type::float64: return convert_rows<double, float>;
                case Type::float16: return convert_rows<Float16, float>;
                case Type::bfloat16: return convert_rows<BFloat16, float>;
                case Type::int64: return convert_rows<std::int64_t, float>;
                case Type::int32: return convert_rows<std::int32_t, float>;
                case Type::uint8: return convert_rows<std::uint8_t, float>;
                case Type::boolean: return convert_rows<Boolean, float>;
                default: return nullptr;
            }
        case Type::float64:
            switch (from) {
                case Type::float32: return convert_rows<float, double>;
                case Type::int64: return convert_rows<std::int64_t, double>;
                case Type::boolean: return convert_rows<Boolean, double>;
                default: return nullptr;
            }
        case Type::float16: return from == Type::float32 ? convert_rows<float, Float16> : nullptr;
        case Type::bfloat16: return from == Type::float32 ? convert_rows<float, BFloat16> : nullptr;
        case Type::int64:
            switch (from) {
                case Type::int32: return convert_rows<std::int32_t, std::int64_t>;
                case Type::uint8: return convert_rows<std::uint8_t, std::int64_t>;
                case Type::boolean: return convert_rows<Boolean, std::int64_t>;
                default: return nullptr;
            }
        default: return nullptr;
    }
}

}  // namespace

bool run_move(Move& move, Index bytes) {
    merge_axes(&move.walk, move.operands, Move::count);
    return with_item(bytes, [&](auto item) {
        using Item = decltype(item);
        Index size = move.walk.size();
        if (size == 0) return;
        int crossing = crossing_axis(move, bytes);
        if (crossing >= 0) return move_tiles<Item>(move, crossing);
        if (repeats_elements(move, bytes)) {
            const Index count = move.walk.shape[move.walk.ndim - 1];
            const Index grain = std::max<Index>(1, moves_of_piece * 16 / (bytes * count));
            return parallel_for(size / count, grain, [&](Index begin, Index end) {
                repeat_elements<Item>(move, begin, end);
            });
        }
        parallel_for(size, moves_of_piece * 16 / bytes, [&](Index begin, Index end) {
            move_rows<Item>(move, begin, end);
        });
    });
}

bool can_convert(Type from, Type to) { return converter(from, to) != nullptr; }

void run_conversion(Move& move) {
    Converter run = converter(move.operands[Move::from].type, move.operands[Move::to].type);
    merge_axes(&move.walk, move.operands, Move::count);
    parallel_for(move.walk.size(), moves_of_piece * 2, [&](Index begin, Index end) {
        run(move, begin, end);
    });
}

}  // namespace nnkit
