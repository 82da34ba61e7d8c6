"""Prints the Python code of an op: its function on Tensors, and the node of its results.

The code is unrolled over the op's inputs and rules, because every operation of a program runs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# Where a rule's parameter comes from.
INPUT, OUTPUT, INDEX, STATIC, SHAPE, COLUMNS, ROWS, GRAD, NEEDS = range(9)
SAVED = (INPUT, OUTPUT, INDEX)  # arrays, which may be written between forward and backward


def identity(B: Any, g: Any) -> Any:
    """The rule of an input whose gradient is that of the output."""
    return g


def print_apply_code(op: Any) -> str:
    """The source of ``apply``: unwrap the Tensors, call the backend, wrap the result, record."""
    primitive = op.primitive
    names = primitive.arrays
    several = len(primitive.outputs) > 1 or primitive.many
    tensors = f"({', '.join(names)},)"
    first, *others = names
    flows = [n for n, r in zip(names, op.rules, strict=True) if op.joint or r is not None]
    refreshed = {name: _refreshed(name) if name in flows else [] for name in names}
    joined = [
        f"if MODE.batches: {first} = beside({first}, statics[{primitive.statics.index(name)}])"
        for name in primitive.indices
    ]
    unpack = [
        *joined,
        f"{first}_array, device = {first}._array, {first}._device",
        *refreshed[first],
    ]
    for name in others:
        lines = [
            f"{name}_array = {name}._array",
            f"if {name}._device is not device:",
            f"    return apply(*on_one_device(op.name, {tensors}), *statics)",
            *refreshed[name],
        ]
        if name in primitive.optional:
            lines = [f"if {name} is None: {name}_array = None", "else:", *_indented(lines)]
        unpack += lines
    data = ", ".join(f"{name}_array" for name in names)
    outputs = "tuple([wrap(r, device) for r in result])" if several else "(wrap(result, device),)"
    body = [
        "try:",
        *_indented(unpack),
        "except AttributeError:",
        f"    raise TypeError(not_tensor(op.name, op.primitive.arrays, {tensors})) from None",
        "try:",
        f"    result = device.backend.{op.name}({', '.join([data, *_raw_statics(primitive)])})",
        "except (TypeError, ValueError, MemoryError) as error:",
        f"    raise translated(op.name, {tensors}, error) from None",
        f"outputs = {outputs}",
    ]
    if op.is_view:
        link = f"link_view(out, {first}, op.name, statics, {several})"
        body += ["for out in outputs:", f"    {link}"]
    if flows:
        edges = []
        for name in names:
            given = f"{name} is not None and " if name in primitive.optional else ""
            edge = f"({name}._edge or {name}) if {given}{name}._requires_grad else None"
            edges.append(edge if name in flows else "None")
        wanted = " or ".join(f"edges[{names.index(n)}] is not None" for n in flows)
        body += [
            "if MODE.enabled:",
            f"    edges = ({', '.join(edges)},)",
            f"    if {wanted}:",
            f"        connect(op, {tensors}, statics, edges, outputs, device)",
        ]
    body.append("return outputs" if several else "return outputs[0]")
    head = f"def apply({', '.join(names)}, *statics):"
    return "\n".join([head, *_indented(body)]) + "\n"


def _raw_statics(primitive: Any) -> list[str]:
    if not primitive.indices:
        return ["*statics"]
    return [
        f"positions_on(device, statics[{i}])" if name in primitive.indices else f"statics[{i}]"
        for i, name in enumerate(primitive.statics)
    ]


def _refreshed(name: str) -> list[str]:
    return [f"if {name}._base is not None and {name}._writes[0] != {name}._viewed: refresh({name})"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def print_node_code(op: Any) -> str:
    """The source of the function ``record``, which makes the node of a call of the op, and of the
    node's ``gradients``, which runs the rules."""
    return "\n".join([*_record_lines(op), *_gradients_lines(op), *_saves_arrays(op)]) + "\n"


def _record_lines(op: Any) -> list[str]:
    saved = [_saved_value(op, source, users) for source, users in op.values.items()]
    lines = [
        "def record(tensors, statics, edges, outputs, device):",
        "    self = new(NodeType)",
        "    self.edges = edges",
        f"    self.values = ({', '.join(saved)}{',' if saved else ''})",
        "    self.device = device",
        "    self.meta = self.outputs = self.hooks = None",
        "    self.order = next(node.sequence)",
    ]
    if any(kind in SAVED for kind, _ in op.values):
        lines.append("    if hooked: pack_recorded(self, tensors, outputs)")
    return [*lines, "    return self"]


def _saved_value(op: Any, source: tuple[int, int], users: list[int]) -> str:
    """The expression for what a node saves of one source, for the rules of the inputs ``users``."""
    kind, i = source
    value = _value(op, kind, i)
    if source in op.private:  # an input may be an inference tensor, whose writes are not counted
        copied = f"(tensors[{i}], None)" if kind == INPUT else f"({value})"
        other = op.private[source]
        itself = "hooked" if other is None else f"hooked or edges[{other}] is not None"
        value = f"({value}) if {itself} else keep_copy({copied}, device)"
    if kind in (INPUT, OUTPUT) and len(users) < len(op.primitive.arrays):
        wanted = " or ".join(f"edges[{u}] is not None" for u in users)
        value = f"({value}) if {wanted} else None"
    return value


