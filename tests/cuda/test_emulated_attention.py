"""Fused attention, emulated, against the CPU backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import attention as cpu
from nnkit.backend.cuda import attention
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import BF, F2, F4
from tests.cuda.emulation import Emulator, emulated
from tests.cuda.marks import needs_compiler

attention = on_arrays(attention)

pytestmark = needs_compiler
# batch, queries, keys, columns of q and k, columns of v
SIZES = {
    "one tile": ((2,), 5, 7, 6, 4), "tiles": ((1, 2), 70, 75, 8, 20), "wide": ((1,), 33, 40, 70, 9),
}  # fmt: skip


def close(got, expected, near):
    if expected is None:
        assert got is None
        return
    assert got.shape == expected.shape
    np.testing.assert_allclose(np.asarray(got, F4), np.asarray(expected, F4), rtol=near, atol=near)


def check(given, mask, is_causal, needs, near, capability="80"):
    q, k, v = given
    scale = 1 / np.sqrt(q.shape[-1])
    gpu = Emulator()
    gpu.capability = capability
    with emulated(gpu) as machine:
        out, log_total = attention.attention(q, k, v, mask, is_causal, scale)
    expected, expected_log = cpu.attention(q, k, v, mask, is_causal, scale)
    close(out, expected, near)
    close(log_total, expected_log, near)
    g = np.random.default_rng(9).standard_normal(out.shape).astype(q.dtype)
    launched = set(machine.launched)
    with emulated(gpu) as again:
        gradients = attention.attention_grad(g, q, k, v, mask, log_total, is_causal, scale, needs)
    wide = expected_log if q.dtype == F4 else log_total
    reference = cpu.attention_grad(g, q, k, v, mask, wide, is_causal, scale, needs)
    for got, want in zip(gradients, reference, strict=True):
        close(got, want, 5 * near)
    assert len(launched) == 1
    assert len(again.launched - launched) == 2


def inputs(size: tuple, dtype: np.dtype) -> Any:
    batch, queries, keys, columns, of_v = size
    rng = np.random.default_rng(0)
    shapes = ((*batch, queries, columns), (*batch, keys, columns), (*batch, keys, of_v))
    return tuple(rng.standard_normal(s).astype(dtype) for s in shapes)


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("name", SIZES)
def test_attention(name, is_causal):
    check(inputs(SIZES[name], F4), None, is_causal, (True, True, True, False), 2e-5)


def test_mask():
    q, k, v = inputs(SIZES["tiles"], F4)
    mask = np.random.default_rng(1).standard_normal((2, 1, 75)).astype(F4)
    mask[:, :, ::3] = -np.inf
    mask[0] = -np.inf  # nothing to see
    check((q, k, v), mask, False, (True, True, True, True), 2e-5)


@pytest.mark.parametrize("capability", ("75", "80"))
@pytest.mark.parametrize("dtype", (F2, BF), ids=str)
def test_half_precision(dtype, capability):
    near = 4e-3 if dtype == F2 else 3e-2
    check(
        inputs(SIZES["one tile"], dtype), None, False, (True, True, True, False), near, capability
    )


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("name", ("tiles", "wide"))
def test_tensor_cores(name, is_causal):
    needs = (True, True, True, False)
    given = inputs(SIZES[name], F2)
    assert attention.TENSOR.shared(128, True) <= attention.shared_limit("86")
    check(given, None, is_causal, needs, 4e-3)


def test_tensor_cores_with_a_mask():
    q, k, v = inputs(SIZES["tiles"], F2)
    mask = np.random.default_rng(1).standard_normal((2, 1, 75)).astype(F2)
    mask[:, :, ::3] = -np.inf
    mask[0] = -np.inf
    check((q, k, v), mask, False, (True, True, True, True), 4e-3)


def test_views():
    """Heads that were split off a projection, as they lie, and keys shared by the batch."""
    q, k, v = inputs(((2, 3), 5, 7, 6, 4), F4)
    q = np.ascontiguousarray(q.swapaxes(1, 2)).swapaxes(1, 2)
    check((q, k[:1], v), None, False, (True, True, True, False), 2e-5)


def test_shared_memory_of_gpus():
    assert attention.PLAIN.shared(128, False) <= attention.shared_limit("75")
    assert attention.PLAIN.shared(128, True) <= attention.shared_limit("86")
    assert attention.PLAIN.shared(64, True) <= attention.shared_limit("75")
