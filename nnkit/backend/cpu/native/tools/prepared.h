// What kernels make of an operand before they compute, such as packed weights. Where the operand is
// frozen (its elements are known not to change), it is made once and kept for the runs that follow.
#pragma once

#include <optional>
#include <vector>

#include "memory.h"

namespace nnkit {

// What is made of an operand: all that it depends on besides the operand's elements.
enum class Preparation { panels, conv_tiles, conv_winograd };
using Recipe = std::vector<Index>;

struct Kept {
    void* data;
    bool is_made = false;
};

// Whether what is made of an operand of this run is kept.
bool is_frozen(const void* operand);
// The place of what is made of it, of so many bytes; null where it is not kept.
Kept* kept(const void* operand, Preparation made, Recipe recipe, std::size_t bytes);

template <class T> class Prepared {
public:
    // `make(to)` writes `count` elements, unless they are there already.
    template <class Make>
    Prepared(const T* operand, Preparation made, const Recipe& recipe, Index count, Make make) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
        Kept* const place = is_frozen(operand) ? kept(operand, made, recipe, bytes) : nullptr;
        if (place == nullptr) own_.emplace(count);
        data_ = place == nullptr ? own_->data() : static_cast<T*>(place->data);
        if (place != nullptr && place->is_made) return;
        make(data_);
        if (place != nullptr) place->is_made = true;
    }
    const T* data() const { return data_; }

private:
    std::optional<Scratch<T>> own_;
    T* data_;
};

// The type `Frozen(run, arrays, counters)`: a function in whose calls the arrays are frozen, for as
// long as the first items of the lists `counters`, which count writes, are what they were.
PyObject* make_frozen_type();

}  // namespace nnkit
