"""Products of vectors, matrices and batches of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, broadcasts, check_tensor, size_at
from nnkit.autograd.engine.node import Unknown
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import (
    ASKING,
    agree,
    asking_among,
    cast_inside,
    check_defined,
    together,
)  # fmt: skip
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import check_source, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.memory_format import arranged
from nnkit.autograd.ops.elementwise.arithmetic import factor_of
from nnkit.autograd.ops.elementwise.conjugation import conj
from nnkit.autograd.ops.shape.reshaping import squeeze, unsqueeze
from nnkit.autograd.surface.limits import fitting
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.autograd.views.writes import check_fits, write
from nnkit.backend.dtype import BOOL, FLOATING, promote_types
from nnkit.backend.lazy import is_conj
from nnkit.backend.memory import by_rows


def _grad_matmul_x(B: Any, g: Any, y: Any, x_shape: tuple, x_rows: bool) -> Any:
    if len(x_shape) > 2:
        return B.matmul(g, B.mH(y))
    # One matrix for all: torch multiplies the transposed batch, as one matrix.
    y, g = rows(B, B.mH(y)), rows(B, B.mT(g))
    return B.mm(B.mT(g), y) if x_rows else B.mT(B.mm(B.mT(y), g))


def _grad_matmul_y(B: Any, g: Any, x: Any, y_shape: tuple, y_columns: bool, needs: tuple) -> Any:
    if len(y_shape) == 2:
        return grad_mm_y(B, rows(B, g), rows(B, x), y_columns)
    single = x.ndim == 2 or x.ndim == 3 == len(y_shape) and x.shape[0] == 1 < y_shape[0]
    if single and needs[0]:  # the transposed batch, again
        return B.mT(B.matmul(B.mT(g), B.conj(x)))
    return B.matmul(B.mH(x), g)


def rows(B: Any, x: Any) -> Any:
    """The operand with all leading dimensions as one."""
    shape = tuple(x.shape)
    return x if len(shape) == 2 else B.reshape(x, (math.prod(shape[:-1]), shape[-1]))


def _grad_scaled(B: Any, g: Any, alpha: float) -> Any:
    return g if alpha == 1 else B.mul(g, alpha.conjugate())


def grad_mm_x(B: Any, g: Any, y: Any, x_columns: bool) -> Any:
    """The gradient of a product's first factor, by columns where the factor lies so."""
    return B.mT(B.mm(B.conj(y), B.mT(g))) if x_columns else B.mm(g, B.mH(y))


def grad_mm_y(B: Any, g: Any, x: Any, y_columns: bool) -> Any:
    return B.mT(B.mm(B.mT(g), B.conj(x))) if y_columns else B.mm(B.mH(x), g)


_mm = rule("mm", x=grad_mm_x, y=grad_mm_y)
# The second is `bmm`; of torch's `matmul` the last step is a view.
_matched, _bmm = [
    rule(
        "bmm", node=node,
        x=lambda B, g, y: B.bmm(g, B.mH(y)), y=lambda B, g, x: B.bmm(B.mH(x), g),
    )
    for node in ("UnsafeViewBackward0", "BmmBackward0")
]  # fmt: skip


def _copied_if_added(input: Any, x: Any, y: Any, beta: Any, alpha: Any) -> str | None:
    """Torch writes the product onto a copy of what it is added to, or of a view of that which has
    the shape of the product."""
    alike = input._array.shape == (*x._array.shape[:-1], y._array.shape[-1])
    return "copied" if beta and alike else None


