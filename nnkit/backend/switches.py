"""Switches of NVIDIA's libraries and of attention, set by `nnkit.backends`, read by kernels."""

from __future__ import annotations

from types import SimpleNamespace

frozen = False  # whether switches are set by contexts alone


class Matmul(SimpleNamespace):
    """How products are computed: ``precision`` is "highest", "high" or "medium".

    The latter two admit float32 factors of 10 bits on tensor cores, as in torch off unless asked
    for.
    """

    precision = "highest"

    @property
    def allow_tf32(self) -> bool:
        """Whether a precision below the highest is allowed."""
        return self.precision != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        self.precision = "high" if allowed else "highest"


matmul = Matmul()

# Whether convolution and attention go to cuDNN where it is installed, and with which plans.
cudnn = SimpleNamespace(
    enabled=True, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True
)

# The ways in which attention may be computed: operation by operation, or by a fused kernel.
attention = SimpleNamespace(math=True, flash=True, mem_efficient=True, cudnn=True)
