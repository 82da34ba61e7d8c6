"""One layer in both frameworks, from the same seed: everything it says and computes must agree."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.random_cases import draws_from_mkl


def tensors(result: Any) -> list:
    """All tensors of a nested result."""
    if isinstance(result, (tuple, list)):
        return [tensor for part in result for tensor in tensors(part)]
    return [] if result is None else [result]


def run(
    lib: ModuleType, make: Callable, inputs: list[np.ndarray], call: Callable, train: bool
) -> tuple[list, list[np.ndarray]]:
    """What can be compared exactly, and what only nearly: outputs and all gradients."""
    lib.manual_seed(0)
    layer = make(lib.nn)
    exact = [repr(layer), {key: value.tolist() for key, value in layer.state_dict().items()}]
    layer = layer.double().train(train)
    given = [lib.tensor(x) for x in inputs]
    leaves = [t.requires_grad_() for t in given if t.is_floating_point()]
    lib.manual_seed(1)
    outputs = [t for t in tensors(call(lib, layer, *given)) if t.is_floating_point()]
    loss: Any = sum((out * out.detach().cos()).sum() for out in outputs)
    loss.backward()
    leaves += list(layer.parameters())
    grads = [None if leaf.grad is None else leaf.grad for leaf in leaves]
    exact.append([grad is None for grad in grads])
    near = [*(out.detach() for out in outputs), *(grad for grad in grads if grad is not None)]
    return exact, [tensor.numpy() for tensor in near]


def assert_same(
    torch: ModuleType,
    make: Callable,
    *inputs: np.ndarray,
    call: Callable = lambda lib, layer, *given: layer(*given),
    train: bool = True,
    rtol: float = 1e-9,
) -> None:
    """``make(nn)`` has torch's text, state and first values, and on the inputs its outputs and
    gradients; ``call(lib, layer, *inputs)`` says how to call it."""
    if train and "ropout" in repr(make(nnkit.nn)) and draws_from_mkl(torch):
        pytest.skip("torch on Intel processors draws masks from MKL")
    (exact, near), (wanted_exact, wanted_near) = (
        run(lib, make, list(inputs), call, train) for lib in (nnkit, torch)
    )
    assert exact == wanted_exact
    for ours, wanted in zip(near, wanted_near, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol, 1e-11)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal numbers in float64."""
    return np.random.RandomState(seed).standard_normal(shape)
