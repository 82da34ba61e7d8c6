"""Initial values of parameters. For the same seed the numbers are PyTorch's.

Every function fills its tensor in place, records nothing, and returns it. The *fan in* of a weight
of shape ``(out, in, *kernel)`` is ``in * prod(kernel)``, its *fan out* ``out * prod(kernel)``.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.arguments.annotations import KINDS
from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.arguments.overriding import answer, is_intercepted, is_passed, overriding
from nnkit.autograd.ops.creation.factories import empty_like
from nnkit.autograd.ops.creation.factories import eye as _eye
from nnkit.autograd.ops.decomposition import rules
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.exchange.interchange import tensor as _tensor
from nnkit.autograd.ops.random.factories import randperm
from nnkit.backend.warning import warn

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
    "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_",
    "orthogonal", "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_",
    "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "sigmoid",
)  # fmt: skip


def _check_numbers(name: str, tensor: Any, **numbers: Any) -> None:
    """TypeError where the tensor is none, or an argument is no real number."""
    check_tensor(name, tensor, "tensor")
    for parameter, number in numbers.items():
        if not KINDS[float].takes(number):
            raise TypeError(
                f"{name}(): argument '{parameter}' must be float, not {type(number).__name__}"
            )


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps the variance of a signal through a nonlinearity.

    Args:
        nonlinearity: a name of `nnkit.nn.functional`: 1 for ``linear``, ``convNd`` and ``sigmoid``,
            5/3 for ``tanh``, sqrt(2) for ``relu``, 3/4 for ``selu`` and
            ``sqrt(2 / (1 + slope**2))`` for ``leaky_relu``.
        param: the slope of ``leaky_relu``, 0.01 unless given.

    Raises:
        ValueError: another nonlinearity, or a slope that is no number.

    Example:
        >>> import nnkit
        >>> nnkit.nn.init.calculate_gain("leaky_relu", 1.0)
        1.0
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ValueError(f"calculate_gain(): Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"calculate_gain(): negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, "
            f"got shape {list(tensor.shape)}"
        )
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    fans = {"fan_in": fan_in, "fan_out": fan_out}
    if mode.lower() not in fans:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(fans)}")
    return fans[mode.lower()]


def _in_place(function: Callable) -> Callable:
    """Record nothing while the function runs."""

    @functools.wraps(function)
    def fill(*arguments: Any, **options: Any) -> Tensor:
        with no_grad():
            return function(*arguments, **options)

    return fill


def _overridable(function: Callable) -> Callable:
    """Ask modes, and tensors that answer for functions, first; all arguments are passed by name."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def fill(*arguments: Any, **options: Any) -> Any:
        asked = overriding((*arguments[:1], options.get("tensor")))
        if not asked and not is_intercepted() or is_passed():
            return function(*arguments, **options)
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        return answer(fill, asked, (), bound.arguments)

    return fill


@_overridable
@_in_place
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers of the uniform distribution on [a, b).

    Example:
        >>> import nnkit
        >>> w = nnkit.empty(2, 3)
        >>> bool((nnkit.nn.init.uniform_(w) >= 0).all())
        True
    """
    return tensor.uniform_(a, b, generator=generator)


@_overridable
@_in_place
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers of the normal distribution.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.nn.init.normal_(nnkit.empty(3))
        tensor([ 1.5410, -0.2934, -2.1788])
    """
    return tensor.normal_(mean, std, generator=generator)


@_in_place
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Fill with numbers of the normal distribution, those outside [a, b] drawn again.

    Example:
        >>> import nnkit
        >>> w = nnkit.nn.init.trunc_normal_(nnkit.empty(100), std=0.02, a=-0.04, b=0.04)
        >>> bool((w.abs() <= 0.04).all())
        True
    """
    _check_numbers("trunc_normal_", tensor, mean=mean, std=std, a=a, b=b)
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect."
        )
    scale = std * math.sqrt(2.0)
    mass = (math.erf((b - mean) / scale) - math.erf((a - mean) / scale)) / 2
    if mass > 0.3:
        # The ends as the dtype has them: a value rounded onto one is inside.
        low, high = (_tensor(end, dtype=tensor.dtype).item() for end in (a, b))
        tensor.normal_(mean, std, generator=generator)
        outside = (tensor < low) | (tensor > high)
        while bool(outside.any()):
            again = empty_like(tensor).normal_(mean, std, generator=generator)
            tensor.copy_(where(outside, again, tensor))
            outside = (tensor < low) | (tensor > high)
        return tensor
    # So little of the bell lies in [a, b] that candidates are better drawn from there, and kept
    # with a chance in proportion to the density.
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    tensor.uniform_(a, b, generator=generator)
    candidates = tensor.clone()
    waiting = None
    while waiting is None or bool(waiting.any()):
        if waiting is not None:
            candidates.uniform_(a, b, generator=generator)
            tensor.copy_(where(waiting, candidates, tensor))
        log_density = candidates.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        refused = empty_like(tensor).uniform_(generator=generator).log_() > log_density
        waiting = refused if waiting is None else waiting & refused
    return tensor


@_overridable
@_in_place
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with ``val``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.init.constant_(nnkit.empty(2), 0.3)
        tensor([0.3000, 0.3000])
    """
    return tensor.fill_(val)


