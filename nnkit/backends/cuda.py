"""CUDA's switches, as ``torch.backends.cuda``; the CPU computes float32 products in float32."""

from __future__ import annotations

from nnkit.backend.switches import attention
from nnkit.backend.switches import matmul as matmul


def is_built() -> bool:
    """Whether tensors can live on an NVIDIA GPU."""
    from nnkit.cuda import is_available

    return is_available()


def flash_sdp_enabled() -> bool:
    """Whether attention may be computed by a fused kernel."""
    return attention.flash


def enable_flash_sdp(enabled: bool) -> None:
    """Let attention be computed by a fused kernel, or not."""
    attention.flash = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention may be computed as one operation after the other."""
    return attention.math


def enable_math_sdp(enabled: bool) -> None:
    """Let attention be computed as one operation after the other, or not."""
    attention.math = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may be computed by the kernel for GPUs that saves memory."""
    return attention.mem_efficient


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Let attention be computed by the kernel for GPUs that saves memory, or not."""
    attention.mem_efficient = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether attention may be computed by cuDNN."""
    return attention.cudnn


def enable_cudnn_sdp(enabled: bool) -> None:
    """Let attention be computed by cuDNN, or not."""
    attention.cudnn = bool(enabled)
