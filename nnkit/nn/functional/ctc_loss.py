"""The loss of sequences whose alignment with the input is not known."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import is_int
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.ops.loss.ctc import ctc_loss as ctc_op
from nnkit.backend.dtype import FLOATING, INTEGER, float32, float64, int64
from nnkit.nn.functional.reductions import check_reduction, reduced

__all__ = ["ctc_loss"]


def _lengths(name: str, lengths: Any, count: int) -> list[int]:
    if isinstance(lengths, Tensor):
        if lengths.dtype.category != INTEGER:
            raise RuntimeError(f"ctc_loss: {name} must be integral, got {lengths.dtype}")
        lengths = lengths.reshape(-1).tolist()
    if len(lengths) != count:
        raise RuntimeError(
            f"ctc_loss: {name} must be of size batch_size {count}, got {len(lengths)}"
        )
    return [int(n) for n in lengths]


def _check_kinds(**lengths: Any) -> None:
    """TypeError where they are neither both Tensors nor both sequences of ints."""
    if all(isinstance(each, Tensor) for each in lengths.values()):
        return
    for name, each in lengths.items():
        if not isinstance(each, (tuple, list)):
            raise TypeError(
                f"ctc_loss(): argument '{name}' must be Tensor, or both it and the other must be "
                f"tuple of ints, not {type(each).__name__}"
            )
        for position, number in enumerate(each):
            if not is_int(number) and not (position and isinstance(number, bool)):
                raise TypeError(
                    f"ctc_loss(): argument '{name}' must be tuple of ints, but found element of "
                    f"type {type(number).__name__} at pos {position}"
                )


def _check_lengths(name: str, lengths: list[int], most: int) -> None:
    wrong = [n for n in lengths if not 0 <= n <= most]
    if wrong:
        raise RuntimeError(
            f"ctc_loss: expected {name} to have values from 0 to {most}, but got {wrong[0]}"
        )


def _padded(targets: Tensor, lengths: list[int], count: int) -> Tensor:
    """The targets as (N, S), int64."""
    most = max(lengths, default=0)
    labels = targets.to(int64)
    if targets.ndim == 2:
        if targets.shape[0] != count or targets.shape[1] < most:
            raise RuntimeError(
                f"ctc_loss: expected targets to have size ({count}, at least {most}), "
                f"got {list(targets.shape)}"
            )
        return labels.narrow(1, 0, most)
    if targets.ndim != 1 or targets.shape[0] != sum(lengths):
        raise RuntimeError(
            f"ctc_loss: expected targets to have size {sum(lengths)}, the sum of target_lengths, "
            f"got {list(targets.shape)}"
        )
    rows = targets.new_zeros((count, most), dtype=int64)
    start = 0
    for row, length in enumerate(lengths):
        rows[row, :length] = labels[start : start + length]
        start += length
    return rows


def _check_labels(labels: Tensor, lengths: list[int], classes: int) -> Tensor:
    """The labels, with 0 for those that do not count; IndexError for one that is no class."""
    position = labels.new_tensor(range(labels.shape[1]))
    counts = position < labels.new_tensor(lengths).unsqueeze(1)
    labels = labels.masked_fill(~counts, 0)
    given = lowest(labels)
    wrong = (given < 0) | (given >= classes)
    if bool(wrong.any()):
        raise IndexError(
            f"ctc_loss: target {given[wrong][0].item()} is out of bounds for {classes} classes"
        )
    return labels


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log probability of all alignments of a sequence of labels with the time steps.

    Graves et al., "Connectionist temporal classification", 2006. The gradient is meant for log
    probabilities that come from `log_softmax`, as torch's; there is no second derivative.

    Args:
        log_probs: log probabilities of the classes, (T, N, C) or (T, C), float32 or float64.
        targets: labels, (N, S), or all in one row; one sequence (S,) for an input (T, C).
        input_lengths: how many time steps count, (N,) or ().
        target_lengths: how many labels count, (N,) or ().
        blank: the class that stands for no label.
        reduction: ``"mean"`` (each loss divided by its number of labels, then averaged), ``"sum"``
            or ``"none"``.
        zero_infinity: count the loss of a target that is too long for its input as 0.

    Raises:
        IndexError: a label that is no class.
        RuntimeError: lengths or shapes that do not fit, or a ``blank`` that is no class.
        ValueError: an unknown ``reduction``.

    Example:
        >>> import nnkit
        >>> log_probs = nnkit.full((2, 1, 2), 0.5).log()
        >>> nnkit.nn.functional.ctc_loss(log_probs, nnkit.tensor([[1]]), (2,), (1,))
        tensor(0.2877)
    """
    check_reduction("ctc_loss", reduction)
    _check_kinds(input_lengths=input_lengths, target_lengths=target_lengths)
    if log_probs.dtype not in (float32, float64):
        error = RuntimeError if log_probs.dtype.category < FLOATING else NotImplementedError
        raise error(f"ctc_loss: not implemented for '{log_probs.dtype.name}' log_probs")
    if log_probs.ndim not in (2, 3) or log_probs.numel() == 0:
        raise RuntimeError(
            "ctc_loss: log_probs tensor must not be empty: expected (T, N, C) or (T, C), "
            f"got {list(log_probs.shape)}"
        )
    single = log_probs.ndim == 2
    steps = log_probs.unsqueeze(1) if single else log_probs
    length, count, classes = steps.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in label range, got {blank} of {classes}")
    times = _lengths("input_lengths", input_lengths, count)
    sizes = _lengths("target_lengths", target_lengths, count)
    _check_lengths("input_lengths", times, length)
    labels = _check_labels(_padded(targets, sizes, count), sizes, classes)
    new = labels.new_tensor
    losses, _ = ctc_op(steps, labels, new(times), new(sizes), blank, zero_infinity)
    if zero_infinity:
        losses = losses.masked_fill(losses == float("inf"), 0)
    if reduction == "mean":
        return (losses / new(sizes).clamp(min=1)).mean()
    return reduced(losses.squeeze(0) if single else losses, reduction)
