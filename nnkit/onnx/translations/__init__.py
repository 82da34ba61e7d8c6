"""What ONNX has for each public function: the arguments are PyTorch's, a `Value` for a tensor."""

from __future__ import annotations

from nnkit.onnx.translations import elementwise, layers, recurrent, reductions, shapes

__all__ = ["elementwise", "layers", "recurrent", "reductions", "shapes"]
