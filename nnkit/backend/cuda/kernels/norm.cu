// Normalization: (x - mean) / sqrt(variance + eps) * weight + bias, and its gradient.
//
// Either over rows of elements that lie side by side (layer, RMS, group and instance norm), or over
// the channels of an array (N, C, inner) (batch norm). Parameters and statistics may be missing.
#include "team.cuh"

namespace nnkit {

// Which parameter an element of a row has: row r holds the channels of group r % groups, and each
// channel ``inner`` elements.
struct Parameters {
    int64 groups, channels_of_group, inner;

    __device__ int64 operator()(int64 row, int64 i) const {
        if (inner == 1) return groups == 1 ? i : row % groups * channels_of_group + i;
        return row % groups * channels_of_group + i / inner;
    }
    // Those of a pack, where a pack of its row is of one channel or each element has its own.
    template <class C, class T, int width, bool packed>
    __device__ void read(
        C* values, const T* all, int64 row, const PackOfRow<T, width, packed>& place) const {
        if (packed && inner == 1) {
            const auto pack = place.read(all + (*this)(row, 0));
            place.each([&](int k) { values[k] = C(pack[k]); });
        } else if (packed) {
            const C one = C(all[(*this)(row, place.first)]);
            place.each([&](int k) { values[k] = one; });
        } else {
            place.each([&](int k) { values[k] = C(all[(*this)(row, place.first + k)]); });
        }
    }
};

// Without ``centre`` the mean is 0 (RMS norm).
template <class T, int kind, int kept, bool centre, bool packed>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind, kept>)
norm_rows(
    const T* x, const T* weight, const T* bias, T* out, compute_t<T>* means,
    compute_t<T>* variances, Parameters parameters, int64 rows, int64 length, double eps) {
    using C = compute_t<T>;
    using Place = place_t<T, packed>;
    constexpr int width = 16 / sizeof(T);
    const RowTeam<kind> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const T* from = x + r * length;
        T* to = out + r * length;
        auto row = row_of<T, C, kept, packed>(team, length, [=](const Place& place, C* values) {
            const auto pack = place.read(from);
            place.each([&](int k) { values[k] = C(pack[k]); });
        });
        C mean = C(0), squares = C(0);
        if (centre) {
            row.each([&](C value) { mean += value; });
            mean = team.sum(mean) / C(length);
        }
        row.each([&](C value) { squares += (value - mean) * (value - mean); });
        const C variance = team.sum(squares) / C(length);
        const C scale = C(1) / math::sqrt(variance + C(eps));
        if (team.rank == 0) {
            means[r] = mean;
            variances[r] = variance;
        }
        row.each_pack([&](const Place& place, C* values) {
            C factors[width], shifts[width];
            if (weight) parameters.read(factors, weight, r, place);
            if (bias) parameters.read(shifts, bias, r, place);
            place.write(to, [&](int k) {
                C value = (values[k] - mean) * scale;
                if (weight) value *= factors[k];
                return bias ? value + shifts[k] : value;
            });
        });
    }
}

template <class T, int kind, int kept, bool centre, bool packed>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind, kept>)
norm_rows_grad(
    const T* g, const T* x, const T* weight, T* out, const compute_t<T>* means,
    const compute_t<T>* variances, Parameters parameters, int64 rows, int64 length, double eps) {
    using C = compute_t<T>;
    using Place = place_t<T, packed>;
    constexpr int width = 16 / sizeof(T);
    struct Pair { C g, standard; };
    const RowTeam<kind> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const T* from_g = g + r * length;
        const T* from_x = x + r * length;
        T* to = out + r * length;
        const C mean = centre ? means[r] : C(0);
        const C scale = C(1) / math::sqrt(variances[r] + C(eps));
        const auto load = [=](const Place& place, Pair* pairs) {
            C factors[width];
            if (weight) parameters.read(factors, weight, r, place);
            const auto of_g = place.read(from_g), of_x = place.read(from_x);
            place.each([&](int k) {
                const C value = C(of_g[k]);
                pairs[k] = {weight ? value * factors[k] : value, (C(of_x[k]) - mean) * scale};
            });
        };
        auto row = row_of<T, Pair, kept, packed>(team, length, load);
        C along = C(0), across = C(0);
        row.each([&](const Pair& pair) {
            along += pair.g * pair.standard;
            if (centre) across += pair.g;
        });
        along = team.sum(along) / C(length);
        if (centre) across = team.sum(across) / C(length);
        row.write(to, [&](const Pair& pair) {
            return (pair.g - across - pair.standard * along) * scale;
        });
    }
}

// The gradient of the weight where each element of a row has its own: a block of (32, 8) threads
// adds up 32 packs of columns over a part of the rows. parts is (gridDim.y, length).
template <class T, int width>
__global__ void __launch_bounds__(256) norm_columns_grad_weight(
    const T* g, const T* x, const compute_t<T>* means, const compute_t<T>* variances,
    compute_t<T>* parts, int64 rows, int64 length, int64 rows_of_part, double eps) {
    using C = compute_t<T>;
    using Elements = Pack<T, width>;
    constexpr int columns = 32 * width;
    __shared__ C totals[8][columns + 1];
    const int64 first = int64(blockIdx.x) * columns, own = first + threadIdx.x * width;
    const int64 start = blockIdx.y * rows_of_part;
    const int64 stop = start + rows_of_part < rows ? start + rows_of_part : rows;
    C total[width] = {};
    if (own < length) {
        #pragma unroll 2
        for (int64 r = start + threadIdx.y; r < stop; r += 8) {
            const C mean = means[r], scale = C(1) / math::sqrt(variances[r] + C(eps));
            const auto of_g = *reinterpret_cast<const Elements*>(g + r * length + own);
            const auto of_x = *reinterpret_cast<const Elements*>(x + r * length + own);
            #pragma unroll
            for (int k = 0; k < width; ++k) total[k] += C(of_g[k]) * (C(of_x[k]) - mean) * scale;
        }
    }
    #pragma unroll
    for (int k = 0; k < width; ++k) totals[threadIdx.y][threadIdx.x * width + k] = total[k];
    __syncthreads();
    for (int c = threadIdx.y * 32 + threadIdx.x; c < columns && first + c < length; c += 256) {
        C whole = C(0);
        #pragma unroll
        for (int y = 0; y < 8; ++y) whole += totals[y][c];
        parts[blockIdx.y * length + first + c] = whole;
    }
}

