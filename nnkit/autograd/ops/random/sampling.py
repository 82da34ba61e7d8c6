"""Numbers of distributions that tensors describe: ``normal``, ``bernoulli``, ``poisson``,
``multinomial``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, check_tensor
from nnkit.autograd.arguments.factory import (
    FILLED,
    check_kind,
    dtype_of,
    finished,
    place_of,
    shape_of,
)
from nnkit.autograd.arguments.sizes import check_shape, integer
from nnkit.autograd.batch.examples import check_alike, empty_of_each, lowest, of_each
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out, check_out, write_out
from nnkit.autograd.op.promotion import scalar
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import real_gradient, refusing, rule
from nnkit.autograd.ops.random.inplace import bernoulli_, need, normal_, number
from nnkit.autograd.ops.shape.reshaping import broadcast_tensors
from nnkit.autograd.surface.generator import source_of
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.writes import is_unseen
from nnkit.backend.dtype import COMPLEX, FLOATING, bfloat16, float16


def _zeros(B: Any, g: Any) -> Any:
    return B.zeros_like(g)


_bernoulli = rule("bernoulli", alone="recorded", node="BernoulliBackward0", p=_zeros)
_poisson = rule("poisson", node="PoissonBackward0", x=_zeros)
_binomial = rule(
    "binomial", node="NotImplemented", count=refusing("binomial"), p=refusing("binomial")
)
_standard_gamma = rule("standard_gamma", x=_zeros)
_normal_around = rule("normal_around", alone="recorded", node="NormalBackward1", mean=_zeros)
_normal_scaled = rule("normal_scaled", alone="recorded", node="NormalBackward2", std=_zeros)
_normal_between = rule(
    "normal_between",
    alone="recorded",
    node="NormalBackward3",
    broadcasts=True,
    mean=_zeros,
    std=_zeros,
)


def blank(
    name: str, given: tuple, keyword: Any, dtype: Any, out: Any, layout: Any, device: Any,
    default: Any = None, facts: Out = FILLED,
) -> Tensor:  # fmt: skip
    """An uninitialised tensor of the size and dtype that a function was asked for."""
    check_kind(name, dtype, layout, device, out)
    shape = shape_of(name, given, keyword)
    if out is not None:
        return _like_out(name, shape, out, facts)
    return empty_of_each(shape, dtype_of(name, dtype, default).array, place_of(device))


def _like_out(name: str, shape: tuple[int, ...], out: Tensor, facts: Out) -> Tensor:
    """Uninitialised memory in which numbers are drawn in the order in which ``out`` would get them:
    that of its memory, if it has the shape. An ``out`` that may not be written is refused before
    anything is drawn."""
    B, dtype = out._device.backend, out._array.dtype
    in_order = out._array.shape == shape and out._array.size
    data = B.empty_strided(shape, out.stride(), dtype) if in_order else B.empty(shape, dtype)
    memory = wrap(data, out._device)
    check_out(out, memory, name, facts)
    return memory


@public(method=False)
def normal(
    mean: Tensor | float,
    std: Tensor | float | None = None,
    size: Sequence[int] | None = None,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Numbers of the normal distribution, each with its own mean and standard deviation.

    Args:
        mean: a tensor, or a number.
        std: a tensor that broadcasts with ``mean``, or a number; 1 unless given.
        size: the shape where both are numbers.

    Gradients with respect to ``mean`` and ``std`` are zero, as in torch.

    Raises:
        RuntimeError: a standard deviation is negative, or the shapes do not broadcast.
        NotImplementedError: the dtype is bool or an integer one.
        TypeError: both are numbers and there is no ``size``.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.normal(nnkit.tensor([0.0, 100.0]), 1.0)
        tensor([ 1.5410, 99.7066])
    """
    if size is not None:
        mean, std = scalar(mean), scalar(std)
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    if tensors and size is not None:
        raise TypeError("normal(): argument 'size' goes with numbers as 'mean' and 'std'")
    if not tensors:
        if size is None or std is None:
            raise TypeError("normal(): expected (mean, std, size) where neither is a Tensor")
        x = blank("normal", (), size, dtype, out, layout, device)
        normal_(x, mean, std, generator=generator)
        return finished("normal", x._array, x._device, requires_grad, out)
    shape = broadcast_shape("normal", [t.shape for t in tensors])
    source = source_of("normal", generator, tensors[0]._device)
    if isinstance(std, Tensor):
        if std.is_complex():
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std._array.size and not bool((lowest(std) >= 0).all()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    else:
        std = number("normal", "std", 1.0 if std is None else std)
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if out is not None:
        drawn = _normal_like(out, mean, std, generator)
        return write_out(out, drawn, "normal", Out(dtype="same"), (mean, std))
    if math.prod(shape):
        need("normal", tensors[0].dtype, (FLOATING, COMPLEX), NotImplementedError)
    if is_unseen(tensors) and not MODE.inference:  # torch records the steps
        memory = empty_of_each(shape, tensors[0]._array.dtype, tensors[0]._device)
        return _normal_into(memory, mean, std, generator)
    if not isinstance(std, Tensor):
        result = _normal_around(of_each(tensors[0]), std, source)
    elif not isinstance(mean, Tensor):
        result = _normal_scaled(of_each(std), number("normal", "mean", mean), source)
    else:
        result = _normal_between(of_each(mean), of_each(std), shape, source)
    return result


def _normal_like(out: Tensor, mean: Any, std: Any, generator: Any) -> Tensor:
    """The numbers that ``normal`` writes into ``out``: drawn, scaled and moved in its dtype."""
    scaled = isinstance(std, Tensor)
    shapes = [v.shape for v in (mean, std if scaled else out) if isinstance(v, Tensor)]
    x = _like_out("normal", broadcast_shape("normal", shapes), out, FILLED)
    return _normal_into(x, mean, std, generator)


def _normal_into(x: Tensor, mean: Any, std: Any, generator: Any) -> Tensor:
    """Numbers drawn into ``x``, then scaled and moved there by ops that autograd records."""
    scaled, moved = isinstance(std, Tensor), isinstance(mean, Tensor)
    normal_(x, 0.0, 1.0 if scaled else std, generator=generator)
    x = x.mul_(std) if scaled else x
    return x.add_(mean) if moved or mean else x


def _check_bernoulli_out(out: Any, arguments: tuple, options: dict) -> None:
    """Errors for calls of bernoulli() with ``out=``, before anything is drawn."""
    if arguments[1:] or "p" in options:
        raise TypeError("bernoulli(): argument 'out' goes without 'p'")
    if isinstance(out, Tensor) and out.is_complex():
        raise NotImplementedError(f"bernoulli(): not implemented for {out.dtype.name} draws")
    check_out(out, arguments[0], "bernoulli", _ANY, arguments)


_ANY = Out(dtype="any", warning="", prepare=_check_bernoulli_out)


@public(out=_ANY)
def bernoulli(
    input: Tensor,
    p: float = ...,  # pyright: ignore[reportArgumentType]
    *,
    generator: Any = None,
) -> Tensor:
    """1 with the chance that ``input`` says (or ``p``, for all elements), else 0.

    Args:
        input: a floating-point tensor of chances; where ``p`` is given, of any dtype but complex.

    The gradient with respect to ``input`` is zero.

    Raises:
        RuntimeError: a chance lies outside [0, 1].
        NotImplementedError: ``input`` is no floating-point tensor.

    Example:
        >>> import nnkit
        >>> nnkit.bernoulli(nnkit.tensor([0.0, 1.0, 1.0]))
        tensor([0., 1., 1.])
    """
    check_tensor("bernoulli", input)
    input = of_each(input)
    if p is not ...:
        check_alike(input)
        blank = wrap(input._device.backend.empty(input.shape, input._array.dtype), input._device)
        return bernoulli_(blank, p, generator=generator)
    out = _bernoulli(input, source_of("bernoulli", generator, input._device))
    return real_gradient("bernoulli", out)


@public(method=False)
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Counts of the Poisson distribution with the rates that ``input`` says.

    The gradient with respect to ``input`` is zero.

    Raises:
        RuntimeError: a rate is negative.
        NotImplementedError: ``input`` is no floating-point tensor.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.poisson(nnkit.tensor([0.0, 1.0, 20.0]))
        tensor([ 0.,  2., 28.])
    """
    check_tensor("poisson", input)
    need("poisson", input.dtype, (FLOATING,), NotImplementedError)
    return _poisson(of_each(input), source_of("poisson", generator, input._device))


@public(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Random numbers of successes among ``count`` trials, each of probability ``prob``.

    Args:
        count, prob: of one floating-point dtype; they are broadcast.

    Raises:
        ValueError: one is not of floating point.
        RuntimeError: they differ in dtype, or their shapes do not broadcast.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.binomial(nnkit.tensor([10.0, 100.0]), nnkit.tensor([0.5, 0.5]))
        tensor([ 7., 51.])
    """
    for name, given in (("count", count), ("prob", prob)):
        check_tensor("binomial", given, name)
        if given.dtype.category != FLOATING:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {given.dtype}"
            )
    if count.dtype in (float16, bfloat16):
        raise NotImplementedError(f"binomial(): not implemented for '{count.dtype.name}' tensors")
    if count.dtype is not prob.dtype:
        raise RuntimeError(
            f"binomial(): count and prob must have one dtype, got {count.dtype} and {prob.dtype}"
        )
    source = source_of("binomial", generator, count._device)
    return _binomial(*map(of_each, broadcast_tensors(count, prob)), source)


