"""The modes in which a compiled function is called: those that must see every single operation, and
those that decide what an operation does."""

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
    count = 0  # how many calls of disabled functions are running


DISABLED = _Disabled()


def is_eager() -> bool:
    """Whether something is active that must see every single operation: then no program runs."""
    return bool(
        get_ident() in RECORDERS
        or DISABLED.count
        or MODE.transforms
        or MODE.wrapping is not None
        or ACTIVE
        or RUNNING.innermost is not None
        or THREAD.modes
        or hasattr(node_module.sequence, "made_at")  # `detect_anomaly` is on
        or type(cpu.backend) is not RAW
    )


def modes() -> tuple:
    """The modes that decide what an operation does."""
    return (
        MODE.enabled, MODE.inference, default_dtype(), get_default_device(),
        are_deterministic_algorithms_enabled(), *cast_state(),
    )  # fmt: skip


# Everything the two functions above look at: while it does not change, nor do their results. The
# reverse does not hold, since modes that another thread has entered count here as well.
LOOKS: tuple[tuple, ...] = (
    (length, None, RECORDERS), (attribute, "count", DISABLED), (attribute, "transforms", MODE),
    (attribute, "wrapping", MODE), (length, None, ACTIVE), (attribute, "innermost", RUNNING),
    (length, None, ENTERED), (item, "sequence", vars(node_module)), (attribute, "backend", cpu),
    (attribute, "enabled", MODE), (attribute, "inference", MODE),
    (item, "_default", vars(dtype_module)), (item, "_default", vars(device_module)),
    (item, "_deterministic", vars(reproducibility)),
)  # fmt: skip


MOST = 16  # how many combinations of modes are kept
_AS_NOW: dict[tuple, Callable[[], bool]] = {}  # by modes


def as_now() -> Callable[[], bool]:
    """A function that returns whether programs may run and the modes are still the current ones."""
    known = modes()
    if RECORDERS or ENTERED or is_eager():
        return lambda: not is_eager() and modes() == known
    check = _AS_NOW.get(known)
    if check is None or not check():  # an object that it looks at may have been replaced
        if len(_AS_NOW) >= MOST:
            _AS_NOW.clear()
        looks = [(look, key, place, look(place, key), "") for look, key, place in LOOKS]
        check = _AS_NOW[known] = all_hold(looks)
    return check
