"""CUDA == CPU, on a GPU: `pytest -m cuda`. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nnkit
from tests.cuda import on_gpu
from tests.harness.row import OpRow

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not nnkit.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
MODULES = list(on_gpu.modules())


@pytest.mark.parametrize("row", on_gpu.rows(), ids=lambda row: row.name)
def test_row(row: OpRow) -> None:
    on_gpu.check_row(row)


@pytest.mark.parametrize(("name", "make", "shape"), MODULES, ids=[m[0] for m in MODULES])
def test_module(name: str, make: Callable[[], Any], shape: tuple) -> None:
    on_gpu.check_training(make, shape)


@pytest.mark.parametrize("optimizer", on_gpu.OPTIMIZERS)
def test_optimizer(optimizer: str) -> None:
    on_gpu.check_training(lambda: nnkit.nn.Linear(70, 70), (4, 70), optimizer)


@pytest.mark.parametrize("check", on_gpu.SINGLE, ids=lambda check: check.__name__)
def test_single(check: Callable[[], None]) -> None:
    check()
