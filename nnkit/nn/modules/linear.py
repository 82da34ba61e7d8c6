"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.creation.factories import empty
from nnkit.nn import functional as F
from nnkit.nn import init
from nnkit.nn.modules.lazy import LazyModuleMixin
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.utils import check_integers
from nnkit.nn.parameter import Parameter, UninitializedParameter

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """``y = x``, for whatever arguments it is made with.

    Example:
        >>> import nnkit
        >>> nnkit.nn.Identity(54, unused=True)(nnkit.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``y = x @ weight.T + bias``

    Args:
        in_features: size of the input's last dimension.
        out_features: size of the output's last dimension.
        bias: whether there is a bias.
        device: where the parameters are.
        dtype: their dtype.

    Shape:
        input ``(*, in_features)``, output ``(*, out_features)``, weight
        ``(out_features, in_features)``, bias ``(out_features,)``. Both are drawn uniformly from
        ``[-1/sqrt(in_features), 1/sqrt(in_features)]``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.Linear(20, 30)(nnkit.zeros(128, 20)).shape
        nnkit.Size([128, 30])
    """

    weight: Parameter
    bias: Any  # a Parameter, or None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        # With a = sqrt(5) the bound is 1 / sqrt(in_features).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear`, under the name that torch gives the output projection of attention."""


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that takes ``in_features`` from the last dimension of its first input.

    Args:
        out_features: size of the output's last dimension.
        bias: whether there is a bias.
        device: where the parameters are.
        dtype: their dtype.

    Example:
        >>> import nnkit
        >>> nnkit.nn.LazyLinear(2)
        LazyLinear(in_features=0, out_features=2, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        Module.__init__(self)
        self.in_features = 0
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)

    def initialize_parameters(self, input: Tensor) -> None:
        if self.in_features == 0:
            self.in_features = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                weight: Any = self.weight
                weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()


class Bilinear(Module):
    """``y[k] = x1 @ weight[k] @ x2 + bias[k]``

    Args:
        in1_features: size of the first input's last dimension, at least 1.
        in2_features: size of the second input's last dimension.
        out_features: size of the output's last dimension.
        bias: whether there is a bias.
        device: where the parameters are.
        dtype: their dtype.

    Shape:
        inputs ``(*, in1_features)`` and ``(*, in2_features)``, output ``(*, out_features)``,
        weight ``(out_features, in1_features, in2_features)``. Both are drawn uniformly from
        ``[-1/sqrt(in1_features), 1/sqrt(in1_features)]``.

    Raises:
        ValueError: ``in1_features`` is 0 or less.

    Example:
        >>> import nnkit
        >>> nnkit.nn.Bilinear(2, 3, 4)(nnkit.zeros(5, 2), nnkit.zeros(5, 3)).shape
        nnkit.Size([5, 4])
    """

    weight: Parameter
    bias: Any  # a Parameter, or None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(in1_features, (int, float)) and in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        check_integers("Bilinear", in1_features=in1_features)
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
