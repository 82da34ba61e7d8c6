"""The check of the arguments of public functions against the annotations of their parameters.

torch's parser checks every argument before anything is computed, and names the one of a wrong type
in a TypeError. Here the annotation of a parameter says what it takes, and `held` wraps a function
in a check of its arguments: of their classes where that suffices, otherwise of the values.
"""

from __future__ import annotations

import functools
import itertools
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nnkit.autograd.arguments.casting import CASTING, call_cast
from nnkit.autograd.arguments.overriding import (
    ENTERED,
    PLAIN,
    answer,
    is_intercepted,
    is_plain,
    overriding,
)
from nnkit.autograd.arguments.sizes import check_integers, integer, is_int64
from nnkit.autograd.compiled import bind_held
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import USUAL, Out, call_into
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.refusals import check_history
from nnkit.backend.device import device
from nnkit.backend.dtype import BOOL, FLOATING, NUMPY_SCALARS, dtype, of_number, python_number
from nnkit.backend.errors import HostMemoryError
from nnkit.backend.memory import layout, memory_format
from nnkit.backend.warning import warn

# Parameters that take data to make a tensor of, of any class.
_DATA = {"data", "obj", "ndarray", "buffer", "ext_tensor"}
# NumPy's names of parameters, which torch accepts as well.
NUMPY_NAMES = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
}  # fmt: skip


class Kind:
    """A type of argument, read from an annotation.

    Attributes:
        words: its name in messages.
        classes: classes all of whose instances are accepted; more are added when they are met.
        takes: whether a value of another class is accepted.
    """

    __slots__ = ("classes", "takes", "words")

    def __init__(self, words: str, classes: Iterable[type], takes: Callable[[Any], bool]) -> None:
        self.words = words
        self.classes = set(classes)
        self.takes = takes

    def __or__(self, other: Kind) -> Kind:
        words = f"{self.words} or {other.words}" if other is not NONE else self.words
        takes = [kind.takes for kind in (self, other)]
        classes = self.classes | other.classes
        return Kind(words, classes, lambda value: any(take(value) for take in takes))


def _instance(words: str, *classes: type) -> Kind:
    return Kind(words, classes, lambda value: isinstance(value, classes))


def _is_scalar(value: Any) -> bool:
    """Whether a value is a 0-dim tensor that may be passed as a number."""
    return isinstance(value, Tensor) and not value._array.ndim and not value._requires_grad


def is_int(value: Any) -> bool:
    value = python_number(value)
    if isinstance(value, int):
        return not isinstance(value, bool)
    return _is_scalar(value) and BOOL < value.dtype.category < FLOATING


def _is_real(value: Any) -> bool:
    return isinstance(python_number(value), (int, float)) or _is_scalar(value)


def is_number(value: Any) -> bool:
    return isinstance(python_number(value), (int, float, complex)) or _is_scalar(value)


TYPES = (bool, int, float, complex)  # Python's types that may be passed as dtypes
FLAG = {bool, type(None)}
NONE = Kind("None", [type(None)], lambda value: False)
KINDS = {
    Tensor: Kind("Tensor", [Tensor], lambda value: isinstance(value, Tensor)),
    bool: Kind("bool", [bool], lambda value: isinstance(python_number(value), bool)),
    int: Kind("int", [int], is_int),
    float: Kind("float", [float, int, bool], _is_real),
    complex: Kind("Number", [float, int, bool, complex], is_number),
    str: _instance("str", str),
    Sequence[int]: _instance("tuple of ints", tuple, list, Size),
    dtype: Kind("nnkit.dtype", [dtype], lambda value: any(value is t for t in TYPES)),
    device: Kind(
        "nnkit.device",
        [device, str, int],
        lambda value: isinstance(value, (device, str, int)) and not isinstance(value, bool),
    ),
    layout: _instance("nnkit.layout", layout),
    memory_format: _instance("nnkit.memory_format", memory_format),
    type(None): NONE,
}
# The functions (and methods) that can still be called in a deprecated form.
_OLD_FORMS = frozenset("add sub addcmul addcdiv addmm addmv addr addbmm baddbmm".split())
# The values that parameters of these names take if they are annotated by Any.
NAMED: dict[str, Any] = {
    "dtype": dtype | None, "device": device | None, "layout": layout | None,
    "memory_format": memory_format | None, "ord": float | str | None, "out": Tensor | None,
}  # fmt: skip


