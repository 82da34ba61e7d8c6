"""Optimizers: they change parameters in place, group by group."""

from __future__ import annotations

from nnkit.optim import lr_scheduler as lr_scheduler
from nnkit.optim.adam import Adam, AdamW
from nnkit.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from nnkit.optim.sgd import SGD

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Optimizer",
    "lr_scheduler",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]
