// What the played libraries share: work is given to a stream, and done later.
#pragma once

#include <cstddef>
#include <functional>

namespace played {

// Done now, at the next call that waits, or at each replay of the graph that the stream records.
int enqueue(void* stream, std::function<int()> work);

// Whether ``size`` bytes from ``address`` lie in memory that was allocated and not freed.
bool is_live(const void* address, size_t size);

}  // namespace played
