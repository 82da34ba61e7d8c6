"""Philox 4x32-10, the counter-based generator of GPUs, and how PyTorch's CUDA kernels read it.

A block is four 32-bit words, a function of a 128-bit counter and a 64-bit key alone (Salmon et
al., "Parallel random numbers: as easy as 1, 2, 3", 2011). The key is the seed. The counter's upper
half is the number of the GPU thread, its lower half counts the blocks that this thread has drawn.
"""

from __future__ import annotations

import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
ROUNDS = 10

THREADS_PER_BLOCK = 256
WORDS = 4
# Blocks that PyTorch lets stay on a GPU at once: 132 multiprocessors of 2048 threads (H100, H200).
# Draws of up to 256 * RESIDENT_BLOCKS elements are the same on every GPU with at least as many.
RESIDENT_BLOCKS = 132 * 2048 // THREADS_PER_BLOCK


def philox4x32(counter: np.ndarray, key: tuple[int, int], rounds: int = ROUNDS) -> np.ndarray:
    """The blocks of Philox 4x32 for many counters at once.

    Args:
        counter: (4, n) array of 32-bit words in uint64, the lowest word first.
        key: two 32-bit words, the lower one first.

    Returns:
        (4, n) array of uint32.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        product0, product1 = _M0 * c0, _M1 * c2
        c0 = (product1 >> _32) ^ c1 ^ np.uint64(k0)
        c2 = (product0 >> _32) ^ c3 ^ np.uint64(k1)
        c1, c3 = product1 & _LOW, product0 & _LOW
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack((c0, c1, c2, c3)).astype(np.uint32)


def _threads(count: int) -> int:
    return THREADS_PER_BLOCK * min(max(-(-count // THREADS_PER_BLOCK), 1), RESIDENT_BLOCKS)


def share(values: np.ndarray, count: int) -> np.ndarray:
    """Order what the threads made, (rounds * threads, per_call, ...), by element.

    The elements that one call of a thread serves lie a whole grid of threads apart.
    """
    by_thread = values.reshape(-1, _threads(count), *values.shape[1:])
    return by_thread.swapaxes(1, 2).reshape(-1, *values.shape[2:])[:count]


class Philox:
    """A seed and an offset; the offset counts the words that each thread has drawn so far."""

    __slots__ = ("offset", "seed")

    def __init__(self, seed: int, offset: int = 0) -> None:
        self.seed = seed
        self.offset = offset

    def blocks(self, count: int, per_call: int = WORDS) -> np.ndarray:
        """The blocks of one kernel over ``count`` elements, of which a block serves ``per_call``.

        Returns:
            (rounds * threads, 4) array of uint32: each thread's first block, each one's second, ...
        """
        threads = _threads(count)
        rounds = -(-count // (threads * per_call))
        thread = np.tile(np.arange(threads, dtype=np.uint64), rounds)
        step = np.arange(rounds, dtype=np.uint64) + np.uint64(self.offset // WORDS)
        step = np.repeat(step, threads)
        self.offset += rounds * WORDS
        counter = np.stack((step & _LOW, step >> _32, thread & _LOW, thread >> _32))
        return philox4x32(counter, (self.seed & 0xFFFFFFFF, self.seed >> 32)).T

    def words(self, count: int, width: int = 1) -> np.ndarray:
        """``width`` (1 or 2) words for each of ``count`` elements: (count, width), uint32."""
        per_call = WORDS // width
        return share(self.blocks(count, per_call).reshape(-1, per_call, width), count)

    def get_state(self) -> np.ndarray:
        """Seed and offset, 16 bytes, as ``torch.cuda.get_rng_state()``."""
        return np.array([self.seed, self.offset], "<u8").view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Go on from such 16 bytes, or from the seed's 8 alone.

        Raises:
            RuntimeError: the state has another size.
        """
        if state.size not in (8, 16):
            raise RuntimeError(f"set_state: expected a philox state of 16 bytes, got {state.size}")
        words = np.frombuffer(state.tobytes(), "<u8").tolist()
        self.seed, self.offset = (*words, 0)[:2]