def take(name: str, made: type) -> None:
    """Let parameters called ``name`` take objects of a class that this file cannot import."""
    KINDS[made] = _instance(made.__name__, made)
    NAMED[name] = made | None


def kind_of(name: str, annotation: Any, scope: dict[str, Any]) -> Kind | None:
    """The type of argument that an annotation means; None if it allows anything."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)
        except (NameError, TypeError):  # a name that only type checkers know
            return None
    if annotation is Any:
        annotation = NAMED.get(name, Any)
    parts = [annotation]
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        parts = [*typing.get_args(annotation)]
    kinds = [KINDS.get(part) for part in parts]
    if None in kinds:
        return None
    return functools.reduce(lambda one, other: one | other, kinds)  # pyright: ignore


class Signature:
    """The parameters of a function, and what each of them takes."""

    def __init__(self, function: Callable, name: str, is_method: bool, lax: bool) -> None:
        import inspect  # slow to import, and `Signature` is made on a function's first call

        own = inspect.unwrap(function)
        self.declared = inspect.signature(function)
        self.name = name
        self.is_method = is_method
        self.positional: list[str] = []
        self.kinds: dict[str, Kind | None] = {}
        for each in self.declared.parameters.values():
            kind = kind_of(each.name, each.annotation, own.__globals__)
            if is_method and not self.kinds:
                kind = KINDS[Tensor]
            if lax and kind is not None and kind.classes <= {*FLAG, str}:
                kind = None
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
                self.positional.append(each.name)
            if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                self.kinds[each.name] = kind
        # By position, a tensor may be another operand instead of a dimension; by name it may not.
        self.named = dict(self.kinds)
        dim = self.kinds.get("dim")
        if dim is not None and {Tensor, int} <= dim.classes:
            self.named["dim"] = KINDS[int]
        # Keywords that, in the deprecated form, are passed by position after the first tensor.
        known = name.rstrip("_") in _OLD_FORMS
        self.factors = [f for f in ("beta", "alpha", "value") if known and f in self.kinds]

    def renewed(self, arguments: tuple, options: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a call, converted if it has the deprecated form. In that form of a
        function (not a method), ``beta`` is the first argument."""
        count = len(arguments) - len(self.positional)
        by_name = not options.keys().isdisjoint((*self.factors, *self.positional))
        if by_name or not 0 < count <= len(self.factors):
            return arguments, options
        input, *others = self.positional
        names = [input, *self.factors[:count], *others]
        if names[1] == "beta" and not self.is_method:
            names[:2] = "beta", input
        warn(
            f"This overload of {self.name} is deprecated: numbers before the other tensors should "
            "be given as keywords"
        )
        options = dict(zip(names, arguments)) | options
        return tuple([options.pop(name) for name in self.positional]), options

    def spelled_out(
        self, arguments: tuple, options: dict[str, Any], out: bool
    ) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a call as a function that torch defines in Python tells them to
        overrides: parameters without a default by position, all others by name, given or not.

        Args:
            out: whether ``out`` is one of them: of the function, but not of the method.

        Raises:
            TypeError: an argument is missing, or there is no parameter for it.
        """
        target = options.pop("out", None) if out else None
        try:
            given = self.declared.bind(*arguments, **options)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None
        given.apply_defaults()
        first, named = [], {}
        for each in self.declared.parameters.values():
            value = given.arguments[each.name]
            if each.kind is each.VAR_POSITIONAL:
                first += value
            elif each.default is each.empty:
                first.append(value)
            else:
                if out and each.name == "dtype":  # the last one, which follows it in torch
                    named["out"] = target
                named[each.name] = value
        if self.is_method:
            named.pop("out", None)
        elif out:
            named.setdefault("out", target)
        return tuple(first), named

    def checked(self, name: str, value: Any) -> Any:
        """An argument as its parameter takes it: a 0-dim tensor is turned into a number if need
        be, and a number of NumPy into one of Python.

        Raises:
            TypeError: the argument has a wrong type.
            ValueError: an int does not fit into int64.
            OverflowError: a number fits neither into int64 nor into uint64.
        """
        return self._taken(self.kinds.get(name), name, value)

    def checked_by_name(self, name: str, value: Any) -> Any:
        """`checked`, for a keyword argument."""
        return self._taken(self.named.get(name), name, value)

    def _taken(self, kind: Kind | None, name: str, value: Any) -> Any:
        if kind is None:
            return value
        if value.__class__ not in kind.classes:
            if not kind.takes(value):
                raise TypeError(
                    f"{self.name}(): argument '{name}' must be {kind.words}, "
                    f"not {type(value).__name__}"
                )
            if isinstance(value, Tensor):
                if Tensor not in kind.classes:
                    return self._number(kind, name, value.item())
                if is_plain(value):
                    kind.classes.add(value.__class__)  # a Parameter
            else:
                value = python_number(value)
        if isinstance(value, (tuple, list)) and tuple in kind.classes:
            for position, each in enumerate(value):
                taken = each is None or is_int(each) or (position and isinstance(each, bool))
                if not taken:  # torch accepts bools, except in the first place
                    raise TypeError(
                        f"{self.name}(): argument '{name}' must be tuple of ints, but found "
                        f"element of type {type(each).__name__} at pos {position}"
                    )
            if any(isinstance(each, NUMPY_SCALARS) for each in value):
                value = [python_number(each) for each in value]
            check_integers(self.name, name, [each for each in value if each.__class__ is int])
        if value.__class__ is int:
            if float not in kind.classes:
                return integer(self.name, name, value)
            number: int = value  # pyright: ignore[reportAssignmentType]
            if not -(1 << 63) <= number < 1 << 64 and complex in kind.classes:
                of_number(number)
        return value

    def _number(self, kind: Kind, name: str, number: Any) -> Any:
        """The number in a 0-dim tensor, a real one if complex numbers are not accepted."""
        if not isinstance(number, complex) or complex in kind.classes:
            return number
        if number.imag:
            raise RuntimeError(
                f"{self.name}(): argument '{name}': value cannot be converted to type double "
                f"without overflow: {number}"
            )
        return number.real

    def renamed(self, options: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments, with NumPy's names replaced by torch's."""
        names = {
            name: NUMPY_NAMES[name]
            for name in options
            if name in NUMPY_NAMES
            and name not in self.kinds
            and NUMPY_NAMES[name] in self.kinds
            and NUMPY_NAMES[name] not in options
        }
        return {names.get(name, name): value for name, value in options.items()}


