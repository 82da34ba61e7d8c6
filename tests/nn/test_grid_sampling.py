"""Reading images at places: every mode, padding and alignment, anywhere and at the kinks."""

from __future__ import annotations

import itertools
from types import ModuleType

import pytest

import nnkit

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
pytestmark = pytest.mark.filterwarnings("ignore:Default grid_sample")


def sampled(lib: ModuleType, axes: int, kinks: bool, *options: object) -> list[float]:
    """A result and its gradients; with ``kinks`` the places are halves, which meet samples."""
    lib.manual_seed(0)
    x = lib.randn(2, 2, 3, 5, 4, dtype=lib.float64)[..., : 6 - axes, 0] if axes == 2 else (
        lib.randn(2, 2, 3, 2, 4, dtype=lib.float64)
    )  # fmt: skip
    x.requires_grad_()
    grid = lib.rand(2, *[4] * axes, axes, dtype=lib.float64) * 3 - 1.5
    grid = ((grid * 2).round() / 2 if kinks else grid).requires_grad_()
    y = lib.nn.functional.grid_sample(x, grid, *options)
    (y * lib.arange(y.numel(), dtype=lib.float64).view(y.shape).cos()).sum().backward()
    return [*y.shape, *[v for t in (y, x.grad, grid.grad) for v in t.flatten().tolist()]]


@pytest.mark.parametrize("kinks", [False, True])
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_values_and_gradients_are_torchs(
    mode: str, axes: int, kinks: bool, torch: ModuleType
) -> None:
    if mode == "bicubic" and axes == 3:
        return
    for options in itertools.product([mode], PADDINGS, [False, True]):
        wanted = sampled(torch, axes, kinks, *options)
        assert sampled(nnkit, axes, kinks, *options) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_places(lib: ModuleType) -> None:
    x = lib.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    places = lib.tensor([[[[0.0, 0.0], [-0.5, 0.5], [-2.0, 0.5], [0.5, 1.0]]]])

    def read(*options: object) -> list[float]:
        return lib.nn.functional.grid_sample(x, places, *options)[0, 0, 0].tolist()

    assert read("bilinear", "zeros", False) == [2.5, 3, 0, 2]
    assert read("bilinear", "border", False) == [2.5, 3, 3, 4]
    assert read("bilinear", "border", True) == [2.5, 2.75, 2.5, 3.75]
    assert read("nearest", "zeros", True) == [1, 3, 3, 4]
    assert read("nearest", "reflection", False) == [1, 3, 3, 4]


def test_what_is_no_place(lib: ModuleType) -> None:
    """It reads nothing from volumes, and makes NaN of images but for their nearest sample."""
    nan, F = float("nan"), lib.nn.functional
    x, places = lib.ones(1, 1, 2, 2, requires_grad=True), lib.full((1, 1, 1, 2), nan)
    assert F.grid_sample(x, places, "nearest", align_corners=False).item() == 0
    assert F.grid_sample(x, places, align_corners=False).isnan().item()
    volume, places = lib.ones(1, 1, 2, 2, 2), lib.full((1, 1, 1, 1, 3), nan, requires_grad=True)
    y = F.grid_sample(volume, places, align_corners=False)
    y.sum().backward()
    assert y.item() == 0 and places.grad.tolist() == lib.zeros(1, 1, 1, 1, 3).tolist()


def test_half_precision(lib: ModuleType) -> None:
    for kind in (lib.float16, lib.bfloat16):
        x, places = lib.ones(1, 1, 2, 2, dtype=kind), lib.zeros(1, 1, 1, 2, dtype=kind)
        y = lib.nn.functional.grid_sample(x, places, align_corners=False)
        assert y.dtype is kind and y.item() == 1


@pytest.mark.filterwarnings("error")
def test_the_default_is_told(lib: ModuleType) -> None:
    with pytest.warns(UserWarning, match="align_corners"):
        grid = lib.nn.functional.affine_grid(lib.eye(2, 3)[None], (1, 1, 2, 2))
    with pytest.warns(UserWarning, match="align_corners"):
        lib.nn.functional.grid_sample(lib.ones(1, 1, 2, 2), grid)
    assert grid.flatten().tolist() == [-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5]


def test_modes_that_are_no_words_are_unknown_ones(lib: ModuleType) -> None:
    for options in ([0, 1],), ("nearest", {}):
        with pytest.raises(ValueError, match="mode"):
            lib.nn.functional.grid_sample(lib.ones(1, 1, 2, 2), lib.zeros(1, 2, 2, 2), *options)


def test_an_image_that_stays_is_itself(lib: ModuleType) -> None:
    F, x = lib.nn.functional, lib.arange(12.0).view(1, 1, 3, 4)
    for corners in (False, True):
        grid = F.affine_grid(lib.eye(2, 3)[None], (1, 1, 3, 4), align_corners=corners)
        y = F.grid_sample(x, grid, align_corners=corners)
        assert y.flatten().tolist() == pytest.approx(x.flatten().tolist(), abs=1e-5)


@pytest.mark.parametrize("axes", [2, 3])
def test_the_node_tells_images_from_volumes(axes: int, lib: ModuleType) -> None:
    x = lib.ones(1, 1, *[2] * axes, requires_grad=True)
    y = lib.nn.functional.grid_sample(x, lib.zeros(1, *[1] * axes, axes), align_corners=False)
    assert y.grad_fn.name() == f"GridSampler{axes}DBackward0"
