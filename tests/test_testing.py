"""``nnkit.testing.make_tensor``: torch's numbers, layouts and errors."""

from __future__ import annotations

from types import ModuleType
from typing import Any

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
        ("float32", {"low": 2, "high": 1}, "low must be less than high, got 2 and 1"),
        ("float32", {"low": float("nan")}, "low must be less than high"),
        ("int8", {"low": 1000, "high": 2000}, "has no numbers in"),
        ("int8", {"requires_grad": True}, "can require a gradient"),
        ("int8", {"noncontiguous": True, "memory_format": nnkit.channels_last}, "exclude"),
    ],
)
def test_refusals(dtype: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nnkit.testing.make_tensor(2, dtype=getattr(nnkit, dtype), device="cpu", **options)
