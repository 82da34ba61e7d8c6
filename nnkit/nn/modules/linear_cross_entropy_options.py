"""How the scores of a linear cross entropy are to be computed in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnkit.backend.dtype import bfloat16, dtype, float16, float32, float64

__all__ = ["LinearCrossEntropyOptions"]
_POLICIES = ("accurate", "balanced", "compact", "auto")
_DTYPES = (None, float16, bfloat16, float32, float64)


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """Settings of `LinearCrossEntropyLoss`, which change no result: scores are computed at once.

    Args:
        allow_retain_graph: whether there may be a second backward; there always may.
        batch_chunk_size: the number of inputs in a piece.
        chunking_method: how that number is found: ``"auto"``, ``"aspect_ratio:n"`` or None.
        acc_policy: ``"accurate"``, ``"balanced"``, ``"compact"`` or ``"auto"``.
        acc_dtype: of the sums, a floating dtype or None.

    Raises:
        ValueError: a setting is none of these.

    Example:
        >>> import nnkit
        >>> options = nnkit.nn.LinearCrossEntropyOptions(batch_chunk_size=64)
        >>> loss = nnkit.nn.LinearCrossEntropyLoss(3, 4, options=options)
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        size, method = self.batch_chunk_size, self.chunking_method
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if method not in (None, "auto"):
            name, _, ratio = method.partition(":")
            if name != "aspect_ratio" or not ratio.isdecimal() or not int(ratio):
                raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.acc_dtype not in _DTYPES:
            raise ValueError(f"acc_dtype must be one of {_DTYPES}, got {self.acc_dtype}")
