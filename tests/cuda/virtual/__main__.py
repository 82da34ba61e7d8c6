"""The checks of tests/cuda/on_gpu.py on a played GPU, through the real CuPy and NVRTC.

    pip install cupy-cuda13x "nvidia-cuda-nvrtc==13.0.*" "nvidia-cuda-runtime==13.0.*" \\
        "nvidia-cuda-crt==13.0.*" "nvidia-cuda-cccl==13.0.*" numpy ml_dtypes pytest
    python -m tests.cuda.virtual                   # all of them
    python -m tests.cuda.virtual --seconds 100     # as many as fit, by turns with each commit
    python -m tests.cuda.virtual --only "row add"  # those whose name is this
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
import traceback
from pathlib import Path

from tests.cuda.virtual import device, twin


def commit() -> str:
    """What chooses the sample."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no commit"


def place(error: BaseException) -> str:
    """Where an error came from: the last lines of nnkit's and CuPy's."""
    frames = traceback.extract_tb(error.__traceback__)
    known = [f for f in frames if "nnkit" in f.filename or "cupy" in f.filename]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(known[-4:]))


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

    checks = [c for c in gpu_run.tests() if not c[0].startswith("example")]
    seed = options.seed or commit()
    if options.seconds is not None:
        random.Random(seed).shuffle(checks)
        print(f"the sample of {seed}")
    part, parts = map(int, options.part.split("/"))
    checks = checks[part::parts]
    if options.only:
        checks = [c for c in checks if c[0] in options.only]
    passed = left = 0
    failed: list[str] = []
    took_each: dict[str, float] = {}
    for name, check in checks:
        if options.seconds is not None and time.perf_counter() - start > options.seconds:
            left += 1
            continue
        began = time.perf_counter()
        try:
            check()
            passed += 1
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            failed.append(name)
            print(f"FAILED {name}: {type(error).__name__} at {place(error)}: {text}", flush=True)
        took_each[name] = time.perf_counter() - began
    took = time.perf_counter() - start
    print(
        f"{passed} passed, {len(failed)} failed, {left} left out for time; "
        f"{driver.played_launches()} launches of {len(twin.compiled)} kernels, {took:.0f} s"
    )
    slowest = sorted(took_each, key=lambda name: -took_each[name])[:5]
    print("the slowest:", ", ".join(f"{name} {took_each[name]:.0f} s" for name in slowest))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
