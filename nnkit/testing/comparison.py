"""`assert_close`: whether two results agree, and if they do not, where and by how much."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import nnkit
from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import is_number
from nnkit.backend.dtype import of_number, python_number

# rtol, atol by dtype; whatever is not here has to be equal.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
WIDE = {float: nnkit.float64, complex: nnkit.complex128}  # how a Python number is kept
COMPRESSED = {  # the indices of a layout, by torch's names
    nnkit.sparse_coo: ("_indices",),
    nnkit.sparse_csr: ("crow_indices", "col_indices"),
    nnkit.sparse_csc: ("ccol_indices", "row_indices"),
    nnkit.sparse_bsr: ("crow_indices", "col_indices"),
    nnkit.sparse_bsc: ("ccol_indices", "row_indices"),
}


class _Rules(NamedTuple):
    """The arguments of `assert_close`."""

    tolerances: tuple[float | None, float | None]
    equal_nan: bool
    attributes: tuple[str, ...]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Fail unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Args:
        actual: a tensor, number, array, or a sequence or mapping of such.
        expected: the same kind of thing.
        allow_subclasses: whether a tensor may be compared with one of a subclass of its class.
        rtol: relative tolerance, by the dtypes unless given (together with ``atol``).
        atol: absolute tolerance.
        equal_nan: whether a NaN equals a NaN.
        check_device: whether the devices have to agree.
        check_dtype: whether the dtypes, and the types of numbers, have to agree.
        check_layout: whether the layouts have to agree.
        check_stride: whether the strides have to agree.
        msg: the message where values differ, or a function from the one made here to another.

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
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance is not None and not is_number(tolerance):
            raise TypeError(
                f"assert_close(): argument '{name}' must be float, not {type(tolerance).__name__}"
            )
    checks = {
        "shape": True, "layout": check_layout, "device": check_device, "dtype": check_dtype,
        "stride": check_stride,
    }  # fmt: skip
    attributes = tuple(name for name, wanted in checks.items() if wanted)
    rules = _Rules((rtol, atol), equal_nan, attributes)
    values = []
    for place, mine, other in _pairs(actual, expected, ""):
        plain = _plain(mine), _plain(other)
        if not _are_comparable(*plain, allow_subclasses):
            raise TypeError(
                "No comparison pair was able to handle inputs of type "
                f"{type(mine)} and {type(other)}.{_at(place)}"
            )
        values.append((place, *plain))
    for place, mine, other in values:
        found = _difference(mine, other, rules)
        if found:
            found += _at(place)
            raise AssertionError(msg(found) if callable(msg) else found if msg is None else msg)


def _pairs(actual: Any, expected: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """A value to be compared, with its place; the structures have to be the same."""
    # What is both a list and a mapping, as a TensorDict, is compared as a list.
    if _is_list(actual) and _is_list(expected):
        if len(actual) != len(expected):
            sizes = f"{len(actual)} != {len(expected)}"
            raise AssertionError(f"The length of the sequences mismatch: {sizes}{_at(place)}")
        for i in range(len(actual)):
            yield from _pairs(actual[i], expected[i], f"{place}[{i}]")
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        mine, other = set(actual.keys()), set(expected.keys())
        if mine != other:
            raise AssertionError(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(other - mine)}\n"
                f"Additional keys in the actual mapping: {sorted(mine - other)}{_at(place)}"
            )
        for key in actual.keys():
            yield from _pairs(actual[key], expected[key], f"{place}[{key!r}]")
    else:
        yield place, actual, expected


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _at(place: str) -> str:
    return f"\n\nThe failure occurred for item {place}" if place else ""


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, and arrays as tensors that know what they were."""
    if value is None or _is_list(value) or isinstance(value, (str, Tensor)):
        return value
    if isinstance(value, numbers.Number):
        return python_number(value)
    try:
        made = nnkit.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return value
    return made.item() if made.dtype is nnkit.bool and not made.ndim else _Array(type(value), made)


class _Array(NamedTuple):
    """A value that is no tensor, and can be made one."""

    kind: type
    tensor: Tensor


def _are_comparable(actual: Any, expected: Any, allow_subclasses: bool) -> bool:
    kinds = (bool, numbers.Number, Tensor, _Array)
    if actual is None or expected is None:
        return True
    mine, other = (next((k for k in kinds if isinstance(v, k)), None) for v in (actual, expected))
    if mine is _Array and other is _Array:
        return actual.kind is expected.kind
    if mine is Tensor and other is Tensor and actual.__class__ is not expected.__class__:
        if nnkit.strided not in (actual.layout, expected.layout):
            return True  # layouts, each with a class of its own
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        return allow_subclasses and related
    return mine is not None and mine is other


def _difference(actual: Any, expected: Any, rules: _Rules) -> str:
    """How two values of a kind disagree, in words; empty if they do not."""
    if actual is None or expected is None:
        return "" if actual is expected else f"None mismatch: {actual} is not {expected}"
    if isinstance(actual, bool):
        return "" if actual is expected else f"Booleans mismatch: {actual} is not {expected}"
    if isinstance(actual, numbers.Number):
        return _unequal_numbers(actual, expected, rules)
    if isinstance(actual, _Array):
        actual, expected = actual.tensor, expected.tensor
    a, e = actual.detach(), expected.detach()
    for name in rules.attributes:
        if name == "stride" and a.layout is e.layout is nnkit.strided:
            mine, other, name = a.stride(), e.stride(), "stride()"
        elif name == "stride":
            continue
        else:
            mine, other = getattr(a, name), getattr(e, name)
        if mine != other:
            return f"The values for attribute '{name}' do not match: {mine} != {other}."
    if a.is_meta or e.is_meta:
        return ""
    if a.layout is not e.layout:
        a, e = a.to_dense(), e.to_dense()
    if a.layout is nnkit.strided:
        return _unequal(a, e.to(a.device), rules)
    return _unequal_sparse(a, e, rules)


