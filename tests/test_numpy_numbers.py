"""NumPy's numbers in place of Python's: every op of the table computes the same, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.harness.call import Call, flatten
from tests.harness.row import Maker, OpRow, Raises, Sample
from tests.harness.table import ROWS

KINDS: dict[str, Callable] = {
    "int64": lambda v: np.int64(v) if type(v) is int and abs(v) < 2**63 else v,
    "int32": lambda v: np.int32(v) if type(v) is int and abs(v) < 2**31 else v,
    "float64": lambda v: np.float64(v) if type(v) is float else v,
}


def replaced(value: Any, change: Callable) -> Any:
    if type(value) in (tuple, list):
        return type(value)(replaced(item, change) for item in value)
    return change(value)


def results(row: OpRow, sample: Sample) -> list:
    """What the call returns, then the gradients of the leaves."""
    nnkit.manual_seed(0)
    call = Call(nnkit, row, sample, track=row.differentiable)
    found = list(flatten(call(*call.leaves)))
    tracked = [t for t in found if isinstance(t, nnkit.Tensor) and t.requires_grad]
    ones = [nnkit.ones_like(t) for t in tracked]
    if tracked:
        found += nnkit.autograd.grad(tracked, call.leaves, ones, allow_unused=True)
    return [t.detach() if isinstance(t, nnkit.Tensor) else t for t in found]


def values(tensor: nnkit.Tensor) -> np.ndarray:
    tensor = tensor.cpu().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype is nnkit.bfloat16 else tensor).numpy()


# What NumPy's numbers tell a dtype of their own, and what refuses them, as in torch.
OTHERWISE = {"tensor", "as_tensor", "asarray", "unravel_index"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if row.name not in OTHERWISE], ids=lambda row: row.name
)
def test_numpys_numbers_do(row: OpRow) -> None:
    dtype = next(d for d in ("float32", *row.dtypes) if d in row.dtypes)
    for sample in list(row.samples(Maker(row, dtype)))[:8]:
        if isinstance(sample, Raises):
            continue
        expected = results(row, sample)
        for change in KINDS.values():
            args = replaced(sample.args, change)
            kwargs = {name: replaced(value, change) for name, value in sample.kwargs.items()}
            found = results(row, Sample(*args, **kwargs))
            for one, other in zip(found, expected, strict=True):
                if not isinstance(one, nnkit.Tensor):
                    assert one == other
                    continue
                assert one.dtype is other.dtype
                if one.layout is nnkit.strided and not one.is_meta:
                    np.testing.assert_array_equal(values(one), values(other))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_sizes_of_windows_do(kind: type) -> None:
    x, f = nnkit.ones(1, 4, 6, 6), nnkit.nn.functional
    weight, two = nnkit.ones(4, 2, 2, 2), kind(2)
    assert f.max_pool2d(x, two, stride=two).shape == (1, 4, 3, 3)
    assert f.conv2d(x, weight, stride=two, padding=kind(1), groups=kind(2)).shape == (1, 4, 4, 4)
    assert nnkit.fft.fft(x, n=two).shape == (1, 4, 6, 2)
    assert nnkit.arange(5).chunk(two)[1].tolist() == [3, 4]
    assert nnkit.Tensor(two, kind(3)).shape == (2, 3)
    assert nnkit.nn.LayerNorm((kind(6),))(x).shape == f.group_norm(x, two).shape == x.shape
    assert nnkit.fft.fftshift(nnkit.arange(4), dim=kind(0)).tolist() == [2, 3, 0, 1]
    assert f.conv_tbc(nnkit.ones(5, 1, 2), nnkit.ones(3, 2, 2), nnkit.ones(2), two).shape[0] == 7


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_tuples_of_floats_do(kind: type) -> None:
    half, x = kind(0.5), nnkit.arange(64.0).reshape(1, 1, 8, 8)
    pooled = nnkit.nn.functional.fractional_max_pool2d(x, 2, output_ratio=(half, half))
    assert pooled.shape == (1, 1, 4, 4)
    count, edges = nnkit.histogram(nnkit.arange(4.0), 2, range=(kind(0), kind(4)))
    assert count.tolist() == [2, 2] and edges.tolist() == [0, 2, 4]


# The hyperparameters of each optimizer; a training loop with NumPy's numbers must end as with
# Python's, to the last bit.
HYPERPARAMETERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"lr": 0.01, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.1},
    "AdamW": {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.1},
    "RMSprop": {"lr": 0.01, "alpha": 0.9, "momentum": 0.5},
    "Adagrad": {"lr": 0.1, "lr_decay": 0.1},
    "Adadelta": {"lr": 1.0, "rho": 0.9},
    "Adamax": {"lr": 0.01, "betas": (0.8, 0.9)},
    "NAdam": {"lr": 0.01, "momentum_decay": 0.01},
    "RAdam": {"lr": 0.01, "weight_decay": 0.1},
    "Rprop": {"lr": 0.01, "etas": (0.5, 1.2), "step_sizes": (1e-6, 50.0)},
    "ASGD": {"lr": 0.01, "alpha": 0.5, "t0": 2.0},
    "LBFGS": {"lr": 0.5, "max_iter": 3, "history_size": 4},
    "Adafactor": {"lr": 0.01, "d": 2.0},
}


def trained(lib: ModuleType, optimizer: str, dtype: str, change: Callable) -> list[list]:
    """The parameters after some steps, with the rate of a schedule and clipped gradients."""
    lib.manual_seed(0)
    nn, dtype = lib.nn, getattr(lib, dtype)
    model = nn.Sequential(nn.Linear(4, 5), nn.Dropout(change(0.2)), nn.Linear(5, 2)).to(dtype)
    given = {k: replaced(v, change) for k, v in HYPERPARAMETERS[optimizer].items()}
    steps = getattr(lib.optim, optimizer)(model.parameters(), **given)
    schedule = lib.optim.lr_scheduler.LambdaLR(steps, lambda epoch: change(0.9**epoch))
    x, target = lib.randn(8, 4, dtype=dtype), lib.randint(0, 2, (8,))

    def closure() -> Any:
        steps.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target, label_smoothing=change(0.1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), change(0.5))
        return loss

    for _ in range(4):
        steps.step(closure)
        schedule.step()
    assert all(parameter.dtype is dtype for parameter in model.parameters())
    return [parameter.tolist() for parameter in model.parameters()]


@pytest.mark.parametrize("optimizer", HYPERPARAMETERS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_training_ends_in_the_same_bits(lib: ModuleType, optimizer: str, dtype: str) -> None:
    def numpys(value: Any) -> Any:
        return KINDS["float64"](KINDS["int64"](value))

    expected = trained(lib, optimizer, dtype, lambda value: value)
    assert trained(lib, optimizer, dtype, numpys) == expected


def test_numpys_bools_are_floats(lib: ModuleType) -> None:
    true = np.bool_(True)
    x = lib.arange(3)
    for found in (x * true, true * x, x + true, lib.where(x > 0, x, true), lib.full((3,), true)):
        assert found.dtype is lib.float32
    assert (lib.ones(2) - true).tolist() == [0, 0]
    assert lib.tensor(true).dtype is lib.bool


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept")  # torch's
def test_what_numpy_says_of_tensors(lib: ModuleType) -> None:
    x = lib.tensor([1.0, float("nan")])
    assert np.isnan(x).dtype is lib.uint8 and np.isnan(x).tolist() == [0, 1]
    assert np.sqrt(x).dtype is lib.float32
    assert np.float32(1) in x and np.float64(2) not in x
    for data in (memoryview(b"ab"), bytearray(b"ab")):
        for make in (lib.tensor, lib.as_tensor):
            assert make(data).tolist() == [97, 98] and make(data).dtype is lib.int64
    assert lib.pow(-1, lib.tensor([1, 2], dtype=lib.uint8)).tolist() == [255, 1]


def test_sizes_that_are_none(lib: ModuleType) -> None:
    for wrong, error in ((True, TypeError), (-1, RuntimeError), (2.5, TypeError)):
        with pytest.raises(error):
            lib.Tensor(wrong)
    with pytest.raises(TypeError):
        lib.randint(None, (2,))
    with pytest.raises(RuntimeError, match="on a bool tensor is not supported"):
        _ = +lib.tensor([True])
