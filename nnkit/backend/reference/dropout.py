"""The dropouts over the algebra, with the noise that their backward needs.

Where ``feature`` holds, whole channels are dropped: axes 0 and 1 have their own coins, the others
share them.
"""

from __future__ import annotations

import math

# The negative saturation value of SELU, scale * alpha, with the sign turned.
_ALPHA = 1.7580993408473766


def _kept(B, x, p, feature):
    """1 where an element stays, 0 where it is dropped."""
    if feature:
        shape = (*x.shape[:2], *(1 for _ in x.shape[2:]))
        return B.bernoulli_(B.empty(shape, x.dtype), 1.0 - p, None)
    return B.cast(B.dropout_mask(x, p, None), x.dtype)


def dropout(B, x, p, feature):
    noise = B.div(_kept(B, x, p, feature), 1.0 - p)
    return B.mul(x, noise), noise


def alpha_dropout(B, x, p, feature):
    kept = _kept(B, x, p, feature)
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1.0) * (1.0 - p))
    # PyTorch rounds what it adds, not what it multiplies by, to the dtype first.
    rise = B.full((), _ALPHA * a * p, x.dtype)
    shift = B.add(B.mul(B.add(kept, -1.0), _ALPHA * a), rise)
    noise = B.mul(kept, a)
    return B.add(B.mul(x, noise), shift), noise
