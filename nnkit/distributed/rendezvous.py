"""Rendezvous: how the processes of a job find each other, by an address, a file or a store."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from nnkit.backend import ranks as world_of_ranks
from nnkit.backend.ranks import World
from nnkit.distributed.stores import FileStore, Store, TCPStore

SCHEMES = "env", "tcp", "file"
_handlers: dict[str, Callable[..., Iterator[tuple[Any, int, int]]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable) -> None:
    """Register a handler of addresses for `rendezvous` and `init_process_group`.

    Args:
        scheme: the part of the address before ``://``.
        handler: called with the address, yields a store, this process's rank and the number of
            processes.

    Raises:
        RuntimeError: the scheme has a handler.
    """
    if scheme in _handlers or scheme in SCHEMES:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs: Any
) -> Iterator[tuple[Any, int, int]]:
    """The store that an address leads to, this process's rank and the number of processes.

    Raises:
        AssertionError: a rank or a number of processes is given twice.
        RuntimeError: there is no handler for such an address.
        ValueError: the rank or the number of processes is missing.
        DistNetworkError, DistStoreError: nobody answers there in time.

    Example:
        >>> import nnkit.distributed as dist
        >>> store, rank, size = next(dist.rendezvous("tcp://127.0.0.1:0?rank=0&world_size=1"))
        >>> store.set("key", "value")
        >>> store.get("key"), rank, size
        (b'value', 0, 1)
    """
    scheme = urlparse(url).scheme
    given = (rank, world_size) != (-1, -1)
    assert not (given and {"rank", "world_size"} & parse_qs(urlparse(url).query).keys()), (
        f"The url: {url} has node-specific arguments (rank, world_size) already."
    )
    if scheme in _handlers:
        return _handlers[scheme](url, **kwargs)
    _check_scheme(scheme)
    return _found(url, rank, world_size, kwargs.get("timeout") or Store._timeout)


def _found(url: str, rank: int, size: int, timeout: timedelta) -> Iterator[tuple[Store, int, int]]:
    rank, size = _place(url, rank, size)
    if urlparse(url).scheme == "file":
        yield FileStore(_path(url), size), rank, size
    else:
        yield TCPStore(*_address(url), size, rank == 0, timeout, wait_for_workers=False), rank, size


def find_world(url: str, size: int, rank: int, store: Any, seconds: float) -> World:
    """The world of processes that the arguments or the environment describe."""
    if world_of_ranks.is_launched():
        return world_of_ranks.launched()
    scheme = urlparse(url).scheme
    if store is None and scheme in _handlers:
        store, rank, size = next(rendezvous(url, rank, size, timeout=timedelta(seconds=seconds)))
    if store is not None:
        return _met_in(store, rank, size, seconds)
    if scheme == "env" and rank < 0 and size < 0:
        if not {"RANK", "WORLD_SIZE"} & os.environ.keys():
            return world_of_ranks.alone()
    rank, size = _place(url, rank, size)
    if rank >= size:
        raise ValueError(f"rank must be below world_size, got rank {rank} of {size}")
    if size == 1:
        return world_of_ranks.alone()
    if scheme != "file":
        return world_of_ranks.joined(*_address(url), rank, size, seconds)
    path = _path(url)
    world = _met_in(FileStore(path), rank, size, seconds)
    if rank == 0:
        with contextlib.suppress(OSError):  # so that it can be used again
            os.unlink(path)
    return world


def _met_in(store: Any, rank: int, size: int, seconds: float) -> World:
    """The world of processes that read rank 0's address in a store."""
    if size == 1:
        return world_of_ranks.alone()
    if rank == 0:
        store.set("nnkit/address", _own_address())
    else:
        store.wait(["nnkit/address"], timedelta(seconds=seconds))
    host, _, port = store.get("nnkit/address").decode().rpartition(":")
    return world_of_ranks.joined(host, int(port), rank, size, seconds)


def _own_address() -> str:
    """An address of this machine and a port that is free, as ``host:port``."""
    try:
        host = socket.gethostbyname(socket.gethostname())
    except OSError:
        host = "127.0.0.1"
    with socket.create_server(("", 0)) as free:
        return f"{host}:{free.getsockname()[1]}"


def _place(url: str, rank: int, size: int) -> tuple[int, int]:
    """The rank and the number of processes: as given, else from the address or the environment."""
    parts = urlparse(url)
    asked = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    rank = int(asked.get("rank", rank))
    size = int(asked.get("world_size", size))
    if parts.scheme == "env":
        rank = int(_variable("RANK")) if rank < 0 else rank
        size = int(_variable("WORLD_SIZE")) if size < 0 else size
    else:
        _check_scheme(parts.scheme)
    for word, value in (("rank", rank), ("size", size)):
        if value < 0:
            raise ValueError(
                f"Error initializing torch.distributed using {parts.scheme}:// rendezvous: "
                f"{word} parameter missing"
            )
    return rank, size


def _check_scheme(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise RuntimeError(f"No rendezvous handler for {scheme}://")


def _path(url: str) -> str:
    """The file in which the processes meet."""
    path = urlparse(url).path
    if not path:
        raise ValueError(
            "Error initializing torch.distributed using file:// rendezvous: path missing"
        )
    return path


def _address(url: str) -> tuple[str, int]:
    """The host and the port where the processes meet."""
    parts = urlparse(url)
    if parts.scheme == "env":
        return _variable("MASTER_ADDR"), int(_variable("MASTER_PORT"))
    if parts.port is None:
        raise ValueError(
            "Error initializing torch.distributed using tcp:// rendezvous: port number missing"
        )
    return str(parts.hostname), parts.port


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return value
