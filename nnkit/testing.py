"""`assert_close`: a test's question whether two results agree, as ``torch.testing``."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import nnkit
from nnkit.autograd import Tensor

__all__ = ["assert_close"]

# rtol, atol by dtype; whatever is not here has to be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Fail unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Args:
        actual: a tensor, number, array, or a sequence or mapping of such.
        expected: the same kind of thing.
        rtol: relative tolerance, by the dtypes unless given (together with ``atol``).
        atol: absolute tolerance.
        equal_nan: whether a NaN equals a NaN.
        check_device: whether the devices have to agree.
        check_dtype: whether the dtypes have to agree.
        check_stride: whether the strides have to agree.
        msg: the error's message, or a function from the message made here to another.

    Raises:
        AssertionError: something does not agree.
        ValueError: only one of the tolerances is given.
        TypeError: the arguments cannot be compared.

    Example:
        >>> import nnkit
        >>> nnkit.testing.assert_close(nnkit.tensor([1.0, 2.0]), nnkit.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"assert_close(): rtol and atol must both be given or both be left out, "
            f"got rtol={rtol} and atol={atol}"
        )
    checks = {"device": check_device, "dtype": check_dtype, "shape": True, "stride": check_stride}
    attributes = [name for name, wanted in checks.items() if wanted]
    found = _difference("", actual, expected, (rtol, atol), equal_nan, attributes)
    if found:
        raise AssertionError(msg(found) if callable(msg) else found if msg is None else msg)


def _difference(
    path: str, actual: Any, expected: Any, tolerances: tuple, equal_nan: bool, attributes: list
) -> str:
    """What does not agree, in words; empty if all does."""
    rest = (tolerances, equal_nan, attributes)
    where = f" at {path}" if path else ""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return f"The keys of the mappings{where} do not match: {[*actual]} and {[*expected]}"
        parts = [(f"{path}[{k!r}]", actual[k], expected[k]) for k in actual]
        return next(filter(None, (_difference(*part, *rest) for part in parts)), "")
    if _is_list(actual) and _is_list(expected):
        if len(actual) != len(expected):
            return f"The lengths{where} do not match: {len(actual)} and {len(expected)}"
        parts = [(f"{path}[{i}]", a, e) for i, (a, e) in enumerate(zip(actual, expected))]
        return next(filter(None, (_difference(*part, *rest) for part in parts)), "")
    if isinstance(actual, Tensor) != isinstance(expected, Tensor) or isinstance(actual, str):
        raise TypeError(
            f"assert_close(): cannot compare {type(actual).__name__} with "
            f"{type(expected).__name__}{where}"
        )
    if isinstance(actual, numbers.Number):
        attributes = ["shape"]
    a, e = nnkit.as_tensor(actual).detach(), nnkit.as_tensor(expected).detach()
    for name in attributes:
        mine, other = (getattr(t, name) for t in (a, e))
        if name == "stride":
            mine, other = mine(), other()
        if mine != other:
            return f"The values for attribute '{name}'{where} do not match: {mine} != {other}."
    return _unequal(a, e, where, tolerances, equal_nan)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _unequal(a: Tensor, e: Tensor, where: str, tolerances: tuple, equal_nan: bool) -> str:
    defaults = [_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (a, e)]
    rtol, atol = tolerances
    if rtol is None:
        rtol, atol = (max(pair) for pair in zip(*defaults))
    common = nnkit.promote_types(a.dtype, e.dtype)
    exact = nnkit.promote_types(common, nnkit.float64) if rtol or atol else common
    a, e = a.to(exact), e.to(exact)
    close = nnkit.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if close.all():
        return ""
    wrong = int((~close).sum())
    off = (a - e).abs() if exact is not nnkit.bool else a != e
    largest = off.to(nnkit.float64).max().item()
    return (
        f"Tensor-likes are not close{where}: {wrong} of {close.numel()} elements differ, by "
        f"{largest} at most (up to {atol} absolute and {rtol} relative allowed)"
    )
