"""Packed constants that are kept: the bits of kernels that pack them each time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import native
from tests.backend.native_cases import needs_native

pytestmark = needs_native
PLANE = ((1, 1), (1, 1), (1, 1), 1)  # of a convolution: stride, padding, dilation, groups


def drawn(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


CASES: dict[str, tuple] = {
    "linear": (lambda x, w: B.linear(x, w, None), drawn(8, 64), drawn(48, 64)),
    "linear, double": (
        lambda x, w: B.linear(x, w, None),
        drawn(8, 64, dtype=np.float64),
        drawn(48, 64, dtype=np.float64),
    ),
    "linear, many rows": (lambda x, w: B.linear(x, w, None), drawn(500, 400), drawn(50, 400)),
    "linear, one row": (lambda x, w: B.linear(x, w, None), drawn(1, 400), drawn(50, 400)),
    "matmul": (B.matmul, drawn(8, 64), drawn(64, 50)),
    "matmul, a part of the constant": (
        lambda x, w: B.matmul(x, w[:, 3:33]),
        drawn(8, 64),
        drawn(64, 50),
    ),
    "matmul, from the left": (lambda x, w: B.matmul(w, x), drawn(64, 50), drawn(48, 64)),
    "conv in tiles": (
        lambda x, w: B.conv(x, w, None, *PLANE),
        drawn(2, 12, 9, 9),
        drawn(20, 12, 3, 3),
    ),
    "conv by Winograd": (
        lambda x, w: B.conv(x, w, None, *PLANE),
        drawn(2, 16, 20, 20),
        drawn(32, 16, 3, 3),
    ),
    "conv of both sizes": (
        lambda x, w: B.add(
            B.conv(x, w, None, *PLANE), B.conv(x, w, None, (1, 1), (2, 2), (2, 2), 1)
        ),
        drawn(2, 16, 20, 20),
        drawn(32, 16, 3, 3),
    ),
    "conv, transposed": (
        lambda x, w: B.conv_grad_input(x, w, (2, 16, 20, 20), *PLANE),
        drawn(2, 32, 20, 20),
        drawn(32, 16, 3, 3),
    ),
    "conv and transposed": (
        lambda x, w: B.add(
            B.conv(x, w, None, *PLANE), B.conv_grad_input(x, w, (2, 16, 20, 20), *PLANE)
        ),
        drawn(2, 16, 20, 20),
        drawn(16, 16, 3, 3),
    ),
    "conv of groups": (
        lambda x, w: B.conv(x, w, None, (2, 2), (1, 1), (1, 1), 2),
        drawn(2, 24, 9, 9),
        drawn(20, 12, 3, 3),
    ),
}


def bits(result: Any) -> list[bytes]:
    return [a.tobytes() for a in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("name", CASES)
def test_has_the_bits_of_what_is_packed_each_time(name: str) -> None:
    function, x, *weights = CASES[name]
    counter = [0, None]
    run = native.MODULE.Frozen(function, tuple(weights), (counter,))
    for factor in (1, 2, 1):
        assert bits(run(x * np.float32(factor), *weights)) == bits(
            function(x * np.float32(factor), *weights)
        )
    before = bits(function(x, *weights))
    for weight in weights:
        weight *= 2
    counter[0] += 1
    for _ in range(2):
        found = bits(run(x, *weights))
        assert found == bits(function(x, *weights)) != before
    for weight in weights:
        weight /= 2


@pytest.mark.parametrize("name", ["linear", "conv in tiles", "conv by Winograd"])
def test_what_is_written_past_its_counter_is_not_seen(name: str) -> None:
    function, x, weight = CASES[name]
    run = native.MODULE.Frozen(function, (weight,), ([0],))
    before = bits(run(x, weight))
    weight *= 2
    assert bits(run(x, weight)) == before
    weight /= 2


def test_other_operands_are_not_kept() -> None:
    function, x, weight = CASES["linear"]
    run = native.MODULE.Frozen(function, (drawn(3),), ())
    before = bits(run(x, weight))
    weight *= 2
    assert bits(run(x, weight)) == bits(function(x, weight)) != before
    weight /= 2


def test_runs_within_runs_and_in_other_threads() -> None:
    function, x, weight = CASES["conv in tiles"]
    expected = bits(function(x, weight))

    def nested(depth: int) -> Any:
        return run(depth - 1) if depth else function(x, weight)

    run = native.MODULE.Frozen(nested, (weight,), ([0],))
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(run, [0, 1, 2] * 10):
            assert bits(found) == expected


@pytest.mark.parametrize("given", [(len, (1,), ()), (len, (), (1,)), (len, (), ([],))])
def test_wrong_arguments(given: tuple) -> None:
    with pytest.raises(TypeError, match="Frozen: expected"):
        native.MODULE.Frozen(*given)
