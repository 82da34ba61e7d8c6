// Reductions over any axes of a strided array.
//
// An operation says how it takes in an element (``add``), joins two accumulators (``combine``) and
// writes the result (``store``). Long reductions with few results are
// cut into parts, whose accumulators a second kernel joins. The order of all this depends on the
// shapes, strides and alignment alone: the same input gives the same bits.
#include "reduction.cuh"

namespace nnkit {

// Takes in a pack, whose elements are ``first``, ``first + step``, ... of the row.
template <class Operation, int width>
__device__ void add_pack(
    typename Operation::Accumulator& total, const Pack<typename Operation::Input, width>& pack,
    int64 first, int64 step, double parameter) {
    if constexpr (AddsPacks<Operation>::value && width > 1) {
        Operation::add_pack(total, pack);
    } else {
        #pragma unroll
        for (int k = 0; k < width; ++k) {
            Operation::add(total, pack[k], first + k * step, parameter);
        }
    }
}

// Takes in the elements ``first``, ``first + step``, ... of a row, in this order. Several are loaded
// before the first is taken in, so that a thread does not wait for each of them by itself.
template <class Operation>
__device__ void add_strided(
    typename Operation::Accumulator& total, const typename Operation::Input* from,
    const Walk& reduced, int64 first, int64 stop, int64 step, double parameter) {
    constexpr int batch = 4;
    Pack<typename Operation::Input, batch> values;
    int64 i = first;
    if (reduced.dimensions == 1) {
        const int64 apart = step * reduced.strides[0], last = stop - (batch - 1) * step;
        from += first * reduced.strides[0];
        for (; i < last; i += batch * step, from += batch * apart) {
            #pragma unroll
            for (int k = 0; k < batch; ++k) values[k] = from[k * apart];
            add_pack<Operation>(total, values, i, step, parameter);
        }
        for (; i < stop; i += step, from += apart) Operation::add(total, *from, i, parameter);
        return;
    }
    for (; i < stop - step; i += 2 * step) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) values[k] = from[reduced(i + k * step)];
        #pragma unroll
        for (int k = 0; k < 2; ++k) Operation::add(total, values[k], i + k * step, parameter);
    }
    for (; i < stop; i += step) Operation::add(total, from[reduced(i)], i, parameter);
}

// Whether the elements from ``first`` on are read by whole packs of 16 bytes along the last axis.
template <class T>
__device__ bool goes_in_packs(const T* from, const Walk& reduced, int64 first) {
    constexpr int width = 16 / sizeof(T);
    const int last = int(reduced.dimensions) - 1;
    if (last < 1 || reduced.strides[last] != 1 || reduced.sizes[last] % width) return false;
    bool fits = reinterpret_cast<uint64>(from) % 16 == 0 && first % width == 0;
    for (int d = 0; d < last; ++d) fits &= reduced.strides[d] % width == 0;
    return fits;
}

// Takes in the elements of a row from ``start`` to ``stop``, of which the team's others take theirs.
template <class Operation, class Team>
__device__ void add_row(
    const Team& team, typename Operation::Accumulator& total,
    const typename Operation::Input* from, const Walk& reduced, int64 start, int64 stop,
    double parameter) {
    using T = typename Operation::Input;
    constexpr int width = 16 / sizeof(T);
    if (reduced.dimensions == 1 && reduced.strides[0] == 1) {
        each_place(team, stop - start, [&](auto place) {
            const auto pack = place.read(from + start);
            add_pack<Operation>(total, pack, start + place.first, 1, parameter);
        }, from + start);
    } else if (goes_in_packs(from, reduced, start)) {
        const int64 whole = stop / width;  // a part ends with a pack, and so does the row
        #pragma unroll 4
        for (int64 p = start / width + team.rank; p < whole; p += team.size) {
            const auto& pack = *reinterpret_cast<const Pack<T, width>*>(from + reduced(p * width));
            add_pack<Operation>(total, pack, p * width, 1, parameter);
        }
    } else {
        add_strided<Operation>(total, from, reduced, start + team.rank, stop, team.size, parameter);
    }
}

