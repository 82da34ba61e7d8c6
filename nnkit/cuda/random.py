"""The random numbers of GPUs: one Philox stream for each, as torch has it."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.random import checked_seed
from nnkit.cuda.device import index_of, is_available, runtime


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator with ``int(seed)``; without a GPU nothing happens."""
    seed = checked_seed(int(seed))
    if is_available():
        runtime().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs with ``int(seed)``; without a GPU nothing happens."""
    seed = checked_seed(int(seed))
    if is_available():
        runtime().manual_seed_all(seed)


def initial_seed() -> int:
    """The seed that the current GPU's generator started from.

    Raises:
        AssertionError: there is no GPU.
    """
    return runtime().generator().seed


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
    stream = runtime().generator(index_of(device, "set_rng_state"))
    found = type(stream).from_state(new_state._data)
    stream.seed, stream.offset = found.seed, found.offset
