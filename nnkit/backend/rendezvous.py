"""The meeting of a job's processes: MPI's start-up without its launcher.

MPICH asks whoever started it for its rank, the size of the world and the addresses of the others,
in a protocol of lines (PMI-1). Here a small server answers at ``MASTER_ADDR:MASTER_PORT``: so
processes that anything has started, on any machine, are a world of MPI. It is a process of its own,
which rank 0 starts, since MPI holds Python's lock while it waits for the server; it ends with the
last process that it serves. This file is that process's program, and imports nothing of nnkit.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import time
from typing import Any

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
        self.ranks: dict[socket.socket, int] = {}
        self.buffers: dict[socket.socket, bytes] = {}
        self.started = False

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
                    if self.started and not self.buffers or not self.started and rank == 0:
                        return

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
            self._join(caller, int(words["rank"]), int(words["size"]))
        elif command == "initack":
            self.ranks[caller] = int(words["pmiid"])
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
            if len(self.waiting) == self.size:
                for other in self.waiting:
                    self._say(other, "barrier_out rc=0")
                self.waiting.clear()
        elif command == "finalize":
            self._say(caller, "finalize_ack rc=0")
        else:
            self._say(caller, f"{command}_result rc=-1")

    def _join(self, caller: socket.socket, rank: int, size: int) -> None:
        if size != self.size:
            refused = f"rank {rank} expects {size} processes, rank 0 expects {self.size}"
        elif rank in self.joined.values() or self.started:
            refused = f"another process is rank {rank} already"
        else:
            self.joined[caller] = rank
            refused = ""
        if refused:
            self._say(caller, f"refused reason={refused.replace(' ', '_')}")
            return
        joined = ",".join(map(str, sorted(self.joined.values())))
        self.started = len(self.joined) == self.size
        for other in self.joined:
            self._say(other, "go" if self.started else f"wait joined={joined}")


def join(host: str, port: int, rank: int, size: int, seconds: float) -> socket.socket:
    """The connection to the server, when all ``size`` processes have one; rank 0 starts it.

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
        connection = _connect(host, port, end, where)
        connection.sendall(f"cmd=join rank={rank} size={size}\n".encode())
        lines = b""
        while not lines.startswith(b"cmd=go\n"):
            connection.settimeout(max(end - time.monotonic(), 0.001))
            data = connection.recv(4096)
            if not data:
                raise ConnectionError(f"the rendezvous at {where} has closed: rank 0 is gone")
            lines += data
            while b"\n" in lines and not lines.startswith(b"cmd=go\n"):
                line, _, lines = lines.partition(b"\n")
                _, _, told = line.decode().partition("=")
                if told.startswith("refused"):
                    reason = told.partition("reason=")[2].replace("_", " ")
                    raise ConnectionError(
                        f"the rendezvous at {where} refused rank {rank}: {reason}"
                    )
                joined = told.partition("joined=")[2]
        connection.settimeout(None)
        return connection
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


def _connect(host: str, port: int, end: float, where: str) -> socket.socket:
    while True:
        try:
            return socket.create_connection((host, port), max(end - time.monotonic(), 0.001))
        except (ConnectionError, socket.gaierror, TimeoutError) as error:
            if time.monotonic() >= end:
                raise TimeoutError(f"nobody answers at {where}: {error}") from None
            time.sleep(0.02)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        Server(inherited, int(sys.argv[2])).run()
