"""Switches of PyTorch's that trade exactness for speed, for programs that set them.

Nothing here computes otherwise for them: the CPU's kernels give the same bits in every run, and
float32 products are computed in float32.
"""

from __future__ import annotations

import warnings

_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")
_mode = "default"
_precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that give the same bits in every run, which is all there are here.

    Raises:
        TypeError: ``mode`` is no bool.

    Example:
        >>> import nnkit
        >>> nnkit.use_deterministic_algorithms(True)
        >>> nnkit.are_deterministic_algorithms_enabled()
        True
        >>> nnkit.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(
            "use_deterministic_algorithms(): argument 'mode' must be bool, "
            f"not {type(mode).__name__}"
        )
    set_deterministic_debug_mode(0 if not mode else 1 if warn_only else 2)


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
    global _mode
    if debug_mode in _MODES:
        _mode = str(debug_mode)
    elif debug_mode in range(3):
        _mode = _MODES[int(debug_mode)]
    else:
        raise RuntimeError(
            "set_deterministic_debug_mode(): expected 'default', 'warn', 'error', 0, 1 or 2, "
            f"got {debug_mode!r}"
        )


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as `set_deterministic_debug_mode` set it.

    Example:
        >>> import nnkit
        >>> nnkit.get_deterministic_debug_mode()
        0
    """
    return _MODES.index(_mode)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was asked for them.

    Example:
        >>> import nnkit
        >>> nnkit.are_deterministic_algorithms_enabled()
        False
    """
    return _mode != "default"


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was asked with ``warn_only=True``.

    Example:
        >>> import nnkit
        >>> nnkit.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return _mode == "warn"


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 products less precision: "highest", "high" or "medium"; none takes less here.

    Another word warns and changes nothing, as in torch.

    Example:
        >>> import nnkit
        >>> nnkit.set_float32_matmul_precision("high")
        >>> nnkit.get_float32_matmul_precision()
        'high'
        >>> nnkit.set_float32_matmul_precision("highest")
    """
    global _precision
    if precision not in _PRECISIONS:
        warnings.warn(
            f"set_float32_matmul_precision(): {precision!r} is not one of 'highest', 'high', "
            "'medium' and has no effect",
            UserWarning,
            stacklevel=2,
        )
        return
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` allowed.

    Example:
        >>> import nnkit
        >>> nnkit.get_float32_matmul_precision()
        'highest'
    """
    return _precision
