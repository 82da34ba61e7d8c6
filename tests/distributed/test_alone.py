"""A world of one, which needs no launcher and no MPI: what it computes, and what it refuses."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nnkit
import nnkit.distributed as dist
from nnkit.backend import ranks, rendezvous
from nnkit.backend.cpu import collective
from nnkit.backend.device import cpu
from nnkit.backend.door import Counter, Recorder, standing
from nnkit.distributed import run

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK")


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    dist.init_process_group()
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_process_without_a_launcher(group: Any) -> None:
    assert dist.is_available() and dist.is_initialized()
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "undefined")
    assert dist.get_process_group_ranks(None) == [0]
    x = nnkit.tensor([1.0, 2.0])
    for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    found = [nnkit.zeros(2)]
    dist.all_gather(found, x)
    dist.gather(x + 1, found, 0)
    assert found[0].tolist() == [2.0, 3.0]
    dist.scatter(x, [nnkit.tensor([3.0, 4.0])])
    dist.all_to_all_single(found[0], x)
    assert found[0].tolist() == [3.0, 4.0]
    out = nnkit.zeros(2, 2).t()[0]
    dist.reduce_scatter_tensor(out, x)
    assert out.tolist() == [3.0, 4.0]
    objects: list = [None]
    dist.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}]
    dist.barrier()
    dist.monitored_barrier()


def test_an_asynchronous_call(group: Any) -> None:
    x = nnkit.ones(2)
    work = dist.all_reduce(x, async_op=True)
    assert work is not None
    future = work.get_future()
    later = future.then(lambda f: f.value()[0] + 1)
    assert later.wait().tolist() == [2.0, 2.0]
    assert work.is_completed() and work.is_success() and work.exception() is None
    assert work.result() == [x] and future.done()


def test_groups(group: Any) -> None:
    inner = dist.new_group([0], timeout=timedelta(seconds=3))
    assert dist.get_pg_count() == 2 and inner.size() == 1 and inner.rank() == 0
    assert inner in dist.distributed_c10d._pg_map
    own, all_groups = dist.new_subgroups(1)
    assert [own] == all_groups
    dist.destroy_process_group(inner)
    with pytest.raises(ValueError, match="Invalid process group"):
        dist.destroy_process_group(inner)
    with pytest.raises(RuntimeError, match="the group was destroyed"):
        dist.all_reduce(nnkit.ones(1), group=inner)


def test_backends_of_devices() -> None:
    backends = map(dist.get_default_backend_for_device, ("cpu", nnkit.device("cuda", 1)))
    assert list(backends) == ["gloo", "nccl"]
    with pytest.raises(ValueError, match="not registered for device : meta"):
        dist.get_default_backend_for_device("meta")


SPLITS: dict[str, tuple[dict[str, Any], str]] = {
    "no part": ({"split_ranks": []}, "cannot be None or empty"),
    "an empty part": ({"split_ranks": [[]]}, "the split group cannot be empty"),
    "a rank twice": ({"split_ranks": [[0, 0]]}, "less or equal to the world_size"),
    "another backend": ({"split_ranks": [[0]], "backend": "nccl"}, "Backend mismatch"),
    "no member": ({"split_ranks": [[0]], "parent_pg": -100}, "Group -100 is not registered"),
}


@pytest.mark.parametrize("case", SPLITS)
def test_a_group_is_not_split(group: Any, case: str) -> None:
    options, words = SPLITS[case]
    with pytest.raises(ValueError, match=words):
        dist.split_group(**options)


def test_a_group_is_split(group: Any) -> None:
    part = dist.split_group(split_ranks=[[0]], timeout=timedelta(seconds=3))
    assert part is not None and part.size() == 1 and part.group_desc == "default_pg:split"
    assert dist.split_group(split_ranks=[[1]]) is None


@pytest.mark.parametrize("world_size", ["1", "2"])
def test_variables_of_a_launcher(monkeypatch: pytest.MonkeyPatch, world_size: str) -> None:
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(ValueError, match="variable WORLD_SIZE expected"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("WORLD_SIZE", world_size)
    if world_size == "1":
        dist.init_process_group("gloo")
        assert dist.get_backend() == "gloo"
        dist.destroy_process_group()
    else:
        monkeypatch.delenv("MASTER_ADDR", raising=False)
        with pytest.raises(ValueError, match="variable MASTER_ADDR expected"):
            dist.init_process_group("gloo")


CALLS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "no tensor": (lambda T, d: d.all_reduce([1]), "`tensor` of type torch.Tensor"),
    "complex max": (
        lambda T, d: d.all_reduce(T.ones(2, dtype=T.complex64), op=d.ReduceOp.MAX),
        "does not support RedOpType.MAX on complex tensors",
    ),
    "bits of floats": (
        lambda T, d: d.all_reduce(T.ones(2), op=d.ReduceOp.BAND),
        "Cannot use ReduceOp.BAND with non-integral dtype",
    ),
    "no list": (lambda T, d: d.all_gather(T.ones(3), T.ones(3)), "`tensor_list` of type List"),
    "two dtypes": (
        lambda T, d: d.all_gather([T.zeros(3, dtype=T.int32)], T.ones(3)),
        "Invalid usage of tensors with different dtypes",
    ),
    "no gather list": (lambda T, d: d.gather(T.ones(3), None, 0), "must be specified"),
    "no scatter list": (lambda T, d: d.scatter(T.ones(3), None, 0), "must be specified"),
    "no source": (lambda T, d: d.broadcast(T.ones(3)), "Must specify global_rank or group_rank"),
    "two sources": (lambda T, d: d.broadcast(T.ones(3), 0, group_src=0), "Can't specify both"),
    "send to itself": (lambda T, d: d.send(T.ones(3), 0), "Invalid destination rank"),
    "a rank twice": (lambda T, d: d.new_group([0, 0]), "must not contain duplicate entries"),
    "no such rank": (lambda T, d: d.new_group([3]), "Rank 3 is out of range"),
    "a second time": (lambda T, d: d.init_process_group("gloo"), "process group twice"),
    "a timeout in seconds": (
        lambda T, d: d.new_group([0], timeout=3),
        "of type datetime.timedelta",
    ),
    "no such op": (lambda T, d: d.P2POp(d.send, T.ones(1), 0), "Invalid ``op``"),
    "no local rank": (lambda T, d: d.get_node_local_rank(), "LOCAL_RANK is not in the"),
    "no member": (lambda T, d: d.get_global_rank(d.new_group([0]), 1), "not part of group"),
}


@pytest.mark.parametrize("case", CALLS)
def test_an_error(group: Any, torch_group: ModuleType | None, case: str) -> None:
    """Of torch's type, and with its words."""
    call, words = CALLS[case]
    with pytest.raises((TypeError, ValueError, RuntimeError), match=words) as caught:
        call(nnkit, dist)
    if torch_group is not None:
        with pytest.raises((TypeError, ValueError, RuntimeError)) as expected:
            call(torch_group, torch_group.distributed)
        assert caught.type is expected.type


