"""Softmax and its logarithm."""

from __future__ import annotations

from nnkit.autograd.arguments.dims import check_tensor, normalize_dim
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import real_gradient, rule
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import dtype as dtype_type

_softmax = rule("softmax", x=lambda B, g, out, axis: B.softmax_grad(g, out, axis))
_log_softmax = rule("log_softmax", x=lambda B, g, out, axis: B.log_softmax_grad(g, out, axis))


def _prepare(name: str, input: Tensor, dim: int, dtype: dtype_type | None) -> tuple[Tensor, int]:
    check_tensor(name, input)
    axis = normalize_dim(dim, input._array.ndim, name)
    if dtype is not None:
        input = converted(input, dtype)
    return input, axis


@public(out=Out(dtype="same", history="ended"))
def softmax(input: Tensor, dim: int, dtype: dtype_type | None = None) -> Tensor:
    """``exp(input) / sum(exp(input), dim)``: positive numbers that add up to 1 along ``dim``.

    Args:
        input: of any shape, floating point.
        dim: the dimension that is normalized.
        dtype: convert ``input`` to it first.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        IndexError: ``dim`` is out of range.

    Example:
        >>> import nnkit
        >>> nnkit.softmax(nnkit.tensor([0.0, 0.0, 0.0, 0.0]), 0)
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return real_gradient("softmax", _softmax(*_prepare("softmax", input, dim, dtype)))


@public(out=Out(dtype="same", history="ended"))
def log_softmax(input: Tensor, dim: int, dtype: dtype_type | None = None) -> Tensor:
    """``log(softmax(input, dim))``, computed without overflow or a logarithm of 0.

    Args:
        input: of any shape, floating point.
        dim: the dimension that is normalized.
        dtype: convert ``input`` to it first.

    Raises:
        NotImplementedError: ``input`` is not floating point.
        IndexError: ``dim`` is out of range.

    Example:
        >>> import nnkit
        >>> nnkit.log_softmax(nnkit.tensor([0.0, 1000.0]), 0)
        tensor([-1000.,     0.])
    """
    return real_gradient("log_softmax", _log_softmax(*_prepare("log_softmax", input, dim, dtype)))
