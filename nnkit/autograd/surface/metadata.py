"""Properties of a tensor that do not depend on its values: sizes, strides, memory."""

from __future__ import annotations

import numbers
import weakref
from collections.abc import Iterator
from typing import Any

from nnkit.autograd.arguments.annotations import held
from nnkit.autograd.arguments.dims import normalize_dim
from nnkit.autograd.engine.leaves import GRAD_DTYPES, gradient_dtype
from nnkit.autograd.op.promotion import promoted_dtype
from nnkit.autograd.op.public import METHODS, PUBLIC, attach, public
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.backend import lazy
from nnkit.backend.dtype import dtype as dtype_type
from nnkit.backend.memory import (
    AXES,
    by_rows,
    is_ordered,
    is_view,
    owner,
    steps_of,
    strided,
    strides_in_elements,
    strides_of,
)


@public(namespace=False)
def size(input: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3).size(1)
        3
    """
    if dim is None:
        return tuple.__new__(Size, input._array.shape)  # without its checks
    return input._array.shape[normalize_dim(dim, input._array.ndim, "size")]


@public(namespace=False, aliases=("ndimension",))
def dim(input: Tensor) -> int:
    """The number of dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3).dim()
        2
    """
    return input._array.ndim


@public
def numel(input: Tensor) -> int:
    """The number of elements.

    Example:
        >>> import nnkit
        >>> nnkit.numel(nnkit.zeros(2, 3))
        6
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"numel(): argument 'input' must be Tensor, not {type(input).__name__}")
    return input._array.size


attach("nelement", METHODS["numel"])


@public(namespace=False)
def stride(input: Tensor, dim: int | None = None) -> Any:
    """The distance in elements between neighbours along each dimension, or along one.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3).stride()
        (3, 1)
    """
    strides = strides_shown(input._array)
    if dim is None:
        return strides
    return strides[normalize_dim(dim, input._array.ndim)]


def strides_shown(data: Any) -> tuple[int, ...]:
    """The strides of an array as torch tells them: of one that is no view those of its shape."""
    is_new = not is_view(data) or not (data.size or any(strides_in_elements(data)))
    return strides_of(data.shape) if is_new and by_rows(data) else steps_of(data)


@public(namespace=False)
def is_contiguous(input: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements lie in memory row by row (or in the given format).

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3).mT.is_contiguous()
        False
    """
    data = input._array
    axes = AXES.get(memory_format)
    if axes is None:
        return by_rows(data)
    if data.ndim != len(axes):
        return False
    if data.size:
        return is_ordered(data, axes)
    strides, expected = stride(input), 1  # torch looks at the strides of no elements, too
    for axis in reversed(axes):
        if data.shape[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= data.shape[axis]
    return True


def check_has_memory(name: str, x: Tensor, error: type[Exception] = RuntimeError) -> None:
    """``error`` for a tensor of a function that is transformed: others hold what it stands for."""
    if x._device.depth and not x._device.by_hand:
        raise error(
            f"{name}(): a tensor inside a function that nnkit.func transforms (vmap, jvp) has no "
            "memory of its own: return it and use the result"
        )


def check_asks_not(name: str, x: Tensor) -> None:
    """An error for a tensor without memory whose class answers for operators."""
    if x._device.asks:
        raise RuntimeError(
            f".{name}() is not supported for tensor subclasses, got {type(x).__name__}, which has "
            "no memory of its own"
        )


@public(namespace=False)
def data_ptr(input: Tensor) -> int:
    """The address of the first element.

    Raises:
        RuntimeError: it is a tensor inside of a function that is transformed.
    """
    check_has_memory("data_ptr", input)
    return input._device.backend.data_pointer(input._array)


@public(namespace=False)
def storage_offset(input: Tensor) -> int:
    """The number of elements in the storage before the tensor's first.

    Example:
        >>> import nnkit
        >>> nnkit.arange(5)[2:].storage_offset()
        2
    """
    return input._device.backend.storage_offset(input._array)


@public(namespace=False)
def element_size(input: Tensor) -> int:
    """Bytes per element.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2).element_size()
        4
    """
    return input.dtype.itemsize


@public
def get_device(input: Tensor) -> int:
    """The index of the GPU it lives on; -1 elsewhere.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2).get_device()
        -1
    """
    return -1 if input._device.index is None else input._device.index


@public
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape.

    Example:
        >>> import nnkit
        >>> nnkit.is_same_size(nnkit.ones(2, 3), nnkit.ones(3, 2))
        False
    """
    return input._array.shape == other._array.shape


@public(namespace=False)
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same window onto the same memory.

    Example:
        >>> import nnkit
        >>> x = nnkit.zeros(2)
        >>> x.is_set_to(x.detach())
        True
    """
    if is_conj(input) or is_neg(input) or is_conj(tensor) or is_neg(tensor):
        return False  # as torch, which looks at what they stand for
    same = owner(input._array) is owner(tensor._array)
    same = same and input.storage_offset() == tensor.storage_offset()
    return same and input.shape == tensor.shape and input.stride() == tensor.stride()


@public
def is_nonzero(input: Tensor) -> bool:
    """Whether a one-element tensor is not zero.

    Raises:
        RuntimeError: it has no or several elements.

    Example:
        >>> import nnkit
        >>> nnkit.is_nonzero(nnkit.tensor([0.0]))
        False
    """
    if input._array.size != 1:
        what = "no values" if not input._array.size else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(input.item())


@public
def is_signed(input: Tensor) -> bool:
    """Whether its dtype has negative numbers.

    Example:
        >>> import nnkit
        >>> nnkit.is_signed(nnkit.tensor([True]))
        False
    """
    return input.dtype.is_signed


@public
def is_floating_point(input: Tensor) -> bool:
    """Whether its dtype is a floating one.

    Example:
        >>> import nnkit
        >>> nnkit.is_floating_point(nnkit.tensor([1]))
        False
    """
    return input.dtype.is_floating_point


@public
def is_complex(input: Tensor) -> bool:
    """Whether its dtype is complex.

    Example:
        >>> import nnkit
        >>> nnkit.is_complex(nnkit.tensor([1j]))
        True
    """
    return input.dtype.is_complex


@public
def is_conj(input: Tensor) -> bool:
    """Whether its conjugation is put off.

    Example:
        >>> import nnkit
        >>> nnkit.is_conj(nnkit.tensor([1j]).conj())
        True
    """
    return lazy.is_conj(input._array)


@public
def is_neg(input: Tensor) -> bool:
    """Whether its negation is put off, as that of the imaginary part of a conjugate is.

    Example:
        >>> import nnkit
        >>> nnkit.is_neg(nnkit.tensor([1j]).conj().imag)
        True
    """
    return lazy.is_neg(input._array)


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a Tensor.

    Example:
        >>> import nnkit
        >>> nnkit.is_tensor([1.0, 2.0])
        False
    """
    return isinstance(obj, Tensor)


PUBLIC["is_tensor"] = is_tensor  # nothing answers for it


@public(namespace=False)
def sparse_dim(input: Tensor) -> int:
    """The number of sparse dimensions: none."""
    return 0


@public(namespace=False)
def dense_dim(input: Tensor) -> int:
    """The number of dense dimensions: all."""
    return input.ndim


for _name in ("detach", "is_inference"):
    PUBLIC[_name] = held(getattr(Tensor, _name), _name, is_method=True)


def _constant(name: str, value: Any, doc: str) -> None:
    def get(self: Tensor) -> Any:
        return value

    get.__doc__ = doc
    setattr(Tensor, name, property(get))