_mv = rule(
    "mv", alone="recorded", x=lambda B, g, y: B.mul(B.unsqueeze(g, 1), B.conj(y)),
    y=lambda B, g, x: B.mv(B.mH(x), g),
)  # fmt: skip
_dot = rule("dot", x=lambda B, g, y: B.mul(B.conj(y), g), y=lambda B, g, x: B.mul(B.conj(x), g))
_vdot = rule("vdot", x=lambda B, g, y: B.mul(y, B.conj(g)), y=lambda B, g, x: B.mul(x, g))
_matmul = rule(
    "matmul", node="UnsafeViewBackward0", broadcasts=True, x=_grad_matmul_x, y=_grad_matmul_y
)
rule("mH", node="TransposeBackward0", x=lambda B, g: B.mH(g))
_addmm = rule(
    "addmm", alone=_copied_if_added, broadcasts=True,
    input=lambda B, g, beta: _grad_scaled(B, g, beta),
    x=lambda B, g, y, x_columns, alpha: _grad_scaled(B, grad_mm_x(B, g, y, x_columns), alpha),
    y=lambda B, g, x, y_columns, alpha: _grad_scaled(B, grad_mm_y(B, g, x, y_columns), alpha),
)  # fmt: skip
_baddbmm = rule(
    "baddbmm", alone=_copied_if_added, broadcasts=True,
    input=lambda B, g, beta: _grad_scaled(B, g, beta),
    x=lambda B, g, y, alpha: _grad_scaled(B, B.bmm(g, B.mH(y)), alpha),
    y=lambda B, g, x, alpha: _grad_scaled(B, B.bmm(B.mH(x), g), alpha),
)  # fmt: skip


def check_operands(name: str, *operands: tuple[str, Any], kernel: str = "") -> list[Any]:
    """The arrays of operands (parameter, tensor) that must be Tensors of one dtype.

    Where they are not, and the first has a dtype that the primitive ``kernel`` is not defined for,
    that is said instead: torch chooses such a kernel by its first operand.
    """
    values = tuple([value for _, value in operands])
    for parameter, value in () if agree(values) else operands:
        check_tensor(name, value, parameter)
    arrays = [value._array for value in values]
    for (parameter, value), array in zip(operands, arrays, strict=True):
        if array.dtype != arrays[0].dtype:
            if kernel:
                check_defined(name, kernel, operands[0][1])
            raise RuntimeError(
                f"{name}(): expected all operands to have the same dtype: expected scalar type "
                f"{operands[0][1].dtype.scalar_type} but found {value.dtype.scalar_type} for "
                f"argument '{parameter}'"
            )
    return arrays


def sizes(shape: tuple) -> str:
    return "x".join(map(str, shape))


def check_inner(name: str, x: tuple, y: tuple) -> None:
    if x[-1] != y[0 if len(y) == 1 else -2]:
        if len(y) == 1:
            raise RuntimeError(
                f"{name}(): shape {list(x)} cannot be multiplied by a vector of {y[0]} elements"
            )
        raise RuntimeError(
            f"{name}(): mat1 and mat2 shapes cannot be multiplied ({sizes(x)} and {sizes(y)})"
        )


def check_ndim(name: str, parameter: str, shape: tuple, ndim: int) -> None:
    if len(shape) != ndim:
        raise RuntimeError(
            f"{name}(): argument '{parameter}' must have {ndim} dimensions, got shape {list(shape)}"
        )


def _overload(operands: tuple) -> str:
    return "matmul" if all(t.ndim == 2 for t in operands) else "bmm"


