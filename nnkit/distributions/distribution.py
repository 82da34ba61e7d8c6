"""`Distribution`: what all distributions share."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from nnkit.autograd import Size, Tensor, no_grad
from nnkit.autograd.arguments.overriding import is_tensor_like
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.autograd.ops.shape.reshaping import broadcast_tensors
from nnkit.backend.dtype import default_dtype
from nnkit.backend.warning import warn
from nnkit.distributions.constraints import is_dependent
from nnkit.distributions.lazy import lazy_property

if TYPE_CHECKING:
    from typing_extensions import Self

SCALAR = Size()  # the shape of one number


def parameters(*values: Any) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape (and of one dtype, where they are numbers)."""
    for value in values:
        if not (is_tensor_like(value) or isinstance(value, numbers.Real)):
            got = type(value).__name__
            raise ValueError(
                f"the parameters of a distribution must be numbers or Tensors, got {got}"
            )
    like = next((v for v in values if isinstance(v, Tensor)), None)
    kind = default_dtype() if like is None else like.dtype
    device = None if like is None else like.device
    made = [v if is_tensor_like(v) else tensor(v, dtype=kind, device=device) for v in values]
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
    has_enumerate_support = False
    arg_names: tuple[str, ...] = ()
    _validate_args = True

    def __init__(
        self,
        batch_shape: Any = SCALAR,
        event_shape: Any = SCALAR,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = bool(validate_args)
        if self._validate_args:
            for name, constraint in self._told_constraints().items():
                found = name in self.__dict__
                lazy = not found and isinstance(getattr(type(self), name, None), lazy_property)
                if not lazy and not is_dependent(constraint):
                    value = getattr(self, name)
                    self._check_parameter(name, value, constraint)
        super().__init__()  # of another base, such as Module

    def _told_constraints(self) -> Any:
        try:
            return self.arg_constraints
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = "
                "{}` or initialize the distribution with `validate_args=False` to turn off "
                "validation."
            )
            return {}

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their parameters and values unless told otherwise.

        Raises:
            ValueError: ``value`` is neither True nor False.
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: value must be bool, got {value!r}")
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> Size:
        """The shape of the distributions side by side."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    def _untold(self) -> Any:
        """The set of values that can be drawn."""
        raise NotImplementedError(f"{type(self).__name__} does not tell its support")

    def _unconstrained(self) -> Any:
        """The sets of values of its parameters, by their names."""
        raise NotImplementedError(f"{type(self).__name__} does not tell its arg_constraints")

    support: Any = property(_untold)
    arg_constraints: Any = property(_unconstrained)

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

    def sample_n(self, n: int) -> Tensor:
        """Draw ``n`` values; the old form of ``sample((n,))``."""
        warn("sample_n(n) is deprecated: use sample((n,))", FutureWarning)
        return self.sample(Size((n,)))

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

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All possible values of a distribution over finitely many, in a new first dimension.

        Args:
            expand: repeat them for each distribution of the batch.
        """
        raise NotImplementedError(f"{type(self).__name__} has no finite support")

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        values = values.reshape(-1, *[1 for _ in self._batch_shape])
        return values.expand(-1, *self._batch_shape) if expand else values

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distribution, side by side in the shape ``batch_shape``."""
        shape = Size(batch_shape)
        new = self._get_checked_instance(type(self), _instance)
        new.__dict__.update(self.__dict__)
        for name, value in self.__dict__.items():
            if isinstance(value, Tensor):
                own = value.ndim - len(self._batch_shape)
                new.__dict__[name] = value.expand(shape + value.shape[value.ndim - own :])
        new._batch_shape = shape
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """The object that an expanded copy is made in.

        Raises:
            TypeError: what is given is no distribution.
        """
        if _instance is None:
            return object.__new__(type(self))
        if not isinstance(_instance, Distribution):
            raise TypeError(
                f"{type(self).__name__}: argument '_instance' must be Distribution, not "
                f"{type(_instance).__name__}"
            )
        return _instance

    def _check_parameter(self, name: str, value: Tensor, constraint: Any) -> None:
        """ValueError unless parameter ``name`` is within the constraint."""
        if self._validate_args and not bool(lowest(constraint.check(value)).all()):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {self!r} to satisfy the constraint {constraint!r}, but found "
                f"invalid values:\n{value}"
            )

    def _validate_sample(self, value: Any) -> None:
        """ValueError for a value that is no tensor, of another shape, or outside the support."""
        if not self._validate_args:
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
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return
        if not bool(lowest(support.check(value)).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_names:
            value = self.__dict__.get(name)
            if value is not None:
                text = value if value.numel() == 1 else value.size()
                shown.append(f"{name}: {text}")
        return f"{type(self).__name__}({', '.join(shown)})"
