"""`detect_anomaly`: name the forward line of a backward that fails or makes NaN.

While it is on, it is remembered for each node, by its creation number, where it was made, and by
the rules of which other node, if a backward pass made it: nothing is stored in the nodes and
nothing is paid while it is off.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nnkit.autograd.engine import backward_pass, node
from nnkit.backend.warning import warn

FRAMES = 24  # of the stack that are looked at for a node, nnkit's own among them

if TYPE_CHECKING:
    import traceback


def _own(filename: str) -> bool:
    """Whether a frame is nnkit's: of a file, or of code that `op.print_node_code` printed."""
    return "/nnkit/autograd/" in filename.replace("\\", "/") or filename.startswith("<node ")


def _running() -> Any:
    """The node whose rules run now; None outside of a backward pass."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not backward_pass.Pass._run.__code__:
        frame = frame.f_back
    return frame and frame.f_locals["node"]


class _Recorder:
    """Counts nodes like `node.sequence`, and keeps the stack of each and the number and the name of
    the node whose rules made it."""

    def __init__(self, counter: Iterator[int]) -> None:
        self.counter = counter
        self.made_at: dict[int, traceback.StackSummary] = {}
        self.made_by: dict[int, tuple[int, str]] = {}

    def __next__(self) -> int:
        import traceback  # which few programs need

        order = next(self.counter)
        stack = traceback.extract_stack(limit=FRAMES)
        self.made_at[order] = traceback.StackSummary.from_list(
            [f for f in stack if not _own(f.filename)]
        )
        maker = _running()
        if maker is not None:
            self.made_by[order] = maker.order, maker.name()
        return order


_checks_nan = True  # also while detection is off, as torch has it


def _switch(on: bool, check_nan: bool) -> tuple[bool, bool]:
    """Turn detection on or off; returns what was set before.

    Raises:
        TypeError: one of both is no bool.
    """
    global _checks_nan
    for name, given in (("mode", on), ("check_nan", check_nan)):
        if not isinstance(given, bool):
            raise TypeError(
                f"set_detect_anomaly(): argument '{name}' must be bool, not {type(given).__name__}"
            )
    sequence: Any = node.sequence
    previous = (isinstance(sequence, _Recorder), _checks_nan)
    if on and not previous[0]:
        node.sequence = _Recorder(sequence)
    elif not on and previous[0]:
        node.sequence = sequence.counter
    _checks_nan = check_nan
    backward_pass.check_nan = check_nan and on
    backward_pass.explain = _explain if on else None
    return previous


def _explain(failed: Any) -> None:
    """Warn with the forward call that made the node whose backward failed, and with those that made
    the nodes by whose rules it was made."""
    order = failed.order
    _tell(f"Error detected in {failed.name()}", order, "caused the error")
    made_by = getattr(node.sequence, "made_by", {})
    while order in made_by:
        order, name = made_by[order]
        said = f"\n\nPrevious calculation was induced by {name}"
        _tell(said, order, "induced the previous calculation")


def _tell(said: str, order: int, did: str) -> None:
    made_at = getattr(node.sequence, "made_at", {}).get(order)
    if made_at is None:
        text = "No forward pass information available: enable detect_anomaly() in the forward pass."
    else:
        text = f"Traceback of forward call that {did}:\n" + "".join(made_at.format())
    try:
        warn(f"{said}. {text}")
    except Warning as raised:  # where a filter makes errors of warnings: the failure comes first
        print(f"Warning: {raised}", file=sys.stderr)


class detect_anomaly:
    """While active, a failing backward names the forward line, and NaN gradients raise.

    Warns that it is slow; `set_detect_anomaly` does not.

    Args:
        check_nan: raise RuntimeError when a backward function returns NaN.

    Example:
        >>> import warnings, nnkit
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     with nnkit.autograd.detect_anomaly():
        ...         nnkit.autograd.is_anomaly_enabled()
        True
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging."
        )

    def __enter__(self) -> None:
        self._previous = _switch(True, self.check_nan)

    def __exit__(self, *exception: Any) -> None:
        _switch(*self._previous)


class set_detect_anomaly:
    """Turn anomaly detection on or off, at once or for a ``with`` block.

    Example:
        >>> import nnkit
        >>> with nnkit.autograd.set_detect_anomaly(True):
        ...     nnkit.autograd.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = _switch(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        _switch(*self._previous)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on.

    Example:
        >>> import nnkit
        >>> with nnkit.autograd.set_detect_anomaly(True):
        ...     nnkit.autograd.is_anomaly_enabled()
        True
    """
    return isinstance(node.sequence, _Recorder)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN gradients raise while anomaly detection is on.

    Example:
        >>> import nnkit
        >>> nnkit.autograd.is_anomaly_check_nan_enabled()
        True
    """
    return _checks_nan
