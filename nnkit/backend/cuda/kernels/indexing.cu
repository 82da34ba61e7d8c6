// Checks of indices, so that what reads with them afterwards stays within its array.
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

}  // namespace nnkit
