"""CUDA's switches, as ``torch.backends.cuda``; the CPU computes float32 products in float32."""

from __future__ import annotations

from collections.abc import Callable

from nnkit.backend.switches import attention
from nnkit.backend.switches import matmul as matmul


def is_built() -> bool:
    """Whether tensors can live on an NVIDIA GPU."""
    from nnkit.cuda import is_available

    return is_available()


def _switch(name: str, way: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    def sdp_enabled() -> bool:
        return getattr(attention, name)

    def enable_sdp(enabled: bool) -> None:
        setattr(attention, name, bool(enabled))

    sdp_enabled.__name__, enable_sdp.__name__ = f"{name}_sdp_enabled", f"enable_{name}_sdp"
    sdp_enabled.__doc__ = f"Whether attention may be computed {way}."
    enable_sdp.__doc__ = f"Let attention be computed {way}, or not."
    return sdp_enabled, enable_sdp


flash_sdp_enabled, enable_flash_sdp = _switch("flash", "by a fused kernel")
math_sdp_enabled, enable_math_sdp = _switch("math", "as one operation after the other")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch(
    "mem_efficient", "by the kernel for GPUs that saves memory"
)
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn", "by cuDNN")
