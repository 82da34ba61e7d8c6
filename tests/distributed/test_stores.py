"""Stores: what they answer, alike in each of their kinds and in torch's, and who shares them."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import multiprocessing
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import nnkit.distributed as dist
from nnkit.distributed.rendezvous import _handlers

SHORT = timedelta(milliseconds=100)
KINDS: dict[str, Callable[[Any, Path], Any]] = {
    "hash": lambda d, folder: d.HashStore(),
    "file": lambda d, folder: d.FileStore(str(folder / "store"), 1),
    "tcp": lambda d, folder: d.TCPStore("localhost", 0, 1, True, timedelta(seconds=10)),
    "prefix": lambda d, folder: d.PrefixStore("part", d.HashStore()),
}
FRAMEWORKS = [name for name in ("nnkit", "torch") if importlib.util.find_spec(name) is not None]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_store(kind: str, framework: str, tmp_path: Path) -> None:
    store = KINDS[kind](importlib.import_module(f"{framework}.distributed"), tmp_path)
    store.set("text", "value")
    store.set("bytes", b"\x00\xff")
    assert (store.get("text"), store.get("bytes")) == (b"value", b"\x00\xff")
    assert [store.add("n", 2), store.add("n", -5)] == [2, -3] and store.get("n") == b"-3"
    store.set("number", "7")
    assert store.add("number", 1) == 8
    assert store.compare_set("c", "x", "y") == b"x" and not store.check(["c"])
    assert store.compare_set("c", "", "y") == b"y"
    assert [store.compare_set("c", e, "z") for e in ("y", "q")] == [b"z", b"z"]
    assert store.check(["c", "n"]) and store.check([]) and not store.check(["c", "missing"])
    assert store.delete_key("c") and not store.check(["c"])
    store.append("a", "x")
    store.append("a", "y")
    store.multi_set(["d", "e"], ["1", b"2"])
    assert store.multi_get(["a", "d", "e"]) == [b"xy", b"1", b"2"]
    assert {"text", "bytes", "a", "d"} <= set(store.list_keys()) and store.num_keys() >= 7
    store.wait(["a", "d"])
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    for call in (
        lambda: store.get("missing"),
        lambda: store.wait(["a", "missing"]),
        lambda: store.wait(["missing"], SHORT),
    ):
        with pytest.raises(RuntimeError, match="(?i)timeout"):
            call()
    with pytest.raises(TypeError):
        store.set(1, "x")
    with pytest.raises(TypeError):
        store.set("x", 1)


@pytest.mark.parametrize("kind", ["hash", "tcp", "prefix", "file"])
def test_queues_and_numbers(kind: str, tmp_path: Path) -> None:
    store = KINDS[kind](dist, tmp_path)
    with pytest.raises(ValueError):
        store.set("text", "value")
        store.add("text", 1)
    store.queue_push("q", "1")
    store.queue_push("q", b"2")
    assert store.queue_len("q") == 2 and store.check(["q"])
    assert [store.queue_pop("q"), store.queue_pop("q", False)] == [b"1", b"2"]
    with pytest.raises(dist.QueueEmptyError, match="q' is empty"):
        store.queue_pop("q", False)
    store.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError, match="waited 0.1 s for .*q"):
        store.queue_pop("q")
    with pytest.raises(ValueError):
        store.multi_set(["a"], ["1", "2"])
    assert store.has_extended_api() and store.get("text") == b"value"


def test_prefixes_and_clones() -> None:
    whole = dist.HashStore()
    part = dist.PrefixStore("a", dist.PrefixStore("b", whole))
    part.set("key", "value")
    assert whole.get("b/a/key") == b"value" and part.list_keys() == ["key"]
    assert part._underlying_non_prefix_store is whole and whole.clone() is whole
    master = dist.TCPStore("localhost", 0, is_master=True)
    other = master.clone()
    other.set("key", b"there")
    assert master.get("key") == b"there" and other.port == master.port
    with pytest.raises(NotImplementedError, match="Store lacks"):
        dist.Store().get("key")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_part_of_a_store_of_a_program(framework: str) -> None:
    d = importlib.import_module(f"{framework}.distributed")

    class Own(d.Store):
        def __init__(self) -> None:
            super().__init__()
            self.values: dict[str, bytes] = {}

        def set(self, key: str, value: bytes) -> None:
            self.values[key] = value

        def get(self, key: str) -> bytes:
            return self.values[key]

        def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
            assert self.check(keys)

        def check(self, keys: list[str]) -> bool:
            return all(key in self.values for key in keys)

        def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
            if self.values.get(key, expected) == expected:
                self.values[key] = desired
            return self.values[key]

    own = Own()
    part = d.PrefixStore("part", own)
    part.set("key", "value")
    assert own.values == {"part/key": b"value"} and part.get("key") == b"value"
    part.wait(["key"])
    part.wait(["key"], SHORT)
    assert part.check(["key"]) and not part.check(["key", "other"])
    part.append("key", b" and more")
    assert part.get("key") == b"value and more"
    part.append("new", "")
    assert part.get("new") == b""
    if framework == "nnkit":  # torch takes an equal value that is there for the one it has written
        for value in (b"a", b"aa"):
            part.append("twice", "a")
            assert part.get("twice") == value
    with pytest.raises((RuntimeError, NotImplementedError), match="Not implemented."):
        d.PrefixStore("part", type("Empty", (d.Store,), {})()).append("a", "b")
    assert not part.has_extended_api() and d.PrefixStore("a", d.HashStore()).has_extended_api()


def count(store: Any, times: int) -> None:
    for _ in range(times):
        store.add("count", 1)


def count_in_file(path: str) -> None:
    count(dist.FileStore(path), 50)


def count_by_address(port: int) -> None:
    count(dist.TCPStore("localhost", port, timeout=timedelta(seconds=10)), 50)


def test_many_at_once(tmp_path: Path) -> None:
    """Nothing of what threads and processes add together is lost."""
    store, file = dist.HashStore(), dist.FileStore(str(tmp_path / "store"))
    master = dist.TCPStore("localhost", 0, is_master=True)
    threads = [threading.Thread(target=count, args=(s, 50)) for s in (store, master) * 3]
    context = multiprocessing.get_context("fork")
    processes: list[Any] = []
    for _ in range(3):
        processes.append(context.Process(target=count_in_file, args=(file.path,)))
        processes.append(context.Process(target=count_by_address, args=(master.port,)))
    for each in (*processes, *threads):
        each.start()
    for each in (*processes, *threads):
        each.join()
    assert store.add("count", 0) == file.add("count", 0) == 150
    assert master.add("count", 0) == 300


def test_a_message_that_was_cut_off(tmp_path: Path) -> None:
    """A process that is killed while it writes spoils a file for nobody."""
    store = dist.FileStore(str(tmp_path / "store"))
    store.set("key", "value")
    whole = (tmp_path / "store").read_bytes()
    (tmp_path / "store").write_bytes(whole + whole[: len(whole) // 2])
    assert store.get("key") == b"value"
    store.set("other", "1")
    assert dist.FileStore(store.path).multi_get(["key", "other"]) == [b"value", b"1"]


def test_masters_and_clients() -> None:
    master = dist.TCPStore("localhost", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match=f"failed to listen .* port: {master.port}"):
        dist.TCPStore("localhost", master.port, is_master=True)
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("localhost", 0, 2, True, SHORT)
    with pytest.raises(dist.DistNetworkError, match=r"timed out after 100ms .*\(localhost, 1\)"):
        dist.TCPStore("localhost", 1, timeout=SHORT)
    with pytest.raises(dist.DistStoreError, match="No such file"):
        dist.FileStore("/nowhere/at/all").set("key", "value")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_masters_that_share_a_port(framework: str) -> None:
    d = importlib.import_module(f"{framework}.distributed")
    first = d.TCPStore("localhost", 0, is_master=True, multi_tenant=True)
    second = d.TCPStore("localhost", first.port, is_master=True, multi_tenant=True)
    first.set("key", "value")
    assert second.get("key") == b"value" and second.libuvBackend
    del first
    gc.collect()
    assert second.get("key") == b"value"
    port = second.port
    del second
    gc.collect()
    assert not d.TCPStore("localhost", port, is_master=True, multi_tenant=True).check(["key"])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_socket_that_is_taken_over(framework: str) -> None:
    d = importlib.import_module(f"{framework}.distributed")
    bound = socket.socket()
    bound.bind(("localhost", 0))
    port = bound.getsockname()[1]
    store = d.TCPStore("localhost", port, is_master=True, master_listen_fd=bound.detach())
    store.set("key", "value")
    assert d.TCPStore("localhost", port).get("key") == b"value"


def test_a_barrier() -> None:
    store, passed = dist.HashStore(), []

    def come() -> None:
        store.barrier("here", 2)
        passed.append(1)

    thread = threading.Thread(target=come)
    thread.start()
    with pytest.raises(dist.DistStoreError):
        store.wait(["here/done"], SHORT)
    assert not passed
    store.barrier("here", 2)
    thread.join()
    assert passed == [1]


def test_rendezvous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, rank, size = next(dist.rendezvous(f"file://{tmp_path}/store?rank=1&world_size=3"))
    assert isinstance(store, dist.FileStore) and (rank, size) == (1, 3)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "0")
    store, rank, size = next(dist.rendezvous("env://", 0, 1))
    assert isinstance(store, dist.TCPStore) and (rank, size) == (0, 1)
    with pytest.raises(AssertionError, match="has node-specific arguments"):
        dist.rendezvous("file://store?rank=1&world_size=3", 1, 3)
    with pytest.raises(RuntimeError, match="No rendezvous handler for own://"):
        dist.rendezvous("own://", 0, 1)
    with pytest.raises(ValueError, match="path missing"):
        next(dist.rendezvous("file://?rank=0&world_size=1"))
    dist.register_rendezvous_handler("own", lambda url, **kwargs: iter([(store, 0, 1)]))
    try:
        with pytest.raises(RuntimeError, match="already registered"):
            dist.register_rendezvous_handler("own", iter)
        assert next(dist.rendezvous("own://"))[0] is store
        dist.init_process_group(init_method="own://")
        assert dist.get_world_size() == 1
        dist.destroy_process_group()
    finally:
        del _handlers["own"]
