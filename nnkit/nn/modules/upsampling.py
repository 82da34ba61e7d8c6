"""Layers that resize images, signals and volumes."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Another size of the spatial axes; see `nnkit.nn.functional.interpolate`.

    Shape:
        input ``(N, C, L)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``.

    >>> import nnkit
    >>> nnkit.nn.Upsample(scale_factor=2)(nnkit.ones(1, 3, 2, 2)).shape
    nnkit.Size([1, 3, 4, 4])
    """

    _kept_by_torch = ("name",)

    @property
    def name(self) -> str:
        """The name of its class."""
        return type(self).__name__

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images with ``mode="nearest"``.

    >>> import nnkit
    >>> nnkit.nn.UpsamplingNearest2d(size=3)(nnkit.ones(1, 1, 2, 2)).shape
    nnkit.Size([1, 1, 3, 3])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images with ``mode="bilinear"`` and ``align_corners=True``.

    >>> import nnkit
    >>> nnkit.nn.UpsamplingBilinear2d(size=3)(nnkit.ones(1, 1, 2, 2)).shape
    nnkit.Size([1, 1, 3, 3])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
