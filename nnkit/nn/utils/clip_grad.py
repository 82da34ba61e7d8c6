"""Gradients bounded in norm or value, so that one step cannot go too far."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.grad_mode import capturing
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.autograd.ops.shape.joining import stack
from nnkit.backend.warning import warn

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients in place so that their common norm is at most ``max_norm``.

    ``grad *= min(1, max_norm / (total_norm + 1e-6))``

    Args:
        parameters: a tensor or several; those without a gradient are left out.
        max_norm: the largest norm to allow.
        norm_type: the order of the norm; ``inf`` for the largest absolute value.
        error_if_nonfinite: whether a norm that is nan or infinite is an error.
        foreach: accepted for torch's sake; there is one implementation.

    Returns:
        the norm before scaling, of all gradients as one vector.

    Raises:
        RuntimeError: the norm is not finite and ``error_if_nonfinite`` holds; nothing is scaled.

    Example:
        >>> import nnkit
        >>> w = nnkit.nn.Parameter(nnkit.zeros(2))
        >>> w.grad = nnkit.tensor([3.0, 4.0])
        >>> nnkit.nn.utils.clip_grad_norm_(w, 1.0)
        tensor(5.)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    is_generator = isinstance(parameters, Generator)
    parameters = _listed(parameters)
    if is_generator and not parameters:
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total_norm = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of several tensors taken as one vector; the arguments are ``clip_grad_norm_``'s.

    Example:
        >>> import nnkit
        >>> nnkit.nn.utils.get_total_norm([nnkit.tensor([3.0]), nnkit.tensor([4.0])])
        tensor(5.)
    """
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    for each in tensors:
        if not isinstance(each, Tensor):
            raise TypeError(
                f"get_total_norm(): argument 'tensors' must be Tensors, got {type(each).__name__}"
            )
    place = tensors[0].device
    norms = [each.norm(norm_type).to(place) for each in tensors]
    total_norm = stack(norms).norm(norm_type)
    if error_if_nonfinite and not total_norm.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped: use error_if_nonfinite=False to scale them anyway"
        )
    return total_norm


@no_grad()
@capturing(None)  # in torch one call writes all
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale all gradients in place by ``min(1, max_norm / (total_norm + 1e-6))``.

    Raises:
        TypeError: ``total_norm`` is no tensor.

    Example:
        >>> import nnkit
        >>> w = nnkit.zeros(2, requires_grad=True)
        >>> w.grad = nnkit.tensor([3.0, 4.0])
        >>> nnkit.nn.utils.clip_grads_with_norm_([w], 1.0, nnkit.tensor(5.0))
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    max_norm = float(max_norm)
    grads = _grads(_listed(parameters))
    if not grads:
        return
    if not isinstance(total_norm, Tensor):
        got = type(total_norm).__name__
        raise TypeError(f"clip_grads_with_norm_: total_norm must be a Tensor, got {got}")
    if total_norm.ndim:
        raise RuntimeError(
            "clip_grads_with_norm_(): argument 'total_norm' must have no dimension, got shape "
            f"{list(total_norm.shape)}"
        )
    scale = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    scales = {device: scale.to(device) for device in {grad.device for grad in grads}}
    for grad in grads:
        grad.mul_(scales[grad.device])


@no_grad()
@capturing(None)
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit every element of all gradients, in place, to ``[-clip_value, clip_value]``.

    Example:
        >>> import nnkit
        >>> w = nnkit.nn.Parameter(nnkit.zeros(2))
        >>> w.grad = nnkit.tensor([3.0, -0.5])
        >>> nnkit.nn.utils.clip_grad_value_(w, 1.0)
        >>> w.grad
        tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    grads = _grads(_listed(parameters))
    if not grads:
        raise RuntimeError("clip_grad_value_(): none of the parameters has a gradient")
    for grad in grads:
        grad.clamp_(min=-bound, max=bound)


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: list[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]
