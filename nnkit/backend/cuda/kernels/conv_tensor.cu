// Convolution on tensor cores (compute capability 8.0) as products of matrices whose columns, the
// windows, are gathered while they are multiplied and never stored.
//
// Arrays have channels last, those of a group padded by zeros to whole units of 16 bytes: of a unit
// all elements meet the same tap, and are copied at once. A block adds up a tile of the result:
// ``rows`` channels by 128 columns. Its terms come in steps of 64 bytes, copied to shared memory
// two steps ahead. A block has four warps, each of which adds up a quarter of the tile: the larger
// a warp's part, the fewer bytes it reads from shared memory for a product.
#include "async_copy.cuh"
#include "geometry.cuh"

namespace nnkit {

constexpr int threads = 128;
constexpr int columns = 128;  // of a tile
constexpr int own_columns = columns / 2;  // of a warp
constexpr int stages = 3;  // of the tiles in shared memory
constexpr int depth = 64;  // bytes of the terms of a step

// Blocks of a processor: as many as leave a thread the registers that it needs.
template <int rows>
constexpr int resident = rows == 128 ? 2 : 3;

// Sizes of a product. A group has ``rows`` channels of the result, and ``units`` of the array that
// windows lie on.
struct Product {
    int64 batch, groups, rows, units;
    int64 row_tiles, column_tiles;
    // Of conv: 1, or one for each place that an input can have between two strides.
    int64 phases, is_gradient;
    // Of conv_grad_weight: units of a group of g; outputs of all samples, and how many of them a
    // part adds up, whole steps.
    int64 g_units, terms, parts, terms_of_part;
};

// A tile in shared memory with ``size`` rows or columns of a product, each of which is a row here,
// or, where it is turned, a column. Rows lie so that eight neighbours are in different banks.
template <class T, int size, bool is_turned>
struct Tile {
    static constexpr int of_unit = unit_bytes / sizeof(T);
    static constexpr int terms = depth / sizeof(T);
    static constexpr int step = is_turned ? (size + 8) * sizeof(T) : depth + unit_bytes;  // bytes
    static constexpr int bytes = step * (is_turned ? terms : size);
    // Neighbouring threads copy the units of a row, ``side`` of them. A thread copies ``times`` of
    // them, ``at_once`` rows apart, or, where the tile is turned, as many units.
    static constexpr int side = is_turned ? threads / terms : depth / unit_bytes;
    static constexpr int at_once = is_turned ? side : threads / side;
    static constexpr int times = size / (is_turned ? at_once * of_unit : at_once);

    // Which unit this thread copies first, and in which row.
    __device__ static int unit() { return threadIdx.x % side; }
    __device__ static int row() { return threadIdx.x / side; }
    __device__ static uint32 own_place() { return row() * step + unit() * unit_bytes; }
    __device__ static uint32 place_of(int time) {
        return time * at_once * (is_turned ? unit_bytes : step);
    }

    // Where this lane reads from 16 rows of the product on, or from 16 columns.
    __device__ static uint32 rows_place(int row) {
        const int lane = threadIdx.x % warp_size;
        const int eighth = lane % 8, second = lane / 8 % 2 * 8, third = lane / 16;
        if (!is_turned) return (row + second + eighth) * step + third * unit_bytes;
        if (sizeof(T) == 2) return (third * 8 + eighth) * step + (row + second) * sizeof(T);
        return lane % 4 * step + (row + lane / 4) * sizeof(T);
    }
    __device__ static uint32 columns_place(int column) {
        const int lane = threadIdx.x % warp_size;
        const int eighth = lane % 8, second = lane / 8 % 2, third = lane / 16 * 8;
        if (!is_turned) return (column + third + eighth) * step + second * unit_bytes;
        if (sizeof(T) == 2) return (second * 8 + eighth) * step + (column + third) * sizeof(T);
        return rows_place(column);
    }
    // 16 rows, for 32 bytes of terms: the m-th from there on, and the k-th.
    __device__ static MatrixA rows_of(uint32 place, int m, int k) {
        return rounded(four_of<1, 2>(place + distance(m, k)));
    }
    // 16 columns, as two matrices.
    __device__ static void columns_of(MatrixB (&b)[2], uint32 place, int n, int k) {
        const MatrixA both = rounded(four_of<2, 1>(place + distance(n, k)));
        b[0] = {{both.words[0], both.words[1]}};
        b[1] = {{both.words[2], both.words[3]}};
    }

private:
    __device__ static uint32 distance(int m, int k) {
        constexpr int size_of = sizeof(T);
        return is_turned ? 32 / size_of * step * k + 16 * size_of * m : 16 * step * m + 32 * k;
    }
    // Of words one by one, ``along`` is that of 8 rows or columns further, ``deeper`` of 4 terms.
    template <int along, int deeper>
    __device__ static MatrixA four_of(uint32 place) {
        if constexpr (!is_turned) return load_matrices(place);
        else if constexpr (sizeof(T) == 2) return load_transposed(place);
        else {
            MatrixA a;
            a.words[0] = load_word(place);
            a.words[along] = load_word(place + 8 * sizeof(T));
            a.words[deeper] = load_word(place + 4 * step);
            a.words[3] = load_word(place + 4 * step + 8 * sizeof(T));
            return a;
        }
    }
    __device__ static MatrixA rounded(MatrixA a) {
        if constexpr (sizeof(T) == 4) {
            for (uint32& word : a.words) word = rounded_to_tf32(word);
        }
        return a;
    }
};

// The part of a tile of the result that a thread has: of each 16 x 8 what mma.cuh says.
template <int rows>
struct Total {
    float values[rows / 32][own_columns / 8][4] = {};

