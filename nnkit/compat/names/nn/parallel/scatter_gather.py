"""torch.nn.parallel.scatter_gather: a batch on several devices, of which there may be one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit import Tensor
from nnkit.utils._pytree import tree_map


def _one(name: str, devices: Sequence[Any]) -> Any:
    if len(devices) != 1:
        raise NotImplementedError(f"{name}: one device, got {list(devices)}")
    return devices[0]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> tuple[Any, ...]:
    """The inputs on the one device, in a tuple.

    Raises:
        NotImplementedError: several devices are given.
    """
    device = _one("scatter", target_gpus)
    return (tree_map(lambda x: x.to(device) if isinstance(x, Tensor) else x, inputs),)


def scatter_kwargs(
    inputs: tuple, kwargs: dict | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple, tuple]:
    """Positional and keyword arguments on the one device, each in a tuple."""
    return scatter(inputs, target_gpus, dim), scatter(kwargs or {}, target_gpus, dim)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """The output of the one device.

    Raises:
        NotImplementedError: there are several outputs.
    """
    return _one("gather", outputs)
