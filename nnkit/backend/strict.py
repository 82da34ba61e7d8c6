"""Strict mode: what PyTorch only warns of becomes an error."""

from __future__ import annotations

from nnkit.backend.warning import warn

_strict = False


def set_strict(mode: bool = True) -> None:
    """Say whether suspicious calls, such as a loss of two shapes, are errors instead of warnings.

    Example:
        >>> import nnkit
        >>> nnkit.set_strict(True)
        >>> nnkit.nn.functional.mse_loss(nnkit.zeros(3, 1), nnkit.zeros(3))
        Traceback (most recent call last):
        RuntimeError: mse_loss: ...
        >>> nnkit.set_strict(False)
    """
    global _strict
    _strict = bool(mode)


def is_strict() -> bool:
    """Whether `set_strict` is on.

    Example:
        >>> import nnkit
        >>> nnkit.is_strict()
        False
    """
    return _strict


def complain(message: str) -> None:
    """Warn; RuntimeError in strict mode."""
    if _strict:
        raise RuntimeError(message)
    warn(message)
