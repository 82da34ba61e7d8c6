"""The build: nnkit's compiled kernels, where there is a compiler for them.

What the package is called, needs and contains stands in setup.cfg. The kernels are compiled once
for each instruction set, into extension modules of which one is loaded; without a working compiler
the package is installed all the same and computes with NumPy.

``NNKIT_TARGETS="avx2"`` compiles for those instruction sets alone; ``NNKIT_TARGETS=""`` for none.
``NNKIT_FLAGS`` are further flags of the compiler and the linker (see `tools/sanitize.sh`).
"""

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
BACKEND = Path("nnkit/backend")
NATIVE = BACKEND / "cpu/native"
FLAGS = [
    "-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-pthread", "-Wall", "-Wno-psabi",
    # No contraction to fused operations: an element-wise result has the same bits everywhere.
    "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
]  # fmt: skip
MORE_FLAGS = os.environ.get("NNKIT_FLAGS", "").split()
STRIP = ["-Wl,-s"] if sys.platform == "linux" and not MORE_FLAGS else []
TARGETS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma"],
}


def announce(reason: str) -> None:
    print(f"nnkit: no compiled kernels, NumPy's serve instead: {reason}", file=sys.stderr)


def targets() -> list[str]:
    asked = os.environ.get("NNKIT_TARGETS")
    if asked is not None:
        return asked.split()
    if sys.platform == "win32":
        return []  # the sources need GCC's or Clang's vector types
    return list(TARGETS) if platform.machine() in ("x86_64", "AMD64") else ["baseline"]


def extensions() -> list[Extension]:
    try:
        import numpy
    except ImportError:
        announce("NumPy's headers are missing")
        return []
    headers = [str(p.relative_to(ROOT)) for f in (BACKEND, NATIVE) for p in (ROOT / f).glob("*.h")]
    sources = [str(p.relative_to(ROOT)) for p in sorted((ROOT / NATIVE).glob("*.cpp"))]
    return [
        Extension(
            f"nnkit.backend.cpu.native._{target}",
            sources,
            include_dirs=[numpy.get_include()],
            define_macros=[("NNKIT_INIT", f"PyInit__{target}")],
            # -iquote, not -I: the system's <math.h> must stay reachable beside our "math.h".
            extra_compile_args=[*FLAGS, *TARGETS[target], "-iquote", str(NATIVE), *MORE_FLAGS],
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

    def build_extensions(self) -> None:
        try:
            printed = printed_formulas(Path(self.build_temp) / "printed")
        except ImportError as error:
            announce(f"the formulas could not be printed ({error})")
            return
        for extension in self.extensions:
            extension.sources.extend(printed)
        super().build_extensions()

    def build_extension(self, ext: Extension) -> None:
        everything = self.build_temp
        # Each instruction set has objects of its own.
        self.build_temp = str(Path(everything) / ext.name.rpartition(".")[2])
        compile_all, self.compiler.compile = self.compiler.compile, self.compile_changed
        self.compile_files = compile_all
        try:
            super().build_extension(ext)
        except Exception as error:
            announce(f"{ext.name} could not be compiled ({error})")
        finally:
            self.build_temp, self.compiler.compile = everything, compile_all

    def compile_changed(self, sources: list[str], output_dir: str, depends=(), **options):
        def compile_one(source: str) -> str:
            (target,) = self.compiler.object_filenames([source], output_dir=output_dir)
            newest = max(os.path.getmtime(path) for path in (source, *depends))
            if not os.path.exists(target) or os.path.getmtime(target) < newest:
                self.compile_files([source], output_dir=output_dir, **options)
            return target

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(compile_one, sources))


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildNative})
