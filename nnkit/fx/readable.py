"""What `GraphModule.print_readable` adds to the text of a program: places, shapes and notes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from nnkit.autograd import Tensor
from nnkit.backend.dtype import dtype
from nnkit.fx.node import Node

_KINDS = {"float": "f", "bfloat": "bf", "complex": "c", "int": "i", "uint": "u", "bool": "b"}
_FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)')


@dataclass(frozen=True)
class Remarks:
    """Which remarks a text has.

    Attributes:
        additional_meta: the entries of ``meta`` that are told before each operation.
        include_stride, include_device: whether strides and devices are told with shapes.
    """

    additional_meta: tuple[str, ...] = ()
    include_stride: bool = False
    include_device: bool = False

    def before(self, node: Node) -> str:
        """The comment before an operation: its place in the program, and notes."""
        told = [f"{key}: {node.meta[key]}" for key in self.additional_meta if key in node.meta]
        notes = {
            key: f"{str(value)[:40]}..." if len(str(value)) > 40 else value
            for key, value in (node.meta.get("custom") or {}).items()
        }
        parts = [f"# {', '.join(told)} #" if told else "#"]
        if notes:
            parts.append(f"Annotation: {notes}")
        return " ".join([*parts, _place(node.stack_trace or "")])

    def annotation(self, node: Node) -> str:
        """The dtype and shape of a value, as the annotation of its name."""
        meta = node.meta
        found: Any = meta.get("val", meta.get("tensor_meta", meta.get("example_value")))
        if isinstance(found, Tensor):
            text = short_name(found.dtype) + _sizes(found.shape)
            text += _sizes(found.stride()) if self.include_stride else ""
            text += str(found.device) if self.include_device else ""
            kind = type(found)
            return f': "{text}"' if kind is Tensor else f': "{kind.__name__}({text})"'
        if hasattr(found, "dtype") and hasattr(found, "shape"):
            return f': "{short_name(found.dtype)}{_sizes(found.shape)}"'
        return ""


def short_name(kind: dtype) -> str:
    """The name of a dtype in few letters: ``f32``, ``i64``, ``b8``.

    Example:
        >>> import nnkit
        >>> short_name(nnkit.bfloat16), short_name(nnkit.float8_e5m2)
        ('bf16', 'f8e5m2')
    """
    name = str(kind).partition(".")[2]
    word, size = re.match(r"([a-z]+)(.*)", name).groups()  # type: ignore[union-attr]
    return _KINDS.get(word, word) + (size.replace("_", "") or "8")


def _sizes(numbers: Any) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def _place(trace: str) -> str:
    """The innermost line of the program in a stack trace."""
    lines = [line.strip() for line in trace.strip().splitlines()]
    for line, code in zip(lines[-2::-1], lines[:0:-1]):
        found = _FRAME.fullmatch(line)
        if found:
            return "File: {}:{} in {}, code: {}".format(*found.groups(), code)
    return "No stacktrace found for following nodes"
