"""Grad modes, each thread its own: `no_grad`, `enable_grad`, `inference_mode`, ..."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nnkit.autograd.compiled import bind_modes
from nnkit.backend.warning import warn


class _Modes(threading.local):
    enabled = True  # whether operations are recorded
    inference = False
    grad_in_inference = False  # what `enable_grad` said in inference mode, which records nothing
    origin: int | None = None  # the number of the innermost transform that is differentiated


class _Mode(bind_modes(_Modes)):
    # Of `nnkit.func`: how many transforms this thread is computing, how many derivatives it has
    # begun, and how many torch computes as batches; the outermost level of those that differentiate
    # backwards; whether inference tensors may be saved, None as they say themselves; and whether a
    # `vmap` was not told what random numbers its examples should have.
    transforms = 0
    derivatives = 0
    batches = 0
    level: Any = None
    # Of the transforms that are differentiated, from the innermost on: its number, its inputs, and
    # the same of the one around it.
    captures: tuple[int, list, Any] | None = None
    saves_inference: bool | None = None
    refuses_random = False
    # Whether what `enable_grad` says records nothing: in a forward transform in inference mode.
    bars_grad = False
    carries = True  # whether operations on tensors of a forward level compute their tangents
    threads = True  # the setting of `set_multithreading_enabled`
    wrapping: Any = None  # the innermost level that is entered (`nnkit.autograd.forward.level`)


MODE = _Mode()


@contextmanager
def capturing(captures: tuple[int, list, Any] | None) -> Iterator[None]:
    """A block in which writes are held against what these transforms capture; none, for what torch
    writes without a look: into ``out``, lists of tensors, and storages."""
    before, MODE.captures = MODE.captures, captures
    try:
        yield
    finally:
        MODE.captures = before


def is_grad_enabled() -> bool:
    """Whether operations record a graph in this thread.

    Example:
        >>> import nnkit
        >>> nnkit.is_grad_enabled()
        True
    """
    return MODE.grad_in_inference if MODE.inference or MODE.bars_grad else MODE.enabled


def _enable_grad(enabled: bool) -> None:
    if MODE.inference or MODE.bars_grad:
        MODE.grad_in_inference = enabled
    else:
        MODE.enabled = enabled


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is on in this thread.

    Example:
        >>> import nnkit
        >>> with nnkit.inference_mode():
        ...     nnkit.is_inference_mode_enabled()
        True
    """
    return MODE.inference


def refuse_in_transform(name: str) -> None:
    """RuntimeError inside of a function that is being transformed by `nnkit.func`."""
    if MODE.transforms:
        raise RuntimeError(
            f"{name} cannot be called inside of a function that nnkit.func transforms: use "
            "nnkit.func.grad, vjp or jacrev there"
        )


class Context:
    """A context manager that is also a decorator (of functions and generator functions)."""

    def _clone(self) -> Context:
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if isinstance(function, type):
            warn(
                "Decorating classes is deprecated: decorate functions or methods, such as the "
                f"__init__ of {function.__name__}, which alone is decorated now",
                FutureWarning,
            )

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._clone():
                return function(*args, **kwargs)

        if not inspect.isgeneratorfunction(function):
            return wrapped

        @functools.wraps(function)
        def generate(*args, **kwargs):
            # Each step runs inside the mode, the consumer's code between steps outside of it.
            iterator = function(*args, **kwargs)
            step: Any = iterator.send
            sent: Any = None
            while True:
                with self._clone():
                    try:
                        value = step(sent)
                    except StopIteration as stop:
                        return stop.value
                try:
                    step, sent = iterator.send, (yield value)
                except GeneratorExit:
                    with self._clone():
                        iterator.close()
                    raise
                except BaseException as error:
                    step, sent = iterator.throw, error

        return generate

    def __enter__(self) -> None:
        raise AssertionError("defined by each mode")

    def __exit__(self, *exception: Any) -> None:
        _enable_grad(self._previous)

    _previous = True


class no_grad(Context):
    """Do not record operations: results never require grad. Context manager and decorator.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(2, requires_grad=True)
        >>> with nnkit.no_grad():
        ...     (x * 2).requires_grad
        False
    """

    def __new__(cls, function: Any = None):
        self = object.__new__(cls)
        return self if function is None else self(function)

    def __enter__(self) -> None:
        self._previous = is_grad_enabled()
        _enable_grad(False)


class enable_grad(no_grad):
    """Record operations again inside a `no_grad` block. Context manager and decorator.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(2, requires_grad=True)
        >>> with nnkit.no_grad(), nnkit.enable_grad():
        ...     (x * 2).requires_grad
        True
    """

    def __enter__(self) -> None:
        self._previous = is_grad_enabled()
        _enable_grad(True)


class set_grad_enabled(Context):
    """Switch recording by a bool: at once when called, for a block when used with ``with``.

    Example:
        >>> import nnkit
        >>> with nnkit.set_grad_enabled(False):
        ...     nnkit.is_grad_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            got = type(mode).__name__
            raise TypeError(f"set_grad_enabled(): argument 'mode' must be bool, not {got}")
        self._previous = is_grad_enabled()
        self.mode = mode
        _enable_grad(mode)

    def __call__(self, function: Any) -> Any:
        _enable_grad(self._previous)
        return super().__call__(function)

    def _clone(self) -> Context:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        _enable_grad(self.mode)


class set_multithreading_enabled(Context):
    """Say whether backward may use several threads, at once or for a block.

    It changes nothing: a backward runs its nodes in the thread that called it.

    Example:
        >>> import nnkit
        >>> with nnkit.autograd.set_multithreading_enabled(False):
        ...     nnkit.autograd.is_multithreading_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        self.mode, self._before = mode, MODE.threads
        MODE.threads = mode

    def _clone(self) -> Context:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        MODE.threads = self._before


def is_multithreading_enabled() -> bool:
    """The setting of `set_multithreading_enabled`."""
    return MODE.threads


class enforce_grad_layout_policy(Context):
    """Say whether the gradients of leaves must lie in memory as these, at once or for a block.

    It changes nothing: they always do, as they may where they need not.

    Example:
        >>> import nnkit
        >>> w = nnkit.ones(3, 2).t().requires_grad_()
        >>> with nnkit.autograd.enforce_grad_layout_policy(False):
        ...     w.pow(2).sum().backward()
        >>> w.grad.stride() == w.stride()
        True
    """

    def __init__(self, enable: bool = True) -> None:
        self.mode = enable

    def _clone(self) -> Context:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        pass


class inference_mode(Context):
    """`no_grad` for code that never trains: results may not take part in a graph later.

    Example:
        >>> import nnkit
        >>> with nnkit.inference_mode():
        ...     nnkit.ones(2).is_inference()
        True
    """

    mode: bool

    def __new__(cls, mode: Any = True):
        if not isinstance(mode, bool):
            return cls()(mode)
        self = object.__new__(cls)
        self.mode = mode
        return self

    def _clone(self) -> Context:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self._before = MODE.enabled, MODE.inference, MODE.grad_in_inference, MODE.bars_grad
        MODE.inference = self.mode
        MODE.enabled = not self.mode
        MODE.grad_in_inference = MODE.bars_grad = False

    def __exit__(self, *exception: Any) -> None:
        MODE.enabled, MODE.inference, MODE.grad_in_inference, MODE.bars_grad = self._before
