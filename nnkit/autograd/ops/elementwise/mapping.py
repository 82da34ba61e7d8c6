"""Python functions called for every element: slow, for what no op does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, expanded_shape
from nnkit.autograd.op.public import public
from nnkit.autograd.tensor import Tensor


@public(namespace=False)
def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by ``callable(element)``; returns the tensor.

    Raises:
        RuntimeError: it requires grad.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1.0, 2.0]).apply_(lambda value: value + 1)
        tensor([2., 3.])
    """
    _check_constant("apply_", input)
    return _map(callable, input)


@public(namespace=False)
def map_(input: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by ``callable(element, element of other)``; returns the tensor.

    Args:
        other: a tensor of the same dtype that can be expanded to the shape of ``input``.

    Raises:
        RuntimeError: it requires grad, or the shapes do not fit.
        TypeError: ``other`` is no Tensor, or of another dtype.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 5]).map_(nnkit.tensor([3]), max)
        tensor([3, 5])
    """
    return _map(callable, input, _beside("map_", input, other, "other"))


@public(namespace=False)
def map2_(input: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by ``callable(element, element of x, element of y)``; returns the
    tensor.

    Args:
        x, y: tensors of the same dtype that can be expanded to the shape of ``input``.

    Raises:
        RuntimeError: one requires grad, or the shapes do not fit.
        TypeError: ``x`` or ``y`` is no Tensor, or of another dtype.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1, 5])
        >>> x.map2_(nnkit.tensor([3]), nnkit.tensor([4]), max)
        tensor([4, 5])
    """
    others = [_beside("map2_", input, other, name) for name, other in (("x", x), ("y", y))]
    return _map(callable, input, *others)


def _beside(name: str, input: Tensor, other: Tensor, argument: str) -> Tensor:
    check_tensor(name, other, argument)
    _check_constant(name, input, other)
    if other.dtype is not input.dtype:
        raise TypeError(f"{name}(): expected {input.dtype} for '{argument}', got {other.dtype}")
    expanded_shape(name, other._array.shape, input._array.shape)
    return other.clone().expand(input.shape)  # its memory may have been replaced


def _check_constant(name: str, *tensors: Tensor) -> None:
    if any(each.requires_grad for each in tensors):
        raise RuntimeError(
            f"{name}(): cannot be called on a tensor that requires grad, use x.detach().{name}()"
        )


def _map(function: Callable, target: Tensor, *others: Tensor) -> Tensor:
    B = target._device.backend
    columns = [each.clone().reshape(-1).tolist() for each in (target, *others)]
    results = [function(*row) for row in zip(*columns)]
    if any(each is None for each in results):
        raise TypeError("expected the function to return a number, got None")
    try:
        values = B.array(results, target._array.dtype)
    except OverflowError as error:
        raise ValueError(f"a value does not fit {target.dtype}: {error}") from None
    except ValueError as error:
        raise TypeError(f"expected the function to return a number: {error}") from None
    B.copy_(target._array, B.reshape(values, target._array.shape))  # torch counts no write either
    return target
