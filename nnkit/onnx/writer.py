"""`Writer`: an ONNX graph that grows, and the values in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.backend.dtype import dtype, float32, int64

OPSET = 18  # what the operations below are written for
_ELEMENTS = {
    "float32": "FLOAT", "float64": "DOUBLE", "float16": "FLOAT16", "bfloat16": "BFLOAT16",
    "int64": "INT64", "int32": "INT32", "int16": "INT16", "int8": "INT8", "uint8": "UINT8",
    "bool": "BOOL", "complex64": "COMPLEX64", "complex128": "COMPLEX128",
}  # fmt: skip


class OnnxExporterError(RuntimeError):
    """A module that cannot be written as ONNX."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation that has no translation to ONNX."""


def onnx() -> Any:
    """The package onnx.

    Raises:
        OnnxExporterError: it is not installed.
    """
    try:
        import onnx as package
        import onnx.shape_inference
        import onnx.version_converter
    except ImportError:
        raise OnnxExporterError(
            "torch.onnx.export needs the package onnx: pip install 'nnkit[onnx]'"
        ) from None
    return package


def element_type(kind: dtype) -> int:
    """The number that ONNX has for a dtype."""
    return getattr(onnx().TensorProto, _ELEMENTS[kind.name])


class Value:
    """A tensor of the graph.

    Attributes:
        name: its name.
        shape, dtype: those it had in the example.
    """

    def __init__(self, name: str, shape: Sequence[int], kind: dtype) -> None:
        self.name, self.shape, self.dtype = name, tuple(shape), kind

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


class Writer:
    """A graph of ONNX operations.

    Attributes:
        nodes: the operations.
        initializers: the tensors that the graph brings with it.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.used: set[str] = set()

    def name(self, wanted: str) -> str:
        """A name that no other value has."""
        found, number = wanted, 0
        while found in self.used:
            number += 1
            found = f"{wanted}_{number}"
        self.used.add(found)
        return found

    def keep(self, name: str, tensor: Tensor) -> Value:
        """A tensor that the graph brings with it."""
        plain = tensor.detach().cpu().contiguous()
        proto = onnx().TensorProto(
            dims=plain.shape, data_type=element_type(plain.dtype), name=self.name(name),
            raw_data=plain.reshape(-1).numpy().tobytes(),
        )  # fmt: skip
        self.initializers.append(proto)
        return Value(proto.name, plain.shape, plain.dtype)

    def constant(self, value: Any, kind: dtype | None = None) -> Value:
        """A number or a list of numbers, as a tensor."""
        from nnkit import tensor

        return self.keep("constant", tensor(value, dtype=kind))

    def ints(self, values: Sequence[Any]) -> Value:
        """A list of sizes, of which some may be values of the graph."""
        if not any(isinstance(v, Value) for v in values):
            return self.constant([int(v) for v in values], int64)
        one = self.constant([1], int64)
        parts = [
            self.call("Reshape", v, one) if isinstance(v, Value) else self.constant([v], int64)
            for v in values
        ]
        return self.call("Concat", *parts, axis=0)

    def call(self, kind: str, *inputs: Value | None, **attributes: Any) -> Value:
        """The result of an ONNX operation; its dtype and shape are those of the first input."""
        return self.calls(kind, 1, *inputs, **attributes)[0]

    def calls(self, kind: str, count: int, *inputs: Value | None, **attributes: Any) -> list[Value]:
        """The results of an ONNX operation that has several."""
        names = [self.name(kind) for _ in range(count)]
        given = ["" if value is None else value.name for value in inputs]
        known = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(onnx().helper.make_node(kind, given, names, **known))
        first = next((value for value in inputs if value is not None), None)
        shape, kind_of = (first.shape, first.dtype) if first else ((), float32)
        return [Value(name, shape, kind_of) for name in names]

    def cast(self, value: Value, kind: dtype) -> Value:
        """A value in another dtype."""
        if value.dtype == kind:
            return value
        made = self.call("Cast", value, to=element_type(kind))
        made.dtype = kind
        return made

    def operand(self, value: Any, kind: dtype) -> Value:
        """An operand, a value or a number, in a dtype."""
        return self.cast(value, kind) if isinstance(value, Value) else self.constant(value, kind)


Meta = dict[str, Any]  # of an operation: the shape and dtype, or the number, that it gave


def result_type(meta: Meta, otherwise: dtype) -> dtype:
    """The dtype of an operation's result."""
    return meta["val"][1] if "val" in meta else otherwise


def refuse(what: str) -> OnnxExporterError:
    """An error for arguments that ONNX has nothing for."""
    return OnnxExporterError(f"torch.onnx.export: {what} has no translation")


def many(value: Any, count: int) -> list[int]:
    """A number for each of some dimensions."""
    return [value] * count if isinstance(value, int) else list(value)


Translation = Callable[..., Any]
TRANSLATIONS: dict[str, Translation] = {}


def translates(*names: str) -> Callable[[Translation], Translation]:
    """Register the translation of functions and methods: it gets the writer, what the result is,
    and the arguments of the call, under PyTorch's names."""

    def register(function: Translation) -> Translation:
        TRANSLATIONS.update(dict.fromkeys(names, function))
        return function

    return register
