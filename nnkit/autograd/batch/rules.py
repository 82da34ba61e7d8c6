"""Batching rules: all examples of a batch are computed by one call of the primitive.

The rules shift axes and shapes by one, align operands, or count examples as further images. A rule
gets the `Batch`, the primitive, its operands as `Batched` and its statics. It returns None for a
call that it cannot do; then the examples are computed in another way
(`nnkit.autograd.batch.algebra`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.batch.examples import Batched
from nnkit.autograd.engine.node import Node, SavedOutput
from nnkit.autograd.engine.unpacking import unpack_tensor
from nnkit.autograd.op.code import OUTPUT
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.ops.shape.reshaping import expand, movedim
from nnkit.autograd.tensor import Tensor
from nnkit.backend.algebra import FORMULAS, Primitive
from nnkit.backend.index import ALL


def rule_of(primitive: Primitive) -> Callable | None:
    """The rule of a primitive, if there is one."""
    return _elementwise if primitive.name in FORMULAS else _RULES.get(primitive.name)


def call(primitive: Primitive, tensors: Sequence[Any], statics: Any) -> Any:
    """Call the primitive on tensors outside the level."""
    if primitive.tells:
        place = tensors[0]._device
        return getattr(place.backend, primitive.name)(*[t._array for t in tensors], *statics)
    function = getattr(LIFTED, primitive.name)
    found = function(*((tuple(tensors),) if primitive.sequences else tensors), *statics)
    op = getattr(function, "op", None)
    return _traced(op, found) if op is not None and op.only_first else found


def _traced(op: Any, outputs: tuple) -> tuple:
    """The outputs, those with their history that a rule reads: around a level they are no node's
    own values, and derivatives of a derivative go through them."""
    node = outputs[0]._edge
    if not isinstance(node, Node):
        return outputs
    found = list(outputs)
    for i, (name, out) in enumerate(zip(op.primitive.outputs, outputs, strict=True)):
        if i and (OUTPUT, i) in op.values and name not in op.primitive.constants:
            saved = SavedOutput(out._array, out._writes, i, outputs[0]._array)
            found[i] = unpack_tensor(node, (saved, out._writes[0]))
    return tuple(found)


def viewed(primitive: Primitive, operands: Sequence[Any]) -> Any:
    """The operand whose memory a result may share."""
    shares = any(primitive.shares.values())
    return operands[0] if shares and operands[0].__class__ is Batched else None


def to_front(x: Batched, size: int | None = None) -> Tensor:
    """The tensor of all examples along dimension 0; expanded if all examples share it."""
    if x.dim is None:
        return x.whole if size is None else expand(x.whole, (size, *x.shape))
    return x.whole if x.dim == 0 else movedim(x.whole, x.dim, 0)


def padded(whole: Tensor, ndim: int, wanted: int) -> Tensor:
    """All examples, with dimensions of size 1 in front of their own, to have ``wanted`` ones."""
    if ndim >= wanted:
        return whole
    shape = whole._array.shape
    return LIFTED.reshape(whole, (shape[0], *[1] * (wanted - ndim), *shape[1:]))


def is_batched(x: Any) -> bool:
    """Whether an operand, or an item of an index, differs between examples."""
    return x.__class__ is Batched and x.dim is not None


# Axes and shapes


def _axis(value: Any, ndim: int) -> Any:
    """The axes in the tensor of all examples for an axis, several axes or all (None) of one."""
    if value is None:
        return tuple(range(1, ndim + 1))
    if isinstance(value, (tuple, list)):
        return tuple([_axis(v, ndim) for v in value])
    return value % max(ndim, 1) + 1


def moved_statics(B: Any, names: Sequence[str], statics: Sequence[Any], ndim: int) -> list[Any]:
    """The statics for the tensor of all examples, which has one more dimension in front."""
    size = B.level.size
    return [
        (size, *value) if name == "shape" else _axis(value, ndim) if name in _AXES else value
        for name, value in zip(names, statics, strict=True)
    ]


_AXES = frozenset(("axis", "axis1", "axis2", "axes"))


def _along_axes(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    x, size = operands[0], B.level.size
    known = dict(zip(primitive.statics, statics, strict=True))
    axis = known.get("axis", 0)
    if axis is None and (len(primitive.outputs) > 1 or primitive.name in ("amax", "amin")):
        return None  # the gradients of these are others along axes
    wholes = [to_front(o, size) for o in operands]
    # Where the shape of the result is an argument, the axis is one of the result's.
    ndim = len(known["shape"]) if "shape" in known else x.ndim
    flat = axis is None and primitive.name in _NUMBERING
    line = not ndim and axis not in (None, ()) and "axis" in known
    if line and primitive.name == "unfold":
        return None
    if flat or line:  # all elements along one axis
        count = math.prod(x.shape) if flat else 1
        wholes = [LIFTED.reshape(w, (size, count)) for w in wholes]
        known["axis"], ndim = 0, 1
    if line:
        known |= {name: value for name, value in _OF_LINES.items() if name in known}
    found = call(primitive, wholes, moved_statics(B, list(known), list(known.values()), ndim))
    if line or (flat and known.get("keepdims")):
        shape = (size, *[1] * x.ndim)
        parts = found if isinstance(found, tuple) else (found,)
        parts = tuple([LIFTED.reshape(part, shape) for part in parts])
        return B.results(parts if isinstance(found, tuple) else parts[0], 0)
    return B.results(found, 0, viewed(primitive, operands))


_OF_LINES = {"shape": (1,), "keepdims": True}
# Which count elements through all dimensions where no axis is given.
_NUMBERING = frozenset(("argmax", "argmin", "prod"))


def _in_order(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    (x,), (axes,) = operands, statics
    if axes is None:
        return None
    return B.results(call(primitive, [to_front(x)], [(0, *_axis(axes, x.ndim))]), 0, x)


def _inserting(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    (x,), (axis,) = operands, statics
    return B.results(call(primitive, [to_front(x)], [_axis(axis, x.ndim + 1)]), 0, x)


def _expanding(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    (x,), (shape,) = operands, statics
    whole = padded(to_front(x), x.ndim, len(shape))
    return B.results(call(primitive, [whole], [(B.level.size, *shape)]), 0, x)


def _by_strides(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    (x,), (shape, strides, offset, source) = operands, statics
    steps = tuple(x.whole.stride())
    source = source and (x.whole._array.shape, steps, source[2])
    moved = (B.level.size, *shape), (steps[x.dim], *strides), offset, source
    return B.results(call(primitive, [x.whole], moved), 0, x)


# Several operands


def _elementwise(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    if len(operands) == 1:
        (x,) = operands
        return B.results(call(primitive, [x.whole], statics), x.dim, viewed(primitive, operands))
    ndim = max([x.ndim for x in operands if x.__class__ is Batched])
    wholes = [
        padded(to_front(x), x.ndim, ndim) if is_batched(x) else getattr(x, "whole", x)
        for x in operands
    ]
    return B.results(call(primitive, wholes, statics), 0)


def _joining(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    ndim = operands[0].ndim + (primitive.name == "stack")
    wholes = [to_front(x, B.level.size) for x in operands]
    return B.results(call(primitive, wholes, [_axis(statics[0], ndim)]), 0)


def _at_positions(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """A call with positions along an axis that all examples share."""
    x, index, *rest = operands
    if is_batched(index) or any(r.ndim != x.ndim for r in rest):
        return None
    known = dict(zip(primitive.statics, statics, strict=True))
    ndim = len(known["shape"]) if "shape" in known else x.ndim
    if not ndim:
        return None
    wholes = [to_front(x, B.level.size), index.whole, *[to_front(r, B.level.size) for r in rest]]
    return B.results(call(primitive, wholes, moved_statics(B, primitive.statics, statics, ndim)), 0)


def _leading(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """A call of a primitive that takes any number of leading dimensions."""
    x, *rest = operands
    if any(map(is_batched, rest)) or not x.ndim:
        return None
    wholes = [to_front(x), *[r and r.whole for r in rest]]
    return B.results(call(primitive, wholes, statics), 0, viewed(primitive, operands))


def _linear(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """Rows times a matrix; as in torch, a bias is added by a separate node."""
    x, weight, bias = operands
    if bias is not None:
        return B.add(B.linear(x, weight, None), bias)
    if is_batched(weight):
        return B.matmul(x, B.mT(weight))
    return _leading(B, primitive, operands, statics)


def _embedding(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    weight, index = operands
    if is_batched(weight):
        return None
    return B.results(call(primitive, [weight.whole, to_front(index)], statics), 0)


def _product(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """A product of matrices or vectors."""
    ndim = max(2, *[x.ndim for x in operands])
    wholes = []
    for x, axis in zip(operands, (-2, -1), strict=True):
        whole = to_front(x)
        if x.ndim == 1:
            whole = LIFTED.unsqueeze(whole, axis % (whole.ndim + 1))
        wholes.append(padded(whole, max(x.ndim, 2), ndim) if is_batched(x) else whole)
    found = LIFTED.matmul(*wholes)
    shape = found._array.shape
    kept = [shape[axis] for x, axis in zip(operands, (-2, -1), strict=True) if x.ndim > 1]
    if len(kept) < 2:
        found = LIFTED.reshape(found, (*shape[:-2], *kept))
    return B.results(found, 0)


def _of_images(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """A call on the first operand's images, which others of its operands go with in pools."""
    x, *rest = operands
    size = B.level.size
    pooled = primitive.subject == "pooling"
    alone = is_batched(x) and not any(map(is_batched, rest))
    if not (pooled or alone) or not (size and x.shape[0]):
        return None

    def folded(one: Batched) -> Tensor:
        return LIFTED.reshape(to_front(one, size), (size * one.shape[0], *one.shape[1:]))

    wholes = [folded(x), *[folded(r) if pooled else r and r.whole for r in rest]]
    statics = tuple(
        [
            (size * value[0], *value[1:]) if name == "shape" and len(value) == x.ndim else value
            for name, value in zip(primitive.statics, statics, strict=True)
        ]
    )

    def apart(one: Tensor) -> Tensor:
        count, *shape = one._array.shape
        return LIFTED.reshape(one, (size, count // size, *shape))

    found = call(primitive, wholes, statics)
    return B.results(tuple(map(apart, found)) if isinstance(found, tuple) else apart(found), 0)


# Indices


def differs(static: Any) -> bool:
    """Whether positions of an index differ between examples."""
    return static.__class__ is tuple and any(map(is_batched, static))


def plain_index(static: Any) -> Any:
    """Positions that all examples share, as tensors."""
    if static.__class__ is not tuple:
        return static
    return tuple([i.whole if i.__class__ is Batched else i for i in static])


def _slicing(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """A view by integers, slices and None, or a copy with another operand in its place."""
    index, *others = statics
    moved = [
        (ALL, *index) if index != (...,) else index,
        *moved_statics(B, primitive.statics[1:], others, 0),
    ]
    wholes = [to_front(x, B.level.size) for x in operands]
    return B.results(call(primitive, wholes, moved), 0, viewed(primitive, operands))


def _indexing(B: Any, primitive: Primitive, operands: list, statics: tuple) -> Any:
    """Reading or writing at positions that all examples share, with adjacent index arrays."""
    positions, *others = statics
    places = [i for i, item in enumerate(positions) if item is not ALL]
    if differs(positions) or places[-1] - places[0] >= len(places):
        return None
    x, *rest = operands
    wholes = [to_front(x, B.level.size)]
    for value in rest:
        ndim = B.index(x, positions).ndim
        if value.ndim > ndim:
            return None
        whole = to_front(value)
        wholes.append(padded(whole, value.ndim, ndim) if is_batched(value) else whole)
    moved = [(ALL, *plain_index(positions)), *moved_statics(B, primitive.statics[1:], others, 0)]
    return B.results(call(primitive, wholes, moved), 0)


_RULES: dict[str, Callable] = {
    name: rule
    for rule, names in {
        _along_axes: (
            "sum mean prod var std var_mean std_mean amax amin aminmax max min argmax argmin all"
            " any cumsum cumprod cummax cummin logcumsumexp logsumexp norm expand_reduced reshape"
            " view swapaxes squeeze split unbind flip diagonal diagonal_adjoint diagonal_scatter"
            " unfold unfold_adjoint view_dtype"
            " sort argsort topk kthvalue median nanmedian mode softmax log_softmax softmax_grad"
            " log_softmax_grad fft_c2c fft_r2c fft_c2r gather scatter scatter_add scatter_fill"
            " scatter_reduce gather_adjoint recurrence contiguous"
        ),
        _in_order: "permute ordered",
        _inserting: "unsqueeze",
        _expanding: "expand",
        _by_strides: "as_strided",
        _elementwise: (
            "cast copy zeros_like ones_like empty_like fill real imag conj neg_view view_as_real"
            " masked_fill make_complex gcd lcm copy_storage"
        ),
        _joining: "concat stack",
        _at_positions: "index_select index_select_adjoint index_add index_copy index_fill",
        _leading: (
            "mT mH tril triu inverse matrix_exp det cholesky svd eigh eig slogdet qr one_hot"
            " layer_norm rms_norm view_as_complex"
        ),
        _linear: "linear",
        _embedding: "embedding",
        _product: "matmul mm mv bmm dot",
        _of_images: (
            "conv conv_transpose conv_grad_input max_pool max_pool_grad max_pool_gather avg_pool"
            " avg_pool_grad adaptive_avg_pool adaptive_avg_pool_grad adaptive_max_pool resample"
        ),
        _slicing: "getitem getitem_adjoint slice_scatter",
        _indexing: "index index_adjoint index_put",
    }.items()
    for name in names.split()
}
