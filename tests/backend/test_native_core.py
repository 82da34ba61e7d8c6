"""What all compiled kernels share: how they are called, what they refuse, and what they leave."""

from __future__ import annotations

import gc
import math
import sys
from typing import Any

import numpy as np
import pytest

import nnkit
import nnkit.optim
from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import native
from tests.backend.native_cases import (
    DeclinedError,
    compare,
    needs_native,
    numbers,
    place,
    refuse,
    served,
)

pytestmark = needs_native


def test_a_kernel_has_a_name_and_a_twin() -> None:
    assert repr(B.exp) == "<native kernel exp>"
    assert B.exp.__name__ == "exp"
    assert B.exp.twin(np.zeros(1, np.float32)) == 1


def test_kernels_come_from_bind_alone() -> None:
    with pytest.raises(TypeError, match="cannot create"):
        type(B.exp)()  # pyright: ignore


@pytest.mark.parametrize("arguments", [(), (1,) * 20])
def test_a_wrong_number_of_arguments_is_the_twins_affair(arguments: tuple) -> None:
    assert native.MODULE is not None
    for name in native.MODULE.names():
        with pytest.raises(DeclinedError):
            native.bind(name, refuse)(*arguments)
    with pytest.raises(TypeError):
        B.add(*arguments)


class Odd:
    """Converts to no number, and says so with an exception of its own."""

    def __index__(self) -> int:
        raise KeyError("odd")

    def __float__(self) -> float:
        raise KeyError("odd")

    def __bool__(self) -> bool:
        raise KeyError("odd")


@pytest.mark.parametrize("odd", [Odd(), None, "text", object(), 10**400, -(2**63), (2**70,), [[]]])
def test_odd_arguments_never_crash(odd: Any) -> None:
    """Every kernel, with each argument in turn replaced by something senseless: it declines, fails
    with an exception, or finds sense in it."""
    assert native.MODULE is not None
    x = np.ones((4, 4), np.float32)
    for name in native.MODULE.names():
        kernel = native.bind(name, refuse)
        primitive = CATALOGUE[name]
        count = len(primitive.parameters)
        for rest in (x, 1, np.arange(4), None, (1,)):
            for k in range(count):
                arguments = [x.copy() if i < len(primitive.arrays) else rest for i in range(count)]
                arguments[k] = odd
                try:
                    kernel(*arguments)
                except Exception as error:
                    assert not isinstance(error, SystemError), f"{name}: {error}"


def test_keywords_reach_the_twin() -> None:
    x = numbers((3, 4))
    assert (B.exp(x=x) == B.exp.twin(x)).all()


def test_more_axes_than_a_walk_has() -> None:
    x = np.ones((1,) * 40 + (3,), np.float32)
    compare(B.add, x, x)
    compare(B.add, x, np.float32(2) * x[..., :1])


def test_a_result_that_no_memory_holds() -> None:
    wide = np.broadcast_to(np.float32(1), (2**31, 1))
    high = np.broadcast_to(np.float32(1), (1, 2**33 + 2**12))
    with pytest.raises((ValueError, MemoryError)):
        B.add(wide, high)
    with pytest.raises(MemoryError):
        B.add(wide[: 2**20], high[:, : 2**30])


def test_numbers_that_no_float_holds() -> None:
    x = numbers((5,))
    compare(B.add, x, 2**100)
    compare(B.mul, x, math.inf)
    with pytest.raises(OverflowError):
        B.add(x, 10**400)


def test_targets_that_overlap_their_operands() -> None:
    memory = numbers((300_000,), np.float32)
    for operand in (memory[1:], memory[:-1], memory[::-1][1:]):
        target = memory[:-1] if operand is not memory[:-1] else memory[1:]
        want = target + operand.copy()
        before = memory.copy()
        B.add_(target, operand)
        assert (target == want).all()
        memory[...] = before
    assert served(B.add_, memory, memory)
    repeated = np.lib.stride_tricks.as_strided(np.zeros(3, np.float32), (4, 3), (0, 4))
    assert not served(B.add_, repeated, np.ones((4, 3), np.float32))


def test_a_bool_array_of_odd_bytes() -> None:
    condition = np.array([0, 1, 2, 255] * 9, np.uint8).view(bool)
    x = numbers((36,))
    assert (B.where(condition, x, -x) == np.where(condition.view(np.uint8) > 0, x, -x)).all()


def test_references_are_given_back() -> None:
    x, y = numbers((64, 64)), numbers((64, 64))
    calls = [
        lambda: B.add(x, y),
        lambda: B.add(x.T, y),
        lambda: B.lt(x, y),
        lambda: B.add_(x, y),
        lambda: B.add(x, np.ones((3, 1), np.float32)),
    ]
    for call in calls:

        def tried(call=call) -> None:
            try:
                call()
            except ValueError:
                pass

        tried()
        gc.collect()  # what other tests left in cycles holds the dtype too
        before = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(np.dtype(np.float32))
        for _ in range(100):
            tried()
        gc.collect()
        after = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(np.dtype(np.float32))
        assert all(abs(a - b) < 20 for a, b in zip(after, before))


def test_a_parameter_twice_in_a_group() -> None:
    """It is updated twice, one time after the other, as in the twin."""
    param = nnkit.zeros(4)
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = nnkit.optim.SGD([param, param], lr=1.0)
    param.grad = nnkit.ones(4)
    optimizer.step()
    assert param.tolist() == [-2.0] * 4


def test_parameters_that_share_a_gradient() -> None:
    first, second = nnkit.zeros(4), nnkit.ones(4)
    first.grad = second.grad = nnkit.ones(4)
    nnkit.optim.SGD([first, second], lr=1.0).step()
    assert first.tolist() == [-1.0] * 4
    assert second.tolist() == [0.0] * 4


def test_results_are_aligned_and_reused() -> None:
    assert native.MODULE is not None
    x = place(numbers((1 << 18,)), (4,), offset=4)
    first = B.exp(x)
    assert first.ctypes.data % 64 == 0
    address = first.ctypes.data
    del first
    assert native.MODULE.cached_bytes() >= x.nbytes
    assert B.exp(x).ctypes.data == address
    native.MODULE.empty_cache()
    assert native.MODULE.cached_bytes() == 0


def test_an_extension_of_other_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "INTERFACE", native.INTERFACE + 1)
    with pytest.warns(RuntimeWarning, match="NumPy alone: the extension for .* of other sources"):
        module, reason = native._load()
    assert module is None and "reinstall nnkit" in reason
