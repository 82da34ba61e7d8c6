"""Ctrl-C ends a kernel that runs for a long time, and leaves everything in order."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from tests.backend.native_cases import needs_native

LONG = {  # each would run for many seconds
    "matmul": "x = nnkit.rand(5000, 5000)|[x @ x for _ in range(9)]",
    "conv": "x = nnkit.rand(1, 64, 512, 512); w = nnkit.rand(512, 64, 7, 7)|F.conv2d(x, w)",
    "winograd": "x = nnkit.rand(1, 512, 256, 256); w = nnkit.rand(2048, 512, 3, 3)|F.conv2d(x, w)",
    "max_pool": "x = nnkit.rand(1, 1, 4000, 4000)|F.max_pool2d(x, 1000, 1)",
    "avg_pool": "x = nnkit.rand(1, 1, 4000, 4000)|F.avg_pool2d(x, 1000, 1)",
    "cumsum": "x = nnkit.rand(50000000)|[nnkit.cumsum(x, 0) for _ in range(300)]",
    "lgamma": "x = nnkit.rand(50000000)|[x.lgamma() for _ in range(100)]",
    "normal_": "x = nnkit.empty(200000000)|[x.normal_() for _ in range(30)]",
}
# A job in the background of a shell inherits that interrupts are ignored.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
PROGRAM = (
    INTERRUPTIBLE
    + """
import nnkit, numpy
import nnkit.nn.functional as F
nnkit.set_num_threads({threads})
small = nnkit.rand(300, 300, dtype=nnkit.float64)
before = small @ small
{prepare}
print("ready", flush=True)
try:
    {run}
except KeyboardInterrupt:
    assert numpy.array_equal((small @ small).numpy(), before.numpy())
    print("interrupted", flush=True)
"""
)


@needs_native
@pytest.mark.parametrize(("name", "threads"), [("matmul", 1), *((name, 2) for name in LONG)])
def test_interrupt(name, threads):
    prepare, run = LONG[name].split("|")
    program = PROGRAM.format(threads=threads, prepare=prepare, run=run)
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, errors = child.communicate(timeout=30)
    finally:
        child.kill()
    assert out == "interrupted\n", (out, errors)
    # About a tenth of a second on a machine with nothing else to do.
    assert time.monotonic() - start < 10


HALF_WRITTEN = (
    INTERRUPTIBLE
    + """
import nnkit, threading, os, time
x = nnkit.zeros(100000000, dtype=nnkit.int8)
y = nnkit.ones(100000000, dtype=nnkit.int8)
threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        x.copy_(y)
        y = 1 - y
except KeyboardInterrupt:
    assert x.min() == x.max()
    print("whole")
"""
)


@needs_native
def test_what_is_written_into_is_not_left_half_written():
    done = subprocess.run([sys.executable, "-c", HALF_WRITTEN], capture_output=True, text=True)
    assert done.stdout == "whole\n", done.stderr
