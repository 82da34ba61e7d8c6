"""torch._library.infer_schema: the schema of an operator, from a function's annotations."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

import nnkit

_WORDS = {
    nnkit.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    nnkit.dtype: "ScalarType",
    nnkit.device: "Device",
}
_RETURNED = {nnkit.Tensor, int, float, bool}


def infer_schema(
    prototype_function: Callable,
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema that a function's annotations declare, after ``op_name``.

    Raises:
        ValueError: a parameter or what is returned has no annotation or one that schemas have no
            word for, a parameter is not to be given by position and by name, or one of
            ``mutates_args`` is no parameter with tensors.

    Example:
        >>> def scaled(x: nnkit.Tensor, by: float = 2.0) -> nnkit.Tensor: ...
        >>> infer_schema(scaled, mutates_args=())
        '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def refuse(what: str) -> NoReturn:
        raise ValueError(f"infer_schema: {what}, in {signature}")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "infer_schema: mutates_args must be names of arguments or the string 'unknown', got "
            f"{mutates_args!r}"
        )
    try:
        kinds = get_type_hints(prototype_function)
    except NameError as error:
        refuse(f"an annotation is not a type ({error})")
    parts: list[str] = []
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind == parameter.KEYWORD_ONLY:
            parts += [] if "*" in parts else ["*"]
        elif parameter.kind != parameter.POSITIONAL_OR_KEYWORD:
            refuse(f"{name} must be an argument that is given by position or by name")
        if name not in kinds:
            refuse(f"parameter {name} must have a type annotation")
        word = _word(kinds[name])
        if word is None:
            refuse(f"parameter {name} has the type {kinds[name]}, which schemas have no word for")
        holds_tensors = word.startswith("Tensor")
        if holds_tensors if mutates_args == "unknown" else name in mutates_args:
            if not holds_tensors:
                refuse(f"{name} is in mutates_args and holds no tensors")
            word = word.replace("Tensor", f"Tensor(a{place}!)", 1)
        default = parameter.default
        if default is not parameter.empty and (said := _said(default)) is None:
            refuse(f"parameter {name} has a default of the type {type(default)}")
        parts.append(f"{word} {name}" + ("" if default is parameter.empty else f"={said}"))
    if mutates_args != "unknown" and (unknown := set(mutates_args) - signature.parameters.keys()):
        refuse(f"{unknown} in mutates_args were not found")
    if "return" not in kinds:
        refuse("what is returned must have a type annotation")
    returned = _returned(kinds["return"])
    if returned is None:
        refuse(f"the type {kinds['return']} cannot be returned")
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def _word(kind: Any) -> str | None:
    """The word of an annotation, as ``Tensor?``, ``SymInt[]`` and ``Scalar``; None if none is."""
    inner, origin = get_args(kind), get_origin(kind)
    if origin in (Union, types.UnionType):
        alone = tuple(each for each in inner if each is not type(None))
        word = "Scalar" if set(alone) == {int, float, bool} else None
        if len(alone) == 1:
            word = _word(alone[0])
        return word if len(alone) == len(inner) or word is None else word + "?"
    if origin in (list, Sequence):
        word = _word(inner[0])
        return word and word + "[]"
    return _WORDS.get(kind)


def _said(default: Any) -> str | None:
    if isinstance(default, str):
        return f'"{default}"'
    if isinstance(default, nnkit.dtype):
        return str(default).rpartition(".")[2]
    if isinstance(default, nnkit.device):
        return f'"{default}"'
    return str(default) if default is None or isinstance(default, (int, float)) else None


def _returned(kind: Any) -> str | None:
    if kind is type(None):
        return "()"
    if get_origin(kind) is tuple:
        words = [_returned(each) for each in get_args(kind)]
        if None in words:
            return None
        said = f"({', '.join(map(str, words))})"
        return f"({said})" if len(words) == 1 else said
    is_list = get_origin(kind) is list and get_args(kind) == (nnkit.Tensor,)
    word = _word(kind)
    return word if kind in _RETURNED or is_list or word == "Scalar" else None
