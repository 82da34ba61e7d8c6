"""A differentiable op: a primitive of the algebra and the rules for its derivatives.

`rule` declares one and returns its `apply` function, which has the primitive's own signature but
takes Tensors where the primitive takes arrays. What a rule's parameters are called decides what
is saved for backward:

====================  =====================================================================
``g``                 the gradient of the output (``g_<output>`` where several outputs have one,
                      the list of all where their number varies)
an input's name       that input (saved as the Tensor, so that it can be differentiated again)
an output's name      that output (``out`` where there is only one)
a static's name       that argument, as it was passed; Tensors in it (an index) as inputs are
``<input>_shape``     the input's shape, without keeping its data
``<input>_columns``   whether the input lies by columns, so that its gradient does too
``<input>_rows``      whether it lies by rows
``needs``             which inputs want a gradient, a tuple of bools (for ``joint`` rules)
====================  =====================================================================
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from nnkit.autograd.batch.examples import beside
from nnkit.autograd.compiled import bind_op, bind_record
from nnkit.autograd.engine import node as node_module
from nnkit.autograd.engine.node import (
    Node,
    NotImplementedBackward,
    OutputEdge,
    Refusing,
    SavedOutput,
    Unknown,
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
from nnkit.autograd.forward.dependence import Dependence, depending
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
    SAVED,
    SHAPE,
    STATIC,
    naming,
    node_name_of,
    print_apply_code,
    print_node_code,
)
from nnkit.autograd.op.promotion import on_one_device, translated
from nnkit.autograd.op.registry import LIFTED, OPS
from nnkit.autograd.tensor import InferenceWrites, Tensor, wrap
from nnkit.autograd.views.history import is_unseen, link_view, refresh
from nnkit.autograd.views.replay import Rootless
from nnkit.backend.algebra import CATALOGUE, Primitive, reference_body
from nnkit.backend.dtype import FLOATING
from nnkit.backend.memory import by_columns, by_rows, has_expanded


class Rule:
    """One derivative rule and where each of its parameters comes from."""

    __slots__ = ("function", "plan")

    def __init__(self, function: Callable, names: tuple[str, ...], primitive: Primitive) -> None:
        self.function = function
        self.plan = [_source(name, primitive) for name in names]


def _source(name: str, primitive: Primitive) -> tuple[int, Any]:
    if name in primitive.arrays:
        return INPUT, primitive.arrays.index(name)
    if name in primitive.statics:
        return INDEX if name in primitive.indices else STATIC, primitive.statics.index(name)
    if name in primitive.outputs:
        return OUTPUT, primitive.outputs.index(name)
    if name.endswith("_shape") and name[:-6] in primitive.arrays:
        return SHAPE, primitive.arrays.index(name[:-6])
    if name.endswith("_columns") and name[:-8] in primitive.arrays:
        return COLUMNS, primitive.arrays.index(name[:-8])
    if name.endswith("_rows") and name[:-5] in primitive.arrays:
        return ROWS, primitive.arrays.index(name[:-5])
    if name == "needs":
        return NEEDS, 0
    if name == "g":
        return GRAD, slice(None) if primitive.many else 0
    if name.startswith("g_") and name[2:] in primitive.outputs:
        return GRAD, primitive.outputs.index(name[2:])
    raise TypeError(f"rule of {primitive}: parameter {name!r} is no input, output or static")


def parameter_names(function: Callable) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class Op:
    """A primitive with its rules; makes the nodes of its results."""

    __slots__ = (
        "alone", "along", "also", "apart", "broadcasts", "depends", "differentiable", "fixed",
        "is_view", "joint", "linear", "materializes", "name", "names", "node_name", "node_type",
        "only_first", "order", "primitive", "private", "record", "reflected", "rules", "values",
    )  # fmt: skip

    def __init__(
        self, primitive: Primitive, rules: dict[str, Callable], joint: Callable | None,
        node: str | Callable[[Any, Any], str], view: bool, broadcasts: bool,
        nondifferentiable: tuple[str, ...],
        private: tuple[str, ...] = (), depends: str | None = None, alone: Any = None,
        apart: Any = (), also: Mapping[str, tuple[str, ...]] | None = None,
        fixed: tuple[str, ...] = (), linear: bool = False, order: tuple[str, ...] = (),
        materializes: bool = True, along: Callable | None = None,
    ) -> None:  # fmt: skip
        self.linear = linear
        self.along = along
        self.materializes = materializes
        self.name = primitive.name
        self.depends = depends
        self.alone = alone
        self.apart = apart
        self.fixed = fixed
        self.primitive = primitive
        self.names = node if callable(node) else None
        self.node_name = node if isinstance(node, str) else node_name_of(primitive.name)
        # The same of a number and a Tensor, where that is an operation of its own in torch.
        self.reflected: Op | None = None
        self.is_view = view
        self.broadcasts = broadcasts
        self.private = [_source(name, primitive) for name in private]
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
        # Then its node is that of the first output alone, until a backward is differentiated
        # and another output, which it saved, turns out to have a gradient too.
        first, *others = self.differentiable
        self.only_first = bool(others) and first and not any(others) and not primitive.many
        # Every (kind, index) that is saved, each once, and the inputs for whose sake it is.
        self.values: dict[tuple[int, int], list[int]] = {}
        for position, r in enumerate(self.rules):
            for source in [*(r.plan if r else ()), *self.also.get(position, ())]:
                if source[0] not in (GRAD, NEEDS):
                    self.values.setdefault(source, []).append(position)
        for source in self.joint.plan if self.joint else ():
            if source[0] not in (GRAD, NEEDS):
                self.values[source] = []
        # As torch does, an output and what several rules read is saved whoever wants a gradient.
        for source, users in self.values.items():
            if source[0] == OUTPUT or self.joint or len(users) != 1:
                self.values[source] = list(range(len(primitive.arrays)))
        self.node_type: type[Node] | None = None

    def __getattr__(self, name: str) -> Any:
        # Reached while the slot `record` is empty: printed when the first node is made.
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
        if self.node_name in ("CopyBackwards", "CopySlices"):  # of no function of torch's
            members["space"] = node_module.OF_NO_OP
        bases: Any = (Refusing if self.node_name == "NotImplemented" else Node,)
        self.node_type = scope["NodeType"] = type(self.node_name, bases, members)
        record = self._compiled(scope["record"])
        self.record = naming(record, self.node_type, self.names) if self.names else record
        return self.record

    def slots(self) -> tuple | None:
        """The places of the inputs that have gradients, None where all have."""
        if self.joint and self.fixed:
            return tuple([i for i, n in enumerate(self.primitive.arrays) if n not in self.fixed])
        if self.joint or self.primitive.sequences:
            return None
        return tuple([i for i in self.order if self.rules[i] is not None])

    def _compiled(self, record: Callable) -> Callable:
        """The compiled form of ``record``, where it knows all that must be saved."""
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
    """The node of a result of several ops, which minds writes to what torch's one op has saved."""

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
    """The class of the nodes of a function."""
    return type(node_name_of(name), (Guard,), {"__slots__": ()})


