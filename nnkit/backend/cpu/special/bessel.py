"""The modified Bessel functions of the first kind, of order 0 and 1.

Up to 8 the power series, whose terms are all positive; beyond, sqrt(x) exp(-x) I(x) is a polynomial
in 1 / x. At infinity I itself is NaN, as in torch.
"""

from __future__ import annotations

import math

import numpy as np

from nnkit.backend.cpu.special.approximation import pointwise, polynomial, table

# sqrt(x) exp(-x) I(x) in 16 / x - 1, x >= 8, by order
_LARGE = (
    table(
        "f8",
        -2.0260604287413627e-11, 9.3650868928181908e-11, 1.5279202694981568e-10,
        -6.6332871125470835e-10, -5.7158438642027086e-10, 2.1968921378829005e-9,
        1.5200816953924231e-9, -4.5755534245349736e-9, -3.5059665308793318e-9,
        6.5601387469170572e-9, 7.5525830621233848e-9, -5.0381064879032841e-9,
        -1.340891754008974e-8, -6.8493381882697867e-9, 7.5546918812488083e-9,
        2.1566251453104355e-8, 3.9325843345529518e-8, 8.8720343833141437e-8,
        2.9735985885673924e-7, 1.4838476651250266e-6, 1.1143033790932038e-5,
        0.00013621607438984735, 0.0033605519836678616, 0.40217650944500808,
    ),
    table(
        "f8",
        1.8515118828852957e-11, -9.7523972041381948e-11, -1.4011625179770627e-10,
        6.917089294193807e-10, 5.2956254411612611e-10, -2.2970041618852009e-9,
        -1.4387250533041014e-9, 4.810597405089944e-9, 3.4262341490077959e-9,
        -6.9838396248958659e-9, -7.6423941343635612e-9, 5.5933701017906101e-9,
        1.4034238782067183e-8, 6.8401389977069582e-9, -8.4277660937351841e-9,
        -2.3392503748018582e-8, -4.3129177291783492e-8, -1.000109565963654e-7,
        -3.4838557610442947e-7, -1.8349102358955385e-6, -1.5038547200567217e-5,
        -0.0002192357638317243, -0.0097495771932357362, 0.38939845902587232,
    ),
)
# I(x) / (x / 2)^order in (x / 2)^2, by order
_SMALL = tuple(
    table("f8", *(1 / (math.factorial(k) * math.factorial(k + order)) for k in range(24, -1, -1)))
    for order in (0, 1)
)


def _bessel(x: np.ndarray, order: int, scaled: bool) -> np.ndarray:
    size = np.abs(x)
    value = np.empty_like(x)
    small = size <= 8
    a = size[small]
    near = polynomial(a * a / 4, _SMALL[order])
    if order:
        near *= a / 2
    value[small] = near * np.exp(-a) if scaled else near
    a = size[~small]
    far = polynomial(16 / a - 1, _LARGE[order]) / np.sqrt(a)
    if not scaled:
        # In two halves, since exp(x) overflows before I(x) does.
        half = np.exp(a / 2)
        far = far * half * half
    value[~small] = far
    return np.copysign(value, x) if order else value


@pointwise(double=True)
def i0(x):
    """I_0(x)."""
    return _bessel(x, 0, scaled=False)


@pointwise(double=True)
def i0e(x):
    """exp(-|x|) I_0(x)."""
    return _bessel(x, 0, scaled=True)


@pointwise(double=True)
def i1(x):
    """I_1(x)."""
    return _bessel(x, 1, scaled=False)


@pointwise(double=True)
def i1e(x):
    """exp(-|x|) I_1(x)."""
    return _bessel(x, 1, scaled=True)
