"""What may go wrong around the compiled kernels: each time a clear word, and never a crash."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import nnkit
from nnkit.backend.cpu import native
from tests.backend.native_cases import needs_native

ROOT = Path(nnkit.__file__).parent.parent
EXTENSION = Path(native.MODULE.__file__) if native.MODULE is not None else None
SUM = "import nnkit; x = nnkit.arange(1_000_000.0); assert (x + x)[5].item() == 10\n"


def run(program: str, root: Path = ROOT, **environment: str) -> tuple[str, str]:
    """Output and warnings of a program in a fresh interpreter, which must not die."""
    full = {k: v for k, v in os.environ.items() if not k.startswith("NNKIT_")}
    full |= {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "2", **environment}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=full, cwd=root, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.strip()


SHOW = SUM + "print([s for s in nnkit.show_config().splitlines() if 'kernels' in s][0])"


def test_switched_off() -> None:
    output, warnings = run(SHOW, NNKIT_NATIVE="0")
    assert "alone" in output and "switched off by NNKIT_NATIVE=0" in output
    assert not warnings


def test_an_instruction_set_that_there_is_not() -> None:
    output, warnings = run(SHOW, NNKIT_NATIVE="mmx")
    assert "NNKIT_NATIVE is 'mmx', but this CPU has" in output
    assert "RuntimeWarning" in warnings


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package without extensions."""
    shutil.copytree(ROOT / "nnkit", tmp_path / "nnkit", ignore=shutil.ignore_patterns("*.so"))
    return tmp_path


def test_missing(copy: Path) -> None:
    output, warnings = run(SHOW, copy)
    assert "not compiled: reinstall with a C++17 compiler" in output
    assert not warnings


@needs_native
def test_a_checkout_hides_the_compiled_copy(copy: Path) -> None:
    assert EXTENSION is not None
    shutil.copytree(copy / "nnkit", copy / "installed/nnkit")
    shutil.copy(EXTENSION, copy / "installed/nnkit/backend/cpu/native")
    # Behind the folder of the program and PYTHONPATH, before what else is installed.
    program = f"import sys; sys.path.insert(2, {str(copy / 'installed')!r})\n{SHOW}"
    assert f"the copy in {copy / 'installed'} is compiled" in run(program, copy)[0]