@public(out=Out(dtype="same", history="flags", overload=_overload))
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product, ``input @ other``.

    Args:
        input, other: vectors (their dot product, or matrix times vector), matrices, or batches of
            matrices whose leading dimensions broadcast.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, or an operand has no dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([[1.0, 2.0], [3.0, 4.0]]) @ nnkit.tensor([1.0, 1.0])
        tensor([3., 7.])
    """
    try:
        x, y = input._array, other._array
        if x.ndim == 2 == y.ndim and x.dtype is y.dtype and x.shape[1] == y.shape[0]:
            return _mm(input, other)
        if ASKING and x.ndim == 2 == y.ndim and asking_among((input, other)):
            return _mm(input, other)
    except AttributeError:
        check_operands("matmul", ("input", input), ("other", other))
        raise
    a, b = x.shape, y.shape
    if not a or not b:
        raise RuntimeError(
            f"matmul(): both arguments need to be at least 1D, but they are {len(a)}D and {len(b)}D"
        )
    check_inner("matmul", a if len(a) > 1 else (1, *a), b)
    for d in range(3, min(len(a), len(b)) + 1):
        if a[-d] != b[-d] and 1 not in (a[-d], b[-d]):
            raise RuntimeError(
                f"matmul(): batch dimensions do not broadcast: got shapes {list(a)} and {list(b)}"
            )
    if x.dtype is not y.dtype:
        if max(len(a), len(b)) > 2 and not _is_folded(input, other):
            input = of_one_dtype("matmul", input, other)
        else:
            check_operands("matmul", ("input", input), ("other", other))
    if MODE.enabled and max(len(a), len(b)) > 2 and _minds_steps(input, other):
        return _product_by_steps(input, other)
    if len(b) == 2:
        if len(a) == 2:
            return _mm(input, other)
        if len(a) == 1:
            return on_its_own(squeeze(_mm(unsqueeze(input, 0), other), 0))
        return _matmul(input, other)
    if len(b) == 1:
        if len(a) <= 2:
            return _mv(input, other) if len(a) == 2 else _product_of_vectors(input, other)
        return on_its_own(squeeze(_matmul(input, unsqueeze(other, 1)), -1))
    if len(a) == 1:
        return on_its_own(squeeze(matmul(unsqueeze(input, 0), other), -2))
    return (_matched if len(a) == len(b) == 3 and a[:1] == b[:1] else _matmul)(input, other)


def _minds_steps(input: Tensor, other: Tensor) -> bool:
    """Whether it can be seen that torch multiplies batches in several steps: inference tensors have
    no history then, and what had to be copied may be written before backward."""
    if input.is_inference() or other.is_inference():
        return True
    if len(other._array.shape) > len(input._array.shape):
        return len(input._array.shape) < 3 and input.requires_grad
    return len(other._array.shape) < 3 and other.requires_grad and not by_rows(input._array)


def _product_by_steps(input: Tensor, other: Tensor) -> Tensor:
    """The product of batches in the steps of torch: of those that only concern an inference tensor
    its autograd knows nothing, and of copies that it makes of one it does."""
    a, b = input._array.shape, other._array.shape
    mirrored = len(b) > len(a)
    large, small = (other.mT, input) if mirrored else (input, other)
    rows = large._array.shape[:-1]
    if _is_folded(input, other):
        right = small.t() if mirrored and len(a) == 2 else small
        out = matmul(large.reshape(math.prod(rows), large._array.shape[-1]), right)
        out = on_its_own(out.reshape(*rows, *right._array.shape[1:]))
        return out.mT.contiguous() if mirrored and right.ndim == 2 else out
    if len(a) == len(b) == 3 and a[0] != b[0]:
        if a[0] == 1 and input.requires_grad:
            return matmul(input.squeeze(0), other)
        if b[0] == 1 and other.requires_grad:
            return matmul(input, other.squeeze(0))
    batch = broadcast_shape("matmul", [a[:-2], b[:-2]])
    left, right = (1, *a)[-2:], b[-2:]
    x = input.expand(*batch, *left).reshape(math.prod(batch), *left)
    y = other.expand(*batch, *right).reshape(math.prod(batch), *right)
    out = _bmm(x, unsqueeze(y, 2) if len(b) == 1 else y)
    return on_its_own(out.reshape(*batch, *a[-2:-1], *b[1:][-1:]))


def _is_folded(input: Tensor, other: Tensor) -> bool:
    """Whether torch makes one matrix of a batch, in place of a batch of the other operand: for the
    gradient of that, or where it needs no copy."""
    mirrored = other.ndim > input.ndim
    large, small = (other.mT, input) if mirrored else (input, other)
    if small.ndim > 2:
        return False
    shape, strides = large.shape[:-1], large.stride()[:-1]
    return small.requires_grad or (
        input.ndim != 2
        and (
            not large._array.size
            or all(s == t * n for s, t, n in zip(strides, strides[1:], shape[1:]))
        )
    )


@public(out=Out(dtype="same"))
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices.

    Raises:
        RuntimeError: an operand is no matrix, the shapes do not fit, or the dtypes differ.

    Example:
        >>> import nnkit
        >>> nnkit.mm(nnkit.ones(2, 3), nnkit.ones(3, 1))
        tensor([[3.],
                [3.]])
    """
    if ASKING and asking_among((input, mat2)):  # whose class knows what fits
        return _mm(input, mat2)
    x, y = check_operands("mm", ("input", input), ("mat2", mat2))
    check_ndim("mm", "input", x.shape, 2)
    check_ndim("mm", "mat2", y.shape, 2)
    check_inner("mm", x.shape, y.shape)
    return _mm(input, mat2)


