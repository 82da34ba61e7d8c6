"""The classical orthogonal polynomials, without a derivative, as in torch.

Either argument may be a number. A degree is cut to an integer; one below 0 gives 0.
"""

from __future__ import annotations

from typing import Any

from nnkit.autograd.op.pointwise import fn, pointwise
from nnkit.autograd.tensor import Tensor


def _polynomial(name: str) -> Any:
    # The op of a polynomial that the backends know by its name
    function = getattr(fn, name)
    return pointwise(
        name, lambda x, n: function(x, n), kind="float", public=False, refuses=("complex", "half")
    )


def _shifted(kind: str) -> Any:
    # Chebyshev's polynomial of 2 x - 1
    plain = getattr(fn, f"chebyshev_polynomial_{kind}")
    return pointwise(
        f"shifted_chebyshev_polynomial_{kind}", lambda x, n: plain(x + x - 1, n), kind="float",
        public=False, refuses=("complex", "half"),
    )


_chebyshev_polynomial_t = _polynomial("chebyshev_polynomial_t")
_chebyshev_polynomial_u = _polynomial("chebyshev_polynomial_u")
_chebyshev_polynomial_v = _polynomial("chebyshev_polynomial_v")
_chebyshev_polynomial_w = _polynomial("chebyshev_polynomial_w")
_hermite_polynomial_h = _polynomial("hermite_polynomial_h")
_hermite_polynomial_he = _polynomial("hermite_polynomial_he")
_laguerre_polynomial_l = _polynomial("laguerre_polynomial_l")
_legendre_polynomial_p = _polynomial("legendre_polynomial_p")
_shifted_chebyshev_polynomial_t = _shifted("t")
_shifted_chebyshev_polynomial_u = _shifted("u")
_shifted_chebyshev_polynomial_v = _shifted("v")
_shifted_chebyshev_polynomial_w = _shifted("w")


def chebyshev_polynomial_t(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """Chebyshev's polynomial of the first kind of degree ``n``, ``cos(n * acos(input))``.

    Example:
        >>> import nnkit
        >>> nnkit.special.chebyshev_polynomial_t(nnkit.tensor([0.5]), 2)
        tensor([-0.5000])
    """
    return _chebyshev_polynomial_t(input, n)


def chebyshev_polynomial_u(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree ``n``,
    ``sin((n + 1) * a) / sin(a)`` with ``a = acos(input)``.

    Example:
        >>> import nnkit
        >>> nnkit.special.chebyshev_polynomial_u(nnkit.tensor([0.5]), 3)
        tensor([-1.])
    """
    return _chebyshev_polynomial_u(input, n)


def chebyshev_polynomial_v(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree ``n``,
    ``cos((n + 1/2) * a) / cos(a / 2)`` with ``a = acos(input)``."""
    return _chebyshev_polynomial_v(input, n)


def chebyshev_polynomial_w(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree ``n``,
    ``sin((n + 1/2) * a) / sin(a / 2)`` with ``a = acos(input)``."""
    return _chebyshev_polynomial_w(input, n)


def hermite_polynomial_h(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """Hermite's polynomial of degree ``n``, as in physics:
    ``H[n + 1] = 2 * input * H[n] - 2 * n * H[n - 1]``.

    Example:
        >>> import nnkit
        >>> nnkit.special.hermite_polynomial_h(nnkit.tensor([1.0]), 2)
        tensor([2.])
    """
    return _hermite_polynomial_h(input, n)


def hermite_polynomial_he(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """Hermite's polynomial of degree ``n``, as in statistics:
    ``He[n + 1] = input * He[n] - n * He[n - 1]``.

    Example:
        >>> import nnkit
        >>> nnkit.special.hermite_polynomial_he(nnkit.tensor([2.0]), 2)
        tensor([3.])
    """
    return _hermite_polynomial_he(input, n)


def laguerre_polynomial_l(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """Laguerre's polynomial of degree ``n``:
    ``(n + 1) * L[n + 1] = (2 * n + 1 - input) * L[n] - n * L[n - 1]``.

    Example:
        >>> import nnkit
        >>> nnkit.special.laguerre_polynomial_l(nnkit.tensor([1.0]), 2)
        tensor([-0.5000])
    """
    return _laguerre_polynomial_l(input, n)


def legendre_polynomial_p(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """Legendre's polynomial of degree ``n``:
    ``(n + 1) * P[n + 1] = (2 * n + 1) * input * P[n] - n * P[n - 1]``.

    Example:
        >>> import nnkit
        >>> nnkit.special.legendre_polynomial_p(nnkit.tensor([0.5]), 2)
        tensor([-0.1250])
    """
    return _legendre_polynomial_p(input, n)


def shifted_chebyshev_polynomial_t(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """``chebyshev_polynomial_t(2 * input - 1, n)``."""
    return _shifted_chebyshev_polynomial_t(input, n)


def shifted_chebyshev_polynomial_u(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """``chebyshev_polynomial_u(2 * input - 1, n)``."""
    return _shifted_chebyshev_polynomial_u(input, n)


def shifted_chebyshev_polynomial_v(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """``chebyshev_polynomial_v(2 * input - 1, n)``."""
    return _shifted_chebyshev_polynomial_v(input, n)


def shifted_chebyshev_polynomial_w(input: Tensor | complex, n: Tensor | complex) -> Tensor:
    """``chebyshev_polynomial_w(2 * input - 1, n)``."""
    return _shifted_chebyshev_polynomial_w(input, n)
