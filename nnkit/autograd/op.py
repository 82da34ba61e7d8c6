"""A differentiable op: a primitive of the algebra and the rules for its derivatives.

`rule` declares one and returns its `apply` function, which has the primitive's own signature but
takes Tensors where the primitive takes arrays. What a rule's parameters are called decides what
is saved for backward:

====================  =====================================================================
``g``                 the gradient of the output (``g_<output>`` where several outputs have one,
                      the list of all where their number varies)
an input's name       that input (saved as the Tensor, so that it can be differentiated again)
an output's name      that output (``out`` where there is only one)
a static's name       that argument, as it was passed
``<input>_shape``     the input's shape, without keeping its data
``needs``             which inputs want a gradient, a tuple of bools (for ``joint`` rules)
====================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.node import Node, OutputEdge
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views import link_view, refresh
from nnkit.backend.algebra import CATALOGUE, Primitive

OPS: dict[str, Callable] = {}  # name -> apply function; what `Lifted` offers

INPUT, OUTPUT, STATIC, SHAPE, NEEDS, GRAD = range(6)


class Rule:
    """One derivative rule and where each of its parameters comes from."""

    __slots__ = ("function", "grads", "picks", "plan")

    def __init__(self, function: Callable, names: tuple[str, ...], primitive: Primitive) -> None:
        self.function = function
        self.grads: list[int] = []
        self.plan = [_source(name, primitive) for name in names]


def _source(name: str, primitive: Primitive) -> tuple[int, int]:
    if name in primitive.arrays:
        return INPUT, primitive.arrays.index(name)
    if name in primitive.statics:
        return STATIC, primitive.statics.index(name)
    if name in primitive.outputs:
        return OUTPUT, primitive.outputs.index(name)
    if name.endswith("_shape") and name[:-6] in primitive.arrays:
        return SHAPE, primitive.arrays.index(name[:-6])
    if name == "needs":
        return NEEDS, 0
    if name == "g":
        return GRAD, slice(None) if primitive.many else 0
    if name.startswith("g_") and name[2:] in primitive.outputs:
        return GRAD, primitive.outputs.index(name[2:])
    raise TypeError(f"rule of {primitive}: parameter {name!r} is no input, output or static")


class SavedOutput:
    """An output kept for backward without a reference cycle through its own node."""

    __slots__ = ("_data", "_version", "index")

    def __init__(self, data: Any, version: list, index: int) -> None:
        self._data = data
        self._version = version
        self.index = index


def parameter_names(function: Callable) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class Op:
    """A primitive with its rules; makes the nodes of its results."""

    __slots__ = (
        "broadcasts", "differentiable", "is_view", "joint", "name", "needed", "node_name", "node_type",
        "primitive", "rules", "values",
    )  # fmt: skip

    def __init__(
        self, primitive: Primitive, rules: dict[str, Callable], joint: Callable | None,
        node: str, view: bool, broadcasts: bool, nondifferentiable: tuple[str, ...],
    ) -> None:  # fmt: skip
        self.name = primitive.name
        self.primitive = primitive
        self.node_name = node
        self.node_type: type[Node] | None = None
        self.is_view = view
        self.broadcasts = broadcasts
        self.joint = Rule(joint, parameter_names(joint)[1:], primitive) if joint else None
        self.rules: list[Rule | None] = [None] * len(primitive.arrays)
        for name, function in rules.items():
            if name not in primitive.arrays:
                raise TypeError(f"rule of {primitive}: no input is called {name!r}")
            names = getattr(function, "parameters", None) or parameter_names(function)[1:]
            self.rules[primitive.arrays.index(name)] = Rule(function, names, primitive)
        self.differentiable = tuple(o not in nondifferentiable for o in primitive.outputs)
        # Every (source, index) any rule reads, each once, and where each rule finds its own.
        self.values: list[tuple[int, int]] = []
        self.needed: list[frozenset[int]] = []
        for r in self.all_rules():
            r.picks = []
            for source in r.plan:
                if source[0] != GRAD and source not in self.values:
                    self.values.append(source)
        for r in self.all_rules():
            r.picks = [
                (True, index) if kind == GRAD else (False, self.values.index((kind, index)))
                for kind, index in r.plan
            ]
        for i in range(len(self.values)):
            users = [k for k, r in enumerate(self.rules) if r and (False, i) in r.picks]
            if self.joint and (False, i) in self.joint.picks:
                users += range(len(self.rules))
            self.needed.append(frozenset(users))

    def all_rules(self) -> list[Rule]:
        return [r for r in [*self.rules, self.joint] if r is not None]

    def new_node_type(self) -> type[Node]:
        """The Node subclass of this op, made when its first node is."""
        saves = any(kind in (INPUT, OUTPUT) for kind, _ in self.values)
        members = {
            "__slots__": (), "gradients": _gradients, "op": self, "operation": self.name,
            "saves_arrays": saves, "__module__": "nnkit.autograd",
        }  # fmt: skip
        self.node_type = type(self.node_name, (Node,), members)
        return self.node_type

    def record(
        self, tensors: tuple, statics: tuple, edges: tuple, outputs: tuple, device: Any
    ) -> Node:
        """Make the node of a result: save what the rules of the wanted gradients read."""
        values: list[Any] = []
        sequence = bool(self.primitive.sequences)
        for (kind, index), users in zip(self.values, self.needed, strict=True):
            if not sequence and not any(edges[u] is not None for u in users):
                values.append(None)
            elif kind == INPUT:
                source = tensors[index]
                values.append(
                    (source, source._version[0]) if isinstance(source, Tensor) else (source, None)
                )
            elif kind == OUTPUT:
                out = outputs[index]
                saved = SavedOutput(out._data, out._version, index)
                values.append((saved, out._version[0]))
            elif kind == STATIC:
                values.append(statics[index])
            elif kind == SHAPE:
                shapes = tuple(t._data.shape for t in tensors) if sequence else None
                values.append(shapes or tensors[index]._data.shape)
            else:
                values.append(tuple(e is not None for e in edges))
        node_type = self.node_type or self.new_node_type()
        return node_type(edges, values, device)


def _gradients(self: Any, B: Any, grads: list, unpack: Callable) -> list:
    """`Node.gradients` of every op: run the rules of the edges that want a gradient."""
    op = self.op
    values = self.values
    known = [
        unpack(self, value) if kind < STATIC and value is not None else value
        for value, (kind, _) in zip(values, op.values, strict=True)
    ]
    if op.joint is not None:
        rule = op.joint
        arguments = [grads[i] if is_grad else known[i] for is_grad, i in rule.picks]
        return rule.function(B, *arguments)
    results = []
    for edge, rule in zip(self.edges, op.rules, strict=True):
        if edge is None or rule is None:
            results.append(None)
        else:
            arguments = [grads[i] if is_grad else known[i] for is_grad, i in rule.picks]
            results.append(rule.function(B, *arguments))
    return results


def rule(
    name: str,
    *,
    node: str | None = None,
    view: bool = False,
    broadcasts: bool = False,
    joint: Callable | None = None,
    nondifferentiable: tuple[str, ...] = (),
    **rules: Callable,
) -> Callable:
    """Declare how primitive ``name`` is differentiated and get its function on Tensors.

    Args:
        name: the primitive, which the catalogue must know.
        node: the node's class name; by default ``<Name>Backward0``.
        view: whether the result shares its input's memory (basic views).
        broadcasts: whether an input may be smaller than what its rule returns; the engine then
            sums the gradient down to the input's shape.
        joint: one rule for all inputs at once; returns one gradient (or None) for each input.
        nondifferentiable: outputs that never get a gradient, such as indices.
        rules: for each differentiable input a function ``(B, g, ...)`` that returns its gradient,
            with the *output's* broadcast shape where the op broadcasts (the engine reduces it).
    """
    primitive = CATALOGUE[name]
    node = node or "".join(p.capitalize() for p in name.split("_")) + "Backward0"
    op = Op(primitive, rules, joint, node, view, broadcasts, nondifferentiable)
    apply = _make_apply(op)
    apply.__name__ = apply.__qualname__ = name
    apply.op = op
    OPS[name] = apply
    return apply


def device_of(tensors: tuple, name: str) -> Any:
    """The one device of the tensors; RuntimeError where there are two."""
    device = None
    for t in tensors:
        if t is None:
            continue
        if device is None:
            device = t._device
        elif t._device is not device:
            raise RuntimeError(
                f"{name}(): expected all tensors to be on the same device, "
                f"but found {device} and {t._device}"
            )
    return device


def _make_apply(op: Op) -> Any:
    """The function of an op on Tensors; static arguments are passed on as they are."""
    name = op.name
    count = len(op.primitive.arrays)
    sequence = bool(op.primitive.sequences)
    several = len(op.primitive.outputs) > 1 or op.primitive.many
    is_view = op.is_view

    def apply(*arguments: Any) -> Any:
        if sequence:
            tensors, statics = tuple(arguments[0]), arguments[count:]
        else:
            tensors, statics = arguments[:count], arguments[count:]
        try:
            device = device_of(tensors, name)
            raw = [None if t is None else t._data for t in tensors]
        except AttributeError:
            raise TypeError(_not_tensor(name, op.primitive.arrays, tensors)) from None
        function = getattr(device.backend, name)
        result = function(raw, *statics) if sequence else function(*raw, *statics)
        if several:
            outputs = tuple(wrap(r, device) for r in result)
        else:
            outputs = (wrap(result, device),)
        if is_view:
            for out in outputs:
                link_view(out, tensors[0], name, statics, several)
        wanted = False
        for t in tensors:
            if t is not None:
                if t._base is not None and t._version[0] != t._viewed:
                    refresh(t)
                if t._requires_grad:
                    wanted = True
        if wanted and MODE.enabled:
            connect(op, tensors, statics, outputs, device)
        return outputs if several else outputs[0]

    return apply


def connect(op: Op, tensors: tuple, statics: tuple, outputs: tuple, device: Any) -> None:
    """Record the node of ``outputs`` and give them their history."""
    rules = op.rules
    sequence = bool(op.primitive.sequences)
    edges = tuple(
        (t._edge or t)
        if t is not None and t._requires_grad and (sequence or op.joint or rules[i] is not None)
        else None
        for i, t in enumerate(tensors)
    )
    if not any(e is not None for e in edges):
        return
    node = op.record(tensors, statics, edges, outputs, device)
    if op.broadcasts:
        node.meta = tuple(
            None if e is None else (t._data.shape, t._data.dtype)
            for e, t in zip(edges, tensors, strict=True)
        )
    if len(outputs) == 1:
        out = outputs[0]
        out._requires_grad = True
        out._edge = node
        return
    node.outputs = [(o._data.shape, o._data.dtype) for o in outputs]
    wanted = op.differentiable * len(outputs) if op.primitive.many else op.differentiable
    for index, (out, differentiable) in enumerate(zip(outputs, wanted, strict=True)):
        if differentiable:
            out._requires_grad = True
            out._edge = OutputEdge(node, index)


def _not_tensor(name: str, parameters: tuple, arguments: tuple) -> str:
    for parameter, argument in zip(parameters, arguments, strict=False):
        if argument is not None and not isinstance(argument, Tensor):
            return (
                f"{name}(): argument '{parameter}' must be Tensor, not {type(argument).__name__}"
            )
    return f"{name}(): expected Tensors, got {[type(a).__name__ for a in arguments]}"
