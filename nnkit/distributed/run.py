"""A launcher of the ranks of a job on this machine, as ``torchrun``.

    python -m nnkit.distributed.run --nproc-per-node 4 train.py --epochs 3

Each rank is a process with ``RANK``, ``LOCAL_RANK``, ``WORLD_SIZE``, ``LOCAL_WORLD_SIZE``,
``MASTER_ADDR`` and ``MASTER_PORT`` in its environment. On several machines the same command runs on
each of them, with ``--nnodes``, ``--node-rank`` and the address of the first. When a rank fails,
the others have some seconds to report what they waited for, and then all are ended; the first that
failed decides the exit code.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nnkit.backend import rendezvous

SECONDS_TO_REPORT = 5.0  # for the other ranks, after one has failed
SECONDS_TO_END = 5.0  # between SIGTERM and SIGKILL
BETWEEN_LOOKS = 0.02
DEFAULT_PORT = 29500
# Variables that a launcher of MPI may have set for this process, which is itself no rank.
FOREIGN = ("PMI_", "PMIX_", "OMPI_", "MPI_LOCAL")
PYTHON = [sys.executable, "-u"]  # the command that runs the program of a rank
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def parser() -> argparse.ArgumentParser:
    """The options, named as torchrun's; those of elastic jobs are accepted."""
    made = argparse.ArgumentParser(
        prog="python -m nnkit.distributed.run",
        description="Start the processes of a distributed program, as torchrun does.",
    )

    def option(name: str, **settings: Any) -> None:
        made.add_argument(f"--{name}", f"--{name.replace('-', '_')}", **settings)

    option("nnodes", default="1", help="how many machines")
    option("nproc-per-node", default="1", help="ranks on each machine: a number, cpu, gpu or auto")
    option("node-rank", type=int, default=0, help="which of the machines this is")
    option("master-addr", default="127.0.0.1", help="the address of the first machine")
    option("master-port", type=int, help=f"a port that is free there; {DEFAULT_PORT} on several")
    option("standalone", action="store_true", help="one machine, and any free port")
    option("rdzv-endpoint", default="", help="host:port, in place of the address and the port")
    option("rdzv-id", default="none", help="a name of the job")
    option("max-restarts", type=int, default=0, help="how often to start again after a failure")
    option("log-dir", help="where --redirects writes")
    made.add_argument(
        "-r", "--redirects", choices=("0", "1", "2", "3"), default="0",
        help="write 1: stdout, 2: stderr, 3: both to files in --log-dir",
    )  # fmt: skip
    for name in ("rdzv-backend", "rdzv-conf", "monitor-interval", "start-method", "role"):
        option(name, default="", help="accepted")
    option("local-addr", help="accepted")
    option("run-path", action="store_true", help="accepted")
    made.add_argument("-m", "--module", action="store_true", help="the script is a module")
    option("no-python", action="store_true", help="the script is a program of its own")
    made.add_argument("training_script", help="the program that every rank runs")
    made.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


def ranks_per_node(text: str) -> int:
    """The number of ranks on this machine for ``4``, ``cpu``, ``gpu`` or ``auto``.

    Raises:
        ValueError: it is none of these, or there is no GPU.
    """
    if text.isdigit() and int(text):
        return int(text)
    if text not in ("auto", "gpu", "cpu"):
        raise ValueError(f"--nproc-per-node must be a number, auto, gpu or cpu, got {text!r}")
    if text != "cpu":
        from nnkit.backend.cuda.runtime import device_count

        if count := device_count():
            return count
        if text == "gpu":
            raise ValueError("--nproc-per-node gpu: there is no GPU here")
    return os.cpu_count() or 1


def nodes(text: str) -> int:
    """The number of machines; ``2:2`` is 2. ValueError for a range, which would be elastic."""
    least, _, most = text.partition(":")
    if (most or least) != least or not least.isdigit() or not int(least):
        raise ValueError(f"--nnodes must be a positive number, got {text!r}")
    return int(least)


def environments(options: argparse.Namespace) -> list[dict[str, str]]:
    """The environment variables of each rank of this machine."""
    count, local = nodes(options.nnodes), ranks_per_node(options.nproc_per_node)
    if not 0 <= options.node_rank < count:
        raise ValueError(f"--node-rank must be below {count}, got {options.node_rank}")
    host, port = options.master_addr, options.master_port
    if options.rdzv_endpoint and not options.standalone:
        host, _, asked = options.rdzv_endpoint.partition(":")
        port = int(asked) if asked else port
    if options.standalone or (count == 1 and not port):
        host, port = "127.0.0.1", _free_port()
    base = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    if local > 1:
        base.setdefault("OMP_NUM_THREADS", "1")
    base |= {
        "WORLD_SIZE": str(count * local),
        "LOCAL_WORLD_SIZE": str(local),
        "GROUP_RANK": str(options.node_rank),
        "GROUP_WORLD_SIZE": str(count),
        "MASTER_ADDR": host,
        "MASTER_PORT": str(port or DEFAULT_PORT),
        "TORCHELASTIC_RUN_ID": options.rdzv_id,
        "TORCHELASTIC_MAX_RESTARTS": str(options.max_restarts),
    }
    first = options.node_rank * local
    return [base | {"RANK": str(first + r), "LOCAL_RANK": str(r)} for r in range(local)]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def command(options: argparse.Namespace) -> list[str]:
    """The command line of every rank."""
    program = [options.training_script, *options.training_script_args]
    if options.no_python:
        if options.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag")
        return program
    return [*PYTHON, *(["-m"] if options.module else []), *program]


