"""torch.cpu: the interface of GPUs for the CPU, whose work is done when a call returns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nnkit.compat.names._switches import Event as Event
from nnkit.compat.names._switches import Stream as Stream
from nnkit.compat.passing import nothing

_CURRENT = Stream()
set_device = nothing


def is_initialized() -> bool:
    """True: the CPU can always be used."""
    return True


def current_device() -> str:
    """The name of the only device."""
    return "cpu"


def current_stream(device: Any = None) -> Stream:
    """The only queue of work."""
    return _CURRENT


@contextmanager
def stream(stream: Any) -> Iterator[None]:
    """A context manager that selects a stream, without effect."""
    yield


StreamContext = stream
