"""Programs: what a driver launches for arguments of certain layouts, found out once.

A driver looks at shapes, strides, dtypes and alignment, makes arrays and launches kernels; for the
next arguments that lie so, only addresses and numbers differ. So it is run once on outlines, arrays
without memory, while a planner in the GPU's place writes down what it makes and launches. The
compiled `Planned` (compiled/planned.cpp) runs that from then on. A driver that asks an outline for
more than its layout gets an error: there is then no program for these arguments, and the driver
itself serves them.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nnkit.backend.cuda import blas, compiled
from nnkit.backend.cuda.differences import address
from nnkit.backend.cuda.launch import VECTOR_BYTES
from nnkit.backend.cuda.source import allow_shared, current_machine, planned_by

# Primitives whose drivers look at the layouts of their arguments alone, and launch nothing but our
# kernels and cuBLAS' products; formulas and updates are others.
PLANNED = frozenset(
    "cast copy copy_ sum mean prod var_mean var std amax amin argmax argmin max min"
    " all any logsumexp norm sum_to softmax softmax_grad log_softmax log_softmax_grad"
    " cross_entropy cross_entropy_grad nll_loss nll_loss_grad matmul mm mv bmm dot vdot linear"
    " linear_grad_weight addmm baddbmm standardize standardize_grad update_running_ embedding"
    " bag_max cumsum cumprod logcumsumexp cummax cummin".split()
)

ROOM = 48  # bits of an outline's address: no real one is as large as the first
NOT_PLANNED = (ArithmeticError, AttributeError, LookupError, NotImplementedError, RuntimeError,
               TypeError, ValueError)  # fmt: skip


class Place:
    """An address, as CuPy's ``MemoryPointer``."""

    __slots__ = ("ptr",)

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class Outline:
    """The layout of an array, at an address where nothing is."""

    __slots__ = ("data", "view")
    __array_ufunc__ = None

    def __init__(self, shape: tuple, dtype: np.dtype) -> None:
        _thread.tape.make(self, tuple(shape), dtype)

    def place(self, view: np.ndarray, start: int) -> Outline:
        """The layout of ``view``, whose memory would begin at ``start``."""
        self.view = view
        self.data = Place(start)
        return self

    def _seen_as(self, view: np.ndarray) -> Outline:
        moved = view.__array_interface__["data"][0] - self.view.__array_interface__["data"][0]
        return Outline.__new__(Outline).place(view, self.data.ptr + moved)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an outline has no elements")

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise TypeError(f"an outline has no elements for {function}")

    shape = property(lambda self: self.view.shape)
    strides = property(lambda self: self.view.strides)
    dtype = property(lambda self: self.view.dtype)
    itemsize = property(lambda self: self.view.itemsize)
    ndim = property(lambda self: self.view.ndim)
    size = property(lambda self: self.view.size)
    nbytes = property(lambda self: self.view.nbytes)
    flags = property(lambda self: self.view.flags)
    T = property(lambda self: self._seen_as(self.view.T))

    def transpose(self, *axes: Any) -> Outline:
        return self._seen_as(self.view.transpose(*axes))

    def swapaxes(self, first: int, second: int) -> Outline:
        return self._seen_as(self.view.swapaxes(first, second))

    def reshape(self, *shape: Any) -> Outline:
        if not self.view.flags.c_contiguous:
            raise ValueError("an outline has no elements to copy")
        return self._seen_as(self.view.reshape(*shape))

    def __getitem__(self, index: Any) -> Outline:
        indices = index if isinstance(index, tuple) else (index,)
        numbers = sum(isinstance(i, int) for i in indices)
        parts = sum(i is None or isinstance(i, slice) for i in indices)
        if numbers + parts < len(indices) or numbers >= max(self.ndim, 1):
            raise TypeError("an outline has no elements")
        return self._seen_as(self.view[index])


def _layout_only(shape: tuple, strides: tuple, dtype: np.dtype) -> np.ndarray:
    """An array that must not be read."""
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)


