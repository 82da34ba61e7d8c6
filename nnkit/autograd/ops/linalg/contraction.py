"""Sums of products along named or paired dimensions, and chains of matrix products."""

from __future__ import annotations

import itertools
import math
from typing import Any

from nnkit.autograd.arguments.casting import CASTING
from nnkit.autograd.arguments.dims import (
    broadcast_shape,
    check_tensor,
    check_tensors,
    normalize_dim,
    normalize_dims,
    sizes_of,
)
from nnkit.autograd.arguments.sizes import integer
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out, by_rows, takes_out
from nnkit.autograd.op.promotion import check_dtype, on_one_device
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import LIFTED, Lifted
from nnkit.autograd.op.rule import guarded
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import composite_operands
from nnkit.autograd.ops.creation.factories import eye
from nnkit.autograd.ops.elementwise.arithmetic import mul
from nnkit.autograd.ops.linalg.products import (
    bmm,
    check_inner,
    check_ndim,
    check_operands,
    matmul,
    mm,
    of_one_dtype,
    viewed,
)
from nnkit.autograd.tensor import Tensor, on_its_own, wrap
from nnkit.autograd.views.history import as_view
from nnkit.backend.memory import contiguous_format
from nnkit.backend.reference.linalg import parse
from nnkit.backend.warning import warn_once

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@public(method=False)
def einsum(equation: Any, *operands: Any) -> Tensor:
    """The sum of products that an equation such as ``"bij,bjk->bik"`` describes.

    Each letter names a dimension; what is not on the right of ``->`` is summed. Without ``->`` the
    result has the letters that occur once, in alphabetical order. ``...`` stands for further
    dimensions, which broadcast; a letter that occurs twice in an operand takes its diagonal.

    Args:
        equation: the string; or the first operand, followed by lists of ints in place of letters:
            ``einsum(x, [0, 1], y, [1, 2], [0, 2])``.
        operands: the tensors, contracted from left to right.

    Raises:
        RuntimeError: the equation is malformed, or does not fit the operands.
        ValueError: there are no operands.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> nnkit.einsum("ii", x)
        tensor(5.)
    """
    if isinstance(equation, Tensor) and operands:
        equation, operands = _from_lists((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError("einsum(): must specify the equation string and at least one operand")
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' must be str, not {type(equation).__name__}")
    for i, x in enumerate(operands):
        check_tensor("einsum", x, f"operands[{i}]")
    operands = tuple(map(viewed, composite_operands(*operands)))
    if len(operands) == 1:
        out = LIFTED.einsum(operands, equation)
        return out if out is not operands[0] else as_view(out)
    if CASTING.enabled or len({x._array.dtype for x in operands}) > 1:
        out = _PUBLIC.einsum(operands, equation)
    elif _tracked(operands):
        out = LIFTED.einsum(operands, equation)
    else:
        operands = on_one_device("einsum", tuple(operands))
        device = operands[0]._device
        out = wrap(device.backend.einsum([x._array for x in operands], equation), device)
    inputs, output = parse(equation, tuple(x.ndim for x in operands))
    return out if set().union(*inputs) <= set(output) else as_view(out)


def _spread(equation: Any, *operands: Any) -> tuple[tuple, dict]:
    """Operands in a list as operands one by one."""
    alone = len(operands) == 1 and isinstance(operands[0], (list, tuple))
    return (equation, *(operands[0] if alone else operands)), {}


einsum.arranged = _spread


class _Public(Lifted):
    """The algebra whose products are the public ones: those of elements promote their operands,
    those of matrices cast them under autocast."""

    mul = staticmethod(mul)
    mm = staticmethod(mm)

    def bmm(self, x: Tensor, y: Tensor) -> Tensor:
        return bmm(x if CASTING.enabled else of_one_dtype("einsum", x, y), y)


_PUBLIC = _Public()


def _tracked(tensors: tuple) -> bool:
    return MODE.enabled and any(x.requires_grad for x in tensors)


def _composed(name: str, x: Tensor, y: Tensor, *statics: Any) -> Tensor:
    """Run a reference body: on the arrays themselves where no history is wanted."""
    if _tracked((x, y)):
        return getattr(LIFTED, name)(x, y, *statics)
    x, y = on_one_device(name, (x, y))
    device = x._device
    return wrap(getattr(device.backend, name)(x._array, y._array, *statics), device)


def _from_lists(arguments: tuple) -> tuple[str, tuple]:
    """The equation for operands that are each followed by a list of their dimensions."""
    count = len(arguments) // 2
    terms = [_letters(subscripts) for subscripts in arguments[1 : 2 * count : 2]]
    equation = ",".join(terms)
    if len(arguments) % 2:
        equation += "->" + _letters(arguments[-1])
    return equation, arguments[0 : 2 * count : 2]


def _letters(subscripts: Any) -> str:
    text = ""
    if not isinstance(subscripts, (tuple, list)):
        got = type(subscripts).__name__
        raise TypeError(f"einsum(): subscripts must be a list of ints or Ellipsis, not {got}")
    for s in subscripts:
        if s is not Ellipsis and not isinstance(s, int):
            raise TypeError(f"einsum(): a subscript must be int or Ellipsis, not {s!r}")
        if s is not Ellipsis and not 0 <= s < len(_LETTERS):
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range "
                f"[0, {len(_LETTERS)}), got {s}"
            )
        text += "..." if s is Ellipsis else _LETTERS[s]
    return text


@public(method=False, out=Out(dtype="same", history="copied"), in_python=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums of products over pairs of dimensions.

    Args:
        dims: how many of the last dimensions of ``a`` go with the first of ``b``, or two lists:
            dimensions of ``a`` and those of ``b`` they go with.

    Raises:
        RuntimeError: paired dimensions have different sizes, or the dtypes differ.

    Example:
        >>> import nnkit
        >>> nnkit.tensordot(nnkit.ones(2, 3), nnkit.ones(3, 4), dims=1).shape
        nnkit.Size([2, 4])
    """
    x, y = check_operands("tensordot", ("a", a), ("b", b))
    if isinstance(dims, Tensor):
        rows = dims._array.size > 1
        if rows and len(dims) != 2:
            raise AssertionError(f"tensordot(): dims must hold two rows, got {len(dims)}")
        dims = dims.tolist() if rows else int(dims.item())
    if isinstance(dims, (list, tuple)):
        if len(dims) != 2:
            raise ValueError(f"tensordot(): expected two lists of dims, got {dims}")
        for each in dims:
            if not isinstance(each, (tuple, list)):
                got = type(each).__name__
                raise TypeError(
                    f"tensordot(): argument 'dims' must be two lists of ints, not {got}"
                )
        pairs = [
            normalize_dims(sizes_of("tensordot", (d,), None, "dims"), t.ndim, "tensordot") or ()
            for d, t in zip(dims, (x, y))
        ]
        axes_x, axes_y = pairs
    else:
        count = integer("tensordot", "dims", dims)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise RuntimeError(
                f"tensordot(): expects dims >= 0 and no more than both tensors have, got {dims} "
                f"for shapes {list(x.shape)} and {list(y.shape)}"
            )
        axes_x, axes_y = tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    if len(axes_x) != len(axes_y):
        raise RuntimeError(
            f"tensordot(): both dimension lists should have the same length, got {dims}"
        )
    for i, j in zip(axes_x, axes_y, strict=True):
        if y.shape[j] == 1:  # a pair with a size of 1 broadcasts
            a = a.sum(i, True, dtype=a.dtype)
        elif x.shape[i] == 1:
            b = b.sum(j, True, dtype=b.dtype)
        elif x.shape[i] != y.shape[j]:
            raise RuntimeError(
                f"tensordot(): contracted dimensions need to match, but first has size "
                f"{x.shape[i]} in dim {i} and second has size {y.shape[j]} in dim {j}"
            )
    if CASTING.enabled and len(axes_x) + len(axes_y) < a.ndim + b.ndim:
        return _PUBLIC.tensordot(a, b, axes_x, axes_y)
    return as_view(_composed("tensordot", a, b, axes_x, axes_y))


@public(out=Out(axes=by_rows, views_below=math.inf))
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: ``input`` with each element replaced by it times ``other``.

    Raises:
        RuntimeError: the operands lie in memory so that their products are no such matrix without
            a copy (as in torch; `contiguous` helps).

    Example:
        >>> import nnkit
        >>> nnkit.kron(nnkit.eye(2), nnkit.tensor([[1.0, 2.0]]))
        tensor([[1., 2., 0., 0.],
                [0., 0., 1., 2.]])
    """
    check_tensor("kron", input)
    check_tensor("kron", other, "other")
    a, b = input._array.shape, other._array.shape
    a, b = (1,) * (len(b) - len(a)) + a, (1,) * (len(a) - len(b)) + b
    spread_a = tuple([n for size in a for n in (size, 1)])
    spread_b = tuple([n for size in b for n in (1, size)])
    product = mul(input.reshape(spread_a), other.reshape(spread_b))
    # As in torch a view, which not every order in memory allows.
    return on_its_own(product.view(tuple([m * n for m, n in zip(a, b)])))


@public(out=Out(dtype="same"))
@single(node="LinalgCrossBackward0")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product of vectors with three elements along ``dim``.

    Args:
        dim: by default the first dimension of size 3.

    Raises:
        RuntimeError: the dimension has not size 3, or the shapes do not broadcast.

    Example:
        >>> import nnkit
        >>> nnkit.cross(nnkit.tensor([1.0, 0, 0]), nnkit.tensor([0, 1.0, 0]), dim=0)
        tensor([0., 0., 1.])
    """
    x, y = input._array, other._array
    if x.ndim != y.ndim:
        raise RuntimeError(
            "cross(): inputs must have the same number of dimensions, got "
            f"{list(x.shape)} and {list(y.shape)}"
        )
    if dim is None:
        warn_once(
            "Using cross() without specifying the dim arg is deprecated: give it, or use "
            "linalg.cross(), where it is -1 by default"
        )
        found = [d for d, (m, n) in enumerate(zip(x.shape, y.shape)) if m == n == 3]
        if not found:
            raise RuntimeError(
                f"cross(): no dimension of size 3 in input, got shapes {list(x.shape)} and "
                f"{list(y.shape)}"
            )
        dim = found[0]
    axis = normalize_dim(dim, x.ndim, "cross")
    if not x.shape[axis] == y.shape[axis] == 3:
        raise RuntimeError(
            f"cross(): inputs dimension {dim} must have length 3. Got {x.shape[axis]} and "
            f"{y.shape[axis]}"
        )
    if x.shape != y.shape:
        broadcast_shape("cross", [x.shape, y.shape])
    check_operands("cross", ("input", input), ("other", other), kernel="cross")
    out = _composed("cross", input, other, axis)
    saved = [x for x, y in ((input, other), (other, input)) if y.requires_grad]
    return guarded("cross", out, *saved)


@public
@single(node="TraceBackward0")
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix' diagonal.

    Raises:
        RuntimeError: ``input`` is no matrix.

    Example:
        >>> import nnkit
        >>> nnkit.trace(nnkit.eye(3))
        tensor(3.)
    """
    check_tensor("trace", input)
    check_dtype("trace", input.dtype, ("bool",))
    check_ndim("trace", "input", input._array.shape, 2)
    return LIFTED.sum(LIFTED.diagonal(input, 0, 0, 1), None, False)


@public(out=Out(dtype="same", axes=by_rows))
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The product of ``n`` equal square matrices; of the inverses where ``n`` is negative.

    Args:
        input: (*, m, m).

    Raises:
        RuntimeError: the matrices are not square.

    Example:
        >>> import nnkit
        >>> nnkit.matrix_power(nnkit.tensor([[1, 1], [0, 1]]), 5)
        tensor([[1, 5],
                [0, 1]])
    """
    check_tensor("matrix_power", input)
    shape = input._array.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise RuntimeError(
            "matrix_power(): A must be batches of square matrices, but they have shape "
            f"{list(shape)}"
        )
    if integer("matrix_power", "n", n) < 0:
        inverse = input.inverse()
        return inverse if n == -1 else matrix_power(inverse, -n)
    if n < 2:
        out = input.clone(memory_format=contiguous_format)
        return out if n else out.copy_(eye(shape[-1], dtype=input.dtype, device=input.device))
    if n == 3:  # where torch multiplies in another order
        return matmul(matmul(input, input), input)
    square = input
    result: Any = None
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    return result


@takes_out(
    dtype="same", words="multi_dot(): expected out tensor to have dtype {wanted} but got {got}"
)
def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications.

    Args:
        tensors: two or more; the first and the last may be vectors.

    Raises:
        RuntimeError: there are fewer than two, or the shapes do not fit.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.multi_dot([nnkit.ones(2, 3), nnkit.ones(3, 4), nnkit.ones(4)])
        tensor([12., 12.])
    """
    tensors = check_tensors("multi_dot", tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, *_, last = tensors
    chain = list(tensors)
    if first.ndim == 1:
        chain[0] = first.unsqueeze(0)
    if last.ndim == 1:
        chain[-1] = last.unsqueeze(1)
    for i, x in enumerate(chain):
        if x.ndim != 2:
            which = "the first" if not i else "the last" if i == len(chain) - 1 else f"tensor {i}"
            allowed = f"{which} must be 2D"
            if not which.startswith("tensor"):
                allowed = f"{which} tensor must be 1D or 2D"
            raise RuntimeError(f"multi_dot(): {allowed} but got {x.ndim}D")
    for i, x in enumerate(tensors):
        if x.dtype is not first.dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{first.dtype.type_name} and tensor {i} {x.dtype.type_name}"
            )
    check_operands("multi_dot", *[(f"tensors[{i}]", x) for i, x in enumerate(tensors)])
    for x, y in itertools.pairwise(chain):
        check_inner("multi_dot", x._array.shape, y._array.shape)
    out = _product(chain, _best_splits(chain), 0, len(chain) - 1)
    return out.view(first._array.shape[:-1] + last._array.shape[1:])  # as in torch


def _best_splits(chain: list) -> dict:
    """The best split of each range of the chain (dynamic programming over its length)."""
    sizes = [chain[0]._array.shape[0], *(x._array.shape[1] for x in chain)]
    cost = {(i, i): 0 for i in range(len(chain))}
    split = {}
    for length in range(1, len(chain)):
        for i in range(len(chain) - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(options)
    return split


def _product(chain: list, split: dict, i: int, j: int) -> Tensor:
    if i == j:
        return chain[i]
    k = split[i, j]
    return mm(_product(chain, split, i, k), _product(chain, split, k + 1, j))


@public(method=False, out=Out(dtype="same", axes=by_rows))
def chain_matmul(*matrices: Tensor) -> Tensor:
    """`nnkit.linalg.multi_dot` of one or more matrices.

    Example:
        >>> import nnkit
        >>> nnkit.chain_matmul(nnkit.ones(1, 2), nnkit.ones(2, 3), nnkit.ones(3, 1))
        tensor([[6.]])
    """
    warn_once("chain_matmul() is deprecated: use linalg.multi_dot(), which takes a list")
    matrices = check_tensors("chain_matmul", matrices)
    for i, matrix in enumerate(matrices):
        check_ndim("chain_matmul", f"matrices[{i}]", matrix._array.shape, 2)
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)
