"""The random numbers of GPUs: one Philox stream for each, as torch has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend import random as source
from nnkit.cuda.device import device_count, index_of, is_available, runtime


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator with ``int(seed)``; without a GPU nothing happens."""
    seed = source.checked_seed(int(seed))
    if is_available():
        runtime().generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs with ``int(seed)``, also of those that are used later."""
    source.manual_seed_gpus(int(seed))


def seed() -> None:
    """Seed the current GPU's generator from the operating system; without a GPU nothing happens."""
    if is_available():
        runtime().generator().seed()


def seed_all() -> None:
    """Seed the generators of all GPUs alike from the operating system."""
    source.manual_seed_gpus(source.Generator().seed())


def initial_seed() -> int:
    """The seed that the current GPU's generator started from.

    Raises:
        AssertionError: there is no GPU.
    """
    return runtime().generator().initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's generator, a uint8 tensor of torch's 16 bytes.

    Raises:
        AssertionError: there is no GPU.
    """
    return wrap(runtime().generator(index_of(device, "get_rng_state")).get_state())


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Go on from a state that `get_rng_state`, here or in torch, gave.

    Raises:
        AssertionError: there is no GPU.
        RuntimeError: the state has another size.
    """
    runtime().generator(index_of(device, "set_rng_state")).set_state(new_state._array)


def get_rng_state_all() -> list[Tensor]:
    """The states of the generators of all GPUs."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Go on from states that `get_rng_state_all` gave."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
