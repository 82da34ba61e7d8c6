"""Schedulers set torch's learning rates and momenta, and save torch's states."""

from __future__ import annotations

import copy
import re
import warnings
from functools import wraps
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

SCHEDULES: dict[str, Any] = {
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5], 0.1),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.5, 3),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.3, 0.8, 4),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 5, 2),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, [lambda epoch: 0.9, lambda epoch: 0.8]),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 3),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="triangular2"),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, 5, mode="exp_range", gamma=0.9),
    "CyclicLR scale_fn": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 3, scale_fn=lambda x: 0.5, scale_mode="iterations", cycle_momentum=False
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=14),
    "OneCycleLR three phases": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.2], epochs=4, steps_per_epoch=4, anneal_strategy="linear", three_phase=True
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o,
        [s.LinearLR(o, 0.1, total_iters=2), s.StepLR(o, 2), s.ExponentialLR(o, 0.5)],
        milestones=[2, 7],
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]
    ),
}
NESTED: dict[str, Any] = {
    "SequentialLR of a SequentialLR": lambda s, o: s.SequentialLR(
        o,
        [s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.StepLR(o, 1)], [2]), s.LinearLR(o)],
        milestones=[5],
    ),
    "SequentialLR of a ChainedScheduler": lambda s, o: s.SequentialLR(
        o,
        [s.ChainedScheduler([s.ExponentialLR(o, 0.5), s.PolynomialLR(o, 4)]), s.LinearLR(o)],
        milestones=[4],
    ),
}
RESUMED: dict[str, Any] = {
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5, last_epoch=3),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9, last_epoch=3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.5, 5, last_epoch=3),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.3, 0.8, 6, last_epoch=3),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 5, 2, last_epoch=3),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch, last_epoch=3),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01, last_epoch=3),
    "CosineAnnealingLR at the end": lambda s, o: s.CosineAnnealingLR(o, 4, last_epoch=3),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, cycle_momentum=False, last_epoch=3),
}
PLATEAUS: dict[str, dict[str, Any]] = {
    "default": {},
    "cooldown": {"patience": 0, "factor": 0.5, "cooldown": 1, "min_lr": [0.01, 0.02]},
    "max": {"mode": "max", "patience": 1, "threshold": 0.1, "threshold_mode": "abs"},
    "eps": {"patience": 2, "eps": 1},
}


def optimizer(lib: ModuleType, kind: str = "SGD") -> Any:
    groups = [
        {"params": [lib.nn.Parameter(lib.ones(1))], "lr": 0.1},
        {"params": [lib.nn.Parameter(lib.ones(1))], "lr": 0.2},
    ]
    options = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(lib.optim, kind)(groups, lr=0.1, **options)


def seen(o: Any) -> list[Any]:
    keys = ("lr", "momentum", "betas")
    return [group[key] for group in o.param_groups for key in keys if key in group]


def run(lib: ModuleType, name: str, kind: str = "SGD") -> tuple[list[Any], Any]:
    o = optimizer(lib, kind)
    scheduler = SCHEDULES[name](lib.optim.lr_scheduler, o)
    found = [seen(o)]
    for _ in range(12):
        o.step()
        scheduler.step()
        found.append(seen(o))
    return found, scheduler


def plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {k: plain(v) for k, v in state.items() if not callable(v)}
    if isinstance(state, (list, tuple)):
        return [plain(v) for v in state]
    return pytest.approx(state) if isinstance(state, float) else state


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_torchs_rates_and_states(name: str, kind: str, torch: ModuleType) -> None:
    import nnkit

    ours, scheduler = run(nnkit, name, kind)
    theirs, other = run(torch, name, kind)
    assert plain(ours) == plain(theirs)
    assert plain(scheduler.state_dict()) == plain(other.state_dict())
    assert list(scheduler.state_dict()) == list(other.state_dict())
    assert scheduler.get_last_lr() == pytest.approx(other.get_last_lr())


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
@pytest.mark.parametrize("name", NESTED)
def test_schedules_within_schedules(name: str, torch: ModuleType) -> None:
    rates = []
    for lib in (nnkit, torch):
        o, rates_of_one = optimizer(lib), []
        scheduler = NESTED[name](lib.optim.lr_scheduler, o)
        for _ in range(9):
            rates_of_one.append(scheduler.get_last_lr())
            o.step()
            scheduler.step()
        rates.append(rates_of_one)
    assert rates[0] == [pytest.approx(each) for each in rates[1]]


