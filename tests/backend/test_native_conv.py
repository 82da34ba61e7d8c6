"""The compiled convolutions against their twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import (
    FLOATS,
    LAYOUTS,
    channels_last,
    compare,
    needs_native,
    numbers,
    order,
    served,
)

pytestmark = needs_native

# Batch, channels, outputs, groups: few and many outputs, depthwise, with a multiplier, and many
# groups, of which each is a lane of a vector.
CHANNELS = (
    (1, 1, 1, 1), (2, 3, 5, 1), (3, 4, 20, 2), (2, 6, 6, 6), (2, 4, 8, 4), (1, 17, 33, 1),
    (2, 9, 9, 9), (3, 34, 51, 17),
)  # fmt: skip
# Kernel, stride, padding, dilation.
WINDOWS = (
    (3, 1, 0, 1), (3, 1, 1, 1), (1, 1, 0, 1), (1, 2, 0, 1), (3, 2, 1, 1), (2, 3, 1, 1),
    (5, 1, 2, 1), (3, 1, 2, 2), (4, 2, 1, 1), (3, 3, 4, 2), (2, 2, 0, 1),
)  # fmt: skip
SPACES = ((9,), (33,), (9, 11), (6, 7, 8))
# Shape of the input, of the weight, padding and groups of what is large enough for several pieces
# of work, and for Winograd's filtering.
LARGE = (
    ((4, 16, 9, 11), (16, 16, 3, 3), 0, 1),
    ((3, 32, 12, 13), (40, 32, 3, 3), 1, 1),
    ((2, 40, 17, 30), (48, 20, 3, 3), 2, 2),
    ((8, 32, 32, 32), (64, 32, 3, 3), 1, 1),
    ((1, 128, 16, 16), (130, 128, 3, 3), 0, 1),
    ((4, 35, 21, 19), (50, 35, 3, 3), 1, 1),
    ((3, 64, 20, 18), (80, 32, 3, 3), 2, 2),
    ((40, 32, 6, 5), (33, 32, 3, 3), 1, 1),
    ((16, 1, 28, 28), (32, 1, 3, 3), 0, 1),
    ((8, 3, 32, 32), (64, 3, 7, 7), 0, 1),
    ((8, 64, 32, 32), (64, 64, 1, 1), 0, 1),
    ((8, 64, 32, 32), (64, 1, 3, 3), 1, 64),
    ((8, 32, 500), (64, 32, 5), 0, 1),
    ((8, 8, 500), (8, 1, 5), 2, 8),
    ((2, 16, 8, 16, 16), (24, 16, 3, 3, 3), 1, 1),
)

Case = tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple]


def _geometries() -> Iterator[tuple]:
    """Shapes of input and weight, and the static arguments."""
    for space, (batch, channels, outputs, groups), window in product(SPACES, CHANNELS, WINDOWS):
        k, stride, padding, dilation = window
        axes = len(space)
        kernel = (k,) * (axes - 1) + (max(1, k - 1) if axes > 1 else k,)
        if any(n + 2 * padding <= dilation * (k - 1) for n in space):
            continue
        statics = (stride,) * axes, (padding,) * axes, (dilation,) * axes, groups
        yield (batch, channels, *space), (outputs, channels // groups, *kernel), statics
    uneven = (2, 3), (1, 0), (1, 2), 1
    yield (2, 5, 12, 13), (20, 5, 3, 2), uneven
    yield (2, 5, 12, 13), (3, 5, 3, 2), uneven
    # No window reaches the input, but zeros beside it.
    beside = (2, 2), (1, 1), (1, 1), 1
    for space in ((1, 1), (4, 5)):
        yield (2, 20, *space), (24, 20, 1, 1), beside
    for x, weight, padding, groups in LARGE:
        axes = len(x) - 2
        yield x, weight, ((1,) * axes, (padding,) * axes, (1,) * axes, groups)


def _operands() -> Iterator[Case]:
    """Input, weight, bias or None, and the static arguments."""
    for i, (shape, kernel, statics) in enumerate(_geometries()):
        dtype = FLOATS[0] if i % 3 else FLOATS[1]
        bias = numbers(kernel[:1], dtype) if i % 2 else None
        yield numbers(shape, dtype), numbers(kernel, dtype), bias, statics
    statics = (1, 1), (1, 0), (1, 1), 1
    for dtype in FLOATS:
        for layout in LAYOUTS.values():
            x, weight = layout(numbers((2, 3, 7, 6), dtype)), layout(numbers((20, 3, 3, 2), dtype))
            yield x, weight, layout(numbers((20,), dtype)), statics


def _conv() -> Iterator[tuple]:
    for x, weight, bias, statics in _operands():
        yield x, weight, bias, *statics


def _gradients() -> Iterator[Case]:
    """A gradient of the output in place of the bias."""
    for x, weight, _, statics in _operands():
        out = B.conv.twin(x, weight, None, *statics)
        yield x, weight, numbers(out.shape, x.dtype), statics


def _conv_grad_input() -> Iterator[tuple]:
    for x, weight, g, statics in _gradients():
        yield g, weight, x.shape, *statics


def _conv_grad_weight() -> Iterator[tuple]:
    for x, weight, g, statics in _gradients():
        yield g, x, weight.shape, *statics


def _conv_transpose() -> Iterator[tuple]:
    for i, (g, weight, shape, *statics) in enumerate(_conv_grad_input()):
        bias = numbers((shape[1],), weight.dtype) if i % 2 else None
        yield g, weight, bias, shape, *statics
    # An output padding: a last row and column that no window of the convolution reaches.
    g, weight = numbers((2, 4, 5, 5)), numbers((4, 3, 3, 3))
    yield g, weight, numbers((3,)), (2, 3, 12, 12), (2, 2), (0, 0), (1, 1), 1


CASES = {
    "conv": _conv,
    "conv_grad_input": _conv_grad_input,
    "conv_grad_weight": _conv_grad_weight,
    "conv_transpose": _conv_transpose,
}
# Units of the sums' size, from float32 on: the order of the additions is another one. The half
# precisions are rounded once at the end, by either of two neighbours.
TOLERANCES = dict(zip(map(str, FLOATS), (1e-6, 1e-14, 2**-10, 2**-7)))


def _tolerance(dtype: np.dtype) -> Callable[[np.ndarray], float]:
    unit = 8 * TOLERANCES[str(dtype.newbyteorder("="))]
    return lambda want: unit * np.abs(want.astype(np.float64)).max(initial=1)


@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        compare(getattr(B, name), *arguments, tolerance=_tolerance(arguments[0].dtype))


@pytest.mark.parametrize("name", CASES)
def test_is_served(name: str) -> None:
    """The kernels compute every geometry and layout of a floating-point type themselves."""
    kernel = getattr(B, name)
    assert all(served(kernel, *arguments) for arguments in CASES[name]())


# Shape of the input, of the weight, stride, padding: pointwise, and of a channel for each output,
# with part of a register, with several, and with lines that no window reaches.
LAST = (
    ((2, 5, 4, 6), (7, 5, 1, 1), 1, 0), ((3, 40, 9, 8), (33, 40, 1, 1), 1, 0),
    ((2, 6, 3, 4, 5), (4, 6, 1, 1, 1), 1, 0), ((2, 9, 7, 6), (9, 1, 3, 3), 1, 1),
    ((2, 37, 12, 40), (37, 1, 3, 5), 1, 2), ((3, 32, 9, 10), (32, 1, 3, 3), 2, 1),
    ((2, 17, 4, 5, 6), (17, 1, 3, 3, 3), 1, 1),
)  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("shape", "kernel", "stride", "padding"), LAST)
def test_channels_that_are_last_stay_last(shape, kernel, stride, padding, dtype) -> None:
    axes = len(shape) - 2
    statics = (stride,) * axes, (padding,) * axes, (1,) * axes, shape[1] // kernel[1]
    x, weight = channels_last(numbers(shape, dtype)), numbers(kernel, dtype)
    bias = numbers(kernel[:1], dtype)
    out = B.conv(x, weight, bias, *statics)
    g = channels_last(numbers(out.shape, dtype))
    assert order(out) == order(g)
    assert order(B.conv_grad_input(g, weight, shape, *statics)) == order(x)
    for name, arguments in {
        "conv": (x, weight, bias, *statics),
        "conv_grad_input": (g, weight, shape, *statics),
        "conv_grad_weight": (g, x, kernel, *statics),
        "conv_transpose": (g, weight, numbers(shape[1:2], dtype), shape, *statics),
    }.items():
        compare(getattr(B, name), *arguments, tolerance=_tolerance(dtype), same_order=False)
    for g_rows, x_rows in ((np.ascontiguousarray(g), x), (g, np.ascontiguousarray(x))):
        arguments = g_rows, x_rows, kernel, *statics
        compare(B.conv_grad_weight, *arguments, tolerance=_tolerance(dtype), same_order=False)


@pytest.mark.parametrize("name", CASES)
def test_leaves_other_types_to_the_twin(name: str) -> None:
    for arguments in CASES[name]():
        foreign = [a.astype(np.int64) if isinstance(a, np.ndarray) else a for a in arguments]
        assert not served(getattr(B, name), *foreign)
        break


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("channels", [2, 32], ids=["in tiles", "by Winograd"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_not_finite_stays_in_its_window(name: str, channels: int, value: float) -> None:
    x, weight = numbers((2, channels, 34, 33)), numbers((32, channels, 3, 3))
    statics = (1, 1), (1, 1), (1, 1), 1
    g = numbers((2, 32, 34, 33))
    (g if name in ("conv_grad_input", "conv_transpose") else x)[1, 1, 15, 16] = value
    arguments = {
        "conv": (x, weight, None, *statics),
        "conv_grad_input": (g, weight, x.shape, *statics),
        "conv_grad_weight": (g, x, weight.shape, *statics),
        "conv_transpose": (g, weight, None, x.shape, *statics),
    }[name]
    got, want = getattr(B, name)(*arguments), getattr(B, name).twin(*arguments)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    assert 0 < np.isfinite(got).sum() < got.size


@pytest.mark.parametrize("length", [5, 16, 19])
def test_infinity_behind_a_line_is_not_counted(length: int) -> None:
    """A gradient of the weight reads lines of the input by whole vectors."""
    x = np.ones((1, 1, 3, length + 2), np.float32)
    x[0, 0, 0, -1] = np.inf
    g = np.zeros((1, 2, 3, length), np.float32)
    g[0, 0] = 1
    weight = B.conv_grad_weight(g, x, (2, 1, 1, 3), (1, 1), (0, 0), (1, 1), 1)
    np.testing.assert_array_equal(weight[0, 0, 0], (3 * length, 3 * length, np.inf))
