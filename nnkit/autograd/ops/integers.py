"""Divisors and multiples of whole numbers, element by element."""

from __future__ import annotations

from nnkit.autograd.op.out import Out
from nnkit.autograd.op.promotion import check_dtype, promote
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import rule
from nnkit.autograd.tensor import Tensor

NOT_WHOLE = ("bool", "floating", "complex")
_gcd, _lcm = rule("gcd"), rule("lcm")


@public(out=Out(checks_first=True), in_place=True)
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of two integers, not negative; ``gcd(0, 0)`` is 0.

    Raises:
        NotImplementedError: the dtypes do not promote to integers.

    Example:
        >>> import nnkit
        >>> nnkit.gcd(nnkit.tensor([12, 0]), nnkit.tensor([-18, 5]))
        tensor([6, 5])
    """
    x, y = promote("gcd", input, other)
    check_dtype("gcd", x.dtype, NOT_WHOLE, (x, y))
    return _gcd(x, y)


@public(out=Out(checks_first=True), in_place=True)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of two integers, not negative; 0 where one of them is 0.

    Raises:
        NotImplementedError: the dtypes do not promote to integers.

    Example:
        >>> import nnkit
        >>> nnkit.lcm(nnkit.tensor([4, 0]), nnkit.tensor([6, 5]))
        tensor([12,  0])
    """
    x, y = promote("lcm", input, other)
    check_dtype("lcm", x.dtype, NOT_WHOLE, (x, y))
    return _lcm(x, y)
