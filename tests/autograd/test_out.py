"""What ``out=`` accepts and refuses, beside what every row of the op table checks."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.frameworks import raises

ERRORS = [
    # The dtype of the result is cast where its category fits, or must be met exactly.
    ("result type", "mul(x, y, out=torch.zeros(3, dtype=torch.int64))"),
    ("dtype|scalar_type", "abs(x, out=torch.zeros(3, dtype=torch.float64))"),
    ("dtype|scalar_type", "sort(x, out=(torch.zeros(3), torch.zeros(3)))"),
    ("dtype|scalar_type", "gather(x, 0, index, out=torch.zeros(3, dtype=torch.float64))"),
    ("dtype|scalar_type", "max(x, 0, out=(torch.zeros(()), torch.zeros(())))"),
    ("out", "fft.irfft(x + 1j, out=torch.zeros(4, dtype=torch.complex64))"),
    ("dtype|scalar_type", "ones(3, dtype=torch.float64, out=torch.zeros(3))"),
    # Memory: of out alone, of out and an input.
    ("single memory location", "exp(x, out=torch.zeros(1).expand(3))"),
    ("single memory location", "cat([x, y], out=torch.zeros(1).expand(6))"),
    *[
        ("single memory location", f"{call}([empty, x], out=empty)")  # out is seen resized
        for call in ("cat", "hstack")
    ],
    ("single memory location", "exp(big[:-1], out=big[1:])"),
    ("single memory location", "add(x, big[:-1], out=big[1:])"),
    ("single memory location", "gather(x, 0, index, out=x)"),
    ("single memory location", "take(x, index, out=x)"),
    ("single memory location", "max(x, 0, out=(x[0], index[0]))"),
    ("single memory location", "masked_select(x, x > 0, out=x)"),
    # Gradients.
    ("automatic differentiation", "exp(x, out=torch.zeros(3, requires_grad=True))"),
    ("automatic differentiation", "exp(torch.zeros(3, requires_grad=True), out=x)"),
    # New tensors of another kind.
    *[
        (f"{kind} .* does not match {kind} of out parameter", f"{call}, {option}, out=x)")
        for kind, option in (
            ("dtype", "dtype=torch.float64"),
            ("layout", "layout=torch.sparse_coo"),
            ("device type", "device='meta'"),
        )
        for call in (
            "zeros(3", "empty(3", "rand(3", "randint(9, (3,)", "normal(0.0, 1.0, (3,)",
            "full((3,), 1.0", "eye(3", "arange(3", "linspace(0, 1, 3", "randperm(3",
        )
    ],
    ("dtype", "fft.fftfreq(3, dtype=torch.float64, out=x)"),
    ("dtype|scalar type", "fft.ifft(x, out=torch.zeros(3, dtype=torch.complex128))"),
    ("dtype", "fft.ihfftn(x, dim=0, out=torch.zeros(2, dtype=torch.complex128))"),
    ("dtype|scalar type", "hash_tensor(x, out=index)"),
    *[
        ("dtype|scalar type", f"{call}, out=torch.zeros(0, dtype=torch.float64))")
        for call in (
            "mm(torch.eye(2).to_sparse(), torch.eye(2)",
            "matmul(torch.eye(2).to_sparse(), torch.eye(2)",
            "addmm(torch.eye(2), torch.eye(2).to_sparse(), torch.eye(2)",
            "bmm(torch.ones(1, 2, 2).to_sparse(), torch.ones(1, 2, 2)",
        )
    ],
    ("dtype|scalar type", "nonzero_static(x, size=3, out=x)"),
    # A look at the memory before a resize.
    ("single memory location", "exp(x, out=torch.zeros(1).expand(5, 7))"),
    ("single memory location", "maximum(x, y, out=torch.zeros(1).expand(5, 7))"),
    ("single memory location", "max(x, y, out=torch.zeros(1).expand(5, 7))"),
    ("single memory location", "take(x, index, out=torch.zeros(1).expand(5, 7))"),
    ("single memory location", "std(x + 1j, out=torch.zeros(1).expand(5, 7))"),
    # Sequences of nothing.
    ("non-empty", "hstack([])"),
    ("non-empty", "vstack([])"),
    ("non-empty", "dstack([])"),
    ("non-empty", "column_stack([])"),
]  # fmt: skip


def run(lib: ModuleType, call: str):
    values = {
        "x": lib.arange(3.0),
        "empty": lib.zeros(0),
        "y": lib.ones(3),
        "index": lib.tensor([2, 1, 0]),
        "big": lib.arange(4.0),
    }
    return eval(f"torch.{call}", {"torch": lib, **values})


@pytest.mark.parametrize(("noun", "call"), ERRORS, ids=[e[1] for e in ERRORS])
def test_errors(lib: ModuleType, noun: str, call: str) -> None:
    with raises(lib, RuntimeError, noun):
        run(lib, call)


@pytest.mark.parametrize(
    "call",
    [
        "var(x, True, out=y)", "std(x, unbiased=False, out=y)", "var_mean(x, out=(y, y))",
        "std_mean(x, out=(y, y))", "bucketize(1.0, x, out=index)",
        "nonzero(x, as_tuple=True, out=(index,))",
    ],
)  # fmt: skip
def test_what_takes_no_out(lib: ModuleType, call: str) -> None:
    with raises(lib, TypeError, "out"):
        run(lib, call)


def test_bernoulli_draws_no_complex_numbers(lib: ModuleType) -> None:
    with raises(lib, NotImplementedError, "bernoulli"):
        run(lib, "bernoulli(x / 4, out=torch.zeros(3, dtype=torch.complex64))")


VALUES = [
    ("exp(x, out=torch.zeros(3, dtype=torch.float64)).dtype == torch.float64", True),
    ("add(x, y, out=x).tolist()", [1, 2, 3]),
    ("add(big[:2], 1, out=big[2:]).tolist()", [1, 2]),
    ("exp(x.detach() * 0, out=torch.zeros(3, 2)[:, 0]).tolist()", [1, 1, 1]),
    ("conj_physical(x, out=y).tolist()", [0, 1, 2]),
    *[
        (f"{call}, out=torch.empty(0, device='meta')).device.type", "meta")
        for call in ("zeros(3", "full((3,), 1.0", "rand(3", "eye(3", "arange(3", "randperm(3")
    ],
]


@pytest.mark.parametrize(("call", "expected"), VALUES, ids=[v[0] for v in VALUES])
def test_values(lib: ModuleType, call: str, expected: object) -> None:
    assert run(lib, call) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("sum(x, 0", 3), ("max(x", 2), ("inner(x, y", 3), ("pow(2, x", [1, 2, 4]),
        ("view_copy(x, (3, 1)", [[0], [1], [2]]), ("linalg.det(2 * torch.eye(2)", 4),
        ("linalg.solve(torch.eye(3), x", [0, 1, 2]), ("angle(x + 0j", [0, 0, 0]),
    ],
)  # fmt: skip
def test_a_resize_before_a_look_at_the_memory(lib: ModuleType, call: str, expected: object) -> None:
    assert run(lib, f"{call}, out=torch.zeros(1).expand(5, 7)).tolist()") == expected


def test_a_resize_warns_unless_there_was_nothing(lib: ModuleType) -> None:
    x = lib.ones(2)
    with pytest.warns(UserWarning, match="in a future PyTorch release outputs will not be resized"):
        assert lib.exp(x, out=lib.zeros(3)).shape == (2,)
    assert lib.exp(x, out=lib.empty(0)).shape == (2,)
    with pytest.warns(UserWarning, match="was resized"):
        lib.normal(x, x, out=lib.zeros(3))
    with pytest.warns(UserWarning, match="out tensor will be resized"):
        assert lib.fft.fftfreq(3, out=lib.zeros(2)).shape == (3,)


@pytest.mark.parametrize(
    "call",
    [
        "zeros(2, out=out)", "ones(2, out=out)", "full((2,), 1.0, out=out)", "empty(2, out=out)",
        "eye(2, out=out)", "rand(2, out=out)", "randn(2, out=out)", "randint(3, (2,), out=out)",
        "randperm(2, out=out)", "normal(0.0, 1.0, (2,), out=out)", "bernoulli(x, out=out)",
        "multinomial(x, 1, out=out.long())", "linspace(0, 1, 2, out=out)",
        "addbmm(x, x.view(1, 2, 1), x.view(1, 1, 2), out=out)", "narrow_copy(x, 0, 0, 1, out=out)",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_a_resize_by_what_makes_tensors_warns_not(lib: ModuleType, call: str) -> None:
    names = {name: getattr(lib, name) for name in [call.split("(")[0]]}
    eval(call, {**names, "x": lib.ones(2), "out": lib.zeros(5)})
