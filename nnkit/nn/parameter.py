"""Tensors that a module registers: parameters and buffers, also before their shape is known."""

from __future__ import annotations

import functools
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.overriding import refuse
from nnkit.autograd.ops.creation.factories import empty
from nnkit.autograd.tensor import wrap

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _ParameterMeta(type(Tensor)):
    """Makes ``isinstance(x, Parameter)`` true for parameters of other subclasses of Tensor, which
    keep their class and have the mark ``_is_param``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return (
            cls is Parameter
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a Module registers as a parameter when it is assigned as an attribute.

    Args:
        data: a tensor, whose memory is shared; an empty tensor if not given. The parameter of a
            subclass of Tensor keeps that class; ``isinstance(x, Parameter)`` holds nevertheless.
        requires_grad: whether backward accumulates into ``grad``.

    Raises:
        AttributeError: ``data`` is not a tensor.
        RuntimeError: ``requires_grad`` for a dtype that is neither floating point nor complex, or
            ``detach`` of a subclass returns another class.

    Example:
        >>> import nnkit
        >>> nnkit.nn.Parameter(nnkit.ones(2))
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = refuse
    _is_param = True  # also set on instances of other classes that are parameters

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise AttributeError(f"Parameter: data must be a Tensor, got {type(data).__name__}")
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        tensor = data.detach().requires_grad_(requires_grad)
        if type(tensor) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires "
                "that detach() returns an instance of the same type, but return type "
                f"{type(tensor).__name__} was found instead."
            )
        tensor.__dict__["_is_param"] = True
        return tensor

    def __copy__(self) -> Parameter:
        rebuild, arguments = self.__reduce_ex__(None)
        return rebuild(*arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.data, self.requires_grad, dict(self.__dict__))


def _rebuild(cls: type, data: Tensor, requires_grad: bool, state: dict[str, Any]) -> Any:
    tensor = cls(data, requires_grad)
    tensor.__dict__.update(state)
    return tensor


class _BufferMeta(type(Tensor)):
    """Makes ``isinstance(x, Buffer)`` true for tensors with the mark ``_is_buffer``: a buffer keeps
    the class of its data."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return (
            cls is Buffer
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_buffer", False)
        )


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a Module registers as a buffer when it is assigned as an attribute.

    Args:
        data: a tensor, whose memory is shared; an empty tensor if not given.
        persistent: whether ``state_dict`` includes it.

    Raises:
        AttributeError: ``data`` is not a tensor.

    Example:
        >>> import nnkit
        >>> module = nnkit.nn.Module()
        >>> module.mean = nnkit.nn.Buffer(nnkit.zeros(2))
        >>> [name for name, _ in module.named_buffers()]
        ['mean']
    """

    persistent: bool
    __torch_function__ = refuse

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise AttributeError(f"Buffer: data must be a Tensor, got {type(data).__name__}")
        tensor = data.detach()._set_requires_grad(data.requires_grad)
        tensor.__dict__.update(persistent=persistent, _is_buffer=True)
        return tensor


_KNOWN_BEFORE_SHAPE = frozenset(
    {"cls_to_become", "data", "device", "dtype", "grad", "grad_fn", "is_cpu", "is_cuda", "is_leaf"}
    | {"is_meta", "layout", "materialize", "persistent", "requires_grad", "share_memory_"}
)
# Answered by an empty tensor of the same dtype and device.
_SAID_BEFORE_SHAPE = frozenset(
    {"get_device", "is_complex", "is_floating_point", "is_sparse", "ndim", "size"}
)
_CONVERSIONS = frozenset(
    {"char", "cpu", "cuda", "double", "float", "half", "int", "long", "short", "to"}
)


class UninitializedTensorMixin:
    """A registered tensor whose shape is inferred from the first batch (see LazyModuleMixin).

    Until `materialize` gives it a shape and its final class, only its dtype, device and
    ``requires_grad`` are known, and it can be cast and moved; everything else raises.

    Raises:
        RuntimeError: ``shape`` or ``share_memory_`` is used before there is a shape.
        ValueError: anything else is used before there is a shape.
    """

    __slots__ = ()
    cls_to_become: type
    device: Any

    def __getattribute__(self, name: str) -> Any:
        # Operations read `_array`. Other private attributes, and those that a subclass adds, do
        # not depend on the values.
        if name in _KNOWN_BEFORE_SHAPE or (name[0] == "_" and name != "_array"):
            return super().__getattribute__(name)
        if not hasattr(Tensor, name):
            return super().__getattribute__(name)
        if name in _SAID_BEFORE_SHAPE:
            return getattr(_without_guard(self), name)
        if name in _CONVERSIONS:
            return functools.partial(_converted, self, name)
        kind = type(self).__name__
        if name == "shape":
            raise RuntimeError(
                "Can't access the shape of an uninitialized parameter or buffer: call `forward` of "
                f"its lazy module first, which gives a shape to {kind}"
            )
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name}: call `forward` of its lazy "
            f"module first, which gives a shape to {kind}"
        )

    @property
    def data(self) -> Tensor:
        """An empty tensor with the dtype and the device that the values will have."""
        return _without_guard(self).data

    @data.setter
    def data(self, new: Tensor) -> None:
        Tensor.data.__set__(self, new)  # pyright: ignore[reportArgumentType]

    @property
    def dtype(self) -> Any:
        """The type that the elements will have."""
        return _without_guard(self).dtype

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor a shape, uninitialised memory and its final class."""
        device = self.device if device is None else device
        dtype = self.dtype if dtype is None else dtype
        self.data = empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    def share_memory_(self) -> UninitializedTensorMixin:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer: call `forward` of its "
            f"lazy module first, which gives a shape to {type(self).__name__}"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_uninitialized, (
            type(self),
            self.requires_grad,  # pyright: ignore[reportAttributeAccessIssue]
            self.device,
            self.dtype,
        )

    def __copy__(self) -> Any:
        return self.__deepcopy__({})  # there is no memory to share

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            rebuild, arguments = self.__reduce_ex__(None)
            memo[id(self)] = rebuild(*arguments)
        return memo[id(self)]


