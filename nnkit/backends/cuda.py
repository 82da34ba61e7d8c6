"""CUDA's switches, as ``torch.backends.cuda``; the CPU computes float32 products in float32."""

from __future__ import annotations

from nnkit.backend.switches import matmul as matmul


def is_built() -> bool:
    """Whether tensors can live on an NVIDIA GPU."""
    from nnkit.cuda import is_available

    return is_available()