_constant("layout", strided, "Always ``nnkit.strided``.")
_constant("is_sparse", False, "Whether it is stored sparsely; it never is.")
_constant("is_quantized", False, "Whether it is quantized; it never is.")
_constant("is_nested", False, "Whether it is a list of tensors of several sizes; it never is.")
_constant("is_sparse_csr", False, "Whether it is stored by sparse rows; it never is.")
for _name in ("ipu", "maia", "mkldnn", "mps", "mtia", "vulkan", "xla", "xpu"):
    _constant(f"is_{_name}", False, f"Whether it lives on a device of kind {_name}; it never does.")
_constant("name", None, "A name torch once gave to variables.")
_constant("names", None, "Names of dimensions; there are none.")


def _grad_dtype(self: Tensor) -> dtype_type | None:
    """The dtype of the gradient of a leaf, by default its own; None where it may have any.

    Gradients that arrive are cast to it. It can be set before there is one.

    Raises:
        RuntimeError: it is no leaf, has a gradient of another dtype, or is given no dtype.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(2, dtype=nnkit.bfloat16, requires_grad=True)
        >>> x.grad_dtype = nnkit.float32
        >>> x.sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return gradient_dtype(self)


def _set_grad_dtype(self: Tensor, new: dtype_type | None) -> None:
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if new is not None and not isinstance(new, dtype_type):
        raise RuntimeError(f"grad_dtype must be a dtype or None, but got {type(new).__name__}")
    if self._grad is not None and new not in (None, self._grad.dtype):
        raise RuntimeError(
            f"Cannot set grad_dtype to '{new}' because there is already a gradient with dtype "
            f"'{self._grad.dtype}'"
        )
    if id(self) not in GRAD_DTYPES:
        weakref.finalize(self, GRAD_DTYPES.pop, id(self), None)
    GRAD_DTYPES[id(self)] = new


Tensor.grad_dtype = property(_grad_dtype, _set_grad_dtype)  # type: ignore[attr-defined]


def iterate(self: Tensor) -> Iterator[Tensor]:
    """Its slices along the first dimension.

    Raises:
        TypeError: it has no dimension.
    """
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def backwards(self: Tensor) -> Tensor:
    """``reversed(t)``: the first dimension turned round."""
    return self.flip(0) if self.ndim else self


def contains(self: Tensor, element: Any) -> bool:
    """Whether some element equals ``element``."""
    if not isinstance(element, (Tensor, numbers.Number)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    return bool((self == element).any())


def sizeof(self: Tensor) -> int:
    return object.__sizeof__(self) + self.nbytes


def directory(self: Tensor) -> list[str]:
    return sorted({*dir(type(self)), *self.__dict__})


for _name, _function in {
    "__iter__": iterate, "__reversed__": backwards, "__contains__": contains,
    "__sizeof__": sizeof, "__dir__": directory,
}.items():  # fmt: skip
    attach(_name, _function)


@public(method=False)
def can_cast(from_: dtype_type, to: dtype_type) -> bool:
    """Whether a result of dtype ``from_`` may be written into a tensor of dtype ``to``.

    Example:
        >>> import nnkit
        >>> nnkit.can_cast(nnkit.float64, nnkit.float32), nnkit.can_cast(nnkit.float32, nnkit.int64)
        (True, False)
    """
    return from_.category <= to.category


@public(method=False)
def result_type(
    tensor: Any = None, other: Any = None, *, scalar: Any = None, scalar1: Any = None,
    scalar2: Any = None,
) -> dtype_type:  # fmt: skip
    """The dtype of an operation between two tensors or numbers.

    Numbers are also called ``scalar``, beside a tensor, or ``scalar1`` and ``scalar2``.

    Raises:
        TypeError: there are not two.

    Example:
        >>> import nnkit
        >>> nnkit.result_type(nnkit.tensor([1]), 2.5)
        nnkit.float32
    """
    given = [v for v in (tensor, other, scalar, scalar1, scalar2) if v is not None]
    if len(given) != 2:
        raise TypeError(f"result_type(): expected two tensors or numbers, got {len(given)}")
    return promoted_dtype("result_type", *given)
