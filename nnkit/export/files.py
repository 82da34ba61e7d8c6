"""`save` and `load`: exported programs in files, from which no code is run.

A file is a zip archive: ``program.json`` lists the operations by the names of public functions,
``state.safetensors`` holds parameters, buffers and constants, and ``extra_files/`` whatever else.
"""

from __future__ import annotations

import io
import json
import keyword
import math
import os
import zipfile
from typing import Any, BinaryIO

from nnkit import serialization
from nnkit.autograd import Tensor
from nnkit.backend import files, memory
from nnkit.backend.device import device
from nnkit.backend.dtype import DTYPES, dtype
from nnkit.export.dynamic_shapes import Derived, Dim
from nnkit.export.exported_program import ExportedProgram, InputCondition
from nnkit.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
    argument,
)
from nnkit.export.operations import FUNCTIONS, METHODS_OF_TENSOR, PROPERTIES, name_of
from nnkit.fx import Graph, Node
from nnkit.replacing import replacing
from nnkit.utils._pytree import TreeSpec, treespec_dumps, treespec_loads

VERSION = 1
_PROGRAM, _STATE, _EXTRA = "program.json", "state.safetensors", "extra_files/"
_MEMORY = {
    str(value): value
    for value in vars(memory).values()
    if isinstance(value, (memory.layout, memory.memory_format))
}
_KINDS = ("call_function", "call_method", "placeholder", "output")
Path = str | os.PathLike[str]


def save(
    ep: ExportedProgram,
    f: Path | BinaryIO,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write an exported program to a file.

    Args:
        ep: the program.
        f: a path, or a binary file. A path is written under another name and then renamed.
        extra_files: further texts or bytes by their names.
        opset_version, pickle_protocol: accepted.

    Raises:
        TypeError: ``ep`` is no exported program, or an operation has an argument that no file can
            hold, such as a generator.
        NotImplementedError: arguments or results are in a container without a registered name.

    Source: ``torch.export.save``.

    Example:
        >>> import io, nnkit
        >>> file = io.BytesIO()
        >>> program = nnkit.export.export(nnkit.nn.ReLU(), (nnkit.ones(2),))
        >>> nnkit.export.save(program, file)
        >>> _ = file.seek(0)
        >>> nnkit.export.load(file).module()(nnkit.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}'"
        )
    state, aliases = _distinct({**ep.constants, **ep.state_dict})
    program = {
        "format": "nnkit.export",
        "version": VERSION,
        "nodes": [_encode_node(node) for node in ep.graph.nodes],
        "inputs": [
            [s.kind.name, s.arg.name, s.target, s.persistent]
            for s in ep.graph_signature.input_specs
        ],
        "state": list(ep.state_dict),
        "aliases": aliases,
        "conditions": [_encode_condition(c) for c in ep._conditions],
        "in_spec": treespec_dumps(ep._in_spec),
        "out_spec": treespec_dumps(ep._out_spec),
    }
    tensors = io.BytesIO()
    serialization.save(state, tensors)

    def write(stream: BinaryIO) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_PROGRAM, json.dumps(program, indent=1, allow_nan=False))
            archive.writestr(_STATE, tensors.getbuffer())
            for name, content in (extra_files or {}).items():
                archive.writestr(_EXTRA + name, content)

    if isinstance(f, (str, os.PathLike)):
        with replacing(f) as stream:
            write(stream)
    else:
        write(f)


