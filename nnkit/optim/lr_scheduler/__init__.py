"""Learning rates that follow a schedule, under the names of ``torch.optim.lr_scheduler``."""

from __future__ import annotations

from nnkit.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from nnkit.optim.lr_scheduler.cyclic import (
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
)
from nnkit.optim.lr_scheduler.decay import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from nnkit.optim.lr_scheduler.one_cycle import OneCycleLR
from nnkit.optim.lr_scheduler.plateau import ReduceLROnPlateau
from nnkit.optim.lr_scheduler.scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler  # noqa: F401

_LRScheduler = LRScheduler  # the name before torch 2.0, which subclasses still use

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
