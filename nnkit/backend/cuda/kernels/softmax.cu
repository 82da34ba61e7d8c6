// Softmax and log-softmax, forward and gradient, along any axis.
//
// An array is (outer, length, inner). Where inner is 1 a team of threads, a warp or a whole block,
// works on a row; else each thread works on one slice, and neighbours on neighbouring ones.
#include "team.cuh"

namespace nnkit {

// A row that is too long for registers: read twice.
template <bool logarithm, class T, class Team>
__device__ void softmax_row(const Team& team, const T* from, T* to, int64 length) {
    using C = compute_t<T>;
    Exponentials<C> scores;
    each_place(team, length, [&](auto place) { scores.add(place.read(from)); }, from);
    scores.join(team);
    const C largest = scores.largest, total = scores.total;
    const C shift = logarithm ? math::log(total) : C(0), share = C(1) / total;
    each_place(team, length, [&](auto place) {
        const auto pack = place.read(from);
        place.write(to, [&](int k) {
            const C moved = C(pack[k]) - largest;
            if (logarithm) return moved - shift;
            return sizeof(T) == 2 ? math::exp(moved) * share : math::exp(moved) / total;
        });
    }, from, to);
}

template <class T, bool logarithm, int kind, int kept, bool packed>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind, kept>)
softmax_rows(
    const T* x, T* out, int64 rows, int64 length) {
    using C = compute_t<T>;
    using Place = place_t<T, packed>;
    const RowTeam<kind> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const T* from = x + r * length;
        T* to = out + r * length;
        if constexpr (kept == 0) {
            softmax_row<logarithm, T>(team, from, to, length);
            continue;
        }
        auto row = row_of<T, C, kept, packed>(team, length, [=](const Place& place, C* values) {
            const auto pack = place.read(from);
            place.each([&](int k) { values[k] = C(pack[k]); });
        });
        C largest = Limits<C>::lowest(), total = C(0);
        // A NaN need not be the largest: it makes the total NaN, and with it the row.
        row.each([&](C value) { largest = value > largest ? value : largest; });
        largest = team.maximum(largest);
        row.each([&](C& value) {
            const C exponential = math::exp(value - largest);
            total += exponential;
            if (!logarithm) value = exponential;
        });
        total = team.sum(total);
        const C shift = logarithm ? math::log(total) : C(0), share = C(1) / total;
        row.write(to, [&](C value) {
            if (logarithm) return value - largest - shift;
            return sizeof(T) == 2 ? value * share : value / total;
        });
    }
}

template <bool logarithm, class T, class Team>
__device__ void softmax_row_grad(
    const Team& team, const T* g, const T* y, T* to, int64 length) {
    using C = compute_t<T>;
    C total = C(0);
    each_place(team, length, [&](auto place) {
        const auto of_g = place.read(g), of_y = place.read(y);
        place.each([&](int k) { total += logarithm ? C(of_g[k]) : C(of_g[k]) * C(of_y[k]); });
    }, g, y);
    total = team.sum(total);
    each_place(team, length, [&](auto place) {
        const auto of_g = place.read(g), of_y = place.read(y);
        place.write(to, [&](int k) {
            const C value = C(of_g[k]), result = C(of_y[k]);
            const C factor = logarithm ? math::exp(result) : result;
            return (logarithm ? value : value * result) - factor * total;
        });
    }, g, y, to);
}

template <class T, bool logarithm, int kind, int kept, bool packed>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind, kept>)
softmax_rows_grad(
    const T* g, const T* y, T* out, int64 rows, int64 length) {
    using C = compute_t<T>;
    using Place = place_t<T, packed>;
    struct Pair { C g, y; };
    const RowTeam<kind> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const T* from_g = g + r * length;
        const T* from_y = y + r * length;
        T* to = out + r * length;
        if constexpr (kept == 0) {
            softmax_row_grad<logarithm, T>(team, from_g, from_y, to, length);
            continue;
        }
        auto row = row_of<T, Pair, kept, packed>(team, length, [=](const Place& place, Pair* pairs) {
            const auto of_g = place.read(from_g), of_y = place.read(from_y);
            place.each([&](int k) { pairs[k] = {C(of_g[k]), C(of_y[k])}; });
        });
        C total = C(0);
        row.each([&](const Pair& pair) { total += logarithm ? pair.g : pair.g * pair.y; });
        total = team.sum(total);
        row.write(to, [&](const Pair& pair) {
            const C factor = logarithm ? math::exp(pair.y) : pair.y;
            return (logarithm ? pair.g : pair.g * pair.y) - factor * total;
        });
    }
}

template <class T, bool logarithm>
__global__ void softmax_slices(const T* x, T* out, int64 slices, int64 length, int64 inner) {
    using C = compute_t<T>;
    for (int64 s = thread_of_grid(); s < slices; s += threads_of_grid()) {
        const int64 start = s / inner * inner * length + s % inner;
        C largest = Limits<C>::lowest(), total = C(0);
        for (int64 i = 0; i < length; ++i) largest = Maximum()(largest, C(x[start + i * inner]));
        for (int64 i = 0; i < length; ++i) total += math::exp(C(x[start + i * inner]) - largest);
        const C shift = logarithm ? math::log(total) : C(0);
        for (int64 i = 0; i < length; ++i) {
            const C moved = C(x[start + i * inner]) - largest;
            out[start + i * inner] = T(logarithm ? moved - shift : math::exp(moved) / total);
        }
    }
}

template <class T, bool logarithm>
__global__ void softmax_slices_grad(
    const T* g, const T* y, T* out, int64 slices, int64 length, int64 inner) {
    using C = compute_t<T>;
    for (int64 s = thread_of_grid(); s < slices; s += threads_of_grid()) {
        const int64 start = s / inner * inner * length + s % inner;
        C total = C(0);
        for (int64 i = 0; i < length; ++i) {
            const int64 at = start + i * inner;
            total += logarithm ? C(g[at]) : C(g[at]) * C(y[at]);
        }
        for (int64 i = 0; i < length; ++i) {
            const int64 at = start + i * inner;
            const C value = logarithm ? C(g[at]) : C(g[at]) * C(y[at]);
            out[at] = T(value - (logarithm ? math::exp(C(y[at])) : C(y[at])) * total);
        }
    }
}

}  // namespace nnkit