def guarded(name: str, out: Tensor, *saved: Tensor) -> Tensor:
    """``out``, the result of function ``name``, with a history that minds writes to ``saved``."""
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
    private: tuple[str, ...] = (),
    depends: str | None = None,
    alone: str | Callable | None = None,
    apart: tuple[str, ...] | Callable = (),
    also: Mapping[str, tuple[str, ...]] | None = None,
    fixed: tuple[str, ...] = (),
    linear: bool = False,
    order: tuple[str, ...] = (),
    materializes: bool = True,
    along: Callable | None = None,
    **rules: Callable,
) -> Callable:
    """Declare how primitive ``name`` is differentiated and get its function on Tensors.

    Args:
        name: the primitive, which the catalogue must know.
        node: the node's class name, by default ``<Name>Backward0``; or a function of the operands
            and the statics that gives it, where torch has several functions for the primitive.
        view: whether the result shares its input's memory (basic views).
        broadcasts: whether an input may be smaller than what its rule returns; the engine then
            sums the gradient down to the input's shape.
        joint: one rule for all inputs at once; returns one gradient (or None) for each input.
        nondifferentiable: outputs without a gradient, such as indices. A rule may still ask for
            ``g_<output>``: None, unless the backward is differentiated and saved that output.
        private: inputs and outputs of which a copy is saved, so that they may be written before
            backward: where torch's op, made of several, saves what only it can see.
        depends: what a gradient is in torch even where nothing it is computed of wants one:
            ``"zeros"`` a function of what the rule reads, with a derivative of zeros;
            ``"backward"`` the same, but without a tangent (of most kinked functions and of pools);
            ``"none"`` of all inputs that are read, to which no gradient goes (a bias').
        alone: what torch does where all operands are inference tensors, of which its autograd
            knows nothing, and one requires grad: None does not record the operation, nor does
            ``"number"``, where a number is no tensor among them; ``"recorded"`` does (torch works
            on copies), and so does ``"written"``, whose backward runs once (torch writes into a
            view); ``"copied"`` records a copy of the first operand in its place; ``"refused"``
            raises a RuntimeError (torch calls a function with ``out=``). ``"composed"`` records
            the steps of the reference body wherever an operand is one. Or a function of the
            arguments that tells, here as in ``apart``.
        apart: the inputs that torch does something to by themselves first: inference tensors
            among them require no grad, whatever is beside them.
        also: what torch saves for an input's gradient though its rule here does not read it, since
            writing it before backward is an error.
        fixed: inputs of a joint rule that never have a gradient, and which no node shows.
        linear: whether forward mode puts the tangents through the op itself. So it must where
            elements may be written several times: the last one stays, and all get its gradient.
        order: the inputs as torch's node has them, where that is another order than here; so it
            shows them and sends their gradients.
        materializes: whether an output that got no gradient has zeros; else the rules get None.
        along: what forward mode has where torch has it otherwise than by the rules: a function of
            all inputs and of their tangents, which returns that of the output.
        rules: for each differentiable input a function ``(B, g, ...)`` that returns its gradient,
            with the *output's* broadcast shape where the op broadcasts (the engine reduces it).
    """
    primitive = CATALOGUE[name]
    node = node or node_name_of(name)
    op = Op(
        primitive, rules, joint, node, view, broadcasts, nondifferentiable, private, depends,
        alone, apart, also, fixed, linear, order, materializes, along,
    )  # fmt: skip
    apply = _make_apply(op)
    apply.__name__ = apply.__qualname__ = name
    apply.op = op
    if not primitive.indices:
        apply = bind_op(op, apply, connect, link=link_view if view else None)
    OPS[name] = apply
    return apply


