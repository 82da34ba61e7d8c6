"""`FloatTensor`, `LongTensor`, ...: the classes that early programs make tensors with."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.ops.creation.conversion import TYPE_NAMES
from nnkit.autograd.ops.exchange import interchange
from nnkit.autograd.tensor import Tensor
from nnkit.backend.device import cpu
from nnkit.backend.dtype import DTYPES


class TensorType(type):
    """The class of these classes: the Tensors of one dtype are their instances.

    Example:
        >>> import nnkit
        >>> nnkit.LongTensor([1, 2])
        tensor([1, 2])
        >>> nnkit.FloatTensor(2, 3).shape
        nnkit.Size([2, 3])
        >>> isinstance(nnkit.ones(2), nnkit.FloatTensor)
        True
    """

    dtype: Any

    def __new__(cls, name: str, bases: tuple, members: dict[str, Any]) -> TensorType:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(cls, name, bases, members)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __call__(cls, *arguments: Any, device: Any = None) -> Tensor:
        if arguments and isinstance(arguments[0], Tensor) and not isinstance(arguments[0], cls):
            raise TypeError(f"{cls.__name__}(): expected {cls.dtype}, got {arguments[0].dtype}")
        interchange.check_kind(device, cpu)
        return interchange._legacy(cls.__name__, Tensor, arguments, cpu, cls.dtype)


for _dtype, _name in TYPE_NAMES.items():
    if not DTYPES[_dtype].is_complex:
        _members = {"dtype": DTYPES[_dtype], "__module__": "nnkit"}
        PUBLIC[_name] = TensorType(_name, (), _members)
