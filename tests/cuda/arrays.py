"""CuPy's arrays and functions, played on the host's memory.

What CuPy refuses is refused: its arrays are not NumPy's, have no buffer, and do not mix with
NumPy's in a call; a function of NumPy's serves them only if it stands in `FUNCTIONS`, which are all
in CuPy (`test_views.py` looks, where CuPy is installed). So the ordinary tests find out what the
CUDA backend borrows from the CPU's and cannot have.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

FUNCTIONS = frozenset(
    "arange argmax argsort asarray bincount broadcast_to concatenate cumprod cumsum diagonal diff "
    "empty empty_like expand_dims flatnonzero full isin isnan matmul maximum may_share_memory mean "
    "minimum moveaxis multiply ndim nonzero ones prod roll searchsorted shape squeeze stack sum "
    "swapaxes take_along_axis tile transpose unique where zeros "
    "fft.fft fft.ifft fft.irfft fft.rfft linalg.cholesky linalg.det linalg.eigh linalg.eigvalsh "
    "linalg.inv linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd".split()
)
# Of their arguments CuPy's have no loop for complex numbers.
REAL = frozenset("logical_and logical_or logical_xor logical_not".split())
METHODS = (
    "all any argmax argmin argsort astype clip conj copy cumprod cumsum dot fill flatten "
    "max mean min nonzero prod ravel repeat reshape round squeeze std sum swapaxes take transpose "
    "var view".split()
)
ROUNDED = 512  # bytes, to which CuPy's pool rounds a block up


class Memory:
    """A block of the host's memory that stands for one on the GPU."""

    def __init__(self, owner: np.ndarray, size: int) -> None:
        self.ptr = owner.ctypes.data
        self.size = size
        self.bytes: Any = (ctypes.c_uint8 * size).from_address(self.ptr)
        self.bytes.owner = owner  # views keep the memory by it


class Pointer:
    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.mem, self.ptr - self.mem.ptr + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> Pointer:
        return self + -offset


