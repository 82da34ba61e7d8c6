"""Composite products: those that are one product of matrices in other words, Einstein sums,
contractions, Kronecker and cross products."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

Labels = tuple[Any, ...]  # letters, or for the dimensions of an ellipsis -1, -2, ... from the right


def mm(B: Any, x: Any, y: Any) -> Any:
    return B.matmul(x, y)


bmm = mv = mm


def dot(B: Any, x: Any, y: Any) -> Any:
    return B.reshape(B.matmul(B.reshape(x, (1, -1)), B.reshape(y, (-1, 1))), ())


def vdot(B: Any, x: Any, y: Any) -> Any:
    return B.dot(B.conj(x), y)


def mH(B: Any, x: Any) -> Any:
    return B.conj(B.mT(x))


def linear(B: Any, x: Any, weight: Any, bias: Any) -> Any:
    out = B.matmul(x, B.mT(weight))
    return out if bias is None else B.add(out, bias)


def addmm(B: Any, input: Any, x: Any, y: Any, beta: float, alpha: float) -> Any:
    """``beta * input + alpha * (x @ y)``; with ``beta`` 0 not even a NaN of ``input`` counts."""
    out = B.mul(B.matmul(x, y), alpha)
    return B.add(out, B.mul(input, beta)) if beta else out


baddbmm = addmm


def linear_grad_weight(B: Any, g: Any, x: Any) -> Any:
    """The gradient of a linear map's weight: every row of ``g`` times its row of ``x``."""
    rows = math.prod(g.shape[:-1])
    left = B.reshape(g, (rows, g.shape[-1]))
    right = B.reshape(x, (rows, x.shape[-1]))
    # A product of BLAS with both operands transposed, which copies neither.
    return B.linear(B.mT(left), B.mH(right), None)


def tensordot(B: Any, x: Any, y: Any, axes_x: tuple, axes_y: tuple) -> Any:
    """Sum over pairs of dimensions: one product of two matrices."""
    kept_x = tuple(a for a in range(x.ndim) if a not in axes_x)
    kept_y = tuple(a for a in range(y.ndim) if a not in axes_y)
    count = math.prod(x.shape[a] for a in axes_x)
    shape_x = tuple(x.shape[a] for a in kept_x)
    shape_y = tuple(y.shape[a] for a in kept_y)
    left = B.reshape(B.permute(x, kept_x + axes_x), (math.prod(shape_x), count))
    right = B.reshape(B.permute(y, axes_y + kept_y), (count, math.prod(shape_y)))
    return B.reshape(B.mm(left, right), shape_x + shape_y)


def cross(B: Any, x: Any, y: Any, axis: int) -> Any:
    """``x[i+1] y[i+2] - x[i+2] y[i+1]``, indices modulo 3."""
    a, b = B.unbind(x, axis), B.unbind(y, axis)
    parts = [B.sub(B.mul(a[i - 2], b[i - 1]), B.mul(a[i - 1], b[i - 2])) for i in range(3)]
    return B.stack(parts, axis)


def einsum(B: Any, operands: tuple, equation: str) -> Any:
    """Contract the operands from left to right, each pair by one matrix product."""
    shapes = tuple([tuple(x.shape) for x in operands])
    # A size that is traced is an int of another class, which a plan that is kept would forget.
    are_plain = all(size.__class__ is int for shape in shapes for size in shape)
    plan = _planned if are_plain else _planned.__wrapped__
    steps, last, _ = plan(equation, shapes)
    arrays = list(operands)
    for name, places, statics in steps:
        arrays.append(getattr(B, name)(*[arrays[k] for k in places], *statics))
    return arrays[last]


def einsum_flops(equation: str, shapes: tuple) -> int:
    """The operations of the matrix products in `einsum`."""
    return _planned(equation, shapes)[2]


