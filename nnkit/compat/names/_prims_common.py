"""torch._prims_common: correspondences between dtypes."""

from __future__ import annotations

from nnkit import dtype


def corresponding_complex_dtype(d: dtype) -> dtype:
    """The complex dtype whose parts have dtype ``d``."""
    return d.to_complex()


def corresponding_real_dtype(d: dtype) -> dtype:
    """The dtype of the parts of a complex dtype ``d``."""
    return d.to_real()


def dtype_to_type(d: dtype) -> type:
    """The class of Python numbers that corresponds to dtype ``d``."""
    if d.is_complex:
        return complex
    return float if d.is_floating_point else bool if d.name == "bool" else int