    // Where the part of this warp begins.
    __device__ static int row() { return threadIdx.x / warp_size / 2 * (rows / 2); }
    __device__ static int column() { return threadIdx.x / warp_size % 2 * own_columns; }

    // Adds a step's terms. ``left`` and ``right`` are the places from which this lane reads.
    template <class T, class A, class B>
    __device__ void add(uint32 left, uint32 right) {
        #pragma unroll
        for (int k = 0; k < depth / 32; ++k) {
            MatrixB b[own_columns / 16][2];
            #pragma unroll
            for (int n = 0; n < own_columns / 16; ++n) B::columns_of(b[n], right, n, k);
            #pragma unroll
            for (int m = 0; m < rows / 32; ++m) {
                const MatrixA a = A::rows_of(left, m, k);
                #pragma unroll
                for (int n = 0; n < own_columns / 8; ++n) {
                    multiply_add<T>(values[m][n], a, b[n / 2][n % 2]);
                }
            }
        }
    }
};

// Calls ``load(at)`` for each step and ``multiply(at)`` when what it copies is there, at a stage
// that lies ``at`` bytes from the first.
template <int bytes, class Load, class Multiply>
__device__ void each_step(int steps, Load load, Multiply multiply) {
    for (int s = 0; s < stages - 1; ++s) {
        if (s < steps) load(s * bytes);
        close_group();
    }
    for (int step = 0, at = 0; step < steps; ++step) {
        wait_for_groups<stages - 2>();
        __syncthreads();
        // The stage before is free, and the next to fill.
        if (step + stages - 1 < steps) load(at == 0 ? (stages - 1) * bytes : at - bytes);
        close_group();
        multiply(at);
        at = at == (stages - 1) * bytes ? 0 : at + bytes;
    }
    __syncthreads();
}

// Along an axis: the places of the result, the taps that they meet, and where these lie.
struct Axis {
    int places, first_place, place_step;
    int taps, first_tap, tap_step;
    int start, by_place, by_tap;

