"""Some processes that run one function, and end together when one of them fails."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any

from nnkit.backend.warning import warn

LOG = logging.getLogger(__name__)
SECONDS_TO_END = 30.0  # between the polite signal and the other one
LONGEST_TRACE = 30_000  # a pipe holds it until this process has ended and the parent reads
DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class ProcessException(Exception):
    """A process has failed: its number and the system's."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process has raised an error; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process has ended with an exit code other than 0, or by a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple:
        kind, arguments = super().__reduce__()
        return kind, (*arguments, self.exit_code, self.signal_name)


def _run(fn: Callable, index: int, args: tuple, connection: Any) -> None:
    """The life of one process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGINT)
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent is interrupted as well, or gone
    except Exception as error:
        connection.send(traceback.format_exc()[-LONGEST_TRACE:])
        sys.last_value = error  # as of an error that nobody catches: what runs at exit looks here
        sys.exit(1)


class ProcessContext:
    """Processes that `start_processes` has started.

    Args:
        processes: in the order of their numbers.
        connections: by which each tells its error.
    """

    def __init__(self, processes: list[Any], connections: list[Any]) -> None:
        self.processes = processes
        self.connections = connections
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers by which the system knows them."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one or more of them end; True when none is left.

        Args:
            timeout: how many seconds at most.
            grace_period: how long the others may go on when one has failed, before they are ended,
                and then again before they are killed.

        Raises:
            ProcessRaisedException: one has raised an error.
            ProcessExitedException: one has ended otherwise than well.
        """
        failed = None
        for sentinel in wait(list(self.sentinels), timeout) if self.sentinels else ():
            index = self.sentinels.pop(sentinel)  # type: ignore[arg-type]
            self.processes[index].join()
            if self.processes[index].exitcode:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end(grace_period)
        raise self._error(failed)

    def _end(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait(grace_period)
        self._stop("SIGTERM", "terminate")
        self._wait(SECONDS_TO_END if grace_period is None else grace_period)
        self._stop("SIGKILL", "kill")
        self._wait(None)

    def _stop(self, name: str, method: str) -> None:
        for process in self.processes:
            if process.is_alive():
                LOG.warning("Ending process %s by %s", process.pid, name)
                getattr(process, method)()

    def _wait(self, seconds: float | None) -> None:
        """Wait for all of them, so long altogether."""
        end = None if seconds is None else time.monotonic() + seconds
        for process in self.processes:
            process.join(None if end is None else max(0.0, end - time.monotonic()))

    def _error(self, index: int) -> ProcessException:
        process, code = self.processes[index], self.processes[index].exitcode
        with contextlib.suppress(EOFError, OSError):
            if self.connections[index].poll():
                trace = self.connections[index].recv()
                message = f"\n\n-- Process {index} terminated with the following error:\n{trace}"
                return ProcessRaisedException(message, index, process.pid)
        if code > 0:
            message = f"process {index} terminated with exit code {code}"
            return ProcessExitedException(message, index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        message = f"process {index} terminated with signal {name}"
        return ProcessExitedException(message, index, process.pid, code, name)


def start_processes(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(index, *args)`` in ``nprocs`` processes, each with another index.

    Args:
        fn: a function of a module, which the processes import.
        args: its other arguments; tensors among them are shared with the processes.
        nprocs: how many processes.
        join: wait for them, and end all when one fails.
        daemon: end them with this process.
        start_method: ``spawn``, ``fork`` or ``forkserver``.

    Returns:
        None, or without ``join`` the processes.

    Raises:
        ProcessRaisedException: one has raised an error, whose traceback the message holds.
        ProcessExitedException: one has ended otherwise than well.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, connections = [], []
    for index in range(nprocs):
        connection, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, theirs), daemon=daemon)
        process.start()
        theirs.close()
        processes.append(process)
        connections.append(connection)
    started = ProcessContext(processes, connections)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes`, each in a fresh interpreter.

    Example:
        >>> import nnkit.multiprocessing as mp
        >>> mp.spawn(print, args=("hello",), nprocs=1)
    """
    if start_method != "spawn":
        warn(
            f"spawn starts processes by spawn, not by {start_method}, which start_processes takes",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon)
