"""torch.fx.annotate: annotates the type of a value while it is traced."""

from __future__ import annotations

from typing import Any

from nnkit.fx.proxy import Proxy


def annotate(val: Any, type: Any) -> Any:
    """The value; if it is a proxy, its operation is known to give that type.

    Raises:
        RuntimeError: another type is known already.
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"annotate: the type {val.node.type} of {val} is known already, got {type}"
            )
        val.node.type = type
    return val
