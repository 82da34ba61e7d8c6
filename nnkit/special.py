"""Special functions under the names of ``torch.special``, element by element.

All take float32 and float64, and integers, which become the default floating dtype; which also
take half precision or complex numbers is torch's choice. Bessel's functions besides `i0` and `i1`,
Airy's and the orthogonal polynomials have no derivative in torch: their results require no
gradient. Either argument of a polynomial may be a number; its degree is cut to an integer, and one
below 0 gives 0.
"""

from __future__ import annotations

from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.ops.elementwise.bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from nnkit.autograd.ops.elementwise.polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from nnkit.autograd.ops.elementwise.special import (
    entr,
    erfcx,
    i0e,
    i1,
    i1e,
    log_ndtr,
    ndtr,
    ndtri,
    xlog1py,
    zeta,
)

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr",
    "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py", "xlogy",
    "zeta",
]  # fmt: skip

digamma = psi = PUBLIC["digamma"]
erf, erfc, erfinv = PUBLIC["erf"], PUBLIC["erfc"], PUBLIC["erfinv"]
exp2, expm1, log1p = PUBLIC["exp2"], PUBLIC["expm1"], PUBLIC["log1p"]
expit, logit, sinc = PUBLIC["sigmoid"], PUBLIC["logit"], PUBLIC["sinc"]
gammainc, gammaincc = PUBLIC["igamma"], PUBLIC["igammac"]
gammaln, multigammaln, polygamma = PUBLIC["lgamma"], PUBLIC["mvlgamma"], PUBLIC["polygamma"]
log_softmax, logsumexp, softmax = (PUBLIC[name] for name in ("log_softmax", "logsumexp", "softmax"))
i0, round, xlogy = PUBLIC["i0"], PUBLIC["round"], PUBLIC["xlogy"]

hold_all(globals(), "special.", out=True)
