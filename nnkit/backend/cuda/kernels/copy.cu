// Copies between arrays whose memory runs along different axes, and of rows at any places.
//
// `transposed`: out[b][i][j] is x[b][i][j], where j runs along the memory of ``out`` and i along that of ``x``. A
// block moves a square through shared memory, so that both are read and written along their memory.
#include "team.cuh"

namespace nnkit {

struct Planes {
    int64 batch, rows, columns;  // of ``out``
    int64 step, from_step;  // between the rows of ``out``, and the columns of ``x``
    Walk to, from;  // where the planes begin
};

// Squares of 32 times as many elements as fill four bytes, at least one, by as many, which are moved
// by packs of ``width`` elements; blocks of (32, 8) threads.
template <class T, int width>
__global__ void __launch_bounds__(256) transposed(const T* x, T* out, Planes planes) {
    constexpr int side = 32 * (sizeof(T) < 4 ? 4 / sizeof(T) : 1), across_on = 32 * width;
    using Elements = Pack<T, width>;
    __shared__ T square[side][side + 4 / sizeof(T) + (sizeof(T) > 4)];
    const int64 down = (planes.rows + side - 1) / side, along = (planes.columns + side - 1) / side;
    const int64 squares = planes.batch * down * along;
    for (int64 s = blockIdx.x; s < squares; s += gridDim.x) {
        const int64 plane = s / (down * along), place = s % (down * along);
        const int64 row = place / along * side, column = place % along * side;
        // The part of the square within the matrix; the threads' places in it.
        const int rows = int(planes.rows - row < side ? planes.rows - row : side);
        const int columns = int(planes.columns - column < side ? planes.columns - column : side);
        const int across = threadIdx.x * width, below = threadIdx.y;
        const T* from =
            x + planes.from(plane) + row + (column + below) * planes.from_step + across;
        T* to = out + planes.to(plane) + column + (row + below) * planes.step + across;
        __syncthreads();  // the square before this one has been written
        #pragma unroll
        for (int k = 0; k < side; k += 8, from += 8 * planes.from_step) {
            if (below + k >= columns) break;
            #pragma unroll
            for (int i = 0; i < side; i += across_on) {
                if (across + i >= rows) continue;
                const Elements pack = *reinterpret_cast<const Elements*>(from + i);
                #pragma unroll
                for (int e = 0; e < width; ++e) square[across + i + e][below + k] = pack[e];
            }
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < side; k += 8, to += 8 * planes.step) {
            if (below + k >= rows) break;
            #pragma unroll
            for (int j = 0; j < side; j += across_on) {
                if (across + j >= columns) continue;
                Elements pack;
                #pragma unroll
                for (int e = 0; e < width; ++e) pack[e] = square[below + k][across + j + e];
                *reinterpret_cast<Elements*>(to + j) = pack;
            }
        }
    }
}

// Four bytes from ``shift`` bytes after the first of two neighbouring words on.
__device__ inline uint32 shifted(uint32 low, uint32 high, int shift) {
    return shift ? low >> (8 * shift) | high << (32 - 8 * shift) : low;
}

// Rows whose elements lie side by side, ``from_step`` elements apart to ``step`` apart. They
// are written by 16 bytes, and read by the words in which those lie.
template <class T, int kind>
__global__ void __launch_bounds__(256) copy_rows(
    const T* x, T* out, int64 rows, int64 length, int64 step, int64 from_step) {
    struct alignas(16) Words { uint32 word[4]; };
    constexpr int width = 16 / sizeof(T);
    const RowTeam<kind> team;
    for (int64 row = team.row; row < rows; row += team.rows_at_once) {
        const T* from = x + row * from_step;
        T* to = out + row * step;
        const int64 odd = reinterpret_cast<uint64>(to) / sizeof(T) % width;
        const int64 before = odd ? width - odd : 0, head = before < length ? before : length;
        const int64 packs = (length - head) / width;
        for (int64 i = team.rank; i < head; i += team.size) to[i] = from[i];
        const int shift = int(reinterpret_cast<uint64>(from + head) % 4);
        const uint64 start = reinterpret_cast<uint64>(from + head) - shift;
        for (int64 p = team.rank; p < packs; p += team.size) {
            const auto* words = reinterpret_cast<const uint32*>(start) + 4 * p;
            uint32 word[5];
            #pragma unroll
            for (int k = 0; k < 4; ++k) word[k] = words[k];
            word[4] = shift ? words[4] : 0;
            Words pack;
            #pragma unroll
            for (int k = 0; k < 4; ++k) pack.word[k] = shifted(word[k], word[k + 1], shift);
            reinterpret_cast<Words*>(to + head)[p] = pack;
        }
        for (int64 i = head + packs * width + team.rank; i < length; i += team.size) to[i] = from[i];
    }
}

}  // namespace nnkit
