"""The algebra of a batch level: the primitives, on all examples at once.

A primitive is computed by one call if there is a rule for it (`nnkit.autograd.batch.rules`), else
by the primitives of its reference body, else by one call for each example. All this is done with
Tensors outside the level, which record their history there; so derivatives need no further rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.batch.examples import (
    DRAWS_ALIKE,
    Batched,
    BatchLevel,
    example,
    of_each,
    stacked,
)
from nnkit.autograd.batch.rules import (
    call,
    differs,
    is_batched,
    moved_statics,
    padded,
    plain_index,
    rule_of,
    to_front,
    viewed,
)
from nnkit.autograd.forward.level import LevelAlgebra
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.surface.generator import get_rng_state, set_rng_state
from nnkit.autograd.tensor import Tensor, differentiable, wrap
from nnkit.autograd.views.overlap import shares_memory
from nnkit.autograd.views.writes import write, wrote
from nnkit.backend.algebra import CATALOGUE, Primitive, reference_body
from nnkit.backend.memory import extent


class Batch(LevelAlgebra):
    """The primitives of a backend, on the batched arrays of a level."""

    def of(self, value: Any) -> Any:
        """An array of any kind as a batched one; numbers and None unchanged."""
        if value.__class__ is Batched or not hasattr(value, "strides"):
            return value
        return Batched(wrap(value, self.level.place), None)

    def results(self, found: Any, dim: int | None, source: Any = None) -> Any:
        """Tensors of all examples, as batched arrays."""
        if isinstance(found, (tuple, list)):
            return tuple([self.results(one, dim, source) for one in found])
        if source is not None and source.whole is found and source.dim == dim:
            return source
        found = differentiable(found)
        inside = source is not None and shares_memory(found, source.whole)
        return Batched(found, dim, source if inside else None)


BatchLevel.algebra = Batch


def _compute(B: Batch, primitive: Primitive, *arguments: Any) -> Any:
    count = len(primitive.arrays)
    given, statics = arguments[:count], arguments[count:]
    operands = [B.of(x) for x in (given[0] if primitive.sequences else given)]
    if not operands:
        return _create(B, primitive, statics)
    if primitive.draws and B.level.randomness == "different" and operands[0].dim is None:
        operands[0] = Batched(to_front(operands[0], B.level.size), 0)
    if not (any(map(is_batched, operands)) or any(map(differs, statics))):
        wholes = [x.whole if x.__class__ is Batched else x for x in operands]
        found = call(primitive, wholes, map(plain_index, statics))
        return found if primitive.tells else B.results(found, None, viewed(primitive, operands))
    if primitive.reads:
        raise RuntimeError(
            f"vmap: It looks like you're calling .{primitive.name}() on a Tensor, or using it in "
            "some data-dependent control flow: its numbers differ between examples"
        )
    if _is_sized_by_examples(primitive, operands, arguments):
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape: that of "
            f"{primitive.name}() depends on numbers that differ between examples"
        )
    if primitive.tells:
        return call(primitive, [x.whole for x in operands], statics)
    if primitive.draws:
        return _draw(B, primitive, operands, statics)
    rule = rule_of(primitive)
    found = rule(B, primitive, operands, statics) if rule is not None else None
    if found is not None:
        return found
    body = _body(primitive, operands)
    if body is not None:
        return body(B, *arguments)
    return _one_by_one(B, primitive, operands, statics)


def _body(primitive: Primitive, operands: list) -> Callable | None:
    """The reference body of a primitive, if it may be used: not for an in-place form, nor if a
    derivative is wanted, which must be that of the primitive and not of its parts."""
    name = primitive.name
    if name + "_" in CATALOGUE or primitive.subject in _BY_KERNELS:
        return None
    if hasattr(OPS.get(name), "op"):
        wholes = [x.whole for x in operands if x.__class__ is Batched]
        if any(w._device.depth or MODE.enabled and w.requires_grad for w in wholes):
            return None
    return reference_body(primitive)


def _is_sized_by_examples(primitive: Primitive, operands: list, arguments: tuple) -> bool:
    """Whether the shape of a result may differ between examples."""
    if not primitive.is_sized_by_data(arguments):
        return False
    if primitive.indices:
        return any(map(differs, arguments))
    decides = operands[1] if primitive.name == "masked_select" else operands[0]
    return decides.dim is not None


# Whose kernels are better at each example than their parts at all.
_BY_KERNELS = frozenset(("conv", "folding", "pooling", "sorting"))


def _create(B: Batch, primitive: Primitive, statics: tuple) -> Any:
    """The result of a creation primitive: one tensor for each example, since the function may write
    to it."""
    place = B.level.place
    if "shape" not in primitive.statics or primitive.name == "full" and not statics[0]:
        found = getattr(place.backend, primitive.name)(*statics)
        return Batched(wrap(found, place), None)
    if primitive.name == "empty_strided":
        shape, strides, dtype = statics
        statics = shape, (extent(shape, strides, 0), *strides), dtype
    statics = ((B.level.size, *statics[0]), *statics[1:])
    return Batched(_fresh(B.level.around, primitive.name, statics, place), 0)


def _fresh(level: Any, name: str, statics: tuple, place: Any) -> Tensor:
    """A new tensor outside a level."""
    place = level or place
    return wrap(getattr(place.backend, name)(*statics), place)


# Example by example


def _one_by_one(B: Batch, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """The results, computed for one example after the other; for an empty batch, from zeros."""
    size = B.level.size
    rows = [
        call(primitive, [example(x, i) for x in operands], [example(s, i) for s in statics])
        for i in range(max(size, 1))
    ]
    return B.results(stacked(rows, size), 0)


def _draw(B: Batch, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """Random numbers: different ones for each example, or the same for all. As in torch, the latter
    are allowed for dropout of examples that differ, but for no distribution that differs."""
    level, ndim = B.level, max([x.ndim for x in operands])
    different = level.randomness == "different"
    if not (different or primitive.name in _NOISES):
        raise RuntimeError(DRAWS_ALIKE)
    if different and primitive.name in _OF_ELEMENTS and True not in statics[1:]:
        fronts = [padded(to_front(x, level.size), x.ndim, ndim) for x in operands]
        wholes = [LIFTED.contiguous(of_each(front, level.around)) for front in fronts]
        statics = tuple(moved_statics(B, primitive.statics, statics, ndim))
        return B.results(call(primitive, wholes, statics), 0)
    if different and primitive.name == "multinomial" and level.size:
        return _draw_rows(B, primitive, operands[0], statics)
    if different:
        return _one_by_one(B, primitive, operands, statics)
    state = get_rng_state()
    rows = []
    for i in range(max(level.size, 1)):
        set_rng_state(state)
        rows.append(call(primitive, [example(o, i) for o in operands], statics))
    return B.results(stacked(rows, level.size), 0)


def _draw_rows(B: Batch, primitive: Primitive, x: Batched, statics: tuple) -> Any:
    """Indices drawn, as in torch, from the rows of weights of all examples at once."""
    size, kinds = B.level.size, x.shape[-1]
    front = of_each(to_front(x, size), B.level.around)
    rows = front if x.ndim == 1 else LIFTED.reshape(front, (size * x.shape[0], kinds))
    found = call(primitive, [rows], statics)
    return B.results(LIFTED.reshape(found, (size, *x.shape[:-1], statics[0])), 0)


_NOISES = frozenset("dropout alpha_dropout dropout_mask rrelu_noise".split())
_OF_ELEMENTS = frozenset(
    "bernoulli dropout alpha_dropout dropout_mask poisson rrelu_noise standard_gamma "
    "normal_around normal_scaled normal_between".split()
)


# Writes


def _write(B: Batch, primitive: Primitive, x: Batched, *arguments: Any) -> Batched:
    """A write: by the out-of-place primitive, or in place if it has no derivative."""
    name = primitive.name
    twin = CATALOGUE.get(name[:-1])
    operands = [B.of(a) for a in arguments]
    if primitive.draws and B.level.randomness != "different" and any(map(is_batched, operands)):
        raise RuntimeError(DRAWS_ALIKE)
    _check_written(x, operands)
    tensors = [a.whole if a.__class__ is Batched else a for a in operands]
    if twin is not None and twin.parameters == primitive.parameters:

        def compute(before: Tensor, *_: Any) -> Tensor:
            found = getattr(B, name[:-1])(Batched(before, x.dim), *operands)
            return _laid_along(found, x)

        write(x.whole, name, compute, *tensors)
        return x
    if primitive.draws and x.dim is not None and B.level.randomness != "different":
        place = x.whole._device
        one = Batched(wrap(place.backend.empty(x.shape, x.dtype), place), None)
        return _copy(B, primitive, x, _write(B, primitive, one, *arguments))
    body = reference_body(primitive)
    if body is not None:
        return body(B, x, *operands)
    raw = [_front_array(a, x.ndim) for a in (x, *operands)]
    getattr(x.whole._device.backend, name)(*raw)
    wrote(x.whole, name)
    return x


def _front_array(value: Any, ndim: int) -> Any:
    """The array of a batched argument, with the examples along dimension 0; others unchanged."""
    if value.__class__ is not Batched:
        return value
    return (value.whole if value.dim is None else padded(to_front(value), value.ndim, ndim))._array


def _check_written(x: Batched, operands: Sequence[Any]) -> None:
    """RuntimeError if values that differ between examples are written to a tensor they share."""
    if x.dim is None and any(map(is_batched, operands)):
        raise RuntimeError(
            "vmap: writing inplace is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`: it differs between examples, and self "
            "is the same for all: write out of place, or into a tensor made of the arguments"
        )


def _laid_along(found: Any, x: Batched) -> Tensor:
    """The tensor of all examples, with the examples along the same dimension as in ``x``."""
    whole = to_front(found)
    if found.dim is None or not x.dim:
        return whole
    order = list(range(1, whole.ndim))
    order.insert(x.dim, 0)
    return LIFTED.permute(whole, tuple(order))


def _copy(B: Batch, primitive: Primitive, x: Batched, source: Any) -> Batched:
    source = B.of(source)
    _check_written(x, [source])
    whole = source.whole
    if source.dim is not None:
        whole = _laid_along(Batched(padded(to_front(source), source.ndim, x.ndim), 0), x)
    elif x.dim is not None and x.dim > x.ndim - source.ndim:
        whole = LIFTED.unsqueeze(whole, x.dim - (x.ndim - source.ndim))
    x.whole.copy_(whole)
    return x


def _fill(B: Batch, primitive: Primitive, x: Batched, value: Any) -> Batched:
    x.whole.fill_(value)
    return x


Batch._compute, Batch._write = _compute, _write
Batch._writes = {"copy_": _copy, "fill_": _fill}
