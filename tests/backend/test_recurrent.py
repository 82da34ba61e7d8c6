"""The recurrent and attention kernels against their reference bodies, in every dtype and layout."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import nnkit.autograd  # noqa: F401  (enters the formulas into the catalogue)
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import attention, recurrent
from nnkit.backend.reference import attention as attention_body
from nnkit.backend.reference import recurrent as recurrent_body

TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
DTYPES = [np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16)]
DTYPES.append(np.dtype(ml_dtypes.bfloat16))
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def numbers(random: np.random.RandomState, dtype: np.dtype, *shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(dtype)


def assert_close(found: tuple, wanted: tuple, dtype: np.dtype, wide: int | None = None) -> None:
    """``wide``: the place of a result that is float32 where the others are half precision."""
    assert len(found) == len(wanted)
    tolerance = TOLERANCE[str(dtype)]
    for place, (mine, body) in enumerate(zip(found, wanted)):
        assert (mine is None) == (body is None)
        if mine is not None:
            expected = np.float32 if place == wide and dtype.itemsize == 2 else dtype
            assert mine.dtype == expected and type(mine) is np.ndarray
            numbers = np.broadcast_to(body, mine.shape).astype(np.float64)
            np.testing.assert_allclose(mine.astype(np.float64), numbers, tolerance * 10, tolerance)


def compare(module, body, name: str, arrays: list, statics: tuple, dtype: np.dtype) -> tuple:
    """Kernel and body agree, also on strided inputs, and leave their inputs alone."""
    kernel: Callable = getattr(module, name)
    kept = [None if a is None else a.copy() for a in arrays]
    found = kernel(*arrays, *statics)
    strided = [None if a is None else np.repeat(a, 2, -1)[..., ::2] for a in arrays]
    again = kernel(*strided, *statics)
    # The body computes halves in float64, which is exact enough for either rounding.
    wide = [a if a is None else a.astype(np.float64) for a in arrays]
    if dtype.itemsize > 2:
        wide = arrays
    wanted = getattr(body, name)(B, *wide, *statics)
    total = 1 if name == "attention" else None
    assert_close(found, wanted, dtype, total)
    assert_close(again, wanted, dtype, total)
    for array, copy in zip(arrays, kept):
        if array is not None:
            np.testing.assert_array_equal(array, copy)
    return found


# Network, how many gates it has, its statics before the batch sizes, how many results have a
# gradient.
NETWORKS = {
    "rnn_tanh": ("rnn_layer", 1, ("tanh",), 2),
    "rnn_relu": ("rnn_layer", 1, ("relu",), 2),
    "lstm": ("lstm_layer", 4, (), 3),
    "projected": ("lstm_layer", 4, (), 3),
    "gru": ("gru_layer", 3, (), 2),
}


@each_dtype
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("batch_sizes", [(3, 3, 3), (4, 3, 3, 1), (2,)], ids=str)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
def test_recurrent(network: str, batch_sizes: tuple, reverse: bool, dtype: np.dtype) -> None:
    name, gates, extra, outputs = NETWORKS[network]
    random = np.random.RandomState(0)
    batch, size, hidden = batch_sizes[0], 5, 4
    state = 3 if network == "projected" else hidden
    for bias in (True, False):
        shapes = [(sum(batch_sizes), size), (batch, state)]
        shapes += [(batch, hidden)] if outputs == 3 else []
        shapes += [(gates * hidden, size), (gates * hidden, state)]
        arrays: list = [numbers(random, dtype, *shape) * dtype.type(0.5) for shape in shapes]
        arrays += [numbers(random, dtype, gates * hidden) if bias else None for _ in range(2)]
        if outputs == 3:
            projection = numbers(random, dtype, state, hidden)
            arrays.append(projection if network == "projected" else None)
        statics = (*extra, batch_sizes, reverse)
        results = compare(recurrent, recurrent_body, name, arrays, statics, dtype)
        grads = [numbers(random, dtype, *r.shape) for r in results[:outputs]]
        saved = [results[0], *results[outputs:]]
        needs = (True,) * len(arrays)
        compare(
            recurrent, recurrent_body, name + "_grad", [*grads, *arrays, *saved],
            (*statics, needs), dtype,
        )  # fmt: skip


def test_unneeded_gradients_are_left_out() -> None:
    x, h0 = np.ones((4, 3)), np.zeros((2, 2))
    weights = [np.ones((2, 3)), np.ones((2, 2)), np.ones(2), np.ones(2)]
    output, h_n = recurrent.rnn_layer(x, h0, *weights, "tanh", (2, 2), False)
    needs = (False, True, True, False, False, True)
    grads = recurrent.rnn_layer_grad(
        output, h_n, x, h0, *weights, output, "tanh", (2, 2), False, needs
    )
    assert [g is None for g in grads] == [True, False, False, True, True, False]


SHAPES = [
    ((2, 3, 5, 4), (2, 3, 6, 4), None),
    ((2, 3, 5, 4), (2, 3, 6, 4), (5, 6)),
    ((2, 3, 5, 4), (2, 3, 6, 4), (2, 1, 1, 6)),
    ((2, 3, 5, 4), (2, 1, 6, 4), (3, 5, 6)),
    ((5, 4), (6, 4), (5, 6)),
]


@each_dtype
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("block", [7, 30, 1 << 17], ids=str)
def test_attention(
    shapes: tuple, block: int, dtype: np.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of a part of the queries, of all of them, and of several matrices at once."""
    monkeypatch.setattr(attention, "BLOCK", block)
    random = np.random.RandomState(0)
    query, key, masks = shapes
    for causal in (False, True) if masks is None else (False,):
        q, k = numbers(random, dtype, *query), numbers(random, dtype, *key)
        v = numbers(random, dtype, *key[:-1], 3)
        mask = None if masks is None else numbers(random, dtype, *masks)
        arrays = [q, k, v, mask]
        out, log_total = compare(
            attention, attention_body, "attention", arrays, (causal, 0.3), dtype
        )
        g = numbers(random, dtype, *out.shape)
        needs = (True, True, True, mask is not None)
        compare(
            attention, attention_body, "attention_grad", [g, *arrays, log_total],
            (causal, 0.3, needs), dtype,
        )  # fmt: skip


def test_row_that_may_look_nowhere() -> None:
    random = np.random.RandomState(0)
    q, k, v = (numbers(random, DTYPES[0], 2, 3, 4) for _ in range(3))
    mask = np.zeros((3, 3))
    mask[1] = -np.inf
    out, log_total = attention.attention(q, k, v, mask, False, 0.5)
    assert not out[:, 1].any()
    assert (log_total[:, 1] == -np.inf).all()
    needs = (True, True, True, True)
    grads = attention.attention_grad(out + 1, q, k, v, mask, log_total, False, 0.5, needs)
    found = [np.asarray(g) for g in grads]
    assert all(np.isfinite(g).all() for g in found) and not found[0][:, 1].any()