@_in_place
def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    Example:
        >>> import nnkit
        >>> nnkit.nn.init.ones_(nnkit.empty(2))
        tensor([1., 1.])
    """
    return tensor.fill_(1.0)


@_in_place
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    Example:
        >>> import nnkit
        >>> nnkit.nn.init.zeros_(nnkit.empty(2))
        tensor([0., 0.])
    """
    return tensor.zero_()


@_in_place
def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity, as far as it goes.

    Raises:
        ValueError: ``tensor`` is no matrix.

    Example:
        >>> import nnkit
        >>> nnkit.nn.init.eye_(nnkit.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    _check_matrix("eye_", tensor)
    return _eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)


def _check_matrix(name: str, tensor: Tensor) -> None:
    if tensor.ndim != 2:
        raise ValueError(
            f"{name}(): Only tensors with 2 dimensions are supported, "
            f"got shape {list(tensor.shape)}"
        )


@_in_place
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution's weight hand on as many of its input channels as it can, unchanged.

    Args:
        tensor: a weight of 3, 4 or 5 dimensions.
        groups: the groups of the convolution; each hands on its own channels.

    Raises:
        ValueError: the number of dimensions is another, or ``groups`` does not divide the output
            channels.

    Example:
        >>> import nnkit
        >>> nnkit.nn.init.dirac_(nnkit.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(
            "dirac_(): Only tensors with 3, 4, or 5 dimensions are supported, "
            f"got shape {list(tensor.shape)}"
        )
    outputs, inputs = tensor.shape[:2]
    if outputs % groups:
        raise ValueError(f"dirac_(): dim 0 must be divisible by groups, got {outputs} and {groups}")
    tensor.zero_()
    each = outputs // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(each, inputs)):
            tensor[(group * each + channel, channel, *middle)] = 1
    return tensor


@_in_place
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly from [-a, a), ``a = gain sqrt(6 / (fan_in + fan_out))``.

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
    2010.

    Raises:
        ValueError: ``tensor`` has fewer than 2 dimensions.

    Example:
        >>> import nnkit
        >>> w = nnkit.nn.init.xavier_uniform_(nnkit.empty(3, 3))
        >>> bool((w.abs() < 1).all())
        True
    """
    _check_numbers("xavier_uniform_", tensor, gain=gain)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return tensor.uniform_(-bound, bound, generator=generator)


@_in_place
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill normally with standard deviation ``gain sqrt(2 / (fan_in + fan_out))``.

    Raises:
        ValueError: ``tensor`` has fewer than 2 dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.nn.init.xavier_normal_(nnkit.empty(4, 6)).shape
        nnkit.Size([4, 6])
    """
    _check_numbers("xavier_normal_", tensor, gain=gain)
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return tensor.normal_(0.0, std, generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@_overridable
@_in_place
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Fill uniformly from [-b, b), ``b = gain sqrt(3 / fan)``.

    He et al., "Delving deep into rectifiers", 2015.

    Args:
        a: the slope where ``nonlinearity`` is ``leaky_relu``.
        mode: ``fan_in`` keeps the variance forwards, ``fan_out`` backwards.
        nonlinearity: as for `calculate_gain`.

    Raises:
        ValueError: ``tensor`` has fewer than 2 dimensions, or there is no such mode or
            nonlinearity.

    Example:
        >>> import nnkit
        >>> w = nnkit.nn.init.kaiming_uniform_(nnkit.empty(4, 6))
        >>> bool((w.abs() <= 1).all())
        True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@_in_place
def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Fill normally with standard deviation ``gain / sqrt(fan)``; as `kaiming_uniform_`.

    Raises:
        ValueError: as `kaiming_uniform_`.

    Example:
        >>> import nnkit
        >>> nnkit.nn.init.kaiming_normal_(nnkit.empty(4, 6)).shape
        nnkit.Size([4, 6])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else tensor.normal_(0.0, std, generator=generator)


@_in_place
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix, later dimensions taken as one, times ``gain``.

    Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks", 2013.

    Raises:
        ValueError: ``tensor`` has fewer than 2 dimensions.

    Example:
        >>> import nnkit
        >>> w = nnkit.nn.init.orthogonal_(nnkit.empty(3, 5))
        >>> nnkit.allclose(w @ w.T, nnkit.eye(3), atol=1e-6)
        True
    """
    if tensor.ndim < 2:
        raise ValueError(
            "orthogonal_(): Only tensors with 2 or more dimensions are supported, "
            f"got shape {list(tensor.shape)}"
        )
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = rules.qr(drawn.T if rows < columns else drawn, "reduced")
    q = q * r.diagonal().sign()  # makes the distribution uniform (Mezzadri, 2006)
    return tensor.copy_((q.T if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@_in_place
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix normally, then set the share ``sparsity`` of each column to 0.

    Which rows become 0 the default generator decides, as in PyTorch, whatever ``generator`` is.
    Martens, "Deep learning via Hessian-free optimization", 2010.

    Raises:
        ValueError: ``tensor`` is no matrix.

    Example:
        >>> import nnkit
        >>> w = nnkit.nn.init.sparse_(nnkit.empty(4, 6), sparsity=0.5)
        >>> (w == 0).sum(0)
        tensor([2, 2, 2, 2, 2, 2])
    """
    _check_matrix("sparse_", tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable) -> Callable:
    new = function.__name__
    old = new[:-1]

    def call(*arguments: Any, **options: Any) -> Tensor:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*arguments, **options)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"The deprecated name of `{new}`."
    return call


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
