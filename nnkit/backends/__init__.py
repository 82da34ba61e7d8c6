"""Switches of the libraries behind PyTorch, for programs that set or ask them."""

from __future__ import annotations

from nnkit.backend import switches
from nnkit.backends import cuda as cuda
from nnkit.backends import cudnn as cudnn
from nnkit.backends import mps as mps


def disable_global_flags() -> None:
    """From now on let switches such as ``cudnn.enabled`` be set by contexts (``flags``) alone.

    Setting one raises RuntimeError.
    """
    switches.frozen = True


def flags_frozen() -> bool:
    """Whether `disable_global_flags` was called.

    Example:
        >>> import nnkit
        >>> nnkit.backends.flags_frozen()
        False
    """
    return switches.frozen
