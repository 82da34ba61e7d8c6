"""torch.nn: names that are only names."""

from __future__ import annotations

from typing import Any

from nnkit import Tensor
from nnkit.nn.modules.batchnorm import _BatchNorm


class SyncBatchNorm(_BatchNorm):
    """A class to ask whether a module is of it, and to derive from: it has no processes to join.

    Raises:
        ValueError: it is called in training.
    """

    def forward(self, input: Tensor) -> Any:
        if self.training:
            raise ValueError("SyncBatchNorm expected input of a process group, which is none")
        return super().forward(input)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
