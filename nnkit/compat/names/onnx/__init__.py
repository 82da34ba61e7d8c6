"""torch.onnx: the switches and decorators of libraries that can also be exported."""

from __future__ import annotations

from typing import Any

from nnkit.compat.passing import false, nothing

is_in_onnx_export = false
register_custom_op_symbolic = unregister_custom_op_symbolic = nothing


def export(*args: Any, **kwargs: Any) -> Any:
    """Refuse to write a file.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.onnx.export: nnkit does not write ONNX files yet")
