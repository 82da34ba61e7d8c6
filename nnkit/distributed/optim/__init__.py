"""Optimizers of several ranks, as ``torch.distributed.optim``."""

from __future__ import annotations

from nnkit.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer
