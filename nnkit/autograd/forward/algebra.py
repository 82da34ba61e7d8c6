"""The algebra of a forward level: the primitives, on duals.

Tangents are pushed through an op by its backward rules. These map the gradients of the outputs
linearly to gradients of the inputs. The transposed map, the derivative of the rules with respect
to the gradients, maps tangents of the inputs to tangents of the outputs. So every op that can be
differentiated backwards can be differentiated forwards.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

from nnkit.autograd.anomaly import set_detect_anomaly
from nnkit.autograd.engine.grad import grad
from nnkit.autograd.engine.saved import STACK
from nnkit.autograd.engine.unpacking import unpack_tensor
from nnkit.autograd.forward.dependence import dependent, wants
from nnkit.autograd.forward.dual import (
    Dual,
    ForwardLevel,
    has_derivative,
    is_read_only,
    laid_out,
    read_only_zeros_like,
)
from nnkit.autograd.forward.level import LevelAlgebra
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.code import GRAD, INPUT, OUTPUT, SAVED, STATIC, identity, read_of
from nnkit.autograd.op.promotion import on_one_device
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.op.rule import without_forward
from nnkit.autograd.tensor import Tensor, differentiable, on_its_own, wrap
from nnkit.autograd.views.overlap import shares_memory
from nnkit.autograd.views.writes import write, wrote
from nnkit.backend.algebra import CATALOGUE, FORMULAS, Primitive, reference_body
from nnkit.backend.dtype import COMPLEX
from nnkit.backend.formula import interpret
from nnkit.backend.lazy import is_zero
from nnkit.backend.memory import owner


class Forward(LevelAlgebra):
    """The primitives of a backend, on the duals of a level."""

    def primal(self, value: Any) -> Any:
        """The tensor below a dual or an array; anything else as it is."""
        if value.__class__ is Dual:
            return value.primal
        return wrap(value, self.level.place) if hasattr(value, "strides") else value


ForwardLevel.algebra = Forward


def _compute(B: Forward, primitive: Primitive, *arguments: Any) -> Any:
    name, count = primitive.name, len(primitive.arrays)
    given, statics = arguments[:count], arguments[count:]
    operands = tuple(given[0]) if primitive.sequences else given
    primals = on_one_device(name, tuple(map(B.primal, operands)))
    if primitive.tells or not primals:
        place = primals[0]._device if primals else B.level.place
        result = getattr(place.backend, name)(*[p._array for p in primals], *statics)
        return result if primals else Dual(wrap(result, place), None)
    tangents = [x.tangent if x.__class__ is Dual else None for x in operands]
    if name == "sgn" and not primals[0].is_complex():
        return B.sgn_real(*arguments)  # its own op, as on Tensors
    moving = MODE.carries and not MODE.inference and any(t is not None for t in tangents)
    if moving and not hasattr(OPS.get(name), "op") and not primitive.constant:
        if name in FORMULAS:
            known = dict(zip(FORMULAS[name].parameters, arguments, strict=True))
            return interpret(FORMULAS[name].trace(), known, B)[0]
        body = reference_body(primitive)
        if body is not None:
            return body(B, *arguments)
    function = getattr(LIFTED, name)
    result = function(*((primals,) if primitive.sequences else primals), *statics)
    if result is primals[0]:
        return operands[0]
    outputs = tuple(map(differentiable, result if isinstance(result, tuple) else (result,)))
    op = getattr(function, "op", None)
    if op is not None and op.is_view and all(shares_memory(o, primals[0]) for o in outputs):
        source = operands[0]

        def part(tangent: Tensor, i: int) -> Tensor:
            found = function(laid_out(tangent, source.primal), *statics)
            return found[i] if isinstance(result, tuple) else found

        views = [Dual(out, None, source, partial(part, i=i)) for i, out in enumerate(outputs)]
    elif moving and op is not None:
        before = MODE.level, MODE.saves_inference
        MODE.level, MODE.saves_inference = None, True
        try:
            # Primals and tangents may be of several levels around this one.
            together = on_one_device(name, (*primals, *tangents, *outputs))
            n = len(primals)
            primals, tangents, lifted = together[:n], together[n : 2 * n], together[2 * n :]
            pushed = _pushed(op, primals, statics, lifted, tangents, B.level)
        finally:
            MODE.level, MODE.saves_inference = before
        views = list(map(Dual, outputs, pushed))
    else:
        views = [Dual(out, None) for out in outputs]
    return tuple(views) if isinstance(result, tuple) else views[0]


def _pushed(
    op: Any, primals: tuple, statics: tuple, outputs: tuple, tangents: tuple, level: ForwardLevel
) -> list[Tensor | None]:
    """The tangents of an op's outputs, given those of its inputs."""
    rules = op.rules * len(primals) if op.primitive.sequences else op.rules
    number = op.name in ("mul", "div")  # which torch makes a tensor
    edges = tuple(
        [
            primal if (op.joint or rule) and (has_derivative(primal) or number) else None
            for primal, rule in zip(primals, rules, strict=True)
        ]
    )
    differentiable = op.differentiable * len(outputs) if op.primitive.many else op.differentiable
    # The gradients of a hidden output, such as what a rule reads, are asked for as well.
    wanted = [
        (flows or op.only_first) and has_derivative(output)
        for flows, output in zip(differentiable, outputs, strict=True)
    ]
    if not any(wanted) or not any(
        e is not None and t is not None for e, t in zip(edges, tangents, strict=True)
    ):
        return [None] * len(outputs)
    if op.node_name == "NotImplemented":
        raise without_forward(op.name)
    recorded = MODE.enabled
    real = not any(isinstance(v, Tensor) and v.is_complex() for v in (*primals, *outputs))
    if op.linear:
        found = [_through(op, primals, statics, tangents)]
    elif op.along is not None:
        moving = [
            read_only_zeros_like(primal) if t is None and has_derivative(primal) else t
            for primal, t in zip(primals, tangents, strict=True)
        ]
        along = op.along(primals, moving, statics, outputs)
        found = along if isinstance(along, tuple) else [along]
    elif op.name in FORMULAS and (real or op.name == "sgn"):  # whose rule is its own transpose
        found = [_along(op, primals, statics, outputs[0], edges, tangents)]
    elif op.elements is not None:  # a loss
        reduction, *scalars = statics
        each = _along(op.elements, primals, tuple(scalars), primals[0], edges, tangents)
        found = [each if reduction == "none" else getattr(LIFTED, reduction)(each, None, False)]
    else:
        found = _transposed(op, primals, statics, outputs, edges, wanted, tangents)
    depends, kind = _read(op, primals, outputs) if op.depends and recorded else [], op.depends
    given = [t._array for t in tangents if t is not None]
    theirs = {id(owner(data)) for data in given if not is_zero(data)}  # which may be written
    result: list[Tensor | None] = []
    for output, tangent in zip(outputs, found, strict=True):
        if tangent is not None:
            if id(owner(tangent._array)) in theirs:
                tangent = tangent.clone()
            elif tangent._base is not None:  # of what nobody else sees
                tangent = on_its_own(tangent)
            if not (level.batched and is_read_only(tangent)):
                tangent = laid_out(tangent, output)
            tangent = dependent(tangent, depends, kind, besides=True)
        result.append(tangent)
    return result


def _along(
    op: Any, primals: tuple, statics: tuple, output: Tensor, edges: tuple, tangents: tuple
) -> Tensor:
    """The tangent of the output of an element-wise op on real numbers.

    Its rules multiply each element of a gradient by a number, and so they do with a tangent.
    """
    fixed = MODE.enabled and any(map(wants, primals))
    parts = []
    for edge, rule, given in zip(edges, op.rules, tangents, strict=True):
        if edge is None:
            continue
        if rule is None:
            raise without_forward(op.name)
        if given is not None:
            parts.append(_times(rule, _cast(given, output), primals, statics, output))
        elif fixed and any(kind in SAVED for kind, _ in rule.plan):
            # torch computes with zeros for a missing tangent, so its result depends on whatever
            # they are multiplied by.
            zeros = read_only_zeros_like(output)
            product = _times(rule, zeros, primals, statics, output)
            parts.append(product if is_read_only(product) else LIFTED.mul(zeros, product))
    return _fitted(reduce(LIFTED.add, parts), output)


def _through(op: Any, primals: tuple, statics: tuple, tangents: tuple) -> Tensor:
    """The tangent of the output of a linear op: the op applied to the tangents."""
    moved = []
    for primal, given in zip(primals, tangents, strict=True):
        if has_derivative(primal):
            primal = read_only_zeros_like(primal) if given is None else _fitted(given, primal)
        moved.append(primal)
    return getattr(LIFTED, op.name)(*moved, *statics)


