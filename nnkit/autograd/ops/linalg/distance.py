"""Distances between vectors, and the cosine of the angle between them."""

from __future__ import annotations

from nnkit.autograd.arguments.dims import broadcast_shape, check_tensor, normalize_dim
from nnkit.autograd.grad_mode import no_grad
from nnkit.autograd.op.promotion import check_dtype, promoted_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import guarded, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.ops.creation.factories import ones_like
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.linalg.products import matmul
from nnkit.autograd.ops.reduction.vector_norm import vector_norm
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import FLOATING


@public(method=False)
@single(node="NormBackward1")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` over the last dimension.

    Args:
        x1: (N, D) or (D,).
        x2: of a shape that broadcasts with it.
        p: the norm.
        eps: keeps the derivative finite where the two agree.
        keepdim: keep the last dimension with size 1.

    Example:
        >>> import nnkit
        >>> nnkit.pairwise_distance(nnkit.tensor([[3.0, 0.0]]), nnkit.tensor([[0.0, 4.0]]))
        tensor([5.])
    """
    check_tensor("pairwise_distance", x1, "x1")
    check_tensor("pairwise_distance", x2, "x2")
    return vector_norm("pairwise_distance", x1 - x2 + eps, p, -1, keepdim)


@public(method=False)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps))`` along a dimension.

    Args:
        x1: floating point.
        x2: of a shape that broadcasts with it.
        dim: a dimension of the common shape, which the result lacks.
        eps: keeps the quotient finite.

    Raises:
        RuntimeError: the common dtype is not floating point.
        IndexError: ``dim`` is out of range.

    Example:
        >>> import nnkit
        >>> nnkit.cosine_similarity(nnkit.tensor([[3.0, 0.0]]), nnkit.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """
    check_tensor("cosine_similarity", x1, "x1")
    check_tensor("cosine_similarity", x2, "x2")
    common = promoted_dtype("cosine_similarity", x1, x2)
    if common.category != FLOATING:
        raise RuntimeError(
            "cosine_similarity(): expected common dtype to be floating point, yet common dtype is "
            f"{common}"
        )
    # As in torch, each is normalised in its own dtype if it has one with fractions.
    x, y = (t if t.dtype.category == FLOATING else t.to(common) for t in (x1, x2))
    if not eps >= 0:
        raise RuntimeError(f"cosine_similarity(): eps must be non-negative, got {eps}")
    ndim = max(x.ndim, y.ndim)
    shape = broadcast_shape("cosine_similarity", [x.shape, y.shape])
    axis = normalize_dim(dim, ndim, "cosine_similarity") - ndim
    units = []
    for each in (x, y):
        whole = each if x.shape == y.shape else each.expand(shape)
        length = vector_norm("cosine_similarity", whole, 2, axis if ndim else None, True).clone()
        with no_grad():  # as in torch the bound has no part in the derivative
            if length.dtype.itemsize == 2:  # whose bound may be infinite
                length.copy_(length.float().clamp_min_(eps))
            else:
                length.clamp_min_(eps)
        units.append(whole / length)
    return (units[0] * units[1]).sum(axis)


_pdist = rule("pdist", x=lambda B, g, x, out, p: B.pdist_grad(g, x, out, p))
_cdist = rule(
    "cdist",
    broadcasts=True,
    x=lambda B, g, x, y, out, p: B.cdist_grad(g, x, y, out, p),
    y=lambda B, g, x, y, out, p: B.cdist_grad(B.mT(g), y, x, B.mT(out), p),
)


@public(method=False)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows i < j, one after the other.

    Args:
        input: (N, D).
        p: the norm, at least 0.

    Returns:
        A tensor of N (N - 1) / 2 distances.

    Raises:
        RuntimeError: ``input`` is no matrix, or ``p`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.pdist(nnkit.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    check_tensor("pdist", input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist(): only supports 2D tensors, got shape {list(input.shape)}")
    if input.dtype.category != FLOATING:
        raise RuntimeError(f"pdist(): expected a floating dtype, got {input.dtype}")
    if not p >= 0:
        raise RuntimeError(f"pdist(): only supports non-negative p values, got {p}")
    if len(input) > 1 and input._array.size:
        check_dtype("pdist", input.dtype, ("half",))
    return _pdist(input, p)


@public(method=False, in_python=True)
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The p-norm distance of each row of ``x1`` to each row of ``x2``.

    Args:
        x1: (*, n, d).
        x2: (*, m, d), whose leading dimensions broadcast with those of ``x1``.
        compute_mode: whether Euclidean distances come of a matrix product, of the identity
            ``|x - y|^2 = |x|^2 - 2 x y + |y|^2``, which is fast and loses digits where rows are
            close: "use_mm_for_euclid_dist" or "donot_use_mm_for_euclid_dist"; by default, where
            there are more than 25 rows on a side.

    Returns:
        (*, n, m). The gradient of a distance of 0 is 0.

    Raises:
        RuntimeError: an operand has less than two dimensions or no floating-point dtype, the last
            dimensions or the dtypes differ, or ``p`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.cdist(nnkit.tensor([[0.0, 0.0]]), nnkit.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    for parameter, value in (("x1", x1), ("x2", x2)):
        check_tensor("cdist", value, parameter)
        if value.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {parameter} got: {value.ndim}D"
            )
    always = "use_mm_for_euclid_dist"
    modes = always, f"donot_{always}", f"{always}_if_necessary"
    if compute_mode not in modes:
        raise ValueError(f"cdist(): {compute_mode!r} is not a valid value for compute_mode")
    if not x1.dtype.category == x2.dtype.category == FLOATING:
        raise RuntimeError(
            f"cdist(): expected x1 and x2 of a floating dtype, got {x1.dtype} and {x2.dtype}"
        )
    if x1._array.shape[-1] != x2._array.shape[-1]:
        raise RuntimeError(
            f"cdist(): X1 and X2 must have the same number of columns, got "
            f"{x1._array.shape[-1]} and {x2._array.shape[-1]}"
        )
    batch = broadcast_shape("cdist", [x1._array.shape[:-2], x2._array.shape[:-2]])
    if not p >= 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    rows = max(x1._array.shape[-2], x2._array.shape[-2])
    some = x1._array.size and x2._array.size
    # torch takes the product from 26 rows on, where it may choose.
    by_product = p == 2 and (compute_mode == always or (compute_mode == modes[2] and rows > 25))
    if some and not by_product:
        check_dtype("cdist", x1.dtype, ("half",))
    if x1.dtype is not x2.dtype:
        if some:
            raise RuntimeError(
                f"cdist(): expected x1 and x2 of one dtype, got {x1.dtype} and {x2.dtype}"
            )
        x2 = converted(x2, x1.dtype)
    if by_product:
        return _cdist_by_product(x1, x2, batch)
    return _cdist(x1, x2, p)


@single(name="cdist", node="CdistBackward0")
def _cdist_by_product(x1: Tensor, x2: Tensor, batch: tuple) -> Tensor:
    """The Euclidean distances as one matrix product of rows that are longer by two columns."""
    # As in torch, which so saves a copy of what is broadcast.
    x1, x2 = [x.expand(*batch, -1, -1).contiguous() for x in (x1, x2)]
    squares = [(x * x).sum(-1, True) for x in (x1, x2)]
    ones = [ones_like(square) for square in squares]
    left = cat([x1 * -2, squares[0], ones[0]], -1)
    right = cat([x2, ones[1], squares[1]], -1)
    squared = matmul(left, right.mT)
    nowhere = squared <= 0  # there the gradient is 0, as in torch
    out = where(nowhere, 0, where(nowhere, 1, squared).sqrt())
    return guarded("cdist", out, x1, x2, out)