    // Of the convolution, from an output to its inputs.
    __device__ static Axis forward(const Geometry& w, int d) {
        return {w.output[d], 0, 1, w.kernel[d], 0, 1, -w.padding[d], w.stride[d], w.dilation[d]};
    }
    // Of its gradient, from inputs ``phase``, ``phase`` + stride, ... to their outputs: every
    // ``tap_step``-th tap meets them, if one does.
    __device__ static Axis gradient(const Geometry& w, int d, int phase) {
        const int stride = w.stride[d], most = min_of(w.tap_step[d], w.kernel[d]);
        int tap = 0, distance = phase + w.padding[d];
        for (; tap < most && distance % stride; ++tap) distance -= w.dilation[d];
        const int places = (w.input[d] - phase + stride - 1) / stride;
        const int taps =
            tap == most ? 0 : (w.kernel[d] - tap + w.tap_step[d] - 1) / w.tap_step[d];
        return {places, phase, stride, taps, tap, w.tap_step[d], distance / stride, 1,
                -w.output_step[d]};
    }

private:
    __device__ static int min_of(int x, int y) { return x < y ? x : y; }
};

// A tap: how far from a column's place it lies, and which of the weight's it is.
struct alignas(16) Tap { int at[3], number; };

// Of x (sample, place, group, unit) and weight (group, row, tap, unit) the result (sample, group,
// row, place), plus bias (group, row). The gradient of the input too: x is that of the output then,
// and each phase a convolution of stride 1, whose taps go backwards, to some places of the result.
template <class T, int rows>
__global__ void __launch_bounds__(threads, resident<rows>) conv(
    const Unit* x, const Unit* weight, const T* bias, T* out, Geometry geometry, Product p) {
    using A = Tile<T, rows, false>;
    using B = Tile<T, columns, false>;
    constexpr int stage_bytes = A::bytes + B::bytes;
    const Geometry& w = geometry;
    int from[3], to[3];  // sizes of the planes of x and of the result
    for (int d = 0; d < 3; ++d) {
        from[d] = p.is_gradient ? w.output[d] : w.input[d];
        to[d] = p.is_gradient ? w.input[d] : w.output[d];
    }
    const int64 out_plane = int64(to[0]) * to[1] * to[2];
    const int units = int(p.units), pitch = int(p.groups) * units;
    unsigned char* tiles = dynamic_shared<unsigned char>();
    Tap* table = reinterpret_cast<Tap*>(tiles + stages * stage_bytes);
    __shared__ Axis axes[3];
    __shared__ int64 targets[columns];  // where columns lie in the result's first channel
    const int64 all = p.row_tiles * p.column_tiles * p.groups * p.phases;
    for (int64 number = blockIdx.x; number < all; number += gridDim.x) {
        int64 rest = number / p.row_tiles;
        const int64 first_row = number % p.row_tiles * rows;
        const int64 first_column = rest % p.column_tiles * columns;
        rest /= p.column_tiles;
        const int64 group = rest % p.groups;
        __syncthreads();
        if (threadIdx.x == 0) {
            int phase = int(rest / p.groups);
            for (int d = 2; d >= 0; --d) {
                axes[d] = p.is_gradient ? Axis::gradient(w, d, phase % w.stride[d])
                                        : Axis::forward(w, d);
                phase /= w.stride[d];
            }
        }
        __syncthreads();
        const int taps = axes[0].taps * axes[1].taps * axes[2].taps;
        const int places[3] = {axes[0].places, axes[1].places, axes[2].places};
        const int count = places[0] * places[1] * places[2];
        const int64 all_columns = p.batch * count;
        if (first_column >= all_columns) continue;

        // The sample of a column, and its place among those of a sample.
        const auto place_of = [&](int64 column, int (&at)[3]) {
            const int64 sample = column / count;
            int left = int(column - sample * count);
            for (int d = 2; d >= 0; --d) {
                at[d] = left % places[d];
                left /= places[d];
            }
            return sample;
        };
        for (int i = threadIdx.x; i < taps; i += threads) {
            Tap tap;
            int left = i, numbers[3];
            for (int d = 2; d >= 0; --d) {
                const int along = left % axes[d].taps;
                left /= axes[d].taps;
                tap.at[d] = axes[d].start + along * axes[d].by_tap;
                numbers[d] = axes[d].first_tap + along * axes[d].tap_step;
            }
            tap.number = (numbers[0] * w.kernel[1] + numbers[1]) * w.kernel[2] + numbers[2];
            table[i] = tap;
        }
        if (threadIdx.x < columns) {
            Place place;
            const int64 column = first_column + threadIdx.x, sample = place_of(column, place.at);
            for (int d = 0; d < 3; ++d) {
                place.at[d] = axes[d].first_place + place.at[d] * axes[d].place_step;
            }
            const int64 at = sample * p.groups * p.rows * out_plane + place.number(to);
            targets[threadIdx.x] = column < all_columns ? at : -1;
        }
        // Rows and columns beyond the last are the last again, and are not written.
        const Unit* of_row[A::times];
        #pragma unroll
        for (int i = 0; i < A::times; ++i) {
            const int64 row = first_row + A::row() + i * A::at_once;
            const int64 channel = group * p.rows + (row < p.rows ? row : p.rows - 1);
            of_row[i] = weight + channel * w.taps() * units;
        }
        const Unit* of_column[B::times];
        int starts[B::times][3];
        #pragma unroll
        for (int i = 0; i < B::times; ++i) {
            const int64 own = first_column + B::row() + i * B::at_once;
            const int64 sample = place_of(own < all_columns ? own : all_columns - 1, starts[i]);
            for (int d = 0; d < 3; ++d) starts[i][d] *= axes[d].by_place;
            of_column[i] = x + sample * from[0] * from[1] * from[2] * pitch + group * units;
        }
        __syncthreads();

        Total<rows> total;
        const uint32 first = shared_address(tiles);
        const uint32 to_left = first + A::own_place(), to_right = first + A::bytes + B::own_place();
        int unit = A::unit(), tap = 0;
        const auto settle = [&] {
            for (; unit >= units; unit -= units) ++tap;
        };
        settle();
        const auto load = [&](int stage) {
            const bool is_tap = tap < taps;
            const Tap t = table[is_tap ? tap : 0];
            const int of_weight = t.number * units + unit;
            #pragma unroll
            for (int i = 0; i < A::times; ++i) {
                copy_unit(to_left + stage + A::place_of(i), of_row[i] + of_weight, is_tap);
            }
            #pragma unroll
            for (int i = 0; i < B::times; ++i) {
                Place place;
                bool is_there = is_tap;
                for (int d = 0; d < 3; ++d) {
                    place.at[d] = starts[i][d] + t.at[d];
                    is_there &= uint32(place.at[d]) < uint32(from[d]);
                }
                const Unit* source = of_column[i] + (place.number(from) * pitch + unit);
                copy_unit(to_right + stage + B::place_of(i), source, is_there);
            }
            unit += B::side;
            settle();
        };
        const uint32 left = first + A::rows_place(total.row());
        const uint32 right = first + A::bytes + B::columns_place(total.column());
        each_step<stage_bytes>((taps * units + B::side - 1) / B::side, load, [&](int stage) {
            total.template add<T, A, B>(left + stage, right + stage);
        });

        // Each warp writes 16 rows after the other, by way of shared memory: neighbouring lanes
        // neighbouring columns, packs of them where planes are whole packs.
        constexpr int width = B::of_unit, step = own_columns + 8;
        const bool is_packed = count == out_plane && count % width == 0;
        const int lane = threadIdx.x % warp_size;
        float* own = reinterpret_cast<float*>(tiles) + threadIdx.x / warp_size * 16 * step;
        #pragma unroll
        for (int m = 0; m < rows / 32; ++m) {
            #pragma unroll
            for (int n = 0; n < own_columns / 8; ++n) {
                float* place = own + group_of_lane() * step + 8 * n + pair_of_lane();
                const float* values = total.values[m][n];
                *reinterpret_cast<Pack<float, 2>*>(place) = {{values[0], values[1]}};
                *reinterpret_cast<Pack<float, 2>*>(place + 8 * step) = {{values[2], values[3]}};
            }
            __syncwarp();
            const int64 top = first_row + total.row() + 16 * m;
            const int at_once = is_packed ? width : 1;
            for (int i = lane * at_once; i < 16 * own_columns; i += warp_size * at_once) {
                const int64 row = top + i / own_columns, channel = group * p.rows + row;
                const int64 target = targets[total.column() + i % own_columns];
                if (row >= p.rows || target < 0) continue;
                const float more = bias ? float(bias[channel]) : 0.0f;
                const float* values = own + i / own_columns * step + i % own_columns;
                T* place = out + target + channel * out_plane;
                if (is_packed) {
                    Pack<T, width> pack;
                    #pragma unroll
                    for (int k = 0; k < width; ++k) pack[k] = T(values[k] + more);
                    *reinterpret_cast<Pack<T, width>*>(place) = pack;
                } else {
                    *place = T(values[0] + more);
                }
            }
            __syncwarp();
        }
    }
}

// Of g (sample, place, group, unit) and x alike the gradient of the weight (part, group, row, tap,
// unit): the terms are the outputs, rows of both tiles.
template <class T, int rows>
__global__ void __launch_bounds__(threads, resident<rows>) conv_grad_weight(
    const Unit* g, const Unit* x, float* out, Geometry geometry, Product p) {
    using A = Tile<T, rows, true>;
    using B = Tile<T, columns, true>;
    constexpr int stage_bytes = A::bytes + B::bytes;
    const Geometry& w = geometry;
    const int units = int(p.units), g_units = int(p.g_units), groups = int(p.groups);
    const int all_units = w.taps() * units, all_columns = all_units * B::of_unit;
    const int64 outputs = w.outputs(), plane_units = w.inputs() * groups * units;
    const int64 all = p.row_tiles * p.column_tiles * p.groups * p.parts;
    for (int64 number = blockIdx.x; number < all; number += gridDim.x) {
        int64 rest = number / p.row_tiles;
        const int first_row = int(number % p.row_tiles) * rows;
        const int first_column = int(rest % p.column_tiles) * columns;
        rest /= p.column_tiles;
        const int group = int(rest % p.groups);
        const int64 part = rest / p.groups, first_term = part * p.terms_of_part;
        const int64 after = p.terms - first_term;
        const int terms = int(after < p.terms_of_part ? after : p.terms_of_part);

        // Rows and columns beyond the last are the last again, and are not written.
        int row_units[A::times], column_units[B::times], shifts[B::times][3];
        #pragma unroll
        for (int i = 0; i < A::times; ++i) {
            const int unit = first_row / A::of_unit + A::unit() + i * A::at_once;
            row_units[i] = unit < g_units ? unit : g_units - 1;
        }
        #pragma unroll
        for (int i = 0; i < B::times; ++i) {
            const int unit = first_column / B::of_unit + B::unit() + i * B::at_once;
            const int there = unit < all_units ? unit : all_units - 1;
            int tap = there / units;
            column_units[i] = group * units + there - tap * units;
            for (int d = 2; d >= 0; --d) {
                shifts[i][d] = tap % w.kernel[d] * w.dilation[d] - w.padding[d];
                tap /= w.kernel[d];
            }
        }
        // The output that is this thread's term, which goes on by a step's terms.
        const int64 term = first_term + B::row(), sample = term / outputs;
        PlaneWalk walk(term - sample * outputs, B::terms, w.output);
        walk.plane += sample;
        const Unit* of_term = g + (term * groups + group) * g_units;
        int terms_left = terms - B::row();

        Total<rows> total;
        const uint32 first = shared_address(dynamic_shared<unsigned char>());
        const uint32 to_left = first + A::own_place(), to_right = first + A::bytes + B::own_place();
        const auto load = [&](int stage) {
            const bool is_term = terms_left > 0;
            #pragma unroll
            for (int i = 0; i < A::times; ++i) {
                copy_unit(to_left + stage + A::place_of(i), of_term + row_units[i], is_term);
            }
            const Unit* of_sample = x + walk.plane * plane_units;
            int start[3];
            for (int d = 0; d < 3; ++d) start[d] = walk.place.at[d] * w.stride[d];
            #pragma unroll
            for (int i = 0; i < B::times; ++i) {
                Place place;
                bool is_there = is_term;
                for (int d = 0; d < 3; ++d) {
                    place.at[d] = start[d] + shifts[i][d];
                    is_there &= uint32(place.at[d]) < uint32(w.input[d]);
                }
                const int at = place.number(w.input) * (groups * units) + column_units[i];
                copy_unit(to_right + stage + B::place_of(i), of_sample + at, is_there);
            }
            of_term += B::terms * groups * g_units;
            terms_left -= B::terms;
            walk.next();
        };
        const uint32 left = first + A::rows_place(total.row());
        const uint32 right = first + A::bytes + B::columns_place(total.column());
        each_step<stage_bytes>((terms + B::terms - 1) / B::terms, load, [&](int stage) {
            total.template add<T, A, B>(left + stage, right + stage);
        });

        #pragma unroll
        for (int m = 0; m < rows / 32; ++m) {
            #pragma unroll
            for (int n = 0; n < own_columns / 8; ++n) {
                const int column = first_column + total.column() + 8 * n + pair_of_lane();
                #pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int64 row = first_row + total.row() + 16 * m + 8 * half + group_of_lane();
                    if (row >= p.rows || column >= all_columns) continue;
                    const float* values = total.values[m][n] + 2 * half;
                    float* to = out + ((part * p.groups + group) * p.rows + row) * all_columns;
                    *reinterpret_cast<Pack<float, 2>*>(to + column) = {{values[0], values[1]}};
                }
            }
        }
    }
}

}  // namespace nnkit
