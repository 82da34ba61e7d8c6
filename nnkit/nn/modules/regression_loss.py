"""Losses as layers: of regression."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.loss import _Loss

__all__ = [
    "GaussianNLLLoss", "HuberLoss", "L1Loss", "MSELoss", "PoissonNLLLoss", "SmoothL1Loss",
]  # fmt: skip


class MSELoss(_Loss):
    """The squared error ``(input - target)**2``.

    Args:
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Input and target have the same shape.

    >>> import nnkit
    >>> nnkit.nn.MSELoss()(nnkit.tensor([1.0, 2.0]), nnkit.tensor([1.0, 4.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """The absolute error ``|input - target|``.

    Args:
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Input and target have the same shape.

    >>> import nnkit
    >>> nnkit.nn.L1Loss()(nnkit.tensor([1.0, 2.0]), nnkit.tensor([1.0, 4.0]))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """``d**2 / (2 beta)`` where ``d = |input - target| < beta``, else ``d - beta / 2``.

    Args:
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        beta: where the parabola goes over into lines.

    Input and target have the same shape.

    >>> import nnkit
    >>> nnkit.nn.SmoothL1Loss()(nnkit.tensor([0.0, 3.0]), nnkit.tensor([1.0, 0.0]))
    tensor(1.5000)
    """

    beta: float

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """``d**2 / 2`` where ``d = |input - target| <= delta``, else ``delta (d - delta / 2)``.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: where the parabola goes over into lines.

    Input and target have the same shape.

    Raises:
        TypeError: a ``delta`` that is no number.

    >>> import nnkit
    >>> nnkit.nn.HuberLoss()(nnkit.tensor([0.0, 3.0]), nnkit.tensor([1.0, 0.0]))
    tensor(1.5000)
    """

    delta: float

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class PoissonNLLLoss(_Loss):
    """The negative log likelihood of counts that are Poisson distributed.

    Args:
        log_input: whether the input is the logarithm of the expected count.
        full: add Stirling's approximation of ``log(target!)``.
        size_average, reduce: deprecated, see ``reduction``.
        eps: keeps the logarithm finite.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Input and target have the same shape.

    >>> import nnkit
    >>> nnkit.nn.PoissonNLLLoss()(nnkit.tensor([0.0]), nnkit.tensor([3.0]))
    tensor(1.)
    """

    log_input: bool
    full: bool
    eps: float

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
            reduction=self.reduction,
        )  # fmt: skip


class GaussianNLLLoss(_Loss):
    """The negative log likelihood ``(log(var) + (input - target)**2 / var) / 2`` of normal numbers.

    Args:
        full: add the constant ``log(2 pi) / 2``.
        eps: the smallest variance.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Input and target have the same shape; the variance may have a dimension of size 1 less.

    >>> import nnkit
    >>> x, y, var = nnkit.tensor([1.0]), nnkit.tensor([3.0]), nnkit.tensor([4.0])
    >>> nnkit.nn.GaussianNLLLoss()(x, y, var)
    tensor(1.1931)
    """

    full: bool
    eps: float

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )
