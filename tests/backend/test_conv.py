"""The kernels of convolution and pooling where they take another path: tiles, blocks, layouts."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from nnkit.backend.cpu import conv, pooling


def direct(x: np.ndarray, w: np.ndarray, stride: int, padding: int, dilation: int, groups: int):
    """The definition, one output element at a time."""
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * 2)
    outputs, channels, *kernel = w.shape
    size = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], kernel)]
    out = np.zeros((x.shape[0], outputs, *size))
    for o, i, j in product(range(outputs), *map(range, size)):
        first = o // (outputs // groups) * channels
        rows, columns = (
            slice(at * stride, at * stride + dilation * (k - 1) + 1, dilation)
            for at, k in zip((i, j), kernel)
        )
        patch = x[:, first : first + channels, rows, columns]
        out[:, o, i, j] = (patch * w[o]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize("tile", [64, 2000, 1 << 20])
@pytest.mark.parametrize(
    "geometry",
    [(1, 0, 1, 1), (1, 1, 1, 2), (2, 1, 1, 1), (2, 3, 2, 4), (3, 0, 2, 1), (1, 5, 1, 1)],
)
def test_every_tile_size(
    monkeypatch: pytest.MonkeyPatch, tile: int, geometry: tuple[int, int, int, int]
) -> None:
    """Also the gradients: <conv(x, w), g> is linear in each, so each contraction is the same."""
    stride, padding, dilation, groups = geometry
    monkeypatch.setattr(conv, "TILE", tile)
    x, w = np.random.randn(3, 4, 9, 8), np.random.randn(8, 4 // groups, 3, 2)
    statics = ((stride,) * 2, (padding,) * 2, (dilation,) * 2, groups)
    out = conv.conv(x, w, None, *statics)
    np.testing.assert_allclose(out, direct(x, w, stride, padding, dilation, groups), atol=1e-12)
    g = np.random.randn(*out.shape)
    total = np.vdot(out, g)
    grad_x = conv.conv_grad_input(g, w, x.shape, *statics)
    grad_w = conv.conv_grad_weight(g, x, w.shape, *statics)
    assert grad_x.shape == x.shape and grad_w.shape == w.shape
    np.testing.assert_allclose([np.vdot(grad_x, x), np.vdot(grad_w, w)], total, atol=1e-10)
    basis = np.zeros_like(x)
    basis[1, 2, 4, 3] = 1.0
    column = np.vdot(conv.conv(basis, w, None, *statics), g)
    np.testing.assert_allclose(grad_x[1, 2, 4, 3], column, atol=1e-12)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: np.flip(a).copy()[::-1, ::-1]])
def test_layouts(layout) -> None:
    x, w = np.random.randn(2, 4, 6, 6), np.random.randn(4, 4, 3, 3)
    statics = ((1, 1), (1, 1), (1, 1), 1)
    plain = conv.conv(layout(x).copy("C"), layout(w).copy("C"), None, *statics)
    np.testing.assert_array_equal(conv.conv(layout(x), layout(w), None, *statics), plain)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x, w = np.random.randn(2, 8, 6, 6).astype(kind), np.random.randn(4, 8, 3, 3).astype(kind)
    statics = ((1, 1), (0, 0), (1, 1), 1)
    exact = conv.conv(x.astype("float32"), w.astype("float32"), None, *statics)
    np.testing.assert_array_equal(conv.conv(x, w, None, *statics), exact.astype(kind))


@pytest.mark.parametrize("block", [1, 100, 1 << 18])
@pytest.mark.parametrize("shape", [(3, 4, 7, 6), (2, 1, 181, 182)])
def test_max_pool_in_blocks(
    monkeypatch: pytest.MonkeyPatch, block: int, shape: tuple[int, ...]
) -> None:
    """Planes on both sides of what 16-bit indices hold; NaN in one block only."""
    monkeypatch.setattr(pooling, "BLOCK", block)
    x = np.random.randint(0, 9, shape).astype("float32")
    x[0, 0, 0, 0] = np.nan
    out, indices = pooling.max_pool(x, (3, 2), (2, 2), (1, 0), (1, 1), True)
    planes = x.reshape(*shape[:2], -1)
    taken = np.take_along_axis(planes, indices.reshape(*shape[:2], -1), 2).reshape(out.shape)
    np.testing.assert_array_equal(taken, out)
    for i, j in product(*map(range, out.shape[2:])):
        rows = slice(max(2 * i - 1, 0), 2 * i + 2)
        window = x[:, :, rows, 2 * j : 2 * j + 2]
        np.testing.assert_array_equal(window.max((2, 3)), out[:, :, i, j])
        if not np.isnan(window).any():
            row, column = np.divmod(indices[:, :, i, j], shape[3])
            first = window.reshape(*shape[:2], -1).argmax(2)
            got = (row - rows.start) * window.shape[3] + column - 2 * j
            np.testing.assert_array_equal(got, first)
