"""Linear and bilinear maps as functions."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.linalg.linear import bilinear, linear
from nnkit.autograd.ops.linalg.products import matmul
from nnkit.autograd.ops.shape.joining import cat, stack
from nnkit.backend.dtype import bfloat16, float16, float32, int32

__all__ = ["bilinear", "grouped_mm", "linear"]
_ALIGNED = 16  # bytes, to which torch's kernels for GPUs hold every row


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """The products of groups of matrices, which may lie in one matrix each.

    ======== ======== ======================================= =========
    mat_a    mat_b    the groups                              result
    ======== ======== ======================================= =========
    (M, K)   (G, K, N) rows of ``mat_a``                       (M, N)
    (G, M, K) (K, N)   columns of ``mat_b``                    (M, N)
    (M, K)   (K, N)   columns of ``mat_a``, rows of ``mat_b`` (G, M, N)
    (G, M, K) (G, K, N) each                                   (G, M, N)
    ======== ======== ======================================= =========

    Args:
        mat_a, mat_b: of one dtype, float32, bfloat16 or float16; of their last two strides one is
            1 and the other a multiple of 16 bytes.
        offs: (G,), int32: where each group ends. What comes after the last one is 0 here, and
            anything in torch.
        bias: not there, as in torch.
        out_dtype: that of ``mat_a``.

    Raises:
        RuntimeError: shapes, dtypes, strides or ``offs`` are others.

    Example:
        >>> import nnkit
        >>> rows, tables = nnkit.ones(3, 4), nnkit.ones(2, 4, 4)
        >>> ends = nnkit.tensor([1, 3], dtype=nnkit.int32)
        >>> nnkit.nn.functional.grouped_mm(rows, tables, offs=ends).shape
        nnkit.Size([3, 4])
    """
    _check_groups(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return matmul(mat_a, mat_b)
    ends = offs.tolist()
    groups = [slice(start, end) for start, end in zip([0, *ends], ends)]
    if mat_a.ndim == mat_b.ndim:
        return stack([matmul(mat_a[:, group], mat_b[group]) for group in groups])
    if mat_a.ndim == 2:
        size, dim = mat_a.shape[0], 0
        pieces = [matmul(mat_a[group], b) for group, b in zip(groups, mat_b)]
        last = (0, mat_b.shape[2])
    else:
        size, dim = mat_b.shape[1], 1
        pieces = [matmul(a, mat_b[:, group]) for group, a in zip(groups, mat_a)]
        last = (mat_a.shape[1], 0)
    missing = [*last]
    missing[dim] = max(size - sum(piece.shape[dim] for piece in pieces), 0)
    out = cat([*pieces, mat_a.new_zeros(missing)], dim)
    beside = -out.shape[1] % (_ALIGNED // out.dtype.itemsize)  # as torch's lie in memory
    return cat([out, out.new_zeros(out.shape[0], beside)], 1)[:, : out.shape[1]] if beside else out


def _check_groups(a: Tensor, b: Tensor, offs: Any, bias: Any, out_dtype: Any) -> None:
    for name, each in (("mat_a", a), ("mat_b", b)):
        if each.dtype not in (float32, bfloat16, float16):
            raise RuntimeError(
                f"grouped_mm(): {name} must be float32, bfloat16 or float16, got {each.dtype.name}"
            )
        if each.ndim not in (2, 3):
            raise RuntimeError(f"grouped_mm(): {name} must have 2 or 3 dimensions, got {each.ndim}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"grouped_mm(): got two dtypes, {a.dtype.name} and {b.dtype.name}")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"grouped_mm(): mat_a has {a.shape[-1]} columns, mat_b {b.shape[-2]} rows"
        )
    for name, each in (("mat_a", a), ("mat_b", b)):
        strides = each.stride()[-2:]
        least, other = min(strides), max(strides)
        if least != 1 or other * each.dtype.itemsize % _ALIGNED:
            raise RuntimeError(
                f"grouped_mm(): strides must be multiples of {_ALIGNED} bytes, those of {name} are "
                f"{list(each.stride())}"
            )
    if (offs is None) is (a.ndim == 2 or b.ndim == 2):
        raise RuntimeError(
            "grouped_mm(): offs is needed for matrices of 2 dimensions, and for them"
        )
    if offs is None:
        count = b.shape[0]
    elif offs.ndim != 1 or offs.dtype is not int32:
        raise RuntimeError(
            f"grouped_mm(): offs must be one row of int32, got {list(offs.shape)} {offs.dtype.name}"
        )
    else:
        count = offs.shape[0]
    if any(each.ndim == 3 and each.shape[0] != count for each in (a, b)):
        raise RuntimeError(f"grouped_mm(): expected {count} matrices, got {list(a.shape)} and "
                           f"{list(b.shape)}")  # fmt: skip
    if bias is not None:
        raise RuntimeError("grouped_mm(): bias is not there, as in torch")
    if out_dtype is not None and out_dtype is not a.dtype:
        raise RuntimeError(f"grouped_mm(): out_dtype must be {a.dtype.name}, got {out_dtype}")