// For each channel of (batch, channels, inner), one part of the sums of g and of g * standard.
// The statistics of channel c of sample n are at n * statistics_of_sample + c / of_group.
// sums is (2, channels, gridDim.y).
template <class T, int width>
__global__ void __launch_bounds__(256) norm_channel_sums(
    const T* g, const T* x, const compute_t<T>* means, const compute_t<T>* variances,
    compute_t<T>* sums, int64 batch, int64 channels, int64 inner, int64 of_group,
    int64 statistics_of_sample, double eps) {
    using C = compute_t<T>;
    using Elements = Pack<T, width>;
    const RowTeam<by_block> team;
    const int64 parts = gridDim.y, packs = inner / width, count = batch * packs;
    const int64 of_part = (count + parts - 1) / parts, start = blockIdx.y * of_part;
    const int64 stop = start + of_part < count ? start + of_part : count;
    const int64 samples = team.size / packs, rest = team.size % packs;  // of a step
    for (int64 c = team.row; c < channels; c += team.rows_at_once) {
        C total = C(0), along = C(0), mean = C(0), scale = C(0);
        const int64 group = c / of_group;
        int64 known = -1;  // whose statistics these are
        // Pack i is pack j of sample n; both move on without a division.
        int64 n = (start + team.rank) / packs, j = (start + team.rank) % packs;
        #pragma unroll 2
        for (int64 i = start + team.rank; i < stop; i += team.size) {
            const int64 at = ((n * channels + c) * packs + j) * width;
            const int64 s = n * statistics_of_sample + group;
            if (s != known) {
                mean = means[s];
                scale = C(1) / math::sqrt(variances[s] + C(eps));
                known = s;
            }
            const auto of_g = *reinterpret_cast<const Elements*>(g + at);
            const auto of_x = *reinterpret_cast<const Elements*>(x + at);
            #pragma unroll
            for (int k = 0; k < width; ++k) {
                total += C(of_g[k]);
                along += C(of_g[k]) * ((C(of_x[k]) - mean) * scale);
            }
            n += samples;
            j += rest;
            if (j >= packs) {
                j -= packs;
                ++n;
            }
        }
        total = team.sum(total);
        along = team.sum(along);
        if (team.rank == 0) {
            sums[c * parts + blockIdx.y] = total;
            sums[(channels + c) * parts + blockIdx.y] = along;
        }
    }
}

// Of channels: a team of threads for each row of ``inner`` elements of one channel.
template <class T, int kind>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>) norm_channels(
    const T* x, const T* weight, const T* bias, const compute_t<T>* means,
    const compute_t<T>* variances, T* out, int64 rows, int64 channels, int64 inner, double eps) {
    using C = compute_t<T>;
    const RowTeam<kind> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const int64 c = r % channels;
        const C mean = means[c], scale = C(1) / math::sqrt(variances[c] + C(eps));
        const C factor = weight ? C(weight[c]) : C(1), shift = bias ? C(bias[c]) : C(0);
        const auto normalized = [=](T value) {
            return T((C(value) - mean) * scale * factor + shift);
        };
        map_row(out + r * inner, inner, team.rank, team.size, normalized, x + r * inner);
    }
}

// ``sums`` (2, channels) are those of norm_channel_sums; ``terms`` elements have one mean.
template <class T, int kind, bool centre>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>)
norm_channels_grad(
    const T* g, const T* x, const T* weight, const compute_t<T>* means,
    const compute_t<T>* variances, const compute_t<T>* sums, T* out, int64 rows, int64 channels,
    int64 inner, double terms, double eps) {
    using C = compute_t<T>;
    const RowTeam<kind> team;
    for (int64 r = team.row; r < rows; r += team.rows_at_once) {
        const int64 c = r % channels;
        const C mean = means[c], scale = C(1) / math::sqrt(variances[c] + C(eps));
        const C along = sums[channels + c] / C(terms);
        const C across = centre ? sums[c] / C(terms) : C(0);
        const C factor = scale * (weight ? C(weight[c]) : C(1));
        const auto gradient = [=](T of_out, T value) {
            return T((C(of_out) - (C(value) - mean) * scale * along - across) * factor);
        };
        const int64 start = r * inner;
        map_row(out + start, inner, team.rank, team.size, gradient, g + start, x + start);
    }
}

// running <- (1 - momentum) running + momentum * new, the variance times ``correction``.
template <class T, class New>
__global__ void update_running(
    T* mean, T* variance, const New* new_mean, const New* new_variance, int64 count,
    double momentum, double correction) {
    using C = compute_t<T>;
    for (int64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        const C kept = C(1.0 - momentum);
        mean[i] = T(C(mean[i]) * kept + C(new_mean[i]) * C(momentum));
        variance[i] = T(C(variance[i]) * kept + C(new_variance[i]) * C(momentum * correction));
    }
}

}  // namespace nnkit
