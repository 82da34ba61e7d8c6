"""Everything that is to be done on a machine with an NVIDIA GPU.

    PYTHONPATH=. python3 tools/gpu_run.py              all parts, one after the other
    PYTHONPATH=. python3 tools/gpu_run.py tests        one part, in a command of its own
    PYTHONPATH=. python3 tools/gpu_run.py --rehearse   on a GPU's stand-in

The parts are tests, kernels, steps, examples, compiled (torch.compile) and sanitizer
(compute-sanitizer), in this order; each takes at most 8 minutes (``--seconds``) and writes what it
has found to benchmarks/results/<date>-<gpu>/<part>.md while it goes, so that nothing is lost when
it is stopped. The tests run in as many processes as there are cores: most of their time is NVRTC's.

nnkit need not be installed; Python needs CuPy, NumPy, ml_dtypes and pytest; torch is compared with
where it is there, and cuDNN serves where nvidia-cudnn-frontend is.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("numpy", "ml_dtypes", "cupy", "pytest")
LIMIT = 480.0  # seconds of a part


def missing() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def machine() -> str:
    """The circumstances of a figure: the card, the driver, the versions."""
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
        lines.append(cudnn())
    return "\n".join(f"- {line}" for line in lines)


def cudnn() -> str:
    from nnkit.backend.cuda.cudnn import frontend

    found = frontend()
    if found is None:
        return "no cuDNN or no nvidia-cudnn-frontend: convolutions and attention by our own kernels"
    return f"cuDNN {found.backend_version()}, nvidia-cudnn-frontend {found.__version__}"


def kernel_tests() -> Iterator[tuple[str, Callable[[], None]]]:
    """The checks that compute-sanitizer watches: programs, modules, optimizers."""
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
    from tests.cuda import on_gpu

    yield from kernel_tests()
    for row in on_gpu.rows():
        yield f"row {row.name}", partial(on_gpu.check_row, row)


def examples() -> Iterator[tuple[str, Callable[[], None]]]:
    from tests.cuda import on_gpu

    for arguments in on_gpu.EXAMPLES:
        yield f"example {arguments}", partial(on_gpu.check_example, arguments)


Checks = Iterable[tuple[str, Callable[[], None]]]


def print_failure(line: str) -> None:
    if line.startswith("FAILED "):
        print(line, flush=True)


def keep(file: IO[str], line: str) -> None:
    print(line, file=file, flush=True)
    print_failure(line)


def tested(
    checks: Checks, seconds: float, write: Callable[[str], object] = print_failure
) -> tuple[str, bool]:
    """Run the checks; the report, and whether some ran and all that did passed. ``write`` is given
    a line for each."""
    start = time.perf_counter()
    lines: list[str] = []
    for name, check in checks:
        if time.perf_counter() - start > seconds:
            line = f"left {name}"
        else:
            try:
                check()
                line = f"passed {name}"
            except Exception as error:
                line = f"FAILED {name}: {told(error)}"
        lines.append(line)
        write(line)
    return summary(lines, time.perf_counter() - start)


def told(error: Exception) -> str:
    """The error and the last places that it came through."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames))
    return f"{type(error).__name__} at {places}: {' '.join(str(error).split())[:240]}"


def summary(lines: list[str], seconds: float) -> tuple[str, bool]:
    """The report of lines that `tested` wrote, and whether some passed and none failed."""
    failures = [line.removeprefix("FAILED ") for line in lines if line.startswith("FAILED ")]
    passed = sum(line.startswith("passed ") for line in lines)
    left = len(lines) - passed - len(failures)
    counts = f"{passed} passed, {len(failures)} failed, {left} left out for time; {seconds:.0f} s"
    named = [f"- `{name}`: {text}" for name, _, text in (f.partition(": ") for f in failures)]
    return "\n".join([counts, "", *named]) + "\n", passed > 0 and not failures


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
        lines += [f"- {line}" for line in output.splitlines() if line.startswith("FAILED ")]
        words = ("Error", "Invalid", "hazard", " hit ")
        errors = [line for line in found if any(word in line for word in words)]
        lines += [f"- {line}" for line in errors[:20]]
    return "\n".join(lines) + "\n", clean


def rehearsed(options: argparse.Namespace) -> int:
    """The whole run with a GPU's stand-in (tests/cuda/stand_in.py): not what CuPy or a GPU does."""
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
    checks = [c for c in tests() if c[1] not in on_gpu.NEED_CUPY]
    with stand_in():
        report, passed = tested(checks, options.seconds)
        print(report)
        print(gpu_kernels.table(budget=0.01))
        print(gpu.table("softmax", options.seconds, budget=0.01))
    print(sanitized(sanitizer(), 0.0)[0])
    return 0 if passed else 1


class Part(NamedTuple):
    title: str
    run: Callable[[Path, float], bool]  # (the page to write, seconds) -> whether all is well


def run_checks(checks: Checks, page: Path, seconds: float) -> bool:
    with page.open("w") as file:
        report, passed = tested(checks, seconds, partial(keep, file))
    page.write_text(report)
    return passed


