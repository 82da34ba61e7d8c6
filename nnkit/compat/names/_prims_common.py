"""torch._prims_common: which dtypes belong together."""

from __future__ import annotations

from nnkit import dtype


def corresponding_complex_dtype(d: dtype) -> dtype:
    """The dtype of complex numbers whose parts are of dtype ``d``."""
    return d.to_complex()


def corresponding_real_dtype(d: dtype) -> dtype:
    """The dtype of the parts of complex numbers of dtype ``d``."""
    return d.to_real()


def dtype_to_type(d: dtype) -> type:
    """The class of Python's numbers that are like those of dtype ``d``."""
    if d.is_complex:
        return complex
    return float if d.is_floating_point else bool if d.name == "bool" else int