@pytest.mark.parametrize("name", SCHEDULES)
def test_goes_on_from_a_saved_state(name: str, lib: ModuleType) -> None:
    expected, _ = run(lib, name)
    o = optimizer(lib)
    scheduler = SCHEDULES[name](lib.optim.lr_scheduler, o)
    for _ in range(5):
        o.step()
        scheduler.step()
    saved = copy.deepcopy((o.state_dict(), scheduler.state_dict()))
    o = optimizer(lib)
    scheduler = SCHEDULES[name](lib.optim.lr_scheduler, o)
    o.load_state_dict(saved[0])
    scheduler.load_state_dict(saved[1])
    for _ in range(7):
        o.step()
        scheduler.step()
    assert seen(o) == pytest.approx(expected[-1])


@pytest.mark.parametrize("name", PLATEAUS)
def test_plateaus(name: str, torch: ModuleType) -> None:
    import nnkit

    found = []
    for lib in (nnkit, torch):
        o = optimizer(lib)
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(o, **PLATEAUS[name])
        rates = []
        for epoch in range(20):
            o.step()
            scheduler.step(lib.tensor(1 / (epoch % 4 + 1)))
            rates.append((scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.in_cooldown))
        found.append((rates, scheduler.state_dict()))
    assert plain(found[0]) == plain(found[1])


def test_a_group_without_a_smallest_rate(lib: ModuleType) -> None:
    o = optimizer(lib)
    scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(o, patience=0, min_lr=[0.0, 0.0])
    o.add_param_group({"params": [lib.nn.Parameter(lib.ones(1))]})
    o.step()
    scheduler.step(1.0)
    with raises(lib, RuntimeError, "1 param groups were added"):
        scheduler.step(2.0)


def test_epochs_out_of_turn(lib: ModuleType) -> None:
    s = lib.optim.lr_scheduler
    o = optimizer(lib)
    restarts = s.CosineAnnealingWarmRestarts(o, 3, 2)
    rates = []
    for epoch in (0.5, 2.0, 3.0, 8.5):
        restarts.step(epoch)
        rates.append(restarts.get_last_lr()[0])
    assert rates == pytest.approx([0.09330127, 0.025, 0.1, 0.00170371])
    o = optimizer(lib)
    steps = s.StepLR(o, 2)
    o.step()
    with pytest.warns(UserWarning, match=re.escape(s.EPOCH_DEPRECATION_WARNING)):
        steps.step(5)
    assert steps.get_last_lr() == pytest.approx([0.001, 0.002])


def test_a_rate_that_is_a_tensor_stays_one(lib: ModuleType) -> None:
    rate = lib.tensor(0.1)
    o = lib.optim.Adam([lib.nn.Parameter(lib.ones(1))], lr=rate)
    scheduler = lib.optim.lr_scheduler.ExponentialLR(o, 0.5)
    o.step()
    scheduler.step()
    assert o.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.05)


@pytest.mark.parametrize("kind", ["CyclicLR", "OneCycleLR", "SWALR"])
def test_the_callers_tensors_are_copied(lib: ModuleType, kind: str) -> None:
    rate = lib.tensor(0.5)

    def rates(spoil: bool) -> list[float]:
        rate.fill_(0.5)
        o = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=lib.tensor(0.1), momentum=0.9)
        make = {
            "CyclicLR": lambda: lib.optim.lr_scheduler.CyclicLR(o, lib.tensor(0.1), rate, 2),
            "OneCycleLR": lambda: lib.optim.lr_scheduler.OneCycleLR(o, rate, 5),
            "SWALR": lambda: lib.optim.swa_utils.SWALR(o, rate, 3),
        }
        scheduler = make[kind]()
        if spoil:
            rate.fill_(9)
        found = []
        for _ in range(3):
            o.step()
            scheduler.step()
            found.append(o.param_groups[0]["lr"].item())
        return found

    assert rates(True) == rates(False)