def _known(name: str, kind: Kind | None) -> set[type] | None:
    """The classes of arguments that need no further check; None if all classes are accepted."""
    if kind is not None:
        return kind.classes
    return None if name in _DATA else PLAIN


def _are_ints(value: Any) -> bool:
    """Whether an int, or every element of a sequence, is an int that fits into 64 bits."""
    parts = (value,) if value.__class__ is int else value
    return all(part.__class__ is int and is_int64(part) for part in parts)


class _Unbound:
    """A function that does not become a method when it is an attribute of a class."""

    learn: Callable | None = None  # sets the classes that need no check, as in the compiled twin

    def __init__(self, function: Callable) -> None:
        self.function = function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.function(*arguments, **options)

    def __get__(self, instance: Any, owner: Any = None) -> _Unbound:
        return self

    def __reduce__(self) -> Any:
        return self.__qualname__  # pyright: ignore[reportAttributeAccessIssue]


def held_in_python(function: Callable, examine: Callable, binds: bool = True) -> Callable:
    """``function`` with the check of classes in front; for classes that are not known yet,
    ``examine`` is called instead."""
    known: Any = None

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return choose(*arguments, **options)
        except (IndexError, NotImplementedError):
            if "on_error" in made.__dict__:
                made.on_error(*arguments)
            raise
        except MemoryError as error:
            raise HostMemoryError.having(error) from None

    def choose(*arguments: Any, **options: Any) -> Any:
        if known is None or options or ENTERED:
            return examine(arguments, options)
        more = itertools.repeat(PLAIN)
        for classes, value in zip(itertools.chain(known, more), arguments):
            if classes is None:
                continue
            if value.__class__ not in classes:
                return examine(arguments, options)
            if value.__class__ in (int, tuple, list) and not _are_ints(value):
                return examine(arguments, options)
        return function(*arguments)

    def learn(positional: tuple, named: dict) -> None:
        nonlocal known
        known = positional

    made: Any = call if binds else _Unbound(call)
    made.learn = learn
    return made


Held = bind_held("Held", held_in_python)
Unbound = bind_held("Unbound", functools.partial(held_in_python, binds=False))

