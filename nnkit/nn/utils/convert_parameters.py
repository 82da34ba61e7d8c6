"""All parameters of a model as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from nnkit.autograd import Tensor
from nnkit.autograd.ops.shape.joining import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Parameters one after the other, flattened; autograd sees through it.

    Raises:
        TypeError: the parameters are on different devices.

    Example:
        >>> import nnkit
        >>> layer = nnkit.nn.Linear(3, 2)
        >>> nnkit.nn.utils.parameters_to_vector(layer.parameters()).shape
        nnkit.Size([8])
    """
    parameters = list(parameters)
    _check_devices(parameters, "parameters_to_vector")
    return cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give each parameter its part of a vector, whose memory it then shares.

    Args:
        vec: as many elements as all parameters have.
        parameters: what to write into, in order.

    Raises:
        TypeError: ``vec`` is no Tensor, or the parameters are on different devices.

    Example:
        >>> import nnkit
        >>> layer = nnkit.nn.Linear(1, 1)
        >>> nnkit.nn.utils.vector_to_parameters(nnkit.tensor([2.0, 3.0]), layer.parameters())
        >>> layer.bias
        Parameter containing:
        tensor([3.], requires_grad=True)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: vec must be a Tensor, got {type(vec).__name__}")
    parameters = list(parameters)
    _check_devices(parameters, "vector_to_parameters")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end


def _check_devices(parameters: list[Tensor], function: str) -> None:
    devices = {str(parameter.device) for parameter in parameters}
    if len(devices) > 1:
        raise TypeError(f"{function}: the parameters are on different devices, {sorted(devices)}")
