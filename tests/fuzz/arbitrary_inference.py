"""Where torch's inference tensors are arbitrary: rules of `tests.fuzz.arbitrary`."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.fuzz.evidence import Difference


def _reads_replaced(d: Difference) -> bool:
    """Whether an inference tensor that was given other data is read in inference mode by an
    index, or by attention, which torch makes views for."""
    read = re.search(r"\[.*[\[x].*\]|index_select\(", d.statement) is not None
    mode = "inference_mode" in d.statement and "inference_mode" in d.earlier
    attends = "attention(" in d.statement and "inference_mode" in d.earlier  # of transposed keys
    refused = d.errors == ("RuntimeError", None)
    return refused and (read and mode or attends) and re.search(r"\.data = ", d.earlier) is not None


RULES: dict[str, Callable[[Difference], bool]] = {
    "inference tensors may not be saved: that is said before or after what else is wrong": (
        lambda d: (
            d.aspect == "error"
            and None not in d.errors
            and all(
                any(d.seen(aspect, d.before, name) for name in d.named())
                for aspect in ("is_inference", "requires_grad")
            )
        )
    ),
    "torch's attention records an inference tensor beside a view of it": lambda d: (
        d.errors == (None, "RuntimeError")
        and "attention(" in d.statement
        and any(d.seen("is_inference", d.before, name) for name in d.named())
    ),
    "a view that is given the data of an inference tensor has a history, and is one as well": (
        lambda d: (
            d.aspect == "is_inference"
            and ".data = " in d.statement
            and d.seen("base", d.wanted) is not None
        )
    ),
    "what torch makes of inference tensors in steps may be a view of one of them": lambda d: (
        d.errors == ("RuntimeError", None)
        and (
            "detach_(" in d.statement
            or re.search(r"_scatter\(|(repeat|tile|roll|stack|combinations)\(", d.earlier)
            is not None
        )
        and "inference_mode" in d.earlier
    ),
    "and counts as written": lambda d: (
        d.aspect == "value" and "._version > 0" in d.statement and "inference_mode" in d.earlier
    ),
    "whether the writes of what was given the data of an inference tensor are counted": lambda d: (
        d.aspect == "version"
        and re.search(r"with T\.inference_mode\(.*\):\n +x\d+\.data = ", d.earlier) is not None
    ),
    "torch cannot make views of an inference tensor that was given other data, and reads through "
    "one": _reads_replaced,
}
