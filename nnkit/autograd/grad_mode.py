"""The grad modes of each thread: `no_grad`, `enable_grad`, `inference_mode` and others."""

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
    inference = False  # whether `inference_mode` is on
    grad_in_inference = False  # what `enable_grad` has set within inference mode
    origin: int | None = None  # the number of the innermost transform that is being differentiated


class _Mode(bind_modes(_Modes)):
    # The transforms of `nnkit.func` that are running in this thread:
    transforms = 0  # how many there are
    begun = 0  # how many that differentiate have begun so far
    batches = 0  # how many of them torch computes as batches
    level: Any = None  # the outermost level that differentiates backwards
    # (number, inputs, the same for the transform around it) of the innermost differentiating one
    captures: tuple[int, list, Any] | None = None
    saves_inference: bool | None = None  # whether inference tensors may be saved; None: they decide
    refuses_random = False  # whether random functions raise, in a `vmap` without ``randomness=``
    bars_grad = False  # whether `enable_grad` has no effect: forward mode in inference mode
    carries = True  # whether operations on dual tensors compute tangents
    threads = True  # the setting of `set_multithreading_enabled`
    wrapping: Any = None  # the innermost level that is entered (`nnkit.autograd.forward.level`)


MODE = _Mode()


@contextmanager
def capturing(captures: tuple[int, list, Any] | None) -> Iterator[None]:
    """A block in which in-place writes are checked against the tensors that these transforms
    capture. None for writes that torch does not check: to ``out``, lists of tensors, storages."""
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
    """RuntimeError if called inside a function that `nnkit.func` transforms."""
    if MODE.transforms:
        raise RuntimeError(
            f"{name} cannot be called inside a function that nnkit.func transforms: use "
            "nnkit.func.grad, vjp or jacrev there, not torch.autograd.functional either"
        )


class Context:
    """A context manager that also decorates functions and generator functions."""

    def _clone(self) -> Context:
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if isinstance(function, type):
            warn(
                "Decorating classes is deprecated, and decorates only the __init__ of "
                f"{function.__name__}: decorate functions or methods instead",
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
            # The generator's code runs inside the mode, the consumer's code outside.
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
    """Disable the recording of operations: results do not require grad.

    A context manager and a decorator.

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


@contextmanager
def without_derivatives() -> Iterator[None]:
    """Record nothing, and compute no tangents: the code between sees numbers alone."""
    carried, MODE.carries = MODE.carries, False
    try:
        with no_grad():
            yield
    finally:
        MODE.carries = carried


class enable_grad(no_grad):
    """Enable the recording of operations again inside a `no_grad` block.

    A context manager and a decorator.

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
    """Enable or disable the recording of operations: by a call from then on, or for a ``with``
    block.

    Raises:
        TypeError: ``mode`` is not a bool.

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
    """Set whether backward may use several threads, from then on or for a ``with`` block.

    This has no effect: backward runs its nodes in the calling thread.

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
    """The setting of `set_multithreading_enabled`.

    Example:
        >>> import nnkit
        >>> nnkit.autograd.is_multithreading_enabled()
        True
    """
    return MODE.threads


class enforce_grad_layout_policy(Context):
    """Set whether gradients must have the memory layout of their leaves, from then on or for a
    ``with`` block.

    This has no effect: they always have it.

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
    """`no_grad` for code that never trains: its results cannot be saved for backward later.

    A context manager and a decorator.

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
        modes = MODE.enabled, MODE.inference, MODE.grad_in_inference, MODE.bars_grad, MODE.threads
        self._before = modes
        MODE.inference = self.mode
        MODE.threads = not self.mode
        MODE.enabled = not self.mode
        MODE.grad_in_inference = MODE.bars_grad = False

    def __exit__(self, *exception: Any) -> None:
        before = self._before
        MODE.enabled, MODE.inference, MODE.grad_in_inference, MODE.bars_grad, MODE.threads = before
