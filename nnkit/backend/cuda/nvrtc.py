"""NVRTC, NVIDIA's compiler for CUDA C++ as a library: from a text to machine code, no GPU needed.

The library comes with the wheel ``nvidia-cuda-nvrtc``, with CuPy's extra ``ctk``, with torch, or
with a CUDA toolkit; it is looked for in that order.
"""

from __future__ import annotations

import ctypes
import importlib.util
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

NAMES = (
    "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "nvrtc64_130_0.dll", "nvrtc64_120_0.dll",
)  # fmt: skip


class Compiled(NamedTuple):
    names: tuple[str, ...]  # of the kernels in the machine code
    code: bytes
    log: str  # with registers and spills where ``--ptxas-options=-v`` asks for them


def _candidates() -> list[str]:
    """The wheels' own files before what the system finds."""
    paths = []
    for package in ("nvidia.cu13", "nvidia.cuda_nvrtc"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for place in (spec.submodule_search_locations or []) if spec else []:
            paths += sorted(Path(place).glob("lib/libnvrtc.so.*"), key=lambda p: len(p.name))
            paths += sorted(Path(place).glob("bin/nvrtc64_*.dll"), key=lambda p: len(p.name))
    return [str(p) for p in paths if ".alt." not in p.name] + list(NAMES)


def _builtins(nvrtc: Path) -> list[Path]:
    """The second half of a wheel's library, to be loaded before it.

    NVRTC opens it by its name when it first compiles, and the wheel of CUDA 13 does not say where
    it lies; what is loaded already is found.
    """
    return sorted(nvrtc.parent.glob("libnvrtc-builtins.so.*")) if nvrtc.is_absolute() else []


@lru_cache(maxsize=1)
def load() -> ctypes.CDLL:
    """The loaded library.

    Raises:
        RuntimeError: there is none.
    """
    for name in _candidates():
        try:
            for library in _builtins(Path(name)):
                ctypes.CDLL(str(library))
            found = ctypes.CDLL(name)
        except OSError:
            continue
        found.nvrtcGetErrorString.restype = c_char_p
        return found
    raise RuntimeError(
        "CUDA kernels need NVRTC, which was not found: pip install nvidia-cuda-nvrtc-cu12 "
        "(CUDA 12) or nvidia-cuda-nvrtc (CUDA 13)"
    )


def _check(status: int, what: str) -> None:
    if status:
        reason = load().nvrtcGetErrorString(status).decode()
        raise RuntimeError(f"NVRTC could not {what}: {reason}")


def version() -> tuple[int, int]:
    major, minor = c_int(), c_int()
    _check(load().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "say its version")
    return major.value, minor.value


@cache
def target_for(capability: str) -> str:
    """The target for a compute capability such as "90": its machine code, or, if the GPU is newer
    than this NVRTC, the newest intermediate code, which the driver translates."""
    count = c_int()
    _check(load().nvrtcGetNumSupportedArchs(ctypes.byref(count)), "list its targets")
    known = (c_int * count.value)()
    _check(load().nvrtcGetSupportedArchs(known), "list its targets")
    if int(capability) in list(known):
        return f"sm_{capability}"
    older = [k for k in known if k < int(capability)]
    if not older:
        raise RuntimeError(
            f"this GPU has compute capability {capability}, and NVRTC {version()} compiles for "
            f"{min(known)} and newer: install an older nvidia-cuda-nvrtc wheel"
        )
    return f"compute_{max(older)}"


def compile_kernels(
    text: str, names: tuple[str, ...], file: str, target: str, options: tuple[str, ...] = ()
) -> Compiled:
    """Compile functions of a source, given by their C++ names with template arguments.

    Raises:
        RuntimeError: one does not compile; the message ends with the compiler's own.
    """
    nvrtc = load()
    program = c_void_p()
    status = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), file.encode(), 0, None, None
    )
    _check(status, "read the source")
    try:
        for name in names:
            _check(nvrtc.nvrtcAddNameExpression(program, name.encode()), f"take the name {name}")
        flags = [f"--gpu-architecture={target}".encode(), *(o.encode() for o in options)]
        failed = nvrtc.nvrtcCompileProgram(program, len(flags), (c_char_p * len(flags))(*flags))
        log = _text(nvrtc, program, "ProgramLog").decode()
        if failed:
            raise RuntimeError(f"NVRTC could not compile {file} for {target}:\n{log}")
        mangled = tuple(_mangled(nvrtc, program, name) for name in names)
        code = _text(nvrtc, program, "CUBIN" if target.startswith("sm_") else "PTX")
        return Compiled(mangled, code, log)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _mangled(nvrtc: Any, program: c_void_p, name: str) -> str:
    found = c_char_p()
    _check(nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(found)), f"find {name}")
    return (found.value or b"").decode()


def _text(nvrtc: Any, program: c_void_p, what: str) -> bytes:
    size = c_size_t()
    _check(getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), f"give its {what}")
    memory = ctypes.create_string_buffer(size.value)
    _check(getattr(nvrtc, f"nvrtcGet{what}")(program, memory), f"give its {what}")
    return memory.raw if what == "CUBIN" else memory.value
