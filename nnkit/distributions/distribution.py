"""`Distribution`: what all distributions share."""

from __future__ import annotations

import numbers
from typing import Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.ops.interchange import tensor
from nnkit.autograd.ops.shape import broadcast_tensors
from nnkit.backend.dtype import default_dtype


def parameters(*values: Any) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape (and of one dtype, where they are numbers)."""
    for value in values:
        if not isinstance(value, (Tensor, numbers.Number)):
            got = type(value).__name__
            raise ValueError(
                f"the parameters of a distribution must be numbers or Tensors, got {got}"
            )
    like = next((v for v in values if isinstance(v, Tensor)), None)
    kind = default_dtype() if like is None else like.dtype
    device = None if like is None else like.device
    made = [v if isinstance(v, Tensor) else tensor(v, dtype=kind, device=device) for v in values]
    return list(broadcast_tensors(*made))


class Distribution:
    """Base class of distributions over tensors.

    ``batch_shape`` is the shape of several distributions side by side, ``event_shape`` that of one
    draw; a sample of ``sample_shape`` has the shape ``sample_shape + batch_shape + event_shape``.

    Args:
        batch_shape, event_shape: the shapes.
        validate_args: check parameters and values; as `set_default_validate_args` says if None.
    """

    has_rsample = False
    arg_names: tuple[str, ...] = ()
    _validates = True

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validates = validate_args

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their parameters and values unless told otherwise."""
        Distribution._validates = value

    @property
    def batch_shape(self) -> Size:
        """The shape of the distributions side by side."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values as functions of the parameters, so that gradients reach them."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample")

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density (or probability) at ``value``."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most ``value``."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    def perplexity(self) -> Tensor:
        """``exp(entropy)``."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check_parameter(self, name: str, value: Tensor, valid: Tensor, what: str) -> None:
        """ValueError unless all of ``valid`` holds for parameter ``name``."""
        if self._validates and not bool(valid.all()):
            raise ValueError(
                f"{type(self).__name__}: parameter {name} (shape {tuple(value.shape)}) must be "
                f"{what}, got {value}"
            )

    def _check_sample(self, value: Any, valid: Any = None, what: str = "") -> None:
        """ValueError for a value that is no tensor, of another shape, or outside the support."""
        if not self._validates:
            return
        name = type(self).__name__
        if not isinstance(value, Tensor):
            raise ValueError(f"{name}: the value must be a Tensor, got {type(value).__name__}")
        expected = self._batch_shape + self._event_shape
        for got, wanted in zip(reversed(value.shape), reversed(expected), strict=False):
            if got != 1 and wanted != 1 and got != wanted:
                raise ValueError(
                    f"{name}: the value's shape {tuple(value.shape)} does not broadcast with "
                    f"{tuple(expected)}"
                )
        events = len(self._event_shape)
        if events and tuple(value.shape[-events:]) != tuple(self._event_shape):
            raise ValueError(
                f"{name}: the value's last dimensions must be {tuple(self._event_shape)}, got the "
                f"shape {tuple(value.shape)}"
            )
        if valid is not None and not bool(valid(value).all()):
            raise ValueError(f"{name}: the value must be {what}, got {value}")

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_names:
            value = self.__dict__.get(name)
            if value is not None:
                text = value.item() if value.numel() == 1 else value.size()
                shown.append(f"{name}: {text}")
        return f"{type(self).__name__}({', '.join(shown)})"