@pytest.mark.parametrize("name", RESUMED)
def test_goes_on_from_an_epoch(torch: ModuleType, name: str) -> None:
    def rates(lib: ModuleType) -> list[float]:
        o = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        o.param_groups[0]["initial_lr"] = 0.2
        scheduler = RESUMED[name](lib.optim.lr_scheduler, o)
        found = [o.param_groups[0]["lr"]]
        for _ in range(6):
            o.step()
            scheduler.step()
            found.append(o.param_groups[0]["lr"])
        return found

    assert rates(nnkit) == pytest.approx(rates(torch))


def test_warns_of_a_skipped_first_rate(lib: ModuleType) -> None:
    o = optimizer(lib)
    scheduler = lib.optim.lr_scheduler.StepLR(o, 2)
    with pytest.warns(UserWarning, match="how-to-adjust-learning-rate"):
        scheduler.step()
    o = optimizer(lib)
    scheduler = lib.optim.lr_scheduler.StepLR(o, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        o.step()
        scheduler.step()
        scheduler.step()


@pytest.mark.parametrize("marked", [False, True])
def test_warns_of_a_step_put_in_place_of_the_optimizers(lib: ModuleType, marked: bool) -> None:
    o = optimizer(lib)
    scheduler = lib.optim.lr_scheduler.StepLR(o, 2)
    old = o.step
    o.step = wraps(old)(lambda: old()) if marked else lambda: old()
    o.step()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scheduler.step()
    assert [marked] == [not caught]
    assert marked or "`optimizer.step()` has been overridden" in str(caught[0].message)


ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "no optimizer": (lambda s, o: s.StepLR(1, 2), TypeError, "int is not an Optimizer"),
    "no initial_lr": (lambda s, o: s.StepLR(o, 2, last_epoch=4), KeyError, "load the optimizer"),
    "T_0": (lambda s, o: s.CosineAnnealingWarmRestarts(o, 0), ValueError, "T_0 must be"),
    "T_mult": (lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 0), ValueError, "T_mult must be"),
    "epoch": (
        lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1), ValueError, "epoch must be"
    ),
    "start_factor": (lambda s, o: s.LinearLR(o, 2.0), ValueError, "start_factor must be"),
    "end_factor": (lambda s, o: s.LinearLR(o, 0.5, 2.0), ValueError, "end_factor must be"),
    "factor": (lambda s, o: s.ConstantLR(o, 2.0), ValueError, "factor must be"),
    "lambdas": (lambda s, o: s.LambdaLR(o, [abs]), ValueError, "lr_lambda has 1 values"),
    "plateau factor": (
        lambda s, o: s.ReduceLROnPlateau(o, factor=1.5), ValueError, "factor must be below 1"
    ),
    "plateau mode": (lambda s, o: s.ReduceLROnPlateau(o, "x"), ValueError, "mode must be min"),
    "no steps": (lambda s, o: s.OneCycleLR(o, 0.1), ValueError, "total_steps"),
    "total_steps": (lambda s, o: s.OneCycleLR(o, 0.1, 0), ValueError, "total_steps must be"),
    "epochs": (
        lambda s, o: s.OneCycleLR(o, 0.1, epochs=-1, steps_per_epoch=2), ValueError, "epochs must"
    ),
    "pct_start": (lambda s, o: s.OneCycleLR(o, 0.1, 9, pct_start=3.0), ValueError, "pct_start"),
    "strategy": (
        lambda s, o: s.OneCycleLR(o, 0.1, 9, anneal_strategy="x"), ValueError, "anneal_strategy"
    ),
    "cyclic mode": (lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="x"), ValueError, "mode must be"),
    "milestones": (
        lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2)], [1]), ValueError, "one milestone fewer"
    ),
    "no schedulers": (lambda s, o: s.SequentialLR(o, [], []), ValueError, "must not be empty"),
    "nothing chained": (lambda s, o: s.ChainedScheduler([]), ValueError, "must not be empty"),
    "something chained": (lambda s, o: s.ChainedScheduler([1], o), TypeError, "has no optimizer"),
    "a plateau in a sequence": (
        lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []), ValueError, "OnPlateau"
    ),
    "a chained plateau": (
        lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]), ValueError, "ReduceLROnPlateau"
    ),
    "no get_lr": (lambda s, o: s.LRScheduler(o), NotImplementedError, "defines no get_lr"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, lib: ModuleType) -> None:
    make, error, match = ERRORS[name]
    with raises(lib, error, match):
        make(lib.optim.lr_scheduler, optimizer(lib))


