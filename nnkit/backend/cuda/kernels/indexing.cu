// Checks of indices, so that what reads with them afterwards stays within its array, and additions
// at repeated positions.
#include "common.cuh"

namespace nnkit {

// Copies an index with every element moved into [0, size); a negative one counts from the end
// where `wraps` says so. The first one outside is reported.
template <class I, bool wraps>
__global__ void checked_index(const I* index, int64* out, int64 count, int64 size,
                              Failure* failure, int code) {
    for (int64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        int64 place = index[i];
        const int64 given = place;
        if (wraps && place < 0) place += size;
        if (place < 0 || place >= size) {
            report(failure, code, given, size);
            place = 0;
        }
        out[i] = place;
    }
}

// Values whose places were sorted: one thread adds up a run of equal places, in its order.
template <class T>
__global__ void add_segments(T* out, const int64* places, const int64* order, const int64* starts,
                             const T* values, int64 segments, int64 count) {
    using C = compute_t<T>;
    for (int64 s = thread_of_grid(); s < segments; s += threads_of_grid()) {
        const int64 stop = s + 1 < segments ? starts[s + 1] : count;
        const int64 place = places[starts[s]];
        C total = C(out[place]);
        for (int64 i = starts[s]; i < stop; ++i) total = C(total + C(values[order[i]]));
        out[place] = T(total);
    }
}

}  // namespace nnkit
