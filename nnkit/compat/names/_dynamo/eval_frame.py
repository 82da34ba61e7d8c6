"""torch._dynamo.eval_frame: the class of compiled modules, and whether there are any."""

from __future__ import annotations

from nnkit.compat.names._dynamo import OptimizedModule as OptimizedModule


def is_dynamo_supported() -> bool:
    """True: functions can always be compiled."""
    return True


is_inductor_supported = is_dynamo_supported


def check_if_dynamo_supported() -> None:
    """Do nothing: functions can always be compiled."""


check_if_inductor_supported = check_if_dynamo_supported
