"""Running totals along a dimension."""

from __future__ import annotations

import functools
import math
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dim
from nnkit.autograd.arguments.sizes import integer
from nnkit.autograd.op.inference import copied_scalar
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.public import METHODS, public
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.op.rule import guarded, real_gradient, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.ops.elementwise.transcendental import logaddexp
from nnkit.autograd.ops.indexing.expressions import VIEWS
from nnkit.autograd.ops.reduction.sums import divided_or, in_dtype, shifted
from nnkit.autograd.ops.shape.joining import cat, stack
from nnkit.autograd.ops.shape.strided import real
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, int64


def _reversed(B: Any, function: Any, g: Any, axis: int) -> Any:
    """A running total that starts at the end."""
    return B.flip(function(B.flip(g, (axis,))), (axis,))


def _decaying(B: Any, factors: Any, g: Any, axis: int) -> Any:
    """``s[i] = g[i] + factors[i + 1] * s[i + 1]``."""
    following = B.flip(shifted(B, factors, axis, -1, 0.0), (axis,))
    return B.flip(B.recurrence(following, B.flip(g, (axis,)), axis), (axis,))


def _grad_cumsum(B: Any, g: Any, axis: int) -> Any:
    if not len(g.shape) or g.shape[axis] == 1:
        return g
    return _reversed(B, lambda t: B.cumsum(t, axis), g, axis)


def _grad_cumprod(B: Any, g: Any, x: Any, out: Any, axis: int) -> Any:
    """The products before an element times what follows it."""
    if not len(x.shape) or 0 in x.shape or x.shape[axis] == 1:
        return g
    before, factors = B.conj(shifted(B, out, axis, 1, 1.0)), B.conj(x)
    of_zeros = B.mul(_decaying(B, factors, g, axis), before)
    totals = lambda: _reversed(  # noqa: E731
        B, lambda t: B.cumsum(t, axis), B.mul(B.conj(out), g), axis
    )
    return divided_or(B, totals, factors, of_zeros)


def _grad_logcumsumexp(B: Any, g: Any, x: Any, out: Any, axis: int) -> Any:
    """The totals never fall, so every exponent here is at most 0."""
    if not len(x.shape) or 0 in x.shape:
        return g
    g = B.where(B.eq(g, g), g, 0.0)  # torch takes the logarithms of positive and negative ones
    empty = B.eq(out, -math.inf)  # nothing but -inf so far: no weight, and no inf - inf either
    total = B.where(empty, 0.0, out)
    earlier = shifted(B, total, axis, 1, 0.0)
    step = B.exp(B.where(B.eq(earlier, total), 0.0, B.sub(earlier, total)))
    step = B.where(shifted(B, empty, axis, 1, True), 0.0, step)
    return B.mul(_decaying(B, step, g, axis), B.exp(B.sub(x, total)))


def _along_logcumsumexp(primals: tuple, tangents: list, statics: tuple, outputs: tuple) -> Tensor:
    """The tangent of `logcumsumexp` by torch's formula: a mean with weights, whose sum it keeps
    from 0 by a small number; a NaN anywhere reaches all."""
    x, (axis,) = primals[0], statics
    if not x.numel():
        return tangents[0]
    weight = LIFTED.exp(LIFTED.sub(x, LIFTED.amax(x, axis, True)))
    total = LIFTED.add(LIFTED.cumsum(weight, axis), 1e-13)
    return LIFTED.div(LIFTED.cumsum(LIFTED.mul(weight, tangents[0]), axis), total)


def _grad_record(B: Any, g: Any, indices: Any, x_shape: tuple, axis: int) -> Any:
    return B.gather_adjoint(g, indices, axis, x_shape) if x_shape else B.copy(g)


_cumsum = rule("cumsum", alone=copied_scalar, x=_grad_cumsum)
_cumprod = rule("cumprod", alone=copied_scalar, x=_grad_cumprod)
_logcumsumexp = rule(
    "logcumsumexp", alone=copied_scalar, along=_along_logcumsumexp, x=_grad_logcumsumexp
)
rule(
    "recurrence",
    a=lambda B, g, a, out, axis: B.mul(
        _decaying(B, B.conj(a), g, axis), B.conj(shifted(B, out, axis, 1, 0.0))
    ),
    b=lambda B, g, a, axis: _decaying(B, B.conj(a), g, axis),
)
_records = {
    name: rule(
        name, nondifferentiable=("indices",), also={"x": ("x",)}, alone="refused", x=_grad_record
    )
    for name in ("cummax", "cummin")
}


def _running(name: str, apply: Any, input: Tensor, dim: int, dtype: Any) -> Tensor:
    x = in_dtype(name, input, dtype)
    if x.dtype.category < FLOATING and dtype is None:
        x = converted(x, int64)
    axis = normalize_dim(dim, x._array.ndim, name)
    if x.dtype.category == BOOL and x.ndim and x._array.size:
        raise NotImplementedError(f"{name}(): not implemented for 'bool' totals")
    total = apply(x, axis)
    return converted(total, x.dtype)


