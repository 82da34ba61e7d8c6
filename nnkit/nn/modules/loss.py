"""Losses as layers: of classification, with the class weights as a buffer."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor
from nnkit.backend.warning import warn
from nnkit.nn import functional as F
from nnkit.nn.functional.reductions import legacy
from nnkit.nn.modules.linear import Linear
from nnkit.nn.modules.module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "KLDivLoss",
    "LinearCrossEntropyLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
    "NLLLoss2d", "SoftMarginLoss",
]  # fmt: skip


class _Loss(Module):
    """The base of all losses.

    Args:
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    """

    reduction: str

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with weights of the classes or elements, which are a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy ``-log(softmax(input)[target])`` of scores and classes.

    Args:
        weight: a factor for each class, (C,).
        size_average, reduce: deprecated, see ``reduction``.
        ignore_index: the label that contributes nothing.
        reduction: ``"mean"`` (weighted), ``"sum"`` or ``"none"``.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1.

    Shape:
        input (C,), (N, C) or (N, C, d1, ...); target the same without C (labels) or with it
        (probabilities); output a number, or with ``"none"`` a loss for each label.

    >>> import nnkit
    >>> scores = nnkit.tensor([[0.0, 0.0], [0.0, 100.0]])
    >>> nnkit.nn.CrossEntropyLoss()(scores, nnkit.tensor([0, 1]))
    tensor(0.3466)
    """

    ignore_index: int
    label_smoothing: float

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear map to scores, and their cross entropy.

    Args:
        in_features: the length of an input.
        num_classes: C.
        out_features: (d1, ...), for several labels for each input.
        bias: whether the map adds a bias.
        device, dtype: of the map's parameters.
        reduction: ``"mean"`` (weighted), ``"sum"`` or ``"none"``.
        weight: a factor for each class, (C,).
        ignore_index: the label that contributes nothing.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1.
        options: `LinearCrossEntropyOptions`, or None; they change no result.

    Shape:
        input (in) or (N, in); target (), (N) or (N, d1, ...) (labels), or with C behind N
        (probabilities); output a number, or with ``"none"`` a loss for each label.

    Raises:
        RuntimeError: a weight of another shape, or a smoothing that is no part of 1.

    >>> import nnkit
    >>> loss = nnkit.nn.LinearCrossEntropyLoss(3, 4)
    >>> list(loss.state_dict()), loss(nnkit.zeros(2, 3), nnkit.tensor([0, 1])).item()
    (['linear.weight'], 1.3862943649291992)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(
                f"LinearCrossEntropyLoss: expected weight shape to be {(num_classes,)}, got "
                f"{tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                "LinearCrossEntropyLoss: expected label_smoothing to be in range [0, 1], got "
                f"{label_smoothing}"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)
        self.options = options

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        outputs = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*outputs, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(outputs), weight=self.weight,
            reduction=self.reduction, ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip


class NLLLoss(_WeightedLoss):
    """The negative log likelihood ``-input[target]`` of log probabilities and classes.

    Args:
        weight: a factor for each class, (C,).
        size_average, reduce: deprecated, see ``reduction``.
        ignore_index: the label that contributes nothing.
        reduction: ``"mean"`` (weighted), ``"sum"`` or ``"none"``.

    Shape:
        input (C,), (N, C) or (N, C, d1, ...); target the same without C.

    >>> import nnkit
    >>> nnkit.nn.NLLLoss()(nnkit.tensor([[-0.5, -1.0]]), nnkit.tensor([1]))
    tensor(1.)
    """

    ignore_index: int

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """An old name of `NLLLoss`; to use it gives a FutureWarning."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        warn("NLLLoss2d: use NLLLoss instead", FutureWarning)
        super().__init__(*arguments, **options)


class BCELoss(_WeightedLoss):
    """``-(target * log(input) + (1 - target) * log(1 - input))`` of a probability.

    Args:
        weight: factors, broadcast over the elements' losses.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Input and target have the same shape.

    >>> import nnkit
    >>> nnkit.nn.BCELoss()(nnkit.tensor([0.5]), nnkit.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of ``sigmoid(input)``, computed without overflow.

    Args:
        weight: factors, broadcast over the elements' losses.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: a factor of the positive part, broadcast over the elements.

    Input and target have the same shape.

    >>> import nnkit
    >>> nnkit.nn.BCEWithLogitsLoss()(nnkit.tensor([0.0]), nnkit.tensor([1.0]))
    tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence ``target * (log(target) - input)``, element by element.

    Args:
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"batchmean"`` (the definition), ``"mean"`` over all elements, ``"sum"`` or
            ``"none"``.
        log_target: whether the target is a logarithm, as the input is.

    Input and target have the same shape.

    >>> import nnkit
    >>> p, q = nnkit.tensor([[0.5, 0.5]]), nnkit.tensor([[0.25, 0.75]])
    >>> nnkit.nn.KLDivLoss(reduction="batchmean")(q.log(), p)
    tensor(0.1438)
    """

    log_target: bool

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))`` of scores and targets 1 or -1.

    Args:
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Input and target have the same shape.

    >>> import nnkit
    >>> nnkit.nn.SoftMarginLoss()(nnkit.tensor([0.0]), nnkit.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The mean over wrong classes of ``max(0, margin - input[target] + input[class])**p``.

    Args:
        p: 1 or 2.
        margin: by how much the right score is to exceed the others.
        weight: a factor for each right class, (C,).
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input (N, C) or (C,), target (N,) or ().

    Raises:
        ValueError: another ``p``, or a weight that is no vector.

    >>> import nnkit
    >>> nnkit.nn.MultiMarginLoss()(nnkit.tensor([0.0, 2.0]), nnkit.tensor(0))
    tensor(1.5000)
    """

    p: int
    margin: float

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.ndim != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, self.p, self.margin, self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """The sum over right classes r and wrong ones w of ``max(0, 1 - input[r] + input[w]) / C``.

    Args:
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input (N, C) or (C,); target the same: the right classes, and -1 after the last one.

    >>> import nnkit
    >>> nnkit.nn.MultiLabelMarginLoss()(nnkit.tensor([0.0, 2.0]), nnkit.tensor([0, -1]))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of `BCEWithLogitsLoss`.

    Args:
        weight: a factor for each class, (C,).
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input and target (N, C).

    >>> import nnkit
    >>> nnkit.nn.MultiLabelSoftMarginLoss()(nnkit.zeros(1, 2), nnkit.tensor([[0.0, 1.0]]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class CTCLoss(_Loss):
    """Minus the log probability of all alignments of a sequence of labels with the time steps.

    Args:
        blank: the class that stands for no label.
        reduction: ``"mean"`` (each loss divided by its number of labels, then averaged), ``"sum"``
            or ``"none"``.
        zero_infinity: count the loss of a target that is too long for its input as 0.

    Shape:
        log probabilities (T, N, C) or (T, C), targets (N, S) or all in one row, lengths (N,).

    >>> import nnkit
    >>> log_probs = nnkit.full((2, 1, 2), 0.5).log()
    >>> nnkit.nn.CTCLoss()(log_probs, nnkit.tensor([[1]]), (2,), (1,))
    tensor(0.2877)
    """

    blank: int
    zero_infinity: bool

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
            self.zero_infinity,
        )  # fmt: skip
