"""Views as copies: ``x_copy`` is what ``x`` shows, in memory of its own; and pieces that may be
written into one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor, check_tensors, normalize_dim
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out, by_rows, write_out
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import real_gradient, without_derivative
from nnkit.autograd.ops.creation.conversion import clone, converted
from nnkit.autograd.ops.elementwise.conjugation import resolve_conj, resolve_neg
from nnkit.autograd.ops.indexing.narrowing import narrow, select
from nnkit.autograd.ops.shape import joining, reshaping, strided
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.backend.memory import contiguous_format


def _copied(view: Tensor) -> Tensor:
    return clone(view, memory_format=contiguous_format)


_PIECES = {
    "split_copy": Out(checks_first=True),
    **dict.fromkeys(("split_with_sizes_copy", "unbind_copy"), Out(dtype="same", axes=by_rows)),
}


def _pieces_copied(
    name: str, views: tuple[Tensor, ...], out: Sequence[Tensor] | None
) -> tuple[Tensor, ...] | None:
    """The copies of several views; None if they are written into the tensors of ``out``."""
    if out is None:
        return tuple(map(_copied, views))
    check_tensors(name, out, "out")
    if len(out) != len(views):
        raise RuntimeError(
            f"{name}(): expected argument 'out' of {len(views)} tensors, got {len(out)}"
        )
    for target, view in zip(out, views, strict=True):
        if name == "split_copy":  # whose tensors torch gives no new size, and casts to their dtypes
            view = converted(reshaping.expand(view, target.shape), target.dtype)
        write_out(target, view, name, _PIECES[name])
    return None


def _offer(name: str, of: Callable, about: str, example: tuple[str, str] | None = None) -> None:
    """Register ``of`` under a name, without a method, with ``out=`` if it gives one tensor."""
    of.__name__ = of.__qualname__ = name
    of.__doc__ = about + "\n"
    if example:
        call, result = example
        of.__doc__ += (
            f"\n    Example:\n        >>> import nnkit\n"
            f"        >>> nnkit.{name}({call})\n        {result}\n    "
        )
    gives_one = "tuple" not in str(of.__annotations__["return"])
    public(of, method=False, out=gives_one and Out(dtype="same"))


def alias_copy(input: Tensor) -> Tensor:
    return _copied(input)


def detach_copy(input: Tensor) -> Tensor:
    return without_derivative("detach_copy", _copied(input))  # as in torch


def as_strided_copy(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    return _copied(strided.as_strided(input, size, stride, storage_offset))


def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return _copied(strided.diagonal(input, offset, dim1, dim2))


def expand_copy(input: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor:
    return _copied(reshaping.expand(input, size))


def permute_copy(input: Tensor, dims: Sequence[int]) -> Tensor:
    return _copied(reshaping.permute(input, dims))


def select_copy(input: Tensor, dim: int, index: int) -> Tensor:
    return real_gradient("select_copy", _copied(select(input, dim, index)))


def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    check_tensor("slice_copy", input)
    axis = normalize_dim(dim, input.ndim, "slice_copy")
    if step <= 0:
        raise RuntimeError(f"slice_copy(): step must be greater than zero, got {step}")
    length = input._array.shape[axis]
    if slice(start, end, step).indices(length) == (0, length, 1):  # no index would record it
        part = narrow(input, axis, 0, length)
    else:
        part = input[(slice(None),) * axis + (slice(start, end, step),)]
    return real_gradient("slice_copy", _copied(part))


def squeeze_copy(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    return _copied(input.squeeze() if dim is None else input.squeeze(dim))


def t_copy(input: Tensor) -> Tensor:
    return _copied(reshaping.t(input))


def transpose_copy(input: Tensor, dim0: int, dim1: int) -> Tensor:
    return _copied(reshaping.transpose(input, dim0, dim1))


def unfold_copy(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return _copied(strided.unfold(input, dimension, size, step))


def unsqueeze_copy(input: Tensor, dim: int) -> Tensor:
    return _copied(reshaping.unsqueeze(input, dim))


def view_copy(input: Tensor, size: Any = ..., *, dtype: Any = ...) -> Tensor:
    size = dtype if size is ... else size
    if size is ...:
        raise TypeError("view_copy(): argument 'size' must be given, or 'dtype'")
    if isinstance(size, (int, Tensor)):
        got = type(size).__name__
        raise TypeError(f"view_copy(): argument 'size' must be tuple of ints or a dtype, not {got}")
    return _copied(input.view(size))


def view_as_complex_copy(input: Tensor) -> Tensor:
    return real_gradient("view_as_complex_copy", _copied(strided.view_as_complex(input)))


def view_as_real_copy(input: Tensor) -> Tensor:
    return _copied(strided.view_as_real(input))


def split_copy(
    input: Tensor, split_size: int, dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | None:
    return _pieces_copied("split_copy", joining.split(input, split_size, dim), out)


def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | None:
    views = joining.split_with_sizes(input, split_sizes, dim)
    return _pieces_copied("split_with_sizes_copy", views, out)


def unbind_copy(
    input: Tensor, dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | None:
    return _pieces_copied("unbind_copy", joining.unbind(input, dim), out)


_EXAMPLES = {
    "expand_copy": ("nnkit.tensor([1, 2]), (2, 2)", "tensor([[1, 2],\n                [1, 2]])"),
    "select_copy": ("nnkit.eye(2), 0, 1", "tensor([0., 1.])"),
    "slice_copy": ("nnkit.arange(6), 0, 1, 5, 2", "tensor([1, 3])"),
    "split_copy": ("nnkit.arange(3), 2", "(tensor([0, 1]), tensor([2]))"),
}
for _function in (
    *(alias_copy, as_strided_copy, detach_copy, diagonal_copy, expand_copy, permute_copy),
    *(select_copy, slice_copy, split_copy, split_with_sizes_copy, squeeze_copy, t_copy),
    *(transpose_copy, unbind_copy, unfold_copy, unsqueeze_copy),
    *(view_as_complex_copy, view_as_real_copy, view_copy),
):
    _name = _function.__name__
    _viewed = _name.removesuffix("_copy")
    _offer(_name, _function, f"What ``{_viewed}`` shows, as a copy.", _EXAMPLES.get(_name))


def _pieces(name: str, split: Callable, input: Tensor, sizes: Any, dim: int) -> tuple[Tensor, ...]:
    """The pieces of a tensor, each with a write counter of its own; in inference mode they are
    views."""
    check_tensor(name, input)
    views = split(resolve_neg(resolve_conj(input)), sizes, dim)
    if MODE.inference:
        for view in views:
            if not view._is_inference():
                view._writes = [0, None, MODE.origin]
        return views
    return tuple(on_its_own(view if MODE.enabled else view.detach()) for view in views)


@public
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` into pieces that may be written into one by one while gradients are recorded.

    Example:
        >>> import nnkit
        >>> nnkit.unsafe_split(nnkit.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
    """
    return _pieces("unsafe_split", joining.split, input, split_size, dim)


@public
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """`split_with_sizes` into pieces that may be written into one by one."""
    return _pieces("unsafe_split_with_sizes", joining.split_with_sizes, input, split_sizes, dim)


@public
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk` into pieces that may be written into one by one."""
    return _pieces("unsafe_chunk", joining.chunk, input, chunks, dim)
