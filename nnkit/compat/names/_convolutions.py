"""The names of torch's convolution kernels, none of which is used here."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from nnkit import Tensor

_ConvBackend = enum.Enum(
    "_ConvBackend",
    "CudaDepthwise2d CudaDepthwise3d Cudnn CudnnTranspose Empty Miopen MiopenDepthwise "
    "MiopenTranspose Mkldnn MkldnnTranspose MkldnnEmpty NnpackSpatial Overrideable Slow2d Slow3d "
    "SlowDilated2d SlowDilated3d SlowTranspose2d SlowTranspose3d Winograd3x3Depthwise Xnnpack2d "
    "Mps MpsTranspose",
    start=0,
)


def _select_conv_backend(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any,
    dilation: Sequence[int], transposed: bool, output_padding: Any, groups: int, *more: Any,
) -> Any:  # fmt: skip
    """The name of the kernel that torch would use on a CPU without a library for convolutions."""
    if not input.numel():
        return _ConvBackend.Empty
    kind = "Transpose" if transposed else "Dilated" if any(n != 1 for n in dilation) else ""
    return _ConvBackend[f"Slow{kind}{max(input.ndim - 2, 2)}d"]
