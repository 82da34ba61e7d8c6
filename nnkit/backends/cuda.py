"""CUDA's switches, as ``torch.backends.cuda``; the CPU computes float32 products in float32."""

from __future__ import annotations

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False)


def is_built() -> bool:
    """Whether tensors can live on an NVIDIA GPU."""
    from nnkit.cuda import is_available

    return is_available()
