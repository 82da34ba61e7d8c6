"""New tensors from sizes and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, check_tensor, sizes_of
from nnkit.autograd.arguments.factory import (
    FILLED,
    SIZED,
    check_kind,
    check_layout,
    dtype_of,
    finished,
    is_strided,
    number,
    place_of,
    shape_of,
    unwritten,
)
from nnkit.autograd.arguments.overriding import overridable
from nnkit.autograd.arguments.sizes import check_shape, check_strided, integer
from nnkit.autograd.batch.examples import make_beside
from nnkit.autograd.forward.dual import primal_below
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import attach, known_as, public
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.op.rule import rule
from nnkit.autograd.ops.creation.memory_format import empty_in_order
from nnkit.autograd.ops.creation.ranges import arange, linspace, logspace
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.autograd.surface.limits import finfo, fitting, iinfo
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import FLOATING, float32, float64, of_number
from nnkit.backend.errors import HostMemoryError
from nnkit.backend.memory import axes_of, has_expanded, order_of, preserve_format, steps_of_copy

__all__ = ["arange", "finfo", "iinfo", "linspace", "logspace", "tensor"]

_make_complex = rule(
    "make_complex", node="ComplexBackward0", broadcasts=True, alone="refused",
    also={"real": ("real",), "imag": ("imag",)},
    real=lambda B, g: B.real(g), imag=lambda B, g: B.imag(g),
)  # fmt: skip


# As in torch the modulus counts as the size of the result: of a negative one the sign is wrong.
def _along_polar(primals: tuple, tangents: list, statics: tuple, outputs: tuple) -> Tensor:
    """The tangent of polar coordinates, also at 0, whose direction the angle gives."""
    (modulus, angle), (out,) = primals, outputs
    of_modulus, of_angle = [LIFTED.cast(tangent, out._array.dtype) for tangent in tangents]
    direction = LIFTED.polar(LIFTED.ones_like(modulus), angle)
    turned = LIFTED.mul(LIFTED.mul(out, 1j), of_angle)
    return LIFTED.add(LIFTED.mul(direction, of_modulus), turned)


_polar = rule(
    "polar", broadcasts=True, alone="refused", along=_along_polar,
    abs=lambda B, g, out: B.real(B.mul(B.conj(g), B.sgn(out))),
    angle=lambda B, g, out: B.real(B.mul(B.conj(g), B.mul(out, 1j))),
)  # fmt: skip


def _filled(
    name: str, size: tuple, keyword: Any, value: Any, out: Any, dtype: Any, layout: Any,
    device: Any, requires_grad: bool, facts: Out = FILLED,
) -> Tensor:  # fmt: skip
    """A tensor of the size, filled with a number; None leaves the memory as it is."""
    shape = shape_of(name, size, keyword)
    if out is None and not value and not is_strided(layout):
        d, place = dtype_of(name, dtype), place_of(device)
        return _without_elements(shape, layout, d, place, requires_grad)
    check_kind(name, dtype, layout, device, out)
    d = dtype_of(name, dtype, None if out is None else out.dtype)
    place = place_of(device, out=out)
    B = place.backend
    if value is None:
        data = unwritten(B, B.empty(shape, d.array))
    else:
        data = B.full(shape, value, d.array) if value else B.zeros(shape, d.array)
    return finished(name, data, place, requires_grad, out, facts)


def _without_elements(
    shape: tuple[int, ...], layout: Any, d: Any, place: Any, requires_grad: bool
) -> Tensor:
    """A tensor of a sparse layout, of which no element is stored."""
    from nnkit.autograd.sparse.conversions import without_elements

    return without_elements(shape, layout, d, place).requires_grad_(requires_grad)


@public(method=False)
def zeros(
    *size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, **keyword: Any,
) -> Tensor:  # fmt: skip
    """A tensor of zeros.

    Args:
        size: the shape, as ints or as one tuple.
        dtype: the default floating dtype unless given.
        layout: of a sparse one, not of blocks, the tensor stores no element.

    Raises:
        TypeError: a size is no int, or ``dtype`` is no dtype.
        RuntimeError: a size is negative.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
    """
    size_keyword = _size("zeros", keyword)
    return _filled("zeros", size, size_keyword, 0, out, dtype, layout, device, requires_grad)


@public(method=False)
def ones(
    *size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, **keyword: Any,
) -> Tensor:  # fmt: skip
    """A tensor of ones; the arguments are those of `zeros`.

    Example:
        >>> import nnkit
        >>> nnkit.ones(2, dtype=nnkit.int32)
        tensor([1, 1], dtype=nnkit.int32)
    """
    size_keyword = _size("ones", keyword)
    return _filled("ones", size, size_keyword, 1, out, dtype, layout, device, requires_grad)


@public(method=False)
def empty(
    *size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
    **keyword: Any,
) -> Tensor:  # fmt: skip
    """A tensor whose memory holds whatever was there; the arguments are those of `zeros`.

    Args:
        memory_format: its order in memory, such as ``nnkit.channels_last``; of rows unless given.

    Example:
        >>> import nnkit
        >>> nnkit.empty(2, 3).shape
        nnkit.Size([2, 3])
    """
    size_keyword = _size("empty", keyword)
    if memory_format is not None:
        check_kind("empty", dtype, layout, device, out)
        shape, place = shape_of("empty", size, size_keyword), place_of(device, out=out)
        d = dtype_of("empty", dtype, None if out is None else out.dtype)
        data = empty_in_order(place.backend, shape, d.array, axes_of(memory_format, len(shape)))
        return finished("empty", data, place, requires_grad, out, SIZED)
    return _filled(
        "empty", size, size_keyword, None, out, dtype, layout, device, requires_grad, SIZED
    )


def _size(name: str, keyword: dict) -> Any:
    size = keyword.pop("size", None)
    if keyword:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(keyword))}'")
    return size


@public(method=False)
def full(
    size: Sequence[int],
    fill_value: complex,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor filled with one value, whose kind decides the dtype unless ``dtype`` is given.

    Raises:
        TypeError: ``size`` is no tuple of ints, or ``fill_value`` no number.
        RuntimeError: the value does not fit the dtype, or a size is negative.

    Example:
        >>> import nnkit
        >>> nnkit.full((2,), 7)
        tensor([7, 7])
    """
    check_kind("full", dtype, layout, device, out)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    value = number("full", "fill_value", fill_value)
    d = dtype_of("full", dtype, of_number(value) if out is None else out.dtype)
    place = place_of(device, out=out)
    shape = shape_of("full", (size,))
    value = fitting("full", value, d, math.prod(shape) == 1)
    data = place.backend.full(shape, value, d.array)
    return finished("full", data, place, requires_grad, out)


