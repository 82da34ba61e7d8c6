"""Tensors, the graph, the engine, and one row for each differentiable op."""

from __future__ import annotations

import os
from importlib import import_module

from nnkit.autograd import batch, forward, op, ops, surface
from nnkit.autograd import forward_ad as forward_ad
from nnkit.autograd import functional as functional
from nnkit.autograd import graph as graph
from nnkit.autograd.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from nnkit.autograd.engine.backward import backward
from nnkit.autograd.engine.grad import grad
from nnkit.autograd.engine.node import Node
from nnkit.autograd.function import Function
from nnkit.autograd.grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from nnkit.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.variable import Variable

# Each file enters what it offers by name.
for _room in (forward, op, ops, surface, batch):
    for _folder, _, _files in sorted(os.walk(_room.__path__[0])):
        _package = _room.__name__ + _folder.removeprefix(_room.__path__[0]).replace(os.sep, ".")
        for _file in sorted(_files):
            if _file.endswith(".py") and _file != "__init__.py":
                import_module(f"{_package}.{_file[:-3]}")

__all__ = [
    "Function",
    "GradcheckError",
    "Node",
    "Size",
    "Tensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