@needs_native
@pytest.mark.parametrize("part", [0.0, 0.001, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("kind", ["truncated", "garbage"])
def test_corrupted(copy: Path, kind: str, part: float) -> None:
    assert EXTENSION is not None
    content = EXTENSION.read_bytes()
    kept = content[: int(part * len(content))]
    if kind == "garbage":
        kept = bytes(len(kept)) if part else b"garbage"
    (copy / "nnkit/backend/cpu/native" / EXTENSION.name).write_bytes(kept)
    output, warnings = run(SHOW, copy)
    assert "is broken" in output and "reinstall nnkit" in output
    assert "RuntimeWarning: nnkit computes with NumPy alone" in warnings


@needs_native
def test_another_version(copy: Path) -> None:
    """An extension of this Python that is not the one these sources need."""
    other = importlib.util.find_spec("numpy._core._multiarray_tests")
    assert EXTENSION is not None and other is not None and other.origin is not None
    shutil.copy(other.origin, copy / "nnkit/backend/cpu/native" / EXTENSION.name)
    output, warnings = run(SHOW, copy)
    assert "is broken" in output and "reinstall nnkit" in output
    assert "RuntimeWarning: nnkit computes with NumPy alone" in warnings


@needs_native
def test_an_extension_for_another_python(copy: Path) -> None:
    assert EXTENSION is not None
    other = EXTENSION.name.replace("cpython-3", "cpython-9")
    shutil.copy(EXTENSION, copy / "nnkit/backend/cpu/native" / other)
    assert "not compiled: reinstall" in run(SHOW, copy)[0]


@needs_native
def test_a_cpu_without_the_instructions() -> None:
    """The extension for them is never loaded: the baseline's or NumPy's kernels serve."""
    program = """
from numpy._core import _multiarray_umath
features = _multiarray_umath.__cpu_features__
features.update({name: False for name in features})
"""
    output, _ = run(program + SHOW)
    assert "baseline" in output or "not compiled" in output
    output, warnings = run(program + SHOW, NNKIT_NATIVE="avx2")
    assert "NNKIT_NATIVE is 'avx2', but this CPU has baseline" in output
    assert "RuntimeWarning" in warnings


@pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="needs the sources")
def test_a_rebuild_that_fails(copy: Path) -> None:
    """It says so, and leaves no extension that is older than its sources."""
    pytest.importorskip("setuptools")
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    (suffix,) = importlib.machinery.EXTENSION_SUFFIXES[:1]
    old = copy / f"nnkit/backend/cpu/native/_baseline{suffix}"
    old.write_bytes(b"")
    os.utime(old, (1, 1))
    build = [sys.executable, "setup.py", "build_ext", "--inplace"]
    environment = {**os.environ, "CC": "false", "CXX": "false", "NNKIT_TARGETS": "baseline"}
    done = subprocess.run(
        build, capture_output=True, text=True, cwd=copy, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "nnkit: no compiled kernels, NumPy's serve instead" in done.stderr
    assert not old.exists()
    assert "not compiled: reinstall" in run(SHOW, copy)[0]


@needs_native
def test_stale(copy: Path) -> None:
    """A formula that has changed since the build is not served by old code."""
    assert EXTENSION is not None
    shutil.copy(EXTENSION, copy / "nnkit/backend/cpu/native")
    path = copy / "nnkit/autograd/ops/elementwise/activation.py"
    text = path.read_text()
    assert text.count("x / (1 + fn.exp(-x))") == 1
    path.write_text(text.replace("x / (1 + fn.exp(-x))", "x / (0.5 + 0.5 * fn.exp(-x))"))
    program = """
import nnkit
from nnkit.backend.cpu import BACKEND as B, native
assert native.MODULE is not None
assert not isinstance(B.silu, native.MODULE.Kernel)
assert isinstance(B.exp, native.MODULE.Kernel)
x = nnkit.ones(3)
assert abs(nnkit.nn.functional.silu(x)[0].item() - 1.4621171) < 1e-6
"""
    run(program, copy)


def test_a_cache_limit_that_is_no_number() -> None:
    _, warnings = run(SUM, NNKIT_CACHE_MB="much")
    assert native.MODULE is None or "NNKIT_CACHE_MB is 'much', no number" in warnings


@needs_native
def test_the_cache_is_bounded() -> None:
    program = """
import nnkit
from nnkit.backend.cpu import native
M = native.MODULE
for size in range(100_000, 6_000_000, 100_000):
    nnkit.ones(size).exp()
    assert M.cached_bytes() <= LIMIT, M.cached_bytes()
assert (M.cached_bytes() > 0) == (LIMIT > 0)
nnkit.cpu.empty_cache()
assert M.cached_bytes() == 0
"""
    run(program.replace("LIMIT", str(8 << 20)), NNKIT_CACHE_MB="8")
    run(program.replace("LIMIT", "0"), NNKIT_CACHE_MB="0")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_memory_runs_out() -> None:
    program = """
import resource, nnkit, numpy
from nnkit.backend.cpu import BACKEND as B
x = nnkit.ones(1 << 20)
(x + x).sum().item()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20), -1))
big = x.expand(1 << 9, 1 << 20)
for _ in range(20):
    for attempt in (lambda: big + 1, lambda: nnkit.softmax(big, -1), lambda: big.exp(),
                    lambda: big.flip(1), lambda: big.sort()):
        try:
            attempt()
        except (MemoryError, RuntimeError) as error:
            assert "memory" in str(error).lower() or isinstance(error, MemoryError), error
        else:
            raise AssertionError("it went through")
kept = [x + 1 for _ in range(20)]
assert kept[-1][3].item() == 2
"""
    run(program)


FORK = """
import os, sys, threading, time, warnings
import nnkit
warnings.simplefilter("ignore", DeprecationWarning)
x = nnkit.arange(500_000.0)
want = (x.exp() + x).tolist()[:5]
stop = False

def work():
    while not stop:
        x.exp(); (x @ x); x.sin()

threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads:
    t.start()
for _ in range(15):
    child = os.fork()
    if child == 0:
        try:
            for _ in range(3):
                assert (x.exp() + x).tolist()[:5] == want
            nnkit.cpu.empty_cache()
            assert nnkit.get_num_threads() == 2
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    pid, status = os.waitpid(child, 0)
    assert status == 0, status
stop = True
for t in threads:
    t.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork of POSIX")
def test_fork_in_the_middle_of_sections() -> None:
    run(FORK)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method: str, tmp_path: Path) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    program = """
import multiprocessing, nnkit

def work(k):
    x = nnkit.arange(1_000_000.0)
    return (x + k).sin().sum().item()

if __name__ == "__main__":
    here = [work(k) for k in range(4)]
    with multiprocessing.get_context(METHOD).Pool(3) as pool:
        assert pool.map(work, range(4)) == here
    print("done")
"""
    path = tmp_path / "program.py"  # a spawned process imports it
    path.write_text(program.replace("METHOD", repr(method)))
    start = f"import sys; sys.argv = [{str(path)!r}]; import runpy; "
    output, _ = run(start + f"runpy.run_path({str(path)!r}, run_name='__main__')")
    assert output == "done"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
def test_an_interrupt_during_kernels() -> None:
    """Ctrl-C ends the call in Python that is running, and the pool goes on."""
    program = """
import signal, nnkit
signal.setitimer(signal.ITIMER_REAL, 0.3)
signal.signal(signal.SIGALRM, signal.default_int_handler)
x = nnkit.arange(1_000_000.0).reshape(1000, 1000)
try:
    while True:
        x.sort(); x @ x; x.exp()
except KeyboardInterrupt:
    print((x + x)[0, 3].item())
"""
    assert run(program)[0] == "6.0"


@needs_native
@pytest.mark.parametrize("text", ["", "abc", "-3", "0", "999999999999", "2147483648", "1.5", "4,2"])
def test_odd_values_of_omp_num_threads(text: str) -> None:
    program = SUM + "print(nnkit.get_num_threads())"
    assert 1 <= int(run(program, OMP_NUM_THREADS=text)[0]) <= max(4, os.cpu_count() or 1)


def test_several_python_threads() -> None:
    program = """
import threading, nnkit
x = nnkit.arange(1_000_000.0)
want = x.sin().sum().item(), nnkit.softmax(x.reshape(1000, 1000), -1).sum(0)[5].item()
wrong = []

def work():
    for _ in range(20):
        got = x.sin().sum().item(), nnkit.softmax(x.reshape(1000, 1000), -1).sum(0)[5].item()
        if got != want:
            wrong.append(got)

threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not wrong, wrong
"""
    run(program)


@needs_native
def test_the_number_of_threads() -> None:
    program = "import nnkit; print(nnkit.get_num_threads())"
    assert run(program, OMP_NUM_THREADS="1")[0] == "1"
    assert run(program, OMP_NUM_THREADS="3")[0] == "3"
    assert run(program, OMP_NUM_THREADS="0")[0] == run(program, OMP_NUM_THREADS="x")[0]
    count = """
import os, nnkit
nnkit.set_num_threads(COUNT)
x = nnkit.arange(4_000_000.0)
x.exp()
print(len(os.listdir("/proc/self/task")))
"""
    if sys.platform == "linux":
        alone = int(run(count.replace("COUNT", "1"), OPENBLAS_NUM_THREADS="1")[0])
        three = int(run(count.replace("COUNT", "3"), OPENBLAS_NUM_THREADS="1")[0])
        assert three >= alone + 2


def test_idle_workers_use_no_processor() -> None:
    program = """
import time, nnkit
x = nnkit.arange(4_000_000.0)
x.exp()
time.sleep(0.2)
before = time.process_time()
time.sleep(1.0)
assert time.process_time() - before < 0.02, time.process_time() - before
"""
    run(program)


@pytest.mark.parametrize("daemon", [True, False])
def test_exit_with_a_running_pool(daemon: bool) -> None:
    program = f"""
import threading, nnkit
x = nnkit.arange(2_000_000.0)

def work():
    for _ in range({10**9 if daemon else 20}):
        x.exp(); nnkit.softmax(x.reshape(1000, -1), -1); x + x

for _ in range(3):
    threading.Thread(target=work, daemon={daemon}).start()
x.exp()
"""
    for _ in range(5 if daemon else 1):
        output, warnings = run(program)
        assert not output and not warnings
