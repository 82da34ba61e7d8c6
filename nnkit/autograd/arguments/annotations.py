"""The arguments of public functions, held to the annotations of their parameters.

torch's parser looks at every argument before anything is computed, and says in one TypeError which
one is of a wrong type. Here the annotation of a parameter says what it takes, and `held` makes the
function that looks: at the class of each argument where that is enough, at the value otherwise.
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
from nnkit.autograd.op.out import call_into
from nnkit.autograd.tensor import Size, Tensor
from nnkit.autograd.views.refusals import check_history
from nnkit.backend.device import device
from nnkit.backend.dtype import BOOL, FLOATING, NUMPY_SCALARS, dtype, of_number, python_number
from nnkit.backend.errors import HostMemoryError
from nnkit.backend.memory import layout, memory_format
from nnkit.backend.warning import warn

# Parameters that take what is no tensor yet, of whatever size.
_DATA = {"data", "obj", "ndarray", "buffer", "ext_tensor"}
# NumPy's names of some parameters, which torch takes too.
NUMPY_NAMES = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
}  # fmt: skip


class Kind:
    """A type of argument, read from an annotation.

    Attributes:
        words: for a message.
        classes: those whose instances are all taken; more are added as they are met.
        takes: whether it takes a value of another class.
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
    """A tensor that stands for a number."""
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


TYPES = (bool, int, float, complex)  # Python's, for dtypes
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
# The functions, and their methods, that torch still calls in a form which it has given up.
_OLD_FORMS = frozenset("add sub addcmul addcdiv addmm addmv addr addbmm baddbmm".split())
# What parameters of these names take everywhere, where their annotation leaves it open.
NAMED: dict[str, Any] = {
    "dtype": dtype | None, "device": device | None, "layout": layout | None,
    "memory_format": memory_format | None, "ord": float | str | None, "out": Tensor | None,
}  # fmt: skip


def take(name: str, made: type) -> None:
    """Let parameters called ``name`` take objects of a class that is defined above this file."""
    KINDS[made] = _instance(made.__name__, made)
    NAMED[name] = made | None