class Tape:
    """The allocations and launches of one run of a driver."""

    def __init__(self, arguments: tuple, varies: bool) -> None:
        self.varies = varies
        self.inputs: list[Outline] = []
        self.made: list[Outline] = []
        self.used: dict[int, Outline] = {}  # of them, in the order in which they are first used
        self.steps: list[tuple] = []
        self.kept: list[Any] = []  # what the program knows by its address alone
        self.arguments = tuple([self._outline(a) for a in arguments])

    def _outline(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([self._outline(v) for v in value])
        if not hasattr(value, "__cuda_array_interface__"):
            self.kept.append(value)
            return value
        self.kept.append(value.dtype)
        view = _layout_only(value.shape, value.strides, value.dtype)
        start = (len(self.inputs) + 1 << ROOM) + address(value) % VECTOR_BYTES
        outline = Outline.__new__(Outline).place(view, start)
        self.inputs.append(outline)
        return outline

    def make(self, outline: Outline, shape: tuple, dtype: np.dtype) -> None:
        steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
        # Where nothing is, CuPy and NumPy have no steps either.
        strides = tuple([0 if 0 in shape else n * dtype.itemsize for n in steps])
        view = _layout_only(shape, strides, dtype)
        self.made.append(outline.place(view, -(len(self.made) + 1) << ROOM))

    def source_of(self, place: int) -> tuple[int, int]:
        """The number of the array that an address lies in (from -1 down one that was made), and the
        offset in it."""
        number = place + (1 << ROOM - 1) >> ROOM
        if number > 0:
            return number - 1, place - self.inputs[number - 1].data.ptr
        self.used.setdefault(number, self.made[-1 - number])
        return -1 - list(self.used).index(number), place - (number << ROOM)

    def write(
        self, function: Any, grid: tuple, block: tuple, arguments: tuple, shared: int
    ) -> None:
        """Write down a launch: a template of its parameters, and where in it addresses and numbers
        of the call belong."""
        content = bytearray()
        starts: list[int] = []
        addresses: list[tuple[int, int, int]] = []
        numbers: list[tuple[int, int, bool]] = []
        for argument in arguments:
            content += bytes(-len(content) % VECTOR_BYTES)
            start = len(content)
            starts.append(start)
            if isinstance(argument, Outline):
                addresses.append((start, *self.source_of(argument.data.ptr)))
                content += bytes(8)
            elif isinstance(argument, ctypes.Structure):
                content += bytes(argument)
                addresses += self._addresses_in(argument, start)
                numbers += self._numbers_in(argument, start)
            elif argument is None:
                content += bytes(8)
            elif isinstance(argument, np.generic):
                content += argument.tobytes()
            else:
                raise TypeError(f"no argument of a kernel: {argument!r}")
        shape = (*grid, 1, 1)[:3] + (*block, 1, 1)[:3]
        launch = (
            function.kernel.ptr, shape, shared, bytes(content), tuple(starts), tuple(addresses),
            tuple(numbers),
        )  # fmt: skip
        self.kept.append(function)
        self.steps.append((False, launch))

    def _addresses_in(self, argument: Any, start: int) -> list[tuple[int, int, int]]:
        found = []
        for name in getattr(argument, "addresses", ()):
            field = getattr(type(argument), name)
            for at in range(field.offset, field.offset + field.size, 8):
                place = ctypes.c_int64.from_buffer(argument, at).value
                if place:
                    found.append((start + at, *self.source_of(place)))
        return found

    def _numbers_in(self, argument: Any, start: int) -> list[tuple[int, int, bool]]:
        if not self.varies:
            return []
        return [
            (start + getattr(type(argument), name).offset, position, kind is ctypes.c_int64)
            for position, (name, kind) in zip(
                getattr(argument, "positions", ()), argument._fields_, strict=False
            )
        ]

    def multiply(self, call: Any) -> None:
        """Write down a product (`blas.Call`)."""
        matrices = [
            (*self.source_of(address(array)), kind, step, stride)
            for array, kind, step, stride in (call.left, call.right, call.out)
        ]
        pointer = ctypes.cast(call.function, ctypes.c_void_p).value
        factors = call.factors[0].tobytes()
        how = (call.batch, *call.how)
        product = (pointer, call.batch != 1, call.shape, factors, *matrices, how)
        self.steps.append((True, product))

    def description(self, result: Any, array: Callable[..., Any]) -> tuple:
        """The program, as compiled/planned.cpp reads it; ``array`` makes one of no memory."""
        several = isinstance(result, tuple)
        values = result if several else (result,)
        sources = tuple([self.result_of(v) for v in values])
        made: list[Any] = [(m.nbytes, None) for m in self.used.values()]
        for value, source in zip(values, sources, strict=True):
            if source is None or source >= 0:
                continue
            if made[-1 - source][1] is not None:
                raise ValueError("two results on one memory")
            prototype = array(value.shape, value.dtype, value.strides)
            made[-1 - source] = value.nbytes, prototype
        return tuple(made), tuple(self.steps), sources, several

    def result_of(self, value: Any) -> int | None:
        """The number of the array that a result is.

        Raises:
            ValueError: it is only a part of one, or a view of an argument.
        """
        if value is None:
            return None
        source, offset = self.source_of(address(value))
        if source >= 0:
            if value is not self.inputs[source]:
                raise ValueError("a view of an argument")
        elif offset or value.nbytes != list(self.used.values())[-1 - source].nbytes:
            raise ValueError("a part of an array")
        return source


class Planner:
    """Stands for a GPU while a driver is planned for it."""

    def __init__(self, gpu: Any) -> None:
        self.gpu = gpu
        self.index = gpu.index
        self.processors = gpu.processors
        self.capability = gpu.capability
        self.parameter_bytes = gpu.parameter_bytes
        self.host_memory = gpu.host_memory

    def load(self, kernel: Any) -> Callable[..., None]:
        function = self.gpu.function(kernel)

        def write(grid: tuple, block: tuple, arguments: tuple, shared: int) -> None:
            allow_shared(function, shared)
            _thread.tape.write(function, grid, block, arguments, shared)

        return write

    def gemm(self, *arguments: Any) -> None:
        _thread.tape.multiply(blas.Call.of(*arguments))


class _Thread(threading.local):
    tape: Any = None


_thread = _Thread()
_planners: dict[Any, Planner] = {}


def program_for(varies: bool, driver: Callable, arguments: tuple) -> tuple[tuple, tuple] | None:
    """The program of a driver for arguments that lie as these do, and what must live as long.

    Args:
        varies: numbers among the arguments are filled in anew at each call.
    """
    gpu = current_machine()
    planner = _planners.get(gpu) or _planners.setdefault(gpu, Planner(gpu))
    tape = Tape(arguments, varies)
    before, _thread.tape = _thread.tape, tape
    try:
        with planned_by(planner):
            result = driver(*tape.arguments)
        return tape.description(result, gpu.layout_only), tuple(tape.kept)
    except NOT_PLANNED:
        return None
    finally:
        _thread.tape = before


def connect(cupy: Any) -> bool:
    """Whether programs can be run here."""
    return compiled.connect(cupy, _failed, blas.handle)


def _failed(is_product: bool, status: int) -> None:
    """Raise what NVIDIA's library says."""
    if is_product:
        blas.check(status)
    from cupy_backends.cuda.api import driver

    raise driver.CUDADriverError(status)


def planned(
    name: str, twin: Callable, index: int, several: bool, numbers: tuple[int, int]
) -> Callable:
    """A primitive of the GPU ``index`` that runs programs, if it is one of those; after `connect`.

    Args:
        several: whether another GPU may be current.
        numbers: the arguments from the first to (without) the second are numbers that vary.
    """
    varies = numbers != (0, 0)
    if not varies and name not in PLANNED:
        return twin
    return compiled.bind(name, twin, partial(program_for, varies), index, several, numbers)
