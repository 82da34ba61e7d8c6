"""Process-wide switches in torch's top-level namespace, streams, and classes of errors."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit.amp.state import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
)
from nnkit.autograd.anomaly import set_detect_anomaly
from nnkit.backend import warning
from nnkit.compat.names import cuda
from nnkit.compat.names.storage import StorageBase as StorageBase
from nnkit.compat.passing import false

__all__ = [
    "_nnpack_available",
    "AcceleratorError", "Event", "OutOfMemoryError", "StorageBase", "Stream",
    "autocast_decrement_nesting", "autocast_increment_nesting", "classproperty",
    "clear_autocast_cache", "compiled_with_cxx11_abi", "fork", "get_device_module",
    "get_file_path", "get_num_interop_threads", "has_lapack", "has_mkl", "has_openmp",
    "has_spectral", "is_distributed", "is_vulkan_available", "is_warn_always_enabled",
    "init_num_threads", "set_anomaly_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_gpu_dtype", "set_default_tensor_type",
    "set_flush_denormal", "set_num_interop_threads", "set_warn_always", "wait",
]  # fmt: skip

has_lapack = has_mkl = has_spectral = has_openmp = True
is_vulkan_available = _nnpack_available = false


class AcceleratorError(RuntimeError):
    """An error that a device reports asynchronously."""


class OutOfMemoryError(RuntimeError):
    """A device has no more memory."""


class classproperty:
    """A property of a class."""

    def __init__(self, get: Any) -> None:
        self._get = get

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._get(type(instance) if owner is None else owner)


class Stream:
    """A queue of work on a device; on the CPU all work is done when a call returns."""

    def __init__(self, device: Any = None, *, priority: int = 0, **options: Any) -> None:
        self.device = nnkit.device("cpu" if device is None else device)
        self.priority = priority
        self.stream_id = 0

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Do nothing: the work is done."""

    def wait_event(self, event: Any) -> None:
        """Do nothing: the work is done."""

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: the work is done."""

    def record_event(self, event: Event | None = None) -> Event:
        return event or Event(self.device)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass


class Event:
    """A mark in a queue of work; on the CPU it is reached as soon as it is made."""

    def __init__(self, device: Any = None, **options: Any) -> None:
        self.device = nnkit.device("cpu" if device is None else device)

    def record(self, stream: Any = None) -> None:
        """Do nothing: the work is done."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing: the work is done."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Do nothing: the work is done."""


_threads = {"interop": 1}


def get_num_interop_threads() -> int:
    """The number of operations that may run at once, as it was set; only one does."""
    return _threads["interop"]


def set_num_interop_threads(interop_threads: int) -> None:
    """Keep the number for `get_num_interop_threads`."""
    if interop_threads < 1:
        raise RuntimeError("Expected positive number of threads")
    if interop_threads >= 2**63:
        raise ValueError("Overflow when unpacking long long")
    _threads["interop"] = interop_threads


def init_num_threads() -> None:
    """Do nothing: threads start with the first work."""


def set_warn_always(b: bool) -> None:
    """Choose whether warnings that are given once in a process are given each time."""
    warning.ALWAYS = bool(b)


def is_warn_always_enabled() -> bool:
    return warning.ALWAYS


def set_flush_denormal(mode: bool) -> bool:
    """Do nothing and return False: denormal numbers are never flushed."""
    return False


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    set_detect_anomaly(enabled, check_nan)


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by the name of a class, such as ``torch.DoubleTensor``, and the GPU as
    the default device by ``torch.cuda.DoubleTensor``."""
    name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
    if name.startswith("torch.cuda."):
        cuda.check_is_built(name)
    kinds = {"Half": "float16", "Float": "float32", "Double": "float64", "BFloat16": "bfloat16"}
    kind = kinds.get(name.rpartition(".")[2].removesuffix("Tensor"))
    if kind is None:
        raise TypeError(f"only floating-point types are supported as the default type, got {name}")
    warning.warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    nnkit.set_default_dtype(getattr(nnkit, kind))
    if name.startswith("torch.cuda."):
        nnkit.set_default_device("cuda")


def is_distributed(input: Any) -> bool:
    return False


def compiled_with_cxx11_abi() -> bool:
    return True


def get_file_path(*path_components: str) -> str:
    """A path below torch's folder, here nnkit's."""
    import os

    return os.path.join(os.path.dirname(nnkit.__file__), *path_components)


def get_device_module(device: Any = None) -> Any:
    """`cuda` or `cpu`, by a device."""
    return getattr(nnkit, nnkit.device("cpu" if device is None else device).type)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    nnkit.set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: Any) -> None:
    nnkit.set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    nnkit.set_autocast_dtype("cuda", dtype)


def fork(func: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a function as a future that is done: it is called at once."""
    from nnkit.futures import Future

    future: Any = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """The value of a future."""
    return future.wait()
