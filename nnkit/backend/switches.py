"""Switches of NVIDIA's libraries and of attention, set by `nnkit.backends`, read by kernels."""

from __future__ import annotations

from types import SimpleNamespace

# float32 products with factors of 10 bits on tensor cores, as in torch off unless asked for.
matmul = SimpleNamespace(allow_tf32=False)

# Whether convolution and attention go to cuDNN where it is installed, and with which plans.
cudnn = SimpleNamespace(
    enabled=True, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True
)

# The ways in which attention may be computed: operation by operation, or by a fused kernel.
attention = SimpleNamespace(math=True, flash=True, mem_efficient=True, cudnn=True)
