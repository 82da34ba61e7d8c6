"""``nnkit.testing``: torch's numbers, layouts and errors, and its words where values differ."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit

DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip
OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {"low": 0, "high": 1}, {"low": -3.5, "high": 2.5}, {"noncontiguous": True},
    {"exclude_zero": True, "low": -2, "high": 2}, {"low": float("nan")}, {"low": 5, "high": 2},
    {"low": -1e300, "high": 1e300}, {"requires_grad": True}, {"low": 1000, "high": 2000},
    {"noncontiguous": True, "memory_format": "contiguous_format"},
    {"memory_format": "channels_last"},
)  # fmt: skip


def made(T: Any, dtype: str, options: dict[str, Any]) -> Any:
    T.manual_seed(3)
    options = dict(options)
    if "memory_format" in options:
        options["memory_format"] = getattr(T, options["memory_format"])
    try:
        t = T.testing.make_tensor(1, 3, 2, 2, dtype=getattr(T, dtype), device="cpu", **options)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    return t.tolist(), t.stride(), t.requires_grad, t.is_leaf


@pytest.mark.parametrize("dtype", DTYPES)
def test_as_torch_makes_them(dtype: str, torch: ModuleType) -> None:
    for options in OPTIONS:
        assert made(nnkit, dtype, options) == made(torch, dtype, options)


def test_numbers_in_their_range() -> None:
    nnkit.manual_seed(0)
    t = nnkit.testing.make_tensor((200,), dtype=nnkit.int8, device="cpu")
    assert (t.min().item(), t.max().item()) == (-9, 9)
    t = nnkit.testing.make_tensor(3, 4, dtype=nnkit.float32, device="cpu", noncontiguous=True)
    assert t.stride() == (8, 2)
    t = nnkit.testing.make_tensor(50, dtype=nnkit.bool, device="cpu", exclude_zero=True)
    assert t.all()


@pytest.mark.parametrize(
    ("dtype", "options", "message"),
    [
        ("float32", {"low": 2, "high": 1}, "`low` must be less than `high`, got 2 and 1"),
        ("float32", {"low": float("nan")}, "`low` and `high` cannot be NaN"),
        ("int16", {"high": float("nan")}, "`low` and `high` cannot be NaN"),
        ("int8", {"low": 1000, "high": 2000}, "has no numbers in"),
        ("int8", {"requires_grad": True}, "`requires_grad=True` is not supported"),
        ("int8", {"noncontiguous": True, "memory_format": nnkit.channels_last}, "exclusive"),
    ],
)
def test_refusals(dtype: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nnkit.testing.make_tensor(2, dtype=getattr(nnkit, dtype), device="cpu", **options)


NAN, INF = float("nan"), float("inf")
# What is compared, and the options: two functions of the module of tensors, or values.
COMPARED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "int and float": (1, 1.0, {}),
    "int and float, unchecked": (1, 1.0, {"check_dtype": False}),
    "a subclass": (lambda T: T.nn.Parameter(T.ones(1)), lambda T: T.ones(1), {}),
    "a subclass, refused": (
        lambda T: T.nn.Parameter(T.ones(1)),
        lambda T: T.ones(1),
        {"allow_subclasses": False},
    ),
    "bools": (True, False, {}),
    "NumPy's bools": (np.bool_(True), False, {}),
    "NumPy's floats": (np.float32(1), np.float32(1.5), {}),
    "ints": (1, 3, {}),
    "complex": (1 + 1j, 1 + 2j, {}),
    "zero": (0.5, 0.0, {}),
    "NaN": (NAN, NAN, {}),
    "NaNs that are equal": (NAN, NAN, {"equal_nan": True}),
    "infinite": (INF, INF, {}),
    "infinities": (INF, -INF, {}),
    "nearly one": (1.0, 1 + 1e-6, {}),
    "within": (1.0, 1.05, {"rtol": 0.1, "atol": 0}),
    "numbers as tensors": (lambda T: T.tensor(1.0), lambda T: T.tensor(1.5), {}),
    "matrices": (lambda T: T.arange(6.0).view(2, 3), lambda T: T.zeros(2, 3), {}),
    "NaN among others": (lambda T: T.tensor([NAN, 1.0]), lambda T: T.tensor([1.0, 2.0]), {}),
    "integers": (lambda T: T.tensor([1, 2, 3]), lambda T: T.tensor([1, 5, 3]), {}),
    "masks": (lambda T: T.tensor([True, False]), lambda T: T.tensor([True, True]), {}),
    "bytes": (lambda T: T.tensor([1]).byte(), lambda T: T.tensor([3]).byte(), {}),
    "half": (lambda T: T.tensor([2.0]).half(), lambda T: T.tensor([2.5]).half(), {}),
    "exactly": (lambda T: T.ones(2), lambda T: T.tensor([1.0, 2.5]), {"rtol": 0, "atol": 0}),
    "dtypes": (lambda T: T.ones(1), lambda T: T.ones(1).double(), {}),
    "dtypes, unchecked": (lambda T: T.ones(1), lambda T: T.zeros(1).int(), {"check_dtype": False}),
    "shapes first": (lambda T: T.ones(2), lambda T: T.ones(3).double(), {}),
    "strides": (lambda T: T.ones(2, 3), lambda T: T.ones(3, 2).T, {"check_stride": True}),
    "eight bits": (
        lambda T: T.ones(2).to(T.float8_e4m3fn),
        lambda T: T.arange(1.0, 3).to(T.float8_e4m3fn),
        {},
    ),
    "None": (None, 1, {}),
    "nested": (lambda T: {"a": [1, {"b": T.ones(1)}]}, lambda T: {"a": [1, {"b": T.zeros(1)}]}, {}),
    "keys": ({"a": 1, "c": 2}, {"b": 1, "c": 2}, {}),
    "keys inside": ([{"a": 1}], [{"b": 1}], {"msg": "not of structures"}),
    "lengths": ([1], (1, 2), {}),
    "words": (["a"], ["a"], {}),
    "number and tensor": (1.0, lambda T: T.tensor(1.0), {}),
    "array and tensor": (np.ones(2), lambda T: T.ones(2).double(), {}),
    "array and list": (np.ones(2), [1.0, 1.0], {}),
    "arrays": (np.ones(2), np.zeros(2), {}),
    "one tolerance": (1.0, 1.0, {"rtol": 1.0}),
    "layouts": (lambda T: T.eye(2).to_sparse(), lambda T: T.eye(2), {}),
    "layouts, unchecked": (lambda T: T.eye(2).to_sparse(), lambda T: T.eye(2), {"check_layout": 0}),
    "sparse layouts": (lambda T: T.eye(2).to_sparse(), lambda T: T.eye(2).to_sparse_csr(), {}),
    "sparse layouts, unchecked": (
        lambda T: T.eye(2).to_sparse_csr(),
        lambda T: T.eye(2).to_sparse(),
        {"check_layout": False},
    ),
    "sparse values": (lambda T: T.eye(2).to_sparse(), lambda T: T.eye(2).mul(2).to_sparse(), {}),
    "sparse indices": (lambda T: T.eye(2).to_sparse(), lambda T: T.eye(2).flip(0).to_sparse(), {}),
    "sparse counts": (lambda T: T.eye(2).to_sparse(), lambda T: T.ones(2, 2).to_sparse(), {}),
    "sparse dimensions": (
        lambda T: T.ones(1, 1).to_sparse(),
        lambda T: T.sparse_coo_tensor(T.tensor([[0]]), T.ones(1, 1), (1, 1)),
        {},
    ),
    "rows": (lambda T: T.eye(2).to_sparse_csr(), lambda T: T.eye(2).flip(0).to_sparse_csr(), {}),
    "message": ([1], [2], {"msg": "other"}),
    "message of it": ([1], [2], {"msg": lambda found: f"<{found}>"}),
}


def told(T: Any, case: str) -> str:
    actual, expected, options = COMPARED[case]
    actual, expected = (v(T) if callable(v) else v for v in (actual, expected))
    try:
        T.testing.assert_close(actual, expected, **options)
    except (AssertionError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "close"


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("case", COMPARED)
def test_says_what_torch_says_of_it(case: str, torch: ModuleType) -> None:
    words = (
        told(nnkit, case).replace("nnkit.autograd.tensor.", "nnkit.").replace("nnkit.", "torch.")
    )
    assert words.replace("torch.Size", "Size") == told(torch, case).replace("torch.Size", "Size")


def test_says_where_and_by_how_much() -> None:
    assert told(nnkit, "nested") == (
        "AssertionError: Tensor-likes are not close!\n\n"
        "Mismatched elements: 1 / 1 (100.0%)\n"
        "Greatest absolute difference: 1.0 at index (0,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: inf at index (0,) (up to 1.3e-06 allowed)\n\n"
        "The failure occurred for item ['a'][1]['b']"
    )
    assert told(nnkit, "nearly one") != "close"
