"""Dtypes that are stored, moved and cast, and that few ops compute with: wide unsigned integers and
floats of eight bits."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
SOURCES = ("float32", "float64", "float16", "bfloat16")
EVERY = ("bool", "uint8", "int8", "int16", "int32", "int64", *SOURCES, "complex64")


def outcome(compute: Any) -> Any:
    """The result's dtype and elements, or the type of the error."""
    try:
        result = compute()
    except Exception as error:
        return type(error).__name__
    return str(result.dtype).partition(".")[2], result.tolist()


@pytest.mark.parametrize("dtype", UNSIGNED + FLOAT8)
@pytest.mark.parametrize("source", SOURCES)
def test_casts_round_as_torch(dtype: str, source: str, torch: ModuleType) -> None:
    generator = torch.Generator().manual_seed(0)
    powers = 10.0 ** torch.linspace(-9, 6, 4096, dtype=torch.float64)
    x = torch.randn(4096, generator=generator, dtype=torch.float64) * powers
    if dtype in UNSIGNED:
        x = x.abs() % 60_000
    else:
        corners = [0, -0.0, float("inf"), -float("inf"), 448, 464, 465, 57344, 61439, 61440, 1e30]
        x = torch.cat([x, torch.tensor(corners, dtype=torch.float64)])
    x = x.to(getattr(torch, source))
    y = nnkit.tensor(x.double().tolist(), dtype=nnkit.float64).to(getattr(nnkit, source))
    expected, found = x.to(getattr(torch, dtype)), y.to(getattr(nnkit, dtype))
    np.testing.assert_array_equal(found.double().tolist(), expected.double().tolist())
    strided = y.reshape(-1, 1).expand(-1, 2)[::3].to(getattr(nnkit, dtype))
    np.testing.assert_array_equal(strided[:, 1].double(), found[::3].double())


@pytest.mark.parametrize("dtype", FLOAT8)
def test_each_float8_means_what_torch_means(dtype: str, torch: ModuleType) -> None:
    theirs = torch.arange(256, dtype=torch.uint8).view(getattr(torch, dtype))
    mine = nnkit.arange(256, dtype=nnkit.uint8).view(getattr(nnkit, dtype))
    for target in SOURCES:
        expected = theirs.to(getattr(torch, target)).double()
        np.testing.assert_array_equal(mine.to(getattr(nnkit, target)).double(), expected)
    limits, known = nnkit.finfo(mine.dtype), torch.finfo(theirs.dtype)
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(limits, name) == getattr(known, name)


def test_casts_without_torch() -> None:
    x = nnkit.tensor([0.3, -500.0, float("inf"), 1e-9])
    assert x.to(nnkit.float8_e4m3fn).tolist() == [0.3125, -448.0, 448.0, 0.0]
    assert x.to(nnkit.float8_e5m2).tolist() == [0.3125, -512.0, float("inf"), 0.0]
    assert nnkit.tensor([1000.0], dtype=nnkit.float8_e4m3fn).tolist() == [448.0]
    assert nnkit.zeros(1, dtype=nnkit.float8_e4m3fn).copy_(nnkit.tensor([1e4])).tolist() == [448]
    assert nnkit.tensor([-1, 70_000]).to(nnkit.uint16).tolist() == [65535, 4464]
    assert nnkit.tensor([2**64 - 1], dtype=nnkit.uint64).item() == 2**64 - 1
    assert repr(nnkit.tensor([1.5, 2], dtype=nnkit.float8_e5m2)) == (
        "tensor([1.5000, 2.0000], dtype=nnkit.float8_e5m2)"
    )
    x = nnkit.ones(2, requires_grad=True)
    x.to(nnkit.float8_e5m2).float().sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", FLOAT8)
def test_close_without_tolerances_is_equal(lib: ModuleType, dtype: str) -> None:
    x = lib.tensor([1.0, 2.0, float("nan")]).to(getattr(lib, dtype))
    y = lib.tensor([1.0, 4.0, float("nan")]).to(getattr(lib, dtype))
    assert lib.isclose(x, y, 0, 0).tolist() == [True, False, False]
    assert lib.isclose(x, y, 0, 0, True).tolist() == [True, False, True]
    assert lib.allclose(x, x, 0, 0, True) and not lib.allclose(x, x, 0, 0)


@pytest.mark.parametrize("dtype", UNSIGNED + FLOAT8)
def test_promotion(dtype: str, torch: ModuleType) -> None:
    def promoted(framework: ModuleType, other: str) -> str:
        try:
            pair = getattr(framework, dtype), getattr(framework, other)
            return str(framework.promote_types(*pair)).partition(".")[2]
        except RuntimeError:
            return "refused"

    for other in (*EVERY, *UNSIGNED, *FLOAT8):
        assert promoted(nnkit, other) == promoted(torch, other)
    assert getattr(nnkit, dtype).is_signed == getattr(torch, dtype).is_signed