def draw_standard_gamma(concentration: Tensor, generator: Any = None) -> Tensor:
    """Draws of gamma distributions of rate 1; they have no derivative here.

    Source: Marsaglia and Tsang 2000, "A simple method for generating gamma variables".
    """
    source = source_of("standard_gamma", generator, concentration._device)
    return _standard_gamma(of_each(concentration), source)


@public(out=Out(dtype="same", warning="", words="multinomial expects Long tensor out, got: {got}"))
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """Indices drawn from each row with chances in proportion to its elements.

    Args:
        input: non-negative weights, (categories,) or (rows, categories), floating point.
        num_samples: how many for each row; without replacement at most as many as categories.

    Returns:
        int64 tensor, (num_samples,) or (rows, num_samples).

    Raises:
        RuntimeError: a weight is negative, infinite or NaN, a row has none above 0, or the shape,
            the dtype or ``num_samples`` does not fit.

    Example:
        >>> import nnkit
        >>> nnkit.multinomial(nnkit.tensor([0.0, 1.0, 0.0]), 3, replacement=True)
        tensor([1, 1, 1])
    """
    check_tensor("multinomial", input)
    if not 0 < input.ndim <= 2:
        raise RuntimeError(f"multinomial(): prob_dist must be 1 or 2 dim, got {input.ndim}")
    if input.dtype.category != FLOATING:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {input.dtype.name}"
        )
    count = integer("multinomial", "num_samples", num_samples)
    if count <= 0:
        raise RuntimeError(f"multinomial(): cannot sample n_sample <= 0 samples, got {count}")
    if not replacement and count > input.shape[-1]:
        raise RuntimeError(
            f"multinomial(): cannot sample n_sample > prob_dist.size(-1) samples without "
            f"replacement, got {count} of {input.shape[-1]}"
        )
    check_shape("multinomial", (*input._array.shape[:-1], count))
    source = source_of("multinomial", generator, input._device)
    input = of_each(input)
    B = input._device.backend
    returns = bool(replacement) and count > 1  # a single draw takes torch's numbers either way
    drawn = B.multinomial(input._array, count, returns, source)
    return wrap(B.contiguous(drawn), input._device)
