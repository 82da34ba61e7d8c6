"""Optimizers: they change parameters in place, group by group."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nnkit.optim import lr_scheduler as lr_scheduler
from nnkit.optim.adadelta import Adadelta
from nnkit.optim.adafactor import Adafactor
from nnkit.optim.adagrad import Adagrad
from nnkit.optim.adam import Adam, AdamW
from nnkit.optim.adamax import Adamax
from nnkit.optim.asgd import ASGD
from nnkit.optim.lbfgs import LBFGS
from nnkit.optim.muon import Muon
from nnkit.optim.nadam import NAdam
from nnkit.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from nnkit.optim.radam import RAdam
from nnkit.optim.rmsprop import RMSprop
from nnkit.optim.rprop import Rprop
from nnkit.optim.sgd import SGD
from nnkit.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]


def __getattr__(name: str) -> Any:
    if name == "swa_utils":  # which needs the layers
        return import_module("nnkit.optim.swa_utils")
    raise AttributeError(f"module 'nnkit.optim' has no attribute {name!r}")
