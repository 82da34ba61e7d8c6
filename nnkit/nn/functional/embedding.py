"""Embedding as functions: rows of a table by index, and bags of them."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.single import single
from nnkit.autograd.ops import embedding as ops
from nnkit.autograd.ops.creation.ranges import arange
from nnkit.autograd.tensor import on_its_own
from nnkit.backend.dtype import FLOATING, float64, int64, promote_types
from nnkit.backend.warning import warn

__all__ = ["embedding", "embedding_bag", "one_hot"]


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One row of zeros for each index, with a single 1 at its place.

    Args:
        tensor: indices of any shape, int64.
        num_classes: the length of a row; -1 for the largest index plus 1.

    Returns:
        An int64 tensor of one more dimension.

    Raises:
        RuntimeError: another dtype, an index outside, or no index and no ``num_classes``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.one_hot(nnkit.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    return ops.one_hot(tensor, num_classes)


def _renormalize(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        ops.embedding_renorm_(weight, input, max_norm, norm_type)


def _padding(name: str, padding_idx: int | None, weight: Tensor) -> int:
    """The padding row counted from the front; -1 for none."""
    if padding_idx is None:
        return -1
    count = weight.shape[0]
    if not -count <= padding_idx < count:
        found = f"for {count} rows, got {padding_idx}"
        if name == "embedding_bag":
            raise RuntimeError(
                f"{name}: padding_idx must be within the number of embeddings {found}"
            )
        raise AssertionError(f"{name}: Padding_idx must be within num_embeddings {found}")
    return padding_idx % count


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """``weight[input]``: a row of the table for each index.

    Args:
        input: indices of any shape, int32 or int64, from 0 to V - 1.
        weight: the table, (V, D).
        padding_idx: the row whose gradient stays 0.
        max_norm: scale the rows that are met down to this norm first, in place.
        norm_type: which norm.
        scale_grad_by_freq: divide each gradient by how often its index occurs.
        sparse: give the table a gradient of layout ``nnkit.sparse_coo``, which holds the rows that
            were read; see `nnkit.optim.SparseAdam`.

    Raises:
        IndexError: an index outside the table.
        AssertionError: ``padding_idx`` is outside the table.
        RuntimeError: ``weight`` is no matrix, or ``input`` holds no integers.

    Example:
        >>> import nnkit
        >>> table = nnkit.tensor([[0.0, 1.0], [2.0, 3.0]])
        >>> nnkit.nn.functional.embedding(nnkit.tensor([1, 0]), table)
        tensor([[2., 3.],
                [0., 1.]])
    """
    padding = _padding("embedding", padding_idx, weight)
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding, scale_grad_by_freq, sparse)


def _bags(input: Tensor, offsets: Any, include_last_offset: bool, whole: bool) -> tuple:
    """The flat indices, the bag of each, and the number of bags; with ``whole`` the last one ends
    with the input, whatever the last offset is. The bags follow each other."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "embedding_bag: if input is 2D, then offsets has to be None, as input is treated "
                f"as a mini-batch of fixed length sequences, got offsets of {list(offsets.shape)}"
            )
        ops.check_indices("embedding_bag", input, "input")
        count, length = input.shape
        if not length:
            raise RuntimeError(
                f"embedding_bag: step must be nonzero, got an input of shape {[count, length]}, "
                "whose bags have no indices"
            )
        numbers = arange(count, device=input.device).unsqueeze(1)
        return input.reshape(-1), numbers.expand(count, length).reshape(-1), count
    if offsets.ndim != 1:
        raise ValueError(f"embedding_bag: offsets has to be a 1D Tensor, got {offsets.ndim}D")
    ops.check_indices("embedding_bag", offsets, "offsets")
    starts = offsets.tolist()
    if include_last_offset and not starts:
        raise RuntimeError("embedding_bag: include_last_offset needs at least one offset")
    if starts and starts[0] != 0:
        raise RuntimeError(
            f"embedding_bag: offsets[0] has to be 0, i.e. the first sequence in the mini-batch has "
            f"to start from position 0, got {starts[0]}"
        )
    ends = starts[1:] if include_last_offset else [*starts[1:], len(input)][: len(starts)]
    if whole and ends:
        ends[-1] = len(input)
    if starts and max(starts) > len(input):
        raise RuntimeError(
            f"embedding_bag: offsets[-1] can not be greater than input's length {len(input)}, "
            f"got {max(starts)}"
        )
    lengths = [end - start for start, end in zip(starts, ends, strict=False)]
    numbers = arange(len(lengths), device=offsets.device)
    bags = numbers.repeat_interleave(offsets.new_tensor(lengths))
    return input.narrow(0, 0, bags.shape[0]), bags, len(lengths)


def _sums(
    weight: Tensor, index: Tensor, bags: Tensor, factors: Tensor | None, count: int
) -> Tensor | None:
    """The sums of bags, or None for an index outside the table, about which `_rows` says more."""
    try:
        return ops.bag_sum(weight, index, bags, factors, count)
    except IndexError:
        return None


