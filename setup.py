"""The build: nnkit's compiled kernels, where there is a compiler for them.

What the package is called, needs and contains stands in setup.cfg. The kernels are compiled once
for each instruction set, into extension modules of which one is loaded; without a working compiler
the package is installed all the same and computes with NumPy.

AVX-512 is left out where the machine that builds has none. ``NNKIT_TARGETS="baseline avx2 avx512"``
compiles for those instruction sets, as a wheel for other machines should; ``""`` for none.
``NNKIT_FLAGS`` are further flags of the compiler and the linker (see `tools/sanitize.sh`).
"""

import os
import platform
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
BACKEND = Path("nnkit/backend")
NATIVE = BACKEND / "cpu/native"
COMPILED = (
    Path("nnkit/autograd/compiled"), BACKEND / "cuda/compiled", BACKEND / "program",
    Path("nnkit/compiler"),
)  # fmt: skip
FLAGS = [
    "-std=c++17", "-g0", "-fvisibility=hidden", "-pthread", "-Wall", "-Wno-psabi",
    # No contraction to fused operations: an element-wise result has the same bits everywhere.
    "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
    # Else how fast a loop is depends on what was linked before it (convolutions: up to 9 %).
    "-falign-functions=64",
]  # fmt: skip
EXT_SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
# Files compile a fifth faster with these than with GCC's -O3; most kernels are as fast.
OPTIMIZED = {
    "gcc": [
        "-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops", "-funswitch-loops",
        "-floop-interchange", "-floop-unroll-and-jam",
    ],
    "clang": ["-O3"],
}  # fmt: skip
# Files whose kernels were measured to be slower without it.
THOROUGH = [
    "array", "formula", "layout", "logsumexp", "masking", "memory", "module", "moments", "pooling",
    "printed_*", "reduction", "scattering", "sorting", "update",
]  # fmt: skip
MORE_FLAGS = os.environ.get("NNKIT_FLAGS", "").split()
STRIP = ["-Wl,-s"] if sys.platform == "linux" and not MORE_FLAGS else []
TARGETS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma", "-mf16c"],
}


def announce(reason: str) -> None:
    print(f"nnkit: no compiled kernels, NumPy's serve instead: {reason}", file=sys.stderr)


def targets() -> list[str]:
    asked = os.environ.get("NNKIT_TARGETS")
    if asked is not None:
        return asked.split()
    if sys.platform == "win32":
        return []  # the sources need GCC's or Clang's vector types
    if platform.machine() not in ("x86_64", "AMD64"):
        return ["baseline"]
    from numpy._core import _multiarray_umath

    # Compiling it takes a minute that a machine without it would never see again.
    has_avx512 = getattr(_multiarray_umath, "__cpu_features__", {}).get("AVX512_SKX")
    return [target for target in TARGETS if target != "avx512" or has_avx512]


def native_sources() -> list[Path]:
    found = [*(ROOT / BACKEND).glob("*.h"), *(ROOT / NATIVE).rglob("*.*")]
    found += [path for folder in COMPILED for path in (ROOT / folder).iterdir()]
    return sorted(path for path in found if path.suffix in (".cpp", ".h"))


def processors() -> int:
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def compiler_family(program: str) -> str:
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return "clang" if "clang" in shown.stdout else "gcc"


def extensions() -> list[Extension]:
    try:
        import numpy
    except ImportError:
        announce("NumPy's headers are missing")
        return []
    sources, headers = (
        [str(p.relative_to(ROOT)) for p in native_sources() if p.suffix == suffix]
        for suffix in (".cpp", ".h")
    )
    folders = sorted({str(Path(header).parent) for header in headers})
    return [
        Extension(
            f"nnkit.backend.cpu.native._{target}",
            sources,
            include_dirs=[numpy.get_include()],
            define_macros=[("NNKIT_INIT", f"PyInit__{target}")],
            # -iquote, not -I: the system's <math.h> must stay reachable beside our "math.h".
            extra_compile_args=[
                *FLAGS,
                *TARGETS[target],
                *(f"-iquote{folder}" for folder in folders),
                *MORE_FLAGS,
            ],  # fmt: skip
            extra_link_args=["-pthread", *STRIP, *MORE_FLAGS],
            depends=["setup.py", *headers],
            language="c++",
            optional=True,
        )
        for target in targets()
    ]


