"""A differentiable op: a primitive of the algebra and the rules for its derivatives.

`rule` declares one and returns its ``apply`` function, which has the signature of the primitive
but takes Tensors where that takes arrays. The names of a rule's parameters say what it reads, and
so what is saved for backward:

====================  =====================================================================
``g``                 the gradient of the output (``g_<output>`` if several outputs have one,
                      the list of all if their number varies)
an input's name       that input (saved as a Tensor, so that it can be differentiated again)
an output's name      that output (``out`` if there is only one)
a static's name       that argument as it was passed; Tensors in it (an index) like inputs
``<input>_shape``     the shape of the input, without keeping its data
``<input>_columns``   whether the input is stored by columns, so that its gradient will be, too
``<input>_rows``      whether the input is stored by rows
``needs``             which inputs want a gradient, a tuple of bools (for ``joint`` rules)
====================  =====================================================================
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, NoReturn

from nnkit.autograd.batch.examples import beside
from nnkit.autograd.compiled import bind_op, bind_record
from nnkit.autograd.engine import node as node_module
from nnkit.autograd.engine.node import (
    Immediate,
    Node,
    NotImplementedBackward,
    OutputEdge,
    SavedOutput,
    edge_of,
)
from nnkit.autograd.engine.saved import (
    ACTIVE,
    keep_copy,
    pack_recorded,
    pack_values,
    save_index,
    unpack_index,
)
from nnkit.autograd.engine.saved_attributes import saved_attributes
from nnkit.autograd.forward.dependence import depending
from nnkit.autograd.forward.dual import positions_on
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.code import (
    COLUMNS,
    GRAD,
    INDEX,
    INPUT,
    NEEDS,
    OUTPUT,
    ROWS,
    SHAPE,
    STATIC,
    naming,
    node_name_of,
    print_apply_code,
    print_node_code,
)
from nnkit.autograd.op.inference import beside_unknown, is_seen_otherwise, record_seen, seen_edges
from nnkit.autograd.op.promotion import on_one_device, translated
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import link_view, refresh
from nnkit.backend.algebra import CATALOGUE, Primitive, reference_body
from nnkit.backend.dtype import FLOATING
from nnkit.backend.memory import by_columns, by_rows


class Rule:
    """A derivative rule, with the source (kind, index) of each of its parameters."""

    __slots__ = ("function", "plan")

    def __init__(self, function: Callable, names: tuple[str, ...], primitive: Primitive) -> None:
        self.function = function
        self.plan = [_source(name, primitive) for name in names]


# The suffixes of parameters that read something about an input other than its data.
_ABOUT_INPUTS = {"_shape": SHAPE, "_columns": COLUMNS, "_rows": ROWS}


def _source(name: str, primitive: Primitive) -> tuple[int, Any]:
    """The source of a rule's parameter: its kind and its index among those of that kind."""
    if name in primitive.arrays:
        return INPUT, primitive.arrays.index(name)
    if name in primitive.statics:
        return INDEX if name in primitive.indices else STATIC, primitive.statics.index(name)
    if name in primitive.outputs:
        return OUTPUT, primitive.outputs.index(name)
    for suffix, kind in _ABOUT_INPUTS.items():
        if name.endswith(suffix) and name.removesuffix(suffix) in primitive.arrays:
            return kind, primitive.arrays.index(name.removesuffix(suffix))
    if name == "needs":
        return NEEDS, 0
    if name == "g":
        return GRAD, slice(None) if primitive.many else 0
    if name.startswith("g_") and name[2:] in primitive.outputs:
        return GRAD, primitive.outputs.index(name[2:])
    raise TypeError(f"rule of {primitive}: parameter {name!r} is no input, output or static")


