"""Data types, the default dtype, and PyTorch's type promotion, in one table.

A `dtype` pairs torch's name with the NumPy dtype of the arrays below the door. Promotion follows
torch's categories: bool < integer < floating < complex. Among tensors of the same priority the
lattice decides; a 0-dim tensor or a Python number only matters when its category is higher.

The wide unsigned integers and the floats of eight bits are there to be stored, moved and cast, as
in torch: few ops take them, and they promote to nothing but themselves (and unsigned to floats).
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

BOOL, INTEGER, FLOATING, COMPLEX = range(4)
# NumPy's classes that users hand over, for the floors that do not import NumPy.
NUMPY_ARRAY, NUMPY_SCALARS = np.ndarray, (np.bool_, np.number, np.object_)


def package_of(value: Any) -> str:
    """The package that the class of a value says it is of: `nnkit.compat` lets it say another."""
    return type(value).__module__.partition(".")[0]


class dtype:
    """A tensor's element type, such as ``nnkit.float32``; unique, hashable, printed by name."""

    __slots__ = ("array", "category", "is_signed", "itemsize", "kinds", "name")

    def __init__(self, name: str, array: Any, category: int) -> None:
        self.name = name
        self.array = np.dtype(array)
        self.category = category
        # The words by which ops say what they are not defined for.
        self.kinds = {name, ("bool", "integer", "floating", "complex")[category]}
        self.itemsize = self.array.itemsize
        self.is_signed = not name.startswith(("bool", "uint", "float8_e8m0"))
        if category == FLOATING and self.itemsize == 2:
            self.kinds.add("half")
        if category == INTEGER and not self.is_signed and self.itemsize > 1:
            self.kinds.add("unsigned")
        if category == FLOATING and self.itemsize == 1:
            self.kinds.add("float8")

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def is_stored(self) -> bool:
        """Whether it is there to be stored, moved and cast, and few ops compute with it."""
        return not self.kinds.isdisjoint(("unsigned", "float8"))

    @property
    def scalar_type(self) -> str:
        """Its name in torch's errors: ``Float`` of float32."""
        return SCALAR_TYPES.get(self.name) or self.name.replace("uint", "UInt").replace(
            "float8", "Float8"
        )

    @property
    def type_name(self) -> str:
        """Its name in torch's other errors, in C++: ``long int`` of int64."""
        return TYPE_NAMES.get(self.name) or f"c10::{self.scalar_type}"

    def to_real(self) -> dtype:
        """The real dtype of a complex one: complex64 -> float32."""
        return _TO_REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts have this precision: float64 -> complex128.

        Raises:
            RuntimeError: there is none for a dtype that is only stored, or for integers.
        """
        if self.category == COMPLEX:
            return self
        if self.category != FLOATING or self.is_stored:
            raise RuntimeError(f"to_complex(): no complex dtype has parts of {self.name}")
        return complex128 if self is float64 else complex64

    def __repr__(self) -> str:
        return f"{package_of(self)}.{self.name}"

    def __reduce__(self):
        return (_by_name, (self.name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict) -> dtype:
        return self


def _by_name(name: str) -> dtype:
    return DTYPES[name]


bool_ = dtype("bool", np.bool_, BOOL)
uint8 = dtype("uint8", np.uint8, INTEGER)
int8 = dtype("int8", np.int8, INTEGER)
int16 = dtype("int16", np.int16, INTEGER)
int32 = dtype("int32", np.int32, INTEGER)
int64 = dtype("int64", np.int64, INTEGER)
float16 = dtype("float16", np.float16, FLOATING)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING)
float32 = dtype("float32", np.float32, FLOATING)
float64 = dtype("float64", np.float64, FLOATING)
complex64 = dtype("complex64", np.complex64, COMPLEX)
complex128 = dtype("complex128", np.complex128, COMPLEX)
uint16 = dtype("uint16", np.uint16, INTEGER)
uint32 = dtype("uint32", np.uint32, INTEGER)
uint64 = dtype("uint64", np.uint64, INTEGER)
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOATING)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOATING)
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOATING)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOATING)
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOATING)

DTYPES = {
    d.name: d
    for d in (
        bool_, uint8, int8, int16, int32, int64,
        float16, bfloat16, float32, float64, complex64, complex128, uint16, uint32, uint64,
        float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu,
    )
}  # fmt: skip
ALIASES = {
    "half": float16,
    "float": float32,
    "double": float64,
    "cfloat": complex64,
    "cdouble": complex128,
    "short": int16,
    "int": int32,
    "long": int64,
}
# The names by which torch's early classes and its errors know them: FloatTensor.
TYPE_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
    "int32": "int", "int64": "long int", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
SCALAR_TYPES = {
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
_TO_REAL = {complex64: float32, complex128: float64}

# The dtype of an array: `OF_ARRAY[array.dtype]`.
OF_ARRAY = {d.array: d for d in DTYPES.values()}
# Computed in float32 and rounded once.
HALF = frozenset(d.array for d in DTYPES.values() if d.category == FLOATING and d.itemsize <= 2)

_INTEGERS = (int8, int16, int32, int64)
_default = float32


def default_dtype() -> dtype:
    """The dtype of floating-point tensors made without one."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Make ``d`` the default floating dtype (float16, bfloat16, float32 or float64).

    Example:
        >>> import nnkit
        >>> nnkit.set_default_dtype(nnkit.float64)
        >>> nnkit.tensor([1.0]).dtype
        nnkit.float64
        >>> nnkit.set_default_dtype(nnkit.float32)
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: got {d!r}, expected an nnkit.dtype")
    if not d.is_floating_point or d.is_stored:
        raise TypeError(
            f"only floating-point types are supported as the default type, but got {d!r}"
        )
    _default = d