def printed_formulas(folder: Path) -> list[str]:
    """The formulas of nnkit's own Python sources, printed as C++ files."""
    sys.path.insert(0, str(ROOT))
    os.environ["NNKIT_NATIVE"] = "0"
    import nnkit.nn
    import nnkit.optim  # noqa: F401  they enter their formulas into the catalogue
    from nnkit.backend.algebra import FORMULAS
    from nnkit.backend.cpu.native.printer import print_files

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in print_files(FORMULAS.values()).items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        paths.append(str(path))
    return paths


class BuildNative(build_ext):
    """Compiles what has changed, several files at a time; a failure leaves NumPy's kernels."""

    def run(self) -> None:
        self.remove_outdated()
        super().run()

    def remove_outdated(self) -> None:
        """Extensions that are older than their sources go: no failure may leave them in use."""
        changed = max(path.stat().st_mtime for path in [ROOT / "setup.py", *native_sources()])
        folders = [Path(self.build_lib) / NATIVE, *([ROOT / NATIVE] if self.inplace else [])]
        for path in (path for folder in folders for path in folder.glob("_*" + EXT_SUFFIX)):
            if path.stat().st_mtime < changed:
                path.unlink()

    def build_extensions(self) -> None:
        try:
            printed = printed_formulas(Path(self.build_temp) / "printed")
        except ImportError as error:
            announce(f"the formulas could not be printed ({error})")
            return
        try:
            family = compiler_family(self.compiler.compiler_so[0])
        except OSError as error:
            announce(f"there is no C++ compiler ({error})")
            return
        for extension in self.extensions:
            flags = extension.extra_compile_args
            level = ["-O2"] if self.is_last_resort(extension) else OPTIMIZED[family]
            extension.extra_compile_args = [*level, *flags]
        self.failures: dict[str, Exception] = {}
        # All files of all instruction sets at once, so that no core idles but at the very end.
        with ThreadPoolExecutor(processors()) as pool:
            waiting = [
                (extension, pool.submit(self.compile_one, extension, source))
                for source in [*self.extensions[0].sources, *printed]
                for extension in self.extensions
            ]
        for extension in self.extensions:
            extension.sources = []
            extension.extra_objects = [future.result() for e, future in waiting if e is extension]
            extension.depends = [*extension.depends, *extension.extra_objects]
        super().build_extensions()

    def is_last_resort(self, ext: Extension) -> bool:
        """The baseline beside others serves x86 processors from before 2013: it compiles fast."""
        return len(self.extensions) > 1 and ext.name.endswith("_baseline")

    def compile_one(self, ext: Extension, source: str) -> str:
        # Each instruction set has objects of its own.
        folder = str(Path(self.build_temp) / ext.name.rpartition(".")[2])
        (target,) = self.compiler.object_filenames([source], output_dir=folder)
        newest = max(os.path.getmtime(path) for path in (source, *ext.depends))
        if ext.name in self.failures:
            return target
        if not os.path.exists(target) or os.path.getmtime(target) < newest:
            try:
                wants_more = any(fnmatch(Path(source).stem, name) for name in THOROUGH)
                wants_more = wants_more and not MORE_FLAGS and not self.is_last_resort(ext)
                thorough = ["-O3"] if wants_more else []
                self.compiler.compile(
                    [source],
                    output_dir=folder,
                    macros=ext.define_macros,
                    include_dirs=ext.include_dirs,
                    extra_postargs=[*ext.extra_compile_args, *thorough],
                )
            except Exception as error:
                self.failures[ext.name] = error
        return target

    def build_extension(self, ext: Extension) -> None:
        """Link what has been compiled."""
        try:
            if ext.name in self.failures:
                raise self.failures[ext.name]
            super().build_extension(ext)
        except Exception as error:
            announce(f"{ext.name} could not be compiled ({error})")


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildNative})
