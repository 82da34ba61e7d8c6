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
    ("torch.range(96, 60.5, -2, dtype=torch.int64)[-1]", 60),
    ("torch.linspace(72, -53, 1853, dtype=torch.bfloat16)[927]", 9.25),
    ("torch.logspace(0.1633, 1.1483, 22, dtype=torch.float16)[7]", 3.103515625),
    ("torch.logspace(1.4, 2, 1, dtype=torch.int64)", [25]),
    ("torch.logspace(1, -1, 111, dtype=torch.int64)[55]", 1),
    ("torch.nan_to_num(torch.tensor(complex(123, math.nan)), nan=12.0).imag", 12.0),
    ("torch.nan_to_num(torch.tensor(complex(-math.inf, 1)), neginf=3.0).real", 3.0),
    ("torch.log1p(torch.tensor(1e-19 + 1e-18j, dtype=torch.complex128)).real", 1e-19),
    ("torch.logcumsumexp(torch.tensor([complex(-math.inf, 1)] * 2), 0).imag", [0, 0]),
    ("torch.Tensor.__reversed__(torch.arange(4).view(2, 2))", [2, 3, 0, 1]),
    ("torch.zeros(2).cauchy_(math.inf, 0.5)", [math.inf] * 2),
    ("torch.add(torch.tensor(True), torch.tensor(True), alpha=0)", True),
    (
        "torch.ldexp(torch.tensor([1e-38, math.inf, 0]), torch.tensor([200, -3000, 300]))",
        [1.60693804e22, math.inf, 0],
    ),
    ("torch.round(torch.tensor(6.65625, dtype=torch.bfloat16), decimals=2)", 6.65625),
    (
        "torch.matrix_exp(torch.stack([torch.full((2, 2), math.nan), torch.eye(2)]))[:, 0]",
        [math.nan, math.nan, math.e, 0],
    ),
    ("torch.matrix_exp(torch.full((2, 2), math.inf))", [math.nan] * 4),
    ("torch.matrix_exp(torch.eye(1, dtype=torch.bfloat16))", [2.71875]),
    ("torch.block_diag()", []),
    (  # what is added to a product is not multiplied by a complex 1
        f"{F}.linear(*torch.ones(2, 1, 1) + 0j, torch.tensor([complex(1, math.inf)]))",
        [complex(2, math.inf)],
    ),
    ("torch.addmm(torch.tensor([complex(1, math.nan)]), *torch.ones(2, 1, 1) + 0j).real", [2]),
    ("torch.cov(torch.zeros(2, 0))", [math.nan] * 4),
    ("torch.einsum('i,j->ij', torch.ones(1), torch.ones(1, dtype=torch.int64))", [1.0]),
    (
        "torch.lerp(torch.zeros(2), torch.ones(2), torch.tensor(0.25, dtype=torch.float64))",
        [0.25] * 2,
    ),
    ("torch.sum(torch.tensor([1.5, 2.5]), 0, out=torch.zeros((), dtype=torch.int64))", 3),
    ("torch.cumprod(torch.tensor([1.5, 2.5]), 0, out=torch.zeros(2, dtype=torch.int64))", [1, 2]),
    ("torch.mm(torch.zeros(0, 3), torch.zeros(3, 2), out=torch.empty(0, 2)).sum()", 0),
    ("torch.arange(4.0)[::2].ravel().stride(0) * torch.ones(())", 1),
    (f"{F}.fractional_max_pool2d(torch.ones(1, 2, 7), 2, output_ratio=(0.3, 0.3))", []),
    (f"{F}.fractional_max_pool3d(torch.ones(1, 3, 2, 2), 1, output_size=(2, 1, 1)).sum()", 2),
    (f"{F}.local_response_norm(torch.full((1, 2, 1), 3), 2, alpha=1.0, beta=1.0)", [0.6, 0.3]),
    ("torch.ones(2, 5).multinomial(3).stride(0) * torch.ones(())", 3),
    (f"{F}.conv1d(torch.zeros(1, 0, 4), torch.zeros(4, 0, 3))", []),
    (f"{F}.avg_pool2d(torch.tensor([[[5, 0], [0, 0]]]), 2, divisor_override=-2)", [-2]),
]
# A number meets half precision rounded to it, but for the second operand of products and quotients.
HALVES = [
    ("x.remainder(0.7)", 0.388671875), ("x.fmod(0.7)", 0.388671875), ("x - 7.3", 0.08984375),
    ("x.pow(0.1)", 1.2216796875), ("(x / 7.390625 * 0.7).eq(0.7)", True),
    ("x * 0.1", 0.7392578125), ("x / 0.1", 73.875), ("x // 0.1", 73.0),
    ("torch.full((1,), 7.39, dtype=torch.half) * torch.tensor(0.1)", [0.7392578125]),
    (f"{F}.hardshrink(x / x * 0.7, 0.7)", 0.0), ("torch.lerp(x * 0, x, 0.1)", 0.7392578125),
]  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), HALVES, ids=[v[0] for v in HALVES])
def test_numbers_and_halves(lib: ModuleType, call: str, expected: object) -> None:
    x = lib.tensor(7.39, dtype=lib.float16)
    assert eval(call, {"torch": lib, "x": x}).tolist() == expected


