"""Averages of weights and their learning rate, the same in both frameworks."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

AVERAGES: dict[str, Any] = {
    "mean": lambda s: {},
    "ema": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9)},
    "ema one by one": lambda s: {"avg_fn": s.get_ema_avg_fn(0.9), "use_buffers": True},
    "mean one by one": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "buffers": lambda s: {"use_buffers": True},
}


def swa(lib: ModuleType) -> Any:
    return import_module(f"{lib.__name__}.optim.swa_utils")


def run(lib: ModuleType, name: str) -> dict[str, Any]:
    lib.manual_seed(0)
    nn = lib.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    x = lib.randn(8, 2)
    optimizer = lib.optim.SGD(model.parameters(), 0.1)
    average = swa(lib).AveragedModel(model, **AVERAGES[name](swa(lib)))
    for _ in range(4):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
        average.update_parameters(model)
    found = {key: value.tolist() for key, value in average.state_dict().items()}
    swa(lib).update_bn([(x, 1), (x * 2, 2)], average)
    found["bn"] = average.module[1].running_var.tolist()
    found["momentum"] = average.module[1].momentum
    found["out"] = average(x).flatten().tolist()
    return found


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_are_torchs(name: str, torch: ModuleType) -> None:
    ours, theirs = run(nnkit, name), run(torch, name)
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        flat = nnkit.tensor(ours[key]).flatten().tolist()
        assert flat == pytest.approx(torch.tensor(value).flatten().tolist(), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 3])
def test_rates_are_torchs(strategy: str, epochs: int, torch: ModuleType) -> None:
    def rates(lib: ModuleType) -> list[Any]:
        groups = [{"params": lib.ones(1, requires_grad=True), "lr": lr} for lr in (0.1, 0.4)]
        optimizer = lib.optim.SGD(groups)
        scheduler = swa(lib).SWALR(optimizer, [0.05, 0.2], epochs, strategy)
        found = []
        for _ in range(5):
            optimizer.step()
            scheduler.step()
            found += scheduler.get_last_lr()
        return found

    assert rates(nnkit) == pytest.approx(rates(torch))


def test_the_state_of_a_schedule_names_its_way(lib: ModuleType) -> None:
    optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)])
    assert swa(lib).SWALR(optimizer, 0.1).state_dict()["_anneal_strategy"] == "cos"


def test_a_mean_takes_values_of_another_dtype(lib: ModuleType) -> None:
    model = lib.nn.Linear(1, 1, bias=False)
    averaged = swa(lib).AveragedModel(model)
    for value in (1.0, 2.0, 6.0):
        lib.nn.init.constant_(model.bfloat16().weight, value)
        averaged.update_parameters(model)
    assert averaged.module.weight.item() == 3
    assert averaged.module.weight.dtype == lib.float32


def test_refuses(lib: ModuleType) -> None:
    s, model = swa(lib), lib.nn.Linear(1, 1)
    with raises(lib, AssertionError, "only one of"):
        s.AveragedModel(model, avg_fn=s.get_swa_avg_fn(), multi_avg_fn=s.get_swa_multi_avg_fn())
    with raises(lib, ValueError, "between 0 and 1, got 2"):
        s.get_ema_avg_fn(2)
    optimizer = lib.optim.SGD(model.parameters())
    with raises(lib, ValueError, "anneal_strategy must be"):
        s.SWALR(optimizer, 0.1, anneal_strategy="x")
    with raises(lib, ValueError, "anneal_epochs must be"):
        s.SWALR(optimizer, 0.1, anneal_epochs=-1)


def test_lists_that_do_not_fit(lib: ModuleType) -> None:
    swa = lib.optim.swa_utils
    for average in (swa.get_ema_multi_avg_fn(0.5), swa.get_swa_multi_avg_fn()):
        with raises(lib, RuntimeError, "must have the same number of tensors, got 1 and 0"):
            average([lib.ones(1)], [], 1)
        with raises(lib, IndexError, "at least one average"):
            average([], [], 1)
        with raises(lib, TypeError, "must be lists of Tensors"):
            average([1.0], [lib.ones(1)], 1)
        with raises(lib, TypeError, "must be lists of Tensors"):
            average([lib.ones(1)], 3, 1)
