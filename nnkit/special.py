"""Special functions under the names of ``torch.special``, element by element.

All take float32 and float64, and integers, which become the default floating dtype; which also take
half precision or complex numbers is torch's choice.
"""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.ops.elementwise import special as rules

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc",
    "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc", "softmax",
    "xlog1py", "xlogy", "zeta",
]  # fmt: skip

digamma = psi = PUBLIC["digamma"]
erf, erfc, erfinv = PUBLIC["erf"], PUBLIC["erfc"], PUBLIC["erfinv"]
exp2, expm1, log1p = PUBLIC["exp2"], PUBLIC["expm1"], PUBLIC["log1p"]
expit, logit, sinc = PUBLIC["sigmoid"], PUBLIC["logit"], PUBLIC["sinc"]
gammainc, gammaincc = PUBLIC["igamma"], PUBLIC["igammac"]
gammaln, multigammaln, polygamma = PUBLIC["lgamma"], PUBLIC["mvlgamma"], PUBLIC["polygamma"]
log_softmax, logsumexp, softmax = (PUBLIC[name] for name in ("log_softmax", "logsumexp", "softmax"))
i0, round, xlogy = PUBLIC["i0"], PUBLIC["round"], PUBLIC["xlogy"]


def i0e(input: Tensor) -> Tensor:
    """``exp(-|input|) * i0(input)``.

    Example:
        >>> import nnkit
        >>> nnkit.special.i0e(nnkit.tensor([0.0, 100.0]))
        tensor([1.0000, 0.0399])
    """
    return rules.i0e(input)


def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1.

    Example:
        >>> import nnkit
        >>> nnkit.special.i1(nnkit.tensor([0.0, 1.0]))
        tensor([0.0000, 0.5652])
    """
    return rules.i1(input)


def i1e(input: Tensor) -> Tensor:
    """``exp(-|input|) * i1(input)``."""
    return rules.i1e(input)


def entr(input: Tensor) -> Tensor:
    """``-input * log(input)``: 0 at 0, -inf for negative numbers.

    Example:
        >>> import nnkit
        >>> nnkit.special.entr(nnkit.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.3466, -0.0000])
    """
    return rules.entr(input)


def erfcx(input: Tensor) -> Tensor:
    """``exp(input**2) * erfc(input)``, without overflow of the first or underflow of the second.

    Example:
        >>> import nnkit
        >>> nnkit.special.erfcx(nnkit.tensor([0.0, 100.0]))
        tensor([1.0000, 0.0056])
    """
    return rules.erfcx(input)


def ndtr(input: Tensor) -> Tensor:
    """The standard normal distribution function, ``(1 + erf(input / sqrt(2))) / 2``.

    Example:
        >>> import nnkit
        >>> nnkit.special.ndtr(nnkit.tensor([-1.0, 0.0]))
        tensor([0.1587, 0.5000])
    """
    return rules.ndtr(input)


def ndtri(input: Tensor) -> Tensor:
    """The inverse of `ndtr`: infinite at 0 and 1, NaN outside.

    Example:
        >>> import nnkit
        >>> nnkit.special.ndtri(nnkit.tensor([0.5, 0.975]))
        tensor([0.0000, 1.9600])
    """
    return rules.ndtri(input)


def log_ndtr(input: Tensor) -> Tensor:
    """``log(ndtr(input))``, right where `ndtr` is 0.

    Example:
        >>> import nnkit
        >>> nnkit.special.log_ndtr(nnkit.tensor([0.0, -100.0]))
        tensor([-6.9315e-01, -5.0055e+03])
    """
    return rules.log_ndtr(input)


def xlog1py(input: Tensor | complex, other: Tensor | complex) -> Tensor:
    """``input * log1p(other)``, 0 where ``input`` is 0; either may be a number.

    Example:
        >>> import nnkit
        >>> nnkit.special.xlog1py(nnkit.tensor([0.0, 2.0]), nnkit.tensor([-1.0, 0.0]))
        tensor([0., 0.])
    """
    return rules.xlog1py(input, other)


def zeta(input: Tensor | complex, other: Tensor | complex) -> Tensor:
    """Hurwitz's zeta function: the sum of ``(other + k)**-input`` over k >= 0; either may be a
    number. It has a derivative in ``other``.

    Example:
        >>> import nnkit
        >>> nnkit.special.zeta(nnkit.tensor([2.0]), 1)
        tensor([1.6449])
    """
    return rules.zeta(input, other)


hold_all(globals(), "special.", out=True)