def load(
    f: Path | BinaryIO,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
    max_bytes: int | None = None,
) -> ExportedProgram:
    """Read an exported program from a file that `save` has written.

    The file may come from anybody: it names operations of a closed list, and nothing is run while
    it is read. What its program does when it is called is computation alone, of any size.

    Args:
        f: a path, or a binary file.
        extra_files: names, which are given the texts that the file has for them.
        expected_opset_version: accepted.
        max_bytes: refuse a file whose contents take more.

    Raises:
        ValueError: the file is damaged, too large, of a later version, or no such file.
        OSError: it cannot be opened or read.

    Source: ``torch.export.load``.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            return load(stream, extra_files=extra_files, max_bytes=max_bytes)
    name = getattr(f, "name", "the stream")
    try:
        with files.open_zip(f, max_bytes) as archive:
            for extra in extra_files or ():
                extra_files[extra] = archive.read(_EXTRA + extra).decode()  # type: ignore[index]
            return _read(archive)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        reason = str(error)[:500] if isinstance(error, ValueError) else ""
        told = reason or f"damaged, {type(error).__name__}: {str(error)[:500]}"
        raise ValueError(f"load: {name}: {told}") from error


def _read(archive: zipfile.ZipFile) -> ExportedProgram:
    if _PROGRAM not in archive.namelist():
        raise ValueError(f"it was not written by nnkit.export.save: {_PROGRAM} is missing")
    program = json.loads(archive.read(_PROGRAM))
    if program["format"] != "nnkit.export" or program["version"] > VERSION:
        raise ValueError(f"its version {program['version']!r:.20} is not known here")
    tensors = serialization.load(io.BytesIO(archive.read(_STATE)))
    for other, name in program["aliases"].items():
        tensors[other] = tensors[name]
    if not all(isinstance(t, Tensor) and _is_path(name) for name, t in tensors.items()):
        raise ValueError(
            "its state holds something other than a tensor, or a name that no tensor can have"
        )
    graph, nodes = Graph(), {}
    for row in program["nodes"]:
        _decode_node(row, graph, nodes)
    graph.lint()
    signature = _signature(program, graph, tensors)
    state = {name: tensors[name] for name in program["state"]}
    made = ExportedProgram(
        graph,
        signature,
        state,
        {name: tensor for name, tensor in tensors.items() if name not in state},
        _conditions(program, signature),
        _structure(program["in_spec"]),
        _structure(program["out_spec"]),
    )
    made.module()  # which is refused here, if it cannot be made
    return made


def _structure(text: str) -> TreeSpec:
    """The structure of arguments or results: of containers that are registered here."""

    def check(schema: Any) -> None:
        if schema["type"] == "collections.defaultdict":  # whose reading imports what it names
            raise ValueError("it has a defaultdict among its arguments or results")
        for child in schema["children_spec"]:
            check(child)

    check(json.loads(text)[1])
    return treespec_loads(text)


def _signature(program: Any, graph: Graph, tensors: dict[str, Any]) -> ExportGraphSignature:
    inputs = [
        InputSpec(InputKind[kind], TensorArgument(name), *rest)
        for kind, name, *rest in program["inputs"]
    ]
    if [s.arg.name for s in inputs] != [n.name for n in graph.nodes if n.op == "placeholder"]:
        raise ValueError("its inputs are not those of its graph")
    for spec in inputs:
        if (spec.kind is InputKind.USER_INPUT) != (spec.target is None):
            raise ValueError(f"its input {spec.arg.name!r:.80} has no tensor, or should have none")
        if spec.target is not None and spec.target not in tensors:
            raise ValueError(f"it lacks the tensor {spec.target!r:.80}")
    outputs = [
        OutputSpec(OutputKind.USER_OUTPUT, argument(result))
        for result in graph.output_node().args[0]
    ]
    return ExportGraphSignature(inputs, outputs)


def _distinct(tensors: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The tensors, each once, and which further names they have."""
    first: dict[int, str] = {}
    aliases = {}
    for name, tensor in tensors.items():
        known = first.setdefault(id(tensor), name)
        if known != name:
            aliases[name] = known
    return {name: tensors[name] for name in first.values()}, aliases


def _is_path(name: Any) -> bool:
    return isinstance(name, str) and all(part.isprintable() and part for part in name.split("."))


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


# Operations


def _encode_node(node: Node) -> dict[str, Any]:
    target: Any = node.target
    return {
        "op": node.op,
        "name": node.name,
        "target": name_of(target) if node.op == "call_function" else target,
        "args": [_encode(a) for a in node.args],
        "kwargs": {key: _encode(a) for key, a in node.kwargs.items()},
    }


