"""Element-wise functions that NumPy lacks, each called like a ufunc: ``erf(x)``, ``erf(x, out=t)``.

Formulas reach them as ``fn.erf``. They take float32 and float64 (halves are widened above) and are
right to a few units in the last place, at infinities and NaN too; tests/backend/test_special.py
holds them to mpmath.
"""

from __future__ import annotations

from nnkit.backend.cpu.special.bessel import i0, i0e, i1, i1e
from nnkit.backend.cpu.special.elementary import (
    absolute,
    entr,
    expm1,
    exponent,
    frac,
    log1p,
    log_sigmoid,
    reciprocal,
    sgn,
    sigmoid,
    sign,
    sinc,
)
from nnkit.backend.cpu.special.error import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
from nnkit.backend.cpu.special.gamma import digamma, igamma, igammac, lgamma, polygamma, zeta
from nnkit.backend.cpu.special.polynomial import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
)

__all__ = [
    "absolute", "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
    "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "expm1",
    "exponent", "frac", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "igamma", "igammac", "laguerre_polynomial_l", "legendre_polynomial_p", "lgamma", "log1p",
    "log_ndtr", "log_sigmoid", "ndtr", "ndtri", "polygamma", "reciprocal", "sgn", "sigmoid",
    "sign", "sinc", "zeta",
]
