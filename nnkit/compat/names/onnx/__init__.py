"""torch.onnx: `nnkit.onnx`, and decorators of libraries that can also be exported."""

from __future__ import annotations

import enum

from nnkit.compat.passing import nothing
from nnkit.onnx import OnnxExporterError as OnnxExporterError
from nnkit.onnx import ONNXProgram as ONNXProgram
from nnkit.onnx import export as export
from nnkit.onnx import is_in_onnx_export as is_in_onnx_export

TrainingMode = enum.IntEnum("TrainingMode", "EVAL PRESERVE TRAINING", start=0)
OperatorExportTypes = enum.IntEnum(
    "OperatorExportTypes", "ONNX ONNX_ATEN ONNX_ATEN_FALLBACK ONNX_FALLTHROUGH", start=0
)
register_custom_op_symbolic = unregister_custom_op_symbolic = nothing