def parameter_names(function: Callable) -> tuple[str, ...]:
    """The names of a function's parameters, without the cost of `inspect.signature`."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class Op:
    """A primitive with its derivative rules; its ``record`` makes the nodes of results.

    The arguments are those of `rule`.
    """

    __slots__ = (
        "alone", "along", "also", "apart", "broadcasts", "depends", "differentiable", "elements",
        "fixed", "is_view", "joint", "linear", "materializes", "name", "names", "node_name",
        "node_type", "only_first", "order", "primitive", "private", "record", "reflected",
        "rules", "values",
    )  # fmt: skip

    def __init__(
        self, primitive: Primitive, rules: dict[str, Callable],
        node: str | Callable[[Any, Any], str], *, joint: Callable | None = None,
        view: bool = False, broadcasts: bool = False, nondifferentiable: tuple[str, ...] = (),
        private: tuple[str, ...] | Mapping[str, str] = (), depends: str | None = None,
        alone: Any = None, apart: Any = (), also: Mapping[str, tuple[str, ...]] | None = None,
        fixed: tuple[str, ...] = (), linear: bool = False, order: tuple[str, ...] = (),
        materializes: bool = True, along: Callable | None = None, elements: Op | None = None,
    ) -> None:  # fmt: skip
        self.linear = linear
        self.along = along
        self.elements = elements
        self.materializes = materializes
        self.name = primitive.name
        self.depends = depends
        self.alone = alone
        self.apart = apart
        self.fixed = fixed
        self.primitive = primitive
        self.names = node if callable(node) else None
        self.node_name = node if isinstance(node, str) else node_name_of(primitive.name)
        # The op of a number and a Tensor, if torch has another node for that.
        self.reflected: Op | None = None
        self.is_view = view
        self.broadcasts = broadcasts
        besides = private if isinstance(private, Mapping) else dict.fromkeys(private)
        self.private = {
            _source(name, primitive): None if other is None else primitive.arrays.index(other)
            for name, other in besides.items()
        }
        self.also = {
            primitive.arrays.index(name): [_source(n, primitive) for n in names]
            for name, names in (also or {}).items()
        }
        self.joint = Rule(joint, parameter_names(joint)[1:], primitive) if joint else None
        self.order = [primitive.arrays.index(n) for n in order] or range(len(primitive.arrays))
        self.rules: list[Rule | None] = [None] * len(primitive.arrays)
        for name, function in rules.items():
            if name not in primitive.arrays:
                raise TypeError(f"rule of {primitive}: no input is called {name!r}")
            names = getattr(function, "parameters", None) or parameter_names(function)[1:]
            self.rules[primitive.arrays.index(name)] = Rule(function, names, primitive)
        self.differentiable = tuple(o not in nondifferentiable for o in primitive.outputs)
        # If only the first output is differentiable, the node has one output, until a backward
        # that is differentiated itself sends a gradient to another output that the node saved.
        first, *others = self.differentiable
        self.only_first = bool(others) and first and not any(others) and not primitive.many
        # Every source that is saved, each once, with the inputs whose gradients need it.
        self.values: dict[tuple[int, int], list[int]] = {}
        for position, r in enumerate(self.rules):
            for source in [*(r.plan if r else ()), *self.also.get(position, ())]:
                if source[0] not in (GRAD, NEEDS):
                    self.values.setdefault(source, []).append(position)
        for source in self.joint.plan if self.joint else ():
            if source[0] not in (GRAD, NEEDS):
                self.values[source] = []
        # As in torch, outputs and what several rules read are saved whatever gradient is wanted.
        for source, users in self.values.items():
            if source[0] == OUTPUT or self.joint or len(users) != 1:
                self.values[source] = list(range(len(primitive.arrays)))
        self.node_type: type[Node] | None = None

    def __getattr__(self, name: str) -> Any:
        # Reached while the slot `record` is empty: it is printed when the first node is made.
        if name != "record":
            raise AttributeError(name)
        source = print_node_code(self)
        scope: dict[str, Any] = {"new": object.__new__, "next": next, "node": node_module}
        scope["__name__"] = __name__
        scope.update(Tensor=Tensor, SavedOutput=SavedOutput, by_columns=by_columns, by_rows=by_rows)
        scope.update(hooked=ACTIVE, pack_recorded=pack_recorded, keep_copy=keep_copy)
        scope.update(depending=depending, save_index=save_index, unpack_index=unpack_index)
        for i, r in enumerate([*self.rules, self.joint]):
            scope[f"rule{i}"] = r and r.function
        exec(compile(source, f"<node {self.node_name}>", "exec"), scope)
        members = {
            "__slots__": (), "gradients": scope["gradients"], "op": self, "operation": self.name,
            "saves_arrays": scope["saves_arrays"], "slots": self.slots(), "source": source,
            "is_reordered": self.order.__class__ is list, "materializes": self.materializes,
            "shows_unasked": bool(self.primitive.sequences),
            "__module__": "nnkit.autograd", **saved_attributes(self),
        }  # fmt: skip
        if self.node_name in ("CopyBackwards", "CopySlices"):  # in torch not a function's node
            members["space"] = node_module.OF_NO_OP
        bases: Any = (Immediate if self.node_name == "NotImplemented" else Node,)
        self.node_type = scope["NodeType"] = type(self.node_name, bases, members)
        record = self._compiled(scope["record"])
        self.record = naming(record, self.node_type, self.names) if self.names else record
        return self.record

    def slots(self) -> tuple | None:
        """The positions of the inputs that have gradients, in torch's order; None if all have."""
        if self.joint and self.fixed:
            return tuple([i for i, n in enumerate(self.primitive.arrays) if n not in self.fixed])
        if self.joint or self.primitive.sequences:
            return None
        return tuple([i for i in self.order if self.rules[i] is not None])

    def _compiled(self, record: Callable) -> Callable:
        """The compiled form of ``record``, or ``record`` itself if that saves anything unusual."""
        unknown = self.private or self.primitive.sequences or self.primitive.constants
        if unknown or any(kind == INDEX for kind, _ in self.values):
            return record
        values = []
        for (kind, place), users in self.values.items():
            bits = sum(1 << user for user in users)
            for_all = len(users) == len(self.primitive.arrays)
            has_first = kind == OUTPUT and place > 0 and self.only_first
            values.append((kind, place, bits, for_all, has_first))
        node_type: Any = self.node_type
        return bind_record(record, node_type, values)