def _like(
    name: str, input: Tensor, value: Any, dtype: Any, layout: Any, device: Any,
    requires_grad: bool, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    check_tensor(name, input)
    d = dtype_of(name, dtype, input.dtype)
    place = place_of(device, input._device)
    if value == 0 and not is_strided(layout):
        return _without_elements(input.shape, layout, d, place, requires_grad)
    check_layout(name, layout)
    B = place.backend
    x = input._array
    if memory_format is not None and memory_format is not preserve_format:
        data = empty_in_order(B, x.shape, d.array, axes_of(memory_format, x.ndim))
    elif place is input._device and (d is input.dtype or place.depth):
        data = unwritten(B, B.empty_like(x))  # in the order of the input's strides
        data = data if d is input.dtype else B.cast(data, d.array)
    elif (steps := steps_of_copy(x)) is not None:
        data = unwritten(B, B.empty_strided(x.shape, steps, d.array))
    else:
        data = empty_in_order(B, x.shape, d.array, order_of(x))
    if value is not None:
        B.fill_(data, fitting(name, value, d, data.size == 1))
    return finished(name, data, place, requires_grad)


@public(method=False)
def zeros_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Zeros with the shape, dtype and device of ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.zeros_like(nnkit.tensor([5, 6]))
        tensor([0, 0])
    """
    return _like("zeros_like", input, 0, dtype, layout, device, requires_grad, memory_format)


@public(method=False)
def ones_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Ones with the shape, dtype and device of ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.ones_like(nnkit.tensor([5, 6]))
        tensor([1, 1])
    """
    return _like("ones_like", input, 1, dtype, layout, device, requires_grad, memory_format)


@public(method=False)
def empty_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Uninitialised memory with the shape, dtype and device of ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.empty_like(nnkit.ones(2, 3)).shape
        nnkit.Size([2, 3])
    """
    return _like("empty_like", input, None, dtype, layout, device, requires_grad, memory_format)


@public(method=False)
def full_like(
    input: Tensor,
    fill_value: complex,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """``fill_value`` with the shape, dtype and device of ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.full_like(nnkit.zeros(2), 7)
        tensor([7., 7.])
    """
    value = number("full_like", "fill_value", fill_value)
    return _like("full_like", input, value, dtype, layout, device, requires_grad, memory_format)


def _new(name: str, value: Any) -> None:
    """The method ``new_<name>``: a filled tensor with the dtype and device of ``self``."""

    def create(
        self: Tensor, *size: Any, dtype: Any = None, device: Any = None, layout: Any = None,
        requires_grad: bool = False, pin_memory: bool = False, **keyword: Any,
    ) -> Tensor:  # fmt: skip
        dtype = self.dtype if dtype is None else dtype
        named, options = _size(name, keyword), (value, None, dtype, layout)
        try:
            if device is not None or not self._device.depth:
                place = self._device if device is None else device
                return _filled(name, size, named, *options, place, requires_grad)
            make = lambda shape, place: _filled(
                name, (shape,), None, *options, place, requires_grad
            )
            return make_beside(self, shape_of(name, size, named), make)
        except MemoryError as error:
            raise HostMemoryError.having(error) from None

    create.__name__ = name
    known_as(create, f"Tensor.{name}")
    create.__doc__ = f"`{name[4:]}` with the dtype and device of this tensor, unless given."
    attach(name, overridable(create))


for _name, _value in (("new_zeros", 0), ("new_ones", 1), ("new_empty", None)):
    _new(_name, _value)


@public(namespace=False)
def new_empty_strided(
    input: Tensor,
    size: Sequence[int],
    stride: int | Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`empty_strided` with the dtype and device of this tensor, unless given."""
    place = primal_below(input)._device if device is None else place_of(device)
    d = input.dtype if dtype is None else dtype
    return _strided(size, stride, d, place, requires_grad)


@public(namespace=False)
def new_full(
    input: Tensor,
    size: Sequence[int],
    fill_value: complex,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """`full` with the dtype and device of this tensor, unless given.

    Example:
        >>> import nnkit
        >>> nnkit.ones(1, dtype=nnkit.int32).new_full((2,), 7)
        tensor([7, 7], dtype=nnkit.int32)
    """
    options: dict = {"layout": layout, "requires_grad": requires_grad}
    options["dtype"] = input.dtype if dtype is None else dtype
    if device is not None or not (input._device.depth and isinstance(size, (tuple, list))):
        place = input._device if device is None else device
        return full(size, fill_value, device=place, **options)
    make = lambda shape, device: full(shape, fill_value, device=device, **options)
    return make_beside(input, tuple(size), make)


@public(method=False)
def empty_strided(
    size: Sequence[int],
    stride: int | Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Uninitialised memory under a shape with given strides, counted in elements.

    Raises:
        RuntimeError: sizes and strides differ in number, or one of them is negative.

    Example:
        >>> import nnkit
        >>> nnkit.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    return _strided(size, stride, dtype, place_of(device), requires_grad)


def _strided(size: Any, stride: Any, dtype: Any, place: Any, requires_grad: bool) -> Tensor:
    """`empty_strided` on a device, which may be that of a transform."""
    shape = sizes_of("empty_strided", (size,))
    strides = sizes_of("empty_strided", (stride,), None, "stride")
    check_strided("empty_strided", shape, strides, 0)
    d = dtype_of("empty_strided", dtype)
    data = unwritten(place.backend, place.backend.empty_strided(shape, strides, d.array))
    return finished("empty_strided", data, place, requires_grad)


@public(method=False)
def scalar_tensor(
    s: complex, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A 0-dim tensor of the default floating dtype, unless ``dtype`` is given.

    Example:
        >>> import nnkit
        >>> nnkit.scalar_tensor(3)
        tensor(3.)
    """
    d = dtype_of("scalar_tensor", dtype)
    return full((), s, dtype=d, layout=layout, device=device, requires_grad=requires_grad)


@public(method=False)
def eye(
    n: int, m: int = ..., *, out: Any = None, dtype: Any = None,  # pyright: ignore
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The ``n`` by ``m`` matrix with ones on its diagonal; ``m`` is ``n`` unless given.

    Raises:
        RuntimeError: a size is negative.

    Example:
        >>> import nnkit
        >>> nnkit.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    check_kind("eye", dtype, layout, device, out)
    shape = (integer("eye", "n", n), n if m is ... else integer("eye", "m", m))
    for parameter, size in zip("nm", shape):
        if size < 0:
            raise RuntimeError(f"eye(): {parameter} must be greater or equal to 0, got {size}")
    check_shape("eye", shape)
    place = place_of(device, out=out)
    d = dtype_of("eye", dtype, None if out is None else out.dtype)
    if out is not None and out._array.shape == shape and has_expanded(out._array):
        out.zero_().diagonal().fill_(1)  # as torch writes it, so that it does not refuse
        return out
    return finished("eye", place.backend.eye(*shape, d.array), place, requires_grad, out)


_WRONG_COMPLEX = (
    "Expected object of scalar type {wanted} but got scalar type {got} for argument 'out'"
)


@public(
    name="complex", method=False, out=Out(dtype="same", words=_WRONG_COMPLEX, checks_first=True)
)
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """``real + i imag``, from float32 or float64 tensors of one dtype that broadcast.

    Raises:
        RuntimeError: the dtypes differ or have no complex counterpart.

    Example:
        >>> import nnkit
        >>> nnkit.complex(nnkit.tensor([1.0]), nnkit.tensor([2.0]))
        tensor([1.+2.j])
    """
    _check_pair("complex", "real", real, "imag", imag)
    return _make_complex(real, imag)


def _check_pair(name: str, one: str, first: Tensor, other: str, second: Tensor) -> None:
    check_tensor(name, first, one)
    check_tensor(name, second, other)
    for value in (first, second):
        if value.dtype not in (float32, float64):
            raise RuntimeError(
                f"{name}(): Expected both inputs to be Half, Float or Double tensors but got "
                f"{first.dtype.scalar_type} and {second.dtype.scalar_type}"
            )
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"{name}(): Expected object of scalar type {first.dtype.scalar_type} but got scalar "
            f"type {second.dtype.scalar_type} for second argument"
        )
    if first._array.shape != second._array.shape:
        broadcast_shape(name, [first._array.shape, second._array.shape])


@public(method=False, out=Out(dtype="same", words=_WRONG_COMPLEX, checks_first=True))
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers from modulus and angle: ``abs * (cos(angle) + i sin(angle))``.

    Raises:
        RuntimeError: the dtypes differ or have no complex counterpart.

    Example:
        >>> import nnkit
        >>> nnkit.polar(nnkit.tensor([2.0]), nnkit.tensor([0.0]))
        tensor([2.+0.j])
    """
    check_tensor("polar", abs, "abs")
    check_tensor("polar", angle, "angle")
    if abs.dtype is not angle.dtype:
        raise RuntimeError(
            f"polar(): Expected object of scalar type {abs.dtype.scalar_type} but got scalar type "
            f"{angle.dtype.scalar_type} for second argument"
        )
    if abs.dtype.category != FLOATING:
        raise RuntimeError(
            "polar(): Expected both inputs to be Half, Float or Double tensors but got "
            f"{abs.dtype.scalar_type} and {angle.dtype.scalar_type}"
        )
    check_dtype("polar", abs.dtype, ("float16",), (abs, angle))
    _check_pair("polar", "abs", abs, "angle", angle)
    return _polar(abs, angle)
