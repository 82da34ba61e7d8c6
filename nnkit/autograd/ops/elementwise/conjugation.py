"""Conjugation and negation, put off until somebody computes with the result, or done at once.

As torch's, `conj` and what is made of it are views: their tensors hold a `Lazy` in place of an
array. In rules ``B.conj`` is this view on Tensors, and a conjugate array on arrays.
"""

from __future__ import annotations

from collections.abc import Callable

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.engine.node import edge_of
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.pointwise import fn, pointwise
from nnkit.autograd.op.public import attach, public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import Op, connect
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import clone, composite_operands
from nnkit.autograd.surface.metadata import is_conj, is_neg
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import link_view, refresh
from nnkit.autograd.views.writes import write
from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.dtype import bool_
from nnkit.backend.lazy import LazyPlace, put_off

_conj_physical = pointwise(
    "conj", lambda x: fn.conj(x), function=False, node="ConjPhysicalBackward0",
    x=lambda g: fn.conj(g),
)
_conj_of_real = single(clone, name="conj_physical", node="ConjPhysicalBackward0", saves=False)


def _view(name: str, node: str, rule: Callable, **marks: bool) -> Callable:
    """The op that gives a view with other marks of what is put off."""
    op = Op(CATALOGUE[name], {"x": rule}, node, view=True)

    def apply(x: Tensor) -> Tensor:
        refresh(x)
        place = x._device
        if place.depth:
            out = wrap(getattr(place.backend, name)(x._array), place)
        else:
            out = wrap(put_off(x._array, place, **marks), LazyPlace.before(place.home))
        link_view(out, x, name, (), False)
        if MODE.enabled and x._requires_grad:
            connect(op, (x,), (), (edge_of(x),), (out,), place)
        return out

    apply.op = op
    OPS[name] = apply
    return apply


_put_off_conj = _view("conj", "ConjBackward0", lambda B, g: B.conj(g), is_conj=True)
_put_off_neg = _view("neg_view", "NegViewBackward0", lambda B, g: B.neg_view(g), is_neg=True)


@public
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a view; a real tensor is returned as it is.

    It is computed where the view is used: `is_conj` says that it was put off.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1 + 2j])
        >>> y = nnkit.conj(x)
        >>> y
        tensor([1.-2.j])
        >>> x.mul_(2)
        tensor([2.+4.j])
        >>> y
        tensor([2.-4.j])
    """
    check_tensor("conj", input)
    return _put_off_conj(input) if input.is_complex() else input


OPS["conj"] = conj
conj.op = _put_off_conj.op


def _conj_physical_in_place(self: Tensor) -> Tensor:
    of_real = not self.is_complex()  # which torch records too, and has the gradient itself
    return write(self, "conj_physical_", _conj_of_real if of_real else _conj_physical)


@public(out=Out(dtype="same", history="ended", checks_first=True), in_place=_conj_physical_in_place)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor is returned as it is.

    Example:
        >>> import nnkit
        >>> nnkit.conj_physical(nnkit.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    check_tensor("conj_physical", input)
    return _conj_physical(input) if input.is_complex() else composite_operands(input)[0]


@public
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if its conjugation is put off.

    Example:
        >>> import nnkit
        >>> nnkit.resolve_conj(nnkit.tensor([1j]).conj())
        tensor([0.-1.j])
    """
    return clone(input) if is_conj(input) else input


@public
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if its negation is put off.

    Example:
        >>> import nnkit
        >>> nnkit.resolve_neg(nnkit.tensor([1j]).conj().imag)
        tensor([-1.])
    """
    return clone(input) if is_neg(input) else input


def _conj(input: Tensor) -> Tensor:
    """`conj` of a tensor that must be complex."""
    check_tensor("_conj", input)
    if not input.is_complex():
        raise RuntimeError(f"_conj(): expected a complex tensor, got {input.dtype}")
    return _put_off_conj(input)


def _neg_view(input: Tensor) -> Tensor:
    """``-input``, computed where it is used; a view."""
    check_tensor("_neg_view", input)
    if input.dtype is bool_:
        raise NotImplementedError("_neg_view(): not implemented for bool tensors")
    return _put_off_neg(input)


attach("_conj", _conj)
attach("_neg_view", _neg_view)
