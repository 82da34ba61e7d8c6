"""torch.onnx: `nnkit.onnx`, and decorators of libraries that can also be exported."""

from __future__ import annotations

from nnkit.compat.passing import nothing
from nnkit.onnx import OnnxExporterError as OnnxExporterError
from nnkit.onnx import ONNXProgram as ONNXProgram
from nnkit.onnx import export as export
from nnkit.onnx import is_in_onnx_export as is_in_onnx_export

register_custom_op_symbolic = unregister_custom_op_symbolic = nothing
