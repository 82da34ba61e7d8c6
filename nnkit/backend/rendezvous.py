"""The meeting of a job's processes: MPI's start-up without its launcher.

MPICH asks whoever started it for its rank, the size of the world and the addresses of the others,
in a protocol of lines (PMI-1). Here a small server answers at ``MASTER_ADDR:MASTER_PORT``: so
processes that anything has started, on any machine, are a world of MPI. It is a process of its own,
which rank 0 starts, since MPI holds Python's lock while it waits for the server; it ends with the
last process that it serves. This file is that process's program, and imports nothing of nnkit.
"""

from __future__ import annotations

import contextlib
import os
import platform
import selectors
import signal
import socket
import subprocess
import sys
import time
from typing import Any

NEWS = "NNKIT_NEWS"  # names the file in which a launcher writes which of its ranks have failed
BETWEEN_LOOKS = 0.1
LIMITS = "kvsname_max=256 keylen_max=64 vallen_max=1024"


class Server:
    """Answers the processes of one world until all of them are gone.

    Args:
        listener: the socket at which they call.
        size: how many they are.
    """

    def __init__(self, listener: socket.socket, size: int) -> None:
        self.listener = listener
        self.size = size
        self.name = f"nnkit_{os.getpid()}_{time.time_ns()}"  # names MPI's shared memory as well
        self.known: dict[str, str] = {}
        self.joined: dict[socket.socket, int] = {}
        self.waiting: list[socket.socket] = []
        self.ranks: dict[socket.socket, int] = {}  # of those that MPI has been begun in
        self.begun: set[int] = set()
        self.buffers: dict[socket.socket, bytes] = {}
        self.processes: dict[int, str] = {}
        self.started = False
        self.is_complete = True  # all that have joined are still there, or have ended well

    def run(self) -> None:
        """Serve until the last process has gone, or one before all have come."""
        selector = selectors.DefaultSelector()
        selector.register(self.listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                found: Any = key.fileobj
                if found is self.listener:
                    caller, _ = found.accept()
                    self.buffers[caller] = b""
                    selector.register(caller, selectors.EVENT_READ)
                elif not self._read(found):
                    selector.unregister(found)
                    found.close()
                    del self.buffers[found]
                    rank = self.joined.pop(found, None)
                    self._miss(found, rank)
                    if self.started and not self.buffers or not self.started and rank == 0:
                        return

    def _miss(self, caller: socket.socket, rank: int | None) -> None:
        """Take note of the end of a connection. A process has one from when it joins until it has
        started MPI, and another one from then until it has ended MPI; else it is gone."""
        if caller in self.ranks:
            rank = self.ranks.pop(caller)
        elif not self.started or rank is None or rank in self.begun:
            return
        if not self.is_complete:
            return
        self.is_complete = False
        self._release()
        for other in self.joined.values():  # they start MPI, which waits without looking
            machine, process = process_of(self.processes[other])
            if machine == _machine() and other != rank:
                print(f"rank {rank} is gone: rank {other}, whose start waits for it, is ended",
                      file=sys.stderr, flush=True)  # fmt: skip
                forget_shared_memory(process)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGTERM)

    def _release(self) -> None:
        """Let those go on who wait for all; with an error, where not all will come."""
        if self.is_complete and len(self.waiting) < self.size:
            return
        code = "0" if self.is_complete else "-1 msg=a_process_is_gone"
        for other in self.waiting:
            self._say(other, f"barrier_out rc={code}")
        self.waiting.clear()

    def _read(self, caller: socket.socket) -> bool:
        try:
            data = caller.recv(1 << 16)
        except OSError:
            data = b""
        *lines, self.buffers[caller] = (self.buffers[caller] + data).split(b"\n")
        for line in lines:
            pairs = [word.partition("=") for word in line.decode().split()]
            words = {name: value for name, _, value in pairs}
            self._answer(caller, words.get("cmd", ""), words)
        return bool(data)

    def _say(self, caller: socket.socket, *lines: str) -> None:
        try:
            caller.sendall("".join(f"cmd={line}\n" for line in lines).encode())
        except OSError:
            pass  # it is gone, as its connection will tell

    def _answer(self, caller: socket.socket, command: str, words: dict[str, str]) -> None:
        if command == "join":
            self._join(caller, int(words["rank"]), int(words["size"]), words["process"])
        elif command == "initack":
            self.ranks[caller] = int(words["pmiid"])
            self.begun.add(int(words["pmiid"]))
            settings = f"set size={self.size}", f"set rank={words['pmiid']}", "set debug=0"
            self._say(caller, "initack rc=0", *settings)
        elif command == "init":
            self._say(caller, "response_to_init pmi_version=1 pmi_subversion=1 rc=0")
        elif command == "get_maxes":
            self._say(caller, f"maxes {LIMITS} rc=0")
        elif command == "get_appnum":
            self._say(caller, "appnum appnum=0 rc=0")
        elif command == "get_my_kvsname":
            self._say(caller, f"my_kvsname kvsname={self.name} rc=0")
        elif command == "get_universe_size":
            self._say(caller, f"universe_size size={self.size} rc=0")
        elif command == "put":
            self.known[words["key"]] = words["value"]
            self._say(caller, "put_result rc=0 msg=success")
        elif command == "get":
            value = self.known.get(words["key"])
            found = "-1 msg=key_not_found value=unknown" if value is None else f"0 value={value}"
            self._say(caller, f"get_result rc={found}")
        elif command == "barrier_in":
            self.waiting.append(caller)
            self._release()
        elif command == "finalize":
            self.ranks.pop(caller, None)
            self._say(caller, "finalize_ack rc=0")
        else:
            self._say(caller, f"{command}_result rc=-1")

    def _join(self, caller: socket.socket, rank: int, size: int, process: str) -> None:
        if size != self.size:
            refused = f"rank {rank} expects {size} processes, rank 0 expects {self.size}"
        elif rank in self.joined.values() or self.started:
            refused = f"another process is rank {rank} already"
        else:
            self.joined[caller] = rank
            self.processes[rank] = process
            refused = ""
        if refused:
            self._say(caller, f"refused reason={refused.replace(' ', '_')}")
            return
        joined = ",".join(map(str, sorted(self.joined.values())))
        self.started = len(self.joined) == self.size
        processes = ",".join(process for _, process in sorted(self.processes.items()))
        for other in self.joined:
            told = f"go processes={processes}" if self.started else f"wait joined={joined}"
            self._say(other, told)