def _value(op: Any, kind: int, i: int) -> str:
    """The expression for one source of values, in the scope of ``record``."""
    tensor, output = f"tensors[{i}]", f"outputs[{i}]"
    if kind == INPUT:
        return (
            f"({tensor}, {tensor}._writes[0]) if isinstance({tensor}, Tensor) else ({tensor}, None)"
        )
    if kind == OUTPUT and op.primitive.outputs[i] in op.primitive.constants:
        return f"({output}, {output}._writes[0])"
    if kind == OUTPUT:
        first = ", outputs[0]._array" if i and op.only_first else ""
        saved = f"SavedOutput({output}._array, {output}._writes, {i}{first})"
        return f"({saved}, {output}._writes[0])"
    if kind == INDEX:
        return f"save_index(statics[{i}])"
    if kind == STATIC:
        return f"statics[{i}]"
    if kind == SHAPE and op.primitive.sequences:
        return "tuple([t._array.shape for t in tensors])"
    if kind == SHAPE:
        return f"{tensor}._array.shape"
    return f"{'by_columns' if kind == COLUMNS else 'by_rows'}({tensor}._array)"


def _gradients_lines(op: Any) -> list[str]:
    sources = list(op.values)
    lines = ["def gradients(self, B, grads, unpack, edges=None):"]
    if sources:
        lines.append(f"    {', '.join(f'v{i}' for i in range(len(sources)))}, = self.values")
    for i, (kind, _) in enumerate(sources):
        if kind == INDEX:
            lines.append(f"    v{i} = unpack_index(self, v{i}, unpack)")
        elif kind in SAVED:
            lines.append(f"    v{i} = None if v{i} is None else unpack(self, v{i})")
    lines.append("    if edges is None: edges = self.edges")
    if op.joint:
        result = _rule_call(op, len(op.rules), op.joint)
    elif op.primitive.arrays == ("x", "y") and all(op.rules):
        # The second gradient comes first, as in torch, so that second derivatives add up in torch's
        # order.
        lines += [f"    r{i} = {_wanted_gradient(op, i)}" for i in (1, 0)]
        result = "(r0, r1)"
    else:
        result = f"({', '.join(_wanted_gradient(op, i) for i in range(len(op.rules)))},)"
    if op.depends:
        if op.depends == "none":
            read = [f"self.edges[{i}]" for kind, i in sources if kind == INPUT]
        else:
            found = [read_of(i, r) for i, r in enumerate(op.rules)]
            read = [f"v{sources.index(source)}" if source else "None" for source in found]
        result = f"depending(self, {result}, {op.depends!r}, ({', '.join(read)},))"
    return [*lines, f"    return {result}"]


def _wanted_gradient(op: Any, i: int) -> str:
    """The expression for the gradient of input ``i``: None where its edge is."""
    rule = op.rules[i]
    if rule is None:
        return "None"
    return f"{_rule_call(op, i, rule)} if edges[{i}] is not None else None"


def _rule_call(op: Any, number: int, rule: Any) -> str:
    """The expression that calls a rule, in the scope of ``gradients``."""
    sources = list(op.values)
    arguments = []
    for kind, i in rule.plan:
        if kind == NEEDS:
            arguments.append("tuple([e is not None for e in edges])")
        elif kind != GRAD:
            arguments.append(f"v{sources.index((kind, i))}")
        elif op.only_first and i:
            arguments.append(f"(grads[{i}] if len(grads) > 1 else None)")
        else:
            arguments.append(f"grads[{i}]")
    if rule.function is identity:
        return "grads[0]"
    primitive = getattr(rule.function, "primitive", None)
    if primitive is not None:
        return f"B.{primitive}({', '.join(arguments)})"
    return f"rule{number}({', '.join(['B', *arguments])})"


def node_name_of(name: str) -> str:
    """torch's name for the node of an op: ``Log1PBackward0``."""
    parts = [part.capitalize() for part in name.split("_")]
    return re.sub(r"(?<=\d)[a-z]", lambda m: m[0].upper(), "".join(parts)) + "Backward0"


def naming(record: Callable, node_type: Any, names: Callable[[Any, Any], str]) -> Callable:
    """``record`` for nodes whose class name depends on the operands and statics."""
    kinds: dict[str, type] = {}

    def call(tensors: Any, statics: Any, edges: Any, outputs: Any, device: Any) -> Any:
        node = record(tensors, statics, edges, outputs, device)
        name = names(tensors, statics)
        kind = kinds.get(name)
        if kind is None:
            kind = kinds[name] = type(name, (node_type,), {"__slots__": ()})
        node.__class__ = kind
        return node

    return call


def read_of(position: int, rule: Any) -> tuple[int, int] | None:
    """The source that the rule of an input reads in its place: the input itself, or the output."""
    found = [s for s in ((INPUT, position), (OUTPUT, 0)) if rule and s in rule.plan]
    return found[0] if found else None


def _saves_arrays(op: Any) -> list[str]:
    """The lines that define ``saves_arrays``: a constant, or a property where it depends on which
    gradients are wanted."""
    kinds = list(op.values)
    kept = [i for i, (kind, _) in enumerate(kinds) if kind in SAVED]
    plans = [op.joint.plan] if op.joint else [
        [*r.plan, *op.also.get(i, ())] for i, r in enumerate(op.rules) if r
    ]  # fmt: skip
    always = all(any(source[0] in SAVED for source in plan) for plan in plans)
    if always or not kept:
        return [f"saves_arrays = {bool(kept)}"]
    tests = " or ".join(f"self.values[{i}] is not None" for i in kept)
    return ["@property", "def saves_arrays(self):", f"    return {tests}"]