def test_the_exponent_of_a_negative_base(lib: ModuleType) -> None:
    exponent = lib.tensor(1 + 1j, requires_grad=True)
    lib.pow(lib.tensor(-2.0), exponent).abs().backward()
    assert exponent.grad.tolist() == pytest.approx(0.0599 - 0.2715j, abs=1e-4)


@pytest.mark.filterwarnings("ignore:.*(deprecated|degrees of freedom).*:UserWarning")
@pytest.mark.parametrize(("call", "expected"), VALUES, ids=[v[0] for v in VALUES])
def test_values(lib: ModuleType, call: str, expected: object) -> None:
    found = eval(call, {"torch": lib, "math": math})
    if found.ndim:
        found = found.flatten()
    assert found.tolist() == pytest.approx(expected, rel=1e-6, nan_ok=True)


MATRIX = "[[2, 1j, 1], [-1j, 5, 2j], [1, -2j, 9]]"
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
    (
        RuntimeError,
        "dtype|scalar_type",
        "torch.sum(torch.ones(2), 0, dtype=torch.half, out=torch.zeros(()))",
    ),
    *(
        (
            RuntimeError,
            "phase",
            f"torch.linalg.{call}(torch.tensor({MATRIX}).requires_grad_())"
            f"[{part}].sum().real.backward()",
        )
        for call, part in (("eigh", 1), ("eig", 1), ("svd", 0))
    ),
    (RuntimeError, "large", f"{F}.fractional_max_pool3d(torch.ones(1, 2, 2, 2), 1, output_size=2)"),
    (RuntimeError, "differentiation", "torch.nan_to_num(torch.ones(1).cfloat().requires_grad_())"),
    (RuntimeError, "dtype", "torch.einsum('i,i->', torch.ones(2), torch.ones(2).double())"),
    (TypeError, "imag", "torch.complex(torch.zeros(2), 2)"),
    (TypeError, "input", "torch.clamp_min(2, torch.zeros(2))"),
    (TypeError, "input", "torch.rsub(2, torch.zeros(2))"),
]


@pytest.mark.filterwarnings("ignore:.*deprecated.*:UserWarning")
@pytest.mark.parametrize(("error", "noun", "call"), ERRORS, ids=[e[2] for e in ERRORS])
def test_errors(lib: ModuleType, error: type[Exception], noun: str, call: str) -> None:
    with raises(lib, error, noun):
        eval(call, {"torch": lib})


def test_dimensions_are_counted() -> None:
    import nnkit

    assert nnkit.ones([1] * 64).ndim == 64
    with pytest.raises(RuntimeError, match="only tensors with up to 64 dims are supported"):
        nnkit.ones([1] * 65)


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
