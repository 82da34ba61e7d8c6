"""What is wrong with an answer of nnkit to a call, beside torch's; and what may differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.harness.call import builtin_type, dtype_name, to_array
from tests.harness.table import ROWS
from tests.harness.tolerances import TOLERANCES

# Words of NumPy, of Python about objects that the user never passed, and of nnkit's inside.
INSIDE = re.compile(
    r"numpy|ufunc|dtype\('|could not be broadcast|[Cc]annot cast|has no attribute '_"
    r"|has no attribute|object is not|not supported between|unsupported operand|\b_data\b"
    r"|<lambda>|catalogue|memoryview|buffer source|inhomogeneous|not subscriptable"
    r"|expected \d+ arguments, got|must be real number|\baxis\b|keepdims|cannot be interpreted"
)
RAW = (AttributeError, KeyError, AssertionError, UnboundLocalError, NameError, SystemError)


@dataclass
class Answer:
    """What came of a call: results, or the error."""

    results: list[Any]
    error: BaseException | None = None

    @property
    def kind(self) -> str:
        return "" if self.error is None else builtin_type(self.error).__name__


@dataclass(frozen=True)
class Allowed:
    """A difference that stays: patterns over torch's error and nnkit's ("" is success)."""

    reason: str
    torch: str
    nnkit: str
    path: str = ""  # a pattern over the function's


ALLOWED: list[Allowed] = [
    Allowed(
        "nnkit looks at the types of all arguments first; torch's functions in Python fail where a "
        "wrong one is used",
        r"Error: ",
        r"^(Type|Value)Error: .*((must|should) be|is not an) "
        r"|^RuntimeError: .* must be an int or a tuple",
    ),
    Allowed(
        "and some of torch's go on with a number in place of a tensor, or with a broken number",
        r"^$",
        r"^TypeError: .* must be (Tensor, not|int .*, not float|bool, not int)",
        r"^nn\.functional\.",
    ),
    Allowed(
        "what torch's functions in Python run into by chance: Python's own errors",
        r"^(Type|Value|Attribute|Index)Error: (only integers, slices|unsupported operand"
        r"|can only concatenate|len\(\) of|'.+' not supported|.+ object|not enough values"
        r"|too many values|.+ must be a sequence)",
        r"",
    ),
    Allowed(
        "torch trips over a dimension that a tensor lacks; nnkit says what shape it expects",
        r"^IndexError: (Dimension (out of range|specified as)|tuple index)",
        r"^(RuntimeError|ValueError): .*(dimension|shape|\dD|expected)",
    ),
    Allowed(
        "torch uses the truth of what should be a bool",
        r"ambiguous",
        r"^TypeError: .* (must|should) be",
    ),
    Allowed(
        "nnkit takes a NumPy array of no dimensions, and a bool, for the number that it is",
        r"^TypeError: .*not numpy.ndarray|^RuntimeError: Boolean alpha",
        r"^$",
    ),
    Allowed("flags of nn.functional count by their truth", r"must be bool", r"^$|ambiguous"),
    Allowed(
        "NotImplementedError is a RuntimeError: which of the two torch takes is chance",
        r"^(RuntimeError|NotImplementedError)",
        r"^(RuntimeError|NotImplementedError)",
    ),
    Allowed(
        "an argument is given twice, and is wrong by itself too",
        r"got multiple values|got an unexpected keyword",
        r"Error: ",
    ),
    Allowed(
        "an int beyond 64 bits: which of three types torch takes is chance",
        r"^(Overflow|Type|Value)Error: .*(Overflow when unpacking|too big|int too large)",
        r"^(Overflow|Type|Value|Runtime)Error: ",
    ),
    Allowed("torch takes an int below -2**63 for an unsigned one", r"^OverflowError", r""),
    Allowed("nnkit serves more dtypes", r"^NotImplementedError: .* not implemented for", r"^$"),
    Allowed("nnkit has no complex form of some losses", r"^$", r"not implemented for 'complex"),
    Allowed(
        "losses of integers and bools: nnkit computes them in the promoted floating dtype",
        r"^RuntimeError: (result type|mean\(\): could not infer|Negation|Subtraction)",
        r"^$",
        r"^nn\.functional\..*loss|binary_cross_entropy",
    ),
    Allowed(
        "the memory of a NumPy array, which the fuzzer's tensors have, cannot be resized in torch",
        r"^RuntimeError: Trying to resize storage that is not resizable",
        r"^$",
    ),
    Allowed(
        "torch's lstm hands wrong sizes to oneDNN, which reads what lies beyond",
        r"",
        r"^RuntimeError: lstm\(\)",
        r"^lstm$",
    ),
    Allowed(
        "torch takes any number for the type of its class",
        r"^$",
        r"^(TypeError: to|ValueError: device)\(\)",
        r"^Tensor\.to$",
    ),
    Allowed(
        "the method without arguments is the function of repeats alone",
        r"^TypeError",
        r"^$|^RuntimeError: repeat_interleave\(\): repeats",
        r"^Tensor\.repeat_interleave$",
    ),
    Allowed("torch asks for an accelerator", r"^RuntimeError: Cannot access acc", r"^$"),
    Allowed(
        "torch's deprecated forms with `alpha` or `beta` in front",
        r"^$",
        r"^TypeError: .* got multiple values",
        r"(add|sub|mm|mv|mul|addr|cmul|cdiv)_?$",
    ),
]


def _memory(found: Answer) -> bool:
    return isinstance(found.error, MemoryError) or "can't allocate memory" in str(found.error)


def _said(each: Answer) -> str:
    return f"{each.kind}: {each.error}" if each.error is not None else ""


# Functions whose values are left open: memory that nobody has written; which of equal elements is
# chosen; what LAPACK makes of matrices of ones, which are singular.
OPEN = re.compile(
    r"empty|resize_|Tensor\.new$|topk|sort|kthvalue|median|mode$"
    r"|qr|svd|eig|pinv|det$|lu_|solve|inv$|inverse|lstsq|cond$|matrix_rank|householder"
)


def described(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{dtype_name(value)}{list(value.shape)}"
    return type(value).__name__ if isinstance(value, (bool, int, float, complex, str)) else ""


def difference(path: str, changes: int, wanted: Answer | None, found: Answer) -> str:
    """What is wrong with nnkit's answer; empty if nothing is."""
    if found.error is not None:
        message = str(found.error)
        own = message.replace("torch", "")
        inside = INSIDE.search(own)
        if inside and (wanted is None or not INSIDE.search(str(wanted.error))):
            return f"speaks of its inside: {inside.group()}"
    if wanted is None:
        raw = found.error is not None and isinstance(found.error, RAW)
        return f"raises {found.kind}" if raw else ""
    if _memory(wanted) or _memory(found):
        return ""
    if wanted.kind != found.kind:
        if changes > 1 and wanted.kind and found.kind:
            return ""  # two arguments are wrong, and either may be found first
        mine, theirs = _said(found), _said(wanted)
        for each in ALLOWED:
            if (
                re.search(each.torch, theirs, re.DOTALL)
                and re.search(each.nnkit, mine, re.DOTALL)
                and re.search(each.path, path)
            ):
                return ""
        return f"{wanted.kind or 'success'} -> {found.kind or 'success'}"
    if found.error is not None:
        return ""
    one, other = ([described(value) for value in each.results] for each in (wanted, found))
    if one != other:
        return f"{'/'.join(one[:3])} -> {'/'.join(other[:3])}"
    if OPEN.search(path):
        return ""
    own = ROWS[path].tolerance if path in ROWS else {}
    if not all(agree(*pair, own) for pair in zip(wanted.results, found.results, strict=True)):
        return "values"
    return ""


def agree(want: Any, got: Any, own: dict[str, tuple[float, float]]) -> bool:
    """Whether two results have the same values, within the tolerance of their dtype."""
    if hasattr(want, "detach"):
        if want.requires_grad != got.requires_grad:
            return False
        dtype = dtype_name(want)
        rtol, atol = own.get(dtype) or TOLERANCES.get(dtype, (0, 0))
        one, other = to_array(want), to_array(got)
        return one.dtype == other.dtype and np.allclose(other, one, rtol, atol, equal_nan=True)
    if type(want) is not type(got):  # objects of the frameworks' own
        return type(want).__module__ != "builtins"
    if isinstance(want, (float, complex)):
        return bool(np.isclose(got, want, 1e-5, 1e-6, equal_nan=True))
    return want == got
