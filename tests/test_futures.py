"""Futures are completed once, by any thread, and call what waits for them."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from nnkit.backend import futures
from nnkit.futures import Future, collect_all, wait_all


def test_a_value_of_another_thread() -> None:
    future: Future[int] = Future()
    assert not future.done()
    threading.Timer(0.01, future.set_result, (3,)).start()
    assert future.wait() == future.value() == 3 and future.done()
    with pytest.raises(RuntimeError, match="marked completed once"):
        future.set_result(4)


def test_value_before_it_is_there() -> None:
    with pytest.raises(RuntimeError, match="has not been completed"):
        Future().value()


def test_callbacks_run_once_it_is_done() -> None:
    future: Future[int] = Future()
    seen: list[Any] = []
    future.add_done_callback(lambda f: seen.append(f.value()))
    twice = future.then(lambda f: f.value() * 2)
    assert seen == []
    future.set_result(1)
    future.add_done_callback(lambda f: seen.append("late"))
    assert seen == [1, "late"] and twice.wait() == 2


def test_errors() -> None:
    future: Future[int] = Future()
    following = future.then(lambda f: f.value())
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        future.wait()
    with pytest.raises(RuntimeError, match="when running the callback: ValueError: no"):
        following.wait()
    with pytest.raises(AssertionError, match="not an Exception"):
        Future().set_exception(3)  # type: ignore[arg-type]


def test_all_of_several() -> None:
    parts: list[Future[int]] = [Future(), Future()]
    whole = collect_all(parts)
    parts[1].set_result(1)
    assert not whole.done()
    parts[0].set_result(0)
    assert whole.wait() == parts and wait_all(parts) == [0, 1]
    assert collect_all([]).wait() == []
    parts = [Future(), Future()]
    whole = collect_all(parts)
    parts[1].set_exception(KeyError("last"))
    assert not whole.done()
    parts[0].set_exception(ValueError("first"))
    with pytest.raises(ValueError, match="first"):
        whole.wait()
    with pytest.raises(RuntimeError, match="can't be None"):
        wait_all([None])  # type: ignore[list-item]


def test_errors_of_callbacks_are_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[Any] = []
    monkeypatch.setattr(futures.LOG, "exception", logged.append)
    future: Future[int] = Future()
    future.add_done_callback(lambda: None)  # type: ignore[arg-type, misc]
    future.set_result(1)
    future.add_done_callback(lambda f: f.missing)  # type: ignore[attr-defined]
    assert future.wait() == 1 and len(logged) == 2


def test_is_not_pickled() -> None:
    with pytest.raises(RuntimeError, match="Can not pickle"):
        pickle.dumps(Future())
