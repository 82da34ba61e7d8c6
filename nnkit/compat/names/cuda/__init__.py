"""torch.cuda: older names of functions about memory, older classes, and initialization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nnkit
from nnkit import cuda
from nnkit.backend.cuda.runtime import UNBUILT
from nnkit.backend.warning import warn
from nnkit.compat.passing import false, nothing

init = _lazy_init = ipc_collect = nothing  # a GPU is started by what is first done on it
_is_in_bad_fork = is_tf32_supported = false
_initialized = cuda.is_available()


has_half, has_magma = True, False


def _lazy_call(callable: Callable[[], Any], **options: Any) -> None:
    """Call a function if there are GPUs."""
    if cuda.is_available():
        callable()


def get_arch_list() -> list[str]:
    """An empty list: kernels are compiled for an architecture when they are needed."""
    return []


def memory_cached(device: Any = None) -> int:
    """`memory_reserved`."""
    return _renamed("memory_cached", "memory_reserved", device)


def max_memory_cached(device: Any = None) -> int:
    """`max_memory_reserved`."""
    return _renamed("max_memory_cached", "max_memory_reserved", device)


def reset_max_memory_allocated(device: Any = None) -> None:
    """`reset_peak_memory_stats`."""
    _renamed("reset_max_memory_allocated", "reset_peak_memory_stats", device)


def reset_max_memory_cached(device: Any = None) -> None:
    """`reset_peak_memory_stats`."""
    _renamed("reset_max_memory_cached", "reset_peak_memory_stats", device)


def _renamed(old: str, new: str, device: Any) -> Any:
    warn(f"torch.cuda.{old} is now torch.cuda.{new}", FutureWarning)
    return getattr(cuda, new)(device)


class _OnCUDA(type):
    """The class of the older classes: tensors on GPUs, of one dtype, are their instances."""

    dtype: Any

    def __call__(cls, *arguments: Any) -> Any:
        check_is_built(f"torch.cuda.{cls.__name__}")
        first = arguments[0] if arguments else None
        if isinstance(first, nnkit.Tensor) and not isinstance(first, cls):
            raise TypeError(f"{cls.__name__}(): expected {cls.dtype} on a GPU, got {first.dtype}")
        on_cpu = getattr(nnkit, cls.__name__)
        return first if isinstance(first, cls) else on_cpu(*arguments).cuda()

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, nnkit.Tensor) and value.is_cuda and value.dtype is cls.dtype


def check_is_built(kind: str) -> None:
    """TypeError for the name of a class of tensors on GPUs if there are none."""
    if not cuda.is_available():
        raise TypeError(f"type {kind} not available. {UNBUILT}.")


def _class(name: str, dtype: Any) -> Any:
    return _OnCUDA(name, (), {"__module__": "torch.cuda", "dtype": dtype})


BFloat16Tensor = _class("BFloat16Tensor", nnkit.bfloat16)
BoolTensor = _class("BoolTensor", nnkit.bool)
ByteTensor = _class("ByteTensor", nnkit.uint8)
CharTensor = _class("CharTensor", nnkit.int8)
DoubleTensor = _class("DoubleTensor", nnkit.float64)
FloatTensor = _class("FloatTensor", nnkit.float32)
HalfTensor = _class("HalfTensor", nnkit.float16)
IntTensor = _class("IntTensor", nnkit.int32)
LongTensor = _class("LongTensor", nnkit.int64)
ShortTensor = _class("ShortTensor", nnkit.int16)