class ndarray:
    """An array on the played GPU; ``host`` is NumPy's of the same memory."""

    __slots__ = ("__weakref__", "_mem", "base", "host")
    host: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Pointer | None = None, strides: Any = None
    ) -> None:
        dtype = np.dtype(dtype)
        if memptr is None:
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            size = -(-size // ROUNDED) * ROUNDED
            memptr = Pointer(Memory(np.zeros(size, np.uint8), size), 0)
        self._mem = memptr.mem
        start = min(memptr.ptr - memptr.mem.ptr, memptr.mem.size)
        self.host = np.ndarray(shape, dtype, memptr.mem.bytes, start, strides)
        self.base: ndarray | None = None

    @property
    def data(self) -> Pointer:
        return Pointer(self._mem, self.host.ctypes.data - self._mem.ptr)

    @property
    def flags(self) -> Any:
        flags = self.host.flags
        return SimpleNamespace(
            c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous,
            owndata=self.base is None,
        )  # fmt: skip

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        pointer = (self.data.ptr, False)
        return {
            "shape": self.shape, "strides": self.strides, "typestr": self.dtype.str, "version": 3,
            "data": pointer,
        }  # fmt: skip

    @property
    def real(self) -> Any:
        return _wrapped(self.host.real, self)

    @real.setter
    def real(self, value: Any) -> None:
        self.host.real = host(value)

    @property
    def imag(self) -> Any:
        return _wrapped(self.host.imag, self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.host.imag = host(value)

    @property
    def T(self) -> Any:
        return _wrapped(self.host.T, self)

    def get(self) -> np.ndarray:
        return self.host.copy()

    def set(self, values: np.ndarray) -> None:
        assert type(values) is np.ndarray and values.dtype == self.dtype
        self.host[...] = values

    def item(self) -> Any:
        return self.host.item()

    def diagonal(self, *arguments: int) -> Any:
        found = self.host.diagonal(*arguments)
        found.flags.writeable = True
        return _wrapped(found, self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> Any:
        return self.host.__dlpack__()

    def __array__(self, *arguments: Any, **named: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        values = [taken(i) for i in inputs]
        is_complex = any(getattr(v, "dtype", np.dtype(bool)).kind == "c" for v in values)
        if method != "__call__" or (ufunc.__name__ in REAL and is_complex):
            raise TypeError(f"Wrong type of arguments for cupy_{ufunc.__name__}")
        return _computed(ufunc, values, named)

    def __array_function__(self, function: Any, types: Any, arguments: Any, named: Any) -> Any:
        where = function.__module__.removeprefix("numpy").removeprefix(".")
        name = f"{where}.{function.__name__}".removeprefix(".")
        if name not in FUNCTIONS:
            return NotImplemented
        return _computed(function, [taken(a) for a in arguments], named)

    def __getitem__(self, index: Any) -> Any:
        return _wrapped(self.host[taken(index)], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.host[taken(index)] = taken(value)

    def __len__(self) -> int:
        return len(self.host)

    def __repr__(self) -> str:
        return f"on a played GPU: {self.host!r}"


def _attribute(name: str) -> property:
    return property(lambda self: getattr(self.host, name))


def _method(name: str) -> Callable:
    def method(self: ndarray, *arguments: Any, **named: Any) -> Any:
        given = [taken(a) for a in arguments]
        return _computed(getattr(self.host, name), given, named, self)

    return method


def _operator(name: str) -> Callable:
    def apply(self: ndarray, *others: Any) -> Any:
        if any(type(o) is np.ndarray and o.ndim for o in others):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        result = getattr(self.host, name)(*map(host, others))
        if result is self.host:
            return self
        return result if result is NotImplemented else _wrapped(result)

    return apply


def _number(function: Callable) -> Callable:
    return lambda self: function(self.host)


for _name in ("shape", "strides", "dtype", "size", "ndim", "itemsize", "nbytes"):
    setattr(ndarray, _name, _attribute(_name))
for _name in METHODS:
    setattr(ndarray, _name, _method(_name))
for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    for _form in (f"__{_name}__", f"__r{_name}__", f"__i{_name}__"):
        if hasattr(np.ndarray, _form):
            setattr(ndarray, _form, _operator(_form))
for _name in "neg pos abs invert eq ne lt le gt ge".split():
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
for _function in (int, float, bool, complex, operator.index):
    setattr(ndarray, f"__{_function.__name__}__", _number(_function))
ndarray.__hash__ = None  # type: ignore[assignment]


def on_device(x: np.ndarray) -> ndarray:
    """An array of NumPy's as one on the GPU, in the same memory."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    last = sum((n - 1) * step for n, step in zip(root.shape, root.strides))
    mem = Memory(root, last + root.itemsize if root.size else 0)
    return _made(mem, x, None if x is root else _made(mem, root, None))


def host(value: Any) -> Any:
    """What a call on the GPU takes or gives, with NumPy's arrays of the same memory."""
    if isinstance(value, ndarray):
        return value.host
    if type(value) in (list, tuple):
        return value.__class__(map(host, value))
    if isinstance(value, dict):
        return {key: host(v) for key, v in value.items()}
    return value


def taken(value: Any) -> Any:
    """The same of an argument, where CuPy takes no arrays of NumPy's."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    kind: Any = type(value)
    return kind(map(taken, value)) if kind in (list, tuple) else host(value)


def device(value: Any) -> Any:
    """NumPy's arrays as arrays on the GPU, wherever they stand in an argument."""
    kind: Any = type(value)
    if kind in (list, tuple):
        return kind(map(device, value))
    return on_device(value) if isinstance(value, np.ndarray) else value


def _wrapped(value: Any, parent: ndarray | None = None) -> Any:
    """A result, maybe a view of ``parent``: CuPy has no scalars."""
    if isinstance(value, (list, tuple)):
        return tuple(_wrapped(v, parent) for v in value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    x = np.asarray(value)
    if parent is not None and x.base is not None:
        mem = parent._mem
        if mem.ptr <= x.ctypes.data <= mem.ptr + mem.size:
            return _made(mem, x, parent if parent.base is None else parent.base)
    return on_device(x)


def _made(mem: Memory, x: np.ndarray, base: ndarray | None) -> ndarray:
    found = ndarray.__new__(ndarray)
    found._mem, found.host, found.base = mem, x, base
    return found


def _computed(
    function: Callable, arguments: list, named: dict[str, Any], parent: ndarray | None = None
) -> Any:
    out = named.get("out")
    result = function(*arguments, **{key: host(v) for key, v in named.items()})
    return _wrapped(result, parent) if out is None else (out[0] if type(out) is tuple else out)


def functions(module: ModuleType, prefix: str = "") -> SimpleNamespace:
    """Those of CuPy's functions that `FUNCTIONS` names under a prefix."""
    names = [name.removeprefix(prefix) for name in FUNCTIONS if name.startswith(prefix)]

    def bound(name: str) -> Callable:
        function = getattr(module, name)
        return lambda *a, **named: _computed(function, [taken(v) for v in a], named)

    return SimpleNamespace(**{name: bound(name) for name in names if "." not in name})


linalg = functions(np.linalg, "linalg.")
fft = functions(np.fft, "fft.")
_functions = functions(np)


def asarray(value: Any, dtype: Any = None) -> ndarray:
    return _wrapped(np.array(taken(value), dtype))


def from_dlpack(data: Any) -> ndarray:
    assert data.__dlpack_device__() == (2, 0)
    on_host = SimpleNamespace(__dlpack__=data.__dlpack__, __dlpack_device__=lambda: (1, 0))
    return _wrapped(np.from_dlpack(cast(Any, on_host)))


def __getattr__(name: str) -> Any:
    return getattr(_functions, name)


def on_arrays(what: Any) -> Any:
    """A function of CUDA's, or all those of a module or backend, for arrays of NumPy's, which they
    see as CuPy's in the same memory."""
    return _OnArrays(what) if not callable(what) else _on_arrays(what)


def _on_arrays(function: Callable) -> Callable:
    return lambda *arguments: host(function(*device(arguments)))


class _OnArrays:
    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return _on_arrays(found) if callable(found) else found
