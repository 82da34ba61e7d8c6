"""Short training runs that nnkit and torch both do: the same gradients, every choice of flags."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

STEPS = 4
SHAPE = (3, 4)


def _choices(**values: tuple) -> Iterator[dict[str, Any]]:
    for chosen in itertools.product(*values.values()):
        yield dict(zip(values, chosen))


def _sgd() -> Iterator[dict[str, Any]]:
    for options in _choices(
        momentum=(0, 0.9), dampening=(0, 0.3), nesterov=(False, True), weight_decay=(0, 0.1),
        maximize=(False, True),
    ):  # fmt: skip
        if not options["nesterov"] or (options["momentum"] and not options["dampening"]):
            yield {"lr": 0.1, **options}


def _adam() -> Iterator[dict[str, Any]]:
    yield from _choices(weight_decay=(0, 0.1), amsgrad=(False, True), maximize=(False, True))
    yield {"lr": 0.05, "betas": (0.5, 0.9), "eps": 0.1}
    yield {"betas": (0.0, 0.0)}


def _others() -> Iterator[tuple[str, dict[str, Any]]]:
    """For each of the other optimizers: its defaults, and everything set."""
    common = {"lr": 0.05, "weight_decay": 0.1, "maximize": True}
    yield "RMSprop", {"centered": True}
    yield "RMSprop", {**common, "alpha": 0.5, "momentum": 0.5, "eps": 1.0}
    yield "RMSprop", {**common, "alpha": 0.5, "momentum": 0.5, "centered": True, "eps": 1.0}
    yield "Adagrad", {}
    yield "Adagrad", {**common, "lr_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 0.1}
    yield "Adadelta", {}
    yield "Adadelta", {**common, "rho": 0.7, "eps": 0.01}
    yield "Adamax", {}
    yield "Adamax", {**common, "betas": (0.5, 0.9), "eps": 0.1}
    yield "NAdam", {}
    yield "NAdam", {**common, "betas": (0.5, 0.9), "momentum_decay": 0.1, "eps": 0.1}
    yield "NAdam", {**common, "decoupled_weight_decay": True}
    yield "RAdam", {"betas": (0.5, 0.9)}
    yield "RAdam", {**common, "betas": (0.5, 0.6), "eps": 0.1}
    yield "RAdam", {**common, "decoupled_weight_decay": True}
    yield "Rprop", {}
    yield "Rprop", {"lr": 0.1, "etas": (0.4, 1.3), "step_sizes": (0.08, 0.12), "maximize": True}
    yield "ASGD", {}
    yield "ASGD", {**common, "t0": 1, "lambd": 0.1, "alpha": 0.5}


ALL = [
    *((name, o) for name, f in (("SGD", _sgd), ("Adam", _adam), ("AdamW", _adam)) for o in f()),
    *_others(),
]
CASES = {
    f"{name}({', '.join(f'{k}={v}' for k, v in options.items())})": (name, options)
    for name, options in ALL
}


def gradients(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> list[np.ndarray]:
    """A parameter's first value, and then its gradient at each step."""
    random = np.random.RandomState(seed)
    return [np.asarray(random.standard_normal(shape)).astype(dtype) for _ in range(STEPS + 1)]


def tensor(lib: ModuleType, values: np.ndarray, dtype: str | None = None) -> Any:
    made = lib.tensor(values)
    return made if dtype is None else made.to(getattr(lib, dtype))


def array(value: Any) -> np.ndarray:
    return value.detach().double().numpy()


def run(
    lib: ModuleType,
    name: str,
    options: dict[str, Any],
    shape: tuple[int, ...] = SHAPE,
    dtype: str = "float64",
    transposed: bool = False,
) -> dict[str, np.ndarray]:
    """The parameter and the state of the optimizer after some steps, in double precision."""
    wide = dtype if dtype in ("float32", "float64") else "float32"
    first, *grads = gradients(shape, wide)
    p = tensor(lib, first, dtype)
    if transposed:
        p = p.T
    p.requires_grad_()
    optimizer = getattr(lib.optim, name)([p], **options)
    for grad in grads:
        p.grad = tensor(lib, grad.T if transposed else grad, dtype)
        optimizer.step()
    found = {"param": array(p)}
    for key, value in optimizer.state[p].items():
        if value is not None:
            found[key] = array(value)
    return found
