"""`rearrange`: dimensions that are named, split, moved and joined."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.shape.joining import stack

_REST = "…"  # the dimensions that ``...`` stands for, and the group of it outside parentheses
_TOKEN = re.compile(rf"\s*({_REST}|\(|\)|\w+|.)")


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor whose dimensions are those that a pattern says.

    Args:
        tensor: a tensor, or a sequence of some, which are stacked first.
        pattern: names of all dimensions before and after, as in ``"b (h k) c -> b h (k c)"``. Names
            in parentheses make one dimension; ``...`` stands for any others; 1 and ``()`` are
            dimensions of one element.
        axes_lengths: sizes of names, of which in parentheses all but one are needed.

    Raises:
        ValueError: the pattern is none, or does not fit the tensor or the sizes.
        TypeError: a size is no int.

    Example:
        >>> import nnkit
        >>> image = nnkit.arange(4.0).view(1, 2, 2)
        >>> nnkit.func.rearrange(image, "c h w -> w (h c)")
        tensor([[0., 2.],
                [1., 3.]])
        >>> nnkit.func.rearrange(image, "c (h k) w -> (k c h w)", k=2)
        tensor([0., 1., 2., 3.])
    """
    x: Tensor = stack(list(tensor)) if isinstance(tensor, (tuple, list)) else tensor  # type: ignore
    left, right = _sides(pattern)
    _check_names(pattern, left, right, axes_lengths)
    shape = tuple(x.shape)
    before, rest = _with_rest(left, len(shape))
    after = [group for given in right for group in _spread(given, rest)]
    sizes = _sizes(before, shape, dict(axes_lengths))
    named = [name for group in before for name in group]
    order = [named.index(name) for group in after for name in group]
    apart = x.reshape([sizes[name] for name in named]).permute(order)
    return apart.reshape([math.prod(sizes[name] for name in group) for group in after])


def _sides(pattern: str) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    sides = pattern.replace("...", _REST).split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange: expected a pattern with one '->', got {pattern!r}")
    return _groups(sides[0]), _groups(sides[1])


def _groups(side: str) -> list[Sequence[str]]:
    """The dimensions of one side of a pattern, each as the names that make it."""
    groups: list[Any] = []
    inside = False
    for token in _TOKEN.findall(side.strip()):
        if token in "()":
            if inside == (token == "("):
                raise ValueError(f"rearrange: parentheses do not match or are nested in {side!r}")
            inside = token == "("
            groups += [[]] if inside else []
        elif token == "1":
            groups += [] if inside else [[]]
        elif token != _REST and not _is_name(token):
            raise ValueError(f"rearrange: {token!r} is not a name of a dimension, in {side!r}")
        elif inside:
            groups[-1].append(token)
        else:
            groups.append(token if token == _REST else [token])
    names = [name for group in groups for name in group]
    if inside or len(set(names)) < len(names):
        raise ValueError(f"rearrange: an open parenthesis or a repeated name in {side!r}")
    return groups


def _is_name(token: str) -> bool:
    return token.isidentifier() and token[0] != "_" and token[-1] != "_"


def _check_names(pattern: str, before: list, after: list, lengths: dict[str, Any]) -> None:
    left, right = ({name for group in side for name in group} for side in (before, after))
    if left != right:
        names = sorted(left ^ right)
        raise ValueError(f"rearrange: {names} occur on one side of {pattern!r} only")
    if any(_REST in group and group != _REST for group in before):
        raise ValueError(f"rearrange: '...' is in parentheses on the left of {pattern!r}")
    for name, length in lengths.items():
        if name not in left:
            raise ValueError(f"rearrange: {name!r} does not occur in {pattern!r}")
        if not isinstance(length, int):
            raise TypeError(f"rearrange: {name} must be an int, got {type(length).__name__}")


def _with_rest(before: list[Sequence[str]], ndim: int) -> tuple[list[list[str]], list[str]]:
    """The dimensions of a tensor with what ``...`` stands for, and the latter."""
    has_rest = _REST in before
    more = ndim - (len(before) - has_rest)
    if more < 0 or (more and not has_rest):
        raise ValueError(f"rearrange: the pattern has {len(before)} dimensions, the tensor {ndim}")
    rest = [f"{_REST}{i}" for i in range(more)]
    return [each for group in before for each in _spread(group, rest)], rest


def _spread(group: Sequence[str], rest: list[str]) -> list[list[str]]:
    if group == _REST:
        return [[name] for name in rest]
    return [[each for name in group for each in (rest if name == _REST else [name])]]


def _sizes(before: list[list[str]], shape: tuple, known: dict[str, int]) -> dict[str, int]:
    """The size of each name."""
    for group, size in zip(before, shape):
        unknown = [name for name in group if name not in known]
        product = math.prod(known[name] for name in group if name in known)
        if len(unknown) > 1:
            raise ValueError(f"rearrange: the sizes of {unknown} cannot be told from {size}")
        if unknown:
            known[unknown[0]] = size // product if product else 0
        if math.prod(known[name] for name in group) != size:
            raise ValueError(f"rearrange: {group} with sizes {known} do not make {size}")
    return known
