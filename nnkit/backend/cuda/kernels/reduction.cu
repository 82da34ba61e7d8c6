// Reductions over any axes of a strided array.
//
// An operation says how it takes in an element (``add``), joins two accumulators (``combine``) and
// writes the result (``store``). Long reductions with few results are
// cut into parts, whose accumulators a second kernel joins. The order of all this depends on the
// shapes alone: the same input gives the same bits.
#include "reduction.cuh"

namespace nnkit {

// Takes in the elements ``first``, ``first + step``, ... of a row, in this order. Several are loaded
// before the first is taken in, so that a thread does not wait for each of them by itself.
template <class Operation, int batch, class Place>
__device__ void add_elements(
    typename Operation::Accumulator& total, const typename Operation::Input* from, Place place,
    int64 first, int64 stop, int64 step, double parameter) {
    for (int64 i = first; i < stop; i += batch * step) {
        typename Operation::Input values[batch];
        #pragma unroll
        for (int k = 0; k < batch; ++k) {
            const int64 at = i + k * step;
            if (at < stop) values[k] = from[place(at)];
        }
        #pragma unroll
        for (int k = 0; k < batch; ++k) {
            const int64 at = i + k * step;
            if (at < stop) Operation::add(total, values[k], at, parameter);
        }
    }
}
template <class Operation>
__device__ void add_row(
    typename Operation::Accumulator& total, const typename Operation::Input* from,
    const Walk& reduced, int64 first, int64 stop, int64 step, double parameter) {
    if (reduced.dimensions == 1) {
        const int64 stride = reduced.strides[0];
        add_elements<Operation, 4>(
            total, from, [=](int64 i) { return i * stride; }, first, stop, step, parameter);
    } else {
        add_elements<Operation, 2>(total, from, reduced, first, stop, step, parameter);
    }
}

// A team of threads for each result: for elements that lie side by side.
template <class Operation, int kind>
__global__ void __launch_bounds__(most_threads<kind>, least_blocks<kind>) reduce_rows(
    const typename Operation::Input* x, void* first, void* second,
    typename Operation::Accumulator* parts, Walk kept, Walk reduced, int64 count, int64 length,
    int64 length_of_part, double parameter) {
    const RowTeam<kind> team;
    const int64 start = blockIdx.y * length_of_part;
    const int64 stop = start + length_of_part < length ? start + length_of_part : length;
    for (int64 row = team.row; row < count; row += team.rows_at_once) {
        const typename Operation::Input* from = x + kept(row);
        auto total = Operation::identity();
        add_row<Operation>(total, from, reduced, start + team.rank, stop, team.size, parameter);
        total = team.reduce(total, Operation::combine, Operation::identity());
        if (team.rank == 0) {
            if (parts) parts[row * gridDim.y + blockIdx.y] = total;
            else Operation::store(total, first, second, row, length, parameter);
        }
    }
}

// Neighbouring threads for neighbouring results, rows of threads for the elements of each: for
// results whose first elements lie side by side, and for results of few elements.
template <class Operation>
__global__ void reduce_columns(
    const typename Operation::Input* x, void* first, void* second,
    typename Operation::Accumulator* parts, Walk kept, Walk reduced, int64 count, int64 length,
    int64 length_of_part, double parameter) {
    auto* shared = dynamic_shared<typename Operation::Accumulator>();
    const int64 start = blockIdx.y * length_of_part;
    const int64 stop = start + length_of_part < length ? start + length_of_part : length;
    const int64 step = int64(gridDim.x) * blockDim.x;
    // Every thread of the block takes part in the barriers, also where it has no result.
    for (int64 block = int64(blockIdx.x) * blockDim.x; block < count; block += step) {
        const int64 row = block + threadIdx.x;
        auto total = Operation::identity();
        if (row < count) {
            const typename Operation::Input* from = x + kept(row);
            const int64 first = start + threadIdx.y;
            add_row<Operation>(total, from, reduced, first, stop, blockDim.y, parameter);
        }
        for (int half = blockDim.y / 2; half > 0; half /= 2) {
            __syncthreads();
            shared[threadIdx.y * blockDim.x + threadIdx.x] = total;
            __syncthreads();
            if (threadIdx.y < half) {
                total = Operation::combine(
                    total, shared[(threadIdx.y + half) * blockDim.x + threadIdx.x]);
            }
        }
        if (threadIdx.y == 0 && row < count) {
            if (parts) parts[row * gridDim.y + blockIdx.y] = total;
            else Operation::store(total, first, second, row, length, parameter);
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
