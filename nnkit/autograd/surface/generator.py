"""Generators above the door: seeds and states of the random numbers, as tensors."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.annotations import take
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.public import PUBLIC, public
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend import random as source
from nnkit.backend.device import cpu, located
from nnkit.backend.device import device as Device
from nnkit.backend.philox import WORDS, Philox


class Generator:
    """A stream of random numbers with a seed and a state, as ``torch.Generator``.

    Args:
        device: where the numbers are drawn, ``"cpu"`` or a GPU.
        engine: ``"mt19937"``, whose numbers are those of PyTorch on the CPU, or ``"philox"``, whose
            numbers are those of PyTorch on CUDA; the device's own unless given.

    Raises:
        RuntimeError: there is no such device.
        ValueError: the device has no such engine (a GPU has Philox alone).

    Example:
        >>> import nnkit
        >>> g = nnkit.Generator().manual_seed(0)
        >>> nnkit.rand(2, generator=g)
        tensor([0.4963, 0.7682])
    """

    __slots__ = ("_source",)

    def __init__(self, device: Any = "cpu", engine: str | None = None) -> None:
        place = located(cpu if device is None else device)
        _ = place.backend  # raises where there is no such device
        self._source = source.Generator(str(place), engine)

    @property
    def device(self) -> Device:
        """The device on which the numbers are drawn."""
        return Device(self._source.device)

    @property
    def engine(self) -> str:
        """``mt19937`` or ``philox``."""
        return self._source.engine

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed`` and return the generator.

        Raises:
            RuntimeError: ``seed`` is not an int.
            ValueError: it lies outside [-2**63, 2**64); negative ones count from 2**64 down.
        """
        if isinstance(seed, Tensor):
            raise RuntimeError("manual_seed expected a long, but got Tensor")
        self._source.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Start again from a seed of the operating system's, and return it."""
        return self._source.seed()

    def initial_seed(self) -> int:
        """The seed of the last start."""
        return self._source.initial_seed()

    def get_state(self) -> Tensor:
        """The state, a uint8 tensor of PyTorch's bytes: 5056 on the CPU; for Philox 16, the seed
        and the offset.

        Example:
            >>> import nnkit
            >>> g = nnkit.Generator()
            >>> before = g.get_state()
            >>> x = nnkit.rand(3, generator=g)
            >>> nnkit.equal(nnkit.rand(3, generator=g.set_state(before)), x)
            True
        """
        return wrap(self._source.get_state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state that `get_state`, here or in PyTorch, gave.

        Raises:
            TypeError: ``new_state`` is not a uint8 tensor.
            RuntimeError: it has another size or contradicts itself.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(
                f"set_state(): argument 'new_state' must be a uint8 (Byte) Tensor, "
                f"not {type(new_state).__name__}"
            )
        self._source.set_state(new_state._device.backend.to_numpy(new_state._array))
        return self

    def _philox(self, refusal: Exception) -> Philox:
        if self._source.philox is None:
            raise refusal
        return self._source.philox

    def get_offset(self) -> int:
        """The number of words that each thread of a GPU has drawn since the last start.

        Raises:
            RuntimeError: the engine is not Philox.
        """
        return self._philox(RuntimeError("get_offset(): mt19937 does not use an offset")).offset

    def set_offset(self, offset: int) -> Generator:
        """Go on after ``offset`` words of each thread, and return the generator.

        Raises:
            RuntimeError: the engine is not Philox, or the offset is no multiple of 4.
        """
        philox = self._philox(RuntimeError("set_offset(): mt19937 does not use an offset"))
        if offset < 0 or offset % WORDS:
            raise RuntimeError(f"set_offset(): offset must be a multiple of {WORDS}, got {offset}")
        philox.offset = offset
        return self

    def clone_state(self) -> Generator:
        """A new generator that goes on exactly as this one would."""
        return self._of(self._source.clone_state())

    def graphsafe_get_state(self) -> Generator:
        """A generator that shares its state with this one: what one draws moves the other on.

        Raises:
            NotImplementedError: the engine is not Philox.
        """
        shared = self._philox(NotImplementedError("graphsafe_get_state(): needs engine 'philox'"))
        twin = self.clone_state()
        twin._source.philox = shared
        return twin

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Share the state of another generator from now on, and return this one.

        Raises:
            NotImplementedError: the engine of one of the two is not Philox.
        """
        refusal = NotImplementedError("graphsafe_set_state(): needs engine 'philox'")
        self._philox(refusal)
        self._source.philox = state._philox(refusal)
        return self

    @classmethod
    def _of(cls, found: source.Generator) -> Generator:
        generator = cls.__new__(cls)
        generator._source = found
        return generator

    def __copy__(self) -> Generator:
        return self.clone_state()

    def __deepcopy__(self, memo: dict) -> Generator:
        return self.clone_state()

    def __reduce__(self) -> tuple:
        own = () if self.engine == source.Generator(str(self.device)).engine else (self.engine,)
        offset = None if self._source.philox is None else self.get_offset()
        state = (self.initial_seed(), offset, self.get_state())  # as torch has them
        return Generator, (self.device, *own), state

    def __setstate__(self, state: tuple) -> None:
        self.set_state(state[2])

    def __repr__(self) -> str:
        return f"<nnkit.Generator on {self.device}, {self.engine}, seed {self.initial_seed()}>"


take("generator", Generator)

default_generator = Generator._of(source.default_generator)
PUBLIC["Generator"] = Generator
PUBLIC["default_generator"] = default_generator  # type: ignore[assignment]


def check_randomness(name: str) -> None:
    """RuntimeError in a `vmap` that was not told what random numbers its examples should have."""
    if MODE.refuses_random:
        raise RuntimeError(
            f"vmap: called random operation while in randomness error mode: {name}(). Pass "
            "randomness='same' or 'different', or draw outside"
        )


def source_of(name: str, generator: Any, place: Device) -> Any:
    """The kernel's argument for the ``generator`` of the function ``name``."""
    check_randomness(name)
    if generator is None:
        return None
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{name}(): argument 'generator' must be Generator, not {type(generator).__name__}"
        )
    if generator.device.type != place.type:
        raise RuntimeError(
            f"{name}(): expected a '{place.type}' device type for generator, "
            f"but found '{generator.device.type}'"
        )
    return generator._source


