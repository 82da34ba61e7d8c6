"""torch.nn.parallel.replicate: copies of a module on several GPUs, of which there may be one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nnkit
from nnkit.nn import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """A module with its parameters and buffers copied to each device.

    Args:
        devices: GPUs, by number or name; the module is on one.
        detach: whether gradients stay in the copies; they go to the module's parameters else.

    Raises:
        ValueError: a device is the CPU.
        AssertionError: the module is on the CPU.
    """
    places = [nnkit.device(each) if isinstance(each, str) else each for each in devices]
    for place in places:
        if getattr(place, "type", "") == "cpu":
            raise ValueError(f"replicate(): expected devices other than the CPU, got {place}")
    if places and any(p.device.type == "cpu" for p in network.parameters()):
        raise AssertionError("replicate(): the module must be on a GPU, it is on the CPU")
    return [_copy(network, place, detach, {}) for place in places]


def _copy(module: Module, device: Any, detach: bool, known: dict[int, Any]) -> Module:
    """The copy of a module; what occurs in several places is copied once."""
    if id(module) in known:
        return known[id(module)]

    def there(value: Any) -> Any:
        if value is not None and id(value) not in known:
            known[id(value)] = (value.detach() if detach else value).to(device).view_as(value)
        return known.get(id(value))

    replica = known[id(module)] = module._replicate_for_data_parallel()
    for name, child in module._modules.items():
        replica._modules[name] = child and _copy(child, device, detach, known)
    for name, parameter in module._parameters.items():
        setattr(replica, name, there(parameter))  # no leaf, hence no parameter
    for name, buffer in module._buffers.items():
        replica._buffers[name] = None if buffer is None else buffer.to(device)
    return replica