def _decode_node(row: Any, graph: Graph, nodes: dict[str, Node]) -> None:
    kind, name, target = row["op"], row["name"], row["target"]
    if kind not in _KINDS or not _is_name(name) or name in nodes:
        raise ValueError(f"an operation {kind!r:.40} cannot be called {name!r:.80}")
    args = tuple([_decode(a, nodes) for a in row["args"]])
    kwargs = {key: _decode(a, nodes) for key, a in row["kwargs"].items()}
    if not all(map(_is_name, kwargs)):
        raise ValueError(f"the operation {name} has an argument without a name")
    known = FUNCTIONS if kind == "call_function" else METHODS_OF_TENSOR
    if kind in ("call_function", "call_method") and target not in known:
        raise ValueError(f"the operation {name} calls {target!r:.80}, which is not known here")
    if target == "getattr" and (len(args) != 2 or args[1] not in PROPERTIES):
        raise ValueError(f"the operation {name} reads an attribute that tensors do not have")
    if kind == "placeholder" and target != name:
        raise ValueError(f"the input {name} is called {target!r:.80} as well")
    if kind == "call_function":
        target = FUNCTIONS[target]
    nodes[name] = node = graph.create_node(kind, target, args, kwargs, name)
    if node.name != name:
        raise ValueError(f"an operation cannot be called {name}")


def _encode(value: Any) -> Any:
    """An argument as JSON: plain values as they are, others as objects with one key, their kind."""
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, dict):
        return {"dict": [[_encode(k), _encode(v)] for k, v in value.items()]}
    if type(value) is float and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, list):
        return [_encode(v) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [_encode(v) for v in value]}
    if isinstance(value, slice):
        return {"slice": [_encode(v) for v in (value.start, value.stop, value.step)]}
    if value is ...:
        return {"ellipsis": None}
    if isinstance(value, complex):
        return {"complex": [str(value.real), str(value.imag)]}
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if isinstance(value, device):
        return {"device": str(value)}
    if str(value) in _MEMORY:
        return {"memory": str(value)}
    raise TypeError(f"save: no file can hold an argument of class {type(value).__name__}")


def _decode(value: Any, nodes: dict[str, Node]) -> Any:
    if isinstance(value, list):
        return [_decode(v, nodes) for v in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "node":
        return nodes[content]
    if kind == "tuple":
        return tuple([_decode(v, nodes) for v in content])
    if kind == "dict":
        return {_decode(k, nodes): _decode(v, nodes) for k, v in content}
    if kind == "slice":
        return slice(*(_decode(v, nodes) for v in content))
    return _LEAVES[kind](content)


_LEAVES: dict[str, Any] = {
    "float": float,
    "ellipsis": lambda _: ...,
    "complex": lambda parts: complex(float(parts[0]), float(parts[1])),
    "dtype": DTYPES.__getitem__,
    "device": device,
    "memory": _MEMORY.__getitem__,
}


# Conditions


def _encode_condition(condition: InputCondition) -> dict[str, Any]:
    if condition.shape is None:
        return {"value": _encode(condition.value)}
    return {"shape": [_encode_size(size) for size in condition.shape]}


def _encode_size(size: Any) -> Any:
    if not isinstance(size, Derived):
        return size
    root = size.root
    most = None if root.max == math.inf else root.max
    return {
        "name": root.__name__, "min": root.min, "max": most, "factor": size.factor,
        "offset": size.offset,
    }  # fmt: skip


def _conditions(program: Any, signature: ExportGraphSignature) -> list[InputCondition]:
    found = []
    given = [s for s in signature.input_specs if s.kind is InputKind.USER_INPUT]
    for spec, row in zip(given, program["conditions"], strict=True):
        if "shape" in row:
            shape = tuple([_decode_size(size) for size in row["shape"]])
            found.append(InputCondition(spec.arg.name, None, shape))
        else:
            value = _decode(row["value"], {})
            found.append(InputCondition(spec.arg.name, value, None))
            spec.arg = ConstantArgument(spec.arg.name, value)
    return found


def _decode_size(size: Any) -> Any:
    if isinstance(size, int):
        return size
    root = Dim(size["name"], min=size["min"], max=size["max"])
    return Derived(root, size["factor"], size["offset"])