@pytest.fixture(scope="module")
def torch_group() -> Iterator[ModuleType | None]:
    """torch with a group of this one process; None where torch is not."""
    try:
        import torch
    except ImportError:
        yield None
        return
    store: Any = torch.distributed.HashStore()  # type: ignore[attr-defined]
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=store)
    yield torch
    torch.distributed.destroy_process_group()


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no group": (lambda: dist.get_rank(), "Default process group has not been initialized"),
    "no such backend": (lambda: dist.init_process_group("foo"), "Invalid backend: 'foo'"),
    "no rank": (lambda: dist.init_process_group(init_method="tcp://a:1"), "rank parameter missing"),
    "no port": (
        lambda: dist.init_process_group(init_method="tcp://a", rank=0, world_size=2),
        "port number missing",
    ),
    "rank beyond": (
        lambda: dist.init_process_group(init_method="tcp://a:1", rank=2, world_size=2),
        "rank must be below world_size",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_no_group(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    call, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        call()


def test_errors_of_lists(group: Any) -> None:
    x = nnkit.ones(3)
    with pytest.raises(ValueError, match="one tensor for each of the 1 ranks, got 2"):
        dist.all_gather([x, x], x)
    with pytest.raises(ValueError, match=r"tensor 0 has shape \[4\], expected \[3\]"):
        dist.all_gather([nnkit.ones(4)], x)
    with pytest.raises(ValueError, match="equal to world_size times input"):
        dist.all_gather_into_tensor(nnkit.ones(4), x)
    with pytest.raises(ValueError, match="same size as output size times"):
        dist.reduce_scatter_tensor(nnkit.ones(4), x)
    with pytest.raises(ValueError, match="input_split_sizes must be 1 numbers whose sum is"):
        dist.all_to_all_single(x, x, None, [2])
    calls: list[tuple[Any, str]] = [(dist.gather, "destination"), (dist.scatter, "source")]
    for refused, role in calls:
        words = f"``{refused.__name__}_list`` must be specified on {role} rank"
        for missing in (None, []):
            with pytest.raises(ValueError, match=words):
                refused(x, missing)
        with pytest.raises(ValueError, match="one tensor for each of the 1 ranks, got 2"):
            refused(x, [x, x])
        with pytest.raises(ValueError, match=r"tensor 0 has shape \[4\], expected \[3\]"):
            refused(x, [nnkit.ones(4)])
        with pytest.raises(ValueError, match="different dtypes"):
            refused(x, [x.double()])
        with pytest.raises(TypeError, match=f"`{refused.__name__}_list` of type List"):
            refused(x, x)
        with pytest.raises(TypeError, match="`tensor` of type torch.Tensor"):
            refused([x], [x])
        with pytest.raises(ValueError, match="not part of group"):
            refused(x, [x], 1)
        with pytest.raises(ValueError, match="Can't specify both"):
            refused(x, [x], 0, **{"group_dst" if refused is dist.gather else "group_src": 0})
    with pytest.raises(ValueError, match="List|list of size at least 1"):
        dist.scatter_object_list([], [1])
    with pytest.raises(TypeError, match="op must be a ReduceOp"):
        dist.all_reduce(x, op="sum")


def test_several_processes_without_mpi_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setattr(ranks, "_world", None)
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "a",
        "MASTER_PORT": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(
        RuntimeError, match=r"several processes need MPI.*pip install 'nnkit\[mpi\]'"
    ):
        dist.init_process_group()
    assert not dist.is_mpi_available() and not dist.is_initialized()


def test_who_has_not_come_is_named() -> None:
    with pytest.raises(TimeoutError, match="joined were ranks 0, missing were 1, 2"):
        rendezvous.join("127.0.0.1", run._free_port(), 0, 3, 0.5)


def test_a_rendezvous_that_resets_is_gone() -> None:
    """It has closed with a call unread: its system sends a reset and no end."""

    def hang_up() -> None:
        caller, _ = listener.accept()
        caller.recv(1, socket.MSG_PEEK)  # one that is reset while it connects tries again
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        closing = threading.Thread(target=hang_up)
        closing.start()
        with pytest.raises(ConnectionError, match="has closed: rank 0 is gone"):
            rendezvous.join("127.0.0.1", listener.getsockname()[1], 1, 2, 5)
        closing.join()


def test_collectives_pass_the_door(group: Any) -> None:
    """A counter sees them, and a recorder replays them on other arrays."""
    x = nnkit.ones(3)
    with standing(Counter, cpu) as counter:
        dist.all_reduce(x)
    assert counter.calls["all_reduce_"] == counter.calls["await_arrival"] == 1
    out = nnkit.zeros(3)
    with standing(Recorder, cpu) as recorder:
        dist.all_gather([out], x)
    place, source = recorder.number(out._array), recorder.number(x._array)
    recorder.replay({source: nnkit.full((3,), 5.0)._array, place: out._array})
    assert out.tolist() == [5.0] * 3


def test_integers_average_as_nccl_does() -> None:
    import numpy as np

    x = np.array([7, -7, 6, -6, 1])
    collective._divide(x, 2)
    assert x.tolist() == [3, -3, 3, -3, 0]


def test_debug_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dist.get_debug_level() is dist.DebugLevel.OFF
    for name in ("INFO", "DETAIL", "OFF"):
        monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", name.lower())
        dist.set_debug_level_from_env()
        assert dist.get_debug_level().name == name
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "much")
    with pytest.raises(RuntimeError, match="must be OFF, INFO, or DETAIL"):
        dist.set_debug_level_from_env()


def test_names_of_torch_s_modules(group: Any) -> None:
    from nnkit.distributed.distributed_c10d import ProcessGroup, _get_default_group
    from nnkit.distributed.elastic.multiprocessing.errors import record

    assert _get_default_group() is group and isinstance(group, ProcessGroup)
    assert dist.default_pg_timeout == timedelta(minutes=30)
    assert record(lambda x: x + 1)(2) == 3 and record(sys.exit)(0) is None
    with pytest.raises(SystemExit):
        record(sys.exit)(1)


# The launcher


def options(*arguments: str) -> Any:
    return run.parser().parse_args([*arguments, "train.py", "--epochs", "3"])


def test_the_launcher_s_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_RANK", "7")
    found = run.environments(
        options("--nnodes=2", "--node_rank=1", "--nproc-per-node", "2", "--master-addr", "a")
    )
    assert [e["RANK"] for e in found] == ["2", "3"]
    assert [e["LOCAL_RANK"] for e in found] == ["0", "1"]
    expected = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "a"}
    assert expected.items() <= found[0].items() and found[0]["MASTER_PORT"] == "29500"
    assert "PMI_RANK" not in found[0]
    found = run.environments(options("--rdzv-endpoint", "b:5", "--nnodes", "1:1"))
    assert (found[0]["MASTER_ADDR"], found[0]["MASTER_PORT"]) == ("b", "5")


