"""Each kernel's twin for the CPU: the source that NVRTC compiled, compiled by g++ as well.

What NVRTC makes is followed from its source on: what CuPy and nnkit compile is remembered under the
machine code's hash, so that a module that is loaded is known by its code. A function of it is
compiled behind tests/cuda/emulation.h when it is first asked for.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import struct
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.cuda import emulation
from tests.cuda.virtual import device

PARAMETERS = 64


class Function(ctypes.Structure):
    """`Function` of driver.cpp."""

    _fields_ = [
        ("run", ctypes.c_void_p), ("count", ctypes.c_int), ("most_threads", ctypes.c_int),
        ("fixed_shared", ctypes.c_int), ("dynamic_shared", ctypes.c_int),
        ("name", ctypes.c_char * 1024), ("sizes", ctypes.c_size_t * PARAMETERS),
        ("pointed", ctypes.c_size_t * PARAMETERS),
    ]  # fmt: skip


class Source(NamedTuple):
    text: str
    names: dict[str, str]  # of the functions: in the machine code -> in C++
    includes: tuple[str, ...]  # -I and -D
    is_ours: bool


_sources: dict[str, Source] = {}
_modules: list[Source] = []
_fixed: list[dict[str, int]] = []  # of each module, the `fixed_shared` of its functions
_libraries: dict[str, ctypes.CDLL] = {}
compiled: set[str] = set()

# What nvcc and NVRTC have built in and CuPy's headers use.
BEFORE = "#define dim3 emulated_dim3\n"  # CUDA's headers, which CuPy's include, have their own
PRELUDE = r"""
#undef dim3
#undef __forceinline__
#define __forceinline__ inline
#include <complex>
#include <cfloat>
#include <climits>
#include <algorithm>
#define __noinline__
#define __align__(n) alignas(n)
using std::isnan; using std::isinf; using std::isfinite; using std::signbit;
using std::min; using std::max;
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
inline float __uint_as_float(unsigned bits) { return __int_as_float(int(bits)); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cuda_runtime_api.h>
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#include <cupy/bfloat16.cuh>
#include <cupy/float16.cuh>
#undef __CUDACC_VER_MAJOR__
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
"""
# Shared memory whose size the launch gives.
DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w:<>, ]+?)\s+(\w+)\[\];")
DESCRIBE = r"""
namespace emulation {
template <class T> struct Pointed { static constexpr size_t align = 0; };
template <class T> struct Pointed<T*> { static constexpr size_t align = alignof(T); };
template <> struct Pointed<void*> { static constexpr size_t align = 1; };
template <> struct Pointed<const void*> { static constexpr size_t align = 1; };
template <class... P>
int describe(void (*)(P...), size_t* sizes, size_t* pointed) {
    const size_t all[] = {sizeof(std::remove_reference_t<P>)..., 0};
    const size_t aligns[] = {Pointed<std::remove_cv_t<P>>::align..., 0};
    for (size_t i = 0; i < sizeof...(P); ++i) { sizes[i] = all[i]; pointed[i] = aligns[i]; }
    return int(sizeof...(P));
}
}
"""


def remember(code: bytes, source: Source) -> None:
    if code.startswith(b"\x7fELF"):
        address = ctypes.create_string_buffer(code)
        code = code[: _size_of_elf(ctypes.addressof(address))]
    _sources[hashlib.sha256(code.rstrip(b"\0")).hexdigest()] = source


def _size_of_elf(address: int) -> int:
    head = ctypes.string_at(address, 64)
    segments, sections = struct.unpack_from("<QQ", head, 0x20)
    per_segment, segment_count, per_section, count = struct.unpack_from("<HHHH", head, 0x36)
    return max(sections + per_section * count, segments + per_segment * segment_count)


def fixed_shared(code: bytes) -> dict[str, int]:
    """The bytes of the shared arrays in functions' sources, by the functions' names; some targets
    count 1024 that the system keeps."""
    (sections,) = struct.unpack_from("<Q", code, 0x28)
    step, count, names = struct.unpack_from("<HHH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", code, sections + i * step) for i in range(count)]
    found = {}
    for name, _, _, _, _, size in headers:
        start = headers[names][4] + name
        label = code[start : code.index(b"\0", start)].decode()
        if label.startswith(".nv.shared."):
            found[label.removeprefix(".nv.shared.")] = size
    return found


def load_image(image: int | None, path: bytes | None) -> int:
    """The number of a module with this machine code; 0 for one that nobody compiled here."""
    try:
        code = Path(os.fsdecode(path)).read_bytes() if path else b""
        if image:
            is_elf = ctypes.string_at(image, 4) == b"\x7fELF"
            code = ctypes.string_at(image, _size_of_elf(image)) if is_elf else b""
            code = code or ctypes.string_at(image)
        source = _sources.get(hashlib.sha256(code.rstrip(b"\0")).hexdigest())
        if source is None:
            print(f"UNKNOWN MODULE: {len(code)} bytes, {path!r}", flush=True)
            return 0
        _modules.append(source)
        _fixed.append(fixed_shared(code) if code.startswith(b"\x7fELF") else {})
        return len(_modules)
    except Exception as error:
        print(f"UNKNOWN MODULE: {error!r}", flush=True)
        return 0


@cache
def prelude(is_ours: bool, includes: tuple[str, ...]) -> Path:
    """What stands before every source, compiled once: reading CuPy's headers takes a second."""
    header = emulation.HEADER.read_text()
    text = (header if is_ours else BEFORE + header + PRELUDE) + DESCRIBE
    path = emulation.cache() / f"prelude-{emulation.digest(f'{text}{includes}')}.h"
    path.write_text(text)
    emulation.compile_with(
        [*includes, "-x", "c++-header", str(path)], "", path.with_suffix(".h.gch")
    )
    return path


def build(source: Source, name: str) -> ctypes.CDLL:
    key = emulation.digest(f"{source}{name}")
    if key in _libraries:
        return _libraries[key]
    expression = source.names.get(name, name)
    memory = r"\1* \2 = reinterpret_cast<\1*>(emulation::dynamic_shared);"
    text = source.text if source.is_ours else DYNAMIC.sub(memory, source.text)
    program = (
        f'{text}\nextern "C" void twin_run(const unsigned* shape, void** values) '
        f"{{ emulation::launch({expression}, shape, values); }}\n"
        'extern "C" int twin_describe(size_t* sizes, size_t* pointed) '
        f"{{ return emulation::describe({expression}, sizes, pointed); }}\n"
    )
    before = prelude(source.is_ours, source.includes)
    path = emulation.cache() / f"twin-{emulation.digest(f'{before}{program}')}.so"
    flags = (*source.includes, "-include", str(before), "-x", "c++", "-")
    emulation.compile_with(flags, program, path)
    found = _libraries[key] = ctypes.CDLL(str(path))
    return found


def resolve(module: int, name: bytes, out: Any) -> int:
    """Fill in the function of a module; 500 (not found) if it has no twin."""
    try:
        source = _modules[module - 1]
        mangled = name.decode()
        library = build(source, mangled)
        function = ctypes.cast(out, ctypes.POINTER(Function)).contents
        function.run = ctypes.cast(library.twin_run, ctypes.c_void_p).value
        function.count = library.twin_describe(function.sizes, function.pointed)
        function.fixed_shared = _fixed[module - 1].get(mangled, 0)
        readable = source.names.get(mangled, mangled)
        function.name = readable.encode()[:1023]
        compiled.add(readable)
        if source.is_ours:
            bare = re.escape(readable.removeprefix("nnkit::").partition("<")[0])
            bounded = re.search(rf"__launch_bounds__\([^()]*\)\s+{bare}\(", source.text)
            function.most_threads = 1024 if bounded else 256
        return 0
    except Exception as error:
        print(f"NO TWIN: {name!r}: {error}", flush=True)
        return 500


_Load = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_Resolve = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_callbacks = (_Load(load_image), _Resolve(resolve))


def connect(driver: Any) -> None:
    """Tell the played driver where twins are found, and watch both callers of NVRTC."""
    assert driver.played_function_size() == ctypes.sizeof(Function)
    driver.played_connect(*_callbacks)
    _watch_nnkit()
    _watch_cupy()


def _watch_nnkit() -> None:
    from nnkit.backend.cuda import nvrtc

    compile_kernels = nvrtc.compile_kernels

    def watched(text: str, names: tuple, *arguments: Any) -> Any:
        found = compile_kernels(text, names, *arguments)
        remember(found.code, Source(text, dict(zip(found.names, names)), (), True))
        return found

    nvrtc.compile_kernels = watched


def _watch_cupy() -> None:
    from cupy.cuda import compiler

    program: Any = compiler._NVRTCProgram
    initialize, compile_program = program.__init__, program.compile

    def watched_init(self: Any, source: str, *arguments: Any, **named: Any) -> None:
        self.source = source
        initialize(self, source, *arguments, **named)

    def watched(self: Any, options: tuple = (), *arguments: Any, **named: Any) -> Any:
        code, mapping = compile_program(self, options, *arguments, **named)
        names = {lowered: name for name, lowered in (mapping or {}).items()}
        kept = tuple(o for o in options if o.startswith(("-I", "-D", "--include-path")))
        kept += tuple(f"-I{folder}" for folder in device.headers())  # NVRTC has some built in
        text = self.source.decode() if isinstance(self.source, bytes) else self.source
        remember(code, Source(text, names, kept, False))
        return code, mapping

    program.__init__, program.compile = watched_init, watched
