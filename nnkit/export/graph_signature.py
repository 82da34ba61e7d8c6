"""The inputs and outputs of an exported graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from nnkit.fx.node import Node


class InputKind(Enum):
    """The kinds of inputs."""

    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4


class OutputKind(Enum):
    """The kinds of outputs."""

    USER_OUTPUT = 1


@dataclass
class TensorArgument:
    """A tensor among the inputs or outputs: the name of its operation."""

    name: str


@dataclass
class ConstantArgument:
    """A value that is no tensor: the name of its placeholder, none of an output, and itself."""

    name: str
    value: Any


@dataclass
class InputSpec:
    """An input of the graph.

    Attributes:
        kind: whose it is.
        arg: its placeholder's name, and its value if it is no tensor.
        target: the path of the parameter, buffer or constant; None of what the user gives.
        persistent: of a buffer, whether it belongs to the state.
    """

    kind: InputKind
    arg: TensorArgument | ConstantArgument
    target: str | None = None
    persistent: bool | None = None

    def __str__(self) -> str:
        text = f"{self.arg.name}: {self.kind.name}"
        text += "" if self.target is None else f" target={self.target!r}"
        return text if self.persistent is None else f"{text} persistent={self.persistent}"


@dataclass
class OutputSpec:
    """An output of the graph: the name of an operation, or the constant that it is."""

    kind: OutputKind
    arg: TensorArgument | ConstantArgument
    target: str | None = None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}"


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order.

    Source: ``torch.export.ExportGraphSignature``.
    """

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _of(self, kind: InputKind) -> dict[str, str]:
        return {s.arg.name: str(s.target) for s in self.input_specs if s.kind is kind}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The paths of the parameters."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The paths of the buffers."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The paths of the buffers that are no part of the state."""
        specs = (s for s in self.input_specs if s.kind is InputKind.BUFFER)
        return tuple(str(s.target) for s in specs if not s.persistent)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the constants."""
        return tuple(self._of(InputKind.CONSTANT_TENSOR).values())

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The inputs from the user: names of tensors, and other values."""
        return tuple(_said(s.arg) for s in self.input_specs if s.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The outputs for the user: names of tensors, and other values."""
        return tuple(_said(s.arg) for s in self.output_specs)

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """From placeholders to the paths of parameters."""
        return self._of(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """From placeholders to the paths of buffers."""
        return self._of(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """From placeholders to the names of constants."""
        return self._of(InputKind.CONSTANT_TENSOR)

    def __str__(self) -> str:
        inputs, outputs = ("\n".join(map(str, s)) for s in (self.input_specs, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _said(arg: TensorArgument | ConstantArgument) -> Any:
    return arg.name if isinstance(arg, TensorArgument) else arg.value


def argument(value: Any) -> TensorArgument | ConstantArgument:
    """An output of the program: an operation of the graph, or a value."""
    return TensorArgument(value.name) if isinstance(value, Node) else ConstantArgument("", value)
