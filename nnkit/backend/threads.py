"""The number of threads of a computation: the setting of our own kernels and of NumPy's BLAS."""

from __future__ import annotations

import ctypes
import functools
import itertools
from typing import Any

import numpy as np

from nnkit.backend.cpu import native
from nnkit.backend.processors import default_threads

_PREFIXES = ("scipy_openblas_", "openblas_")
_SUFFIXES = ("64_", "")


@functools.cache
def _functions() -> tuple[Any, Any] | None:
    """OpenBLAS's setter and getter; None where NumPy has another BLAS."""
    from pathlib import Path

    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            library = ctypes.CDLL(str(path))
            for prefix, suffix in itertools.product(_PREFIXES, _SUFFIXES):
                setter = getattr(library, f"{prefix}set_num_threads{suffix}", None)
                if setter is not None:
                    return setter, getattr(library, f"{prefix}get_num_threads{suffix}")
    return None


def get_num_threads() -> int:
    """The number of threads that one operation may use.

    Example:
        >>> import nnkit
        >>> nnkit.get_num_threads() >= 1
        True
    """
    if native.MODULE is not None:
        return native.MODULE.threads()
    functions = _functions()
    return functions[1]() if functions else default_threads()


def set_num_threads(num: int) -> None:
    """Let an operation use ``num`` threads: a kernel of nnkit's own, or a product of matrices.

    Results of compiled kernels do not depend on it. For what NumPy computes (products without
    compiled kernels, decompositions) it reaches OpenBLAS, which NumPy's own packages carry, and
    whose last bits may depend on it; another BLAS keeps its setting, which it takes from the
    environment (``MKL_NUM_THREADS``, ``VECLIB_MAXIMUM_THREADS``).

    Raises:
        RuntimeError: ``num`` is no int, or not positive.

    Example:
        >>> import nnkit
        >>> threads = nnkit.get_num_threads()
        >>> nnkit.set_num_threads(1)
        >>> nnkit.get_num_threads()
        1
        >>> nnkit.set_num_threads(threads)
    """
    if not hasattr(num, "__index__") or isinstance(num, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if not -(2**63) <= num < 2**63:
        raise ValueError(f"set_num_threads expects an integer of 64 bits, got {num}")
    if num <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {num}")
    if native.MODULE is not None:
        native.MODULE.set_threads(num)
    functions = _functions()
    if functions:
        functions[0](num)
