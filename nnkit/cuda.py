"""What programs ask before they use a GPU, as ``torch.cuda``."""

from __future__ import annotations

from typing import Any

from nnkit.backend.device import device

__all__ = [
    "device_count",
    "empty_cache",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "synchronize",
]


def _backend(place: Any = "cuda") -> Any:
    """The backend of the GPUs, None where there is none."""
    try:
        return device(place).backend
    except RuntimeError:
        return None


def is_available() -> bool:
    """Whether tensors can live on an NVIDIA GPU; never raises.

    Example:
        >>> import nnkit
        >>> place = nnkit.device("cuda" if nnkit.cuda.is_available() else "cpu")
    """
    return device_count() > 0


def device_count() -> int:
    """How many NVIDIA GPUs tensors can live on."""
    B = _backend()
    return B.device_count() if B else 0


def synchronize(device: Any = None) -> None:
    """Wait until a GPU, the current one unless given, has done what it was told to.

    Raises:
        AssertionError: there is no GPU, as in a torch built without CUDA.
    """
    B = _backend("cuda" if device is None else device)
    if B is None:
        raise AssertionError("synchronize(): nnkit has no CUDA backend in this installation")
    B.synchronize()


def empty_cache() -> None:
    """Give the GPU memory that is kept for reuse back to the system; without a GPU nothing."""
    B = _backend()
    if B:
        B.empty_cache()


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator with ``int(seed)``; without a GPU nothing happens."""
    seed = int(seed)
    B = _backend()
    if B:
        B.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs with ``int(seed)``; without a GPU nothing happens."""
    manual_seed(seed)
