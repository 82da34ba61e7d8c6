"""Drivers and kernels of the CUDA backend, emulated on the CPU, against the CPU backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nnkit
from nnkit.backend.cuda import BACKEND, failures
from nnkit.backend.cuda.checks import checked_index
from nnkit.backend.device import cpu
from nnkit.optim import SGD, Adam
from tests.cuda.arrays import on_arrays
from tests.cuda.emulation import Emulator, emulated
from tests.cuda.marks import needs_compiler
from tests.cuda.mirror import mirrored

BACKEND = on_arrays(BACKEND)

pytestmark = needs_compiler
DTYPES = [np.dtype(d) for d in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)]
F = nnkit.nn.functional


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with emulated() as machine:
        yield machine


def numbers(shape: tuple, dtype: np.dtype) -> np.ndarray:
    return np.asarray(np.random.RandomState(0).standard_normal(shape).astype(dtype))


def same(got: Any, wanted: Any, tolerance: float) -> None:
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(got, wanted, tolerance, tolerance)


def tolerance_of(dtype: np.dtype) -> float:
    return {8: 1e-13, 4: 2e-6, 2: 2e-2}[dtype.itemsize]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape, axis", [((3, 5), 1), ((2, 300), -1), ((3, 4, 5), 1), ((), 0)])
def test_softmax(emulator: Emulator, dtype: np.dtype, shape: tuple, axis: int) -> None:
    x, g = numbers(shape, dtype), numbers(shape, dtype)
    for name in ("softmax", "log_softmax"):
        out = getattr(cpu.backend, name)(x, axis)
        same(getattr(BACKEND, name)(x, axis), out, tolerance_of(dtype))
        wanted = getattr(cpu.backend, f"{name}_grad")(g, out, axis)
        same(getattr(BACKEND, f"{name}_grad")(g, out, axis), wanted, tolerance_of(dtype))


LAYOUTS = {
    "contiguous": lambda x, y: (x, y),
    "transposed": lambda x, y: (x.T, y.T),
    "one transposed": lambda x, y: (x, y.T.copy().T),
    "row": lambda x, y: (x, y[0]),
    "column": lambda x, y: (x, y[:, :1]),
    "one element": lambda x, y: (x, y[0, 0].reshape(())),
    "number": lambda x, y: (x, 1.5),
    "sliced": lambda x, y: (x[:, ::2], y[:, 1::2]),
    "outer": lambda x, y: (x[:, :1], y[0]),
    "misaligned": lambda x, y: (x.reshape(-1)[1:], y.reshape(-1)[1:]),
    "empty": lambda x, y: (x[:0], y[:0]),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_formula_layouts(emulator: Emulator, dtype: np.dtype, layout: str) -> None:
    x, y = LAYOUTS[layout](numbers((6, 10), dtype), numbers((6, 10), dtype) + dtype.type(3))
    got, wanted = BACKEND.sub(x, y), cpu.backend.sub(x, y)
    same(got, wanted, 0.0)
    others = ("one transposed", "sliced", "empty")  # NumPy gives what is empty no strides
    assert got.strides == wanted.strides or layout in others
    mine, theirs = x.copy(), x.copy()
    if np.broadcast_shapes(x.shape, np.shape(y)) == x.shape:
        BACKEND.sub_(mine, y)
        cpu.backend.sub_(theirs, y)
        same(mine, theirs, 0.0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add", (np.arange(5), 2**60 + 1)),
        ("mul", (np.arange(-4, 4, dtype=np.int8), np.asarray(3, np.int8))),
        ("div_floor", (np.arange(-7, 7), np.asarray(3))),
        ("remainder", (np.arange(-7, 7), np.asarray(-3))),
        ("pow", (np.arange(6), np.arange(6))),
        ("bitwise_not", (np.arange(4) > 1,)),
        ("bitwise_xor", (np.arange(9, dtype=np.uint8), np.asarray(5, np.uint8))),
        ("logical_and", (np.arange(4) > 1, np.arange(4) < 3)),
        ("where", (np.arange(6) % 2 == 0, np.arange(6.0), np.asarray(-1.0))),
        ("mul", (numbers((3, 3), np.dtype(np.float32)).astype(np.complex64), 2j)),
    ],
)
def test_other_dtypes(emulator: Emulator, name: str, arguments: tuple) -> None:
    got, wanted = getattr(BACKEND, name)(*arguments), getattr(cpu.backend, name)(*arguments)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("source", [*DTYPES, np.dtype(np.int64), np.dtype(np.bool_)], ids=str)
def test_casts(emulator: Emulator, source: np.dtype, dtype: np.dtype) -> None:
    x = (3 * numbers((4, 5), np.dtype(np.float64))).astype(source)
    same(BACKEND.cast(x, dtype), cpu.backend.cast(x, dtype), 0.0)
    same(BACKEND.cast(x.T, dtype), cpu.backend.cast(x.T, dtype), 0.0)


@pytest.mark.parametrize("dtype", DTYPES[:2] + DTYPES[3:], ids=str)
def test_updates(emulator: Emulator, dtype: np.dtype) -> None:
    """One launch for a group of tensors of all sizes, more of them than one table holds."""
    shapes = [(3, 5), (), (70, 70), (1,)] * 17

    def lists() -> list[list]:
        return [[np.asarray(abs(numbers(s, dtype))) for s in shapes] for _ in range(5)]

    mine, theirs = lists(), lists()
    mine[0][0] = np.asfortranarray(mine[0][0])
    steps = [[np.asarray(3, np.float32) for _ in shapes] for _ in range(2)]
    for flags in ((False, False, True, True), (True, True, True, False)):
        numbers_ = (1e-3, 0.9, 0.99, 1e-8, 0.1)
        BACKEND.adam(*mine, steps[0], *numbers_, *flags)
        cpu.backend.adam(*theirs, steps[1], *numbers_, *flags)
    for one, other in zip(sum(mine, []), sum(theirs, []), strict=True):
        same(one, other, tolerance_of(dtype))
    assert [s.item() for s in steps[0]] == [5.0] * len(shapes)


def test_wrong_indices_are_reported(emulator: Emulator) -> None:
    index = np.array([[1, -1], [12, 3]])
    got = on_arrays(checked_index)(index, 10, failures.EMBEDDING, True)
    np.testing.assert_array_equal(got, [[1, 9], [0, 3]])
    with pytest.raises(IndexError, match="index out of range in self: 12 in a table of 10 rows"):
        failures.check()
    failures.check()


PROGRAMS = {
    "indexing": lambda x: (
        x[[0, 2, 2]].sum() + x[x > 0].sum() + x.gather(1, nnkit.tensor([[0, 1, 1, 2]])).sum()
    ),
    "scatter": lambda x: nnkit.zeros(5, 6).index_add(0, nnkit.tensor([1, 1, 0, 4]), x).square(),
    "shapes": lambda x: (
        nnkit.cat([x.t(), x.flip(0).t()], 1).roll(1, 0).tril().as_strided((3,), (2,))
    ),
    "products": lambda x: (x @ x.t()).unsqueeze(0).expand(2, 4, 4) @ x,
    "sorting": lambda x: x.sort(1, descending=True)[0].topk(2)[0] + x.median(),
    "losses": lambda x: F.mse_loss(x, x * 0.5 + 1) + F.gelu(x).mean() + F.silu(x).std(),
    "padding": lambda x: F.pad(x[None], (1, 2), mode="reflect") * F.pad(x, (1, 2), value=2.0)[None],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    """Forward and backward of a program: each primitive it calls, CUDA against CPU."""
    x = nnkit.tensor(numbers((4, 6), np.dtype(np.float32)), requires_grad=True)
    with mirrored() as mirror:
        PROGRAMS[name](x).sum().backward()
    assert mirror.compared, mirror.missing


@pytest.mark.parametrize("optimizer", [SGD, Adam])
def test_training_step(optimizer: Any) -> None:
    nnkit.manual_seed(0)
    model = nnkit.nn.Sequential(nnkit.nn.Linear(6, 8), nnkit.nn.Tanh(), nnkit.nn.Linear(8, 3))
    step = optimizer(model.parameters(), lr=0.1)
    with mirrored() as mirror:
        F.cross_entropy(model(nnkit.randn(5, 6)), nnkit.tensor([0, 2, 1, 1, 0])).backward()
        step.step()
    assert {"linear", "tanh", optimizer.formula.name} <= set(mirror.compared)


def test_keys_that_are_compared_by_their_bits() -> None:
    """One zero and one NaN: a radix sort puts -0.0 before 0.0, and NaN with a sign first."""
    from nnkit.backend.cuda import sorting

    sorting = on_arrays(sorting)
    x = np.array([0.0, -0.0, np.copysign(np.nan, -1), np.nan, -1.0], np.float32)
    with emulated():
        keys = sorting._sortable(x)
        np.testing.assert_array_equal(sorting.argsort(x, 0, False), [4, 0, 1, 2, 3])
        np.testing.assert_array_equal(sorting.argsort(x, 0, True), [2, 3, 0, 1, 4])
    np.testing.assert_array_equal(np.signbit(keys), [False] * 4 + [True])


@pytest.mark.parametrize("dtype", (np.float32, ml_dtypes.bfloat16))
def test_operands_that_are_broadcast_go_in_packs(dtype: Any) -> None:
    x = np.arange(3 * 5 * 16).reshape(3, 5, 16).astype(dtype)
    others = (x[0], x[:, :1], x[..., :1], x.transpose(1, 0, 2)[:3, :1], x[:1, 1:2, 8:9])
    with emulated() as machine:
        got = [BACKEND.add(x, other) for other in others]
        part = BACKEND.neg(x[:, 1:, 8:])
        crooked = BACKEND.neg(x[..., 3:11])
    for result, other in zip(got, others, strict=True):
        np.testing.assert_array_equal(result, cpu.backend.add(x, other))
    np.testing.assert_array_equal(part, -x[:, 1:, 8:])
    np.testing.assert_array_equal(crooked, -x[..., 3:11])
    width = 16 // x.itemsize
    wide = f"nnkit::uint32, {width}, nnkit::Each<"
    assert any(wide in name for name in machine.launched)
    assert any("nnkit::uint32, 1, " in name for name in machine.launched)


def test_a_plan_holds_neither_numbers_nor_memory() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    with emulated():
        for number, given in ((2.5, x), (-1.0, x + 7), (0.5, x.T.copy().T)):
            np.testing.assert_array_equal(BACKEND.mul(given, number), given * np.float32(number))
            np.testing.assert_array_equal(BACKEND.sum(given, 0, False), given.sum(0))
            np.testing.assert_array_equal(BACKEND.copy(given), given)
            np.testing.assert_array_equal(BACKEND.matmul(given, x.T), given @ x.T)
        written = x.copy()
        for _ in range(3):
            assert BACKEND.add_(written, x) is written
        np.testing.assert_array_equal(written, 4 * x)


@pytest.mark.parametrize("axes", [(1, 0, 2, 3), (1, 0, 3, 2)])
def test_a_product_of_stacks_whose_axes_were_exchanged(axes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 4, 4)).astype(np.float32)
    turned, y = x.transpose(axes), rng.standard_normal((3, 2, 4, 4)).astype(np.float32)
    with emulated():
        for first, second in ((turned, y), (y, turned), (turned, turned)):
            np.testing.assert_allclose(BACKEND.matmul(first, second), first @ second, rtol=1e-5)