def _in_place_of(name: str, apply: Any) -> Any:
    """``cumsum_`` and ``cumprod_``, whose totals are computed in the dtype of the tensor."""

    def write_in_place(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        if dtype is not None and dtype is not self.dtype:
            raise RuntimeError(
                f"{name}_(): Bad in-place call: input tensor dtype {self.dtype} and output tensor "
                f"dtype {dtype} should match"
            )
        compute = functools.partial(_running, name, apply)
        return write(self, f"{name}_", compute, dim, self.dtype)

    return write_in_place


@public(out=Out(is_computed_in=True), in_place=_in_place_of("cumsum", _cumsum))
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sums of all elements up to each one along ``dim``; integers give int64.

    Raises:
        IndexError: ``dim`` is out of range.
        TypeError: it is no int.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 2, 3]).cumsum(0)
        tensor([1, 3, 6])
    """
    return _running("cumsum", _cumsum, input, dim, dtype)


@public(out=Out(is_computed_in=True), in_place=_in_place_of("cumprod", _cumprod))
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The products of all elements up to each one along ``dim``; integers give int64.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1, 2, 3]).cumprod(0)
        tensor([1, 2, 6])
    """
    return _running("cumprod", _cumprod, input, dim, dtype)


_WRONG_TOTALS = "expected scalar_type {wanted} but found {got}"


@public(out=Out(dtype="same", words=_WRONG_TOTALS))
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """``log(cumsum(exp(x)))`` along ``dim``, without overflow.

    Raises:
        NotImplementedError: the dtype is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.logcumsumexp(nnkit.tensor([0.0, 0.0]), dim=0)
        tensor([0.0000, 0.6931])
    """
    check_tensor("logcumsumexp", input)
    if input.dtype.category == COMPLEX:
        axis = normalize_dim(dim, input.ndim, "logcumsumexp")
        if input.is_inference():  # torch's is one operation
            input = input.detach()
        given = input
        empty = METHODS["eq"](real(input), -math.inf)  # an infinite logarithm of 0 has no angle
        input = METHODS["masked_fill"](input, empty, -math.inf)
        totals = list(input.unbind(axis)) if input.ndim else [input]
        for i in range(1, len(totals)):
            totals[i] = logaddexp(totals[i - 1], totals[i])
        out = stack(totals, axis) if input.ndim and totals else input
        return guarded("logcumsumexp", out, given, out)
    return _logcumsumexp(input, normalize_dim(dim, input._array.ndim, "logcumsumexp"))


def _record(name: str, kind: Any, input: Tensor, dim: int) -> Any:
    check_tensor(name, input)
    if not input.ndim and dim not in (-1, 0):
        raise IndexError(f"{name}: Expected reduction dim -1 or 0 for scalar but got {dim}")
    # As torch, which does not ask for the dimension of no elements.
    axis = normalize_dim(dim, input._array.ndim, name) if input._array.size else 0
    values, indices = _records[name](input, axis)
    return kind((real_gradient(name, values), indices))


@public(out=Out(words=_WRONG_TOTALS))
@single(alone="refused")
def cummax(input: Tensor, dim: int) -> Any:
    """The maxima of all elements up to each one along ``dim``, and the index of the last element
    that reached each; a NaN stays.

    Returns:
        A named tuple (values, indices).

    Example:
        >>> import nnkit
        >>> nnkit.tensor([1.0, 3.0, 2.0]).cummax(0).indices
        tensor([0, 1, 1])
    """
    return _record("cummax", return_types.cummax, input, dim)


@public(out=Out(words=_WRONG_TOTALS))
@single(alone="refused")
def cummin(input: Tensor, dim: int) -> Any:
    """The minima of all elements up to each one along ``dim``; see `cummax`.

    Example:
        >>> import nnkit
        >>> values, indices = nnkit.cummin(nnkit.tensor([3, 1, 2]), dim=0)
        >>> values, indices
        (tensor([3, 1, 1]), tensor([0, 1, 1]))
    """
    return _record("cummin", return_types.cummin, input, dim)


def _check_ends(parts: list[Tensor], input: Tensor, axis: int) -> None:
    """RuntimeError where tensors cannot be joined along ``axis``."""
    if any(isinstance(t, Tensor) and t.ndim != input.ndim for t in parts):
        dims = [t.ndim for t in parts]
        raise RuntimeError(
            "diff expects prepend or append to be the same dimension as input, got tensors of "
            f"{dims} dimensions"
        )
    if any(
        n != m for t in parts for d, (n, m) in enumerate(zip(t.shape, input.shape)) if d != axis
    ):
        raise RuntimeError(
            "diff expects the shape of tensor to prepend or append to match that of input except "
            f"along the differencing dimension, got {[list(t.shape) for t in parts]}"
        )


@public(
    out=Out(
        checks_first=True, views_below=math.inf, operands=lambda out, arguments, options: arguments
    )
)
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The differences of neighbours along ``dim``, taken ``n`` times, after joining ``prepend``
    and ``append`` to the ends.

    Example:
        >>> import nnkit
        >>> nnkit.diff(nnkit.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    check_tensor("diff", input)
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if integer("diff", "n", n) < 0:
        raise RuntimeError(f"diff(): order must be non-negative but got {n}")
    if n == 0:
        return OPS["copy"](input)
    axis = normalize_dim(dim, input.ndim, "diff")
    parts = [t for t in (prepend, input, append) if t is not None]
    if len(parts) > 1:
        _check_ends(parts, input, axis)
    out = cat(parts, axis) if len(parts) > 1 else input
    subtract = METHODS["logical_xor" if out.dtype.name == "bool" else "sub"]
    lead, narrowed = (slice(None),) * axis, VIEWS[slice]
    for _ in range(min(n, out._array.shape[axis])):
        later = narrowed(out, (*lead, slice(1, None), ...))
        out = subtract(later, narrowed(out, (*lead, slice(-1), ...)))
    return out
