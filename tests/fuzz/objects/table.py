"""Every valid call."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tests.fuzz.objects import Call, modules, other, training, uses

CALLS: list[Call] = [*modules.CALLS, *training.CALLS, *other.CALLS, *uses.CALLS]


def table(pattern: str) -> Callable[[random.Random], Call]:
    """A function that draws calls of those whose name matches."""
    named: dict[str, list[Call]] = {}
    for call in CALLS:
        if re.search(pattern, call.name):
            named.setdefault(call.name, []).append(call)
    names = [*named]
    return lambda rng: rng.choice(named[rng.choice(names)])
