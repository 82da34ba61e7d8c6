"""torch.autograd.functional: helpers for the tuples of its arguments and results."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd.functional import _finished as _grad_postprocess
from nnkit.autograd.functional import _tuple

__all__ = ["_as_tuple", "_construct_standard_basis_for", "_grad_postprocess", "_tuple_postprocess"]


def _as_tuple(
    inp: Any, arg_name: str | None = None, fn_name: str | None = None
) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether the argument is a tuple, and it or the tuple of it alone."""
    return _tuple(inp, arg_name or "inputs", fn_name or "function")


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """A result as a tuple if the argument was one, else the tuple's only element."""
    if not isinstance(to_unpack, tuple):
        return res if to_unpack else res[0]
    outputs, inputs = to_unpack
    inner = res if inputs else tuple([each[0] for each in res])
    return inner if outputs else inner[0]


def _construct_standard_basis_for(
    tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]
) -> tuple[Tensor, ...]:
    """The columns of an identity matrix, split into a matrix for each tensor."""
    total = sum(tensor_numels)
    parts, start = [], 0
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        whole = nnkit.eye(total, dtype=tensor.dtype, device=tensor.device)
        parts.append(whole[:, start : start + count])
        start += count
    return tuple(parts)
