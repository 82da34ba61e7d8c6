"""The handle of an asynchronous collective, and its future."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from nnkit.backend.errors import DistBackendError
from nnkit.backend.futures import Future


class Work:
    """A collective that is under way.

    Args:
        place: the device whose backend has started it.
        ticket: what the backend knows it by.
        tensors: its results.
    """

    def __init__(self, place: Any, ticket: Any, tensors: list) -> None:
        self._place = place
        self._ticket = ticket
        self._tensors = tensors
        self._source = -1
        self._error: Exception | None = None
        self._done = False
        self._future: WorkFuture | None = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the results are there; True.

        Raises:
            DistBackendError: they will not come; the message names the call, the ranks and the
                shapes.
        """
        if not self._done:
            seconds = None if not timeout else timeout.total_seconds()
            try:
                self._source = self._place.backend.await_arrival(self._ticket, seconds)
            except DistBackendError as error:
                self._error = error
            self._done = True
            if self._future is not None:
                self._future.settle()
        if self._error is not None:
            raise self._error
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it has ended."""
        if not self._done and bool(self._place.backend.arrived(self._ticket)):
            try:
                self.wait()
            except DistBackendError:
                pass  # which the next `wait` raises again
        return self._done

    def is_success(self) -> bool:
        """Whether the results are there."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """The error of the collective, if it failed."""
        return self._error

    def result(self) -> list:
        """The tensors that hold the results, once they are there."""
        self.wait()
        return self._tensors

    def source_rank(self) -> int:
        """The rank that has sent the message."""
        return self._source

    def get_future(self) -> Future:
        """The future of the list of results.

        Nothing computes in the background: what is to follow (`Future.then`) is called by whoever
        waits for the future, or asks whether it is done.
        """
        if self._future is None:
            self._future = WorkFuture(self)
            if self._done:
                self._future.settle()
        return self._future


class WorkFuture(Future):
    """The future of the results of a `Work`, or of what follows from them."""

    def __init__(self, work: Any) -> None:
        super().__init__()
        self._work = work

    def settle(self) -> None:
        """Take over the results of the work, or its error."""
        if self._work._error is None:
            self.set_result(self._work._tensors)
        else:
            self.set_exception(self._work._error)

    def done(self) -> bool:
        """Whether the results, or an error, are there."""
        if not self._done:
            self._work.is_completed()
        return self._done

    def wait(self) -> Any:
        """The results, waiting for them."""
        if not self._done:
            try:
                self._work.wait()
            except DistBackendError:
                pass  # raised below, as of any future
        return self.value()

    def _next(self) -> Future:
        return Following(self._work)


class Following(WorkFuture):
    """A future made from another by ``then``: whoever waits for it waits for the work."""
