"""Special functions under the names of ``torch.special``, element by element.

All take float32 and float64, and integers, which become the default floating dtype; which also take
half precision or complex numbers is torch's choice.
"""

from __future__ import annotations

from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.op.public import PUBLIC
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

hold_all(globals(), "special.", out=True)
