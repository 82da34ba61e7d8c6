"""Devices: a name such as ``cpu`` or ``cuda:1`` and the backend behind it."""

from __future__ import annotations

import operator
import re
from typing import Any

from nnkit.backend.algebra import Backend

TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # torch's names; only some have a backend  # fmt: skip


_NAME = re.compile("[a-zA-Z_]+")
_MEANT = {"gpu": " (did you mean cuda?)"} | {
    name: f" (did you mean the dtype nnkit.{name}?)"
    for name in ("float", "double", "half", "int", "long", "bool")
}


class device:
    """A place where tensors live, as ``torch.device``: ``device("cpu")``, ``device("cuda", 0)``.

    Tensors on ``device("meta")`` have shapes, strides and dtypes, and no memory. Within ``with
    device("meta"):`` (or another) tensors are made there unless a call names another device.

    Raises:
        RuntimeError: the name is not one of a device, or the index is negative.
        TypeError: the type is no str, or the index no int.
        ValueError: no int64 holds the index.

    Example:
        >>> import nnkit
        >>> nnkit.device("cpu")
        device(type='cpu')
    """

    __slots__ = ("backend", "index", "type")
    backend: Backend
    depth = 0  # of forward levels in each other
    maps = False  # whether it is a level whose tensors hold examples
    by_hand = False  # whether it is a level whose tensors show the history of their primals
    asks = False  # whether the classes of its tensors are asked for what is computed

    def __new__(cls, type: Any = "cpu", index: int | None = None) -> device:
        if index is None:
            if isinstance(type, device):
                return type
            if isinstance(type, int) and not isinstance(type, bool):
                type, index = "cuda", type
            elif isinstance(type, bytes):
                type = type.decode()
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        if index is not None:
            try:
                if isinstance(index, bool):
                    raise TypeError
                index = operator.index(index)
            except TypeError:
                got = index.__class__.__name__
                raise TypeError(f"device(): argument 'index' must be int, not {got}") from None
            if not -(2**63) <= index < 2**63:
                raise ValueError(f"device(): Overflow when unpacking long long: {index}")
        name, colon, number = type.partition(":")
        if not type:
            raise RuntimeError("Device string must not be empty")
        if not _NAME.fullmatch(name) or (colon and not _is_index(number)):
            raise RuntimeError(f"Invalid device string: {type!r}")
        if name not in TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(TYPES)} device type at start of device string: {type}"
                + _MEANT.get(name, "")
            )
        if colon:
            if index is not None:
                raise RuntimeError(
                    f"device(): 'type' must not include an index because index was passed: {type}"
                )
            index = int(number)
        if index is not None and index < 0:
            raise RuntimeError(f"device(): the index must not be negative, got {index}")
        key = (name, index)
        found = _KNOWN.get(key)
        if found is None:
            found = object.__new__(cls)
            found.type, found.index = key
            _KNOWN[key] = found
        return found

    def __getattr__(self, name: str) -> Any:
        # Reached only while the slot `backend` is empty: connect the backend on first use.
        if name != "backend":
            raise AttributeError(f"'device' object has no attribute {name!r}")
        self.backend = _connect(self)
        return self.backend

    @property
    def home(self) -> device:
        """The device whose memory its tensors have: itself, but for a place before a device."""
        return self

    def place_of(self, array: Any) -> device:
        """The device of a tensor whose array was computed here."""
        return self

    def shown(self, value: Any) -> Any:
        """The tensor that users get where one computed here is returned."""
        return value

    def claim(self, tensor: Any) -> None:
        """Let the array of a tensor be known as its own, where arrays know whose they are."""

    def check_data(self) -> None:
        """RuntimeError where the ``data`` of a tensor may not be asked for: of a `vmap`'s."""

    def detached(self, array: Any) -> Any:
        """The array without what is known of its derivatives: nothing, outside of a transform."""
        return array

    def __enter__(self) -> device:
        global _default
        _left.append(_default)
        _default = self
        return self

    def __exit__(self, *exception: Any) -> None:
        global _default
        _default = _left.pop()

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, device) and (self.type, self.index) == (other.type, other.index)
        )

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self):
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: dict) -> device:
        return self


def _is_index(number: str) -> bool:
    return number.isdigit() and (number == "0" or number[0] != "0")


def _connect(place: device) -> Backend:
    if place.type == "cpu":
        from nnkit.backend.cpu import BACKEND

        return BACKEND
    if place.type == "cuda":
        from nnkit.backend.cuda.runtime import connect

        return connect(place.index)
    if place.type == "meta":
        from nnkit.backend.meta import BACKEND

        return BACKEND
    raise NotImplementedError(f"device {place} has no backend in this installation of nnkit")


def located(place: Any) -> device:
    """The device that tensors on ``place`` say they are on: "cuda" is the GPU that is current.

    There is one CPU and one "meta", whose tensors bear no index whatever ``place`` has.

    Raises:
        RuntimeError: there is no GPU; the message says what to install.
    """
    if place is cpu:
        return cpu
    found = device(place)
    if found.type in ("cpu", "meta"):
        return found if found.index is None else device(found.type)
    if found.type != "cuda" or found.index is not None:
        return found
    from nnkit.backend.cuda.runtime import current_device

    return device("cuda", current_device())


_KNOWN: dict[tuple[str, int | None], device] = {}
cpu = device("cpu")
_default = cpu
_left: list[device] = []  # the default devices to come back to


def get_default_device() -> device:
    """The device of tensors that are made without naming one.

    Example:
        >>> import nnkit
        >>> nnkit.get_default_device()
        device(type='cpu')
    """
    return _default


def set_default_device(device: Any) -> None:
    """Make tensors on ``device`` (a device or its name; None is the CPU) unless a call names
    another one.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import nnkit
        >>> nnkit.set_default_device("cpu")
        >>> nnkit.get_default_device()
        device(type='cpu')
    """
    global _default
    _default = _named(device)


def _named(place: Any) -> device:
    return cpu if place is None else device(place)
