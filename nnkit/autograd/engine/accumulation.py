"""What a leaf does with a gradient: it is kept, or added to the one that is there."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.engine.leaves import of_old_shape
from nnkit.autograd.engine.node import SPARSE, sum_of
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.writes import wrote
from nnkit.backend.memory import has_order_of, is_view


def accumulate(leaf: Tensor, grad: Any, unshared: bool, lifted: Any) -> None:
    """Add a gradient to ``leaf.grad``.

    Args:
        unshared: whether nobody else holds its array.
        lifted: the algebra on Tensors if the pass itself is recorded; else the gradient is an
            array, or a sparse tensor.
    """
    if grad is None:
        return
    if leaf._edge is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    if not leaf._requires_grad:
        return
    known = leaf._grad
    B = leaf._device.backend
    if SPARSE and leaf.__class__ not in SPARSE and SPARSE & {grad.__class__, known.__class__}:
        shown = grad if lifted or grad.__class__ in SPARSE else wrap(grad, leaf._device)
        leaf._grad = sum_of(known, shown, not lifted)
        return
    try:
        place: Any = leaf.detach() if lifted else leaf._array
        if place.dtype != grad.dtype:  # allowed by `grad_dtype`
            place = place.to(grad.dtype) if lifted else B.cast(place, grad.dtype)
        if lifted:
            leaf._grad = lifted.overwrite(place, grad) if known is None else known + grad
        elif known is not None:
            known._device.backend.add_(known._array, grad)
            if known._writes.__class__ is list:
                known._writes[0] += 1
            else:
                wrote(known, "add_")
        elif grad.shape != leaf._array.shape:
            leaf._grad = wrap(of_old_shape(B, place, grad, unshared), leaf._device)
        else:
            # The array becomes the user's, so it must not be shared or be a view.
            own = unshared and not is_view(grad)
            if not (own and (grad.ndim < 2 or has_order_of(grad, place))):
                grad = B.overwrite(place, grad)
            leaf._grad = wrap(grad, leaf._device)
    except ValueError:
        raise RuntimeError(
            f"a gradient of shape {list(grad.shape)} fits neither the leaf of shape "
            f"{list(leaf.shape)} nor its gradient: the leaf has got another shape since"
        ) from None
