"""Products on tensor cores whose rows are no whole loads, emulated, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend import switches
from nnkit.backend.cuda import linalg
from tests.cuda import arrays
from tests.cuda.emulation import Emulator, emulated
from tests.cuda.marks import needs_compiler

pytestmark = needs_compiler


class Watching(Emulator):
    """Keeps what cuBLAS is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, ...]] = []

    def gemm(self, m: int, n: int, k: int, *rest: Any) -> None:
        x_step, y_step = rest[5], rest[9]
        self.asked.append((m, n, k, x_step, y_step))
        super().gemm(m, n, k, *rest)


@pytest.mark.parametrize("dtype", ("float16", "float32"))  # as tf32
@pytest.mark.parametrize("turned", ((False, False), (False, True), (True, False), (True, True)))
@pytest.mark.parametrize("sizes", ((24, 50, 16), (24, 16, 50), (50, 24, 16), (51, 49, 47)))
def test_operands_grow_to_whole_loads(
    sizes: tuple[int, int, int],
    turned: tuple[bool, bool],
    dtype: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(switches.matmul, "allow_tf32", True)
    monkeypatch.setattr(linalg, "LARGE", 1)
    monkeypatch.setattr(linalg, "COPY", 0)
    m, n, k = sizes
    generator = np.random.default_rng(0)
    hosts = [
        generator.standard_normal(shape[::-1] if is_turned else shape).astype(dtype)
        for shape, is_turned in (((m, k), turned[0]), ((k, n), turned[1]))
    ]
    x, y = (h.T if is_turned else h for h, is_turned in zip(hosts, turned))
    machine = Watching()
    with emulated(machine):
        given = [arrays.on_device(h) for h in hosts]
        operands = [g.T if is_turned else g for g, is_turned in zip(given, turned)]
        out = linalg.product(*operands, alpha=0.5)
        wanted = (0.5 * (x.astype(np.float32) @ y.astype(np.float32))).astype(dtype)
        np.testing.assert_allclose(arrays.host(out), wanted, rtol=2e-3, atol=2e-3)
        assert out.flags.c_contiguous
        ((_, n_asked, _, x_step, y_step),) = machine.asked
        assert not any(step * out.itemsize % 16 for step in (n_asked, x_step, y_step))


def test_what_would_cost_more_than_it_saves_stays_as_it_is() -> None:
    machine = Watching()
    with emulated(machine):
        x = arrays.on_device(np.ones((6, 9), np.float16))
        linalg.product(x, x.T)
        x = arrays.on_device(np.ones((64, 64), np.float32))
        linalg.product(x[:, 1:], x[1:])
        assert [asked[:3] for asked in machine.asked] == [(6, 6, 9), (64, 64, 63)]
