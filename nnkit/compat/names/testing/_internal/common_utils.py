"""torch.testing._internal.common_utils: the base class of the test cases of libraries."""

from __future__ import annotations

import contextlib
import random
import sys
import unittest
from collections.abc import Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

import nnkit
from nnkit.testing import assert_close
from nnkit.testing import make_tensor as make_tensor
from nnkit.testing.comparison import TOLERANCES

SEED = 1234
IS_LINUX, IS_MACOS = sys.platform == "linux", sys.platform == "darwin"
IS_WINDOWS = sys.platform == "win32"


def set_rng_seed(seed: int | None = None) -> None:
    """Seed the generators of nnkit, of Python and, if it is loaded, of NumPy."""
    seed = SEED if seed is None else seed
    nnkit.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """A context manager after which nnkit's generator has its previous state."""
    with nnkit.random.fork_rng():
        yield


def run_tests(argv: Sequence[str] | None = None) -> None:
    """Run the test cases of the main module."""
    unittest.main(argv=None if argv is None else list(argv))


class TestCase(unittest.TestCase):
    """A test case that seeds the generators and compares tensors by their tolerances.

    Attributes:
        precision: the least absolute tolerance.
        rel_tol: the least relative tolerance.
    """

    precision: float = 0.0
    rel_tol: float = 0.0

    def setUp(self) -> None:
        super().setUp()
        set_rng_seed()

    def assertEqual(
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """Fail unless both are equal, tensors and numbers up to the tolerances of their dtypes,
        whether alone or within sequences and mappings."""
        options = {
            "equal_nan": equal_nan, "check_device": exact_device, "check_stride": exact_stride,
            "msg": msg,
        }  # fmt: skip

        def compare(x: Any, y: Any) -> None:
            tensors = [_is_array(value) for value in (x, y)]
            if any(tensors) or all(isinstance(value, Number) for value in (x, y)):
                a, b = (nnkit.as_tensor(value) for value in (x, y))
                tolerances = self._tolerances(a, b, atol, rtol)
                dtypes = exact_dtype and all(tensors)
                assert_close(a, b, **tolerances, check_dtype=dtypes, **options)
            elif isinstance(x, Mapping) and isinstance(y, Mapping):
                super(TestCase, self).assertEqual(x.keys(), y.keys(), msg)
                for key in x:
                    compare(x[key], y[key])
            elif _is_list(x) and _is_list(y):
                super(TestCase, self).assertEqual(len(x), len(y), msg)
                for pair in zip(x, y):
                    compare(*pair)
            else:
                super(TestCase, self).assertEqual(x, y, msg)

        compare(x, y)

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:
        """Fail if `assertEqual` does not."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, **options)

    def _tolerances(
        self, a: nnkit.Tensor, b: nnkit.Tensor, atol: float | None, rtol: float | None
    ) -> dict[str, Any]:
        if atol is None and rtol is None and not (self.precision or self.rel_tol):
            return {}
        defaults = [TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (a, b)]
        usual_rtol, usual_atol = (max(pair) for pair in zip(*defaults))
        return {
            "rtol": max(usual_rtol, self.rel_tol) if rtol is None else rtol,
            "atol": max(usual_atol, self.precision) if atol is None else atol,
        }


def _is_array(value: Any) -> bool:
    return isinstance(value, nnkit.Tensor) or hasattr(value, "__array_interface__")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))
