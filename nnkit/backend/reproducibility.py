"""Switches of PyTorch's that trade exactness for speed, for programs that set them.

Nothing here computes otherwise for them: the CPU's kernels give the same bits in every run, and
float32 products are computed in float32. What deterministic programs may see of memory that nobody
has written yet, and what torch refuses them, is the same here.
"""

from __future__ import annotations

from nnkit.backend.switches import matmul
from nnkit.backend.warning import warn

_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")
_deterministic = _warn_only = False
fill_uninitialized_memory = True  # of deterministic programs; `nnkit.utils.deterministic` sets it


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that give the same bits in every run, which is all there are here.

    What would be left uninitialised is filled, with NaN or the largest integer, and functions
    whose result depends on the order of writes raise, or warn with ``warn_only``.

    Raises:
        TypeError: ``mode`` or ``warn_only`` is no bool.

    Example:
        >>> import nnkit
        >>> nnkit.use_deterministic_algorithms(True)
        >>> nnkit.are_deterministic_algorithms_enabled()
        True
        >>> nnkit.use_deterministic_algorithms(False)
    """
    global _deterministic, _warn_only
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {name} must be bool, "
                f"not {type(value).__name__}"
            )
    _deterministic, _warn_only = mode, warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same as a word or number: "default" (0), "warn" (1), "error" (2).

    Raises:
        RuntimeError: it is none of these.

    Example:
        >>> import nnkit
        >>> nnkit.set_deterministic_debug_mode("warn")
        >>> nnkit.get_deterministic_debug_mode()
        1
        >>> nnkit.set_deterministic_debug_mode("default")
    """
    if debug_mode in _MODES:
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in range(3):
        raise RuntimeError(
            "set_deterministic_debug_mode(): expected 'default', 'warn', 'error', 0, 1 or 2, "
            f"got {debug_mode!r}"
        )
    use_deterministic_algorithms(debug_mode != 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as `set_deterministic_debug_mode` set it.

    Example:
        >>> import nnkit
        >>> nnkit.get_deterministic_debug_mode()
        0
    """
    return (1 if _warn_only else 2) if _deterministic else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was asked for them.

    Example:
        >>> import nnkit
        >>> nnkit.are_deterministic_algorithms_enabled()
        False
    """
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was asked with ``warn_only=True``.

    Example:
        >>> import nnkit
        >>> nnkit.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return _warn_only


def fills_memory() -> bool:
    """Whether new memory is filled with what shows that nobody has written it."""
    return _deterministic and fill_uninitialized_memory


def refuse(name: str) -> None:
    """RuntimeError, or a warning, where a deterministic program calls ``name``, which is not.

    Raises:
        RuntimeError: `use_deterministic_algorithms` asked for it.
    """
    if not _deterministic:
        return
    message = (
        f"{name} does not have a deterministic implementation, but you set "
        f"'use_deterministic_algorithms(True{', warn_only=True' * _warn_only})'"
    )
    if not _warn_only:
        raise RuntimeError(message)
    warn(message)


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 products less precision: "highest", "high" or "medium".

    The latter two are ``nnkit.backends.cuda.matmul.allow_tf32``; on the CPU none takes less.
    Another word warns and changes nothing, as in torch.

    Example:
        >>> import nnkit
        >>> nnkit.set_float32_matmul_precision("high")
        >>> nnkit.get_float32_matmul_precision()
        'high'
        >>> nnkit.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        warn(
            f"set_float32_matmul_precision(): {precision!r} is not one of 'highest', 'high', "
            "'medium' and has no effect"
        )
        return
    matmul.precision = precision


def get_float32_matmul_precision() -> str:
    """The setting of `set_float32_matmul_precision`.

    Example:
        >>> import nnkit
        >>> nnkit.get_float32_matmul_precision()
        'highest'
    """
    return matmul.precision