# Functions that check dimensions or dtypes before the histories of their tensors, because torch
# composes them of others, or because they have no gradient. All others check the histories first.
_DIMS_FIRST = frozenset(
    """
    all any argmax argmin count_nonzero histc size stride chunk diff flatten movedim moveaxis
    nanmean nanquantile narrow quantile repeat_interleave stft tensor_split hsplit vsplit dsplit
    dropout feature_dropout alpha_dropout feature_alpha_dropout
    dropout_ feature_dropout_ alpha_dropout_ feature_alpha_dropout_
    """.split()
)


def _check_histories(*arguments: Any) -> None:
    """RuntimeError if a view among the arguments was written so that its history is unknown. torch
    raises that before it complains about other arguments."""
    if MODE.enabled:
        for argument in arguments:
            for each in argument if argument.__class__ in (list, tuple) else (argument,):
                if isinstance(each, Tensor):
                    check_history(each)


def held(
    function: Callable,
    name: str,
    is_method: bool = False,
    out: bool | Out = False,
    in_python: bool = False,
    strict: bool = False,
) -> Callable:
    """``function`` with a check of its arguments against its annotations.

    Args:
        name: the name in messages.
        is_method: whether its first argument must be a Tensor.
        out: whether it takes ``out=`` (one tensor, or a tuple for several results), into which the
            result is written; or what it asks of that, unless the function itself says so
            (`op.out.takes_out`).
        in_python: whether torch defines it in Python. Then bool and str arguments are not checked;
            overrides see every parameter; and it binds to instances when it is an attribute of a
            class, as otherwise only methods do.
        strict: whether bool and str arguments are checked nevertheless: in torch it hands them to a
            compiled function.
    """
    signature: Any = None
    facts = getattr(function, "out", out if isinstance(out, Out) else USUAL)
    of_data = not _DATA.isdisjoint(function.__code__.co_varnames[:1])  # no overrides, as in torch

    def read() -> Signature:
        nonlocal signature
        if signature is None:
            signature = Signature(function, name, is_method, in_python and not strict)
            named = {each: _known(each, kind) for each, kind in signature.named.items()}
            known = [_known(each, signature.kinds[each]) for each in signature.positional]
            call.learn((*known, set()) if signature.factors else tuple(known), named)
        return signature

    def arranged(*arguments: Any, **options: Any) -> tuple[tuple, dict[str, Any]]:
        options = read().renamed(options)
        return read().spelled_out(arguments, options, bool(out) and not is_method)

    def examine(arguments: tuple, options: dict[str, Any]) -> Any:
        found = [] if of_data else overriding((*arguments, *options.values()))
        if found or is_intercepted():
            return answer(call, found, arguments, options)
        signature = read()
        arguments, options = signature.renewed(arguments, signature.renamed(options))
        target = options.pop("out", None) if out else None
        first = map(signature.checked, signature.positional, arguments)
        arguments = (*first, *arguments[len(signature.positional) :])
        options = {key: signature.checked_by_name(key, value) for key, value in options.items()}
        if target is not None:
            for key in signature.positional[len(arguments) :]:  # operands are checked with `target`
                if key not in options:
                    break
                arguments = (*arguments, options.pop(key))
            return call_into(target, facts, function, name, arguments, options)
        if CASTING.enabled:
            return call_cast(function, name, arguments, options)
        return function(*arguments, **options)

    made = Held if is_method or in_python else Unbound
    call: Any = functools.update_wrapper(made(function, examine), function)
    # Some programs look there for the defaults of torch's functions.
    call.__defaults__, call.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    call.takes_out = facts if out else False
    if in_python and not hasattr(call, "arranged"):
        call.arranged = arranged
    if name not in _DIMS_FIRST:
        call.on_error = _check_histories
    return call


def hold_all(
    module: dict[str, Any],
    prefix: str = "",
    names: Sequence[str] = (),
    but: Sequence[str] = (),
    **options: Any,
) -> None:
    """Wrap the public functions of a module, or those with the given names, by `held`; ``prefix``
    precedes their names in messages."""
    for name in names or module.get("__all__") or [each for each in module if each[0] != "_"]:
        function = module[name]
        is_held = hasattr(function, "learn") or name in but
        if isinstance(function, types.FunctionType) and not is_held:
            module[name] = made = held(function, prefix + name, **options)
            made.__module__, made.__qualname__ = module["__name__"], name
