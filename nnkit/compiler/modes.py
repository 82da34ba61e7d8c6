"""What is on where a compiled function is called: what has to see each operation by itself, and
the modes that decide what an operation does."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident

from nnkit.autograd.arguments.casting import cast_state
from nnkit.autograd.arguments.overriding import ENTERED, THREAD
from nnkit.autograd.engine import node as node_module
from nnkit.autograd.engine.backward_pass import RUNNING
from nnkit.autograd.engine.saved import ACTIVE
from nnkit.autograd.grad_mode import MODE
from nnkit.backend import device as device_module
from nnkit.backend import dtype as dtype_module
from nnkit.backend import reproducibility
from nnkit.backend.device import cpu, get_default_device
from nnkit.backend.dtype import default_dtype
from nnkit.backend.program.outside import RECORDERS
from nnkit.backend.reproducibility import are_deterministic_algorithms_enabled
from nnkit.compiler.checks import all_hold, attribute, item, length

RAW = type(cpu.backend)


class _Disabled:
    count = 0


DISABLED = _Disabled()


def is_eager() -> bool:
    """Whether something is on that has to see each operation by itself."""
    return bool(
        get_ident() in RECORDERS
        or DISABLED.count
        or MODE.transforms
        or MODE.wrapping is not None
        or ACTIVE
        or RUNNING.innermost is not None
        or THREAD.modes
        or hasattr(node_module.sequence, "made_at")  # an anomaly is looked for
        or type(cpu.backend) is not RAW
    )


def modes() -> tuple:
    """The modes that decide what a call does."""
    return (
        MODE.enabled, MODE.inference, default_dtype(), get_default_device(),
        are_deterministic_algorithms_enabled(), *cast_state(),
    )  # fmt: skip


# What the two above look at. Where all these are as they were, so are the two; the reverse is not
# true: what another thread has entered counts here too.
LOOKS: tuple[tuple, ...] = (
    (length, None, RECORDERS), (attribute, "count", DISABLED), (attribute, "transforms", MODE),
    (attribute, "wrapping", MODE), (length, None, ACTIVE), (attribute, "innermost", RUNNING),
    (length, None, ENTERED), (item, "sequence", vars(node_module)), (attribute, "backend", cpu),
    (attribute, "enabled", MODE), (attribute, "inference", MODE),
    (item, "_default", vars(dtype_module)), (item, "_default", vars(device_module)),
    (item, "_deterministic", vars(reproducibility)),
)  # fmt: skip


MOST = 16  # combinations of modes that are kept
_AS_NOW: dict[tuple, Callable[[], bool]] = {}  # by modes


def as_now() -> Callable[[], bool]:
    """A function that tells whether calls still run programs, in the modes of now."""
    known = modes()
    if RECORDERS or ENTERED or is_eager():
        return lambda: not is_eager() and modes() == known
    check = _AS_NOW.get(known)
    if check is None or not check():  # what stands in a place may be another object by now
        if len(_AS_NOW) >= MOST:
            _AS_NOW.clear()
        looks = [(look, key, place, look(place, key), "") for look, key, place in LOOKS]
        check = _AS_NOW[known] = all_hold(looks)
    return check
