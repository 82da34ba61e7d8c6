"""Linear and bilinear maps: rows times a weight matrix, in one node."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.arguments.casting import CASTING
from nnkit.autograd.arguments.dims import broadcasts, check_tensor, size_at
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import real_gradient, rule
from nnkit.autograd.ops.linalg.contraction import einsum
from nnkit.autograd.ops.linalg.products import (
    check_ndim,
    check_operands,
    grad_mm_x,
    matmul,
    rows,
    sizes,
    viewed,
)
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.backend.memory import by_rows


def _grad_linear_bias(B: Any, g: Any) -> Any:
    axes = tuple(range(len(g.shape) - 1))
    return B.sum(g, axes, False) if axes else g


def _grad_linear_x(B: Any, g: Any, weight: Any, x_columns: bool) -> Any:
    if x_columns and len(g.shape) == 2:
        return grad_mm_x(B, g, B.mT(weight), True)
    return B.linear(g, B.mH(weight), None)


def _grad_linear_weight(B: Any, g: Any, x: Any, weight_columns: bool) -> Any:
    if weight_columns:  # in torch the product is one with its transpose, which lies by rows
        return B.mT(B.mm(B.mH(rows(B, x)), rows(B, g)))
    return B.linear_grad_weight(g, x)


def _viewed(x: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[str, ...]:
    """``apart`` of `linear`: the inputs that torch makes a view of."""
    return ("weight",) if x._array.ndim > 1 else ("x", "weight")


def _name_of_linear(operands: Any, statics: Any) -> str:
    """The node of `linear` of other than a matrix, or without bias: torch's product of matrices has
    been given the dimensions of the input."""
    x, _, bias = operands
    if bias is None:
        names = {1: "SqueezeBackward4", 2: "MmBackward0"}
        return names.get(x.ndim, "UnsafeViewBackward0")
    return "ViewBackward0" if x.ndim != 2 else "AddmmBackward0"


_linear_of_any, _linear = (
    rule(
        "linear", node=node, apart=_viewed, order=("bias", "x", "weight"),
        x=_grad_linear_x, weight=_grad_linear_weight, bias=_grad_linear_bias,
    )
    for node in (_name_of_linear, "AddmmBackward0")
)  # fmt: skip


def _multiplies(operands: tuple) -> bool:
    """Whether `inner` multiplies with a number; else it adds up products."""
    return not all(t.ndim for t in operands)


def _dtype_of_out(out: Tensor, result: Tensor, operands: tuple) -> str:
    return "castable" if _multiplies(operands) else "same"


@public(out=Out(dtype=_dtype_of_out, history="copied", checks_first=_multiplies))
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products along the last dimensions; with a 0-dim operand, the product.

    Example:
        >>> import nnkit
        >>> nnkit.inner(nnkit.tensor([1, 2]), nnkit.tensor([3, 4]))
        tensor(11)
    """
    check_tensor("inner", input)
    check_tensor("inner", other, "other")
    if not input.ndim or not other.ndim:
        return input * other
    x, y = check_operands("inner", ("input", input), ("other", other))
    if x.shape[-1] != y.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(x.shape)} and {list(y.shape)}"
        )
    weight = other.reshape(math.prod(y.shape[:-1]), y.shape[-1])
    multiply = linear if x.ndim + y.ndim > 2 and (CASTING.enabled or not by_rows(x)) else _linear
    return multiply(viewed(input), weight, None).reshape(x.shape[:-1] + y.shape[:-1])