def _make_apply(op: Op) -> Any:
    """The function of an op on Tensors; static arguments are passed on as they are."""
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
    """The code of each `apply` before its own is printed, which would slow the import down."""
    apply.__code__ = print_apply()  # pyright: ignore  # noqa: F821  names of the op's scope
    return apply(*arguments)  # pyright: ignore  # noqa: F821


def _print_apply(op: Op, scope: dict[str, Any]) -> Any:
    source = print_apply_code(op)
    printed: dict[str, Any] = {}
    exec(compile(source, f"<op {op.name}>", "exec"), scope, printed)
    scope["apply"].source = source
    return printed["apply"].__code__


def _make_apply_to_sequence(op: Op) -> Any:
    """The same for a sequence of Tensors."""
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


def copied_scalar(x: Tensor, *statics: Any) -> str | None:
    """``alone`` of a `rule` whose op torch records as a copy if the input has no dimensions."""
    return None if x._array.ndim else "copied"


def copied_without_history(x: Tensor, y: Tensor, *statics: Any) -> tuple[str, ...]:
    """``apart`` of a `rule` whose op torch writes into a copy of ``x``, of which it makes a view:
    inference tensors alone have no history then, unless elements that share memory had to be copied
    first."""
    return ("x",) if is_unseen((x, y)) and not has_expanded(x._array) else ()


def is_seen_otherwise(t: Any) -> bool:
    """Whether torch's autograd sees an operand otherwise than others that require grad: an
    inference tensor, or a view without history, whose gradient goes no further."""
    return t._writes.__class__ is InferenceWrites or t._edge.__class__ is Unknown


def seen_edges(op: Op, operands: tuple, statics: tuple, edges: tuple) -> tuple[Any, str | None]:
    """The edges that torch's autograd sees where some operands are `is_seen_otherwise`, None where
    it records nothing; and of inference tensors alone how it does (``alone`` of `rule`).

    RuntimeError where torch would call a function with ``out=``.
    """
    given = (*operands, *statics)
    alone: Any = op.alone(*given) if callable(op.alone) else op.alone
    names = op.primitive.arrays
    apart: Any = op.apart
    apart = apart(*given) if callable(apart) else apart
    for name in apart:
        place = names.index(name)
        if is_unseen((operands[place],)):
            edges = (*edges[:place], None, *edges[place + 1 :])
    seen = [t for t in operands if isinstance(t, Tensor) or alone != "number"]
    unseen = is_unseen((*seen, *_index_tensors(op.primitive, statics)))
    if unseen and alone == "refused":
        raise RuntimeError(refusal(op.name))
    way = alone if unseen else None
    if unseen and way not in ("recorded", "copied", "written"):
        return None, way
    if way == "copied":
        edges = edges[:1]
    if all(e is None for e in edges):
        return None, way
    slots = op.slots()
    # Of several operands none is saved for a gradient that goes no further.
    if len(edges if slots is None else slots) > 1:
        edges = tuple([None if e.__class__ is Unknown else e for e in edges])
    return edges, way


