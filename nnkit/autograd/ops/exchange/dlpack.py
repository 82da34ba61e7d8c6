"""DLPack, the protocol by which array libraries pass memory to each other."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.op.public import attach, public
from nnkit.autograd.surface.metadata import check_has_memory, is_conj
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.device import cpu
from nnkit.backend.device import device as device_type
from nnkit.backend.memory import strided

_ON_CUDA = (2, 13)  # kinds of memory in DLPack's numbers: a GPU's, and managed


class _Capsule:
    """A bare capsule in the dress of an array of the CPU, as NumPy wants it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def is_capsule(value: Any) -> bool:
    """Whether a value is a bare capsule, as DLPack passes memory on."""
    return type(value).__name__ == "PyCapsule"


@public(method=False)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, by the DLPack protocol.

    Args:
        ext_tensor: what speaks that protocol, or a capsule of the CPU's memory.
        device: where the tensor is to be, unless given where the array is.
        copy: whether it gets memory of its own; without True or False only if it must.

    Raises:
        RuntimeError: it is neither.
        AssertionError: ``device`` is no device.
        BufferError: it cannot be on ``device`` without the copy that ``copy=False`` forbids.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0])
        >>> nnkit.from_dlpack(x)
        tensor([1., 2.])
    """
    if is_capsule(ext_tensor):
        if '"dltensor' not in repr(ext_tensor):
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
                "consumed only once, so you might have already constructed a tensor from it once."
            )
        ext_tensor = _Capsule(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(
            "from_dlpack(): argument 'ext_tensor' must be an array with the method __dlpack__, or "
            f"a capsule, got {type(ext_tensor).__name__}"
        )
    kind, index = ext_tensor.__dlpack_device__()
    place = device_type("cuda", index) if kind in _ON_CUDA else cpu
    wanted = place if device is None else device
    if isinstance(wanted, str):
        wanted = device_type(wanted)
    if not isinstance(wanted, device_type):
        raise AssertionError(
            f"from_dlpack(): argument 'device' must be a device, not {type(device).__name__}"
        )
    if wanted.type != place.type and copy is False:
        raise BufferError(f"from_dlpack(): without a copy an array on {place} is not on {wanted}")
    return wrap(place.backend.from_dlpack(ext_tensor), place).to(wanted, copy=bool(copy))


def _dlpack(self: Tensor, **options: Any) -> Any:
    """The memory as a DLPack capsule.

    Raises:
        BufferError: the tensor has a history, is sparse, or a conjugate that was not computed.
        TypeError: ``stream`` is no integer; AssertionError: it is one, and this is on the CPU.
    """
    check_has_memory("__dlpack__", self)
    stream = options.get("stream")
    if stream is not None and type(stream) is not int:
        raise TypeError(f"__dlpack__(): stream must be int or None, got {type(stream).__name__}")
    if self.is_cpu:
        if stream not in (None, -1):
            raise AssertionError(f"__dlpack__(): stream should be None on the CPU, got {stream}")
        options.pop("stream", None)
    if self.layout is not strided:
        raise BufferError(f"can't export tensors of layout {self.layout}, use tensor.to_dense()")
    if self.requires_grad:
        raise BufferError("can't export tensors that require gradient, use tensor.detach()")
    if is_conj(self):
        raise BufferError("can't export tensors with the conjugate bit set, use x.resolve_conj()")
    return self._device.backend.to_dlpack(self._array, options)


def _dlpack_device(self: Tensor) -> tuple:
    """DLPack's type and number of the device."""
    return self._device.backend.dlpack_device(self._array)


attach("__dlpack__", _dlpack)
attach("__dlpack_device__", _dlpack_device)
