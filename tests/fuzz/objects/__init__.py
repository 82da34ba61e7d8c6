"""Valid calls of what is no op: modules, optimizers, schedulers, distributions, data, transforms.

A `Call` names what is called under ``nnkit`` and ``torch``, and what is called on the result. Its
arguments may hold arrays (they become tensors), `Named` things and `Made` objects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Arguments:
    """Positional and keyword arguments."""

    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def given(*args: Any, **kwargs: Any) -> Arguments:
    return Arguments(args, kwargs)


@dataclass
class Call:
    """``path(*args, **kwargs)`` and, in ``then``, methods called on the result, one by one.

    A path is a name under the framework, or a function that gets the framework first.
    """

    path: str | Callable
    first: Arguments
    then: tuple[tuple[str, Arguments], ...] = ()
    torch: str = ""  # the path under torch, where that is another one

    @property
    def name(self) -> str:
        return self.path if isinstance(self.path, str) else self.path.__name__


class Made:
    """What ``path(*args, **kwargs)`` gives in either framework."""

    def __init__(self, path: str | Callable, *args: Any, **kwargs: Any) -> None:
        self.path, self.args, self.kwargs = path, args, kwargs

    def __repr__(self) -> str:
        from tests.fuzz.calls import written

        return written(Call(self.path, given()).name, Arguments(self.args, self.kwargs))


_random = np.random.RandomState(0)


def f(*shape: int) -> np.ndarray:
    """A float32 array."""
    return np.asarray(_random.uniform(0.1, 0.9, shape)).astype(np.float32)


def i(*shape: int, below: int = 3) -> np.ndarray:
    """An int64 array."""
    return np.asarray(_random.randint(0, below, shape)).astype(np.int64)


def nothing(*_: Any, **__: Any) -> None:
    """A hook that changes nothing."""