def _without_guard(tensor: Any) -> Tensor:
    return wrap(object.__getattribute__(tensor, "_array"), tensor.device)


def _converted(tensor: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """The result of casting or moving a tensor without a shape: as in torch, that of a buffer is a
    buffer without a shape, that of a parameter an empty tensor."""
    plain = _without_guard(tensor)
    moved = getattr(plain, method)(*args, **kwargs)
    if moved is plain:
        return tensor
    if not isinstance(tensor, Parameter):
        moved.__class__ = type(tensor)
    return moved


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape is inferred at the first forward.

    Example:
        >>> import nnkit
        >>> weight = nnkit.nn.UninitializedParameter()
        >>> weight
        <UninitializedParameter>
        >>> weight.materialize((2, 3))
        >>> weight.shape
        nnkit.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        tensor = Parameter(empty(0, device=device, dtype=dtype), requires_grad)
        tensor.__class__ = cls
        return tensor


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is inferred at the first forward.

    Example:
        >>> import nnkit
        >>> nnkit.nn.UninitializedBuffer(dtype=nnkit.float64)
        <UninitializedBuffer>
    """

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        data = empty(0, device=device, dtype=dtype, requires_grad=requires_grad)
        tensor = Buffer(data, persistent=persistent)
        tensor.__class__ = cls
        return tensor


def _rebuild_uninitialized(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    return cls(requires_grad, device, dtype)


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet.

    Example:
        >>> import nnkit
        >>> nnkit.nn.parameter.is_lazy(nnkit.nn.UninitializedParameter())
        True
    """
    return isinstance(param, UninitializedTensorMixin)