class Guard(Node):
    """The node of a function made of several ops. Its backward raises if a tensor was written that
    torch's single op would have saved."""

    __slots__ = ()
    saves_arrays = True

    @property
    def operation(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.values[0]

    def gradients(self, B: Any, grads: list, unpack: Callable) -> list:
        for saved in self.values[1:]:
            unpack(self, saved)
        return grads


@functools.cache
def _guard_of(name: str) -> type[Guard]:
    """The class of a function's nodes."""
    return type(node_name_of(name), (Guard,), {"__slots__": ()})


def guarded(name: str, out: Tensor, *saved: Tensor) -> Tensor:
    """``out``, the result of function ``name``; its backward raises if ``saved`` was written."""
    if out._requires_grad:
        values = [
            (SavedOutput(t._array, t._writes, 0) if t is out else t, t._writes[0]) for t in saved
        ]
        out._edge = _guard_of(name)((out._edge,), (name, *values), out._device)
        if ACTIVE:
            pack_values(out._edge, (out,))
    return out


def rule(
    name: str,
    *,
    node: str | Callable[[Any, Any], str] | None = None,
    view: bool = False,
    broadcasts: bool = False,
    joint: Callable | None = None,
    nondifferentiable: tuple[str, ...] = (),
    private: tuple[str, ...] | Mapping[str, str] = (),
    depends: str | None = None,
    alone: str | Callable | None = None,
    apart: tuple[str, ...] | Callable = (),
    also: Mapping[str, tuple[str, ...]] | None = None,
    fixed: tuple[str, ...] = (),
    linear: bool = False,
    order: tuple[str, ...] = (),
    materializes: bool = True,
    along: Callable | None = None,
    elements: Op | None = None,
    **rules: Callable,
) -> Callable:
    """Declare how primitive ``name`` is differentiated, and return its function on Tensors.

    Args:
        name: a primitive of the catalogue.
        node: the name of the node class, by default ``<Name>Backward0``. Or a function of the
            operands and the statics that returns it, if torch has several ops for the primitive.
        view: whether the result is a view of the first input.
        broadcasts: whether a rule may return a gradient larger than its input; the engine then
            sums it down to the input's shape.
        joint: one rule for all inputs; returns one gradient (or None) for each input.
        nondifferentiable: outputs without a gradient, such as indices. A rule may still read
            ``g_<output>``: None, unless a backward that saved this output is differentiated.
        private: inputs and outputs of which a copy is saved, so that they may be written before
            backward. For ops that are several in torch, which save intermediate results. A mapping
            names for each the input whose gradient torch takes from itself, without a copy.
        depends: of what a gradient is a function in torch, even if nothing it is computed from
            requires grad: ``"zeros"``, of what the rule reads, with zeros as derivative;
            ``"backward"``, the same without a tangent (most kinked functions, and pooling);
            ``"none"``, of all inputs that are read, but no gradient is sent to them (a bias).
        alone: what torch does if all operands are inference tensors and one of them requires grad.
            Its autograd does not see such tensors, so by default the op is not recorded. With
            ``"number"`` it is not either, and a number does not count as an operand;
            ``"recorded"``: it is recorded (torch works on copies); ``"written"``: it is, and its
            backward runs once (torch writes into a view); ``"copied"``: a copy of the first
            operand is recorded in its place; ``"refused"``: RuntimeError (torch calls a function
            with ``out=``); ``"composed"``: the steps of the reference body are recorded, also if
            only some operands are inference tensors. Or a function of the arguments that returns
            one of these.
        apart: inputs that torch first processes by themselves: an inference tensor among them gets
            no gradient, whatever the other operands are. Or a function that returns them.
        also: for an input, what torch saves for its gradient though the rule here does not read it;
            writing that before backward is an error.
        fixed: inputs of a joint rule that never have a gradient and are not listed by the node.
        linear: whether forward mode applies the op itself to the tangents. Needed if elements may
            be written several times: then the last one stays, but all receive its gradient.
        order: the inputs in the order of torch's node, if that differs; the node lists them and
            sends their gradients in this order.
        materializes: whether rules get zeros for an output that received no gradient, or None.
        along: the tangent of the output, or a tuple of those of all; a function of all inputs,
            their tangents (zeros that nobody may write where there are none), the numbers and the
            outputs; if torch's differs from what the rules give.
        elements: for a loss, the element-wise op whose outputs it reduces.
        rules: for each differentiable input a function ``(B, g, ...)`` that returns its gradient.
            If the op broadcasts, the gradient has the broadcast shape (the engine sums it down).
    """
    primitive = CATALOGUE[name]
    op = Op(
        primitive, rules, node or node_name_of(name), joint=joint, view=view,
        broadcasts=broadcasts, nondifferentiable=nondifferentiable, private=private,
        depends=depends, alone=alone, apart=apart, also=also, fixed=fixed, linear=linear,
        order=order, materializes=materializes, along=along, elements=elements,
    )  # fmt: skip
    apply = _make_apply(op)
    apply.__name__ = apply.__qualname__ = name
    apply.op = op
    if not primitive.indices:
        apply = bind_op(op, apply, connect, link=link_view if view else None)
    OPS[name] = apply
    return apply


def _make_apply(op: Op) -> Any:
    """The function of an op on Tensors; static arguments are passed on unchanged."""
    if op.primitive.sequences:
        return _make_apply_to_sequence(op)
    scope: dict[str, Any] = {
        "op": op, "wrap": wrap, "refresh": refresh, "link_view": link_view, "MODE": MODE,
        "connect": connect, "on_one_device": on_one_device, "not_tensor": _not_tensor,
        "beside": beside, "positions_on": positions_on, "translated": translated,
        "__name__": __name__,
    }  # fmt: skip
    scope["apply"] = apply = FunctionType(_first_call.__code__, scope)
    scope["print_apply"] = lambda: _print_apply(op, scope)
    return apply


def _first_call(*arguments: Any) -> Any:
    """The code of each ``apply`` until its first call prints the op's own. (To print all at import
    would be slow.)"""
    apply.__code__ = print_apply()  # pyright: ignore  # noqa: F821  names of the op's scope
    return apply(*arguments)  # pyright: ignore  # noqa: F821


def _print_apply(op: Op, scope: dict[str, Any]) -> Any:
    source = print_apply_code(op)
    printed: dict[str, Any] = {}
    exec(compile(source, f"<op {op.name}>", "exec"), scope, printed)
    scope["apply"].source = source
    return printed["apply"].__code__


def _make_apply_to_sequence(op: Op) -> Any:
    """`_make_apply` for an op on a sequence of Tensors."""
    name = op.name
    several = len(op.primitive.outputs) > 1 or op.primitive.many
    flow = op.joint is not None or op.rules[0] is not None

    def apply(sequence: Any, *statics: Any) -> Any:
        tensors = tuple(sequence)
        device = None
        for t in tensors:
            if not isinstance(t, Tensor):
                raise TypeError(_not_tensor(name, op.primitive.arrays * len(tensors), tensors))
            if t._device is not device:
                if device is not None:
                    return apply(on_one_device(name, tensors), *statics)
                device = t._device
            if flow and t._base is not None:
                refresh(t)
        arrays = [t._array for t in tensors]
        try:
            result = getattr(device.backend, name)(arrays, *statics)  # pyright: ignore
        except (TypeError, ValueError, MemoryError) as error:
            raise translated(name, tensors, error) from None
        if several:
            outputs = tuple([wrap(r, device) for r in result])
        else:
            outputs = (wrap(result, device),)
        if flow and MODE.enabled:
            edges = tuple([edge_of(t) if t._requires_grad else None for t in tensors])
            if any(e is not None for e in edges):
                connect(op, tensors, statics, edges, outputs, device)
        return outputs if several else outputs[0]

    return apply


def check_source(name: str, input: Tensor, source: Tensor, parameter: str = "src") -> None:
    """RuntimeError if ``source`` requires grad but would be cast to the integers of ``input``."""
    if source._requires_grad and MODE.enabled and input.dtype.category < FLOATING:
        raise RuntimeError(
            f"{name}(): a result of dtype {input.dtype} has no gradient, but argument "
            f"'{parameter}' requires grad"
        )


def check_constant(name: str, parameter: str, value: Tensor, around: bool = False) -> None:
    """RuntimeError if an operand requires grad for which the function has no derivative.

    ``around`` looks outside of the transforms as well, where torch's `vmap` has no rule of it.
    """
    wanted = value._requires_grad or (
        around and value._device.depth and any(t._requires_grad for t, _ in _in_all_levels(value))
    )
    if wanted and MODE.enabled:
        raise RuntimeError(f"{name}(): not differentiable with respect to argument '{parameter}'")


def _in_all_levels(value: Tensor) -> Iterator[tuple[Tensor, Any]]:
    """A tensor and the rest of what its level holds, then the same for what is around that."""
    while value._device.depth:
        inner, rest = value._device.lower(value)
        yield value, rest
        value = inner
    yield value, None


def refusing(operation: str, error: type[Exception] = RuntimeError) -> Callable:
    """The rule of an input with respect to which an operation has no derivative."""

    def gradient(B: Any, g: Any) -> NoReturn:
        raise error(f"{operation}(): the derivative is not implemented")

    return gradient


def without_derivative(
    operation: str, out: Tensor, error: type[Exception] = RuntimeError
) -> Tensor:
    """``out``, the result of an operation without a derivative: backward through it raises, and
    forward mode raises at once."""
    refuse_tangent(operation, out)
    for each, _ in _in_all_levels(out):
        if each._requires_grad:
            each._edge = NotImplementedBackward(each._edge.edges, (error, operation), each._device)
    return out


def refuse_tangent(operation: str, value: Tensor) -> None:
    """NotImplementedError if a tensor has a tangent, of which the operation knows nothing."""
    if any(isinstance(rest, Tensor) for _, rest in _in_all_levels(value)):
        raise without_forward(operation)


def without_forward(operation: str) -> NotImplementedError:
    """The error of an operation that has no forward derivative."""
    return NotImplementedError(
        f"Trying to use forward AD with {operation} that does not support it because it has not "
        "been implemented yet"
    )


def real_gradient(name: str, out: Tensor) -> Tensor:
    """``out`` of a function that is differentiable for real results only; RuntimeError if it is
    complex and requires grad."""
    if out._requires_grad and out._array.dtype.kind == "c":
        raise RuntimeError(
            f"{name}() does not support automatic differentiation for outputs with complex dtype"
        )
    return out


def connect(
    op: Op, tensors: tuple, statics: tuple, edges: tuple, outputs: tuple, device: Any
) -> None:
    """Make the node of an operation and connect its ``outputs`` to it."""
    way, given = None, edges
    for t in tensors:
        if t is not None and is_seen_otherwise(t):
            if op.alone == "composed":
                return _connect_steps(op, tensors, statics, outputs)
            edges, way = seen_edges(op, tensors, statics, edges)
            if edges is None:
                return
            if way == "copied":
                for out, differentiable in zip(outputs, op.differentiable, strict=True):
                    if differentiable:
                        connect(OPS["copy"].op, tensors[:1], (), edges, (out,), device)
                return
            node = record_seen(op, tensors, statics, edges, outputs, device)
            break
    else:
        node = op.record(tensors, statics, edges, outputs, device)
    if op.broadcasts:
        node.meta = tuple(
            None if e is None else (t._array.shape, t._array.dtype)
            for e, t in zip(edges, tensors, strict=True)
        )
    if len(outputs) == 1 or op.only_first:
        out = outputs[0]
        out._requires_grad = True
        out._edge = node if way != "written" else Guard((node,), (op.name,), device)
        if way is None and given is not edges:
            out._edge = beside_unknown(node, given)
        return
    wanted = op.differentiable * len(outputs) if op.primitive.many else op.differentiable
    node.outputs = [
        (o._array.shape, o._array.dtype) if d else None
        for o, d in zip(outputs, wanted, strict=True)
    ]
    for index, (out, differentiable) in enumerate(zip(outputs, wanted, strict=True)):
        if differentiable:
            out._requires_grad = True
            out._edge = OutputEdge(node, index)


def _connect_steps(op: Op, tensors: tuple, statics: tuple, outputs: tuple) -> None:
    """Give the outputs the history of the steps of the reference body."""
    body: Any = reference_body(op.primitive)
    for out, made in zip(outputs, body(LIFTED, *tensors, *statics), strict=True):
        out._edge, out._requires_grad = made._edge, made._requires_grad


def _not_tensor(name: str, parameters: tuple, arguments: tuple) -> str:
    for parameter, argument in zip(parameters, arguments, strict=False):
        if argument is not None and not isinstance(argument, Tensor):
            return f"{name}(): argument '{parameter}' must be Tensor, not {type(argument).__name__}"
    return f"{name}(): expected Tensors, got {[type(a).__name__ for a in arguments]}"
