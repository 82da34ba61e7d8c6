"""The kernels that `scaled_dot_product_attention` may use, as ``torch.nn.attention``."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from nnkit.backend.switches import attention

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.Enum):
    """The ways in which attention can be computed.

    ``MATH`` is one operation after the other, ``FLASH_ATTENTION`` a fused kernel. The others are
    names of kernels for GPUs.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value


_SWITCHES = {
    "math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
}  # fmt: skip


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Within it attention is computed in the given ways alone.

    Numbers do not depend on it here: attention that cannot be computed so is an error.

    Args:
        backends: one way, or several.
        set_priority: without effect.

    Raises:
        AssertionError: ``backends`` is something else.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.attention import SDPBackend, sdpa_kernel
        >>> q = nnkit.ones(1, 2, 4)
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     nnkit.nn.functional.scaled_dot_product_attention(q, q, q).shape
        nnkit.Size([1, 2, 4])
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, Iterable) or isinstance(chosen, str):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = set(chosen)
    before = dict(vars(attention))
    vars(attention).update({name: way in wanted for name, way in _SWITCHES.items()})
    try:
        yield
    finally:
        vars(attention).update(before)
