"""Stores: tables of bytes that the processes of a job share, by which they find each other.

A `HashStore` is shared by the threads of one process, a `FileStore` by the processes that can write
one file, a `TCPStore` by all that reach its server. Each is a `_Table` and a way to it: a request
is a list of an operation's name and its arguments, encoded as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import socketserver
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from nnkit.backend.errors import DistNetworkError, DistStoreError, QueueEmptyError

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.02
LENGTH = struct.Struct("!Q")
JOINED = "init/"


class _Table:
    """The contents of a store. Values are strings of the characters 0 to 255, one for each byte."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._queues: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def answer(self, request: list) -> Any:
        """The result of a request; ValueError where a value is no number but should be."""
        operation, *arguments = request
        with self._lock:
            return getattr(self, f"_{operation}")(*arguments)

    def _get(self, key: str) -> str | None:
        return self._values.get(key)

    def _set(self, key: str, value: str) -> None:
        self._values[key] = value

    def _add(self, key: str, amount: int) -> int:
        number = int(self._values.get(key, "0")) + amount
        self._values[key] = str(number)
        return number

    def _append(self, key: str, value: str) -> None:
        self._values[key] = self._values.get(key, "") + value

    def _compare_set(self, key: str, expected: str, desired: str) -> str:
        found = self._values.get(key)
        if found == expected or (found is None and not expected):
            self._values[key] = desired
            return desired
        return expected if found is None else found

    def _delete(self, key: str) -> bool:
        return self._values.pop(key, None) is not None

    def _check(self, keys: list[str]) -> bool:
        return all(key in self._values or self._queues.get(key) for key in keys)

    def _keys(self) -> list[str]:
        return list(self._values)

    def _push(self, key: str, value: str) -> None:
        self._queues.setdefault(key, []).append(value)

    def _pop(self, key: str) -> str | None:
        queue = self._queues.get(key)
        return queue.pop(0) if queue else None

    def _length(self, key: str) -> int:
        return len(self._queues.get(key, ()))


def _bytes(value: str | bytes) -> bytes:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"a store holds str or bytes, got {type(value).__name__}")
    return value.encode() if isinstance(value, str) else value


def _characters(value: str | bytes) -> str:
    return _bytes(value).decode("latin-1")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of a store must be a str, got {type(key).__name__}")
    return key


