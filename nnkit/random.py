"""Seeds and states of the default generator, and `fork_rng`, as ``torch.random``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nnkit.autograd.surface.generator import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from nnkit.backend.device import device
from nnkit.backend.random import restore_gpus, states_of_gpus

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Run a block whose random numbers do not move the default generators on.

    Args:
        devices: the GPUs whose generators to keep as well; all unless given.
        enabled: whether to do anything at all.
        device_type: the kind of these devices, which is "cuda"; nothing is kept for "meta".

    Raises:
        RuntimeError: there is no such kind of devices.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> with nnkit.random.fork_rng():
        ...     x = nnkit.rand(2)
        >>> nnkit.equal(x, nnkit.rand(2))
        True
    """
    if not enabled or (device_type is not None and device(device_type).type == "meta"):
        yield
        return
    only = None if devices is None else {device(place).index for place in devices}
    state, of_gpus = get_rng_state(), states_of_gpus()
    try:
        yield
    finally:
        set_rng_state(state)
        restore_gpus(of_gpus, only)
