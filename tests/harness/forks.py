"""Programs in processes of their own, forked from one that has imported already what they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

# What it goes on with in the forked process is the program, at the end.
SERVER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
for number, path in enumerate((os.devnull, asked["stdout"], asked["stderr"])):
    os.dup2(os.open(path, os.O_RDWR), number)
sys.argv[1:] = asked["arguments"]
exec(compile(asked["program"], "<string>", "exec"))
"""


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class _Server(NamedTuple):
    process: subprocess.Popen
    requests: IO[str]
    answers: IO[str]


@cache
def _server(start: str, own: int) -> _Server:
    """The process that has run ``start``, from which the process ``own`` has others forked."""
    process = subprocess.Popen(
        [sys.executable, "-c", start + SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    return _Server(process, process.stdin, process.stdout)


def run_after(start: str, program: str, *arguments: str) -> Done:
    """Run a program as ``python -c`` would, after lines that many programs begin with."""
    if not hasattr(os, "fork"):
        command = [sys.executable, "-c", start + program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return Done(done.returncode, done.stdout, done.stderr)
    server = _server(start, os.getpid())
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, name) for name in ("stdout", "stderr")}
        for path in paths.values():
            path.touch()
        asked = {name: str(path) for name, path in paths.items()}
        # Its lines have the numbers that they would have behind those of the start.
        asked |= {"program": "\n" * start.count("\n") + program, "arguments": arguments}
        server.requests.write(json.dumps(asked) + "\n")
        server.requests.flush()
        code = int(server.answers.readline())
        return Done(code, *(path.read_text() for path in paths.values()))
