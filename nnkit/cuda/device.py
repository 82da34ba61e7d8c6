"""The GPUs that there are, and the current one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nnkit.backend.device import device as Device
from nnkit.backend.errors import NoCUDAError


def runtime(made: str = "") -> Any:
    """The backend's side of this package, to make an instance of the class called ``made``.

    Raises:
        NoCUDAError: there is no GPU to compute on.
    """
    from nnkit.backend.cuda import runtime as found

    problem = found.problem()
    if problem is not None:
        raise NoCUDAError(
            f"Tried to instantiate dummy base class {made}: torch.cuda.{made} requires CUDA "
            f"support: {problem}"
            if made
            else f"nnkit has no CUDA backend: {problem}"
        )
    return found


def index_of(place: Any, name: str) -> int:
    """The number of a GPU given as its number, its name or a device; the current one for None.

    Raises:
        ValueError: it is no CUDA device.
        NoCUDAError: there is no GPU.
    """
    if isinstance(place, int) and not isinstance(place, bool):
        return place if place >= 0 else runtime().current_device()
    if place is None:
        return runtime().current_device()
    found = Device(place)
    if found.type != "cuda":
        raise ValueError(f"{name}(): expected a cuda device, but got {found}")
    return runtime().current_device() if found.index is None else found.index


def is_available() -> bool:
    """Whether tensors can live on an NVIDIA GPU; never raises.

    Example:
        >>> import nnkit
        >>> place = nnkit.device("cuda" if nnkit.cuda.is_available() else "cpu")
    """
    return device_count() > 0


def device_count() -> int:
    """The number of NVIDIA GPUs that tensors can live on; 0 without CuPy or a driver."""
    from nnkit.backend.cuda.runtime import device_count as count

    return count()


def is_initialized() -> bool:
    """Whether a GPU was used yet; here whenever there is one."""
    return is_available()


def current_device() -> int:
    """The number of the GPU that ``"cuda"`` stands for.

    Raises:
        NoCUDAError: there is no GPU.
    """
    return runtime().current_device()


def set_device(device: Any) -> None:
    """Make a GPU the one that ``"cuda"`` stands for, in this thread.

    Raises:
        NoCUDAError: there is no GPU.
        RuntimeError: there is none with this number.
    """
    index = index_of(device, "set_device")
    runtime().connect(index)
    runtime().require().cuda.Device(index).use()


class device:
    """Within it ``"cuda"`` stands for another GPU: ``with nnkit.cuda.device(1): ...``.

    Raises:
        NoCUDAError: there is no GPU.
    """

    def __init__(self, device: Any) -> None:
        self.idx = index_of(device, "device")
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = runtime().current_device()
        set_device(self.idx)

    def __exit__(self, *error: Any) -> None:
        set_device(self.prev_idx)


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """Name, memory, multiprocessors and compute capability of a GPU.

    Raises:
        NoCUDAError: there is no GPU.
    """
    index = index_of(device, "get_device_properties")
    found = runtime().properties(index)
    name = found["name"]
    return SimpleNamespace(
        name=name.decode() if isinstance(name, bytes) else name,
        major=found["major"],
        minor=found["minor"],
        total_memory=found["totalGlobalMem"],
        multi_processor_count=found["multiProcessorCount"],
        warp_size=found["warpSize"],
        max_threads_per_multi_processor=found["maxThreadsPerMultiProcessor"],
        shared_memory_per_block=found["sharedMemPerBlock"],
        L2_cache_size=found["l2CacheSize"],
    )


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, such as (9, 0)."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether tensors may be bfloat16: on every GPU; in hardware from compute capability 8 on."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def synchronize(device: Any = None) -> None:
    """Wait until a GPU, the current one unless given, has done all work given to it, and raise what
    its kernels found wrong (an index out of range, ...).

    Raises:
        NoCUDAError: there is no GPU.
        IndexError: a kernel met a wrong index.
    """
    index = index_of(device, "synchronize")
    runtime().synchronize(index)
