// The thread pool: work cut into fixed pieces, so that no result depends on the number of threads.
#pragma once

#include <type_traits>
#include <utility>

#include "array.h"

namespace nnkit {

// A piece of work: `run(context, begin, end)`.
using PieceFunction = void (*)(void* context, Index begin, Index end);

// Runs pieces [0, grain), [grain, 2 grain) ... of [0, count), by several threads where that pays.
// The pieces depend on count and grain alone. It releases the GIL: no Python object may be touched.
void run_pieces(Index count, Index grain, PieceFunction run, void* context);

// `body(begin, end)` over the pieces; an exception in a piece is thrown again here.
template <class Body> void parallel_for(Index count, Index grain, Body&& body) {
    if (count <= grain) {
        if (count > 0) body(Index{0}, count);
        return;
    }
    using Plain = std::remove_reference_t<Body>;
    auto run = [](void* context, Index begin, Index end) {
        (*static_cast<Plain*>(context))(begin, end);
    };
    run_pieces(count, grain, run, const_cast<std::remove_const_t<Plain>*>(&body));
}

// Within long work, at points that are at most some milliseconds apart (between pieces it happens
// by itself): throws where the user has interrupted the program, or where another piece has failed.
void poll();

// The exception of `poll`: Python's is set (in another thread, where a piece has failed).
struct Interrupted {};

// Whether the thread may be interrupted while one of these lives.
class Interruptible {
public:
    explicit Interruptible(bool may_be);
    ~Interruptible();
    Interruptible(const Interruptible&) = delete;

private:
    bool before_;
};

// The number of threads that work on a section, the calling one among them.
int thread_count();
void set_thread_count(int count);

// Whether the calling thread works on a piece.
bool is_in_section();

// The number of the thread in the pool that calls: 0 for one from outside.
int thread_index();

}  // namespace nnkit