class Store:
    """A table of bytes by keys; who reads a key that is not there yet waits for it."""

    _timeout = timedelta(minutes=5)

    def _ask(self, *request: Any) -> Any:
        raise NotImplementedError(f"Not implemented. {type(self).__name__} lacks this operation")

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Write a value."""
        self._ask("set", _key(key), _characters(value))

    def get(self, key: str) -> bytes:
        """The value, as soon as there is one.

        Raises:
            DistStoreError: it has not come within `timeout`.
        """
        found = self._awaited(lambda: self._ask("get", _key(key)), self._timeout, [key])
        return found.encode("latin-1")

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which is 0 at first; the sum.

        Raises:
            ValueError: the value is no number.
        """
        return self._ask("add", _key(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        """Write at the end of a value, which is empty at first."""
        self._ask("append", _key(key), _characters(value))

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Write a value if the expected one, or none, is there; returns the value that is there
        then."""
        expected, desired = _characters(expected_value), _characters(desired_value)
        return self._ask("compare_set", _key(key), expected, desired).encode("latin-1")

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys are there.

        Raises:
            DistStoreError: they have not come within the timeout.
        """
        found = [_key(key) for key in keys]
        self._awaited(lambda: self._ask("check", found) or None, timeout or self._timeout, found)

    def check(self, keys: list[str]) -> bool:
        """Whether all these keys are there."""
        return self._ask("check", [_key(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        """Remove a value; whether there was one."""
        return self._ask("delete", _key(key))

    def list_keys(self) -> list[str]:
        """The keys of all values."""
        return self._ask("keys")

    def num_keys(self) -> int:
        """The number of values."""
        return len(self.list_keys())

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Several values, as `get`."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[str | bytes]) -> None:
        """Write several values; ValueError if they are not as many as the keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Write at the end of a queue."""
        self._ask("push", _key(key), _characters(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue.

        Raises:
            DistStoreError: none has come within `timeout`.
            QueueEmptyError: there is none, and ``block`` is False.
        """
        if block:
            found = self._awaited(lambda: self._ask("pop", _key(key)), self._timeout, [key])
        elif (found := self._ask("pop", _key(key))) is None:
            raise QueueEmptyError(f"queue {key!r} is empty")
        return found.encode("latin-1")

    def queue_len(self, key: str) -> int:
        """The number of values in a queue."""
        return self._ask("length", _key(key))

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until so many have called this with the same key."""
        if self.add(key, 1) == world_size:
            self.set(f"{key}/done", "")
        self.wait([f"{key}/done"], timeout)

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`; a user's class may lack them."""
        return type(self)._ask is not Store._ask

    def clone(self) -> Store:
        """A store with the same table, over a connection of its own where there are connections."""
        return self

    def _awaited(self, look: Callable[[], Any], timeout: timedelta, keys: list[str]) -> Any:
        """The first result of ``look`` that is not None; DistStoreError after the timeout."""
        end, pause = time.monotonic() + timeout.total_seconds(), FIRST_PAUSE
        while (found := look()) is None:
            if time.monotonic() >= end:
                raise DistStoreError(
                    f"Wait timeout: waited {timeout.total_seconds():g} s for {', '.join(keys)}"
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return found


class HashStore(Store):
    """A store of one process, for its threads.

    Example:
        >>> import nnkit.distributed as dist
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.get("key"), store.add("count", 2)
        (b'value', 2)
    """

    def __init__(self) -> None:
        self._table = _Table()

    def _ask(self, *request: Any) -> Any:
        return self._table.answer(list(request))


class PrefixStore(Store):
    """A part of another store, in which its keys have a prefix.

    Args:
        prefix: the prefix, which a slash separates from the key.
        store: the other store.
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix = prefix
        self.underlying_store = store

    # Each method calls the same one of the other store, which may be of a user's class.
    timeout = property(lambda self: self.underlying_store.timeout)

    def _within(self, key: str) -> str:
        return f"{self.prefix}/{_key(key)}"

    def set_timeout(self, timeout: timedelta) -> None:
        self.underlying_store.set_timeout(timeout)

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._within(key), _bytes(value))

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(self._within(key))

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._within(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        inside, store = self._within(key), self.underlying_store
        if store.has_extended_api():
            store.append(inside, _bytes(value))
        else:
            before, added = store.compare_set(inside, b"", b""), _bytes(value)
            while (found := store.compare_set(inside, before, before + added)) != before + added:
                before = found

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        expected, desired = _bytes(expected_value), _bytes(desired_value)
        return self.underlying_store.compare_set(self._within(key), expected, desired)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        given = () if timeout is None else (timeout,)
        self.underlying_store.wait([self._within(key) for key in keys], *given)

    def check(self, keys: list[str]) -> bool:
        return self.underlying_store.check([self._within(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._within(key))

    def list_keys(self) -> list[str]:
        """The keys of the values in this part."""
        start = f"{self.prefix}/"
        found = self.underlying_store.list_keys()
        return [key.removeprefix(start) for key in found if key.startswith(start)]

    def num_keys(self) -> int:
        """The number of all values in the other store."""
        return self.underlying_store.num_keys()

    def multi_get(self, keys: list[str]) -> list[bytes]:
        return self.underlying_store.multi_get([self._within(key) for key in keys])

    def multi_set(self, keys: list[str], values: list[str | bytes]) -> None:
        inside = [self._within(key) for key in keys]
        self.underlying_store.multi_set(inside, [_bytes(value) for value in values])

    def queue_push(self, key: str, value: str | bytes) -> None:
        self.underlying_store.queue_push(self._within(key), _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self.underlying_store.queue_pop(self._within(key), block)

    def queue_len(self, key: str) -> int:
        return self.underlying_store.queue_len(self._within(key))

    def has_extended_api(self) -> bool:
        return self.underlying_store.has_extended_api()

    def clone(self) -> PrefixStore:
        return PrefixStore(self.prefix, self.underlying_store.clone())

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self.underlying_store
        return store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store


class FileStore(Store):
    """A store in a file: a log of the requests of all processes, which each applies to a table.

    Args:
        file_name: the file, which all can write; it is made if there is none.
        world_size: accepted.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path = file_name
        self._table = _Table()
        self._seen = 0

    def _ask(self, *request: Any) -> Any:
        try:
            file = open(self.path, "a+b")
        except OSError as error:
            raise DistStoreError(f"{self.path}: {error.strerror}") from None
        with file, _locked(file):
            file.seek(self._seen)
            while (found := _read(file.read)) is not None:
                with contextlib.suppress(ValueError):  # raised in the process that made the request
                    self._table.answer(json.loads(found))
                self._seen = file.tell()
            if request[0] not in ("get", "check", "keys", "length"):
                file.truncate(self._seen)  # behind it is the half-written request of a dead process
                file.write(_framed(request))
                file.flush()
                self._seen = file.tell()
            return self._table.answer(list(request))


@contextlib.contextmanager
def _locked(file: Any) -> Iterator[None]:
    """A block during which no other process is in such a block with the same file."""
    try:
        import fcntl
    except ImportError:
        raise NotImplementedError("FileStore needs locks of files, which are not here") from None
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _framed(message: Any) -> bytes:
    content = json.dumps(message).encode()
    return LENGTH.pack(len(content)) + content


def _read(read: Callable[[int], bytes]) -> bytes | None:
    """The next message; None if it is not all there."""
    length = read(LENGTH.size)
    if len(length) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(length)
    content = read(size)
    return content if len(content) == size else None


class _Server(socketserver.ThreadingTCPServer):
    """The table of a `TCPStore`, in threads of the process that is its master."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    shared: dict[int, _Server] = {}

    def __init__(self, port: int, listening: int | None) -> None:
        self.table = _Table()
        self.process = os.getpid()
        self.masters = 0
        super().__init__(("", port), _Client, bind_and_activate=listening is None)
        if listening is not None:
            self.socket.close()
            self.socket = socket.socket(fileno=listening)
            self.server_address = self.socket.getsockname()
            self.server_activate()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @classmethod
    def of(cls, port: int, multi_tenant: bool, listening: int | None) -> _Server:
        """The server of a port: a new one, or the one that masters in this process share."""
        found = cls.shared.get(port) if multi_tenant else None
        if found is None or found.process != os.getpid():
            found = cls(port, listening)
            if multi_tenant:
                cls.shared[found.server_address[1]] = found
        found.masters += 1
        return found

    def leave(self) -> None:
        """Note that a master is gone; the last one stops the server."""
        self.masters -= 1
        if self.masters:
            return
        if self.shared.get(self.server_address[1]) is self:
            del self.shared[self.server_address[1]]
        if os.getpid() == self.process:  # a forked process has a copy, but not the thread
            self.shutdown()
        self.server_close()


class _Client(socketserver.StreamRequestHandler):
    """The connection of one process to a `_Server`."""

    def handle(self) -> None:
        table = self.server.table  # type: ignore[attr-defined]
        with contextlib.suppress(OSError):
            while (request := _read(self.rfile.read)) is not None:
                try:
                    answer = [True, table.answer(json.loads(request))]
                except ValueError as error:
                    answer = [False, str(error)]
                self.wfile.write(_framed(answer))


def _close(*opened: Any) -> None:
    for each in opened:
        each.close()


class TCPStore(Store):
    """A store that one process, the master, keeps, and that all others reach over the network.

    Whoever can reach the address can read and write it: it is for trusted networks.

    Args:
        host_name, port: the address of the master, which may give port 0 for any free one.
        world_size: the number of processes, for which the master waits.
        is_master: whether this process keeps the table.
        timeout: how long it waits, for the others and for keys.
        wait_for_workers: whether the master waits for ``world_size`` processes.
        multi_tenant: whether masters of one process may share the port, and the table.
        master_listen_fd: the descriptor of a socket that is bound to the port, to be taken over.
        use_libuv: accepted, and kept as ``libuvBackend``.

    Raises:
        DistNetworkError: the master cannot listen there, or nobody answers within ``timeout``.
        DistStoreError: not all processes have come within ``timeout``.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = Store._timeout,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        self.host = host_name
        self.libuvBackend = use_libuv
        self._timeout = timeout
        if is_master:
            try:
                server = _Server.of(port, multi_tenant, master_listen_fd)
            except OSError as error:
                raise DistNetworkError(
                    f"The server socket has failed to listen on any local network address. port: "
                    f"{port}: {error.strerror}"
                ) from None
            weakref.finalize(self, server.leave).atexit = False
            port = server.server_address[1]
        self.port = port
        self._lock = threading.Lock()
        self._connection = self._connected("127.0.0.1" if is_master else host_name)
        self._file = self._connection.makefile("rb")
        weakref.finalize(self, _close, self._file, self._connection)
        self.add(JOINED, 1)
        if is_master and wait_for_workers and world_size:
            self._meet(world_size)

    def _connected(self, host: str) -> socket.socket:
        seconds = self._timeout.total_seconds()
        end, pause = time.monotonic() + seconds, FIRST_PAUSE
        while True:
            try:
                connection = socket.create_connection((host, self.port), seconds)
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            except OSError as error:
                if time.monotonic() >= end:
                    raise DistNetworkError(
                        f"The client socket has timed out after {seconds * 1e3:.0f}ms while trying "
                        f"to connect to ({self.host}, {self.port}): {error}"
                    ) from None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _meet(self, world_size: int) -> None:
        end = time.monotonic() + self._timeout.total_seconds()
        while (joined := self.add(JOINED, 0)) < world_size:
            if time.monotonic() >= end:
                raise DistStoreError(
                    f"Timed out after {self._timeout.total_seconds():g} seconds waiting for "
                    f"clients. {joined}/{world_size} clients joined."
                )
            time.sleep(LONGEST_PAUSE)

    def _ask(self, *request: Any) -> Any:
        with self._lock:
            try:
                self._connection.sendall(_framed(request))
                answer = _read(self._file.read)
            except OSError as error:
                raise DistNetworkError(f"the store at {self._address}: {error}") from None
        if answer is None:
            raise DistNetworkError(f"the store at {self._address} is gone, with its master")
        done, result = json.loads(answer)
        if not done:
            raise ValueError(result)
        return result

    @property
    def _address(self) -> str:
        return f"{self.host}:{self.port}"

    def clone(self) -> TCPStore:
        """A connection of its own to the same table."""
        return TCPStore(self.host, self.port, timeout=self._timeout)

    def __repr__(self) -> str:
        return f"TCPStore({self._address})"


__all__ = ["FileStore", "HashStore", "PrefixStore", "QueueEmptyError", "Store", "TCPStore"]
