"""The compiled kernels: loads the extension for this CPU, and puts its kernels before NumPy's.

The same C++ sources are compiled once for each instruction set (`setup.py`); the best one that
this CPU has is loaded. A kernel takes the arguments that it is made for and hands all others to its
twin, the NumPy function of the same name: a missing extension changes speed and nothing else.

``NNKIT_NATIVE=0`` in the environment leaves the extension alone; ``NNKIT_NATIVE=baseline`` asks for
one instruction set. ``NNKIT_CACHE_MB`` bounds the memory that is kept for reuse (0: none).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from numpy._core import _multiarray_umath as numpy_extension

from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.c_source import fingerprint
from nnkit.backend.formula import Formula, Trace

# The best one first, with the names that NumPy has for what a CPU needs for it.
TARGETS = {"avx512": ("AVX512_SKX",), "avx2": ("AVX2", "FMA3"), "baseline": ()}


def _candidates() -> list[str]:
    asked = os.environ.get("NNKIT_NATIVE", "1")
    if asked == "0":
        return []
    features = getattr(numpy_extension, "__cpu_features__", {})
    fitting = [t for t, needs in TARGETS.items() if all(features.get(n) for n in needs)]
    return fitting if asked == "1" else [asked]


def _load() -> tuple[Any, str]:
    """The extension module and its instruction set; None and the reason where there is none."""
    reason = "switched off by NNKIT_NATIVE=0"
    for target in _candidates():
        try:
            module = import_module(f"{__name__}._{target}")
        except ModuleNotFoundError:
            reason = "not compiled: reinstall with a C++17 compiler (g++ or clang++)"
        except Exception as error:
            reason = f"the extension for {target} is broken ({error}): reinstall nnkit"
            warnings.warn(
                f"nnkit computes with NumPy alone: {reason}", RuntimeWarning, stacklevel=2
            )
        else:
            module.find_blas(numpy_extension.__file__)
            megabytes = os.environ.get("NNKIT_CACHE_MB")
            if megabytes is not None:
                module.set_cache_limit(int(megabytes) << 20)
            return module, target
    return None, reason


MODULE, STATUS = _load()


def bind(name: str, twin: Callable) -> Callable:
    """The compiled kernel of a primitive, or ``twin`` if there is none."""
    if MODULE is None:
        return twin
    return MODULE.bind(name, twin, len(CATALOGUE[name].parameters))


def bind_formula(name: str, formula: Formula, twin: Callable) -> Callable:
    """The compiled kernel of a formula; a name that ends in ``_`` writes the first array."""
    if MODULE is None:
        return twin
    mark = fingerprint(formula.trace())
    return MODULE.bind_formula(name, twin, formula.name, mark, name != formula.name)


def bind_update(name: str, trace: Trace, twin: Callable) -> Callable:
    """The compiled kernel of one variant of an update."""
    return MODULE.bind_update(name, twin, fingerprint(trace)) if MODULE is not None else twin
