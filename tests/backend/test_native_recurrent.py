"""Compiled recurrent layers and their gradients against their twins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import close, compare, needs_native, served

pytestmark = needs_native
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
CASES = [f"{kind}_layer{tail}" for kind in GATES for tail in ("", "_grad")]
BATCH_SIZES = ((3, 3, 3), (5, 4, 4, 2, 1), (1,), (33, 20, 17, 17, 3), (1,) * 9)
WIDTHS = ((3, 5), (7, 16), (1, 1))


def _layers(kind: str) -> Iterator[tuple]:
    """Arguments of the layer in two parts, before and after what the gradient adds."""
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        for sizes in BATCH_SIZES:
            for (inputs, hidden), biased, reverse in (
                (WIDTHS[0], True, False), (WIDTHS[1], False, True), (WIDTHS[2], True, True),
                (WIDTHS[1], True, False),
            ):  # fmt: skip

                def draw(*shape: int, dtype=dtype) -> np.ndarray:
                    return (rng.standard_normal(shape) * 0.5).astype(dtype)

                width = GATES[kind] * hidden
                states = [draw(sizes[0], hidden) for _ in range(2 if kind == "lstm" else 1)]
                biases = [draw(width), draw(width)] if biased else [None, None]
                arrays = (
                    draw(sum(sizes), inputs), *states, draw(width, inputs), draw(width, hidden),
                    *biases, *([None] if kind == "lstm" else []),
                )  # fmt: skip
                name = [("tanh", "relu")[len(sizes) % 2]] if kind == "rnn" else []
                yield draw, arrays, (*name, sizes, reverse)


def _gradients(kind: str) -> Iterator[tuple]:
    for draw, arrays, statics in _layers(kind):
        output, *results = getattr(B, f"{kind}_layer").twin(*arrays, *statics)
        saved = {"lstm": results[2:], "gru": results[1:], "rnn": []}[kind]
        states = arrays[1:3] if kind == "lstm" else arrays[1:2]
        given = [draw(*output.shape), *(draw(*s.shape) for s in states)]
        count = len(arrays)
        for needs in ((True,) * count, tuple(i % 2 == 1 for i in range(count))):
            yield *given, *arrays, output, *saved, *statics, needs


def _tolerance(arguments: tuple):
    return close(1e-3, 2e-4) if arguments[0].dtype == np.float32 else close(1e-11, 1e-12)


@pytest.mark.parametrize("kind", GATES)
def test_layer(kind):
    for _, arrays, statics in _layers(kind):
        kernel = getattr(B, f"{kind}_layer")
        assert served(kernel, *arrays, *statics)
        compare(kernel, *arrays, *statics, tolerance=_tolerance(arrays))


@pytest.mark.parametrize("kind", GATES)
def test_gradient(kind):
    kernel = getattr(B, f"{kind}_layer_grad")
    for arguments in _gradients(kind):
        assert served(kernel, *arguments)
        compare(kernel, *arguments, tolerance=_tolerance(arguments))


def test_projections_are_left_to_numpy():
    draw, arrays, statics = next(_layers("lstm"))
    arrays = (arrays[0], draw(3, 2), *arrays[2:4], draw(20, 2), *arrays[5:7], draw(2, 5))
    assert not served(B.lstm_layer, *arrays, *statics)
    compare(B.lstm_layer, *arrays, *statics)
