"""Activation layers made of straight pieces, and what all activation layers share.

Input and output of each have the same shape, which may be any.
"""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.backend.warning import warn
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module

__all__ = [
    "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "ReLU6", "Softshrink", "Threshold",
]  # fmt: skip


class InPlaceActivation(Module):
    """A layer with the setting ``inplace``: write into the input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""

    def with_inplace(self, settings: str) -> str:
        """``settings`` for `extra_repr`, followed by ``inplace=True`` where it holds."""
        return settings + (", inplace=True" if self.inplace else "")


class Threshold(InPlaceActivation):
    """``x`` where it is above ``threshold``, else ``value``.

    >>> import nnkit
    >>> nnkit.nn.Threshold(0.1, 20.0)(nnkit.tensor([0.0, 1.0]))
    tensor([20.,  1.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return self.with_inplace(f"threshold={self.threshold}, value={self.value}")


class Hardtanh(InPlaceActivation):
    """``min(max(x, min_val), max_val)``

    ``min_value`` and ``max_value`` are deprecated names of the bounds.

    Raises:
        AssertionError: ``max_val`` is not above ``min_val``.

    >>> import nnkit
    >>> nnkit.nn.Hardtanh(-2, 2)(nnkit.tensor([-3.0, 0.5, 3.0]))
    tensor([-2.0000,  0.5000,  2.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        if min_value is not None or max_value is not None:
            warn(
                "Hardtanh: the arguments `min_value` and `max_value` are deprecated: they are "
                "called `min_val` and `max_val` now",
                FutureWarning,
            )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"Hardtanh: max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return self.with_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``

    >>> import nnkit
    >>> nnkit.nn.ReLU6()(nnkit.tensor([-1.0, 2.0, 9.0]))
    tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return InPlaceActivation.extra_repr(self)


class Hardsigmoid(InPlaceActivation):
    """``min(max(x + 3, 0), 6) / 6``

    >>> import nnkit
    >>> nnkit.nn.Hardsigmoid()(nnkit.tensor([-3.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(InPlaceActivation):
    """``x * hardsigmoid(x)``

    Howard et al., "Searching for MobileNetV3", 2019.

    >>> import nnkit
    >>> nnkit.nn.Hardswish()(nnkit.tensor([1.0, 4.0]))
    tensor([0.6667, 4.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardshrink(Module):
    """``x`` where ``|x| > lambd``, else 0.

    >>> import nnkit
    >>> nnkit.nn.Hardshrink()(nnkit.tensor([-1.0, 0.2]))
    tensor([-1.,  0.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """``x - lambd`` above ``lambd``, ``x + lambd`` below ``-lambd``, else 0.

    >>> import nnkit
    >>> nnkit.nn.Softshrink()(nnkit.tensor([-1.0, 0.2, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"
