"""Activation layers, smooth ones and rectifiers: functions with their settings.

Input and output of each have the same shape, which may be any unless it says otherwise.
"""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import empty
from nnkit.nn import functional as F
from nnkit.nn import init as initial
from nnkit.nn.modules.hard_activation import InPlaceActivation
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "LeakyReLU", "LogSigmoid", "Mish", "PReLU", "RReLU", "ReLU",
    "SELU", "SiLU", "Sigmoid", "Softplus", "Softsign", "Tanh", "Tanhshrink",
]  # fmt: skip


class ReLU(InPlaceActivation):
    """``max(x, 0)``

    >>> import nnkit
    >>> nnkit.nn.ReLU()(nnkit.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(InPlaceActivation):
    """``x`` where it is positive, else ``a * x``; for each element ``a`` is drawn between ``lower``
    and ``upper`` in training, and it is their mean in evaluation.

    Xu et al., "Empirical evaluation of rectified activations in convolutional network", 2015.

    >>> import nnkit
    >>> nnkit.nn.RReLU(0.1, 0.3).eval()(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.2000,  2.0000])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return self.with_inplace(f"lower={self.lower}, upper={self.upper}")


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``

    >>> import nnkit
    >>> nnkit.nn.Sigmoid()(nnkit.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import nnkit
    >>> nnkit.nn.Tanh()(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.7616,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class SiLU(InPlaceActivation):
    """``x * sigmoid(x)``, also called swish.

    Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    >>> import nnkit
    >>> nnkit.nn.SiLU()(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(InPlaceActivation):
    """``x * tanh(log(1 + exp(x)))``

    Misra, "Mish: a self regularized non-monotonic neural activation function", 2019.

    >>> import nnkit
    >>> nnkit.nn.Mish()(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class ELU(InPlaceActivation):
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    Clevert et al., "Fast and accurate deep network learning by exponential linear units", 2015.

    >>> import nnkit
    >>> nnkit.nn.ELU()(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self.with_inplace(f"alpha={self.alpha}")


class CELU(InPlaceActivation):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``

    Barron, "Continuously differentiable exponential linear units", 2017.

    >>> import nnkit
    >>> nnkit.nn.CELU(0.5)(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.4323,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self.with_inplace(f"alpha={self.alpha}")


class SELU(InPlaceActivation):
    """``scale * elu(x, alpha)`` with the constants that keep mean 0 and variance 1.

    Klambauer et al., "Self-normalizing neural networks", 2017.

    >>> import nnkit
    >>> nnkit.nn.SELU()(nnkit.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(Module):
    """``a * sigmoid(b)`` for the two halves a and b of the input along ``dim``.

    Dauphin et al., "Language modeling with gated convolutional networks", 2017. The output is half
    as long as the input along ``dim``.

    >>> import nnkit
    >>> nnkit.nn.GLU()(nnkit.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """``x * P(N <= x)`` with N normally distributed; with ``approximate="tanh"`` by the formula
    ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``.

    Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    >>> import nnkit
    >>> nnkit.nn.GELU()(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class LeakyReLU(InPlaceActivation):
    """``x`` where it is positive, else ``negative_slope * x``.

    Maas et al., "Rectifier nonlinearities improve neural network acoustic models", 2013.

    >>> import nnkit
    >>> nnkit.nn.LeakyReLU(0.1)(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return self.with_inplace(f"negative_slope={self.negative_slope}")


class LogSigmoid(Module):
    """``log(1 / (1 + exp(-x)))``, without overflow.

    >>> import nnkit
    >>> nnkit.nn.LogSigmoid()(nnkit.tensor([0.0, 2.0]))
    tensor([-0.6931, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x > threshold``.

    >>> import nnkit
    >>> nnkit.nn.Softplus()(nnkit.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """``x`` where it is positive, else ``weight * x`` with a learnt ``weight``.

    He et al., "Delving deep into rectifiers", 2015.

    Args:
        num_parameters: one for all, or one for each channel (dimension 1 of the input).
        init: the first value of each.
        device: where the parameters are.
        dtype: their dtype.

    >>> import nnkit
    >>> nnkit.nn.PReLU()(nnkit.tensor([-1.0, 2.0])).tolist()
    [-0.25, 2.0]
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every weight to ``init``."""
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """``x / (1 + |x|)``

    >>> import nnkit
    >>> nnkit.nn.Softsign()(nnkit.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``

    >>> import nnkit
    >>> nnkit.nn.Tanhshrink()(nnkit.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)
