"""Embedding: rows of a table by index."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.arguments.sizes import check_shape, integer
from nnkit.autograd.batch.examples import join_index
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import real_gradient, rule
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.writes import write
from nnkit.backend.dtype import FLOATING, int32, int64


def _grad_embedding_grad(B: Any, g_out: Any, index: Any, padding_idx: int | None) -> Any:
    """The rows of ``g_out`` at the indices, not divided by how often each occurs, as in torch."""
    rows = B.embedding(g_out, index, padding_idx, False)
    if padding_idx is None:
        return rows
    return B.where(B.unsqueeze(B.ne(index, padding_idx), -1), rows, B.zeros_like(rows))


rule("embedding_grad", node="EmbeddingDenseBackwardBackward0", g=_grad_embedding_grad)
_embedding = rule(
    "embedding",
    linear=True,
    weight=lambda B, g, index, weight_shape, padding_idx, scale_grad_by_freq: B.embedding_grad(
        g, index, weight_shape[0], padding_idx, scale_grad_by_freq
    ),
)


def _grad_bag_table(
    B: Any, g: Any, index: Any, bags: Any, factors: Any, weight_shape: tuple
) -> Any:
    """For each row of the table, the sum of what the bags give back that have read it."""
    order = B.argsort(index, 0, False)
    readers, rows = B.index_select(bags, order, 0), B.index_select(index, order, 0)
    if factors is not None:
        factors = B.conj(B.index_select(factors, order, 0))
    return B.bag_sum(g, readers, B.cast(rows, int64.array), factors, weight_shape[0])


def _grad_bag_factors(B: Any, g: Any, weight: Any, index: Any, bags: Any) -> Any:
    rows = B.index_select(weight, index, 0)
    return B.sum(B.mul(B.index_select(g, bags, 0), B.conj(rows)), (1,), False)


bag_sum = rule(
    "bag_sum",
    node="EmbeddingBagBackward0",
    weight=_grad_bag_table,
    factors=_grad_bag_factors,
)


def _grad_bag_max(B: Any, g_out: Any, rows: Any, x_shape: tuple) -> Any:
    if not x_shape[0]:
        return B.getitem(g_out, (slice(0, 0),))
    known = B.where(B.ge(rows, 0), g_out, B.zeros_like(g_out))
    return B.gather_adjoint(known, B.maximum(rows, 0), 0, x_shape)


bag_max = rule(
    "bag_max", node="EmbeddingBagBackward0", nondifferentiable=("rows",), x=_grad_bag_max
)


def check_indices(name: str, indices: Tensor, parameter: str = "indices") -> None:
    """RuntimeError unless the dtype is int32 or int64."""
    check_tensor(name, indices, parameter)
    if indices.dtype is not int64 and indices.dtype is not int32:
        raise RuntimeError(
            f"{name}(): Expected tensor for argument '{parameter}' to have one of the following "
            f"scalar types: Long, Int; but got {indices.dtype}"
        )


@public(method=False)
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """``weight[indices]``: a row of the table for each index.

    Args:
        weight: the table, (V, D).
        indices: of any shape, int32 or int64, from 0 to V - 1.
        padding_idx: the row whose gradient stays 0; -1 for none.
        scale_grad_by_freq: divide each gradient by how often its index occurs.
        sparse: give a leaf a gradient of layout ``nnkit.sparse_coo``, which holds the rows that
            were read.

    Raises:
        IndexError: an index outside the table.
        RuntimeError: ``weight`` is no matrix, or ``indices`` are no integers.

    Example:
        >>> import nnkit
        >>> table = nnkit.tensor([[0.0, 1.0], [2.0, 3.0]])
        >>> nnkit.embedding(table, nnkit.tensor([1, 1, 0]))
        tensor([[2., 3.],
                [2., 3.],
                [0., 1.]])
    """
    check_tensor("embedding", weight, "weight")
    check_indices("embedding", indices)
    if weight.ndim != 2:
        raise RuntimeError(f"embedding(): 'weight' must be 2-D, got shape {list(weight.shape)}")
    if indices._array.size and not weight.shape[0]:
        raise RuntimeError(f"embedding(): 'weight' has no rows, got shape {list(weight.shape)}")
    if sparse and MODE.enabled and weight.requires_grad and weight.is_leaf:
        if scale_grad_by_freq:
            raise RuntimeError(
                "embedding(): scale_grad_by_freq not supported with sparse gradients"
            )
        from nnkit.autograd.sparse import gradients

        return gradients.embedding(weight, indices, padding_idx)
    padding = None if padding_idx < 0 else padding_idx
    return real_gradient("embedding", _embedding(weight, indices, padding, scale_grad_by_freq))


@public(method=False)
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows of a table that the indices meet down to a norm of ``max_norm``, in place.

    Args:
        input: the table, (V, D).
        indices: of any shape, int32 or int64.
        max_norm: the largest norm that a row may keep.
        norm_type: which norm.

    Raises:
        IndexError: an index outside the table.
        RuntimeError: ``input`` is no matrix, or ``indices`` are no integers.
        NotImplementedError: ``input`` requires a gradient, outside of `no_grad`.

    Example:
        >>> import nnkit
        >>> table = nnkit.tensor([[3.0, 4.0], [3.0, 4.0]])
        >>> nnkit.embedding_renorm_(table, nnkit.tensor([1]), 1.0, 2.0)
        tensor([[3.0000, 4.0000],
                [0.6000, 0.8000]])
    """
    check_tensor("embedding_renorm_", input)
    check_indices("embedding_renorm_", indices)
    if input.ndim != 2:
        raise RuntimeError(f"embedding_renorm_(): 'input' must be 2-D, got {list(input.shape)}")
    if input.dtype.category < FLOATING:
        raise RuntimeError(f"embedding_renorm_(): expected a floating weight, got {input.dtype}")
    join_index(input, indices)
    return write(
        input, "embedding_renorm_", None, indices, float(max_norm), float(norm_type),
        kernel=input._device.backend.embedding_renorm_,
    )  # fmt: skip


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """See `nnkit.nn.functional.one_hot`."""
    check_tensor("one_hot", tensor, "tensor")
    if tensor.dtype is not int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type int64, got {tensor.dtype}"
        )
    if not tensor._array.size and num_classes in (-1, 0):
        raise RuntimeError("one_hot(): Can not infer total number of classes from empty tensor")
    if num_classes == -1:
        num_classes = max(int(tensor.max().item()) + 1, 1)
    elif integer("one_hot", "num_classes", num_classes) < 0:
        raise RuntimeError(f"one_hot(): num_classes must not be negative, got {num_classes}")
    check_shape("one_hot", (*tensor._array.shape, num_classes))
    backend = tensor._device.backend
    return wrap(backend.one_hot(tensor._array, num_classes), tensor._device)
