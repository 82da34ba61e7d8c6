"""Random tensors. For the same seed the numbers are PyTorch's (on the CPU)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.factory import FILLED, SIZED, check_kind, dtype_of, finished, place_of
from nnkit.autograd.arguments.sizes import check_shape, integer
from nnkit.autograd.batch.examples import drawn_for_each, of_each
from nnkit.autograd.op.out import check_out
from nnkit.autograd.op.public import public
from nnkit.autograd.ops.creation.factories import empty_like
from nnkit.autograd.ops.random.inplace import (
    draw,
    draw_anew,
    draw_real,
    integer_bounds,
    need,
    random_,
    uniform_,
)
from nnkit.autograd.ops.random.sampling import (
    bernoulli,
    binomial,
    blank,
    multinomial,
    normal,
    poisson,
)
from nnkit.autograd.surface.generator import Generator, default_generator, manual_seed, source_of
from nnkit.autograd.tensor import Tensor, on_its_own, wrap
from nnkit.backend.dtype import FLOATING, INTEGER, bfloat16, float16, float32, float64, int64

__all__ = [
    "Generator", "bernoulli", "binomial", "default_generator", "manual_seed", "multinomial",
    "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm", "random_", "uniform_",
]  # fmt: skip

_EXACT = {float16: 2**11 + 1, bfloat16: 2**8 + 1, float32: 2**24 + 1, float64: 2**53 + 1}


@public(method=False)
def rand(
    *shape: Any,
    size: Sequence[int] | None = None,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Numbers of the uniform distribution on [0, 1).

    Args:
        shape: the sizes, one by one or as one sequence.
        dtype: a floating-point or complex one; the default dtype unless given.

    Raises:
        NotImplementedError: the dtype is bool or an integer one.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.rand(2, 2)
        tensor([[0.4963, 0.7682],
                [0.0885, 0.1320]])
    """
    x = blank("rand", shape, size, dtype, out, layout, device)
    draw_real(x, "uniform_", 0.0, 1.0, generator, draw_anew)
    return finished("rand", x._array, x._device, requires_grad, out)


@public(method=False)
def randn(
    *shape: Any,
    size: Sequence[int] | None = None,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Numbers of the normal distribution with mean 0 and variance 1.

    Args:
        shape: the sizes, one by one or as one sequence.
        dtype: a floating-point or complex one; the default dtype unless given.

    Raises:
        NotImplementedError: the dtype is bool or an integer one.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.randn(2)
        tensor([ 1.5410, -0.2934])
    """
    x = blank("randn", shape, size, dtype, out, layout, device, facts=SIZED)
    draw_real(x, "normal_", 0.0, 1.0, generator, draw_anew)
    return finished("randn", x._array, x._device, requires_grad, out, SIZED)


@public(method=False)
def randint(
    *bounds: Any,
    low: int = ...,  # pyright: ignore[reportArgumentType]
    high: int = ...,  # pyright: ignore[reportArgumentType]
    size: Sequence[int] = ...,  # pyright: ignore[reportArgumentType]
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Integers of [low, high), all equally likely: ``randint(low=0, high, size)``.

    Args:
        dtype: any but a complex one; int64 unless given.

    Raises:
        RuntimeError: ``low >= high``, or a bound does not fit the dtype.
        TypeError: an argument is missing, or is no int (``size``: no sequence of ints).

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.randint(3, 10, (4,))
        tensor([7, 6, 3, 5])
    """
    given = list(bounds)
    if size is ... and given:
        size = given.pop()
    if high is ... and given:
        high = given.pop()
    if low is ...:
        low = given.pop() if given else 0
    if given or high is ... or size is ...:
        raise TypeError(f"randint(): expected (low, high, size) or (high, size), got {bounds}")
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}"
        )
    if high is None:
        raise TypeError("randint(): argument 'high' must be int, not NoneType")
    x = blank("randint", (), size, dtype, out, layout, device, int64)
    _integers("randint", x, low, high, generator, draw_anew)
    return finished("randint", x._array, x._device, requires_grad, out)


