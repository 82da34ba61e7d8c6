"""Generators: the state behind every random number, and the words that it hands out.

``mt19937`` is the default random engine and gives the words of PyTorch's CPU generator; its state
is the very 5056 bytes of ``torch.get_rng_state()``, so states travel both ways. ``philox`` is the
counter based engine of the GPUs (see ``nnkit.backend.philox``); the CPU has it too. A GPU's
generator is a seed and an offset on the host, so that none of this needs a GPU.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Container
from typing import Any

import numpy as np

from nnkit.backend.philox import Philox

DEFAULT_SEED = 67280421310721
ENGINES = {"cpu": ("mt19937", "philox"), "cuda": ("philox",)}  # the device's own comes first

# The layout of torch's CPU state: engine, cached normals in double, cached normal in float.
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal",
                  "float_normal", "has_float_normal"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", 624), "<f8", "<i4", "<f4", "?"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)  # fmt: skip


def seed_numpy(base_seed: int, worker: int) -> None:
    """Seed NumPy's global generator in a worker process, with the words that torch gives it."""
    np.random.seed(words_of_worker(base_seed, worker))


def repeatable(seed: int) -> np.random.RandomState:
    """NumPy's older generator, whose numbers stay the same for good."""
    return np.random.RandomState(seed)


def words_of_worker(base_seed: int, worker: int) -> list[int]:
    """The four words that torch seeds NumPy's generator with in a worker process."""
    words = [worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


def checked_seed(value: Any) -> int:
    """The 64-bit seed that ``value`` stands for; negative values count from the top, as in torch.

    Raises:
        RuntimeError: ``value`` is not an integer.
        ValueError: ``value`` does not fit in 64 bits, signed or unsigned.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        seed = operator.index(value)
    except TypeError:
        got = type(value).__name__
        raise RuntimeError(f"manual_seed expected a long, but got {got}") from None
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"manual_seed: Overflow when unpacking long long: {seed}")
    return seed % 2**64


class Generator:
    """A stream of random words with a seed and a state, as ``torch.Generator``, over arrays.

    Args:
        device: the name of where the numbers are drawn, such as ``"cpu"`` or ``"cuda:0"``.
        engine: ``"mt19937"`` (torch's CPU stream) or ``"philox"`` (torch's CUDA stream); the
            device's own unless given.

    Raises:
        RuntimeError: there are no random numbers on this device.
        ValueError: the device has no such engine.
    """

    __slots__ = ("_bits", "_fresh", "_seed", "device", "next_double_normal_sample",
                 "next_float_normal_sample", "philox")  # fmt: skip

    def __init__(self, device: str = "cpu", engine: str | None = None) -> None:
        kind = device.partition(":")[0]
        if kind not in ENGINES:
            raise RuntimeError(f"Generator: device must be 'cpu' or 'cuda', got {device!r}")
        engine = ENGINES[kind][0] if engine is None else engine
        if engine not in ENGINES[kind]:
            names = " or ".join(map(repr, ENGINES[kind]))
            raise ValueError(f"Generator: engine must be {names} on {kind}, got {engine!r}")
        self.device = device
        self.philox = Philox(DEFAULT_SEED) if engine == "philox" else None
        self._reset(DEFAULT_SEED)

    def _reset(self, seed: int) -> None:
        self._seed = seed
        self._bits: Any = None  # made on first use: numpy.random costs 20 ms to import
        self._fresh = True
        # Second halves of a Box-Muller pair that wait for the next draw. PyTorch's own kernels
        # fill and use the double alone; the float travels with the state.
        self.next_double_normal_sample: float | None = None
        self.next_float_normal_sample: float | None = None
        if self.philox is not None:
            self.philox.seed, self.philox.offset = seed, 0

    @property
    def engine(self) -> str:
        return "mt19937" if self.philox is None else "philox"

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from ``seed`` and return the generator."""
        self._reset(checked_seed(seed))
        return self

    def seed(self) -> int:
        """Restart from a seed taken from the operating system, and return it."""
        self._reset(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed from which the stream started."""
        return self._seed

    def _start(self) -> Any:
        self._bits = np.random.MT19937()
        # The classic 32-bit initialisation, which RandomState keeps for good.
        np.random.RandomState(self._bits).seed(self._seed & 0xFFFFFFFF)
        return self._bits

    def words(self, count: int) -> np.ndarray:
        """The next ``count`` 32-bit words, in a uint64 array."""
        if self.philox is not None:
            return self.philox.words(count)[:, 0].astype(np.uint64)
        bits = self._bits or self._start()
        if count:
            self._fresh = False
        return bits.random_raw(count)

    def double_words(self, count: int) -> np.ndarray:
        """The next ``count`` 64-bit words, two 32-bit words each, the high one first."""
        words = self.words(2 * count)
        high = words[0::2] << np.uint64(32)
        high |= words[1::2]
        return high

    def mark(self) -> Any:
        """A place in the stream to go back to with :meth:`rewind`."""
        if self.philox is not None:
            return self.philox.offset
        bits = self._bits or self._start()
        return bits.state, self._fresh

    def rewind(self, mark: Any, count: int) -> None:
        """Go to ``count`` words after ``mark``: for draws that learn late how many they use."""
        if self.philox is not None:
            self.philox.offset = mark
        else:
            self._bits.state, self._fresh = mark
        self.words(count)

    def get_state(self) -> np.ndarray:
        """The state as uint8: 5056 bytes in torch's CPU layout, or Philox's 16."""
        if self.philox is not None:
            return self.philox.get_state()
        inner = (self._bits or self._start()).state["state"]
        # torch points at 0 until the first word is drawn, NumPy at the end of the seed block.
        position = 0 if self._fresh else inner["pos"]
        state = np.zeros((), _STATE)
        state["seed"] = self._seed
        state["left"] = 1 if self._fresh else 625 - position
        state["seeded"] = 1
        state["next"] = position
        state["words"] = inner["key"]
        if self.next_double_normal_sample is not None:
            state["normal"], state["has_normal"] = self.next_double_normal_sample, 1
        if self.next_float_normal_sample is not None:
            state["float_normal"], state["has_float_normal"] = self.next_float_normal_sample, True
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, state: np.ndarray) -> Generator:
        """Go on from a state that :meth:`get_state` or ``torch.get_rng_state`` gave.

        Raises:
            TypeError: ``state`` is not a uint8 array.
            RuntimeError: it has another size, or its fields contradict each other.
        """
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            got = getattr(state, "dtype", type(state).__name__)
            raise TypeError(f"set_state: RNG state must be a uint8 (Byte) array, got {got}")
        if self.philox is not None:
            self.philox.set_state(state)
            self._seed = self.philox.seed
            return self
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"set_state: expected a CPU generator state of {_STATE.itemsize} bytes, "
                f"got {state.size}"
            )
        fields = np.frombuffer(state.tobytes(), _STATE)[0]
        left, position = int(fields["left"]), int(fields["next"])
        if fields["seeded"] != 1 or not 0 < left <= 624 or position > 624:
            raise RuntimeError(
                f"set_state: invalid mt19937 state, got seeded={fields['seeded']}, left={left}, "
                f"next={position}"
            )
        self._reset(int(fields["seed"]))
        self._fresh = left == 1 and position == 0
        self._bits = np.random.MT19937()
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": fields["words"], "pos": 625 - left},
        }
        if fields["has_normal"]:
            self.next_double_normal_sample = float(fields["normal"])
        if fields["has_float_normal"]:
            self.next_float_normal_sample = float(fields["float_normal"])
        return self

    def clone_state(self) -> Generator:
        """A new generator that goes on exactly as this one would."""
        return _rebuild(self.device, self.engine, self.get_state())

    def __copy__(self) -> Generator:
        return self.clone_state()

    def __deepcopy__(self, memo: dict) -> Generator:
        return self.clone_state()

    def __reduce__(self):
        return (_rebuild, (self.device, self.engine, self.get_state()))


def _rebuild(device: str, engine: str, state: np.ndarray) -> Generator:
    return Generator(device, engine).set_state(state)


default_generator = Generator()
default_generator.seed()

_of_gpus: dict[int, Generator] = {}
_seed_of_gpus = DEFAULT_SEED


def generator_of_gpu(index: int) -> Generator:
    """The default generator of a GPU, which is made when it is first asked for."""
    if index not in _of_gpus:
        _of_gpus[index] = Generator(f"cuda:{index}").manual_seed(_seed_of_gpus)
    return _of_gpus[index]


def manual_seed_gpus(seed: int) -> None:
    """Start the default generators of all GPUs again, also of those that were not used yet."""
    global _seed_of_gpus
    _seed_of_gpus = checked_seed(seed)
    for generator in _of_gpus.values():
        generator.manual_seed(seed)


def states_of_gpus() -> tuple[int, dict[int, np.ndarray]]:
    """The seed of GPUs that were not used yet, and the states of all others, for `restore_gpus`."""
    return _seed_of_gpus, {i: generator.get_state() for i, generator in _of_gpus.items()}


def restore_gpus(states: tuple[int, dict[int, np.ndarray]], only: Container[int] | None) -> None:
    """Let the default generators of these GPUs, of all for None, go on from `states_of_gpus`."""
    global _seed_of_gpus
    seed, found = states
    for index, generator in _of_gpus.items():
        if only is None or index in only:
            generator.manual_seed(seed)
            if index in found:
                generator.set_state(found[index])
    if only is None:
        _seed_of_gpus = seed
