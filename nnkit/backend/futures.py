"""Values that are there later, as ``torch.futures``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

LOG = logging.getLogger(__name__)

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that some thread will set, once.

    Args:
        devices: GPUs on which the value may lie; nothing waits for them.

    Example:
        >>> future = Future()
        >>> later = future.then(lambda f: f.value() + 1)
        >>> future.set_result(1)
        >>> later.wait()
        2
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._condition = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether the value, or an error, is there."""
        return self._done

    def wait(self) -> T:
        """The value, waiting for it; an error that was set is raised."""
        with self._condition:
            self._condition.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """The value, which is there.

        Raises:
            RuntimeError: nothing has been set yet. An error that was set is raised itself.
        """
        if not self._done:
            raise RuntimeError("Future.value(): the future has not been completed")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """The future of what ``callback`` gives for this one, once it is done."""
        following: Future[S] = self._next()

        def follow(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                words = f"{type(error).__name__}: {error}"
                following.set_exception(
                    RuntimeError(f"Got the following error when running the callback: {words}")
                )
            else:
                following.set_result(result)

        self.add_done_callback(follow)
        return following

    def _next(self) -> Future:
        return Future()

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback`` with this future once it is done: at once, if it is.

        What it raises is logged, and nobody gets it; see `then` for errors that matter.
        """
        with self._condition:
            if not self._done:
                self._callbacks.append(callback)
                return
        self._call(callback)

    def set_result(self, result: T) -> None:
        """Set the value.

        Raises:
            RuntimeError: one was set before.
        """
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Set an error, which whoever asks for the value gets.

        Raises:
            AssertionError: ``result`` is no exception.
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: Exception | None) -> None:
        with self._condition:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._condition.notify_all()
        for callback in callbacks:
            self._call(callback)

    def _call(self, callback: Callable[[Future[T]], Any]) -> None:
        try:
            callback(self)
        except BaseException:
            LOG.exception("A callback of a Future failed")

    def __reduce__(self) -> Any:
        raise RuntimeError(
            "Can not pickle torch.futures.Future: what waits for it is of this process"
        )


def collect_all(futures: Iterable[Future]) -> Future[list[Future]]:
    """The future of all these, which is done when the last one is.

    Its value is the list of them, or the error of the first that has one.

    Raises:
        RuntimeError: one of them is None.

    Example:
        >>> parts = [Future(), Future()]
        >>> whole = collect_all(parts)
        >>> for number, part in enumerate(parts):
        ...     part.set_result(number)
        >>> [part.value() for part in whole.wait()]
        [0, 1]
    """
    futures = list(futures)
    if any(future is None for future in futures):
        raise RuntimeError("Future can't be None")
    whole: Future[list[Future]] = Future()
    lock, missing = threading.Lock(), len(futures)

    def one_done(_: Future) -> None:
        nonlocal missing
        with lock:
            missing -= 1
            last = missing == 0
        if last:
            finish()

    def finish() -> None:
        errors = [future._error for future in futures if future._error is not None]
        whole._complete(futures, errors[0] if errors else None)

    if not futures:
        finish()
    for future in futures:
        future.add_done_callback(one_done)
    return whole


def wait_all(futures: Iterable[Future]) -> list:
    """The values of all these, waiting for them; the first error is raised."""
    return [future.wait() for future in collect_all(futures).wait()]