class _Planner:
    """An algebra of shapes: it notes the calls, with the place of each operand among all arrays."""

    def __init__(self, shapes: tuple) -> None:
        self.steps: list[tuple] = []
        self.flops = 0
        self.operands = [_Planned(shape, k) for k, shape in enumerate(shapes)]

    def _note(self, shape: tuple, name: str, operands: tuple, *statics: Any) -> _Planned:
        self.steps.append((name, tuple(x.place for x in operands), statics))
        return _Planned(shape, len(self.operands) + len(self.steps) - 1)

    def permute(self, x: _Planned, order: tuple) -> _Planned:
        return self._note(tuple(x.shape[k] for k in order), "permute", (x,), order)

    def reshape(self, x: _Planned, shape: tuple) -> _Planned:
        return self._note(shape, "reshape", (x,), shape)

    def diagonal(self, x: _Planned, offset: int, first: int, second: int) -> _Planned:
        kept = tuple(n for k, n in enumerate(x.shape) if k not in (first, second))
        shape = (*kept, x.shape[first])
        return self._note(shape, "diagonal", (x,), offset, first, second)

    def sum(self, x: _Planned, axes: tuple, keepdims: bool) -> _Planned:
        shape = tuple(n for k, n in enumerate(x.shape) if k not in axes)
        return self._note(shape, "sum", (x,), axes, keepdims)

    def mul(self, x: _Planned, y: _Planned) -> _Planned:
        shape = tuple(b if a == 1 else a for a, b in zip(x.shape, y.shape, strict=True))
        return self._note(shape, "mul", (x, y))

    def bmm(self, x: _Planned, y: _Planned) -> _Planned:
        self.flops += 2 * math.prod(x.shape) * y.shape[2]
        return self._note((*x.shape[:2], y.shape[2]), "bmm", (x, y))


class _Planned(NamedTuple):
    """An array that is not there yet: its shape, and its place among all."""

    shape: tuple
    place: int


@functools.lru_cache(maxsize=256)
def _planned(equation: str, shapes: tuple) -> tuple[tuple, int, int]:
    """The calls that contract operands of these shapes, the place of the result, and what its
    matrix products cost."""
    B = _Planner(shapes)
    result = _contracted(B, tuple(B.operands), equation)
    return tuple(B.steps), result.place, B.flops


def _contracted(B: Any, operands: tuple, equation: str) -> Any:
    inputs, output = parse(equation, tuple(len(x.shape) for x in operands))
    sizes = _sizes(operands, inputs)
    acc, labels = None, ()
    summed = {a for a in sizes if a not in output}
    letters = sorted(a for a in summed if isinstance(a, str))
    place = (*output, *sorted(summed.difference(letters)), *letters).index
    # As in torch a product over a single element is no matrix product.
    dropped = {a for a in sizes if sizes[a] == 1 and a not in output and len(operands) > 1}
    for i, (x, own) in enumerate(zip(operands, inputs, strict=True)):
        x, own = _without_repeats(B, x, own, sizes, dropped)
        needed = set(output).union(*inputs[i + 1 :])
        if acc is None:
            x, own = _sorted(B, x, own, place)
        x, own = _sum_out(B, x, own, needed | set(labels))
        if acc is None:
            acc, labels = x, own
        else:
            acc, labels = _sum_out(B, acc, labels, needed | set(own))
            acc, labels = _contract(B, acc, labels, x, own, needed, place)
    return _sorted(B, acc, labels, place)[0]