def _rows(weight: Tensor, index: Tensor, padding: int, by_frequency: bool, sparse: bool) -> Tensor:
    try:
        return ops.embedding(weight, index, padding, by_frequency, sparse)
    except IndexError as error:  # torch's type, though `embedding` has the better one
        found = str(error).removeprefix("embedding(): ")
        raise RuntimeError(
            f"embedding_bag(): Expected idx >= 0 && idx < num_embeddings, but {found}"
        ) from None


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sum, mean or maximum of the rows of each bag of indices; an empty bag gives zeros.

    Args:
        input: indices, int32 or int64: (N, L) for N bags of L, or all of them in one row.
        weight: the table, (V, D).
        offsets: where each bag begins in a one-dimensional ``input``.
        max_norm: scale the rows that are met down to this norm first, in place.
        norm_type: which norm.
        scale_grad_by_freq: divide each gradient by how often its index occurs.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: give the table a gradient of layout ``nnkit.sparse_coo``, which holds the rows that
            were read; see `nnkit.optim.SparseAdam`.
        per_sample_weights: a factor for each index, of the shape of ``input``; only for sums.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: the index that is left out of the bags.

    Returns:
        A row for each bag, (N, D).

    Raises:
        ValueError: another ``mode``, or ``offsets`` of the wrong form.
        RuntimeError: an index outside the table, an ``input`` without integers, or offsets outside
            of it.
        NotImplementedError: ``per_sample_weights`` for another mode than ``"sum"``.

    Example:
        >>> import nnkit
        >>> table = nnkit.tensor([[0.0, 1.0], [2.0, 3.0]])
        >>> index, offsets = nnkit.tensor([0, 1, 1]), nnkit.tensor([0, 2])
        >>> nnkit.nn.functional.embedding_bag(index, table, offsets, mode="sum")
        tensor([[2., 4.],
                [2., 3.]])
    """
    if input.is_floating_point() and weight.dtype is int64:
        warn("embedding_bag: the table before the indices is deprecated: use "
            "embedding_bag(input, weight, ...)")  # fmt: skip
        input, weight = weight, input
    if input.ndim not in (1, 2):
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    factors = per_sample_weights
    if factors is not None and factors.shape != input.shape:
        raise ValueError(
            f"embedding_bag: per_sample_weights {list(factors.shape)} must have the same shape as "
            f"the input {list(input.shape)}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode has to be one of sum, mean or max, got {mode!r}")
    if mode == "max" and (scale_grad_by_freq or sparse):
        what = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"embedding_bag: max mode does not support {what}")
    if factors is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights is only supported for mode='sum', got {mode!r}"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 1 and offsets is None:
        raise ValueError("embedding_bag: offsets has to be a 1D Tensor but got None")
    if weight.dtype.category != FLOATING:
        raise RuntimeError(f"embedding_bag: weight must be floating point, got {weight.dtype}")
    if offsets is not None and offsets.ndim == 1 and offsets.dtype is not input.dtype:
        common = promote_types(input.dtype, offsets.dtype)
        input, offsets = input.to(common), offsets.to(common)
    if input.ndim == 1:
        ops.check_indices("embedding_bag", input, "input")
    if factors is not None and factors.dtype is not weight.dtype:
        raise RuntimeError(
            f"embedding_bag: expected per_sample_weights to have the same type as weight, "
            f"{weight.dtype}, got {factors.dtype}"
        )
    padding = _padding("embedding_bag", padding_idx, weight)
    # The last offset counts only where torch sums rows without looking at each.
    looks = mode == "max" or padding >= 0 or weight.dtype is float64 or weight.stride(1) != 1
    index, bags, count = _bags(input, offsets, include_last_offset, looks)
    left_out = len(input) - len(index) if input.ndim == 1 else 0  # though not in torch's means
    factors = None if factors is None else factors.reshape(-1).narrow(0, 0, index.shape[0])
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    counted = left_out if padding < 0 else 0
    length = input.shape[1] if input.ndim == 2 and padding < 0 else None
    pool = _pooled.__wrapped__ if sparse else _pooled  # one node for all would add up the rows
    return pool(
        weight, factors, index, bags, count, counted, length, padding, mode, scale_grad_by_freq,
        sparse,
    )  # fmt: skip


@single(name="embedding_bag", node="EmbeddingBagBackward0")
def _pooled(
    weight: Tensor, factors: Tensor | None, index: Tensor, bags: Tensor, count: int, counted: int,
    length: int | None, padding: int, mode: str, scale_grad_by_freq: bool, sparse: bool,
) -> Tensor:  # fmt: skip
    """The sum, mean or maximum of each of ``count`` bags, the last one of which has ``counted``
    indices more than there are; of ``length`` indices each, unless that is None."""
    held = count
    pooled = None
    if mode != "max" and padding < 0 and not (scale_grad_by_freq or sparse or weight._device.depth):
        pooled = _sums(weight, index, bags, factors, count)
    if pooled is None:
        if padding >= 0:  # what is padded goes into one bag more
            held, bags = count + 1, bags.masked_fill(index == padding, count)
            if mode == "max":  # whose rows of a bag follow each other
                order = bags.argsort(stable=True)
                index, bags = index[order], bags[order]
        rows = _rows(weight, index, padding, scale_grad_by_freq, sparse)
        if factors is not None:
            rows = rows * factors.unsqueeze(1)
        if mode == "max":
            pooled = ops.bag_max(rows, bags, held)[0]
        else:
            pooled = OPS["index_select_adjoint"](rows, bags, 0, (held, weight.shape[1]))
    if padding >= 0:
        pooled = on_its_own(pooled[:count])
    if mode != "mean":
        return pooled
    if length is not None:
        return pooled / max(length, 1)
    sizes = bags.bincount(minlength=held)[:count]
    if counted:
        sizes[-1:] += counted
    return pooled / sizes.clamp(min=1).to(weight.dtype).unsqueeze(1)
