"""`ShapeProp`: runs a graph and notes with each operation the shape and dtype of its result."""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

from nnkit.autograd import Size, Tensor
from nnkit.backend.dtype import dtype
from nnkit.backend.memory import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    strided,
)
from nnkit.fx.interpreter import Interpreter
from nnkit.fx.node import Node, map_aggregate
from nnkit.nn import Module


class TensorMetadata(NamedTuple):
    """The properties of a tensor other than its values."""

    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    order, stride = None, ()
    if result.layout is strided:
        stride = result.stride()
        orders = (contiguous_format, channels_last, channels_last_3d) if include_contiguity else ()
        order = next((o for o in orders if result.is_contiguous(memory_format=o)), None)
    known = (result.shape, result.dtype, result.requires_grad, stride, order)
    return TensorMetadata(*known, is_quantized=False, qparams={})


class ShapeProp(Interpreter):
    """Runs a `GraphModule` and keeps what its operations give, but for the values.

    ``meta["tensor_meta"]`` of an operation gets a `TensorMetadata`, or a tuple, list or dict with
    such in the place of tensors; ``meta["type"]`` the class of the result.

    Args:
        gm: the module.

    Raises:
        RuntimeError: an operation fails.

    Source: ``torch.fx.passes.shape_prop.ShapeProp``.

    Example:
        >>> import nnkit
        >>> module = nnkit.fx.symbolic_trace(lambda x: x.sum(0))
        >>> _ = ShapeProp(module).propagate(nnkit.ones(2, 3))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in module.graph.nodes]
        [(2, 3), (3,), (3,)]
    """

    def __init__(self, gm: Module, fake_mode: Any = None) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """The result of an operation."""
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found: list[Tensor] = []

        def described(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            found.append(value)
            return _extract_tensor_metadata(value)

        described_result = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = described_result
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """The result of the program for these arguments."""
        return self.run(*args)
