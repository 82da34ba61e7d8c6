"""Where torch's own answer is arbitrary: a program that comes there ends, unjudged."""

from __future__ import annotations

import re
from typing import Any

# (aspect, pattern of the last statement, reason)
ARBITRARY = (
    (
        "strides",
        r"T\.func\.|T\.autograd\.functional",
        "vmap is a loop here: its results lie by rows",
    ),
    ("base", r"T\.func\.|T\.autograd\.functional", "so do they share no memory with its inputs"),
    ("value", r"\.name\(\)|metadata", "names of nodes are torch's in the common ops only"),
    ("value", r"len\(.*next_functions\)", "an op here may be several there: edges are not counted"),
)


def arbitrary(finding: Any) -> str | None:
    """The reason why the frameworks may differ so, None where they may not."""
    source = finding.program[-1].source
    for aspect, pattern, reason in ARBITRARY:
        if finding.aspect == aspect and re.search(pattern, source):
            return reason
    return None
