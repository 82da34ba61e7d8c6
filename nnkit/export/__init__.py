"""Exported programs: a module's forward that is declared once and run without the module's code.

Source: ``torch.export``.
"""

from __future__ import annotations

from nnkit.export.dynamic_shapes import Dim, dims
from nnkit.export.exported_program import ExportedProgram, export
from nnkit.export.files import load, save
from nnkit.export.graph_signature import ExportGraphSignature
from nnkit.utils._pytree import register_dataclass

__all__ = [
    "Dim", "ExportGraphSignature", "ExportedProgram", "dims", "export", "load",
    "register_dataclass", "save",
]  # fmt: skip
