"""Everything that is to be done on a machine with an NVIDIA GPU, in one go.

    PYTHONPATH=. python3 tools/gpu_run.py              test, check memory and races, measure
    PYTHONPATH=. python3 tools/gpu_run.py --rehearse   the same on a GPU's stand-in

It takes less than 8 minutes; ``--tests``, ``--sanitizer`` and ``--benchmarks`` bound its parts.

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
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("numpy", "ml_dtypes", "cupy")


def missing() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def machine() -> str:
    """What a figure belongs to: the card, the driver, the versions."""
    import nnkit

    lines = [f"Python {platform.python_version()}, {platform.platform()}"]
    for name in (*NEEDED, "tqdm", "torch"):
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


def kernel_tests() -> Iterator[tuple[str, Callable[[], None]]]:
    """The checks that compute-sanitizer watches: programs, modules, optimizers."""
    from functools import partial

    import nnkit
    from tests.cuda import on_gpu

    for check in on_gpu.SINGLE:
        yield check.__name__, check
    for name, make, shape in on_gpu.modules():
        yield f"module {name}", partial(on_gpu.check_training, make, shape)
    for name in on_gpu.OPTIMIZERS:
        linear = partial(nnkit.nn.Linear, 70, 70)
        yield f"optimizer {name}", partial(on_gpu.check_training, linear, (4, 70), name)


def tests() -> Iterator[tuple[str, Callable[[], None]]]:
    """Name and function of every check of tests/cuda/on_gpu.py."""
    from functools import partial

    from tests.cuda import on_gpu

    yield from kernel_tests()
    for arguments in on_gpu.EXAMPLES:
        yield f"example {arguments}", partial(on_gpu.check_example, arguments)
    for row in on_gpu.rows():
        yield f"row {row.name}", partial(on_gpu.check_row, row)


Checks = Iterable[tuple[str, Callable[[], None]]]


def tested(checks: Checks, seconds: float) -> tuple[str, bool]:
    """Run the checks; the report, and whether all that ran passed."""
    start = time.perf_counter()
    failures: list[tuple[str, str]] = []
    passed = left = 0
    for name, check in checks:
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


def sanitizer() -> str | None:
    """NVIDIA's compute-sanitizer, on the path or in a CUDA toolkit."""
    toolkits = sorted(Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or (str(toolkits[-1]) if toolkits else None)


def sanitized(program: str | None, seconds: float) -> tuple[str, bool]:
    """Kernels under memcheck and racecheck, each for half of the time; the report, and whether
    nothing was found."""
    if program is None:
        return "compute-sanitizer was not found: nothing was checked\n", True
    lines, clean = [], True
    for tool in ("memcheck", "racecheck"):
        command = [program, "--tool", tool, "--error-exitcode", "9", sys.executable, __file__]
        command += ["--kernels", str(seconds / 4)]  # the start, with the compiling, takes the rest
        output, status = "", "stopped for time"
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds / 2, check=False
            )
            output, status = done.stdout, f"exit status {done.returncode}"
            clean = clean and done.returncode == 0
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode(errors="replace")
        found = [line for line in output.splitlines() if line.startswith("=========")]
        run = [line for line in output.splitlines() if " passed, " in line]
        lines += [f"{tool}, {status}: {'; '.join([*run, *found[-1:]])}", ""]
        errors = [
            line for line in found if "Error" in line or "Invalid" in line or "hazard" in line
        ]
        lines += [f"- {line}" for line in errors[:20]]
    return "\n".join(lines) + "\n", clean


def rehearsed(options: argparse.Namespace) -> int:
    """All of it with a GPU's stand-in (tests/cuda/stand_in.py): not what CuPy or a GPU does."""
    import nnkit
    from benchmarks import gpu, gpu_kernels
    from tests.cuda import on_gpu
    from tests.cuda.stand_in import stand_in

    print(machine())
    if nnkit.cuda.is_available():
        print("there is a GPU: run without --rehearse")
        return 0
    gpu.SIDE, gpu.ELEMENTS = 64, 1 << 12
    gpu_kernels.ROWS, gpu_kernels.COLUMNS = 1 << 10, 32
    checks = [c for c in tests() if c[1] not in on_gpu.NEED_CUPY and "example" not in c[0]]
    with stand_in():
        report, passed = tested(checks, options.tests)
        print(report)
        print(gpu_kernels.table(budget=0.01))
        print(gpu.table("softmax", options.benchmarks, budget=0.01))
    print(sanitized(sanitizer(), 0.0)[0])
    return 0 if passed else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rehearse", action="store_true", help="what can be done without a GPU")
    parser.add_argument("--tests", type=float, default=150.0, help="seconds for the tests")
    parser.add_argument("--sanitizer", type=float, default=100.0, help="seconds for its two tools")
    parser.add_argument("--benchmarks", type=float, default=200.0, help="seconds for the steps")
    parser.add_argument("--kernels", type=float, help="only programs and modules, for so long")
    parser.add_argument("--out", help="folder of the report (benchmarks/results)")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    lacking = missing()
    if lacking:
        print(f"gpu_run needs {', '.join(lacking)}: put them on PYTHONPATH or install them")
        return 1
    if options.rehearse:
        return rehearsed(options)
    import nnkit

    if not nnkit.cuda.is_available():
        from nnkit.backend.cuda.runtime import problem

        print(problem())
        return 1
    if options.kernels is not None:
        report, passed = tested(kernel_tests(), options.kernels)
        print(report)
        return 0 if passed else 1
    from benchmarks import gpu, gpu_kernels

    about = machine()
    print(about, flush=True)
    report, passed = tested(tests(), options.tests)
    print(report, flush=True)
    watched, clean = sanitized(sanitizer(), options.sanitizer)
    print(watched, flush=True)
    kernels = gpu_kernels.table()
    print(kernels, flush=True)
    steps = gpu.table(seconds=options.benchmarks)
    name = re.sub(r"[^a-z0-9]+", "-", nnkit.cuda.get_device_name().lower()).strip("-")
    folder = Path(options.out) if options.out else ROOT / "benchmarks" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    today = datetime.date.today().isoformat()
    page = f"# {today}, {nnkit.cuda.get_device_name()}\n\n{about}\n\n## Tests\n\n{report}\n"
    page += f"## compute-sanitizer\n\n{watched}\n## Kernels\n\n{kernels}\n## Steps\n\n{steps}"
    (folder / f"{today}-{name}.md").write_text(page)
    print(steps)
    return 0 if passed and clean else 1


if __name__ == "__main__":
    sys.exit(main())
