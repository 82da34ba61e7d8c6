"""`export`: a module as an ONNX file."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from nnkit.autograd.grad_mode import no_grad
from nnkit.export import Dim, ExportedProgram
from nnkit.export import export as export_program
from nnkit.export.dynamic_shapes import Derived
from nnkit.export.graph_signature import InputKind
from nnkit.export.operations import name_of
from nnkit.fx import Node
from nnkit.fx.node import map_aggregate
from nnkit.nn import Module
from nnkit.onnx import translations as _translations  # noqa: F401  which fills the table
from nnkit.onnx.writer import (
    OPSET,
    TRANSLATIONS,
    OnnxExporterError,
    UnsupportedOperatorError,
    Value,
    Writer,
    element_type,
    onnx,
)

_IR_VERSION = 10  # which runtimes of these years read
_VIEWS = frozenset(
    (
        *("view", "reshape", "flatten", "unflatten", "transpose", "permute", "squeeze", "expand"),
        *("unsqueeze", "getitem", "split", "chunk", "unbind", "select", "narrow", "t", "getattr"),
        *("swapaxes", "movedim", "view_as", "expand_as", "diagonal", "detach"),
    )
)
_exporting = 0


def is_in_onnx_export() -> bool:
    """Whether a module is being written as ONNX."""
    return _exporting > 0


class ONNXProgram:
    """A module in ONNX.

    Attributes:
        model_proto: the model, an object of the package onnx.
        exported_program: what it was written from.
    """

    def __init__(self, model_proto: Any, exported_program: ExportedProgram) -> None:
        self.model_proto = model_proto
        self.exported_program = exported_program

    def save(self, destination: str | os.PathLike[str] | io.BytesIO, **options: Any) -> None:
        """Write it to a path or a binary file."""
        onnx().save_model(self.model_proto, destination)

    def __repr__(self) -> str:
        return f"ONNXProgram({len(self.model_proto.graph.node)} operations)"


def export(
    model: Module | ExportedProgram,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    training: Any = None,
    **options: Any,
) -> ONNXProgram:
    """Write a module's forward as an ONNX model, which other runtimes read.

    The module is exported as a program first (`nnkit.export.export`), in the mode for evaluation;
    each function of the program is translated. Dropout is left out, batch norms use their running
    statistics.

    Args:
        model: the module; or an exported program.
        args: an example of its arguments, a tuple or one tensor.
        f: where it is written: a path or a binary file; None, to get the program alone.
        kwargs: further arguments, by name.
        verbose, training: accepted.
        input_names, output_names: the names in the file, by default the arguments' and the
            operations'.
        opset_version: of ONNX's operations, 18 by default; to others the package onnx brings the
            model, as far as it can.
        dynamic_axes: open sizes: from names of inputs to dictionaries from dimensions to names, or
            lists of dimensions.
        dynamic_shapes: the same as `nnkit.export.export` has it.
        options: what else PyTorch has, accepted.

    Raises:
        UnsupportedOperatorError: a function has no translation; the message has its name.
        OnnxExporterError: the package onnx is missing, a tensor is written in a way that ONNX has
            not, or the model cannot be brought to this version.
        RuntimeError: the module cannot be exported.

    Source: ``torch.onnx.export``.
    """
    global _exporting
    onnx()
    if isinstance(model, ExportedProgram):
        program = model
    else:
        args = args if isinstance(args, tuple) else (args,)
        modes = [(module, module.training) for module in model.modules()]
        model.eval()
        _exporting += 1
        try:
            with no_grad():
                shapes = dynamic_shapes or _open_sizes(args, kwargs, input_names, dynamic_axes)
                program = export_program(model, args, kwargs, dynamic_shapes=shapes)
        finally:
            _exporting -= 1
            for module, mode in modes:
                module.training = mode
    proto = _model(program, input_names, output_names)
    if opset_version not in (None, OPSET):
        try:
            proto = onnx().version_converter.convert_version(proto, opset_version)
        except RuntimeError as error:
            raise OnnxExporterError(
                f"torch.onnx.export: onnx cannot bring the model from operations of version "
                f"{OPSET} to {opset_version}: {error}"
            ) from error
    onnx().checker.check_model(proto)
    made = ONNXProgram(proto, program)
    if f is not None:
        made.save(f)
    return made


def _open_sizes(
    args: tuple, kwargs: dict[str, Any] | None, names: Sequence[str] | None, axes: Any
) -> Any:
    """``dynamic_shapes`` for ``dynamic_axes``, whose inputs are the arguments in their order."""
    if not axes:
        return None
    given = list(names or ())[: len(args)]
    found = []
    for place, _ in enumerate(args):
        wanted = axes.get(given[place]) if place < len(given) else None
        if wanted is None:
            found.append(None)
        elif isinstance(wanted, Mapping):
            found.append({axis: Dim(name) for axis, name in wanted.items()})
        else:
            found.append({axis: Dim(f"{given[place]}_dim_{axis}") for axis in wanted})
    return (*found, *[None] * len(kwargs or {}))


def _model(
    program: ExportedProgram, input_names: Sequence[str] | None, output_names: Sequence[str] | None
) -> Any:
    helper = onnx().helper
    writer = Writer()
    values: dict[Node, Any] = {}
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    wanted = iter(input_names or ())
    conditions = iter(program._conditions)
    inputs = []
    for node in program.graph.nodes:
        if node.op == "placeholder":
            spec = specs[node.name]
            if spec.kind is not InputKind.USER_INPUT:
                values[node] = writer.keep(str(spec.target), program._tensor(str(spec.target)))
                continue
            condition = next(conditions)
            if condition.shape is None:
                values[node] = condition.value
                continue
            name = writer.name(next(wanted, node.name))
            shape, kind = _described(node)
            values[node] = Value(name, shape, kind)
            sizes = [_size(size) for size in condition.shape]
            inputs.append(helper.make_tensor_value_info(name, element_type(kind), sizes))
        elif node.op != "output":
            _translate(writer, node, values)
    outputs = []
    names = iter(output_names or ())
    for result in program.graph.output_node().args[0]:
        value = values[result] if isinstance(result, Node) else result
        if value is None:
            continue
        if not isinstance(value, Value):
            raise OnnxExporterError(f"torch.onnx.export: the result {value!r} is not a tensor")
        name = writer.name(next(names, f"output_{len(outputs)}"))
        writer.nodes.append(helper.make_node("Identity", [value.name], [name]))
        sizes = [None] * value.ndim  # which onnx infers
        outputs.append(helper.make_tensor_value_info(name, element_type(value.dtype), sizes))
    used = {name for node in writer.nodes for name in node.input}
    kept = [tensor for tensor in writer.initializers if tensor.name in used]
    graph = helper.make_graph(writer.nodes, "main_graph", inputs, outputs, kept)
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, opset_imports=[opset], producer_name="nnkit")
    model.ir_version = _IR_VERSION
    return onnx().shape_inference.infer_shapes(model)


def _size(size: Any) -> int | str:
    """A size as a file has it: a number, or a name."""
    return size.__name__ if isinstance(size, Derived) else size


def _described(node: Node) -> tuple:
    if "val" not in node.meta:
        raise OnnxExporterError(
            "torch.onnx.export: a program that was loaded does not know its shapes: export the "
            "module anew"
        )
    return node.meta["val"]


def _translate(writer: Writer, node: Node, values: dict[Node, Any]) -> None:
    target = str(node.target if node.op == "call_method" else name_of(node.target))
    name = target.rpartition(".")[2]
    args, kwargs = map_aggregate(
        (node.args, node.kwargs), lambda v: values[v] if isinstance(v, Node) else v
    )
    if name in ("enter_grad_mode", "check_size"):
        return
    known = TRANSLATIONS.get(name) or TRANSLATIONS.get(name.rstrip("_"))
    if known is None:
        raise UnsupportedOperatorError(
            f"torch.onnx.export: {target} has no translation, at {node.meta.get('line')}"
        )
    values[node] = result = known(writer, node.meta, *args, **kwargs)
    if isinstance(result, Value) and "val" in node.meta:
        result.shape, result.dtype = _described(node)
    is_written = name.endswith("_") and not name.endswith("__")
    if is_written or kwargs.get("inplace"):
        _write(node, values)


def _write(node: Node, values: dict[Node, Any]) -> None:
    """Let the operations that follow see what was written in place."""
    written = node.args[0]
    if not isinstance(written, Node):
        return
    views = [user for user in (*written.users, written) if _is_view(user) and user in values]
    if views:
        raise OnnxExporterError(
            f"torch.onnx.export: a tensor is written that views look into, at "
            f"{node.meta.get('line')}"
        )
    values[written] = values[node]


def _is_view(node: Node) -> bool:
    name = getattr(node.target, "__name__", str(node.target))
    return name in _VIEWS and "number" not in node.meta