COMPUTED: dict[str, Any] = {
    "mul": lambda T, x: x * x,
    "eq": lambda T, x: x == 1,
    "ne": lambda T, x: x != x,
    "add": lambda T, x: x + x,
    "sub": lambda T, x: x - 1,
    "lt": lambda T, x: x < x,
    "neg": lambda T, x: -x,
    "abs": lambda T, x: x.abs(),
    "div": lambda T, x: x / x,
    "exp": lambda T, x: x.exp().round(),
    "sum": lambda T, x: x.sum(),
    "prod": lambda T, x: x.prod(),
    "cumsum": lambda T, x: x.cumsum(0),
    "amax": lambda T, x: x.amax(),
    "max": lambda T, x: x.max(),
    "argmax": lambda T, x: x.argmax(),
    "maximum": lambda T, x: T.maximum(x, x),
    "and": lambda T, x: x & x,
    "shift": lambda T, x: x << 1,
    "floor": lambda T, x: x.floor(),
    "isnan": lambda T, x: x.isnan(),
    "any": lambda T, x: x.any(),
    "cat": lambda T, x: T.cat([x, x]),
    "stack": lambda T, x: T.stack([x, x]),
    "cat with another": lambda T, x: T.cat([x, T.ones(1)]),
    "index": lambda T, x: x[T.tensor([2, 0])],
    "mask": lambda T, x: x[T.tensor([True, False, True])],
    "where": lambda T, x: T.where(T.tensor([True, False, True]), x, x),
    "roll": lambda T, x: x.roll(1),
    "sort": lambda T, x: x.sort()[0],
    "topk": lambda T, x: x.topk(1)[0],
    "zeros": lambda T, x: T.zeros(2, dtype=x.dtype),
    "full": lambda T, x: T.full((2,), 3, dtype=x.dtype),
    "rand": lambda T, x: T.rand(2, dtype=x.dtype),
    "normal": lambda T, x: x.clone().normal_(),
    "bytes": lambda T, x: x.view(T.uint8),
    "repeat": lambda T, x: x.repeat(2),
    "embedding": lambda T, x: T.nn.functional.embedding(T.tensor([0]), x.view(3, 1)),
    "softmax": lambda T, x: x.softmax(0),
    "median": lambda T, x: x.median(),
    "nonzero": lambda T, x: x.nonzero(),
}  # fmt: skip


@pytest.mark.parametrize("dtype", UNSIGNED + FLOAT8[:4])
@pytest.mark.parametrize("name", COMPUTED)
def test_ops_take_what_torch_takes(name: str, dtype: str, torch: ModuleType) -> None:
    def found(framework: ModuleType) -> Any:
        x = framework.tensor([1.0, 2.0, 4.0]).to(getattr(framework, dtype))
        return outcome(lambda: COMPUTED[name](framework, x))

    assert found(nnkit) == found(torch)


def test_numpy() -> None:
    for dtype in UNSIGNED:
        x = nnkit.from_numpy(np.array([1, 2], dtype))
        assert x.dtype is getattr(nnkit, dtype) and x.numpy().dtype == dtype
    with pytest.raises(TypeError, match="float8_e5m2"):
        nnkit.ones(2, dtype=nnkit.float8_e5m2).numpy()


def test_what_is_refused() -> None:
    with pytest.raises(RuntimeError, match="uint16 and int64 have no common dtype"):
        nnkit.add(nnkit.ones(2, dtype=nnkit.uint16), nnkit.ones(2, dtype=nnkit.int64))
    with pytest.raises(NotImplementedError, match="not implemented for 'float8_e5m2'"):
        nnkit.ones(2, dtype=nnkit.float8_e5m2).sum()
    with pytest.raises(TypeError, match="default type"):
        nnkit.set_default_dtype(nnkit.float8_e5m2)
    with pytest.raises(RuntimeError, match="no complex dtype"):
        nnkit.uint16.to_complex()
    with pytest.raises(RuntimeError, match="without overflow"):
        nnkit.tensor([70_000], dtype=nnkit.uint16)
    with pytest.raises(NotImplementedError, match="float8_e5m2"):
        nnkit.randint(3, (2,), dtype=nnkit.float8_e5m2)


def test_close_values() -> None:
    x = nnkit.tensor([1.5, 2.0], dtype=nnkit.float8_e5m2)
    nnkit.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError, match="elements: 1 / 2"):
        nnkit.testing.assert_close(x, nnkit.tensor([1.5, 3.0], dtype=nnkit.float8_e5m2))
