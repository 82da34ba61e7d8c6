"""The workloads of the benchmarks are computed by the compiled kernels, not by their twins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.backend.native_cases import needs_native

ROOT = Path(__file__).resolve().parents[2]
# A kernel is bound once in a process, so the calls are watched in one of their own.
WATCH = """
from nnkit.backend.cpu import BACKEND, native

declined = set()

def watched(bind):
    def bind_watched(name, *arguments):
        *given, twin = arguments
        def count(*operands):
            declined.add(name)
            return twin(*operands)
        kernel = bind(name, *given, count)
        return kernel if isinstance(kernel, native.MODULE.Kernel) else twin
    return bind_watched

BACKEND._accelerate = watched(native.bind)
native.bind_formula = watched(native.bind_formula)
native.bind_update = watched(native.bind_update)

import nnkit
from benchmarks.workloads import WORKLOADS

for name, workload in WORKLOADS.items():
    step = workload(nnkit)
    declined.clear()
    step()
    step()
    print(name, *sorted(declined), sep=";")
"""
# Counters of one integer, and views, cost less than a kernel's call would save.
LEFT_TO_NUMPY = {"add_", "getitem", "getitem_adjoint"}


@needs_native
def test_no_workload_is_left_to_numpy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH], capture_output=True, text=True, cwd=ROOT, check=True
    )
    lines = [line.split(";") for line in done.stdout.splitlines()]
    assert len(lines) >= 19
    for workload, *declined in lines:
        assert set(declined) <= LEFT_TO_NUMPY, workload
