"""The form in which a leaf keeps its gradient: dtype, memory layout, and whose it is."""

from __future__ import annotations

import sys
from typing import Any

from nnkit.backend.memory import strides_in_elements, strides_of

# The result of `sys.getrefcount` for an object that is held by one local variable only.
REFERENCES_OF_A_LOCAL: Any = (lambda: (local := object()) and sys.getrefcount(local))()
GRAD_DTYPES: dict[int, Any] = {}  # the `grad_dtype` set by users, by id of the leaf; None for any


def gradient_dtype(leaf: Any) -> Any:
    """The dtype that the gradient of a leaf must have; None if any is allowed."""
    return GRAD_DTYPES.get(id(leaf), leaf.dtype)


def of_old_shape(B: Any, data: Any, grad: Any, unshared: bool) -> Any:
    """The gradient of a leaf whose shape changed after the forward pass. As in torch, it is stored
    as it is if nobody else holds it and its strides agree with the leaf's, else copied into the
    leaf's new shape."""
    kept = strides_in_elements(data) if data.size else strides_of(data.shape)
    steps = (*kept, *strides_in_elements(B.contiguous(grad))[data.ndim :])
    own = strides_in_elements(grad)
    fits = unshared and all(n == 1 or a == b for n, a, b in zip(grad.shape, own, steps))
    return B.copy(grad) if fits else B.overwrite(data, grad)
