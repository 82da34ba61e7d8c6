"""ONNX files of modules: `export` writes what other runtimes read.

It needs the package onnx: ``pip install 'nnkit[onnx]'``. Source: ``torch.onnx``.
"""

from __future__ import annotations

from nnkit.onnx.exporting import ONNXProgram, export, is_in_onnx_export
from nnkit.onnx.writer import OnnxExporterError, UnsupportedOperatorError

__all__ = [
    "ONNXProgram", "OnnxExporterError", "UnsupportedOperatorError", "export", "is_in_onnx_export",
]  # fmt: skip
