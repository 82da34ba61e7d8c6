"""Seeds and states of the default generator, and `fork_rng`, as ``torch.random``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nnkit.autograd.generator import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Run a block whose random numbers do not move the default generator on.

    Args:
        devices: other devices whose generators to keep; there is the CPU's alone.
        enabled: whether to do anything at all.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> with nnkit.random.fork_rng():
        ...     x = nnkit.rand(2)
        >>> nnkit.equal(x, nnkit.rand(2))
        True
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
