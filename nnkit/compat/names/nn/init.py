"""torch.nn.init: fillings of tensors that no gradient follows, which libraries call."""

from __future__ import annotations

from typing import Any

from nnkit import Tensor, no_grad

__all__ = ["_no_grad_fill_", "_no_grad_normal_", "_no_grad_uniform_", "_no_grad_zero_"]


@no_grad()
def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    return tensor.fill_(val)


@no_grad()
def _no_grad_zero_(tensor: Tensor) -> Tensor:
    return tensor.zero_()