def _unequal_numbers(actual: Any, expected: Any, rules: _Rules) -> str:
    kinds = [type(actual), type(expected)]
    if "dtype" in rules.attributes and kinds[0] is not kinds[1]:
        return f"The (d)types do not match: {kinds[0]} != {kinds[1]}."
    dtypes = [WIDE.get(k) or of_number(v) for k, v in zip(kinds, (actual, expected), strict=True)]
    rtol, atol = _tolerances(dtypes, rules)
    far = abs(actual - expected)
    near = math.isfinite(far) and far <= atol + rtol * abs(expected)
    both_nan = actual != actual and expected != expected
    if near or actual == expected or (rules.equal_nan and both_nan):
        return ""
    return _numbers_apart(actual, expected, rtol, atol)


def _tolerances(dtypes: list, rules: _Rules) -> tuple[float, float]:
    rtol, atol = rules.tolerances
    if rtol is not None and atol is not None:
        return rtol, atol
    defaults = [TOLERANCES.get(d.name, (0.0, 0.0)) for d in dtypes]
    return max(r for r, _ in defaults), max(a for _, a in defaults)


def _unequal_sparse(a: Tensor, e: Tensor, rules: _Rules) -> str:
    """The comparison of the parts of sparse tensors."""
    kind = a.layout.name.removeprefix("sparse_").upper()
    counts = [("specified values", a._nnz(), e._nnz())]
    if kind == "COO":
        counts.insert(0, ("sparse dimensions", a.sparse_dim(), e.sparse_dim()))
    for what, mine, other in counts:
        if mine != other:
            return (
                f"The number of {what} in sparse {kind} tensors does not match: {mine} != {other}"
            )
    exact = rules._replace(tolerances=(0, 0))
    for name in COMPRESSED[a.layout]:
        mine, other = getattr(a, name)(), getattr(e, name)()
        found = _unequal(mine, other, exact, f"Sparse {kind} {name.lstrip('_')}")
        if found:
            return found
    values = "_values" if kind == "COO" else "values"
    mine, other = getattr(a, values)(), getattr(e, values)()
    return _unequal(mine, other, rules, f"Sparse {kind} values")


def _unequal(a: Tensor, e: Tensor, rules: _Rules, what: str = "Tensor-likes") -> str:
    if a.dtype is e.dtype and a.dtype.is_stored and a.dtype.is_floating_point:
        return _other_bits(a, e, what)
    rtol, atol = _tolerances([a.dtype, e.dtype], rules)
    a, e = map(_computable, (a, e))
    common = nnkit.promote_types(a.dtype, e.dtype)
    a, e = a.to(common), e.to(common)
    close = nnkit.isclose(a, e, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    if close.all():
        return ""
    if not a.ndim:
        return _numbers_apart(a.item(), e.item(), rtol, atol)
    if not (common.is_floating_point or common.is_complex):
        a, e = a.long(), e.long()
    far = (a - e).abs().masked_fill(close, 0)
    relative = (far / e.abs()).masked_fill(close, 0)
    lines = [_share(close, what, not rtol and not atol)]
    for name, values, allowed in (("absolute", far, atol), ("relative", relative, rtol)):
        largest, at = values.flatten().max(0)
        index = _index_of(int(at), a.shape)
        difference = f"Greatest {name} difference: {largest.item()} at index {index}"
        lines.append(difference + _allowed(allowed, rtol, atol))
    return "\n".join(lines)


def _computable(t: Tensor) -> Tensor:
    """The tensor in a dtype that can be compared; what is only stored is cast."""
    if not t.dtype.is_stored:
        return t
    return t.to(nnkit.float32 if t.dtype.is_floating_point else nnkit.int64)


def _other_bits(a: Tensor, e: Tensor, what: str) -> str:
    """The comparison of numbers that are only stored, as floats of eight bits are."""
    same = a.view(nnkit.uint8) == e.view(nnkit.uint8)
    if same.all():
        return ""
    first = _index_of(int((~same).flatten().long().argmax()), a.shape)
    shares = _share(same, what, True).replace("not equal", "not 'equal'")
    return f"{shares}\nThe first mismatched element is at index {first}."


def _share(close: Tensor, what: str, equality: bool) -> str:
    wrong, total = int((~close).sum()), close.numel()
    return (
        f"{what} are not {'equal' if equality else 'close'}!\n\n"
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"
    )


def _index_of(place: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of an element, of which ``place`` is the one in row order."""
    index = []
    for size in reversed(shape):
        place, rest = divmod(place, size)
        index.append(rest)
    return tuple(reversed(index))


def _numbers_apart(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    far = abs(actual - expected)
    relative = math.inf if expected == 0 else far / abs(expected)
    return (
        f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {far}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def _allowed(tolerance: float, *all_of_them: float) -> str:
    return f" (up to {tolerance} allowed)" if any(all_of_them) else ""
