"""The compiled kernels: loads the extension for this CPU, and puts its kernels before NumPy's.

The same C++ sources are compiled once for each instruction set (`setup.py`); the best one that
this CPU has is loaded. A kernel takes the arguments that it is made for and hands all others to its
twin, the NumPy function of the same name: a missing extension changes speed and nothing else.

``NNKIT_NATIVE=0`` in the environment leaves the extension alone; ``NNKIT_NATIVE=baseline`` asks for
one instruction set. ``NNKIT_CACHE_MB`` bounds the memory that is kept for reuse (0: none).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from struct import unpack_from
from typing import Any

from numpy._core import _multiarray_umath as numpy_extension  # pyright: ignore

from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.c_source import fingerprint
from nnkit.backend.formula import Formula, Trace
from nnkit.backend.processors import default_threads

# Of what module.cpp offers, and of the arguments that it takes; counted up there and here.
INTERFACE = 9

# The best one first, with the names that NumPy has for what a CPU needs for it.
TARGETS = {"avx512": ("AVX512_SKX",), "avx2": ("AVX2", "FMA3", "F16C"), "baseline": ()}


def fitting_targets() -> list[str]:
    """The instruction sets that this CPU has, the best one first."""
    features = getattr(numpy_extension, "__cpu_features__", {})
    return [t for t, needs in TARGETS.items() if all(features.get(n) for n in needs)]


def _candidates() -> tuple[list[str], str]:
    """The instruction sets to try, and why there is none if there is none."""
    asked = os.environ.get("NNKIT_NATIVE", "1")
    if asked == "0":
        return [], "switched off by NNKIT_NATIVE=0"
    fitting = fitting_targets()
    if asked == "1":
        return fitting, ""
    if asked in fitting:
        return [asked], ""
    reason = f"NNKIT_NATIVE is {asked!r}, but this CPU has {', '.join(fitting)}"
    return [], _complain(reason)


def _complain(reason: str) -> str:
    warnings.warn(f"nnkit computes with NumPy alone: {reason}", RuntimeWarning, stacklevel=4)
    return reason


def _check_size(path: str) -> None:
    """Refuse a shared object of Linux that was cut off, which would crash when it is loaded."""
    with open(path, "rb") as file:
        head = file.read(64)
        size = file.seek(0, os.SEEK_END)
    if head[:5] == b"\x7fELF\x02" and sys.byteorder == "little":
        # Where the table of sections begins, the size of its entries, how many: it comes last.
        (start,), (entry, count) = unpack_from("<Q", head, 40), unpack_from("<HH", head, 58)
        if size < start + entry * count:
            raise ImportError("the file is cut off")


def _load() -> tuple[Any, str]:
    """The extension module and its instruction set; None and the reason where there is none."""
    targets, reason = _candidates()
    for target in targets:
        spec = find_spec(f"{__name__}._{target}")
        if spec is None or spec.origin is None:
            reason = reason or "not compiled: reinstall with a C++17 compiler (g++ or clang++)"
            continue
        try:
            _check_size(spec.origin)
            module = import_module(spec.name)
        except Exception as error:
            reason = _complain(f"the extension for {target} is broken ({error}): reinstall nnkit")
            break
        if getattr(module, "INTERFACE", None) != INTERFACE:
            reason = _complain(f"the extension for {target} is of other sources: reinstall nnkit")
            break
        module.set_cache_limit(_cache_limit())
        module.set_threads(default_threads())
        return module, target
    return None, reason


def _cache_limit() -> int:
    """The bytes that are kept for reuse."""
    text = os.environ.get("NNKIT_CACHE_MB", "256")
    if not text.isdecimal():
        warnings.warn(f"NNKIT_CACHE_MB is {text!r}, no number", RuntimeWarning, stacklevel=3)
        text = "256"
    return min(int(text), 1 << 40) << 20


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


def fuse(
    steps: tuple, inputs: int, outputs: tuple, numbers: tuple, slots: int, twin: Callable
) -> Callable[..., tuple]:
    """A function from arrays to a tuple of arrays that runs the formulas of several kernels
    together, one block after the other.

    A slot is a block of an array, and has a number: the inputs come first, then the outputs, the
    numbers and what is temporary.

    Args:
        steps: (kernel, slot that it writes, slots of its operands, its scalars) for each formula.
        inputs: how many arrays it is given, which broadcast to the shape of all results.
        outputs: NumPy's number of the type of each array that it returns.
        numbers: operands that are no arrays.
        slots: how many there are.
        twin: serves the arrays that the kernels decline.
    """
    return MODULE.fuse(steps, inputs, outputs, numbers, slots, twin)
