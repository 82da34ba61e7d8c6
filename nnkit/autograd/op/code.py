"""Prints the code of an op: its function on Tensors, and the node that its results remember.

Unrolled over the op's inputs, because every operation pays for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# Where a rule's parameter comes from.
INPUT, OUTPUT, INDEX, STATIC, SHAPE, COLUMNS, ROWS, GRAD, NEEDS = range(9)
SAVED = (INPUT, OUTPUT, INDEX)  # what may be written between forward and backward


def identity(B: Any, g: Any) -> Any:
    """The rule of an input whose gradient is the output's own."""
    return g


def print_apply_code(op: Any) -> str:
    """The source of an op's ``apply``: unwrap the Tensors, call the backend, wrap, record."""
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
    """The source of an op's ``record`` (make a node: save what the wanted rules read) and of its
    node's ``gradients`` (run the rules). Unrolled, because every operation pays for both."""
    sequence = bool(op.primitive.sequences)
    saved = []
    for (kind, i), users in op.values.items():
        if kind == INPUT:
            t = f"tensors[{i}]"
            value = f"({t}, {t}._writes[0]) if isinstance({t}, Tensor) else ({t}, None)"
        elif kind == OUTPUT and op.primitive.outputs[i] in op.primitive.constants:
            value = f"(outputs[{i}], outputs[{i}]._writes[0])"
        elif kind == OUTPUT:
            o = f"outputs[{i}]"
            first = ", outputs[0]._array" if i and op.only_first else ""
            value = f"(SavedOutput({o}._array, {o}._writes, {i}{first}), {o}._writes[0])"
        elif kind == INDEX:
            value = f"save_index(statics[{i}])"
        elif kind == STATIC:
            value = f"statics[{i}]"
        elif kind == SHAPE and sequence:
            value = "tuple([t._array.shape for t in tensors])"
        elif kind == SHAPE:
            value = f"tensors[{i}]._array.shape"
        elif kind == COLUMNS:
            value = f"by_columns(tensors[{i}]._array)"
        else:
            value = f"by_rows(tensors[{i}]._array)"
        if (kind, i) in op.private:  # of an input that may be an inference tensor, uncounted
            copied = f"({t}, None)" if kind == INPUT else f"({value})"
            value = f"({value}) if hooked else keep_copy({copied}, device)"
        if kind in (INPUT, OUTPUT) and len(users) < len(op.primitive.arrays):
            wanted = " or ".join(f"edges[{u}] is not None" for u in users)
            value = f"({value}) if {wanted} else None"
        saved.append(value)
    record = [
        "def record(tensors, statics, edges, outputs, device):",
        "    self = new(NodeType)",
        "    self.edges = edges",
        f"    self.values = ({', '.join(saved)}{',' if saved else ''})",
        "    self.device = device",
        "    self.meta = self.outputs = self.hooks = None",
        "    self.order = next(node.sequence)",
    ]
    if any(kind in SAVED for kind, _ in op.values):
        record.append("    if hooked: pack_recorded(self, tensors, outputs)")
    record.append("    return self")
    names = list(op.values)
    body = []
    for i, (kind, _) in enumerate(names):
        if kind == INDEX:
            body.append(f"    v{i} = unpack_index(self, v{i}, unpack)")
        elif kind in SAVED:
            body.append(f"    v{i} = None if v{i} is None else unpack(self, v{i})")

    def call(number: int, r: Any) -> str:
        arguments = []
        for kind, i in r.plan:
            if kind == NEEDS:
                arguments.append("tuple([e is not None for e in edges])")
            elif kind != GRAD:
                arguments.append(f"v{names.index((kind, i))}")
            elif op.only_first and i:
                arguments.append(f"(grads[{i}] if len(grads) > 1 else None)")
            else:
                arguments.append(f"grads[{i}]")
        if r.function is identity:
            return "grads[0]"
        primitive = getattr(r.function, "primitive", None)
        if primitive is not None:
            return f"B.{primitive}({', '.join(arguments)})"
        return f"rule{number}({', '.join(['B', *arguments])})"

    first = []
    if op.joint:
        result = call(len(op.rules), op.joint)
    elif op.primitive.arrays == ("x", "y") and all(op.rules):
        # As in torch the second comes first: so a second derivative adds in torch's order.
        for i in (1, 0):
            first.append(f"    r{i} = {call(i, op.rules[i])} if edges[{i}] is not None else None")
        result = "(r0, r1)"
    else:
        several = [
            "None" if r is None else f"{call(i, r)} if edges[{i}] is not None else None"
            for i, r in enumerate(op.rules)
        ]
        result = f"({', '.join(several)},)"
    if op.depends:
        if op.depends == "none":
            read = [f"self.edges[{i}]" for kind, i in names if kind == INPUT]
        else:
            sources = [read_of(i, r) for i, r in enumerate(op.rules)]
            read = [f"v{names.index(source)}" if source else "None" for source in sources]
        result = f"depending(self, {result}, {op.depends!r}, ({', '.join(read)},))"
    unpacking = f"    {', '.join(f'v{i}' for i in range(len(names)))}, = self.values"
    gradients = [
        "def gradients(self, B, grads, unpack, edges=None):",
        *([unpacking] if names else []),
        *body,
        "    if edges is None: edges = self.edges",
        *first,
        f"    return {result}",
    ]
    return "\n".join([*record, *gradients, *_saves_arrays(op)]) + "\n"


def node_name_of(name: str) -> str:
    """What torch calls the node of an op: ``Log1PBackward0``."""
    parts = [part.capitalize() for part in name.split("_")]
    return re.sub(r"(?<=\d)[a-z]", lambda m: m[0].upper(), "".join(parts)) + "Backward0"


def naming(record: Callable, node_type: Any, names: Callable[[Any, Any], str]) -> Callable:
    """``record``, with each node of a class of the name that its operands and statics have."""
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
    """The value that an input's rule reads in its place: the input itself, or the output."""
    found = [s for s in ((INPUT, position), (OUTPUT, 0)) if rule and s in rule.plan]
    return found[0] if found else None


def _saves_arrays(op: Any) -> list[str]:
    """Whether a node keeps arrays: always or never, where no rule that is wanted decides it."""
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