@public(namespace=False, method=False, out=Out(dtype="same"))
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Args:
        input: (*, in_features).
        weight: (out_features, in_features), or (in_features).
        bias: (out_features), or None.

    Returns:
        (*, out_features), or (*) where ``weight`` is a vector.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    Example:
        >>> import nnkit
        >>> x, weight = nnkit.tensor([[1.0, 2.0]]), nnkit.tensor([[3.0, 4.0], [0.0, 1.0]])
        >>> nnkit.nn.functional.linear(x, weight, nnkit.tensor([10.0, 20.0]))
        tensor([[21., 22.]])
    """
    try:
        x, w = input._array, weight._array
        dtype, shape = x.dtype, w.shape
        fits = w.ndim == 2 and x.shape[-1] == shape[1] and w.dtype is dtype
        if fits and bias is not None:
            added = bias._array
            fits = added.dtype is dtype and added.shape == shape[:1]
    except (AttributeError, IndexError):
        fits = False
    if not fits:
        return _unusual_linear(input, weight, bias)
    if x.ndim > 2 and MODE.enabled and (not by_rows(x) or input.is_inference()):
        # Torch makes one matrix of the input, which may be a copy: so the input may be written.
        out = _linear(input.reshape(-1, shape[1]), weight, bias)
        return on_its_own(out.reshape(*x.shape[:-1], shape[0]))
    if x.ndim == 2 and bias is not None:
        return _linear(input, weight, bias)
    return _linear_of_any(input, weight, bias)


def _is_added_later(input: Any, bias: Any) -> bool:
    """Whether torch adds a bias of another dtype in place, as it does where the rows of a batch
    are no matrix in memory."""
    return (
        isinstance(input, Tensor)
        and isinstance(bias, Tensor)
        and input.dtype != bias.dtype
        and input.ndim > 2
        and not input.is_contiguous()
    )


def _unusual_linear(input: Any, weight: Any, bias: Any) -> Tensor:
    """`linear` with a weight that is a vector or a bias that broadcasts; says what does not fit."""
    operands = [("input", input), ("weight", weight)]
    check_tensor("linear", weight, "weight")
    if weight.ndim == 2 and _is_added_later(input, bias):
        return linear(input, weight).add_(bias)
    row = weight.ndim == 1 or getattr(input, "ndim", 0) != 2  # else it is a product of matrices
    if bias is not None and not (row and isinstance(bias, Tensor) and not bias.ndim):
        operands.append(("bias", bias))
    x, w, *rest = check_operands("linear", *operands)
    if not (x.ndim and w.ndim):
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {w.ndim}D"
        )
    if w.ndim == 1:
        if rest and rest[0].ndim:
            raise RuntimeError(
                f"linear(): weight of shape {list(w.shape)} takes a bias without dimensions, got "
                f"{list(rest[0].shape)}"
            )
        product = matmul(input, weight)
        return product if bias is None else product + bias
    check_ndim("linear", "weight", w.shape, 2)
    if x.shape[-1] != w.shape[1]:
        raise RuntimeError(
            f"linear(): mat1 and mat2 shapes cannot be multiplied ({sizes(x.shape)} and "
            f"{w.shape[1]}x{w.shape[0]})"
        )
    if rest and not _is_added(rest[0].shape, (*x.shape[:-1], w.shape[0]), by_rows(x)):
        raise RuntimeError(
            f"linear(): argument 'bias' must have shape [{w.shape[0]}] for out_features, "
            f"got {list(rest[0].shape)}"
        )
    product = _linear_of_any(input, weight, None)
    if bias is None:
        return product
    out = product + bias
    return out if out.ndim == product.ndim else out.squeeze(0)


def _is_added(bias: tuple, shape: tuple, by_rows: bool) -> bool:
    """Whether torch adds a bias to a result of ``shape``. It takes for one of features what has one
    dimension but for those of size 1, and makes one matrix of rows that lie behind each other."""
    if len(shape) == 1:
        return bias in ((1,), (), (1, *shape))
    features = sum(n != 1 for n in bias) == 1
    if len(shape) > 2 and len(bias) > 1 and features and by_rows:
        return len(bias) == 2 and broadcasts(bias, (math.prod(shape[:-1]), shape[-1]))
    return broadcasts(bias, shape)


@public(method=False)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k.

    Args:
        input1: (*, in1_features).
        input2: (*, in2_features).
        weight: (out_features, in1_features, in2_features).
        bias: (out_features), or None.

    Returns:
        (*, out_features).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    Example:
        >>> import nnkit
        >>> nnkit.bilinear(nnkit.ones(1, 2), nnkit.ones(1, 3), nnkit.ones(4, 2, 3)).shape
        nnkit.Size([1, 4])
    """
    x, y, w = check_operands("bilinear", ("input1", input1), ("input2", input2), ("weight", weight))
    if x.ndim != y.ndim:
        raise RuntimeError(
            f"bilinear(): inputs must have as many dimensions, got {x.ndim} and {y.ndim}"
        )
    if x.shape[:-1] != y.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): inputs of shapes {list(x.shape)} and {list(y.shape)} do not fit together"
        )
    for position, value in enumerate((input1, input2)):
        size = size_at("bilinear", value, -1, f"input{position + 1}")
        if size != size_at("bilinear", weight, position + 1, "weight"):
            raise RuntimeError(
                f"bilinear(): input{position + 1} of shape {list(value.shape)} does not fit a "
                f"weight of shape {list(weight.shape)}"
            )
    check_ndim("bilinear", "weight", w.shape, 3)
    if bias is not None and bias.dtype is not input1.dtype:
        raise RuntimeError(
            f"bilinear(): bias must have the inputs' dtype {input1.dtype}, got {bias.dtype}"
        )
    if bias is not None and (bias.ndim != 1 or bias._array.shape[0] != w.shape[0]):
        raise RuntimeError(
            f"bilinear(): bias of shape {list(bias.shape)} does not fit {w.shape[0]} outputs"
        )
    out = real_gradient("bilinear", einsum("...i,oij,...j->...o", input1, weight, input2))
    return out if bias is None else out + bias
