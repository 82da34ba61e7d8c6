"""The operations of exported programs, by the names that files have for them.

A program consists of public functions and of methods of Tensor. What is not in these tables cannot
be exported, and a file that names it is refused.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import nnkit
from nnkit.autograd.grad_mode import is_grad_enabled, set_grad_enabled
from nnkit.autograd.op.public import METHODS, PUBLIC
from nnkit.autograd.tensor import Tensor
from nnkit.export.traced_number import ARITHMETIC, check_size

# Names that tell values to Python, run Python, or touch files, memory of others or generators.
_NO_OPERATIONS = frozenset(
    (
        *("apply_", "as_subclass", "backward", "data_ptr", "equal", "from_dlpack", "from_file"),
        *("from_numpy", "frombuffer", "get_rng_state", "initial_seed", "is_nonzero", "item"),
        *("manual_seed", "map_", "map2_", "new", "numpy", "seed", "set_", "set_rng_state"),
        *("share_memory_", "storage", "tolist", "untyped_storage"),
    )
)
# Methods that Tensor has from elsewhere than the table of public functions.
_OTHER_METHODS = re.compile(
    r"(detach|requires_grad|squeeze|t|unsqueeze)_|detach|__(abs|invert|neg|pos|eq|ne|lt|le|gt|ge)__"
    r"|__[ir]?(add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift)__"
)
PROPERTIES = ("H", "T", "data", "imag", "mH", "mT", "real")


def enter_grad_mode(mode: bool) -> bool:
    """Switch the recording of gradients on or off; whether it was on."""
    before = is_grad_enabled()
    set_grad_enabled(mode)
    return before


def _held(place: Any, prefix: str) -> dict[str, Callable]:
    return {
        prefix + name: function
        for name, function in vars(place).items()
        if hasattr(function, "learn") and not name.startswith("_")
    }


def _functions() -> dict[str, Callable]:
    found = {
        name: function
        for name, function in PUBLIC.items()
        if callable(function) and not isinstance(function, type) and name not in _NO_OPERATIONS
    }
    for place, prefix in (
        (nnkit.nn.functional, "nn.functional."), (nnkit.fft, "fft."),
        (nnkit.linalg, "linalg."), (nnkit.special, "special."),
    ):  # fmt: skip
        found |= _held(place, prefix)
    found |= {f"operator.{name}": function for name, function in ARITHMETIC.items()}
    found |= {
        "operator.neg": operator.neg, "operator.getitem": operator.getitem,
        "operator.setitem": operator.setitem, "getattr": getattr, "check_size": check_size,
        "enter_grad_mode": enter_grad_mode,
    }  # fmt: skip
    return found


def _methods() -> dict[str, Callable]:
    own = {
        name: method
        for name, method in METHODS.items()
        if not name.startswith("_") and name not in _NO_OPERATIONS
    }
    others = {name: f for name, f in vars(Tensor).items() if _OTHER_METHODS.fullmatch(name)}
    return {**others, **own}


FUNCTIONS = _functions()
METHODS_OF_TENSOR = _methods()
_NAMES = {id(function): name for name, function in reversed(FUNCTIONS.items())}
_NAMES_OF_METHODS = {id(method): name for name, method in reversed(METHODS_OF_TENSOR.items())}
_INDEXING = {
    id(METHODS["__getitem__"]): operator.getitem, id(METHODS["__setitem__"]): operator.setitem,
}  # fmt: skip
GETTERS = {getattr(Tensor, name).__get__: name for name in PROPERTIES}
SHAPE = Tensor.shape.__get__  # type: ignore[attr-defined]


def operation(function: Any) -> tuple[str, Any] | None:
    """The kind and the target of the operation that calls a function; None if it is none."""
    key = id(function)
    if key not in _NAMES and hasattr(function, "__wrapped__"):  # a method that a subclass inherits
        inherited = id(function.__wrapped__)
        key = inherited if inherited in _NAMES_OF_METHODS else key
    if key in _INDEXING:
        return "call_function", _INDEXING[key]
    if key in _NAMES_OF_METHODS:
        return "call_method", _NAMES_OF_METHODS[key]
    return ("call_function", function) if key in _NAMES else None


def name_of(function: Any) -> str:
    """The name of a function in a file."""
    return _NAMES[id(function)]
