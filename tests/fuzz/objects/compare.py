"""What can be seen of the result of a call, alike in both frameworks, and where it differs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from tests.fuzz.calls import Allowed, Answer
from tests.fuzz.calls import difference as difference_of_calls
from tests.harness.call import dtype_name, to_array
from tests.harness.tolerances import TOLERANCES

MANY = 64  # of an iterator's items
DEEP = 6


def seen(value: Any, depth: int = 0) -> Iterator[Any]:
    """Tensors, numbers and strings in it, in order; of other objects the name of the class."""
    if "Uninitialized" in type(value).__name__:
        yield type(value).__name__
    elif hasattr(value, "detach"):
        yield type(value).__name__
        yield value
    elif value is None or isinstance(value, (bool, int, float, complex, str)):
        yield value
    elif inspect.isroutine(value) or isinstance(value, type) or depth == DEEP:
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


# What may differ besides: a reason, a pattern over torch's error and one over nnkit's.
ALLOWED: list[Allowed] = [
    (
        "torch's functions in Python find out by looking something up; nnkit asks first",
        r"^(AttributeError: .* has no attribute|IndexError: only integers, slices)",
        r"^TypeError: .*(must|should) be",
    ),
    (
        "nnkit takes a NumPy array of no dimensions, and a bool, for the number that it is",
        r"^TypeError: .*not numpy.ndarray|^RuntimeError: Boolean alpha",
        r"^$",
    ),
]


def difference(changes: int, wanted: Answer | None, found: Answer) -> str:
    """What is wrong with nnkit's answer; empty if nothing is."""
    said = difference_of_calls(changes, wanted, found, ALLOWED)
    if said or wanted is None or wanted.error is not None or found.error is not None:
        return said
    if len(wanted.results) != len(found.results):
        return f"{len(wanted.results)} values -> {len(found.results)}"
    for want, got in zip(wanted.results, found.results, strict=True):
        if not _agree(want, got):
            return "values"
    return ""


def _agree(want: Any, got: Any) -> bool:
    if hasattr(want, "detach"):
        if want.requires_grad != got.requires_grad:
            return False
        rtol, atol = TOLERANCES.get(dtype_name(want), (0, 0))
        one, other = to_array(want), to_array(got)
        return one.dtype == other.dtype and np.allclose(other, one, rtol, atol, equal_nan=True)
    if isinstance(want, str):
        return want == got
    if type(want) is not type(got):
        return False
    if isinstance(want, (float, complex)):
        return bool(np.isclose(got, want, 1e-5, 1e-6, equal_nan=True))
    return want == got or (isinstance(want, float) and math.isnan(want) and math.isnan(got))