def _times(rule: Any, g: Tensor, primals: tuple, statics: tuple, output: Tensor) -> Tensor:
    """The rule of an element-wise op applied to a gradient, or to a tangent."""
    if rule.function is identity:
        return g
    values = {INPUT: primals, OUTPUT: (output,), STATIC: statics}
    arguments = [g if kind == GRAD else values[kind][i] for kind, i in rule.plan]
    name, place = getattr(rule.function, "primitive", None), output._device
    if name is None:  # written by hand
        return rule.function(LIFTED, *arguments)
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    alike = place.home is place and all(t._device is place for t in tensors)
    if alike and not (MODE.enabled and any(map(wants, tensors))):
        raw = [a._array if isinstance(a, Tensor) else a for a in arguments]
        return wrap(getattr(place.backend, name)(*raw), place)
    return getattr(LIFTED, name)(*arguments)


def _transposed(
    op: Any, primals: tuple, statics: tuple, outputs: tuple, edges: tuple, wanted: list,
    tangents: tuple,
) -> list[Tensor | None]:  # fmt: skip
    """The tangents of the outputs by the transpose of the rules."""
    hooks, STACK.pairs = STACK.pairs, []  # hooks on saved tensors do not see this node
    try:
        node = op.record(primals, statics, edges, outputs, outputs[0]._device)
    finally:
        STACK.pairs = hooks

    def unpack(node: Any, value: Any) -> Any:
        saved, _ = value
        if getattr(saved, "index", None) is None:
            return unpack_tensor(node, value)
        if saved.index and op.only_first and outputs[0].requires_grad:  # hidden: it has no history
            return unpack_tensor(outputs[0].grad_fn, value)
        return outputs[saved.index]

    recorded, MODE.enabled = MODE.enabled, True
    try:
        weights = [
            LIFTED.zeros_like(output)._set_requires_grad(True) if has else None
            for output, has in zip(outputs, wanted, strict=True)
        ]
        gradients = node.gradients(LIFTED, weights, unpack)
    finally:
        MODE.enabled = recorded
    reached = [
        (gradient, given)
        for gradient, given in zip(gradients, tangents, strict=True)
        if given is not None and gradient is not None
    ]
    moved = [w for w in weights if w is not None]
    wanting = any(map(wants, primals))
    if wanting and recorded:
        reached += [
            (gradient, read_only_zeros_like(gradient))
            for gradient, given in zip(gradients, tangents, strict=True)
            if gradient is not None and given is None and all(gradient is not w for w in moved)
        ]
    pairs = [(gradient, given) for gradient, given in reached if gradient.requires_grad]
    found: Any = (None,) * len(moved)
    if pairs:
        # Without a history of the tangents or primals there shall be none by the weights.
        history = recorded and (wanting or any(wants(given) for _, given in pairs))
        with set_detect_anomaly(False):  # which is about backward
            found = grad(
                [g for g, _ in pairs], moved, [_fitted(given, g) for g, given in pairs],
                retain_graph=True, create_graph=history, allow_unused=True,
            )  # fmt: skip
    row = iter(found)
    tangents_of: list[Tensor | None] = []
    for output, weight in zip(outputs, weights, strict=True):
        tangent = None if weight is None else next(row)
        if weight is not None and tangent is None:
            tangent = LIFTED.zeros_like(output)
        tangents_of.append(tangent)
    return tangents_of


