"""Tensors, the graph, the engine, and one row for each differentiable op."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from nnkit.autograd.capture import grad
from nnkit.autograd.engine import backward
from nnkit.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from nnkit.autograd.node import Node
from nnkit.autograd.tensor import Size, Tensor

SUBJECTS = (
    "arithmetic", "comparison", "transcendental", "activation", "creation", "shape", "indexing",
    "reduction", "sorting", "linalg", "softmax", "loss", "norm", "conv", "pooling", "embedding",
    "random", "dropout", "attention", "recurrent",
)  # fmt: skip
for _subject in SUBJECTS:
    if find_spec(f"nnkit.autograd.ops.{_subject}"):
        import_module(f"nnkit.autograd.ops.{_subject}")
import_module("nnkit.autograd.operators")

__all__ = [
    "Node",
    "Size",
    "Tensor",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
