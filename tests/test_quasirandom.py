"""Sobol's sequence: torch's very points."""

from __future__ import annotations

from types import ModuleType

import pytest

import nnkit
from tests.frameworks import raises


@pytest.mark.parametrize("dimension", [1, 2, 7, 60])
@pytest.mark.parametrize(("scramble", "seed"), [(False, None), (True, 3), (True, None)])
def test_points_are_torchs(
    dimension: int, scramble: bool, seed: int | None, torch: ModuleType
) -> None:
    def run(lib: ModuleType) -> list:
        lib.manual_seed(0)
        engine = lib.quasirandom.SobolEngine(dimension, scramble, seed)
        found = [engine.sobolstate.tolist(), *(engine.draw(n).tolist() for n in (1, 5, 2))]
        engine.fast_forward(9)
        found.append(engine.draw(3, dtype=lib.float64).tolist())
        engine.reset().fast_forward(4)
        found.append(engine.draw(4, out=lib.empty(0)).tolist())
        engine.reset()
        return [*found, engine.draw_base2(3).tolist(), repr(engine)]

    assert run(nnkit) == run(torch)


def test_the_first_points(lib: ModuleType) -> None:
    engine = lib.quasirandom.SobolEngine(3)
    assert engine.draw(4).tolist() == [[0, 0, 0], [0.5] * 3, [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]


def test_every_dimension_fills_the_line(lib: ModuleType) -> None:
    points = lib.quasirandom.SobolEngine(21201).draw(8)
    assert points.sort(0)[0].eq(lib.arange(8).unsqueeze(1) / 8).all()


def test_refuses(lib: ModuleType) -> None:
    for dimension in (0, 21202):
        with raises(lib, ValueError, "dimension"):
            lib.quasirandom.SobolEngine(dimension)
    engine = lib.quasirandom.SobolEngine(2)
    engine.draw(3)
    with raises(lib, ValueError, "power of (2|two)"):
        engine.draw_base2(2)
