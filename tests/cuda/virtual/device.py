"""Puts the played libraries where CuPy looks for them, in this process, before it is imported.

libcuda, cuBLAS and the like are found by their names, so it is enough that ours are loaded first.
The CUDA runtime is linked into CuPy's modules: there, each function that `driver.cpp` plays is
replaced by a jump to ours, by its name in the module's table of symbols.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import mmap
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ASKED_FOR_ONLY = ("libcublasLt.so", "libnvJitLink.so")
PATCHED = ("cupy_backends.cuda.api.runtime", "cupy.cuda.thrust")


def wheel(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"the played GPU needs {package}: see python -m tests.cuda.virtual -h")
    return Path(next(iter(spec.submodule_search_locations)))


def headers() -> list[Path]:
    """The folders of CUDA's headers: all wheels of CUDA 13 share one, those of CUDA 12 do not."""
    return sorted(wheel("nvidia").glob("*/include"))


def compile_library(
    folder: Path, soname: str, source: str | None, *libraries: Path, names: Iterable[str] = ()
) -> Path:
    """A shared library of one of our sources; of ``names``, what it lacks says so and fails."""
    path, lacking, version = folder / soname, folder / f"{soname}.cpp", folder / f"{soname}.map"
    lacking.write_text("#include <cstdio>\n" + "".join(
        f'extern "C" __attribute__((weak)) int {n}() '
        f'{{ fprintf(stderr, "NOT PLAYED: {n}\\n"); return 16; }}\n' for n in names
    ))  # fmt: skip
    version.write_text(f"{soname} {{ global: *; }};\n")
    command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", f"-Wl,-soname,{soname}"]
    command += [f"-Wl,--version-script={version}", *(f"-I{f}" for f in (HERE, *headers()))]
    command += [str(lacking), *([str(HERE / source)] if source else [])]
    subprocess.run([*command, "-o", str(path), *map(str, libraries)], check=True)
    return path


def asked(module: Path) -> Iterator[tuple[str, list[str]]]:
    """The mathematical libraries that a module is linked with, and what it takes from them."""
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", str(module)], capture_output=True, text=True, check=True
    ).stdout
    by_library: dict[str, list[str]] = {}
    for name, library in re.findall(r" U (\w+)@(libcu\w+\.so\.\d+)", listed):
        by_library.setdefault(library, []).append(name)
    yield from by_library.items()


def functions(module: Path) -> dict[str, int]:
    """Where the functions of an ELF file lie, by their names."""
    data = module.read_bytes()
    sections, (entry, count, _) = (
        struct.unpack_from("<Q", data, 0x28)[0],
        struct.unpack_from("<HHH", data, 0x3A),
    )
    found: dict[str, int] = {}
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * entry) for i in range(count)]
    for kind, offset, size, link in ((h[1], h[4], h[5], h[6]) for h in headers):
        if kind != 2:  # SHT_SYMTAB
            continue
        names = headers[link][4]
        for at in range(offset, offset + size, 24):
            name, info, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == 2 and value:  # STT_FUNC
                end = data.index(b"\0", names + name)
                found[data[names + name : end].decode()] = value
    return found


def base_address(module: Path) -> int:
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, _, offset, *_, path = line.split(maxsplit=5) if line.count(" ") > 5 else ("",) * 4
        if path.strip() == str(module) and int(offset, 16) == 0:
            return int(span.partition("-")[0], 16)
    raise RuntimeError(f"{module} is not loaded")


def redirect(module: Path, played: Any, names: dict[str, str]) -> int:
    """Jumps at the functions of a loaded module to ours (name there -> name here)."""
    places, base = functions(module), base_address(module)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    done = 0
    for theirs, ours in names.items():
        if theirs not in places or not hasattr(played, ours):
            continue
        at = base + places[theirs]
        target = ctypes.cast(getattr(played, ours), ctypes.c_void_p).value
        assert target is not None
        start = at // mmap.PAGESIZE * mmap.PAGESIZE
        if protect(start, at + 14 - start, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "mprotect")
        # jmp [rip]; the address follows.
        ctypes.memmove(at, b"\xff\x25\0\0\0\0" + struct.pack("<Q", target), 14)
        done += 1
    return done


class _Redirecting(importlib.machinery.PathFinder):
    """Finds CuPy's modules as ever, and redirects them as soon as they are loaded."""

    played: dict[str, Any] = {}

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in PATCHED:
            return None
        spec = super().find_spec(name, path, target)
        if spec is None or spec.loader is None or spec.origin is None:
            return None
        loader: Any = spec.loader
        create, origin = loader.create_module, Path(spec.origin).resolve()

        def create_and_redirect(spec: Any) -> Any:
            module = create(spec)
            for library in cls.played.values():
                names = {n: n for n in functions(origin) if n.startswith(("cuda", "_Z"))}
                redirect(origin, library, names)
            return module

        loader.create_module = create_and_redirect
        return spec


def install(folder: Path | None = None) -> Any:
    """Build and load the libraries, and let CuPy find them; the driver's is returned."""
    if "cupy" in sys.modules:
        raise RuntimeError("the played GPU must be there before CuPy is imported")
    # CUB's kernels come compiled with CuPy: with none, its own kernels serve.
    os.environ["CUPY_ACCELERATORS"] = ""
    folder = folder or Path(tempfile.mkdtemp(prefix="nnkit-virtual-"))
    os.environ["CUPY_CACHE_DIR"] = str(folder / "cupy")
    os.environ["NNKIT_CUDA_CACHE"] = str(folder / "nnkit")
    driver = compile_library(folder, "libcuda.so.1", "driver.cpp")
    played = {"driver": ctypes.CDLL(str(driver))}
    for module in sorted((wheel("cupy_backends") / "cuda" / "libs").glob("*.so")):
        for library, names in asked(module):
            source = "blas.cpp" if library.startswith("libcublas.") else None
            path = compile_library(folder, library, source, driver, names=names)
            ctypes.CDLL(str(path))
    major = played["driver"].played_version() // 1000
    for library in ASKED_FOR_ONLY:  # CuPy loads them before those that need them
        ctypes.CDLL(str(compile_library(folder, f"{library}.{major}", None)))
    sorting = compile_library(folder, "libthrust.so", "sorting.cpp", driver)
    played["sorting"] = ctypes.CDLL(str(sorting))
    _Redirecting.played = played
    sys.meta_path.insert(0, _Redirecting)  # type: ignore[arg-type]
    return played["driver"]