def test_the_launcher_s_command() -> None:
    assert run.command(options())[1:] == ["-u", "train.py", "--epochs", "3"]
    assert run.command(options("-m"))[1:] == ["-u", "-m", "train.py", "--epochs", "3"]
    assert run.command(options("--no-python")) == ["train.py", "--epochs", "3"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--nnodes", "1:4"), "--nnodes must be a positive number, got '1:4'"),
        (("--nproc-per-node", "many"), "must be a number, auto, gpu or cpu, got 'many'"),
        (("--node-rank", "1"), "--node-rank must be below 1, got 1"),
    ],
)
def test_the_launcher_refuses(
    arguments: tuple, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit):
        run.main([*arguments, "train.py"])
    assert words in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_launcher_ends_all_where_one_fails(tmp_path: Path) -> None:
    """And writes the output of each where it is told; nothing of MPI is needed."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, time\nprint('rank', os.environ['RANK'])\n"
        "sys.exit(3) if os.environ['RANK'] == '1' else time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", PATIENT, "--nproc-per-node", "2", "--redirects", "1",
         "--log-dir", str(tmp_path), str(program)],
        capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "ended with exit code 3" in done.stderr
    assert (tmp_path / "0" / "stdout.log").read_text() == "rank 0\n"


PATIENT = (
    "import sys, nnkit.distributed.run as run\n"
    "run.SECONDS_TO_REPORT = 0.2\nsys.exit(run.main(sys.argv[1:]))"
)


def test_the_settings_of_a_parallel_module(group: Any) -> None:
    model = nnkit.nn.parallel.DistributedDataParallel(nnkit.nn.Linear(1, 1), static_graph=True)
    told = model._get_ddp_logging_data()
    assert (told["module_name"], told["world_size"], told["rank"]) == ("Linear", 1, 0)
    assert told["static_graph"] and not told["can_set_static_graph"]