@public(method=False)
def manual_seed(seed: Any) -> Generator:
    """Start the default generators of the CPU, which is returned, and of all GPUs again from
    ``int(seed)``.

    Raises:
        ValueError: the seed lies outside [-2**63, 2**64).

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.rand(2)
        tensor([0.4963, 0.7682])
    """
    source.manual_seed_gpus(int(seed))
    return default_generator.manual_seed(int(seed))


@public(method=False)
def seed() -> int:
    """Start the default generators again from a seed of the operating system's, and return it."""
    found = default_generator.seed()
    source.manual_seed_gpus(found)
    return found


@public(method=False)
def initial_seed() -> int:
    """The seed from which the default generator started.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(7)
        >>> nnkit.initial_seed()
        7
    """
    return default_generator.initial_seed()


@public(method=False)
def get_rng_state() -> Tensor:
    """The default generator's state, as `Generator.get_state` gives it.

    Example:
        >>> import nnkit
        >>> state = nnkit.get_rng_state()
        >>> x = nnkit.rand(2)
        >>> nnkit.set_rng_state(state)
        >>> nnkit.equal(x, nnkit.rand(2))
        True
    """
    return default_generator.get_state()


@public(method=False)
def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator go on from ``new_state``, as `Generator.set_state` does.

    Example:
        >>> import nnkit
        >>> state = nnkit.get_rng_state()
        >>> x = nnkit.rand(2)
        >>> nnkit.set_rng_state(state)
        >>> nnkit.equal(x, nnkit.rand(2))
        True
    """
    default_generator.set_state(new_state)
