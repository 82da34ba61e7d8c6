"""Corners of ops that no ordinary sample reaches; nnkit and torch give what is written here."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.frameworks import raises

pytestmark = pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")  # of torch

VALUES = [
    # Ranges: integers are spaced in double precision, half types in their own.
    ("arange(0, end=3)", "int64", [0, 1, 2]),
    ("arange(-0.9, 2.1, 2.0, dtype=torch.int32)", "int32", [0, 2]),
    ("arange(0.5, 2.1, 0.7, dtype=torch.uint8)", "uint8", [0, 0, 0]),
    ("arange(0.0, 0.5, dtype=torch.int64)", "int64", []),
    ("linspace(0, 7, 50, dtype=torch.int64)[28]", "int64", 4),
    ("logspace(torch.tensor(1.0, requires_grad=True), 2, 2)", "float32", [10.0, 100.0]),
    ("linspace(4.3, -3, 50, dtype=torch.bfloat16)[25]", "bfloat16", 0.59375),
    # No dimensions, no elements.
    ("diff(torch.tensor([1, 4]), 0, 0, torch.tensor([9]))", "int64", [1, 4]),
    ("tensor(3.0).quantile(0.5, 0, True)", "float32", 3),
    ("tensor(3.0).quantile(torch.tensor([0.5]), 0, True)", "float32", [3]),
    ("count_nonzero(torch.tensor(3.0), 0)", "int64", 1),
    ("gather(torch.ones(5), 0, torch.zeros(2, 0, dtype=torch.uint8))", "float32", [[], []]),
    ("searchsorted(torch.ones(0, 0), torch.ones(0, 0))", "int64", []),
    ("tensor(3.0).index_reduce(0, torch.tensor([0]), torch.tensor(2.0), 'prod')", "float32", 6),
    # Bins: where the data are one number, histc goes 1 to each side of it and histogram a half.
    ("histc(torch.tensor([3.0, 3.0]), 2)", "float32", [0, 2]),
    ("histogram(torch.tensor([3.0]), 1).bin_edges", "float32", [2.5, 3.5]),
    ("histogram(torch.tensor([3.0]), 1, range=(1.0, 1.0)).bin_edges", "float32", [0.5, 1.5]),
    ("histogram(torch.ones(0), 1).bin_edges", "float32", [0, 1]),
    ("histc(torch.tensor([0.5, 1.0, 1.5]).half(), 4)", "float16", [1, 0, 1, 1]),
    # Integers and bools.
    ("tensor([2, 1, -1, -1, 0]) ** torch.tensor([-1, -3, -3, -2, -1])", "int64", [0, 1, -1, 1, 0]),
    ("tensor([True, False]).sign()", "bool", [True, False]),
    ("tensor([True, False]).square()", "int64", [1, 0]),
    ("tensor([1, 2], dtype=torch.int32).sum_to_size(1)", "int64", [3]),
    ("tensor([1, 2], dtype=torch.int32).sum_to_size(2)", "int32", [1, 2]),
    ("unravel_index(torch.tensor([7], dtype=torch.uint8), (2000, 5))[1]", "int64", [2]),
    (
        "zeros(2).byte().index_add(0, torch.tensor([1]), torch.ones(1).byte(), alpha=-1)",
        "uint8",
        [0, 255],
    ),
    ("zeros(1, 2).bool().addr(torch.ones(1).bool(), torch.ones(2).bool())", "bool", [[True] * 2]),
    # Broadcasting.
    ("take_along_dim(torch.arange(5.0), torch.tensor([-1, 7]), 0)", "float32", [4, 2]),
    (
        "tensordot(torch.ones(1, 1, 1), torch.ones(2, 1, 2), dims=((0, 1), (2, 0)))",
        "float32",
        [[4]],
    ),
    (
        "cosine_similarity(torch.ones(1, 2, 3), torch.ones(2, 1, 3), -2)",
        "float32",
        [[pytest.approx(1)] * 3] * 2,
    ),
    # Strides.
    ("tensor(torch.rot90(torch.zeros(2, 3, 4), 3).stride())", "int64", [4, 12, 1]),
    # Two numbers.
    ("add(2, 3, alpha=2)", "int64", 8),
    ("sub(2.5, 1)", "float32", 1.5),
    ("div(7, 2, rounding_mode='floor')", "int64", 3),
    ("true_divide(3, 2)", "float32", 1.5),
    # Half types next to wider ones: alpha scales in the common dtype.
    (
        "add(torch.zeros(1), torch.tensor([0.3333], dtype=torch.bfloat16), alpha=3)",
        "float32",
        [1.001953125],
    ),
    ("topk(torch.tensor(3.0), 0).values", "float32", 3),
    # The median is the element at its place in the stable order.
    ("tensor([2, 1, 2, 1, 1, 2, 2, 9], dtype=torch.uint8).median(0).indices", "int64", 0),
    ("tensor([1, 1, 0, 1, 9, 9], dtype=torch.bfloat16).median(0).indices", "int64", 1),
]

ERRORS = [
    (ValueError, "int64", "arange(0, 64, 0.5, dtype=torch.int64)"),
    (RuntimeError, "but got start with 1", "linspace(torch.ones(1), torch.tensor(2.0), 3)"),
    (RuntimeError, "shifts", "roll(torch.ones(5), ())"),
    (IndexError, "without dimensions", "roll(torch.tensor(1.0), 0, 0)"),
    (RuntimeError, "negative", "tensor([3, 2]) ** -1"),
    (RuntimeError, "negative", "cov(torch.ones(3), fweights=torch.tensor([1, -1, 1]))"),
    (TypeError, "other", "atan2(torch.ones(2), 2)"),
    (TypeError, "input", "maximum(2, torch.ones(2))"),
    (TypeError, "input", "eq(2, torch.ones(2))"),
    (TypeError, "input", "fmod(2, torch.ones(2))"),
    (TypeError, "other", "isclose(torch.ones(2), 2)"),
    (TypeError, "other", "ldexp(torch.ones(2), 2)"),
    (TypeError, "input", "pow(2, 3)"),
    (TypeError, "input", "xlogy(2, 3)"),
    (RuntimeError, "bool", "sub(torch.ones(2), True)"),
    (RuntimeError, "bool", "sub(torch.ones(2), torch.tensor([True]))"),
    (RuntimeError, "at most 2 dims", "norm(torch.ones(1, 1, 1), dim=(0, 1, 2))"),
    (
        RuntimeError,
        "scale has no gradient",
        "fake_quantize_per_tensor_affine(torch.ones(2), torch.tensor(0.1, requires_grad=True),"
        " torch.tensor(0), 0, 7)",
    ),
    (RuntimeError, "target", "nn.functional.binary_cross_entropy(torch.ones(1), -torch.ones(1))"),
    (ValueError, "at least 3", "nn.functional.adaptive_avg_pool2d(torch.ones(2, 2), (2, 2))"),
    (RuntimeError, "unbatched", "nn.functional.adaptive_avg_pool2d(torch.ones(2, 2), 2)"),
    (RuntimeError, "int64", "ones(2).long().masked_fill(torch.tensor(True), torch.tensor(1j))"),
]


@pytest.mark.parametrize(("call", "dtype", "expected"), VALUES, ids=[v[0] for v in VALUES])
def test_values(lib: ModuleType, call: str, dtype: str, expected: object) -> None:
    result = eval(f"torch.{call}", {"torch": lib})
    assert str(result.dtype).rpartition(".")[2] == dtype
    assert result.tolist() == expected


@pytest.mark.parametrize(("error", "noun", "call"), ERRORS, ids=[e[2] for e in ERRORS])
def test_errors(lib: ModuleType, error: type[Exception], noun: str, call: str) -> None:
    with raises(lib, error, noun):
        eval(f"torch.{call}", {"torch": lib})


def test_gradients_in_the_wider_dtype(lib: ModuleType) -> None:
    """What a half-precision operand contributes to a float32 gradient is not rounded."""
    x = lib.tensor([0.1, 0.2], dtype=lib.bfloat16)
    y = lib.tensor([0.3, 0.7], requires_grad=True)
    (x / y).sum().backward()
    assert y.grad.tolist() == pytest.approx([-float(x[0]) / 0.09, -float(x[1]) / 0.49], rel=1e-6)


def test_notes_wrap_two_characters_early(lib: ModuleType) -> None:
    """torch counts two more characters than the last line has."""
    lib.set_printoptions(linewidth=40)
    try:
        text = repr(lib.tensor([4.2396e-07], dtype=lib.float64))
        assert text == f"tensor([4.2396e-07],\n       dtype={lib.__name__}.float64)"
    finally:
        lib.set_printoptions(profile="default")


def test_a_slice_filled_twice_counts_once(lib: ModuleType) -> None:
    value = lib.tensor(2.0, requires_grad=True)
    lib.ones(3, 2).index_fill(0, lib.tensor([1, 1, 2]), value).sum().backward()
    assert value.grad.item() == 4


def test_complex_scales(lib: ModuleType) -> None:
    """A product's gradient takes the conjugates of beta and alpha."""
    c, x, y = (lib.ones(1, 1, dtype=lib.complex64, requires_grad=True) for _ in range(3))
    lib.addmm(c, x, y, beta=1j, alpha=2j).real.sum().backward()
    assert (c.grad.item(), x.grad.item(), y.grad.item()) == (-1j, -2j, -2j)


def test_second_derivatives_of_products_with_a_zero(lib: ModuleType) -> None:
    x = lib.tensor([0.0, 2.0, 3.0], requires_grad=True)
    source = lib.tensor([2.0, 3.0, 4.0, 5.0], requires_grad=True)
    out = x.scatter_reduce(0, lib.tensor([0, 0, 1, 2]), source, "prod")
    _, g = lib.autograd.grad(out.sum(), (x, source), create_graph=True)
    assert g.tolist() == [0.0, 0.0, 2.0, 3.0]
    (second,) = lib.autograd.grad((g * lib.tensor([1.0, 2.0, 3.0, 4.0])).sum(), x)
    assert second.tolist() == pytest.approx([7.0, 3.0, 4.0])