def _die_with_parent() -> None:
    """Let the kernel end this process when the launcher is gone, even if that was killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


class Job:
    """The ranks of one machine, from their start to their end.

    Args:
        program: the command that every rank runs.
        environments: the environment variables of each.
        log_folder: the folder for their output, ``logs`` by default.
        redirects: the streams that go there: 1 stdout, 2 stderr, 3 both, 0 neither.
        news: a file in which ranks that still wait for the others read which of them have failed.
    """

    def __init__(
        self,
        program: list[str],
        environments: list[dict[str, str]],
        log_folder: str | None,
        redirects: int,
        news: Any,
    ) -> None:
        self.ranks = [int(environment["RANK"]) for environment in environments]
        self.news = news
        where = {rendezvous.NEWS: f"/proc/{os.getpid()}/fd/{news.fileno()}"}
        self.processes: list[subprocess.Popen] = []
        try:
            for environment in environments:
                streams = _streams(log_folder, redirects, environment["RANK"])
                with contextlib.ExitStack() as own:
                    for stream in streams.values():
                        own.enter_context(stream)
                    self.processes.append(
                        subprocess.Popen(
                            program, env=environment | where, start_new_session=True,
                            preexec_fn=_die_with_parent, **streams,
                        )
                    )  # fmt: skip
        except BaseException:
            self.end()
            raise

    def run(self) -> int:
        """Wait until all ranks have ended, or one has failed; the exit code."""
        failed = 0
        deadline = float("inf")
        told: set[int] = set()
        while True:
            codes = [process.poll() for process in self.processes]
            for rank, process, code in zip(self.ranks, self.processes, codes):
                if code and rank not in told:
                    told.add(rank)
                    self.news.write(f"rank {rank} {_words(code)}\n".encode())
                    print(f"rank {rank} (process {process.pid}) {_words(code)}", file=sys.stderr)
                    deadline = min(deadline, time.monotonic() + SECONDS_TO_REPORT)
                    failed = failed or (code if code > 0 else 128 - code)
            if None not in codes:
                return failed
            if time.monotonic() > deadline:
                left = [str(rank) for rank, code in zip(self.ranks, codes) if code is None]
                print(f"rank {', '.join(left)} did not end by itself", file=sys.stderr)
                return failed
            time.sleep(BETWEEN_LOOKS)

    def end(self) -> None:
        """End the ranks that still run, and the processes that they have started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self.processes:
                _signal_all(process.pid, number)
            end = time.monotonic() + SECONDS_TO_END
            while time.monotonic() < end and any(p.poll() is None for p in self.processes):
                time.sleep(BETWEEN_LOOKS)


def _streams(folder: str | None, redirects: int, rank: str) -> dict[str, Any]:
    if not redirects:
        return {}
    place = Path(folder or "logs") / rank
    place.mkdir(parents=True, exist_ok=True)
    names = [name for bit, name in ((1, "stdout"), (2, "stderr")) if redirects & bit]
    return {name: open(place / f"{name}.log", "ab") for name in names}


def _words(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"


def _signal_all(process: int, number: int) -> None:
    """Send a signal to a process that leads a session, and to all that it has started."""
    try:
        os.killpg(process, number)
    except (ProcessLookupError, PermissionError):
        pass  # all of them are gone


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a job as the command line says; the exit code."""
    made = parser()
    options = made.parse_args(arguments)

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        return _attempt(made, options)
    finally:
        signal.signal(signal.SIGTERM, before)


def _attempt(made: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run the job, again as often as it may be restarted; the last exit code."""
    code = 0
    for attempt in range(options.max_restarts + 1):
        try:
            found = environments(options)
            program = command(options)
        except ValueError as error:
            made.error(str(error))
        for environment in found:
            environment["TORCHELASTIC_RESTART_COUNT"] = str(attempt)
        # Without a name: it is gone with this process, however that ends.
        with tempfile.TemporaryFile(buffering=0) as news:
            job = Job(program, found, options.log_dir, int(options.redirects), news)
            try:
                code = job.run()
            except KeyboardInterrupt:
                job.end()
                return 130
            if not code:
                break
            job.end()
    return code


if __name__ == "__main__":
    sys.exit(main())