@public(out=Out(dtype="same"))
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices, (b, n, k) and (b, k, m).

    Raises:
        RuntimeError: an operand has not 3 dimensions, the shapes do not fit, or the dtypes differ.

    Example:
        >>> import nnkit
        >>> nnkit.bmm(nnkit.ones(2, 1, 3), nnkit.ones(2, 3, 1)).shape
        nnkit.Size([2, 1, 1])
    """
    _check_batches("bmm", input, mat2)
    return _bmm(of_one_dtype("bmm", input, mat2), mat2)


def viewed(operand: Tensor) -> Tensor:
    """An operand as the view that torch makes of it first: that of an inference tensor has no
    history, that of a view without history has one of its own."""
    if operand.is_inference():
        return operand.detach()
    return operand[...] if operand._edge.__class__ is Unknown else operand


def of_one_dtype(name: str, input: Tensor, mat2: Tensor) -> Tensor:
    """The first factor of a product of batches, checked to have the dtype of the second; torch asks
    for it only where there are numbers to multiply."""
    if 0 in input._array.shape or 0 in mat2._array.shape:
        check_source(name, mat2, input, "input")
        return cast_inside(input, mat2.dtype)
    check_operands(name, ("input", input), ("mat2", mat2), kernel="bmm")
    return input


def _check_batches(name: str, batch1: Tensor, batch2: Tensor) -> None:
    x, y = batch1._array.shape, batch2._array.shape
    check_ndim(name, "batch1", x, 3)
    check_ndim(name, "batch2", y, 3)
    if y[0] != x[0] or y[1] != x[2]:
        raise RuntimeError(
            f"{name}(): expected size for first two dimensions of batch2 tensor to be: "
            f"{[x[0], x[2]]} but got: {[y[0], y[1]]}"
        )


@public(out=Out(dtype="same"))
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector.

    Example:
        >>> import nnkit
        >>> nnkit.mv(nnkit.tensor([[1.0, 2.0], [3.0, 4.0]]), nnkit.tensor([1.0, 1.0]))
        tensor([3., 7.])
    """
    size_at("mv", input, 0)
    x, y = check_operands("mv", ("input", input), ("vec", vec))
    check_ndim("mv", "input", x.shape, 2)
    check_ndim("mv", "vec", y.shape, 1)
    check_inner("mv", x.shape, y.shape)
    return _mv(input, vec)


def _vectors(name: str, input: Tensor, other: Tensor) -> None:
    x, y = check_operands(name, ("input", input), ("tensor", other))
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(
            f"{name}(): 1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors"
        )
    if x.shape != y.shape:
        raise RuntimeError(
            f"{name}(): inconsistent tensor size, expected tensors with the same number of "
            f"elements, but got {x.size} and {y.size} elements respectively"
        )


_WRONG_RESULT = "result dtype {got} does not match input dtype {wanted}"


