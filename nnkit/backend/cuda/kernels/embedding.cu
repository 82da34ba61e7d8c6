// Embedding: rows of a table by index, maxima of bags of rows, and what belongs to them.
#include "team.cuh"

namespace nnkit {

// out (count, width): rows of weight (rows, width); a row out of range is one of zeros.
template <class T>
__global__ void embedding_rows(
    const T* weight, const int64* index, T* out, int64 count, int64 rows, int64 width,
    Failure* failure, int code) {
    const RowTeam<by_warp> team;
    for (int64 r = team.row; r < count; r += team.rows_at_once) {
        const int64 row = index[r];
        const bool is_inside = row >= 0 && row < rows;
        if (!is_inside && team.rank == 0) report(failure, code, row, rows);
        T* to = out + r * width;
        if (is_inside) {
            const auto same = [](T value) { return value; };
            map_row(to, width, team.rank, team.size, same, weight + row * width);
        } else {
            map_row(to, width, team.rank, team.size, [] { return T(compute_t<T>(0)); });
        }
    }
}

// Marks the rows that are met.
__global__ void mark_rows(
    const int64* index, uint8* is_met, int64 count, int64 rows, Failure* failure, int code) {
    for (int64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        const int64 row = index[i];
        if (row >= 0 && row < rows) is_met[row] = 1;
        else report(failure, code, row, rows);
    }
}

// Scales the marked rows whose p-norm is above ``largest`` down to it.
template <class T>
__global__ void renormalize_rows(
    T* weight, const uint8* is_met, int64 rows, int64 width, double largest, double p) {
    using C = compute_t<T>;
    const RowTeam<by_warp> team;
    const bool is_infinite = p == Limits<double>::infinity();
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        if (!is_met[r]) continue;
        T* row = weight + r * width;
        C total = C(0);
        for (int64 i = team.rank; i < width; i += team.size) {
            const C size = math::abs(C(row[i]));
            if (is_infinite) total = Maximum()(total, size);
            else total += p == 2.0 ? size * size : p == 1.0 ? size : math::pow(size, C(p));
        }
        C norm = is_infinite ? team.maximum(total) : team.sum(total);
        if (!is_infinite && p != 1.0) norm = math::pow(norm, C(1.0 / p));
        if (!(norm > C(largest))) continue;
        const C scale = C(largest) / (norm + C(1e-7));
        for (int64 i = team.rank; i < width; i += team.size) row[i] = T(C(row[i]) * scale);
    }
}

// The maximum of each bag's rows, column by column, and the first row that has it; 0 and -1 for an
// empty bag. ``bags`` (rows) are ascending.
template <class T>
__global__ void bag_maxima(
    const T* x, const int64* bags, T* out, int64* places, int64 rows, int64 count, int64 width) {
    using C = compute_t<T>;
    for (int64 t = thread_of_grid(); t < count * width; t += threads_of_grid()) {
        const int64 bag = t / width, column = t % width;
        int64 low = 0, high = rows;
        while (low < high) {
            const int64 middle = (low + high) / 2;
            if (bags[middle] < bag) low = middle + 1;
            else high = middle;
        }
        C best = C(0);
        int64 place = -1;
        for (int64 r = low; r < rows && bags[r] == bag; ++r) {
            const C value = C(x[r * width + column]);
            if (place < 0 || value > best || (value != value && best == best)) {
                best = value;
                place = r;
            }
        }
        out[t] = T(best);
        places[t] = place;
    }
}

__global__ void one_hot_rows(
    const int64* index, int64* out, int64 count, int64 classes, Failure* failure, int code) {
    for (int64 t = thread_of_grid(); t < count * classes; t += threads_of_grid()) {
        const int64 label = index[t / classes], c = t % classes;
        if (c == 0 && (label < 0 || label >= classes)) report(failure, code, label, classes);
        out[t] = c == label;
    }
}

}  // namespace nnkit
