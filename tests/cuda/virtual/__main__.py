"""The checks of tests/cuda/on_gpu.py on a played GPU, through the real CuPy and NVRTC.

    pip install numpy ml_dtypes pytest                 # and of CUDA 13 or 12:
    pip install cupy-cuda13x "nvidia-cuda-nvrtc==13.0.*" "nvidia-cuda-runtime==13.0.*" \\
        "nvidia-cuda-crt==13.0.*" "nvidia-cuda-cccl==13.0.*"
    pip install cupy-cuda12x "nvidia-cuda-nvrtc-cu12==12.9.*" "nvidia-cuda-nvcc-cu12==12.9.*" \\
        "nvidia-cuda-runtime-cu12==12.9.*" "nvidia-cuda-cccl-cu12==12.9.*"
    python -m tests.cuda.virtual                   # all of them
    python -m tests.cuda.virtual --seconds 100     # as many as fit, by turns with each commit
    python -m tests.cuda.virtual --only "row add"  # those whose name is this
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from tests.cuda.virtual import device, twin


def commit() -> str:
    """What chooses the sample."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no commit"


NOT_PLAYED = (
    "CUSOLVER", "CUSPARSE", "CURAND", "CUBLAS_STATUS_LICENSE_ERROR", 'Failure finding "libcufft'
)  # fmt: skip


def as_far_as_played(check: Callable[[], None], missed: list[str], name: str) -> None:
    """A check that may end where it calls what only stands for a library (`device.py`)."""
    try:
        check()
    except Exception as error:
        if not str(error).startswith(NOT_PLAYED):
            raise
        missed.append(name)


def told(line: str) -> None:
    if not line.startswith("left "):
        print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, help="run for so long (all)")
    parser.add_argument("--seed", help="chooses the sample (the commit)")
    parser.add_argument("--only", action="append", help="the name of a check")
    parser.add_argument("--part", default="0/1", help="the i-th of n parts")
    parser.add_argument("--eager", action="store_true", help="work does not lag behind")
    options = parser.parse_args()
    start = time.perf_counter()
    driver = device.install()
    twin.connect(driver)
    driver.played_lag(not options.eager)

    from tools import gpu_run

    checks = list(gpu_run.tests())
    seed = options.seed or commit()
    if options.seconds is not None:
        random.Random(seed).shuffle(checks)
        print(f"the sample of {seed}")
    part, parts = map(int, options.part.split("/"))
    checks = checks[part::parts]
    if options.only:
        checks = [c for c in checks if c[0] in options.only]
    missed: list[str] = []
    checks = [(name, partial(as_far_as_played, check, missed, name)) for name, check in checks]
    spent = time.perf_counter() - start
    seconds = math.inf if options.seconds is None else options.seconds - spent
    report, passed = gpu_run.tested(checks, seconds, told)
    print(report)
    print(f"of them {len(missed)} ended at what is not played: {', '.join(missed)}")
    print(f"{driver.played_launches()} launches of {len(twin.compiled)} kernels")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
