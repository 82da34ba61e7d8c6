"""Points that fill a cube more evenly than random ones, as ``torch.quasirandom``.

The initial direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with
better two-dimensional projections", 2008 (new-joe-kuo-6.21201). ``quasirandom.bin`` holds them bit
by bit: of each dimension from the second on, by falling powers what lies between the first and the
last coefficient of its primitive polynomial, and of its i-th number, which is odd and below 2**i,
all bits but the last.
"""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import nnkit
from nnkit.autograd import Tensor
from nnkit.backend.dtype import default_dtype

__all__ = ["SobolEngine"]

# How many dimensions have a polynomial of degree 1, 2, 3, ...; from 13 on all there are.
_DEGREES = (1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776)


class SobolEngine:
    """Sobol's sequence in ``dimension`` dimensions, between 0 and 1.

    Args:
        dimension: at most 21201.
        scramble: shuffle the bits by a random triangular matrix and shift them, which keeps the
            evenness (Owen, 1998).
        seed: of the generator that scrambling draws from; the default one if not given.

    Raises:
        ValueError: the dimension is not between 1 and 21201.

    Source: ``torch.quasirandom.SobolEngine``, with the same points for the same seed.

    Example:
        >>> import nnkit
        >>> nnkit.quasirandom.SobolEngine(2).draw(4)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500],
                [0.2500, 0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"SobolEngine: dimension must be between 1 and {self.MAXDIM}, got {dimension}"
            )
        self.dimension = dimension
        self.scramble = scramble
        self.seed = seed
        self.sobolstate = _direction_numbers(dimension, self.MAXBIT)
        if scramble:
            self._scramble()
        else:
            self.shift = nnkit.zeros(dimension, dtype=nnkit.int64)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``n`` points, (n, dimension); ``out`` is resized to them."""
        dtype = dtype or default_dtype()
        points = self._following(n - 1 if self.num_generated == 0 else n, dtype)
        if self.num_generated == 0:
            points = nnkit.cat((self._first_point.to(dtype), points))
        self.num_generated += n
        return points if out is None else out.resize_(points.shape).copy_(points)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``2**m`` points, which together with those before are a power of two.

        Raises:
            ValueError: they would not be one.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "draw_base2: the number of points drawn must be a power of two, got "
                f"{self.num_generated} + {n}: use draw() for other numbers, or reset() first"
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin anew."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Pass over the next ``n`` points."""
        steps = n - 1 if self.num_generated == 0 else n
        done = max(self.num_generated - 1, 0)
        self.quasi ^= self._moved(nnkit.tensor([done + steps]), done)[0]
        self.num_generated += n
        return self

    def _following(self, n: int, dtype: Any) -> Tensor:
        done = max(self.num_generated - 1, 0)
        points = self.quasi ^ self._moved(nnkit.arange(done + 1, done + n + 1), done)
        if n:
            self.quasi = points[-1].clone()
        return points.to(dtype) * 2.0**-self.MAXBIT

    def _moved(self, places: Tensor, start: int) -> Tensor:
        """By which bits the points at some places differ from that at ``start``: by the direction
        numbers of the bits in which the Gray codes of the places differ."""
        codes = (places ^ (places >> 1)) ^ (start ^ (start >> 1))
        moved = nnkit.zeros(len(places), self.dimension, dtype=nnkit.int64)
        for bit in range(self.MAXBIT):
            moved ^= (codes >> bit & 1).unsqueeze(1) * self.sobolstate[:, bit]
        return moved

    def _scramble(self) -> None:
        generator = None if self.seed is None else nnkit.Generator().manual_seed(self.seed)
        bits, powers = self.MAXBIT, 2 ** nnkit.arange(self.MAXBIT)
        shift = nnkit.randint(2, (self.dimension, bits), generator=generator)
        self.shift = (shift * powers).sum(1)
        matrix = nnkit.randint(2, (self.dimension, bits, bits), generator=generator).tril()
        matrix.diagonal(dim1=1, dim2=2).fill_(1)
        # The first row and column of a matrix are of the highest bit.
        falling = powers.flip(0)
        numbers = (self.sobolstate.unsqueeze(1) // falling.reshape(1, -1, 1)) % 2
        product = (matrix.double() @ numbers.double()).long() % 2
        self.sobolstate = (product * falling.reshape(1, -1, 1)).sum(1)

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        options += ["scramble=True"] if self.scramble else []
        options += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(options)})"


@cache
def _bits() -> bytes:
    return Path(__file__).with_suffix(".bin").read_bytes()


def _direction_numbers(dimension: int, count: int) -> Tensor:
    """(dimension, count) integers of ``count`` bits; the first dimension's are single bits."""
    groups = [nnkit.ones(1, count, dtype=nnkit.int64)]
    start, left = 0, dimension - 1
    for degree, number in enumerate(_DEGREES, 1):
        taken = min(number, left)
        if taken:
            groups.append(_of_degree(degree, taken, start, count))
        start, left = start + number * (degree - 1) * (degree + 2) // 2, left - taken
    return nnkit.cat(groups) << nnkit.arange(count - 1, -1, -1)


def _of_degree(degree: int, number: int, start: int, count: int) -> Tensor:
    """The direction numbers of some dimensions, whose bits begin at ``start``, not yet shifted."""
    widths = [degree - 1, *range(1, degree)]
    size = sum(widths)
    stop = start + size * number
    block = int.from_bytes(_bits()[start // 8 : -(-stop // 8)], "big") >> (-stop % 8)
    text = f"{block & ((1 << (stop - start)) - 1):0{max(stop - start, 1)}b}"
    ends = list(itertools.accumulate(widths, initial=0))
    fields = nnkit.tensor([
        [int(text[row + a : row + b] or "0", 2) for a, b in itertools.pairwise(ends)]
        for row in range(0, size * number, size or 1)
    ] if size else [[0]] * number)  # fmt: skip
    columns = [nnkit.ones(number, dtype=nnkit.int64)]
    columns += [fields[:, i] * 2 + 1 for i in range(1, degree)]
    polynomial = fields[:, 0] * 2 + 1  # without its highest power
    for j in range(degree, count):
        column = columns[j - degree]
        for k in range(1, degree + 1):
            has = polynomial >> (degree - k) & 1
            column = column ^ (has * columns[j - k] << k)
        columns.append(column)
    return nnkit.stack(columns, 1)
