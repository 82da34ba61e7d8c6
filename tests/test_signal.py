"""Windows of signals, against torch and by their numbers."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

WINDOWS: dict[str, list[dict[str, Any]]] = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 2.5}, {"center": 1.0, "sym": False}],
    "gaussian": [{}, {"std": 0.7}],
    "general_cosine": [{"a": [0.4, 0.3, 0.2, 0.1]}],
    "general_hamming": [{}, {"alpha": 0.75}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 0.5}, {"beta": 0}, {"beta": 8.6}],
    "nuttall": [{}],
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_torchs(name: str, torch: ModuleType) -> None:
    for options in WINDOWS[name]:
        for size in (0, 1, 2, 5, 12):
            for sym in (True, False):
                for dtype in ("float32", "float64"):
                    given = {"sym": sym, **options}
                    values = [
                        getattr(lib.signal.windows, name)(
                            size, dtype=getattr(lib, dtype), **given
                        ).tolist()
                        for lib in (torch, nnkit)
                    ]
                    assert values[1] == pytest.approx(values[0], rel=1e-5, abs=1e-6)


def test_a_window_by_its_numbers(lib: ModuleType) -> None:
    windows = lib.signal.windows
    assert windows.hann(5).tolist() == pytest.approx([0, 0.5, 1, 0.5, 0], abs=1e-6)
    assert windows.hann(4, sym=False).tolist() == pytest.approx([0, 0.5, 1, 0.5], abs=1e-6)
    assert windows.bartlett(3, dtype=lib.float64).dtype is lib.float64


def test_windows_refuse(lib: ModuleType) -> None:
    windows = lib.signal.windows
    for name, options in (
        ("hann", {"M": -1}),
        ("hann", {"M": 3, "dtype": lib.float16}),
        ("gaussian", {"M": 3, "std": 0}),
        ("exponential", {"M": 3, "tau": -1}),
        ("exponential", {"M": 3, "center": 1.0}),
        ("kaiser", {"M": 3, "beta": -1.0}),
        ("general_cosine", {"M": 3, "a": []}),
    ):
        with raises(lib, ValueError, name):
            getattr(windows, name)(**options)
    with raises(lib, TypeError, "list of numbers"):
        windows.general_cosine(3, a=1.0)
    with raises(lib, TypeError, "unexpected keyword"):
        windows.hann(3, wrong=1)
