"""Where torch's own answer is arbitrary: a program that comes there ends, unjudged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TRANSFORM = r"T\.func\.|T\.autograd\.functional"


@dataclass(frozen=True)
class Difference:
    """What a rule may look at."""

    label: str
    aspect: str
    expected: Any
    actual: Any
    error: str | None  # of the statement, in both
    dtype: str | None  # of the tensor
    unchanged: bool  # whether nnkit shows what it showed before the statement
    expanded: bool  # whether elements of some tensor lie in one place
    statement: str
    program: str


def _statement(pattern: str, *aspects: str) -> Callable[[Difference], bool]:
    return lambda d: d.aspect in aspects and re.search(pattern, d.statement) is not None


# Each with its reason. None of them hides a value that a program without a mistake computes.
RULES: dict[str, Callable[[Difference], bool]] = {
    "vmap is a loop here: its results lie by rows, on memory of their own": _statement(
        TRANSFORM, "strides", "base", "identity"
    ),
    "few names of nodes are promised, and an op here may be several there": _statement(
        r"\.name\(\)|metadata|next_functions", "value"
    ),
    "what resize_ adds is not initialised": _statement(r"\.resize_\(", "values"),
    "torch refuses some writes when they are already made; here nothing has changed": (
        lambda d: d.error is not None and d.unchanged
    ),
    "torch lets fill_ and masked_fill_ make an integer tensor that requires grad": (
        lambda d: d.aspect in ("requires_grad", "is_leaf") and not _differentiable(d.dtype)
    ),
    "what torch records as not implemented, and refuses in backward, is refused at once here": (
        lambda d: (
            (d.aspect, d.expected, d.actual) == ("error", None, "RuntimeError")
            and re.search(r"out=|\.set_\(", d.statement) is not None
        )
    ),
    "torch lets a few writes into expanded memory through, with a warning or wrong results": (
        lambda d: (
            (d.aspect, d.expected, d.actual) == ("error", None, "RuntimeError") and d.expanded
        )
    ),
    "one gradient for two inputs may be one tensor or two": _statement(
        r"autograd\.grad\(", "identity"
    ),
    "a gradient may be a view of a temporary in torch, and views of it are views of that": (
        lambda d: (
            (d.aspect, d.expected) == ("base", None)
            and re.search(r"autograd\.grad\(|" + TRANSFORM, d.program) is not None
        )
    ),
    "torch reads what it has already written where the target is an operand too": _statement(
        r"(x\d+)\.(addmm_|baddbmm_|masked_scatter_)\(.*\b\1\b", "values"
    ),
    "torch counts no write of running statistics": (
        lambda d: d.aspect == "version" and "running_" in d.label
    ),
    "a write into windows that overlap depends on the order of the elements": (
        lambda d: (
            d.aspect == "values" and re.search(r"unfold\(|as_strided", d.program) is not None
        )
    ),
}  # fmt: skip


def _differentiable(dtype: str | None) -> bool:
    return dtype is None or "float" in dtype or "complex" in dtype


def arbitrary(difference: Difference) -> str | None:
    """The reason why the frameworks may differ so, None where they may not."""
    for reason, holds in RULES.items():
        if holds(difference):
            return reason
    return None
