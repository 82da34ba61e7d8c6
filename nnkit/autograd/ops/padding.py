"""Padding: with a constant, or with the tensor's own elements."""

from __future__ import annotations

import functools
import operator
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.arguments.sizes import check_integers, check_shape
from nnkit.autograd.arguments.spatial import gradient_in_format, in_format_of
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import rule
from nnkit.autograd.surface.limits import fitting
from nnkit.autograd.tensor import Tensor

Widths = tuple[tuple[int, int], ...]

_adjoint = lambda B, g, widths, mode: B.pad_mode_adjoint(g, widths, mode)
_NAMES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}


def _name(operands: Any, statics: Any) -> str:
    """torch has a function for each number of axes behind the channels."""
    widths, mode = statics
    if mode == "circular":
        return "CopySlices"
    return f"{_NAMES[mode]}{len(widths) - (1 if any(widths[1]) else 2) or 1}DBackward0"


_circular = rule("pad_mode", node="CopySlices", x=_adjoint)
_pad_mode = rule(
    "pad_mode", node=_name, depends="backward", also={"x": ("x",)},
    x=lambda B, g, x, widths, mode: gradient_in_format(B, _adjoint(B, g, widths, mode), x),
)  # fmt: skip
rule("pad_mode_adjoint", g=lambda B, g_out, widths, mode: B.pad_mode(g_out, widths, mode))


def _widths(name: str, pad: Any, ndim: int) -> Widths:
    """(before, after) for each axis, first axis first, from torch's flat list, last axis first."""
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"{name}(): argument 'pad' must be tuple of ints, not {type(pad).__name__}")
    if pad and isinstance(pad[0], bool):  # torch's parser looks at the first alone
        raise TypeError(
            f"{name}(): argument 'pad' must be tuple of ints, but found element of type bool "
            "at pos 0"
        )
    try:
        numbers = [operator.index(n) for n in pad]
    except TypeError:
        raise TypeError(f"{name}(): argument 'pad' must be tuple of ints, got {pad!r}") from None
    check_integers(name, "pad", numbers)
    if len(numbers) % 2 or len(numbers) > 2 * ndim:
        raise RuntimeError(
            f"{name}(): Padding length must be divisible by 2 and less than or equal to two times "
            f"the input dimension {ndim}, but got {numbers}"
        )
    pairs = list(zip(numbers[::2], numbers[1::2]))
    return ((0, 0),) * (ndim - len(pairs)) + tuple(reversed(pairs))


@functools.lru_cache(maxsize=512)
def _check_sizes(name: str, shape: tuple[int, ...], widths: Widths, mode: str) -> None:
    size = [n + before + after for n, (before, after) in zip(shape, widths)]
    kept = [n + min(before, 0) + min(after, 0) for n, (before, after) in zip(shape, widths)]
    if mode in ("constant", "circular"):  # their pieces are cut out first
        wrong = min(kept, default=0) < 0
    else:
        wrong = any(n < 1 and any(pair) for n, pair in zip(size, widths))
    if wrong:
        raise RuntimeError(
            f"{name}(): argument 'pad' cuts off too much: {list(shape)} would become {size}"
        )
    more = (n + max(before, 0) + max(after, 0) for n, (before, after) in zip(shape, widths))
    check_shape(name, tuple(more))