def _promote(a: dtype, b: dtype) -> dtype | None:
    """The common dtype; None where there is none."""
    if a is b:
        return a
    if a.is_stored or b.is_stored:
        high, low = (a, b) if a.category > b.category else (b, a)
        taken = "unsigned" in low.kinds and high.category == FLOATING and not high.is_stored
        return high if taken else None
    if a.category != b.category:
        high, low = (a, b) if a.category > b.category else (b, a)
        # float64 with complex64 keeps the double's precision.
        return complex128 if high is complex64 and low is float64 else high
    if a.category == INTEGER:
        signed = [d for d in (a, b) if d is not uint8]
        if len(signed) == 1:
            return max(signed[0], int16, key=_INTEGERS.index)
        return max(a, b, key=_INTEGERS.index)
    if {a, b} == {float16, bfloat16}:
        return float32
    return a if a.itemsize > b.itemsize else b


class _Promotions(dict[tuple[dtype, dtype], dtype]):
    """The common dtype of each pair that has one."""

    def __missing__(self, pair: tuple[Any, Any]) -> dtype:
        for d in pair:
            if not isinstance(d, dtype):
                raise TypeError(f"promote_types(): expected an nnkit.dtype, got {d!r}")
        a, b = pair
        raise RuntimeError(
            f"{a.name} and {b.name} have no common dtype: what is only stored is not promoted, "
            "cast one of them first"
        )


_TABLE = _Promotions()
for _a in DTYPES.values():
    for _b in DTYPES.values():
        _common = _promote(_a, _b)
        if _common is not None:
            _TABLE[_a, _b] = _common


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both convert to, as ``torch.promote_types``.

    Raises:
        RuntimeError: there is none, as one of them is only stored (uint16, float8_e5m2, ...).
        TypeError: one of them is no dtype.

    Example:
        >>> import nnkit
        >>> nnkit.promote_types(nnkit.int64, nnkit.float16)
        nnkit.float16
    """
    return _TABLE[type1, type2]


def python_number(value: Any) -> Any:
    """One of NumPy's scalars as Python's, which leaves the dtype to the tensors; else itself.
    To torch NumPy's bools are floats."""
    if isinstance(value, np.generic):
        return float(value) if isinstance(value, np.bool_) else value.item()
    return value


def held(value: Any, d: dtype) -> Any:
    """The number as an element of half precision holds it; of other dtypes the number itself."""
    if d.array not in HALF:
        return value
    with np.errstate(over="ignore"):
        return d.array.type(np.float32(value)).item()  # by way of float32, as torch


def of_number(value: Any) -> dtype:
    """The dtype that a number, Python's or NumPy's, stands for in a mixed expression.

    Raises:
        OverflowError: an int that neither int64 nor uint64 holds.
    """
    value = python_number(value)
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            negative = "can't convert negative int to unsigned"
            raise OverflowError(f"{'int too big to convert' if value > 0 else negative}: {value}")
        return int64
    if isinstance(value, float):
        return _default
    return _default.to_complex()


def of_operand(value: Any) -> dtype:
    """`of_number` of an operand, where an int beyond int64 is one of uint64."""
    d = of_number(value)
    return uint64 if d is int64 and value >= 1 << 63 else d


def result_dtype(operands: list[tuple[dtype, int]]) -> dtype:
    """Promote operands given as (dtype, priority): 0 for tensors with dimensions, 1 for 0-dim
    tensors, 2 for Python numbers. A lower rank only counts if its category is higher."""
    result: dtype | None = None
    for priority in range(3):
        level: dtype | None = None
        for d, p in operands:
            if p == priority:
                level = d if level is None else _TABLE[level, d]
        if level is None:
            continue
        if result is None:
            result = level
        elif level.category > result.category:
            if level.category == COMPLEX and result.category == FLOATING:
                level = result.to_complex()
            result = _TABLE[result, level] if result is bool_ else level
    assert result is not None
    return result


def to_float(d: dtype) -> dtype:
    """The dtype of a function's floating results: an integer or bool gives the default one."""
    return d if d.category >= FLOATING else _default
