"""What can be seen of the result of a call, alike in both frameworks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import islice
from typing import Any

MANY = 64  # of an iterator's items
DEEP = 6


def seen(value: Any, depth: int = 0) -> Iterator[Any]:
    """Tensors, numbers and strings in it, in order; of other objects the name of the class."""
    if isinstance(value, type):
        yield value.__name__
    elif "Uninitialized" in type(value).__name__:
        yield type(value).__name__
    elif hasattr(value, "detach"):
        yield type(value).__name__
        yield value
    elif value is None or isinstance(value, (bool, int, float, complex, str)):
        yield value
    elif inspect.isroutine(value) or depth == DEEP:
        return
    elif isinstance(value, dict):
        for key, each in value.items():
            if str(key)[:1] == "_":
                continue
            yield from seen(key, depth + 1)
            yield from seen(each, depth + 1)
    elif isinstance(value, (tuple, list)):
        yield len(value)
        for each in value:
            yield from seen(each, depth + 1)
    else:
        if not hasattr(value, "__next__") and type(value).__name__[0] != "_":
            yield type(value).__name__
        yield from seen(parts(value), depth + 1)


def parts(value: Any) -> Any:
    """What an object consists of."""
    if hasattr(value, "named_parameters"):
        state = [*value.named_parameters(), *value.named_buffers()]
        return [state, value.training, [name for name, _ in value.named_modules()]]
    if hasattr(value, "param_groups") and hasattr(value, "state"):
        groups = [sorted(group.items()) for group in value.param_groups]
        return [groups, [sorted(state.items()) for state in value.state.values()]]
    if hasattr(value, "last_epoch"):
        return [value.last_epoch, [group["lr"] for group in value.optimizer.param_groups]]
    if hasattr(value, "batch_shape"):
        return [value.batch_shape, value.event_shape]
    if hasattr(value, "__next__"):
        return [*islice(value, MANY)]
    return None
