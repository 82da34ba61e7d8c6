"""Views that only strides can describe: diagonals, windows, parts of complex numbers, and tensors
whose geometry is changed in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, normalize_dim, sizes_of
from nnkit.autograd.arguments.factory import unwritten
from nnkit.autograd.arguments.sizes import (
    MOST_ELEMENTS,
    check_shape,
    check_strided,
    clipped,
    integer,
    is_int64,
)
from nnkit.autograd.engine.renewal import begin_anew
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.inference import copied_without_history
from nnkit.autograd.op.promotion import cast_inside
from nnkit.autograd.op.public import METHODS, attach, known_as, public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import check_source, rule
from nnkit.autograd.ops.shape import reshaping as shapes
from nnkit.autograd.surface.limits import fitting
from nnkit.autograd.surface.metadata import is_conj, strides_shown
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.history import change_geometry, end_history
from nnkit.autograd.views.overlap import check_expanded, check_writable
from nnkit.autograd.views.sharing import sharing
from nnkit.autograd.views.writes import check_change, is_unseen, reshape_in_place, wrote
from nnkit.backend.lazy import alike, memory_of
from nnkit.backend.memory import (
    axes_of,
    by_rows,
    channels_last,
    channels_last_3d,
    contiguous_format,
    extent,
    has_expanded,
    is_lent,
    preserve_format,
    strides_in_order,
    strides_of,
)
from nnkit.backend.warning import warn

_diagonal = rule(
    "diagonal",
    view=True,
    x=lambda B, g, x_shape, offset, axis1, axis2: B.diagonal_adjoint(
        g, x_shape, offset, axis1, axis2
    ),
)
rule(
    "diagonal_adjoint", node="DiagEmbedBackward0", alone="written",
    y=lambda B, g, offset, axis1, axis2: B.diagonal(g, offset, axis1, axis2),
)  # fmt: skip


def _may_share(shape: tuple, strides: tuple) -> bool:
    """Whether elements of this geometry may lie in one place (torch's test, which is quick)."""
    if 0 in shape:
        return False
    last = 0
    for stride, size in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride <= last:
            return True
        last += stride * (size - 1)
    return False


def _grad_strided(B: Any, g: Any, shape: tuple, strides: tuple, offset: int, source: tuple) -> Any:
    """The gradient of `as_strided`: of elements that lie in one place each has its share."""
    target = (shape, strides, offset)
    if _may_share(*source[:2]):
        ones = B.expand(B.ones_like(B.sum(g, None, False)), source[0])
        g = B.div(g, B.as_strided_adjoint(ones, target, source))
    found = B.as_strided_adjoint(g, source, target)
    nothing = 0 in shape or 0 in source[0]  # depends on it, as in torch
    return B.zeros_like(found) if nothing else found


def _strided_part(
    B: Any, g: Any, x_shape: tuple, shape: tuple, strides: tuple, offset: int | None
) -> Any:
    """The elements of a gradient of ``x_shape``, laid out by rows, that have this geometry."""
    return B.as_strided(
        B.contiguous(g), shape, strides, offset or 0, (x_shape, strides_of(x_shape), 0)
    )


_as_strided = rule("as_strided", view=True, x=_grad_strided)
rule(
    "as_strided_adjoint",
    y=lambda B, g, source, target: B.as_strided_adjoint(g, target, source),
)
_as_strided_scatter = rule(
    "as_strided_scatter",
    alone="written",
    apart=copied_without_history,
    linear=True,
    # As in torch, where the gradient of the input is what comes to the elements of `y`.
    x=lambda B, g, x_shape, shape, strides, offset: B.as_strided_scatter(
        B.zeros_like(B.contiguous(g)), _strided_part(B, g, x_shape, shape, strides, offset),
        shape, strides, offset,
    ),
    y=_strided_part,
)  # fmt: skip
_unfold = rule(
    "unfold", view=True,
    x=lambda B, g, x_shape, axis, size, step: (
        B.unfold_adjoint(g, x_shape, axis, size, step) if x_shape else B.sum(g, None, False)
    ),
)  # fmt: skip
rule("unfold_adjoint", y=lambda B, g, axis, size, step: B.unfold(g, axis, size, step))
_real = rule(
    "real", node="SelectBackward0", view=True,
    x=lambda B, g: B.view_as_complex(B.stack([g, B.zeros_like(g)], g.ndim)),
)  # fmt: skip
_imag = rule(
    "imag", node="SelectBackward0", view=True,
    x=lambda B, g: B.view_as_complex(B.stack([B.zeros_like(g), g], g.ndim)),
)  # fmt: skip
_view_as_real = rule("view_as_real", view=True, x=lambda B, g: B.view_as_complex(g))
_view_as_complex = rule("view_as_complex", view=True, x=lambda B, g: B.view_as_real(g))


@public
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions as the last dimension, a view that can be written.

    Example:
        >>> import nnkit
        >>> x = nnkit.zeros(2, 2)
        >>> x.diagonal().fill_(1.0)
        tensor([1., 1.])
        >>> x
        tensor([[1., 0.],
                [0., 1.]])
    """
    check_tensor("diagonal", input)
    shape = input._array.shape
    axis1 = normalize_dim(dim1, len(shape), "diagonal")
    axis2 = normalize_dim(dim2, len(shape), "diagonal")
    if axis1 == axis2:
        raise RuntimeError(f"diagonal(): diagonal dimensions cannot be identical {dim1}, {dim2}")
    offset = clipped(integer("diagonal", "offset", offset), -shape[axis1], shape[axis2])
    return _diagonal(input, offset, axis1, axis2)


@public(namespace=False)
def fill_diagonal_(input: Tensor, fill_value: complex, wrap: bool = False) -> Tensor:
    """Write a number onto the main diagonal of all dimensions; returns the tensor.

    Args:
        fill_value: a number or a 0-dim tensor.
        wrap: start the diagonal of a tall matrix anew below it, one row apart.

    Raises:
        RuntimeError: fewer than two dimensions, or more than two of different lengths.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2, 3).fill_diagonal_(5)
        tensor([[5., 0., 0.],
                [0., 5., 0.]])
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"fill_diagonal_(): expected at least 2 dimensions, got {list(shape)}")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError(f"fill_diagonal_(): expected equal lengths, got {list(shape)}")
    rows, columns = shape[0], shape[-1]
    if isinstance(fill_value, int) and not is_int64(fill_value):
        fill_value = fitting("fill_diagonal_", float(fill_value), input.dtype, True)
    strides = strides_shown(input._array)
    diagonal = as_strided(input, (min(shape),), (sum(strides),))
    METHODS["fill_"](diagonal, fill_value)
    if wrap and len(shape) == 2 and rows > columns + 1:
        start = input.storage_offset() + strides[0] * (columns + 1)
        count = -(-rows * columns // (columns + 1)) - columns
        METHODS["fill_"](as_strided(input, (count,), (sum(strides),), start), fill_value)
    return input


def geometry(input: Tensor) -> tuple:
    """The shape, the strides and the offset of a tensor in its storage, in elements."""
    data = input._array
    return data.shape, strides_shown(data), input._device.backend.storage_offset(data)


@public
def as_strided(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """A view of the storage of ``input`` with any size, stride and offset (in elements).

    Raises:
        RuntimeError: a stride is negative, or the view would leave the storage.

    Example:
        >>> import nnkit
        >>> nnkit.as_strided(nnkit.arange(6), (3, 2), (1, 2))
        tensor([[0, 2],
                [1, 3],
                [2, 4]])
    """
    check_tensor("as_strided", input)
    shape = sizes_of("as_strided", (size,))
    strides = sizes_of("as_strided", (stride,), None, "stride")
    source = geometry(input)
    offset = source[2]
    if storage_offset is not None:
        offset = integer("as_strided", "storage_offset", storage_offset)
    check_strided("as_strided", shape, strides, offset)
    strides = tuple([min(s, MOST_ELEMENTS - 1) for s in strides])  # larger ones lead nowhere
    return _as_strided(input, shape, strides, offset, source)


@public(namespace=False)
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` elements, ``step`` apart, along ``dimension``, in a new last dimension.

    Example:
        >>> import nnkit
        >>> nnkit.arange(5).unfold(0, 2, 2)
        tensor([[0, 1],
                [2, 3]])
    """
    axis = normalize_dim(dimension, input.ndim, "unfold")
    limit = input._array.shape[axis] if input.ndim else 1
    size, step = integer("unfold", "size", size), integer("unfold", "step", step)
    if size < 0:
        raise RuntimeError(f"unfold(): size is {size} but must be >= 0")
    if size > limit:
        raise RuntimeError(
            f"unfold(): maximum size for tensor at dimension {axis} is {limit} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"unfold(): step is {step} but must be > 0")
    return _unfold(input, axis, size, min(step, limit + 1))  # there is no second window beyond


@public(method=False)
def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself.

    Example:
        >>> import nnkit
        >>> nnkit.real(nnkit.tensor([1 + 2j, 3j]))
        tensor([1., 0.])
    """
    check_tensor("real", input)
    return _real(_unconjugated(input)) if input.is_complex() else input


@public(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view.

    Example:
        >>> import nnkit
        >>> nnkit.imag(nnkit.tensor([1 + 2j, 3j]))
        tensor([2., 3.])
    """
    check_tensor("imag", input)
    if not input.is_complex():
        raise RuntimeError(f"imag(): expected a complex tensor, got {input.dtype}")
    if is_conj(input):  # in torch's order, which decides the sign of zeros in gradients
        input = OPS["neg_view"](_unconjugated(input))
    return _imag(input)


def _unconjugated(input: Tensor) -> Tensor:
    """A view of the memory of a complex tensor without its conjugation, if that is put off."""
    return OPS["conj"](input) if is_conj(input) else input


def _part_property(part: Callable) -> property:
    def assign(self: Tensor, value: Any) -> None:
        """Write a part in place."""
        part(self)[...] = value

    return property(part, assign)


for _name, _part in (("real", real), ("imag", imag)):
    setattr(Tensor, _name, _part_property(_part))


@public(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as a real one whose last dimension holds real and imaginary part.

    Example:
        >>> import nnkit
        >>> nnkit.view_as_real(nnkit.tensor([1 + 2j, 3j]))
        tensor([[1., 2.],
                [0., 3.]])
    """
    check_tensor("view_as_real", input)
    if not input.is_complex():
        raise RuntimeError(f"view_as_real(): expected a complex tensor, got {input.dtype}")
    if is_conj(input):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors: use x.resolve_conj(), a "
            "copy whose real and imaginary parts are in memory"
        )
    return _view_as_real(input)


@public(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor whose last dimension holds pairs as a complex one; a view.

    Example:
        >>> import nnkit
        >>> nnkit.view_as_complex(nnkit.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1.+2.j, 3.+4.j])
    """
    check_tensor("view_as_complex", input)
    data = input._array
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(
            f"view_as_complex is only supported for float and double tensors, got {input.dtype}"
        )
    strides = strides_shown(input._array)
    steps = [step for size, step in zip(data.shape, strides) if size != 1]
    offset = input._device.backend.storage_offset(data)
    wanted = (
        (data.ndim, "Input tensor must have one or more dimensions"),
        (data.shape[-1:] == (2,), "Tensor must have a last dimension of size 2"),
        (strides[-1:] == (1,), "Tensor must have a last dimension with stride 1"),
        (
            not any(step % 2 for step in steps[:-1]),
            "Tensor must have a stride divisible by 2 for all but last dimension",
        ),
        (offset % 2 == 0, "Tensor must have a storage_offset divisible by 2"),
    )
    for holds, what in wanted:
        if not holds:
            raise RuntimeError(
                f"view_as_complex(): {what}, got shape {list(data.shape)}, "
                f"strides {list(strides)} and offset {offset}"
            )
    return _view_as_complex(input)


@public
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """A copy of ``input`` with ``src`` where `as_strided` would look.

    Example:
        >>> import nnkit
        >>> nnkit.as_strided_scatter(nnkit.zeros(4), nnkit.ones(2), (2,), (2,))
        tensor([1., 0., 1., 0.])
    """
    check_tensor("as_strided_scatter", input)
    check_tensor("as_strided_scatter", src, "src")
    shape = sizes_of("as_strided_scatter", (size,))
    if src._array.shape != shape:
        raise RuntimeError(
            f"as_strided_scatter(): expected src to have size {list(shape)}, got "
            f"{list(src._array.shape)}"
        )
    if input.requires_grad and not by_rows(input._array):
        raise RuntimeError(
            "as_strided_scatter(): an input that requires grad must be contiguous, got strides "
            f"{list(input.stride())}"
        )
    x = input._array
    if has_expanded(x) or not x.size:  # the copy has another storage
        x = input._device.backend.copy_storage(x)
    place = as_strided(wrap(x, input._device), size, stride, storage_offset)  # or refuses it
    check_expanded("as_strided_scatter", place._array)
    check_source("as_strided_scatter", input, src)
    source = cast_inside(src, input.dtype)
    return _as_strided_scatter(input, source, shape, place.stride(), storage_offset)


# In place: the tensor itself gets another geometry over its memory


def _reshaping(name: str, function: Any) -> None:
    """``name_``: let the tensor become what ``name`` returns, with that history."""

    def write_in_place(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        return reshape_in_place(self, name, function, *arguments, **options)

    write_in_place.__name__ = name
    known_as(write_in_place, f"Tensor.{name}")
    write_in_place.__doc__ = f"In-place version of `{function.__name__}`; returns the tensor."
    attach(name, write_in_place)


for _name, _function in (
    ("squeeze_", METHODS["squeeze"]), ("unsqueeze_", shapes.unsqueeze), ("t_", shapes.t),
    ("transpose_", shapes.transpose), ("swapaxes_", shapes.swapaxes),
    ("swapdims_", shapes.transpose), ("as_strided_", as_strided),
):  # fmt: skip
    _reshaping(_name, _function)


@public(namespace=False)
def resize_(input: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Give the tensor another number of elements: what it holds stays in front, the rest of a
    larger one is uninitialised.

    Raises:
        RuntimeError: it requires a gradient.
    """
    shape = sizes_of("resize_", sizes, size)
    check_shape("resize_", shape, "sizes")
    if input.requires_grad and not (MODE.inference or input.is_inference()):
        raise RuntimeError("resize_(): cannot resize variables that require grad")
    check_change(input, "resize_")
    axes = axes_of(memory_format, len(shape))
    if shape != input._array.shape or axes is not None:
        resize(input, shape, axes)
        wrote(input, "resize_")
    return input


def resize(input: Tensor, shape: tuple[int, ...], axes: tuple[int, ...] | None = None) -> None:
    """Give a tensor another shape over its memory, or over more with that in front.

    Args:
        axes: the dimensions from the slowest to the fastest in memory.
    """
    B = input._device.home.backend
    strides = strides_in_order(shape, axes)
    _, _, offset = source = geometry(input)
    room = offset + math.prod(shape)
    if room > B.storage_size(memory_of(input._array)):
        data, source = _grown_storage(input, room), ((room,), (1,), 0)
    else:
        data = memory_of(input._array)
    change_geometry(input, alike(input._array, B.as_strided(data, shape, strides, offset, source)))


def _grown_storage(input: Tensor, room: int) -> Any:
    """Let the tensors that look into the memory of one look into more, with that in front; returns
    the array of all its ``room`` elements."""
    B, data = input._device.home.backend, memory_of(input._array)
    larger = unwritten(B, B.empty((room,), data.dtype))
    size = B.storage_size(data)
    if is_lent(data):
        raise RuntimeError(
            f"Trying to resize storage that is not resizable: a larger one of {room} elements "
            "would not be what NumPy, or whoever shares it, looks into"
        )
    if size == 0:
        return larger
    kept = B.as_strided(data, (size,), (1,), 0, geometry(input))
    B.copy_(B.getitem(larger, (slice(size),)), kept)
    del data, kept  # as long as they are held, the tensor does not look alone
    move_storage(input, larger)
    return larger


def move_storage(tensor: Tensor, line: Any) -> None:
    """Let all tensors that look into the memory of one look into a line of numbers, at the same
    places."""
    B = tensor._device.home.backend
    for each in sorted(sharing(tensor), key=lambda t: t._base is not None):
        mine = memory_of(each._array)
        typed = line if mine.dtype == line.dtype else _reread(B, line, mine.dtype)
        shape, strides, offset = geometry(each)
        moved = B.as_strided(typed, shape, strides, offset, (typed.shape, (1,), 0))
        viewed = each._viewed  # it is the same view as before
        change_geometry(each, alike(each._array, moved))
        each._viewed = viewed


def _reread(B: Any, array: Any, dtype: Any) -> Any:
    """The bytes of a line of numbers as numbers of another dtype, as many as there are whole."""
    size, width = array.dtype.itemsize, dtype.itemsize
    whole = array.shape[0] * size // width * width // size
    return B.view_dtype(B.getitem(array, (slice(whole),)), dtype)


@public(namespace=False)
def resize_as_(input: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """``input.resize_(the_template.shape)``, by default in its own order of memory."""
    check_tensor("resize_as_", the_template, "the_template")
    seen = not MODE.inference and not is_unseen((input, the_template))
    if input.requires_grad and seen and input is not the_template:
        raise RuntimeError("resize_as_(): cannot resize variables that require grad")
    if memory_format is preserve_format and not the_template.is_contiguous():
        memory_format = {4: channels_last, 5: channels_last_3d}.get(the_template.ndim)
        if not (memory_format and the_template.is_contiguous(memory_format=memory_format)):
            memory_format = contiguous_format
    return resize_(input, the_template._array.shape, memory_format=memory_format)


def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """`reshape`, under a name torch has deprecated."""
    warn("non-inplace resize is deprecated: use reshape()")
    return self.reshape(*sizes)


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`reshape_as`, under a name torch has deprecated."""
    warn("non-inplace resize_as is deprecated: use reshape_as()")
    return shapes.reshape_as(self, tensor)


attach("resize", _resize)
attach("resize_as", _resize_as)


@public(namespace=False)
def set_(
    input: Tensor, source: Any = None, storage_offset: int = 0,
    size: Sequence[int] | None = None, stride: int | Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Let the tensor use the memory of ``source`` (no memory without one).

    Each of the two counts its own writes.

    Args:
        source: a tensor of the same dtype, or its storage.
        storage_offset: where to start in its storage, with ``size`` and ``stride``. The storage
            grows as these want, unless the tensor has them already.
    """
    from nnkit.autograd.surface.storage import Storage

    storage = None
    if isinstance(source, Storage):
        storage, source = source, source.tensor(input.dtype)
    if input._device.depth:
        raise NotImplementedError("set_(): a tensor of a transform cannot be given other memory")
    tracked = check_change(input, "set_", (source,))
    check_writable(input, "set_")
    if source is None:
        data = input._device.home.backend.empty((0,), input._array.dtype)
    else:
        check_tensor("set_", source, "source")
        memory = source.detach()
        if memory._array.dtype != input._array.dtype:
            raise RuntimeError(
                f"set_(): expected a source of dtype {input.dtype}, got {memory.dtype}"
            )
        if size is not None:
            shape = sizes_of("set_", (size,))
            stride = strides_of(shape) if stride is None else stride
            steps = (stride,) if isinstance(stride, int) else tuple(stride)
            if (shape, steps) != (input.shape, input.stride()):
                check_strided("set_", shape, steps, storage_offset)
                room = memory.untyped_storage() if storage is None else storage
                wanted = extent(shape, steps, storage_offset) * memory.itemsize
                if wanted > room.nbytes():
                    room.resize_(wanted)
                memory = room.tensor(input.dtype)
            memory = as_strided(memory, shape, steps, storage_offset)
        data = memory_of(memory._array)
    if input._requires_grad and input._edge is None:
        begin_anew(input, input._array)
    change_geometry(input, alike(input._array, data))
    wrote(input, "set_")
    if tracked:
        end_history(input, "set_", (input,) if source is None else (input, source))
    return input
