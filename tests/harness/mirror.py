"""Every call on the CPU's backend made once more in another way, and compared.

A `Mirror` stands in the CPU's door: each primitive that is called there is called again by its
twin with copies of the same arrays, and must give the same result and leave the same in what it
writes. So any program on the CPU tests the twins of all it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.door import Doorkeeper

# Relative and absolute, by the coarsest dtype among the arguments.
TOLERANCES = {
    np.dtype(np.float64): (1e-11, 1e-11), np.dtype(np.float32): (2e-5, 2e-5),
    np.dtype(np.complex64): (2e-5, 2e-5), np.dtype(np.complex128): (1e-11, 1e-11),
    np.dtype(np.float16): (2e-3, 2e-3), np.dtype(ml_dtypes.bfloat16): (1.6e-2, 1.6e-2),
}  # fmt: skip


class Mirror(Doorkeeper):
    """Compares each call with its ``twin``, which subclasses name; None leaves it alone."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.compared: dict[str, int] = {}
        self.missing: set[str] = set()

    def twin(self, name: str) -> Callable | None:
        raise NotImplementedError

    def passed(self, name: str, function: Any, arguments: tuple) -> Any:
        twin = None if CATALOGUE[name].subject == "random" else self.twin(name)
        if twin is None:
            return function(*arguments)
        mine = _copied(arguments)
        result = function(*arguments)
        try:
            again = twin(*mine)
        except NotImplementedError:
            self.missing.add(name)
            return result
        where = f"{name}({', '.join(map(_short, arguments))})"
        compare(result, again, _tolerance(arguments, result), where)
        for array, other in zip(_arrays(arguments), _arrays(mine), strict=True):
            compare(array, other, _tolerance(arguments, result), f"{where}: an argument")
        self.compared[name] = self.compared.get(name, 0) + 1
        return result


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        # In the same layout: kernels depend on it.
        if 0 in value.strides and not value.flags.c_contiguous:
            return np.broadcast_to(value[_firsts(value)].copy(), value.shape)
        return value.copy("K")
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(v) for v in value)
    return value


def _firsts(x: np.ndarray) -> tuple:
    return tuple(slice(0, 1) if s == 0 else slice(None) for s in x.strides)


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _arrays(v)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_short, value[:4]))}]"
    return repr(value)


def _tolerance(arguments: Any, result: Any) -> tuple[float, float]:
    found = [TOLERANCES.get(a.dtype, (0.0, 0.0)) for a in _arrays([arguments, result])]
    return max(found, default=(0.0, 0.0))


def compare(expected: Any, got: Any, tolerance: tuple[float, float], where: str) -> None:
    """Same structure, dtypes, shapes and, within the tolerance, values.

    What was not asked for, and so is None, may have been computed the second time.
    """
    if expected is None:
        return
    if isinstance(expected, (list, tuple)):
        assert isinstance(got, (list, tuple)) and len(got) == len(expected), where
        for e, g in zip(expected, got, strict=True):
            compare(e, g, tolerance, where)
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype, f"{where}: {got.dtype} instead of {expected.dtype}"
        assert got.shape == expected.shape, f"{where}: {got.shape} instead of {expected.shape}"
        wide = complex if expected.dtype.kind == "c" else float
        if expected.dtype.kind in "iub":
            np.testing.assert_array_equal(got, expected, err_msg=where)
        else:
            relative, absolute = tolerance
            np.testing.assert_allclose(
                got.astype(wide), expected.astype(wide), relative, absolute, err_msg=where
            )
    else:
        assert got == expected or (got != got and expected != expected), where
