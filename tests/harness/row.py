"""A row of the op table: what an op is called, what it is fed, and what it promises.

A subject's rows stand in ``tests/ops/<subject>.py`` as ``ROWS = [OpRow(...), ...]``. One row drives
every check in ``tests/test_ops.py``:

    OpRow(
        "atan2",                                                  # nnkit.atan2 against torch.atan2
        lambda make: [Sample(make(3, 4), make(3, 4))],            # plain NumPy arrays, seeded
        domain=(0.2, 2.0),                                        # away from where it is not smooth
        elementwise=True,                                         # broadcasts, takes any shape
        out=True, inplace="atan2_", method="atan2",               # its other forms
        errors=lambda make: [Raises(TypeError, "other", make(2))],
    )
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")
BOOL = ("bool",)
REALS = FLOATS + INTS
NUMBERS = REALS + COMPLEX
ALL = NUMBERS + BOOL

# Fed to every element-wise row in every combination: signs, kinks, overflow, what is no number.
SPECIALS = (
    *(-np.inf, -1e30, -100.0, -3.0, -1.0, -0.5, -0.0),
    *(0.0, 0.5, 1.0, 3.0, 100.0, 1e30, np.inf, np.nan),
)


class Sample:
    """The arguments of one call: NumPy arrays become tensors, all else is handed over as it is."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.args = args
        self.kwargs = kwargs


class Raises(Sample):
    """A call that must fail with exactly this type, torch's too, and ``noun`` in the message."""

    def __init__(self, error: type[BaseException], noun: str, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.error = error
        self.noun = noun


@dataclass(frozen=True)
class Named:
    """What both frameworks have under one name: ``Named("float64")`` is ``nnkit.float64``."""

    name: str


@dataclass(frozen=True, eq=False)
class Fixed:
    """A floating tensor argument that is never differentiated, such as the weight of a loss."""

    array: np.ndarray


@dataclass(frozen=True)
class OpRow:
    """One op. ``name`` is the path under ``nnkit``: "add", "nn.functional.gelu", "Tensor.fill_"."""

    name: str
    samples: Callable[[Maker], Sequence[Sample]]
    torch: str | None = None  # its path under torch, where that is another one
    aliases: tuple[str, ...] = ()  # further public names of the same function
    dtypes: tuple[str, ...] = FLOATS
    domain: tuple[float, float] | None = None  # of the values that `make` draws, (-2, 2) otherwise

    differentiable: bool = True  # some output of the first sample has a gradient
    second_order: bool = True  # and that gradient has one
    straight_through: bool = False  # that gradient is no derivative, and differences say nothing
    any_layout: bool = True  # takes any strides; what reads memory anew does not
    elementwise: bool = False  # its arrays broadcast: shapes and SPECIALS are tried by themselves
    broadcasts: bool = True  # False where torch's own gradient fails on it
    specials: tuple[float, ...] = SPECIALS
    edges: Callable[[Maker], Sequence[Sample]] | None = (
        None  # zero sizes, 0 dimensions, ties, kinks
    )

    out: bool = False  # takes out=
    casts_to_out: bool = False  # and computes in its dtype
    tracks_out: bool = False  # and records the write, where others refuse what requires grad
    again: str = ""  # why another backward, or one through the gradients, is not as in torch
    keeps: str = ""  # why it keeps, unlike torch, what may then not be written before backward
    # What writes into its first argument: "add_" the Tensor method, "nn.functional.relu_" the
    # function, "inplace=True" the op itself with that keyword.
    inplace: str | tuple[str, ...] = ()
    inplace_gradient: bool = True  # whether that has a gradient
    method: str | None = None  # the Tensor method that is the same function
    errors: Callable[[Maker], Sequence[Raises]] | None = None

    tolerance: dict[str, tuple[float, float]] = field(default_factory=dict)  # dtype: (rtol, atol)
    reason: str = ""  # why the common tolerance does not do

    def __post_init__(self) -> None:
        if bool(self.tolerance) != bool(self.reason):
            raise ValueError(
                f"{self.name}: a tolerance of its own needs a reason, and only that does"
            )

    @property
    def torch_name(self) -> str:
        return self.torch or self.name


class Maker:
    """Draws the arrays of a row's samples; the same row and dtype give the same numbers."""

    def __init__(self, row: OpRow, dtype: str):
        self.dtype = dtype
        self.row = row
        self.domain = row.domain
        # RandomState's stream never changes, which the frozen expectations need.
        self.random = np.random.RandomState(zlib.crc32(f"{row.name}/{dtype}".encode()))

    def __call__(
        self,
        *shape: int,
        low: float | None = None,
        high: float | None = None,
        dtype: str | None = None,
    ) -> np.ndarray:
        """Uniform between low and high: else in the row's domain, (-2, 2), for integers (-9, 9)."""
        dtype = dtype or self.dtype
        integral = dtype in INTS
        domain = self.domain or ((-9, 9) if integral else (-2.0, 2.0))
        low = domain[0] if low is None else low
        high = domain[1] if high is None else high
        if dtype == "bool":
            return self.random.randint(0, 2, shape).astype(bool)
        if integral:
            low = max(low, 0) if dtype == "uint8" else low
            whole = self.random.randint(int(np.ceil(low)), int(np.floor(high)) + 1, shape)
            return np.asarray(whole).astype(dtype)
        values = np.asarray(self.random.uniform(low, high, shape))
        if dtype in COMPLEX:
            values = np.asarray(values + 1j * self.random.uniform(low, high, shape))
        return values.astype(numpy_dtype(dtype))

    def index(self, *shape: int, below: int, dtype: str = "int64") -> np.ndarray:
        """Integers from 0 up to and without ``below``."""
        return np.asarray(self.random.randint(0, below, shape)).astype(dtype)

    def mask(self, *shape: int) -> np.ndarray:
        """Booleans."""
        return np.asarray(self.random.randint(0, 2, shape)).astype(bool)

    def distinct(self, *shape: int, dtype: str | None = None) -> np.ndarray:
        """Values without ties, at least 1/8 apart, for what sorts or selects."""
        count = int(np.prod(shape))
        order = self.random.permutation(count) - count // 2
        dtype = dtype or self.dtype
        scale = 1 if dtype in INTS else 0.125
        return (order * scale).reshape(shape).astype(numpy_dtype(dtype))

    def named(self, name: str | None = None) -> Named:
        """The framework's own dtype (or other constant) of that name, else of this maker's."""
        return Named(name or self.dtype)


def numpy_dtype(name: str) -> np.dtype:
    """NumPy's dtype by torch's name."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
