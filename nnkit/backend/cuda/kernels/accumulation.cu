// Sums at positions that may repeat, without atomic additions: the positions are sorted (stably)
// beforehand, so that those of one place form a run, and each run is added in order.
//
// Runs are cut into chunks of equal length. A run that lies within one chunk is written at once;
// of the others each chunk keeps its piece, and a second kernel joins the pieces.
#include "common.cuh"

namespace nnkit {

constexpr int chunk_length = 16;

// out (outer, size, inner), source (outer, count, inner), ``sorted`` the ``count`` positions along
// the middle axis of out, ``order`` where they were in the source.
struct Runs {
    int64 count, size, outer, inner;
    int64 skipped;  // a position to which nothing is added; -1: there is none
    int64 averaged;  // whether a run is divided by its length

    __device__ int64 chunks() const { return (count + chunk_length - 1) / chunk_length; }
    __device__ int64 columns() const { return outer * inner; }
};

template <class T>
__device__ void add_run(
    T* out, compute_t<T> total, int64 place, int64 length, int64 column, const Runs& runs,
    double alpha, Failure* failure, int code) {
    using C = compute_t<T>;
    if (place == runs.skipped && runs.skipped >= 0) return;
    if (place < 0 || place >= runs.size) {
        report(failure, code, place, runs.size);
        return;
    }
    T& target = out[(column / runs.inner * runs.size + place) * runs.inner + column % runs.inner];
    if (runs.averaged) total /= C(length);
    target = T(C(target) + (alpha == 1.0 ? total : C(total * C(alpha))));
}

// first and last are (chunks, columns): the pieces of runs that began before the chunk, and of
// those that begin in it and go on after it.
template <class T>
__global__ void add_runs(
    T* out, const T* source, const int64* sorted, const int64* order, compute_t<T>* first,
    compute_t<T>* last, Failure* failure, int code, Runs runs, double alpha) {
    using C = compute_t<T>;
    const int64 columns = runs.columns(), work = runs.chunks() * columns;
    for (int64 t = thread_of_grid(); t < work; t += threads_of_grid()) {
        const int64 column = t % columns, begin = t / columns * chunk_length;
        const int64 end = begin + chunk_length < runs.count ? begin + chunk_length : runs.count;
        const T* from = source + column / runs.inner * runs.count * runs.inner
            + column % runs.inner;
        int64 start = begin;
        bool is_later_piece = begin > 0 && sorted[begin - 1] == sorted[begin];
        C total = C(0);
        for (int64 i = begin; i < end; ++i) {
            total += C(from[order[i] * runs.inner]);
            const bool ends = i + 1 == runs.count || sorted[i + 1] != sorted[i];
            if (!ends && i + 1 < end) continue;
            if (is_later_piece) first[t] = total;
            else if (!ends) last[t] = total;
            else add_run(out, total, sorted[i], i + 1 - start, column, runs, alpha, failure, code);
            total = C(0);
            start = i + 1;
            is_later_piece = false;
        }
    }
}

// The chunk in which a run of several chunks begins joins its pieces.
template <class T>
__global__ void join_runs(
    T* out, const int64* sorted, const compute_t<T>* first, const compute_t<T>* last,
    Failure* failure, int code, Runs runs, double alpha) {
    const int64 columns = runs.columns(), work = runs.chunks() * columns;
    for (int64 t = thread_of_grid(); t < work; t += threads_of_grid()) {
        const int64 begin = t / columns * chunk_length, end = begin + chunk_length;
        if (end >= runs.count || sorted[end] != sorted[end - 1]) continue;
        const int64 place = sorted[end];
        int64 start = end - 1;
        while (start > begin && sorted[start - 1] == place) --start;
        if (start == begin && begin > 0 && sorted[begin - 1] == place) continue;
        compute_t<T> total = last[t];
        int64 stop = end, at = t;
        for (bool goes_on = true; goes_on;) {
            at += columns;
            total += first[at];
            const int64 next = stop + chunk_length;
            goes_on = next < runs.count && sorted[next - 1] == place && sorted[next] == place;
            if (goes_on) stop = next;
        }
        while (stop < runs.count && sorted[stop] == place) ++stop;
        add_run(out, total, place, stop - start, t % columns, runs, alpha, failure, code);
    }
}

}  // namespace nnkit
