"""Tensors, the graph, the engine, and one row for each differentiable op."""

from __future__ import annotations

from importlib import import_module

from nnkit.autograd import forward_ad as forward_ad
from nnkit.autograd import functional as functional
from nnkit.autograd import graph as graph
from nnkit.autograd.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from nnkit.autograd.capture import grad
from nnkit.autograd.engine import backward
from nnkit.autograd.function import Function
from nnkit.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from nnkit.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from nnkit.autograd.node import Node
from nnkit.autograd.tensor import Size, Tensor
from nnkit.autograd.variable import Variable

SUBJECTS = (
    "arithmetic", "conjugation", "power", "bounds", "comparison", "transcendental", "activation",
    "creation", "conversion", "interchange", "mapping", "ranges", "shape", "strided", "joining",
    "rearranging", "triangles", "indexing", "integers", "scattering", "slices", "masking",
    "reduction", "running", "extrema", "vector_norm", "sorting", "searching", "linalg",
    "contraction", "linear", "factorization", "householder", "matrix_functions", "least_squares",
    "lu", "statistics", "distance", "softmax", "loss", "norm", "padding", "conv", "pooling",
    "folding", "embedding", "random", "dropout", "attention", "recurrent", "pinning", "special",
    "spectrum", "windows", "differences",
)  # fmt: skip
for _subject in SUBJECTS:
    import_module(f"nnkit.autograd.ops.{_subject}")
import_module("nnkit.autograd.metadata")
import_module("nnkit.autograd.operators")
import_module("nnkit.autograd.copying")
import_module("nnkit.autograd.typed_tensors")

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
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
