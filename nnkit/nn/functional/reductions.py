"""The reduction of losses to one number: the argument ``reduction`` and its old forms."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.autograd.views.writes import check_cast
from nnkit.backend.warning import warn

REDUCTIONS = ("none", "mean", "sum")  # in the order of torch's numbers for them


def legacy(size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that the deprecated arguments mean, with a warning."""
    averages = size_average is None or bool(size_average)
    sums = reduce is None or bool(reduce)
    reduction = ("mean" if averages else "sum") if sums else "none"
    warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{reduction}' instead."
    )
    return reduction


def check_reduction(name: str, reduction: str) -> None:
    """ValueError for an unknown reduction."""
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"{name}: {reduction} is not a valid value for reduction, expected one of {REDUCTIONS}"
        )


def reduction_of(name: str, size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The checked reduction, as the deprecated arguments say where one of them is given."""
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    check_reduction(name, reduction)
    return reduction


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses as they are, their mean or their sum."""
    if reduction == "mean":
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses


def in_dtype_of(name: str, input: Tensor, loss: Tensor) -> Tensor:
    """A loss that torch writes into memory of the input's dtype.

    Raises:
        RuntimeError: the loss is floating point and the input is not.
    """
    check_cast(name, loss.dtype, input.dtype)
    return loss.to(input.dtype)
