"""Resizing: torch's values and gradients for every mode, and what is refused."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

MODES = {
    1: ("nearest", "nearest-exact", "linear", "area"),
    2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
    3: ("nearest", "nearest-exact", "trilinear", "area"),
}
SIZES: list[dict[str, Any]] = [
    {"size": 7}, {"size": 1}, {"scale_factor": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.6},
    {"scale_factor": 1.7, "recompute_scale_factor": True},
]  # fmt: skip
CASES = [(axes, mode) for axes, modes in MODES.items() for mode in modes]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("axes", "mode"), CASES)
def test_values_and_gradients_are_torchs(
    axes: int, mode: str, size: dict[str, Any], torch: ModuleType
) -> None:
    def run(lib: ModuleType, corners: bool | None) -> list[float]:
        lib.manual_seed(0)
        x = lib.randn(2, 3, *range(5, 5 + axes), dtype=lib.float64).requires_grad_()
        y = lib.nn.functional.interpolate(x, mode=mode, align_corners=corners, **size)
        (y * y).sum().backward()
        return [*y.shape, *y.flatten().tolist(), *x.grad.flatten().tolist()]

    for corners in (None, False, True) if "linear" in mode or mode == "bicubic" else (None,):
        assert run(nnkit, corners) == pytest.approx(run(torch, corners), rel=1e-9, abs=1e-9)


def test_dtypes(lib: ModuleType) -> None:
    resize = lib.nn.functional.interpolate
    for kind in (lib.float16, lib.bfloat16, lib.float32):
        x = lib.tensor([[[0.0, 1.0]]]).to(kind)
        y = resize(x, size=4, mode="linear")
        assert y.dtype is kind and y.tolist() == [[[0, 0.25, 0.75, 1]]]
    pixels = lib.arange(4, dtype=lib.uint8).view(1, 1, 2, 2)
    assert resize(pixels, scale_factor=2)[0, 0, 0].tolist() == [0, 0, 1, 1]
    edges = lib.tensor([[[[0, 255, 255, 0]]]], dtype=lib.uint8)
    assert resize(edges, size=(1, 8), mode="bicubic").flatten().tolist() == [
        *(0, 58, 197, 255, 255, 197, 58, 0)
    ]
    assert resize(edges, size=(1, 8), mode="bilinear")[0, 0, 0, 1] == 64
    for wrong, mode in ((pixels.int(), "nearest"), (pixels.long(), "bilinear")):
        with raises(lib, NotImplementedError, "not implemented for"):
            resize(wrong, size=3, mode=mode)


def test_layers(lib: ModuleType) -> None:
    nn, x = lib.nn, lib.arange(4.0).view(1, 1, 2, 2)
    assert nn.Upsample(scale_factor=2)(x).shape == (1, 1, 4, 4)
    assert nn.UpsamplingNearest2d(size=3)(x).tolist() == [[[[0, 0, 1], [0, 0, 1], [2, 2, 3]]]]
    assert nn.UpsamplingBilinear2d(size=3)(x)[0, 0, 1].tolist() == [1, 1.5, 2]
    assert (
        repr(nn.Upsample(size=(2, 3), mode="bilinear")) == "Upsample(size=(2, 3), mode='bilinear')"
    )
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"


@pytest.mark.parametrize(
    ("shape", "options", "error", "match"),
    [
        ((1, 1, 2), {}, ValueError, "size or scale_factor should be"),
        ((1, 1, 2), {"size": 2, "scale_factor": 2}, ValueError, "size or scale_factor should be"),
        ((1, 1, 2), {"size": (2, 2)}, ValueError, "the same number of spatial"),
        ((1, 1, 2), {"size": 2, "align_corners": True}, ValueError, "align_corners option can"),
        ((1, 1, 2), {"size": 2, "recompute_scale_factor": True}, ValueError, "not meaningful with"),
        ((1, 1, 2), {"size": 2, "mode": "bilinear"}, NotImplementedError, "'bilinear' is not for"),
        ((1, 1, 2), {"size": 2, "mode": "x"}, NotImplementedError, "'x' is not for"),
    ],
)  # fmt: skip
def test_refuses(
    lib: ModuleType, shape: tuple, options: dict, error: type[Exception], match: str
) -> None:
    with raises(lib, error, match):
        lib.nn.functional.interpolate(lib.ones(shape), **options)


@pytest.mark.parametrize(
    ("mode", "corners"),
    [*itertools.product(["bilinear", "bicubic"], [False, True]), ("lanczos", False)],
)
@pytest.mark.parametrize("size", [(3, 2), (12, 5), (6, 7), (1, 1)])
def test_antialias(mode: str, corners: bool, size: tuple, torch: ModuleType) -> None:
    def run(lib: ModuleType) -> list[float]:
        lib.manual_seed(0)
        x = lib.randn(2, 3, 6, 7, dtype=lib.float64).requires_grad_()
        options = {"mode": mode, "antialias": True, "align_corners": corners}
        y = lib.nn.functional.interpolate(x, size, **options)
        (y * y).sum().backward()
        return [*y.flatten().tolist(), *x.grad.flatten().tolist()]

    assert run(nnkit) == pytest.approx(run(torch), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("mode", "antialias"),
    [*itertools.product(["bilinear", "bicubic"], [False, True]), ("lanczos", True)],
)
def test_bytes_are_exactly_torchs(mode: str, antialias: bool, torch: ModuleType) -> None:
    def run(lib: ModuleType) -> list[list[int]]:
        lib.manual_seed(0)
        x = lib.randint(0, 256, (1, 5, 23, 17), dtype=lib.uint8)
        sizes = ((7, 9), (23, 40), (50, 3), (11, 17))
        options = {"mode": mode, "antialias": antialias}
        return [
            lib.nn.functional.interpolate(x, size, **options).flatten().tolist() for size in sizes
        ]

    assert run(nnkit) == run(torch)


def test_an_axis_that_keeps_its_size_is_left_alone_whatever_the_scale(lib: ModuleType) -> None:
    x = lib.arange(5.0).reshape(1, 1, 5)
    y = lib.nn.functional.interpolate(x, scale_factor=1.01, mode="linear")
    assert y.tolist() == x.tolist()


def test_antialias_halves_a_line_with_weights_of_four_samples(lib: ModuleType) -> None:
    x = lib.tensor([[[[0.0, 0, 0, 8, 8, 8, 0, 0]]]])
    y = lib.nn.functional.interpolate(x, (1, 4), mode="bilinear", antialias=True)
    assert y.flatten().tolist() == pytest.approx([0, 4, 7, 8 / 7])


def test_antialias_is_for_images(lib: ModuleType) -> None:
    resize = lib.nn.functional.interpolate
    for shape, mode in (((1, 1, 4), "linear"), ((1, 1, 4, 4), "nearest")):
        with raises(lib, ValueError, "Anti-alias option is restricted"):
            resize(lib.ones(shape), 2, mode=mode, antialias=True)
    with raises(lib, NotImplementedError, "antialias"):
        resize(lib.ones(1, 1, 4, 4).half(), 2, mode="bilinear", antialias=True)


def test_old_names(lib: ModuleType) -> None:
    F, x = lib.nn.functional, lib.arange(4.0).view(1, 1, 2, 2)
    for name, same in (
        ("upsample", {}),
        ("upsample_nearest", {}),
        ("upsample_bilinear", {"mode": "bilinear", "align_corners": True}),
    ):
        with pytest.warns(UserWarning, match="deprecated"):
            found = getattr(F, name)(x, size=3)
        assert found.tolist() == F.interpolate(x, size=3, **same).tolist()
