"""``__torch_function__``: arguments that override functions, and modes that override all functions.

If the class of an argument has a method ``__torch_function__``, that is called instead of the
function (as NumPy's ``__array_function__``, NEP 18). Subclasses of Tensor inherit one, which turns
results into instances of the subclass. Classes without the method are *plain*. Compiled callers
know the plain classes, so that an ordinary call does not look for overrides.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from nnkit.autograd.compiled import tell_overriding
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor, recast

F = TypeVar("F", bound=Callable)
# Classes that override no function; more are added when they are first met.
PLAIN: set[type] = {
    Tensor, Size, type(None), bool, int, float, complex, str, slice, type(...), tuple, list,
}  # fmt: skip


class _Thread(threading.local):
    """The state of ``__torch_function__`` in one thread.

    Attributes:
        of_tensors: whether subclasses of Tensor can override functions.
        asks: whether anything can.
        passes: whether the next call skips the overrides.
        modes: the modes that have been entered; the last one is asked first.
    """

    of_tensors = True
    asks = True
    passes = False

    def __init__(self) -> None:
        self.modes: list[Any] = []


THREAD = _Thread()
ENTERED: list[Any] = []  # the modes, and the autocast contexts, that are active in any thread


def refuse(func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
    """The ``__torch_function__`` of a class that overrides nothing: it calls the function."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def is_plain(value: Any) -> bool:
    """Whether the class of a value overrides no function."""
    kind = type(value)
    if kind in PLAIN:
        return True
    if _answers_below(kind):
        return False
    found = getattr(kind, "__torch_function__", None)
    # PyTorch's own tensors, if it is loaded as well, override only its functions.
    if found is None or found is refuse or found.__module__ == "torch._tensor":
        PLAIN.add(kind)
        return True
    return False


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a Tensor or of a class that overrides functions.

    Example:
        >>> import nnkit
        >>> nnkit.overrides.is_tensor_like(nnkit.ones(2)), nnkit.overrides.is_tensor_like(2.0)
        (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def _asked(value: Any) -> bool:
    """Whether a value can override functions in the current state of the thread."""
    if is_plain(value):
        return False
    return THREAD.of_tensors or not isinstance(value, Tensor) or _answers_below(type(value))


def _answers_below(kind: type) -> bool:
    """Whether a class is a subclass of Tensor with ``__torch_dispatch__``."""
    return issubclass(kind, Tensor) and hasattr(kind, "__torch_dispatch__")


def overriding(values: Iterable[Any], besides: type | None = None) -> list[Any]:
    """The arguments that override functions, one for each class, in the order in which they are
    asked: subclasses before their base classes, otherwise from left to right.

    Args:
        besides: a class whose instances are among them, though they override nothing.
    """
    found: list[Any] = []
    if not THREAD.asks:
        return found
    for value in values:
        parts = value if value.__class__ in (tuple, list) else (value,)
        for part in parts:
            kind = type(part)
            if kind is not besides and (kind in PLAIN or not _asked(part)):
                continue
            if any(type(known) is kind for known in found):
                continue
            later = (i for i, known in enumerate(found) if issubclass(kind, type(known)))
            found.insert(next(later, len(found)), part)
    return found


def is_intercepted() -> bool:
    """Whether a mode is active in this thread."""
    return bool(THREAD.modes) and THREAD.asks


class Unanswered(TypeError):
    """All overrides returned NotImplemented."""


def answer(
    function: Any, found: list, arguments: tuple, options: dict[str, Any], named: bool = False
) -> Any:
    """The result of a call that the active mode, or an argument among ``found``, overrides.

    Args:
        named: whether the overrides get a dictionary of keyword arguments even if it is empty.

    Raises:
        Unanswered: all of them returned NotImplemented.
        RuntimeError: the ``__torch_function__`` of the mode is a class method.
    """
    if hasattr(function, "arranged"):  # however it is called, overrides see one form of it
        arguments, options = function.arranged(*arguments, **options)
        found, named = overriding((*arguments, *options.values()), besides=Tensor), True
    types = tuple(map(type, found))
    given = (
        (function, types, arguments, options) if options or named else (function, types, arguments)
    )
    if is_intercepted():
        mode = THREAD.modes.pop()
        try:
            if isinstance(getattr(mode.__torch_function__, "__self__", None), type):
                raise RuntimeError(
                    "Defining your mode's `__torch_function__` as a classmethod is not supported, "
                    "please make it a plain method"
                )
            result = mode.__torch_function__(*given)
        finally:
            THREAD.modes.append(mode)
        if result is not NotImplemented:
            return result
    for value in found:
        kind = type(value)
        if _answers_below(kind) and not (THREAD.of_tensors and _has_own(kind)):
            with DisableTorchFunction():
                return shown(function(*arguments, **options))
        result = value.__torch_function__(*given)
        if result is not NotImplemented:
            return result
    name = getattr(function, "__qualname__", function)
    raise Unanswered(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{[kind.__name__ for kind in types]}"
    )


def _has_own(kind: type) -> bool:
    """Whether a class with ``__torch_dispatch__`` has a ``__torch_function__`` of its own, too."""
    found: Any = kind.__torch_function__  # type: ignore[attr-defined]
    return found is not refuse and getattr(found, "__func__", None) is not _of_subclass


def shown(result: Any) -> Any:
    """A result in which tensors that stand for others are replaced by those."""
    if isinstance(result, Tensor):
        return result._device.shown(result)
    if isinstance(result, (tuple, list)) and type(result) is not Size:
        parts, made = map(shown, result), type(result)
        return made(*parts) if hasattr(result, "_fields") else made(parts)
    return result


def is_passed() -> bool:
    """Whether this call skips the overrides, as `redispatch_function` wants."""
    passed, THREAD.passes = THREAD.passes, False
    return passed


def redispatch_function(
    func: Callable, types: Iterable[type], args: tuple, kwargs: dict[str, Any] | None
) -> Any:
    """Call a function without its overrides, but with those of the functions that it calls.

    For the ``__torch_function__`` of a class that wants to see what is done inside a function.

    Example:
        >>> import nnkit
        >>> from nnkit.overrides import redispatch_function
        >>> class Told(nnkit.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args, kwargs=None):
        ...         print(func.__name__)
        ...         return redispatch_function(func, types, args, kwargs)
        >>> Told(nnkit.ones(2)).add(1)
        add
        tensor([2., 2.])
    """
    if hasattr(func, "learn"):  # a function of nnkit: what it calls is not visible
        with DisableTorchFunction():
            return func(*args, **(kwargs or {}))
    THREAD.passes = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        THREAD.passes = False


NOBODY = object()


def ask(function: Callable, arguments: tuple, options: dict[str, Any] | None = None) -> Any:
    """The result of a call that a mode or an argument overrides; `NOBODY` if none does."""
    found = overriding((*arguments, *options.values()) if options else arguments)
    if not found and not is_intercepted() or is_passed():
        return NOBODY
    return answer(function, found, arguments, options or {})


class _Without:
    """A block in which a flag of the thread is off."""

    _flag: str

    def __enter__(self) -> None:
        self._before = getattr(THREAD, self._flag)
        setattr(THREAD, self._flag, False)

    def __exit__(self, *exception: Any) -> None:
        setattr(THREAD, self._flag, self._before)


class DisableTorchFunctionSubclass(_Without):
    """A block in which subclasses of Tensor override nothing; ``torch._C`` has the same class."""

    _flag = "of_tensors"


class DisableTorchFunction(_Without):
    """A block in which no argument and no mode overrides anything."""

    _flag = "asks"


class TorchFunctionMode:
    """A block in which the ``__torch_function__`` of this object overrides every function.

    The mode is not active inside that method.

    Example:
        >>> import nnkit
        >>> from nnkit.overrides import TorchFunctionMode
        >>> class Names(TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     x = nnkit.ones(2) + 1
        ones
        add
    """

    def __torch_function__(
        self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        ENTERED.append(self)
        THREAD.modes.append(self)
        tell_entered()
        return self

    def __exit__(self, *exception: Any) -> None:
        THREAD.modes.pop()
        ENTERED.remove(self)
        tell_entered()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that only calls each function."""

    def __torch_function__(
        self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


_guarded = False  # whether a subclass of Tensor that overrides functions exists


def tell_entered() -> None:
    """Tell compiled callers whether calls with plain arguments may be overridden or cast."""
    tell_overriding(PLAIN, _guarded, bool(ENTERED))


tell_entered()


def overridable(function: F, name: Callable | None = None) -> F:
    """Decorate a function so that arguments can override it. They see it as ``name``, by default
    as the decorated function."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if not ENTERED and not options and arguments and arguments[0].__class__ is Tensor:
            return function(*arguments)
        answered = ask(name or call, arguments, options)
        return function(*arguments, **options) if answered is NOBODY else answered

    return call  # type: ignore[return-value]


# Attributes and methods that only subclasses of Tensor override, since plain tensors are so often
# read by them: they get overridable versions when the subclass is defined (`_born`).
_READ = (
    "H", "T", "_version", "data", "device", "dtype", "grad", "grad_fn", "imag", "is_cpu",
    "is_cuda", "is_leaf", "is_meta", "is_quantized", "is_sparse", "itemsize", "layout", "mH", "mT",
    "name", "nbytes", "ndim", "output_nr", "real", "requires_grad", "retains_grad", "shape",
)  # fmt: skip
_CALLED = (
    "__array__", "__bool__", "__complex__", "__contains__", "__float__", "__format__",
    "__index__", "__int__", "__invert__", "__len__", "__reduce_ex__", "__repr__", "__reversed__",
    "_is_view", "backward", "detach_", "is_complex", "is_floating_point", "is_inference", "item",
    "register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad",
    "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_",
)  # fmt: skip


class _PropertyOfSubclass(property):
    """An overridable version of a property of Tensor. On the class it is the original."""

    def __init__(self, own: Any) -> None:
        accessors = (own.__get__, own.__set__, own.__delete__)
        super().__init__(*(overridable(accessor, accessor) for accessor in accessors))
        self.own = own

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.own if instance is None else super().__get__(instance, owner)


def _born(kind: type, **options: Any) -> None:
    """Called when a subclass of Tensor is defined: make what it inherits overridable."""
    global _guarded
    if getattr(kind, "__torch_function__", None) is refuse and not _answers_below(kind):
        PLAIN.add(kind)
        return
    if not _guarded:
        _guarded = True
        tell_entered()
    for names, of_subclass in ((_READ, _PropertyOfSubclass), (_CALLED, overridable)):
        for name in names:
            inherited = getattr(Tensor, name, None)
            if inherited is not None and getattr(kind, name) is inherited:
                setattr(kind, name, of_subclass(inherited))


def converted(result: Any, kind: type, arguments: tuple) -> Any:
    """A result with its tensors (also in tuples and lists) as instances of a subclass."""
    if isinstance(result, Tensor):
        if isinstance(result, kind):
            return result
        if any(result is each for each in arguments):
            return result.as_subclass(kind)  # type: ignore[attr-defined]
        return recast(result, kind)
    if isinstance(result, (tuple, list)) and type(result) is not Size:
        parts = [converted(part, kind, arguments) for part in result]
        made: Any = type(result)
        return made(*parts) if hasattr(result, "_fields") else made(parts)
    return result


def _of_subclass(
    cls: type, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
) -> Any:
    """The ``__torch_function__`` of subclasses of Tensor: tensors in the result become instances of
    the subclass.

    NotImplemented if an argument has a class that is no base of this one. So also for Tensor
    itself, which another library asks of tensors that it takes for a subclass of its own.
    """
    if cls is Tensor or not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func == Tensor.grad.__get__ else converted(result, cls, args)  # type: ignore


Tensor.detach = overridable(Tensor.detach)
Tensor.__torch_function__ = classmethod(_of_subclass)  # type: ignore[attr-defined]
Tensor.__init_subclass__ = classmethod(_born)  # type: ignore[assignment]