def _read(op: Any, primals: tuple, outputs: tuple) -> list:
    """The inputs or outputs that the rules of an op read."""
    sources = [read_of(i, rule) for i, rule in enumerate(op.rules)]
    return [(outputs if s[0] == OUTPUT else primals)[s[1]] for s in sources if s]


def _fitted(tangent: Tensor, gradient: Tensor) -> Tensor:
    """A tangent with the shape and the dtype of a gradient, or of a primal that is written."""
    tangent = _cast(tangent, gradient)
    return tangent.expand(gradient.shape) if tangent.shape != gradient.shape else tangent


def _cast(tangent: Tensor, gradient: Tensor) -> Tensor:
    """A tangent with the dtype of a gradient."""
    if tangent._array.dtype == gradient._array.dtype:
        return tangent
    if tangent.dtype.category == COMPLEX > gradient.dtype.category:
        tangent = OPS["real"](tangent)
    return OPS["cast"](tangent, gradient._array.dtype)


def _write(B: Forward, primitive: Primitive, x: Dual, *arguments: Any) -> Dual:
    """A write, by the primitive that computes the same; if there is none, without a derivative."""
    name = primitive.name
    twin = CATALOGUE.get(name[:-1])
    primal, *operands = map(B.primal, (x, *arguments))
    if twin is not None and twin.parameters == primitive.parameters:
        found: Any = None

        def compute(before: Tensor, *_: Any) -> Tensor:
            nonlocal found
            # The tangent may depend on the values that will be overwritten.
            before = before.clone() if MODE.enabled and wants(before) else before
            found = getattr(B, name[:-1])(Dual(before, x.tangent), *arguments)
            return found.primal

        write(primal, name, compute, *operands)
        if MODE.carries:
            x.tangent = None if found.tangent is None else _fitted(found.tangent, primal)
        return x
    raw = [a._array if isinstance(a, Tensor) else a for a in operands]
    getattr(primal._device.backend, name)(primal._array, *raw)
    wrote(primal, name)
    # The rest is renormalisation, which has no derivative.
    if primitive.subject == "random" and MODE.carries:
        x.tangent = None
    return x


def _copy(B: Forward, primitive: Primitive, x: Dual, source: Any) -> Dual:
    x.primal.copy_(B.primal(source))
    if not MODE.carries or not has_derivative(x.primal):
        return x
    tangent = source.tangent if source.__class__ is Dual and not MODE.inference else None
    if tangent is None:
        return _clear_tangent(x)
    fitted = _fitted(tangent, x.primal)
    if (source.base or source).given or fitted.shape != tangent.shape:
        # A given tangent is written with its primal, so none may share it; an expanded one does
        # not have the layout of the primal.
        fitted = fitted.clone()
    x.tangent = fitted
    return x


def _clear_tangent(x: Dual) -> Dual:
    """The dual after its primal was overwritten with constants: a tangent becomes zeros."""
    x.tangent = None if x.tangent is None else x.tangent.clone().zero_()
    return x


def _fill(B: Forward, primitive: Primitive, x: Dual, value: Any) -> Dual:
    x.primal.fill_(value)
    return _clear_tangent(x) if MODE.carries else x


Forward._compute, Forward._write = _compute, _write
Forward._writes = {"copy_": _copy, "fill_": _fill}