@functools.lru_cache(maxsize=256)
def parse(equation: str, ndims: tuple[int, ...]) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of each operand's dimensions and of the result's.

    Raises:
        RuntimeError: the equation does not fit operands with so many dimensions.
    """
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        few = "fewer" if len(ndims) < len(terms) else "more"
        raise RuntimeError(
            f"einsum(): {few} operands were provided than specified in the equation: "
            f"got {len(ndims)} for {equation!r}"
        )
    inputs = []
    for i, (term, ndim) in enumerate(zip(terms, ndims, strict=True)):
        head, dots, tail = _subscripts(term, f"for operand {i}")
        missing = ndim - len(head) - len(tail)
        if missing < 0 or (missing and not dots):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(head + tail)}) does not "
                f"match the number of dimensions ({ndim}) for operand {i}"
                + ("" if dots else " and no ellipsis was given")
            )
        inputs.append((*head, *range(-missing, 0), *tail))
    longest = -min([a for own in inputs for a in own if isinstance(a, int)], default=0)
    ellipsis = tuple(range(-longest, 0))
    letters = sorted({a for own in inputs for a in own if isinstance(a, str)})
    if not arrow:
        once = [a for a in letters if sum(own.count(a) for own in inputs) == 1]
        return tuple(inputs), (*ellipsis, *once)
    head, dots, tail = _subscripts(right, "for output")
    for a in head + tail:
        if a not in letters:
            raise RuntimeError(
                f"einsum(): output subscript {a} does not appear in the equation for any input "
                "operand"
            )
        if (head + tail).count(a) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {a} appears more than once in the output"
            )
    return tuple(inputs), (*head, *(ellipsis if dots else ()), *tail)


def _subscripts(term: str, where: str) -> tuple[str, str, str]:
    """The letters before the ellipsis, the ellipsis if there is one, and the letters after it."""
    head, dots, tail = term.partition("...")
    head, tail = head.replace(" ", ""), tail.replace(" ", "")
    for a in head + tail:
        if a == ".":
            fault = (
                "for which an ellipsis was already found" if dots
                else "that is not part of any ellipsis"
            )  # fmt: skip
            raise RuntimeError(f"einsum(): found '.' {where} {fault}")
        if not (a.isascii() and a.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript {a!r} {where}, subscripts must be in [a-zA-Z]"
            )
    return head, dots, tail


def _sizes(operands: tuple, inputs: tuple[Labels, ...]) -> dict:
    sizes: dict = {}
    for i, (x, own) in enumerate(zip(operands, inputs, strict=True)):
        here: dict = {}
        for a, size in zip(own, x.shape, strict=True):
            if here.setdefault(a, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {a} is repeated for operand {i} but the sizes don't "
                    f"match, {size} != {here[a]}"
                )
        for a, size in here.items():
            if sizes.get(a, 1) == 1:
                sizes[a] = size
            elif size not in (1, sizes[a]):
                raise RuntimeError(
                    f"einsum(): subscript {a} has size {size} for operand {i} which does not "
                    f"broadcast with previously seen size {sizes[a]}"
                )
    return sizes


def _without_repeats(B: Any, x: Any, own: Labels, sizes: dict, dropped: set) -> tuple[Any, Labels]:
    """Take diagonals where a label occurs twice, and drop dimensions that only broadcast, and those
    of size 1 that are in ``dropped``."""
    for a in set(own):
        while own.count(a) > 1:
            first = own.index(a)
            second = own.index(a, first + 1)
            x = B.diagonal(x, 0, first, second)
            own = (*(b for k, b in enumerate(own) if k not in (first, second)), a)
    kept = tuple(k for k, a in enumerate(own) if x.shape[k] == sizes[a] and a not in dropped)
    if len(kept) < len(own):
        x = B.reshape(x, tuple(x.shape[k] for k in kept))
        own = tuple(own[k] for k in kept)
    return x, own


def _sorted(B: Any, x: Any, own: Labels, place: Callable) -> tuple[Any, Labels]:
    """The operand with its labels in the order that ``place`` gives, as torch sums it."""
    places = list(map(place, own))
    if places == sorted(places):
        return x, own
    order = tuple(sorted(range(len(own)), key=places.__getitem__))
    return B.permute(x, order), tuple(own[k] for k in order)


def _sum_out(B: Any, x: Any, own: Labels, needed: set) -> tuple[Any, Labels]:
    axes = tuple(k for k, a in enumerate(own) if a not in needed)
    if not axes:
        return x, own
    return B.sum(x, axes, False), tuple(a for a in own if a in needed)


def _contract(
    B: Any, x: Any, own_x: Labels, y: Any, own_y: Labels, needed: set, place: Any
) -> tuple[Any, Labels]:
    """Multiply two operands and sum over the labels that both have and nobody needs.

    As in torch the product is one of batches, with the labels of each part in the order that
    ``place`` gives, and of the operands the first has what comes first there.
    """

    def chosen(own: Labels, wanted: Callable[[Any], bool]) -> Labels:
        return tuple(sorted(filter(wanted, own), key=place))

    size = dict(zip(own_x, x.shape, strict=True)) | dict(zip(own_y, y.shape, strict=True))
    batch = chosen(own_x, lambda a: a in own_y and a in needed)
    summed = chosen(own_x, lambda a: a in own_y and a not in needed)
    left = chosen(own_x, lambda a: a not in own_y)
    right = chosen(own_y, lambda a: a not in own_x)
    if summed and left and right and place(right[0]) < place(left[0]):
        x, own_x, left, y, own_y, right = y, own_y, right, x, own_x, left

    def grouped(array: Any, own: Labels, *groups: Labels) -> Any:
        order = tuple(own.index(a) for group in groups for a in group)
        if order != tuple(range(len(order))):
            array = B.permute(array, order)
        shape = tuple(math.prod(size[a] for a in group) for group in groups)
        return array if tuple(array.shape) == shape else B.reshape(array, shape)

    if not summed:
        labels = chosen((*own_x, *right), lambda _: True)
        factors = [
            grouped(array, own, *((a,) if a in own else () for a in labels))
            for array, own in ((x, own_x), (y, own_y))
        ]
        return B.mul(*factors), labels
    labels = batch + left + right
    shape = tuple(size[a] for a in labels)
    out = B.bmm(grouped(x, own_x, batch, left, summed), grouped(y, own_y, batch, summed, right))
    return (out if tuple(out.shape) == shape else B.reshape(out, shape)), labels