def kind_of(name: str, annotation: Any, scope: dict[str, Any]) -> Kind | None:
    """The type of argument that an annotation names; None where it allows anything."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)
        except (NameError, TypeError):  # a name for type checkers alone
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
    """The parameters of a function with what each takes."""

    def __init__(self, function: Callable, name: str, is_method: bool, lax: bool) -> None:
        import inspect  # takes a moment to load, and few programs call every function

        own = inspect.unwrap(function)
        self.name = name
        self.is_method = is_method
        self.positional: list[str] = []
        self.kinds: dict[str, Kind | None] = {}
        for each in inspect.signature(function).parameters.values():
            kind = kind_of(each.name, each.annotation, own.__globals__)
            if is_method and not self.kinds:
                kind = KINDS[Tensor]
            if lax and kind is not None and (kind.classes <= FLAG or str in kind.classes):
                kind = None
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
                self.positional.append(each.name)
            if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                self.kinds[each.name] = kind
        # A tensor in the place of a dimension is another operand; called ``dim`` it is a number.
        self.named = dict(self.kinds)
        dim = self.kinds.get("dim")
        if dim is not None and {Tensor, int} <= dim.classes:
            self.named["dim"] = KINDS[int]
        # The keywords that in a form which torch has given up stand behind the first tensor.
        known = name.rstrip("_") in _OLD_FORMS
        self.factors = [f for f in ("beta", "alpha", "value") if known and f in self.kinds]

    def renewed(self, arguments: tuple, options: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a call in such a form in today's; ``beta`` of a function stands first
        there."""
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

    def checked(self, name: str, value: Any) -> Any:
        """An argument as its parameter takes it: a number for a tensor that stands for one, and
        Python's for NumPy's.

        Raises:
            TypeError: it is of a wrong type.
            ValueError: an int that no int64 holds.
            OverflowError: a number among others that neither int64 nor uint64 holds.
        """
        return self._taken(self.kinds.get(name), name, value)

    def checked_by_name(self, name: str, value: Any) -> Any:
        """`checked`, of a keyword argument."""
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
                if not taken:  # after the first torch takes bools, too
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
        """That of a tensor that stands for one: a real one, where such is wanted."""
        if not isinstance(number, complex) or complex in kind.classes:
            return number
        if number.imag:
            raise RuntimeError(
                f"{self.name}(): argument '{name}': value cannot be converted to type double "
                f"without overflow: {number}"
            )
        return number.real

    def renamed(self, options: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments with NumPy's names replaced by torch's."""
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
    """The classes of which nothing more has to be known; None if no class tells anything."""
    if kind is not None:
        return kind.classes
    return None if name in _DATA else PLAIN


def _are_ints(value: Any) -> bool:
    """Whether an int, or every element of a sequence, is one of 64 bits."""
    parts = (value,) if value.__class__ is int else value
    return all(part.__class__ is int and is_int64(part) for part in parts)


class _Unbound:
    """A function that does not become a method of what has it as an attribute."""

    learn: Callable | None = None  # as of the compiled twin: tells it the classes that pass

    def __init__(self, function: Callable) -> None:
        self.function = function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.function(*arguments, **options)

    def __get__(self, instance: Any, owner: Any = None) -> _Unbound:
        return self

    def __reduce__(self) -> Any:
        return self.__qualname__  # pyright: ignore[reportAttributeAccessIssue]


def held_in_python(function: Callable, examine: Callable, binds: bool = True) -> Callable:
    """``function``, to which ``examine`` hands arguments of classes that are not yet known."""
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

# The functions that look at dimensions or a dtype before at the histories of their tensors: torch's
# are made of others, or know no gradient. All others ask for the histories first.
_DIMS_FIRST = frozenset(
    """
    all any argmax argmin count_nonzero histc size stride chunk diff flatten movedim moveaxis
    nanmean nanquantile narrow quantile repeat_interleave stft tensor_split hsplit vsplit dsplit
    dropout feature_dropout alpha_dropout feature_alpha_dropout
    dropout_ feature_dropout_ alpha_dropout_ feature_alpha_dropout_
    """.split()
)


def _check_histories(*arguments: Any) -> None:
    """RuntimeError where a view among the arguments was written so that its history is not known,
    which torch says before it says what is wrong with the other arguments."""
    if MODE.enabled:
        for argument in arguments:
            for each in argument if argument.__class__ in (list, tuple) else (argument,):
                if isinstance(each, Tensor):
                    check_history(each)


def held(
    function: Callable, name: str, is_method: bool = False, out: bool = False, lax: bool = False
) -> Callable:
    """``function`` with its arguments held to its annotations.

    Args:
        name: what messages call it.
        is_method: its first argument is a Tensor.
        out: a keyword ``out=`` (one tensor, or a tuple for several results) gets the result.
        lax: flags and words are left to the function, which in torch is written in Python. So it
            binds to instances of a class that has it as an attribute; others than methods do not.
    """
    signature: Any = None
    of_data = not _DATA.isdisjoint(function.__code__.co_varnames[:1])  # not asked, as in torch

    def examine(arguments: tuple, options: dict[str, Any]) -> Any:
        nonlocal signature
        found = [] if of_data else overriding((*arguments, *options.values()))
        if found or is_intercepted():
            return answer(call, found, arguments, options)
        if signature is None:
            signature = Signature(function, name, is_method, lax)
            named = {each: _known(each, kind) for each, kind in signature.named.items()}
            known = [_known(each, signature.kinds[each]) for each in signature.positional]
            call.learn((*known, set()) if signature.factors else tuple(known), named)
        arguments, options = signature.renewed(arguments, signature.renamed(options))
        target = options.pop("out", None) if out else None
        first = map(signature.checked, signature.positional, arguments)
        arguments = (*first, *arguments[len(signature.positional) :])
        options = {key: signature.checked_by_name(key, value) for key, value in options.items()}
        if target is not None:
            return call_into(target, function, name, arguments, options)
        if CASTING.enabled:
            return call_cast(function, name, arguments, options)
        return function(*arguments, **options)

    made = Held if is_method or lax else Unbound
    call: Any = functools.update_wrapper(made(function, examine), function)
    # Programs look there for what a function of torch takes.
    call.__defaults__, call.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    call.takes_out = out
    if name not in _DIMS_FIRST:
        call.on_error = _check_histories
    return call


def hold_all(
    module: dict[str, Any], prefix: str = "", names: Sequence[str] = (), **options: bool
) -> None:
    """Hold the functions that a module offers, all or some; messages put ``prefix`` before their
    names."""
    for name in names or module.get("__all__") or [each for each in module if each[0] != "_"]:
        function = module[name]
        if isinstance(function, types.FunctionType) and not hasattr(function, "learn"):
            module[name] = made = held(function, prefix + name, **options)
            made.__module__, made.__qualname__ = module["__name__"], name
