"""Gradients as a leaf keeps them."""

from __future__ import annotations

from typing import Any

from nnkit.backend.memory import strides_in_elements

GRAD_DTYPES: dict[int, Any] = {}  # those that were set, by the identity of leaves; None for any


def gradient_dtype(leaf: Any) -> Any:
    """The dtype of the gradient of a leaf; None where it may have any."""
    return GRAD_DTYPES.get(id(leaf), leaf.dtype)


def of_old_shape(B: Any, data: Any, grad: Any, unshared: bool) -> Any:
    """The gradient of a leaf that has got another shape since: in torch itself if nobody else has
    it and its steps are the leaf's, as far as that has some, else what fits into the leaf."""
    steps = (*strides_in_elements(data), *strides_in_elements(B.contiguous(grad))[data.ndim :])
    own = strides_in_elements(grad)
    fits = unshared and all(n == 1 or a == b for n, a, b in zip(grad.shape, own, steps))
    return B.copy(grad) if fits else B.overwrite(data, grad)
