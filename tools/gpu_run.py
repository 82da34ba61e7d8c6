"""Everything that is to be done on a machine with an NVIDIA GPU, in one go.

    PYTHONPATH=. python3 tools/gpu_run.py            compile, test, measure: some 8 minutes
    PYTHONPATH=. python3 tools/gpu_run.py --rehearse without a GPU: what can be done without one

nnkit need not be installed; Python needs torch (optional), CuPy, NumPy, ml_dtypes. Without pytest
the tests run all the same, by this script. The report goes to benchmarks/results/<date>-<gpu>.md.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.util
import platform
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("numpy", "ml_dtypes", "cupy")


def missing() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def machine() -> str:
    """What a figure belongs to: the card, the driver, the versions."""
    import nnkit

    lines = [f"Python {platform.python_version()}, {platform.platform()}"]
    for name in (*NEEDED, "torch"):
        try:
            lines.append(f"{name} {importlib.import_module(name).__version__}")
        except Exception as error:
            lines.append(f"{name}: {error}")
    if nnkit.cuda.is_available():
        from nnkit.backend.cuda import nvrtc

        cupy = importlib.import_module("cupy")
        properties = nnkit.cuda.get_device_properties()
        lines.append(
            f"{properties.name}, compute capability {properties.major}.{properties.minor}, "
            f"{properties.total_memory >> 30} GiB, driver for CUDA "
            f"{cupy.cuda.runtime.driverGetVersion()}, NVRTC {nvrtc.version()}"
        )
    return "\n".join(f"- {line}" for line in lines)


def tests() -> Iterator[tuple[str, Callable[[], None]]]:
    """Name and function of every check of tests/cuda/on_gpu.py."""
    from functools import partial

    import nnkit
    from tests.cuda import on_gpu
    from tests.harness.table import ROWS, SUBJECT

    for check in on_gpu.SINGLE:
        yield check.__name__, check
    for name, make, shape in on_gpu.modules():
        yield f"module {name}", partial(on_gpu.check_training, make, shape)
    for name in on_gpu.OPTIMIZERS:
        linear = partial(nnkit.nn.Linear, 70, 70)
        yield f"optimizer {name}", partial(on_gpu.check_training, linear, (4, 70), name)
    for row in ROWS.values():
        if SUBJECT[row.name] not in ("random", "dropout"):
            yield f"row {row.name}", partial(on_gpu.check_row, row)


def tested(seconds: float) -> tuple[str, bool]:
    """Run the checks; the report, and whether all that ran passed."""
    start = time.perf_counter()
    failures: list[tuple[str, str]] = []
    passed = left = 0
    for name, check in tests():
        if time.perf_counter() - start > seconds:
            left += 1
            continue
        try:
            check()
            passed += 1
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            text = f"{type(error).__name__} at {place}: {' '.join(str(error).split())[:240]}"
            failures.append((name, text))
            print(f"FAILED {name}: {text}", flush=True)
    took = time.perf_counter() - start
    lines = [f"{passed} passed, {len(failures)} failed, {left} left out for time; {took:.0f} s", ""]
    lines += [f"- `{name}`: {text}" for name, text in failures]
    return "\n".join(lines) + "\n", not failures


def rehearsed() -> int:
    """What needs no GPU: everything imports, every check and workload can be made ready."""
    import nnkit
    from benchmarks import gpu

    names = [name for name, _ in tests()]
    print(f"{len(names)} checks, {len(gpu.WORKLOADS)} workloads: {', '.join(gpu.WORKLOADS)}")
    print(machine())
    if nnkit.cuda.is_available():
        print("there is a GPU: run without --rehearse")
        return 0
    report, _ = tested(0.0)
    print(report)
    print(gpu.table(seconds=0.0))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rehearse", action="store_true", help="what can be done without a GPU")
    parser.add_argument("--tests", type=float, default=200.0, help="seconds for the tests")
    parser.add_argument("--benchmarks", type=float, default=240.0, help="seconds for the steps")
    parser.add_argument("--out", help="folder of the report (benchmarks/results)")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    lacking = missing()
    if lacking:
        print(f"gpu_run needs {', '.join(lacking)}: put them on PYTHONPATH or install them")
        return 1
    if options.rehearse:
        return rehearsed()
    import nnkit

    if not nnkit.cuda.is_available():
        from nnkit.backend.cuda.runtime import problem

        print(problem())
        return 1
    from benchmarks import gpu

    about = machine()
    print(about, flush=True)
    report, passed = tested(options.tests)
    print(report, flush=True)
    steps = gpu.table(seconds=options.benchmarks)
    name = re.sub(r"[^a-z0-9]+", "-", nnkit.cuda.get_device_name().lower()).strip("-")
    folder = Path(options.out) if options.out else ROOT / "benchmarks" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    today = datetime.date.today().isoformat()
    page = f"# {today}, {nnkit.cuda.get_device_name()}\n\n{about}\n\n## Tests\n\n{report}\n"
    page += f"## Steps\n\n{steps}"
    (folder / f"{today}-{name}.md").write_text(page)
    print(steps)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
