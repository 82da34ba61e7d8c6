"""Hashes of elements along dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nnkit.autograd.arguments.dims import check_tensor, normalize_dims
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.ops.padding import constant_pad_nd
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.counters import without_base
from nnkit.backend.dtype import FLOATING, float64, int64, uint64


@public(out=Out(dtype="same"))
def hash_tensor(
    input: Tensor, dim: int | Sequence[int] | None = (), *, keepdim: bool = False, mode: int = 0
) -> Tensor:
    """The exclusive or of the elements' bits, as uint64: of floats as float64, else as int64.

    Args:
        dim: a dimension or several; all unless given.
        keepdim: keep them, with length 1.
        mode: 0, of which alone there is a meaning.

    Raises:
        RuntimeError: another mode, or no elements and no ``dim``.
        IndexError: a dimension to reduce has no elements.
        NotImplementedError: complex or wide unsigned elements.

    Example:
        >>> import nnkit
        >>> nnkit.hash_tensor(nnkit.tensor([[1, 2, 4], [3, 3, 0]]), 1)
        tensor([7, 0], dtype=nnkit.uint64)
    """
    name = "hash_tensor"
    check_tensor(name, input)
    if mode != 0:
        raise RuntimeError(f"{name}(): unknown mode {mode}, expected 0")
    given = normalize_dims(dim, input.ndim, name)
    dims = given if given and input.ndim else tuple(range(input.ndim))
    if not given and not input.numel():
        raise RuntimeError(f"{name}(): without elements dim must be given")
    for d in dims:
        if not input.shape[d]:
            raise IndexError(f"{name}(): dimension {d} has no elements to reduce")
    check_dtype(name, input.dtype, ("complex", "unsigned"), (input,))
    numbers = input.detach().to(float64 if input.dtype.category == FLOATING else int64)
    rest = [d for d in range(input.ndim) if d not in dims]
    bits = numbers.view(int64).permute((*rest, *dims))
    count = math.prod(bits.shape[len(rest) :])
    bits = bits.reshape(*bits.shape[: len(rest)], count)
    halvings = (count - 1).bit_length()
    bits = constant_pad_nd(bits, (0, (1 << halvings) - count))
    for _ in range(halvings):
        left, right = bits.chunk(2, -1)
        bits = left ^ right
    kept = [1 if d in dims else size for d, size in enumerate(input.shape)]
    return without_base(bits.view(uint64).reshape(kept if keepdim else bits.shape[:-1]))
