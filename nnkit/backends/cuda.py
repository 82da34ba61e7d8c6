"""CUDA's switches, as ``torch.backends.cuda``; the CPU computes float32 products in float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nnkit.backend.switches import attention
from nnkit.backend.switches import matmul as matmul
from nnkit.backend.warning import warn


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


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Within it attention is computed in these ways alone; the old form of `sdpa_kernel`."""
    warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.",
        FutureWarning,
    )
    before = dict(vars(attention))
    attention.flash, attention.math = enable_flash, enable_math
    attention.mem_efficient, attention.cudnn = enable_mem_efficient, enable_cudnn
    try:
        yield
    finally:
        vars(attention).update(before)