@public(method=False)
def constant_pad_nd(input: Tensor, pad: Any, value: complex = 0) -> Tensor:
    """``input`` with ``value`` around it; see `nnkit.nn.functional.pad`.

    Args:
        pad: (before, after) of the last dimension, then of the one before it, and so on; a
            negative number cuts off.

    Example:
        >>> import nnkit
        >>> nnkit.constant_pad_nd(nnkit.tensor([1.0, 2.0]), (1, -1), 9)
        tensor([9., 1.])
    """
    check_tensor("constant_pad_nd", input)
    value = fitting("constant_pad_nd", value, input.dtype)
    widths = _widths("constant_pad_nd", pad, input.ndim)
    _check_sizes("constant_pad_nd", input._array.shape, widths, "constant")
    return in_format_of(input, OPS["pad"](input, widths, value))


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """``input`` with more elements, or fewer, at the ends of its last dimensions.

    Args:
        pad: (before, after) of the last dimension, then of the one before it, and so on; a
            negative number cuts off.
        mode: "constant" puts ``value`` there. The others pad the last one, two or three
            dimensions of an input with one or two more: "reflect" mirrors at the edge (which is
            not repeated), "replicate" repeats the edge, "circular" goes on at the other end.
        value: what "constant" puts there, 0 by default.

    Raises:
        TypeError: ``pad`` is no sequence of ints.
        RuntimeError: its length is odd or too large, the input is too small for the mode, or
            ``value`` is given for another mode.
        NotImplementedError: an unknown mode, or a number of dimensions that it does not pad.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[1.0, 2.0, 3.0]])
        >>> nnkit.nn.functional.pad(x, (2, 1), mode="reflect")
        tensor([[3., 2., 1., 2., 3., 2.]])
    """
    check_tensor("pad", input)
    if not isinstance(mode, str):
        raise TypeError(f"pad(): argument 'mode' must be str, not {type(mode).__name__}")
    widths = _widths("pad", pad, input.ndim)
    if mode == "constant":
        _check_sizes("pad", input._array.shape, widths, mode)
        value = fitting("pad", 0 if value is None else value, input.dtype)
        return in_format_of(input, OPS["pad"](input, widths, value))
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(
            "pad(): argument 'mode' must be 'constant', 'reflect', 'replicate' or 'circular', "
            f"got {mode!r}"
        )
    if value:
        raise RuntimeError(f"pad(): mode={mode!r} takes no argument 'value', got {value}")
    axes = len(pad) // 2
    if not (1 <= axes <= 3 and input.ndim in (axes + 1, axes + 2)):
        raise NotImplementedError(
            f"pad(): Padding size {len(pad)} is not supported for {input.ndim}D input tensor: "
            f"mode={mode!r} pads the last k = 1, 2 or 3 dimensions of k + 1 or k + 2"
        )
    if mode != "circular" and 0 in input._array.shape[-axes - 1 :]:
        raise RuntimeError(
            f"pad(): Expected {axes + 1}D or {axes + 2}D (batch mode) tensor with possibly 0 batch "
            f"size and other non-zero dimensions for input, but got: {list(input.shape)}"
        )
    _check_sizes("pad", input._array.shape, widths, mode)
    if mode != "circular":
        check_dtype("pad", input.dtype, ("bool",))
    out = _pad_with_itself(input, widths, mode)
    return out if mode == "circular" else in_format_of(input, out)


def _within_edge(n: int, before: int, after: int) -> tuple[int, int]:
    """The same padding where one side cuts off more than all elements, and so some of what the
    other side adds."""
    left = n + before + after
    if after < -n:
        return left, -n
    return (-n, left) if before < -n else (before, after)


_TOO_WIDE = {
    "reflect": "Padding size should be less than the corresponding input dimension",
    "circular": "Padding value causes wrapping around more than once",
}


@functools.lru_cache(maxsize=512)
def _divided(shape: tuple[int, ...], widths: Widths, mode: str) -> tuple[Widths, Widths, bool]:
    """Widths of which some cut off as those that do and those that pad; and whether any cuts off.

    Raises:
        RuntimeError: there is not as much to repeat.
    """
    if mode == "replicate":
        widths = tuple(_within_edge(n, *pair) for n, pair in zip(shape, widths))
    cut = tuple((min(before, 0), min(after, 0)) for before, after in widths)
    more = tuple((max(before, 0), max(after, 0)) for before, after in widths)
    if mode == "circular":
        shape = tuple(n + sum(pair) for n, pair in zip(shape, cut))
    for n, pair in zip(shape, more):
        if any(pair) and (n == 0 or (mode != "replicate" and max(pair) > n - (mode == "reflect"))):
            reason = _TOO_WIDE.get(mode, "there is no edge to repeat")
            raise RuntimeError(f"pad(): {reason}, but got: padding {pair} for size {n}")
    return cut, more, any(map(any, cut))


def _pad_with_itself(input: Tensor, widths: Widths, mode: str) -> Tensor:
    cut, more, cuts = _divided(input._array.shape, widths, mode)
    if mode == "circular":  # a circle is closed where it was cut
        return _circular(OPS["pad"](input, cut, 0) if cuts else input, more, mode)
    x = _pad_mode(input, more, mode)  # a reflection goes on behind what is cut off
    return OPS["pad"](x, cut, 0) if cuts else x