@public(out=Out(dtype="same", words=_WRONG_RESULT))
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements.

    Example:
        >>> import nnkit
        >>> nnkit.dot(nnkit.tensor([2.0, 3.0]), nnkit.tensor([2.0, 1.0]))
        tensor(7.)
    """
    _vectors("dot", input, tensor)
    return _product_of_vectors(input, tensor)


def _product_of_vectors(x: Tensor, y: Tensor) -> Tensor:
    """`dot` without its checks: the product of two conjugates is put off as they are."""
    if is_conj(x._array) and is_conj(y._array):
        return conj(_dot(conj(x), conj(y)))
    return _dot(x, y)


@public(out=Out(dtype="same", words=_WRONG_RESULT))
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """`dot` with the complex conjugate of ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.vdot(nnkit.tensor([1j, 1.0]), nnkit.tensor([1j, 2.0]))
        tensor(3.+0.j)
    """
    _vectors("vdot", input, other)
    if is_conj(other._array) and not is_conj(input._array):
        return conj(_dot(input, conj(other)))
    return _vdot(input, other)


@public(out=Out(checks_first=True), aliases=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of an element of ``input`` and one of ``vec2``.

    Raises:
        RuntimeError: an operand is no vector.

    Example:
        >>> import nnkit
        >>> nnkit.outer(nnkit.tensor([1, 2]), nnkit.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """
    for parameter, value in (("self", input), ("vec2", vec2)):
        check_tensor("outer", value, parameter)
        if value.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {parameter}, but got {value.ndim}-D")
    return unsqueeze(input, 1) * vec2


def _scales(name: str, input: Tensor, *scales: Any) -> Any:
    """Integers are scaled by integers, as torch does.

    RuntimeError for a factor that their dtype does not hold.
    """
    if input.dtype.category >= FLOATING:
        return scales
    return [fitting(name, scale, input.dtype) for scale in scales]


def _check_added(name: str, shape: tuple, wanted: tuple) -> None:
    """The added tensor must broadcast to the product."""
    if not broadcasts(shape, wanted):
        raise RuntimeError(
            f"{name}(): argument 'input' of shape {list(shape)} cannot be expanded to the "
            f"product's shape {list(wanted)}"
        )