def run_tests(page: Path, seconds: float) -> bool:
    """The tests, dealt out to as many processes as there are cores."""
    start = time.perf_counter()
    until = str(time.time() + seconds - 30)  # the last check may take a while
    count = os.cpu_count() or 1
    pages = [page.with_suffix(f".{i}") for i in range(count)]
    command = [sys.executable, __file__, "--until", until, "--share"]
    workers = [subprocess.Popen([*command, f"{i}/{count}", str(p)]) for i, p in enumerate(pages)]
    ended = [wait(worker, start + seconds) for worker in workers]
    lines = [line for p in pages if p.exists() for line in p.read_text().splitlines()]
    lines += [f"FAILED process {i}: {status}" for i, status in enumerate(ended) if status]
    report, passed = summary(lines, time.perf_counter() - start)
    page.write_text(report)
    print(report, flush=True)
    for p in pages:
        p.unlink(missing_ok=True)
    return passed


def wait(worker: subprocess.Popen, end: float) -> str:
    """The fault of a process that has ended, in words; it is stopped at ``end``."""
    try:
        status = worker.wait(max(0.0, end - time.perf_counter()))
    except subprocess.TimeoutExpired:
        stop(worker)
        worker.wait()
        return "stopped for time"
    return "" if status in (0, 1) else f"exit status {status}"


def stop(worker: subprocess.Popen) -> None:
    """End a process, with those that it started if it is the head of a group."""
    try:
        os.killpg(worker.pid, signal.SIGKILL)
    except ProcessLookupError:
        worker.kill()


def run_share(share: str, page: Path, seconds: float) -> int:
    """One process of `run_tests`: each of so many checks; its lines stay as they are."""
    number, count = map(int, share.split("/"))
    checks = islice(tests(), number, None, count)
    with page.open("w") as file:
        _, passed = tested(checks, seconds, partial(keep, file))
    return 0 if passed else 1


def run_kernels(page: Path, seconds: float) -> bool:
    from benchmarks import gpu_kernels

    return shown(page, gpu_kernels.table())


def run_steps(labels: tuple[str, ...], page: Path, seconds: float) -> bool:
    from benchmarks import gpu

    return shown(page, gpu.table(seconds=seconds - 90, labels=labels, write=page.write_text))


def run_sanitizer(page: Path, seconds: float) -> bool:
    report, clean = sanitized(sanitizer(), seconds - 30)
    return shown(page, report) and clean


def shown(page: Path, text: str) -> bool:
    page.write_text(text)
    print(text, flush=True)
    return True


PARTS = {
    "tests": Part("Tests", run_tests),
    "kernels": Part("Kernels", run_kernels),
    "steps": Part("Steps", partial(run_steps, ("nnkit", "nnkit, CUDA graph", "torch eager"))),
    "examples": Part("Examples", lambda page, seconds: run_checks(examples(), page, seconds - 130)),
    "compiled": Part(
        "Steps beside torch.compile", partial(run_steps, ("torch eager", "torch.compile"))
    ),
    "sanitizer": Part("compute-sanitizer", run_sanitizer),
}


def run_apart(names: list[str], seconds: float, folder: Path) -> int:
    """Each part in a process of its own, which is stopped when its time is over."""
    failed = []
    for name in names:
        print(f"== {PARTS[name].title}", flush=True)
        # Getting ready takes a part's time too.
        command = [sys.executable, __file__, name, "--until", str(time.time() + seconds - 10)]
        worker = subprocess.Popen([*command, "--out", str(folder)], start_new_session=True)
        problem = wait(worker, time.perf_counter() + seconds)
        if problem or worker.returncode:
            failed.append(f"{name} {problem}".strip())
    print("all is well" if not failed else f"look at: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", nargs="*", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--seconds", type=float, default=LIMIT, help="the most that a part takes")
    parser.add_argument("--out", help="folder of the pages (benchmarks/results/<date>-<gpu>)")
    parser.add_argument("--rehearse", action="store_true", help="what can be done without a GPU")
    parser.add_argument("--kernels", type=float, help="only programs and modules, for so long")
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--share", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    unknown = [name for name in options.part if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {', '.join(unknown)}: they are {', '.join(PARTS)}")
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
    if options.share:
        share, page = options.share
        return run_share(share, Path(page), options.until - time.time())
    if options.kernels is not None:
        report, passed = tested(kernel_tests(), options.kernels)
        print(report)
        return 0 if passed else 1
    folder = Path(options.out) if options.out else results()
    folder.mkdir(parents=True, exist_ok=True)
    if options.until:
        (name,) = options.part
        run, page = PARTS[name].run, folder / f"{name}.md"
        return 0 if run(page, options.until - time.time()) else 1
    shown(folder / "machine.md", machine() + "\n")
    return run_apart(options.part or list(PARTS), options.seconds, folder)


def results() -> Path:
    import nnkit

    name = re.sub(r"[^a-z0-9]+", "-", nnkit.cuda.get_device_name().lower()).strip("-")
    return ROOT / "benchmarks" / "results" / f"{datetime.date.today().isoformat()}-{name}"


if __name__ == "__main__":
    sys.exit(main())