def join(
    host: str, port: int, rank: int, size: int, seconds: float
) -> tuple[socket.socket, list[tuple[str, int]]]:
    """The connection to the server, when all ``size`` processes have one, and the machine and the
    number of each process. Rank 0 starts the server.

    Raises:
        ConnectionError: the address cannot be used, or two processes contradict each other.
        TimeoutError: not all have come; the message tells who.
    """
    end = time.monotonic() + seconds
    server = _start(host, port, size) if rank == 0 else None
    where = f"{host}:{port}"
    joined = "none"
    connection = None
    try:
        connection = _connect(host, port, rank, end, where)
        process = f"{os.getpid()}@{_machine()}"
        with contextlib.suppress(ConnectionError):  # that it has closed is met on reading
            connection.sendall(f"cmd=join rank={rank} size={size} process={process}\n".encode())
        lines = b""
        while True:
            connection.settimeout(max(min(end - time.monotonic(), BETWEEN_LOOKS), 0.001))
            try:
                data = connection.recv(4096)
            except TimeoutError:
                _look_for_failures(rank, where)
                if time.monotonic() >= end:
                    raise
                continue
            except ConnectionError:  # it has closed before it read all
                data = b""
            if not data:
                _look_for_failures(rank, where)
                raise ConnectionError(f"the rendezvous at {where} has closed: rank 0 is gone")
            lines += data
            while b"\n" in lines:
                line, _, lines = lines.partition(b"\n")
                told, _, rest = line.decode().removeprefix("cmd=").partition(" ")
                content = rest.partition("=")[2]
                if told == "refused":
                    reason = content.replace("_", " ")
                    raise ConnectionError(
                        f"the rendezvous at {where} refused rank {rank}: {reason}"
                    )
                if told == "go":
                    connection.settimeout(None)
                    return connection, [process_of(text) for text in content.split(",")]
                joined = content
    except TimeoutError:
        if connection is not None:
            connection.close()
        missing = sorted(set(range(size)) - {int(r) for r in joined.split(",") if r.isdigit()})
        raise TimeoutError(
            f"rank {rank} waited {seconds:g} s for {size} processes at {where}: joined were ranks "
            f"{joined}, missing were {', '.join(map(str, missing))}"
        ) from None
    except OSError:
        if connection is not None:
            connection.close()
        raise
    finally:
        if server is not None and sys.exc_info()[0] is not None:
            server.terminate()
            server.wait()


def _machine() -> str:
    return platform.node().replace(" ", "_")


def process_of(text: str) -> tuple[str, int]:
    """The machine and the number of a process, as it tells them when it joins."""
    number, _, machine = text.partition("@")
    return machine, int(number)


def forget_shared_memory(process: int | str = "self") -> None:
    """Take the segments of MPICH that a process has out of the file system, once all have opened
    them or will not: a rank that is killed would leave them there."""
    try:
        with open(f"/proc/{process}/maps") as maps:
            names = {line.split()[-1] for line in maps if "/dev/shm/mpich_" in line}
    except OSError:
        return  # a system without it
    for name in names:
        with contextlib.suppress(OSError):  # another rank was faster
            os.unlink(name)


def _start(host: str, port: int, size: int) -> subprocess.Popen:
    """The server's process, which inherits the socket that listens."""
    try:
        listener = socket.create_server(("", port), backlog=size)
    except OSError as error:
        raise ConnectionError(f"rank 0 cannot listen at {host}:{port}: {error}") from None
    with listener:
        number = listener.fileno()
        return subprocess.Popen(
            [sys.executable, "-S", "-E", __file__, str(number), str(size)],
            pass_fds=(number,),
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C ends the ranks, and the server with the last of them
        )


def _look_for_failures(rank: int, where: str) -> None:
    """ConnectionError if the launcher knows of a rank that will not come."""
    try:
        with open(os.environ[NEWS]) as news:
            failures = news.read().splitlines()
    except (KeyError, OSError):
        return  # another launcher, or another system
    if failures:
        raise ConnectionError(f"rank {rank} waited in vain at {where}: {'; '.join(failures)}")


def _connect(host: str, port: int, rank: int, end: float, where: str) -> socket.socket:
    while True:
        try:
            return socket.create_connection((host, port), max(end - time.monotonic(), 0.001))
        except (ConnectionError, socket.gaierror, TimeoutError) as error:
            _look_for_failures(rank, where)
            if time.monotonic() >= end:
                raise TimeoutError(f"nobody answers at {where}: {error}") from None
            time.sleep(0.02)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        Server(inherited, int(sys.argv[2])).run()
