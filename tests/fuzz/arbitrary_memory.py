"""Where torch's memory is arbitrary: rules of `tests.fuzz.arbitrary`."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tests.fuzz.evidence import Difference, in_statement


def _only_grown(d: Difference) -> bool:
    if not in_statement(r"\.resize_(as_)?\(", "values")(d):
        return False
    kept = np.prod(d.seen("shape", d.before) or (0,), dtype=int)
    old, new = np.ravel(d.expected), np.ravel(d.actual)
    return np.allclose(old[:kept], new[:kept], 1e-5, equal_nan=True)


def _reads_unwritten(d: Difference) -> bool:
    """Whether an operand differs in memory that resize_ added and nobody wrote."""
    return (
        d.aspect == "values"
        and re.search(r"\.resize_(as_)?\(", d.earlier) is not None
        and bool(d.apart_before())
    )


def _keeps_losses(d: Difference) -> bool:
    """Whether the memory is asked for, looked into or written, of a loss that torch has reduced in
    the place of the losses of the elements."""
    made = (
        r" = T\.nn\.functional\.(mse_loss|smooth_l1_loss|binary_cross_entropy|soft_margin_loss)\("
    )
    asked = in_statement(r"untyped_storage\(\)\.nbytes\(\)", "value")(d)
    used = re.search(r"as_strided|out=", d.statement) is not None
    looked = used and d.errors == (None, "RuntimeError")
    names = {*d.named(), *[d.seen("base", d.before, name) for name in d.named()]}
    return (asked or looked) and any(re.search(rf"\b{name}{made}", d.earlier) for name in names)


RULES: dict[str, Callable[[Difference], bool]] = {
    "what resize_ adds is not initialised": lambda d: _only_grown(d) or _reads_unwritten(d),
    "a reduced loss keeps the memory of the losses of all elements in torch": _keeps_losses,
    "torch's pickles hold the whole memory of a tensor that got fewer elements": lambda d: (
        in_statement(r"untyped_storage\(\)\.nbytes\(\)", "value")(d)
        and re.search(r"out=[\s\S]*pickle\.loads\(", d.earlier) is not None
    ),
    "what unique_consecutive gives keeps the memory of all elements in torch": lambda d: (
        in_statement(r"untyped_storage\(\)\.nbytes\(\)", "value")(d)
        and "unique_consecutive(" in d.earlier
    ),
}