def record_seen(
    op: Op, operands: tuple, statics: tuple, edges: tuple, outputs: tuple, device: Any
) -> Node:
    """The node of an operation with an operand that `is_seen_otherwise`.

    Inside of a transform it may save inference tensors, unless it is recorded around all transforms
    too, for the sake of what requires a gradient there.
    """
    level, before = MODE.level, MODE.saves_inference
    if level is not None:
        tensors = [t for t in operands if isinstance(t, Tensor)]
        below = [t for t in tensors if t._writes.__class__ is not InferenceWrites]
        MODE.saves_inference = not (below and level.is_live_below(tensors))
    try:
        node = op.record(operands, statics, edges, outputs, device)
    finally:
        MODE.saves_inference = before
    if op.node_name == "NotImplemented":
        return NotImplementedBackward(edges, (RuntimeError, op.name), device)
    saved = [v for v, (kind, _) in zip(node.values, op.values, strict=True) if kind in SAVED]
    if any(v is not None for v in saved) or any(e is not None for e in edges):
        return node
    return Rootless(edges, (), device)


def beside_unknown(node: Node, edges: tuple) -> Node:
    """The node of an operation, and inside of a transform, which asks what its results depend on,
    one of the histories among its ``edges`` too that no gradient goes into."""
    unknown = [e for e in edges if e.__class__ is Unknown] if MODE.transforms else ()
    if len(edges) < 2 or not unknown:
        return node
    return Dependence((node, *unknown), "none", node.device)


def refusal(name: str) -> str:
    """The message where torch calls a function with ``out=`` that an inference tensor is given."""
    return (
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but "
        "an inference tensor that requires grad is given, for which this is one"
    )


def _index_tensors(primitive: Primitive, statics: tuple) -> list:
    """The Tensors of an op's indices."""
    given = [statics[primitive.statics.index(name)] for name in primitive.indices]
    return [i for positions in given for i in positions if isinstance(i, Tensor)]


def check_source(name: str, input: Tensor, source: Tensor, parameter: str = "src") -> None:
    """RuntimeError where an operand that wants a gradient would become integers as ``input`` is."""
    if source._requires_grad and MODE.enabled and input.dtype.category < FLOATING:
        raise RuntimeError(
            f"{name}(): a result of dtype {input.dtype} has no gradient, but argument "
            f"'{parameter}' requires grad"
        )


def check_constant(name: str, parameter: str, value: Tensor) -> None:
    """RuntimeError where an operand would get a gradient, and the function has none for it."""
    if value._requires_grad and MODE.enabled:
        raise RuntimeError(f"{name}(): not differentiable with respect to argument '{parameter}'")


def without_derivative(
    operation: str, out: Tensor, error: type[Exception] = RuntimeError
) -> Tensor:
    """``out`` of an operation that has no derivative: backward says so, forward mode at once."""
    if out._requires_grad:
        out._edge = NotImplementedBackward(out._edge.edges, (error, operation), out._device)
    if out._device.depth:
        inner, tangent = out._device.lower(out)
        if isinstance(tangent, Tensor):
            raise without_forward(operation)
        without_derivative(operation, inner, error)
    return out


def without_forward(operation: str) -> NotImplementedError:
    """The error of an operation that has no forward derivative."""
    return NotImplementedError(
        f"Trying to use forward AD with {operation} that does not support it because it has not "
        "been implemented yet"
    )


def real_gradient(name: str, out: Tensor) -> Tensor:
    """``out`` of a function that torch differentiates for real results alone; RuntimeError where it
    is complex and would get a history."""
    if out._requires_grad and out._array.dtype.kind == "c":
        raise RuntimeError(
            f"{name}() does not support automatic differentiation for outputs with complex dtype"
        )
    return out


def connect(
    op: Op, tensors: tuple, statics: tuple, edges: tuple, outputs: tuple, device: Any
) -> None:
    """Record the node of ``outputs`` and give them their history."""
    way, given = None, edges
    for t in tensors:
        if t is not None and is_seen_otherwise(t):
            if op.alone == "composed":
                return _connect_steps(op, tensors, statics, outputs)
            edges, way = seen_edges(op, tensors, statics, edges)
            if edges is None:
                return
            if way == "copied":
                return connect(OPS["copy"].op, tensors[:1], (), edges, outputs[:1], device)
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
    """Give the outputs the history of the steps that the reference body takes."""
    body: Any = reference_body(op.primitive)
    for out, made in zip(outputs, body(LIFTED, *tensors, *statics), strict=True):
        out._edge, out._requires_grad = made._edge, made._requires_grad


def _not_tensor(name: str, parameters: tuple, arguments: tuple) -> str:
    for parameter, argument in zip(parameters, arguments, strict=False):
        if argument is not None and not isinstance(argument, Tensor):
            return f"{name}(): argument '{parameter}' must be Tensor, not {type(argument).__name__}"
    return f"{name}(): expected Tensors, got {[type(a).__name__ for a in arguments]}"
