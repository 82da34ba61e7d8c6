"""Pictures of a graph: nodes, leaves, and the arrays that are kept for backward."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nnkit.autograd.engine.node import AccumulateGrad, Node
from nnkit.autograd.tensor import Tensor

COLORS = {"leaf": "lightblue", "node": "lightgrey", "result": "darkolivegreen1", "saved": "orange"}


def dot(
    tensor: Tensor,
    params: Mapping[str, Tensor] | None = None,
    show_saved: bool = False,
    file: str | None = None,
) -> str:
    """The graph that made ``tensor``, as Graphviz text.

    Args:
        tensor: where to start; it must have been made by a recorded operation.
        params: names for leaves, such as ``dict(model.named_parameters())``.
        show_saved: draw the arrays that nodes keep for backward too.
        file: write the picture there as well: SVG where Graphviz is installed and the name does
            not end in ``.dot``, the text otherwise.

    Returns:
        The text of a ``digraph``: boxes for leaves and saved arrays, ellipses for nodes.

    Raises:
        ValueError: the tensor has no graph.
        RuntimeError: a picture was asked for and Graphviz is not installed, or fails.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.graph import dot
        >>> x = nnkit.tensor(2.0, requires_grad=True)
        >>> print(dot(x * 3, {"x": x}))
        digraph {
          node [fontname="sans-serif" fontsize=11]
          n0 [label="MulBackward0" shape=ellipse style=filled fillcolor=lightgrey]
          n1 [label="x\\n()" shape=box style=filled fillcolor=lightblue]
          n1 -> n0
          result [label="()" shape=box style=filled fillcolor=darkolivegreen1]
          n0 -> result
        }
    """
    root = tensor.grad_fn
    if root is None:
        raise ValueError("dot(): the tensor was not made by a recorded operation")
    names = {id(t): name for name, t in (params or {}).items()}
    lines = ["digraph {", '  node [fontname="sans-serif" fontsize=11]']
    numbers: dict[int, str] = {}
    pending: list[Node] = [root]
    kept: list[Any] = [root]  # so that no id is used twice while drawing
    numbers[id(root)] = "n0"
    while pending:
        node = pending.pop(0)
        own = numbers[_key(node)]
        lines.append(_box(own, *_describe(node, names)))
        if show_saved:
            lines += _saved(node, own)
        for target, index in node.next_functions:
            if target is None:
                continue
            key = _key(target)
            if key not in numbers:
                numbers[key] = f"n{len(numbers)}"
                pending.append(target)
                kept.append(target)
            label = f' [label="{index}"]' if index else ""
            # Data flows from inputs to results, against the direction of backward.
            lines.append(f"  {numbers[key]} -> {own}{label}")
    lines.append(_box("result", _shape(tensor), "result"))
    lines.append("  n0 -> result")
    text = "\n".join([*_ordered(lines), "}"])
    if file is not None:
        _write(text, file)
    return text


def _key(node: Node) -> int:
    """A key that is the same for every look at one leaf, whose node may be made afresh each
    time."""
    return id(node.variable) if isinstance(node, AccumulateGrad) else id(node)


def _ordered(lines: list[str]) -> list[str]:
    """Boxes before the arrows between them, in the order in which they were found."""
    head, body = lines[:2], lines[2:]
    boxes = [b for b in body[:-2] if "->" not in b]
    arrows = [b for b in body[:-2] if "->" in b]
    return [*head, *boxes, *arrows, *body[-2:]]


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def _describe(node: Node, names: dict[int, str]) -> tuple[str, str]:
    if isinstance(node, AccumulateGrad):
        leaf = node.variable
        name = names.get(id(leaf))
        return (f"{name}\\n{_shape(leaf)}" if name else _shape(leaf)), "leaf"
    return type(node).__name__, "node"


def _box(number: str, label: str, kind: str) -> str:
    shape = "ellipse" if kind == "node" else "box"
    return f'  {number} [label="{label}" shape={shape} style=filled fillcolor={COLORS[kind]}]'


def _saved(node: Node, own: str) -> list[str]:
    lines = []
    for i, value in enumerate(getattr(node, "values", None) or ()):
        if isinstance(value, tuple) and len(value) == 2 and hasattr(value[0], "_array"):
            shape = "x".join(map(str, value[0]._array.shape)) or "()"
            lines.append(_box(f"{own}s{i}", f"saved {shape}", "saved"))
            lines.append(f"  {own}s{i} -> {own} [style=dotted]")
    return lines


def _write(text: str, file: str) -> None:
    from nnkit.replacing import replacing

    content = text.encode()
    if not file.endswith(".dot"):
        program = shutil.which("dot")
        if program is None:
            raise RuntimeError(
                f"dot(): cannot draw {file}: Graphviz is not installed; use a name ending in .dot"
            )
        drawn = subprocess.run([program, "-Tsvg"], input=content, capture_output=True)
        if drawn.returncode:
            raise RuntimeError(f"dot(): Graphviz failed: {drawn.stderr.decode().strip()}")
        content = drawn.stdout
    with replacing(Path(file)) as stream:
        stream.write(content)
