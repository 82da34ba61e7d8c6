"""Softmax as functions."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.autograd.ops import softmax as ops
from nnkit.backend.dtype import dtype as dtype_type
from nnkit.backend.warning import warn

__all__ = ["log_softmax", "softmax", "softmin"]


def implicit_dim(name: str, ndim: int) -> int:
    """The dimension that PyTorch takes where none is given, with its warning."""
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: object = 3, dtype: dtype_type | None = None
) -> Tensor:
    """``exp(input) / sum(exp(input), dim)``: positive numbers that add up to 1 along ``dim``.

    Arguments and errors are those of `nnkit.softmax`; to leave ``dim`` out is deprecated.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.softmax(nnkit.tensor([[0.0, 0.0], [1.0, 1.0]]), dim=1)
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """
    if dim is None:
        dim = implicit_dim("softmax", input.ndim)
    return ops.softmax(input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: object = 3, dtype: dtype_type | None = None
) -> Tensor:
    """``softmax(-input, dim)``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.softmin(nnkit.tensor([1.0, 1.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = implicit_dim("softmin", input.ndim)
    return ops.softmax(-input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: object = 3, dtype: dtype_type | None = None
) -> Tensor:
    """``log(softmax(input, dim))``, computed without overflow or a logarithm of 0.

    Arguments and errors are those of `nnkit.log_softmax`; to leave ``dim`` out is deprecated.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.log_softmax(nnkit.tensor([0.0, 1000.0]), dim=0)
        tensor([-1000.,     0.])
    """
    if dim is None:
        dim = implicit_dim("log_softmax", input.ndim)
    return ops.log_softmax(input, dim, dtype)