def _writing(name: str, check: Callable) -> Callable:
    """The in-place form of the added product ``name``, whose shape ``check`` gives: that it does
    not fit is said before that there is no kernel for the dtype."""

    def compute(input: Tensor, *factors: Tensor, **scales: Any) -> Tensor:
        check_fits(f"{name}_", check(input, *factors), input)
        return globals()[name](input, *factors, **scales)

    def write_in_place(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        return write(self, f"{name}_", compute, *arguments, **options)

    return write_in_place


def _check_addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> tuple[int, ...]:
    """The shape of the product; errors where operands do not fit."""
    c, x, y = check_operands("addmm", ("input", input), ("mat1", mat1), ("mat2", mat2))
    check_ndim("addmm", "mat1", x.shape, 2)
    check_ndim("addmm", "mat2", y.shape, 2)
    check_inner("addmm", x.shape, y.shape)
    shape = x.shape[0], y.shape[1]
    _check_added("addmm", c.shape, shape)
    return shape


@public(out=Out(dtype="same"), in_place=_writing("addmm", _check_addmm))
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; with ``beta=0`` not even a NaN of ``input`` counts.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    Example:
        >>> import nnkit
        >>> nnkit.addmm(nnkit.ones(2), nnkit.ones(1, 3), nnkit.ones(3, 2), alpha=2)
        tensor([[7., 7.]])
    """
    _check_addmm(input, mat1, mat2)
    return _addmm(input, mat1, mat2, *_scales("addmm", input, beta, alpha))


def _check_baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor) -> tuple[int, ...]:
    """The shape of the product; errors where operands do not fit, in torch's order."""
    size_at("baddbmm", batch1, 1, "batch1")
    size_at("baddbmm", batch2, 2, "batch2")
    _check_batches("baddbmm", batch1, batch2)
    shape = (*batch1._array.shape[:2], batch2._array.shape[2])
    _check_added("baddbmm", input._array.shape, shape)
    check_operands("baddbmm", ("input", input), ("batch1", batch1))
    return shape


@public(out=Out(dtype="same"), in_place=_writing("baddbmm", _check_baddbmm))
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(1, 1, 2)
        >>> nnkit.baddbmm(nnkit.ones(1, 1, 1), x, x.mT, beta=10)
        tensor([[[12.]]])
    """
    _check_baddbmm(input, batch1, batch2)
    check_operands("baddbmm", ("batch1", batch1), ("batch2", batch2), kernel="baddbmm")
    return _baddbmm(input, batch1, batch2, *_scales("baddbmm", input, beta, alpha))


@public(out=Out(dtype="same", warning=""), in_place=True)
@single(node="AddbmmBackward0")
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * sum(batch1 @ batch2)``, summed over the batch.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(2, 1, 2)
        >>> nnkit.addbmm(nnkit.zeros(1, 1), x, x.mT)
        tensor([[4.]])
    """
    size_at("addbmm", batch1, 1, "batch1")
    size_at("addbmm", batch2, 2, "batch2")
    c, x, y = check_operands("addbmm", ("input", input), ("batch1", batch1), ("batch2", batch2))
    _check_batches("addbmm", batch1, batch2)
    _check_added("addbmm", c.shape, (x.shape[1], y.shape[2]))
    # The sum over the batch is one long product.
    left = batch1.permute(1, 0, 2).reshape(x.shape[1], x.shape[0] * x.shape[2])
    right = batch2.reshape(y.shape[0] * y.shape[1], y.shape[2])
    return _addmm(input, left, right, *_scales("addbmm", input, beta, alpha))


def _check_addmv(input: Tensor, mat: Tensor, vec: Tensor) -> tuple[int, ...]:
    """The shape of the product; errors where operands do not fit."""
    c, x, y = check_operands("addmv", ("input", input), ("mat", mat), ("vec", vec))
    check_ndim("addmv", "mat", x.shape, 2)
    check_ndim("addmv", "vec", y.shape, 1)
    check_inner("addmv", x.shape, y.shape)
    _check_added("addmv", c.shape, x.shape[:1])
    return x.shape[:1]


@public(out=Out(dtype="same"), in_place=_writing("addmv", _check_addmv))
@single(node="AddmvBackward0")
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``.

    Example:
        >>> import nnkit
        >>> nnkit.addmv(nnkit.ones(2), nnkit.eye(2), nnkit.tensor([3.0, 4.0]))
        tensor([4., 5.])
    """
    _check_addmv(input, mat, vec)
    column = _addmm(
        unsqueeze(input, -1), mat, unsqueeze(vec, 1), *_scales("addmv", input, beta, alpha)
    )
    return on_its_own(squeeze(column, 1))


@public(out=Out(checks_first=True), in_place=True)
@single(node="AddrBackward0")
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``.

    Example:
        >>> import nnkit
        >>> nnkit.addr(nnkit.zeros(2, 2), nnkit.tensor([1.0, 2.0]), nnkit.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    for parameter, value in (("vec1", vec1), ("vec2", vec2)):
        check_tensor("addr", value, parameter)
        check_ndim("addr", parameter, value._array.shape, 1)
    if not agree((input, vec1, vec2)):  # a number's dtype counts as a matrix's does
        common = reduce(promote_types, [t.dtype for t in (input, vec1, vec2)])
        input, vec1, vec2 = (cast_inside(t, common) for t in together("addr", input, vec1, vec2))
    for parameter, value in (("beta", beta), ("alpha", alpha)):
        if value.__class__ is not int or value != 1:
            factor_of("addr", value, input, parameter=parameter)
    _check_added("addr", input._array.shape, vec1._array.shape + vec2._array.shape)
    if input.dtype.category == BOOL:
        scales = {"beta": int(beta), "alpha": int(alpha)}  # type: ignore[arg-type]
        return addr(input.byte(), vec1.byte(), vec2.byte(), **scales).bool()
    column, row = unsqueeze(vec1, 1), unsqueeze(vec2, 0)
    result = _addmm(input, column, row, *_scales("addr", input, beta, alpha))
    return arranged(result, input, column, row)
