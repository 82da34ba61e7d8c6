"""torch.masked: helpers of its functions, for programs that compare with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.masked import _canonical_dim, _mask_of
from nnkit.masked_sparse import filled

_TOTALS = {"sum": 0, "cumsum": 0, "prod": 1, "cumprod": 1}
_HIGHEST, _LOWEST = ("amax", "argmax", "logaddexp", "logsumexp"), ("amin", "argmin")
_REDUCTIONS = (
    "sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std",
    "logsumexp",
)  # fmt: skip
_ALONG = ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod")


def _input_mask(input: Tensor, *args: Any, mask: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The mask in the shape of the input, as booleans.

    Raises:
        ValueError: no mask is given.
    """
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    return _mask_of(input, mask)


def _output_mask(op: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Where the result of a function of `nnkit.masked` is made of anything that counts.

    Raises:
        ValueError: ``op`` is none of those functions.
    """
    name = getattr(op, "__name__", type(op).__name__)
    if name not in _REDUCTIONS + _ALONG:
        raise ValueError(f"_output_mask expected masked operation, got {name}")
    mask = _input_mask(input, **kwargs)
    if name in _ALONG:
        return mask
    args = args[1:] if name == "norm" else args  # of which the first is the order
    keepdim = bool(kwargs.get("keepdim"))
    for dim in reversed(_canonical_dim(args[0] if args else kwargs.get("dim"), input.ndim)):
        mask = mask.any(dim, keepdim)
    return mask


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """The number that changes nothing in a reduction; None if there is none.

    Raises:
        NotImplementedError: the dtype has none, or there is no such reduction.
    """
    name, dtype = op_name.rpartition(".")[2], input.dtype
    floating = input.is_floating_point()
    if name in ("mean", "var", "std"):
        return None
    if name in _TOTALS:
        number: Any = _TOTALS[name]
    elif name in _HIGHEST + _LOWEST and (floating or (name == "logsumexp" and dtype.is_complex)):
        number = math.inf if name in _LOWEST else -math.inf
    elif name in _HIGHEST + _LOWEST and not dtype.is_complex and dtype is not nnkit.bool:
        limits = nnkit.iinfo(dtype)
        number = limits.max if name in _LOWEST else limits.min
    elif name == "norm":
        number = math.inf if args and args[0] == -math.inf else 0
    elif name == "median":
        number, dtype = math.nan, dtype if floating else nnkit.float32
    else:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    return nnkit.tensor(number, dtype=dtype, device=input.device)


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """The input where the mask is true, else ``fill_value``; of sparse ones just what is true."""
    if mask.layout is nnkit.strided:
        return nnkit.where(mask, input, fill_value)
    return filled(input, mask, fill_value)


def _combine_input_and_mask(op: Callable, input: Tensor, mask: Tensor | None, *args: Any) -> Tensor:
    """The input with the identity of the reduction ``op`` where it is masked out."""
    if mask is None:
        return input
    identity: Any = _reduction_identity(op.__name__, input, *args)
    return _where(_mask_of(input, mask), input, identity)