def test_errors_of_several_optimizers_and_too_many_steps(lib: ModuleType) -> None:
    s = lib.optim.lr_scheduler
    one, other = optimizer(lib), optimizer(lib)
    with raises(lib, ValueError, "another optimizer"):
        s.SequentialLR(one, [s.StepLR(one, 2), s.StepLR(other, 2)], [1])
    cycle = s.OneCycleLR(one, 0.1, 2)
    one.step()
    with raises(lib, ValueError, "step was called 3 times"):
        for _ in range(4):
            cycle.step()


def test_functions_that_are_none(lib: ModuleType) -> None:
    schedulers = lib.optim.lr_scheduler
    for kind in (schedulers.LambdaLR, schedulers.MultiplicativeLR):
        with raises(lib, TypeError, "lr_lambda must be a function, or a list of them, got 3"):
            kind(lib.optim.SGD([lib.ones(1)]), 3)
        with raises(lib, TypeError, "lr_lambda must be a function"):
            kind(lib.optim.SGD([lib.ones(1)]), [0.5])
    scheduler = schedulers.LambdaLR(lib.optim.SGD([lib.ones(1)]), lambda epoch: 1.0)
    with pytest.raises((TypeError, AttributeError), match="must be a dict|pop"):
        scheduler.load_state_dict(3)


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("CosineAnnealingWarmRestarts", {"T_0": "a"}, "T_0 must be a positive integer, got 'a'"),
        ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": None}, "T_mult must be a positive"),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": [3]}, "total_steps must be a positive"),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": 3, "pct_start": []}, "pct_start"),
        ("ConstantLR", {"factor": "a"}, "factor must be between 0 and 1, got 'a'"),
        ("LinearLR", {"start_factor": None}, "start_factor must be above 0 and at most 1"),
        ("LinearLR", {"end_factor": "1"}, "end_factor must be between 0 and 1"),
        ("ReduceLROnPlateau", {"factor": "a"}, "factor must be below 1"),
        ("ReduceLROnPlateau", {"mode": 1}, "mode must be min or max, got 1"),
    ],
)
def test_arguments_of_a_wrong_type(
    lib: ModuleType, kind: str, options: dict, expected: str
) -> None:
    with raises(lib, TypeError, expected):
        getattr(lib.optim.lr_scheduler, kind)(lib.optim.SGD([lib.ones(1)]), **options)


def test_eta_min_of_restarts(lib: ModuleType) -> None:
    with raises(lib, ValueError, "eta_min must be a float or int, got 'a'"):
        lib.optim.lr_scheduler.CosineAnnealingWarmRestarts(
            lib.optim.SGD([lib.ones(1)]), 2, eta_min="a"
        )


def test_nan_is_between(lib: ModuleType) -> None:
    optimizer = lib.optim.SGD([lib.ones(1)], lr=0.1)
    nan = float("nan")
    assert lib.optim.lr_scheduler.LinearLR(optimizer, 0.5, nan).get_last_lr() == [0.05]


def test_milestones_that_have_passed(lib: ModuleType) -> None:
    schedulers = lib.optim.lr_scheduler
    optimizer = lib.optim.SGD([lib.ones(1)], lr=1.0)
    parts = [schedulers.StepLR(optimizer, 1, 0.5), schedulers.ExponentialLR(optimizer, 0.1)]
    scheduler = schedulers.SequentialLR(optimizer, parts, [-5])
    assert scheduler.get_last_lr() == [1.0]
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.1]
