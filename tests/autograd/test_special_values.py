"""Gradients at NaN, infinities and kinks, and complex arguments of what is mostly real; nnkit and
torch give what is written here."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import pickle
from types import ModuleType

import pytest

from tests.frameworks import raises

F = "torch.nn.functional"


def test_the_slope_of_hardsigmoid_is_a_sixth_of_float32(lib: ModuleType) -> None:
    x = lib.zeros(1, dtype=lib.float64, requires_grad=True)
    lib.nn.functional.hardsigmoid(x).sum().backward()
    assert x.grad.item() == 0.1666666716337204


def test_logcumsumexp_with_infinite_totals(lib: ModuleType) -> None:
    x = lib.tensor([1.0, math.inf, 2.0, math.inf], requires_grad=True)
    lib.logcumsumexp(x, 0).sum().backward()
    assert x.grad.tolist() == pytest.approx([1, math.nan, 0, math.nan], nan_ok=True)


def test_kl_div_at_an_impossible_target(lib: ModuleType) -> None:
    target = lib.tensor([0.0, 1.0], requires_grad=True)
    lib.nn.functional.kl_div(lib.zeros(2), target, reduction="sum").backward()
    assert target.grad.tolist() == pytest.approx([math.nan, 1], nan_ok=True)


@pytest.mark.parametrize("call", ["cdist(x, x + 1, 0.0)", "nn.functional.pdist(x, 0.0)"])
def test_counts_of_differences_have_no_slope(lib: ModuleType, call: str) -> None:
    x = lib.ones(3, 2, requires_grad=True)
    eval(f"torch.{call}", {"torch": lib, "x": x}).sum().backward()
    assert x.grad.tolist() == [[0, 0]] * 3


COMPLEX = [
    f"{F}.softsign(x)",
    f"{F}.tanhshrink(x)",
    f"{F}.rms_norm(x, (2,))",
    f"{F}.l1_loss(x, torch.ones_like(x) * 1j)",
    "torch.logaddexp(x, x.flip(0))",
    "torch.logcumsumexp(x, 0)",
    "torch.logsumexp(x, 0)",
]


@pytest.mark.parametrize("call", COMPLEX)
def test_complex_gradients(lib: ModuleType, call: str) -> None:
    x = lib.tensor([[1 + 2j, 0.5 - 1j], [0.25j, -1 + 0.5j]], dtype=lib.complex128)
    x.requires_grad_()
    assert lib.autograd.gradcheck(lambda x: eval(call, {"torch": lib, "x": x}), x)


VALUES = [
    (f"{F}.silu(torch.tensor(1j)).real", -0.5 * math.tan(0.5)),
    ("torch.logsumexp(torch.tensor([3j, 3j]), 0).imag", 3.0),
    ("torch.logsumexp(torch.tensor([4j, 4j]), 0).imag", 4 - 2 * math.pi),
    ("torch.logaddexp(torch.tensor(complex(-math.inf, 0)), torch.tensor(1j)).imag", 1.0),
    (f"{F}.poisson_nll_loss(torch.tensor([1]), torch.tensor([2]))", math.e - 2),
    ("torch.logspace(-2, 2, 50, dtype=torch.bfloat16)[43]", 32.25),
    ("torch.logspace(4.3, 0, 1, dtype=torch.bfloat16)[0]", 19968.0),
    ("torch.range(1, 2.5, 0.5)", [1, 1.5, 2, 2.5]),
    ("torch.range(3, 1, -1, dtype=torch.int64)", [3, 2, 1]),
    (f"{F}.fractional_max_pool3d(torch.zeros(0, 1, 4, 5, 4), 2, output_size=2)", []),
    (f"{F}.batch_norm(torch.zeros(0), torch.zeros(0), torch.zeros(0))", []),
]


@pytest.mark.filterwarnings("ignore:.*deprecated.*:UserWarning")
@pytest.mark.parametrize(("call", "expected"), VALUES, ids=[v[0] for v in VALUES])
def test_values(lib: ModuleType, call: str, expected: object) -> None:
    found = eval(call, {"torch": lib, "math": math})
    assert found.tolist() == pytest.approx(expected, rel=1e-6)


ERRORS = [
    (RuntimeError, "smaller", f"{F}.avg_pool3d(torch.zeros(1, 1, 2, 2, 2), 3, 1, 1)"),
    (RuntimeError, "smaller", f"{F}.lp_pool3d(torch.zeros(1, 1, 1, 2, 2), 2.0, 2, ceil_mode=True)"),
    (
        RuntimeError,
        "weight",
        f"{F}.rms_norm(torch.ones(2, dtype=torch.complex64), (2,), torch.ones(3))",
    ),
    (RuntimeError, "inconsistent", "torch.range(5, 0)"),
    (RuntimeError, "nonzero", "torch.range(0, 5, 0)"),
    (RuntimeError, "0-dim integral", "torch.zeros(3).narrow(0, torch.tensor([1]), 1)"),
    (RuntimeError, "0-dim integral", "torch.zeros(3).narrow(0, torch.tensor(True), 1)"),
    (TypeError, "imag", "torch.complex(torch.zeros(2), 2)"),
    (TypeError, "input", "torch.clamp_min(2, torch.zeros(2))"),
    (TypeError, "input", "torch.rsub(2, torch.zeros(2))"),
]


@pytest.mark.filterwarnings("ignore:.*deprecated.*:UserWarning")
@pytest.mark.parametrize(("error", "noun", "call"), ERRORS, ids=[e[2] for e in ERRORS])
def test_errors(lib: ModuleType, error: type[Exception], noun: str, call: str) -> None:
    with raises(lib, error, noun):
        eval(call, {"torch": lib})


def test_functions_pickle_copy_and_wrap(lib: ModuleType) -> None:
    offered = (lib.exp, lib.sum, lib.relu, lib.add, lib.hsplit, lib.nn.functional.relu, lib.abs_)
    methods = [getattr(lib.Tensor, name) for name in ("exp", "sum", "exp_", "double", "new_zeros")]
    for function in (*offered, *methods):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function
        assert functools.wraps(function)(lambda x: x).__doc__ == function.__doc__


def test_functions_have_signatures() -> None:
    import nnkit

    assert "input" in inspect.signature(nnkit.exp).parameters
    assert list(inspect.signature(nnkit.sum).parameters)[:3] == ["input", "dim", "keepdim"]