def _integers(
    name: str, x: Tensor, low: Any, high: Any, generator: Any, draw: Callable = draw
) -> Tensor:
    low, high = integer_bounds(name, x.dtype, low, high)
    return draw(x, "random_", low, high, source_of(name, generator, x._device))


@public(method=False)
def randperm(
    n: int, *, generator: Any = None, out: Tensor | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The integers of [0, n) in random order.

    Args:
        dtype: int64 unless given.

    Raises:
        RuntimeError: ``n`` is negative, or the dtype does not hold all of the integers.
        NotImplementedError: the dtype is bool or complex.

    Example:
        >>> import nnkit
        >>> _ = nnkit.manual_seed(0)
        >>> nnkit.randperm(6)
        tensor([2, 5, 3, 0, 1, 4])
    """
    check_kind("randperm", dtype, layout, device, out)
    check_shape("randperm", (integer("randperm", "n", n),))
    d = dtype_of("randperm", dtype, int64 if out is None else out.dtype)
    place = place_of(device, out=out)
    need("randperm", d, (INTEGER, FLOATING), NotImplementedError)
    limit = _EXACT.get(d) or 2 ** (8 * d.itemsize - d.is_signed)
    if n > limit:
        raise RuntimeError(f"randperm(): n cannot be greater than {limit} for {d.name}, got {n}")
    if out is not None:  # before anything is drawn
        check_out(out, wrap(place.backend.empty((n,), d.array), place), "randperm", FILLED)
    source = source_of("randperm", generator, place)
    x = drawn_for_each(lambda B: B.randperm(n, d.array, source), place)
    return finished("randperm", x._array, x._device, requires_grad, out)


def _unfilled_like(
    input: Tensor, memory_format: Any, dtype: Any, layout: Any, device: Any
) -> Tensor:
    """Memory for random numbers beside a tensor: for those of each example where they differ."""
    options = {"dtype": dtype, "layout": layout, "device": device}
    return empty_like(of_each(input), memory_format=memory_format, **options)


@public(method=False)
def rand_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Numbers of the uniform distribution on [0, 1) in a tensor like ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.rand_like(nnkit.zeros(2, 3)).shape
        nnkit.Size([2, 3])
    """
    x = _unfilled_like(input, memory_format, dtype, layout, device)
    draw_real(x, "uniform_", 0.0, 1.0, generator)
    return on_its_own(x)._set_requires_grad(requires_grad)


@public(method=False)
def randn_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Numbers of the normal distribution with mean 0 and variance 1 in a tensor like ``input``.

    Example:
        >>> import nnkit
        >>> nnkit.randn_like(nnkit.zeros(2, 3)).shape
        nnkit.Size([2, 3])
    """
    x = _unfilled_like(input, memory_format, dtype, layout, device)
    draw_real(x, "normal_", 0.0, 1.0, generator)
    return on_its_own(x)._set_requires_grad(requires_grad)


@public(method=False)
def randint_like(
    input: Tensor,
    *bounds: Any,
    low: int = ...,  # pyright: ignore[reportArgumentType]
    high: Tensor | int = ...,  # pyright: ignore[reportArgumentType]
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Integers of [low, high) in a tensor like ``input``: ``randint_like(input, low=0, high)``.

    Example:
        >>> import nnkit
        >>> nnkit.randint_like(nnkit.zeros(2), 7, 8)
        tensor([7., 7.])
    """
    given = list(bounds)
    if high is ... and given:
        high = given.pop()
    if low is ...:
        low = given.pop() if given else 0
    if given or high is ...:
        raise TypeError(f"randint_like(): expected (input, low, high), got bounds {bounds}")
    x = _unfilled_like(input, memory_format, dtype, layout, device)
    _integers("randint_like", x, low, high, generator)
    return on_its_own(x)._set_requires_grad(requires_grad)