// A team of threads for each result: for elements that lie side by side.
template <class Operation, int kind>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>) reduce_rows(
    const typename Operation::Input* x, void* first, void* second,
    typename Operation::Accumulator* parts, Walk kept, Walk reduced, int64 count, int64 length,
    int64 length_of_part, double parameter) {
    const RowTeam<kind> team;
    const int64 begin = blockIdx.y * length_of_part, end = begin + length_of_part;
    const int64 start = begin < length ? begin : length, stop = end < length ? end : length;
    for (int64 row = team.row; row < count; row += team.rows_at_once) {
        const typename Operation::Input* from = x + kept(row);
        auto total = Operation::identity();
        add_row<Operation>(team, total, from, reduced, start, stop, parameter);
        total = team.reduce(total, Operation::combine, Operation::identity());
        if (team.rank == 0) {
            if (parts) parts[row * gridDim.y + blockIdx.y] = total;
            else Operation::store(total, first, second, row, length, parameter);
        }
    }
}

// Neighbouring threads for neighbouring results, ``width`` of them for each thread, and rows of
// threads for the elements of each: for results whose first elements lie side by side, and for
// results of few elements.
template <class Operation, int width>
__global__ void __launch_bounds__(256) reduce_columns(
    const typename Operation::Input* x, void* first, void* second,
    typename Operation::Accumulator* parts, Walk kept, Walk reduced, int64 count, int64 length,
    int64 length_of_part, double parameter) {
    using T = typename Operation::Input;
    using Accumulator = typename Operation::Accumulator;
    auto* shared = dynamic_shared<Accumulator>();
    const int64 begin = blockIdx.y * length_of_part, end = begin + length_of_part;
    const int64 start = begin < length ? begin : length, stop = end < length ? end : length;
    const int columns = int(blockDim.x) * width;
    const int thread = int(threadIdx.y * blockDim.x + threadIdx.x);
    // Every thread of the block takes part in the barriers, also where it has no result.
    for (int64 block = int64(blockIdx.x) * columns; block < count; block += gridDim.x * columns) {
        const int64 own = block + int64(threadIdx.x) * width;
        Accumulator totals[width];
        #pragma unroll
        for (int k = 0; k < width; ++k) totals[k] = Operation::identity();
        if (own < count && width == 1) {
            add_strided<Operation>(
                totals[0], x + kept(own), reduced, start + threadIdx.y, stop, blockDim.y, parameter);
        } else if (own < count) {
            const auto at = [from = x + kept(own), &reduced](int64 i) {
                return *reinterpret_cast<const Pack<T, width>*>(from + reduced(i));
            };
            int64 i = start + threadIdx.y;
            if constexpr (AddsPacks<Operation>::value) {
                for (; i + 3 * blockDim.y < stop; i += 4 * blockDim.y) {
                    Pack<T, width> rows[4];
                    #pragma unroll
                    for (int r = 0; r < 4; ++r) rows[r] = at(i + r * blockDim.y);
                    #pragma unroll
                    for (int k = 0; k < width; ++k) {
                        const Pack<T, 4> column = {
                            rows[0][k], rows[1][k], rows[2][k], rows[3][k]};
                        Operation::add_pack(totals[k], column);
                    }
                }
            }
            constexpr int at_once = AddsPacks<Operation>::value ? 1 : 4;
            #pragma unroll at_once
            for (; i < stop; i += blockDim.y) {
                const auto pack = at(i);
                #pragma unroll
                for (int k = 0; k < width; ++k) Operation::add(totals[k], pack[k], i, parameter);
            }
        }
        __syncthreads();  // the results before these have been read
        #pragma unroll
        for (int k = 0; k < width; ++k) shared[thread * width + k] = totals[k];
        __syncthreads();
        for (int c = thread; c < columns && block + c < count; c += blockDim.x * blockDim.y) {
            Accumulator total = shared[c];
            for (int y = 1; y < int(blockDim.y); ++y) {
                total = Operation::combine(total, shared[y * columns + c]);
            }
            if (parts) parts[(block + c) * gridDim.y + blockIdx.y] = total;
            else Operation::store(total, first, second, block + c, length, parameter);
        }
    }
}

// Joins the parts of each result.
template <class Operation>
__global__ void reduce_parts(
    const typename Operation::Accumulator* parts, void* first, void* second, int64 count,
    int number, int64 length, double parameter) {
    const RowTeam<by_warp> team;
    for (int64 row = team.row; row < count; row += team.rows_at_once) {
        auto total = Operation::identity();
        for (int i = team.rank; i < number; i += team.size) {
            total = Operation::combine(total, parts[row * number + i]);
        }
        total = team.reduce(total, Operation::combine, Operation::identity());
        if (team.rank == 0) Operation::store(total, first, second, row, length, parameter);
    }
}

}  // namespace nnkit
