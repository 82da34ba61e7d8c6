"""``torch.testing``: whether two results agree, and tensors to test with."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import nnkit
from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import is_number
from nnkit.backend.warning import warn

__all__ = ["assert_close", "make_tensor"]

# rtol, atol by dtype; whatever is not here has to be equal.
TOLERANCES = {
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
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance is not None and not is_number(tolerance):
            raise TypeError(
                f"assert_close(): argument '{name}' must be float, not {type(tolerance).__name__}"
            )
    checks = {"device": check_device, "dtype": check_dtype, "shape": True, "stride": check_stride}
    attributes = [name for name, wanted in checks.items() if wanted]
    found = _difference("", actual, expected, (rtol, atol), equal_nan, attributes)
    if found:
        raise AssertionError(msg(found) if callable(msg) else found if msg is None else msg)


def _difference(
    path: str, actual: Any, expected: Any, tolerances: tuple, equal_nan: bool, attributes: list
) -> str:
    """The first disagreement, in words; empty if there is none."""
    rest = (tolerances, equal_nan, attributes)
    where = f" at {path}" if path else ""
    # What is both a list and a mapping, as a TensorDict, is compared as a list.
    if _is_list(actual) and _is_list(expected):
        if len(actual) != len(expected):
            return f"The lengths{where} do not match: {len(actual)} and {len(expected)}"
        parts = [(f"{path}[{i}]", actual[i], expected[i]) for i in range(len(actual))]
        return next(filter(None, (_difference(*part, *rest) for part in parts)), "")
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual.keys()) != set(expected.keys()):
            return (
                f"The keys of the mappings{where} do not match: {[*actual.keys()]} and "
                f"{[*expected.keys()]}"
            )
        parts = [(f"{path}[{k!r}]", actual[k], expected[k]) for k in actual.keys()]
        return next(filter(None, (_difference(*part, *rest) for part in parts)), "")
    if actual is None or expected is None:
        same = actual is expected
        return "" if same else f"None{where} does not match: {actual} and {expected}"
    if isinstance(actual, Tensor) != isinstance(expected, Tensor) or isinstance(actual, str):
        raise TypeError(
            f"assert_close(): cannot compare {type(actual).__name__} with "
            f"{type(expected).__name__}{where}"
        )
    if isinstance(actual, numbers.Number):
        attributes = ["shape"]
    a, e = nnkit.as_tensor(actual).detach(), nnkit.as_tensor(expected).detach()
    if a.layout is not e.layout:
        return f"The layouts{where} do not match: {a.layout} and {e.layout}"
    if a.layout is not nnkit.strided:
        a, e = a.to_dense(), e.to_dense()
    for name in attributes:
        mine, other = (getattr(t, name) for t in (a, e))
        if name == "stride":
            mine, other = mine(), other()
        if mine != other:
            return f"The values for attribute '{name}'{where} do not match: {mine} != {other}."
    return _unequal(a, e, where, tolerances, equal_nan)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _computable(t: Tensor) -> Tensor:
    """The tensor in a dtype that can be compared; what is only stored is cast."""
    if not t.dtype.is_stored:
        return t
    return t.to(nnkit.float32 if t.dtype.is_floating_point else nnkit.int64)


def _unequal(a: Tensor, e: Tensor, where: str, tolerances: tuple, equal_nan: bool) -> str:
    defaults = [TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (a, e)]
    rtol, atol = tolerances
    if rtol is None:
        rtol, atol = (max(pair) for pair in zip(*defaults))
    a, e = map(_computable, (a, e))
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


def make_tensor(
    *shape: Any,
    dtype: nnkit.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random numbers, uniform in ``[low, high)``.

    Args:
        shape: the sizes, or one sequence of them.
        dtype: any; both parts of a complex number are drawn.
        device: where it is made.
        low: by default -9, for what has no negative numbers 0; at least the dtype's least number.
        high: by default 9 for floats, 10 for integers (exclusive) and 2 for bools.
        requires_grad: make it a leaf.
        noncontiguous: let it be every second element of a larger tensor.
        exclude_zero: write 1, or the least normal number of the dtype, in the place of zeros.
        memory_format: the order of its elements in memory.

    Raises:
        ValueError: the range is empty, holds NaN or lies outside of the dtype's; both
            ``noncontiguous`` and a ``memory_format`` are given; an integer tensor is to require a
            gradient.
        TypeError: no random numbers of that dtype are made.

    Example:
        >>> import nnkit
        >>> from nnkit.testing import make_tensor
        >>> make_tensor(2, 3, dtype=nnkit.int64, device="cpu", low=4, high=5)
        tensor([[4, 4, 4],
                [4, 4, 4]])
    """
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
    numeric = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "make_tensor(): noncontiguous and memory_format exclude each other, got both"
        )
    if requires_grad and not numeric:
        raise ValueError(
            f"make_tensor(): only floating and complex tensors can require a gradient, got {dtype}"
        )
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes[-1] *= 2
    low, high = _range(dtype, low, high)
    if numeric:
        result = nnkit.empty(sizes, dtype=dtype, device=device)
        parts = nnkit.view_as_real(result) if dtype.is_complex else result
        if high - low < nnkit.finfo(dtype).max:
            parts.uniform_(low, high)
        else:  # the range itself is not a number of the dtype
            parts.uniform_(low / 2, high / 2).mul_(2)
    else:
        limits = math.ceil(low), math.ceil(high)
        result = nnkit.randint(*limits, tuple(sizes), dtype=dtype, device=device)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = nnkit.finfo(dtype).tiny if numeric else 1
    return result.requires_grad_(requires_grad)


def _range(dtype: nnkit.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """The range of `make_tensor`, cut to the numbers that the dtype has."""
    numeric = dtype.is_floating_point or dtype.is_complex
    if numeric:
        least, most = nnkit.finfo(dtype).min, nnkit.finfo(dtype).max
    elif dtype is nnkit.bool:
        least, most = 0, 2
    else:
        # randint's exclusive limit is an int64 itself.
        least, most = nnkit.iinfo(dtype).min, min(nnkit.iinfo(dtype).max + 1, 2**63 - 1)
    if low is None:
        low = 0 if dtype is nnkit.bool else -9
    if high is None:
        high = 2 if dtype is nnkit.bool else 9 if numeric else 10
    if low == high and numeric:
        warn(
            "make_tensor(): low == high is deprecated for floating and complex dtypes: use full()",
            FutureWarning,
        )
    elif not low < high:
        raise ValueError(f"make_tensor(): low must be less than high, got {low} and {high}")
    elif high < least or low >= most:
        raise ValueError(f"make_tensor(): {dtype} has no numbers in [{low}, {high})")
    return min(max(low, least), most), min(max(high, least), most)
