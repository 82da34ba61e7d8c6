"""Processes that share tensors: what is sent, what both see, and how failures are told."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import time
from multiprocessing import reduction
from typing import Any

import pytest

import nnkit
import nnkit.multiprocessing as mp

METHODS = [m for m in ("fork", "spawn") if m in mp.get_all_start_methods()]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there tensors travel as copies")


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def fill(received: Any, answers: Any) -> None:
    x = received.get()
    x.fill_(7)
    answers.put(x[1:])
    assert received.get() is None  # whoever sends stays until it was received


@pytest.mark.parametrize("method", METHODS)
def test_a_queue_shares(method: str) -> None:
    """What the other process writes is seen here, by every view; what comes back is known."""
    context: Any = mp.get_context(method)
    received, answers = context.Queue(), context.Queue()
    x = nnkit.zeros(2, 3)
    row, transposed, detached = x[1], x.t(), x.detach()
    process = context.Process(target=fill, args=(received, answers))
    process.start()
    received.put(x)
    answer = answers.get(timeout=60)
    received.put(None)
    process.join()
    assert process.exitcode == 0 and x.is_shared()
    assert x.tolist() == [[7.0] * 3] * 2 and row.tolist() == [7.0] * 3
    assert transposed.tolist() == [[7.0] * 2] * 3 and detached.sum().item() == 42
    assert transposed.stride() == (1, 3) and row.storage_offset() == 3
    assert answer.data_ptr() == x[1:].data_ptr() and answer.storage_offset() == 3
    x.add_(1)
    assert answer.tolist() == [[8.0] * 3] and row.tolist() == [8.0] * 3


def sent(value: Any) -> Any:
    """What comes out of a pipe."""
    reader, writer = mp.Pipe(duplex=False)
    with reader, writer:
        writer.send(value)
        return reader.recv()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_every_dtype_and_layout(dtype: str) -> None:
    x = nnkit.arange(12).to(getattr(nnkit, dtype)).view(3, 4)
    for tensor in (x, x.t(), x[1:, ::2], x[0, 0], x[3:], nnkit.empty(0, 2, dtype=x.dtype)):
        found = sent(tensor)
        assert found.dtype is x.dtype and found.tolist() == tensor.tolist()
        assert found.shape == tensor.shape and found.stride() == tensor.stride()
        assert found.storage_offset() == tensor.storage_offset()
        assert found.data_ptr() == tensor.data_ptr()


def test_what_goes_with_a_tensor() -> None:
    parameter = nnkit.nn.Parameter(nnkit.ones(2))
    parameter.grad = nnkit.ones(2)
    found = sent([parameter, parameter, nnkit.ones(1, requires_grad=True)])
    assert type(found[0]) is nnkit.nn.Parameter and found[0] is found[1]
    assert found[0].requires_grad and found[0].grad is None and found[2].requires_grad
    lazy = nnkit.tensor([1 + 2j]).conj()
    assert sent(lazy).tolist() == [1 - 2j]
    assert sent(nnkit.ones(2, device="meta")).is_meta
    with pytest.raises(RuntimeError, match="cannot send a non-leaf tensor"):
        sent(parameter * 2)
    with pytest.raises(RuntimeError, match="Cannot pickle META storage"):
        sent(nnkit.ones(2, device="meta").untyped_storage())


def test_an_ordinary_pickle_is_a_copy() -> None:
    x = nnkit.zeros(2)
    assert pickle.loads(pickle.dumps(x)).data_ptr() != x.data_ptr() and not x.is_shared()


def test_a_storage_with_its_views() -> None:
    x = nnkit.arange(4.0)
    storage, whole, part = sent([x.storage(), x, x[2:]])
    whole.fill_(5)
    assert storage.tolist() == [5.0] * 4 == x.tolist() and part.tolist() == [5.0] * 2


def test_memory_is_given_back() -> None:
    sent(nnkit.zeros(3))  # the server of descriptors starts
    before = descriptors()
    for _ in range(8):
        found = sent(nnkit.zeros(1000))
    assert descriptors() <= before + 3
    del found
    assert descriptors() <= before


def square(x: Any) -> Any:
    return x * x


def test_a_pool() -> None:
    with mp.Pool(2) as pool:
        found = pool.map(square, [nnkit.tensor([1.0]), nnkit.tensor([3.0])])
    assert [x.item() for x in found] == [1.0, 9.0]


def increase(index: int, model: Any, lock: Any) -> None:
    optimizer = nnkit.optim.SGD(model.parameters(), 1.0)
    for _ in range(10):
        with lock:
            optimizer.zero_grad()
            (-sum(p.sum() for p in model.parameters())).backward()  # type: ignore[union-attr]
            optimizer.step()


@pytest.mark.parametrize("method", METHODS)
def test_processes_train_one_model(method: str) -> None:
    """As the examples of Hogwild do."""
    model = nnkit.nn.Linear(2, 1)
    for parameter in model.parameters():
        nnkit.nn.init.zeros_(parameter)
    assert model.share_memory() is model and model.weight.is_shared()
    lock = mp.get_context(method).Lock()
    mp.start_processes(increase, (model, lock), nprocs=2, start_method=method)
    assert model.weight.tolist() == [[20.0, 20.0]] and model.bias.tolist() == [20.0]


def misbehave(index: int, kind: str) -> None:
    if index == 0:
        time.sleep(60)
    if kind == "raises":
        raise ValueError("the reason " + "x" * 100_000)
    if kind == "exits":
        sys.exit(3)
    os.kill(os.getpid(), 9)


FAILURES = {
    "raises": (mp.ProcessRaisedException, None, None, "Process 1 terminated with the following"),
    "exits": (mp.ProcessExitedException, 3, None, "process 1 terminated with exit code 3"),
    "is killed": (
        mp.ProcessExitedException, -9, "SIGKILL", "process 1 terminated with signal SIGKILL",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILURES)
def test_one_that_fails_ends_all(kind: str) -> None:
    start = time.monotonic()
    context = mp.start_processes(misbehave, (kind,), 2, join=False, start_method="fork")
    assert context is not None and len(context.pids()) == 2
    expected, code, name, words = FAILURES[kind]
    with pytest.raises(expected, match=words) as caught:
        while not context.join():
            pass
    assert time.monotonic() - start < 30
    assert not any(process.is_alive() for process in context.processes)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert type(error) is expected and str(error) == str(caught.value)
        assert (error.error_index, error.error_pid) == (1, context.pids()[1])
        if isinstance(error, mp.ProcessExitedException):
            assert (error.exit_code, error.signal_name) == (code, name)


def test_waiting_for_some_time() -> None:
    context = mp.start_processes(misbehave, ("",), 1, join=False, start_method="fork")
    assert context is not None and context.join(timeout=0.05) is False
    context.processes[0].kill()
    with pytest.raises(mp.ProcessExitedException):
        context.join()


def test_spawn_starts_by_spawn() -> None:
    with pytest.warns(FutureWarning, match="spawn starts processes by spawn"):
        mp.spawn(print, nprocs=0, start_method="fork")


def test_sharing_strategies() -> None:
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="must be one of"):
        mp.set_sharing_strategy("pigeons")


def test_share_memory_of_a_view() -> None:
    x = nnkit.zeros(4)
    view, storage = x[1:], x.storage()
    conjugate = (z := nnkit.zeros(2, dtype=nnkit.complex64)).conj()
    view.share_memory_()
    x.fill_(3)
    assert view.tolist() == [3.0] * 3 and storage.tolist() == [3.0] * 4 and storage.is_shared()
    conjugate.share_memory_()
    z.fill_(1j)
    assert conjugate.tolist() == [-1j, -1j]
    assert nnkit.zeros(3, 2).t().share_memory_().stride() == (1, 2)


def test_a_loader_s_batches_are_copies() -> None:
    data = nnkit.utils.data.TensorDataset(nnkit.arange(4.0))
    for (batch,) in nnkit.utils.data.DataLoader(data, 2, num_workers=1):
        assert not batch.is_shared()


def test_sending_does_not_search_for_who_shares_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("gc.get_objects")
    tensors = [nnkit.ones(2), nnkit.ones(2) + 1, nnkit.nn.Parameter(nnkit.ones(2))]
    for tensor in tensors:
        reduction.ForkingPickler.dumps(tensor)
        assert tensor.is_shared()
