"""The error function and its relatives.

Near 0, erf(x) = x P(x^2). The complements follow from the scaled function
erfcx(x) = exp(x^2) erfc(x), one polynomial in t = (x - 3.5) / (x + 3.5) for all x >= 0
(J. L. Schonfelder, "Chebyshev expansions for the error and related functions", 1978; the factor
1 + 2 x, which makes the end at infinity regular, is S. G. Johnson's). erfinv is a polynomial in
log(1 - x^2) and, in the tails, in its root (M. Giles, "Approximating the erfinv function", 2011).
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from nnkit.backend.cpu.special.approximation import pointwise, polynomial, table

# erf(x) / x in x^2, 0 <= x <= 1
_CENTRAL = table(
    "f8", -7.7985438505499469e-10, 1.3721520406351094e-8, -1.6208829856810201e-7,
    1.6447471190594618e-6, -1.4924740785377575e-5, 0.00012055295112667001,
    -0.00085483259825432251, 0.0052239776072699453, -0.026866170643256994, 0.1128379167094513,
    -0.37612638903183544, 1.1283791670955126,
)
# The same to float32's precision for 0 <= x <= 3.93, where erf rounds to 1, as a quotient
_NUMERATOR = table(
    "f8", 2.0418275278e-6, 0.00028478250541, 0.0037791647369, 0.052788889785, 0.19077569634,
    1.1283791455,
)
_DENOMINATOR = table(
    "f8", 3.8001214248e-5, 0.0011650742476, 0.014996570803, 0.1142538663, 0.50240328269, 1.0,
)
# (1 + 2 x) erfcx(x) in t, 0 <= x <= inf
_SCALED = {
    4: table(
        "f4",
        -3.505492934e-5, -6.252239498e-5, 0.0005539717081, -0.0003686756885, -0.004207996373,
        0.01913713211, -0.04882576761, 0.0879724691, -0.1150891931, 0.09752040332,
        -0.01055562157, -0.1400092262, 1.242349245,
    ),
    8: table(
        "f8",
        -1.1656687889203665e-9, 6.040390099342991e-11, 1.3624442778701047e-8,
        6.6518943823765316e-10, -9.6400425314438303e-8, -8.6115715711137188e-9,
        6.0148238499504254e-7, -4.309237398316666e-8, -3.814012584490695e-6,
        2.3273309537791425e-6, 2.4260300984917994e-5, -4.2781739959539997e-5,
        -0.00012151212091980101, 0.00056438426687051023, -0.00030226795343332386,
        -0.0042150198797741864, 0.019099330953271165, -0.048823325830884019,
        0.087983153824036782, -0.11508959816003075, 0.09751909515328706,
        -0.01055559633222167, -0.1400091801376197, 1.2423492448711544,
    ),
}
# erfinv(x) / x: the end of each piece in w = -log(1 - x^2), then the polynomial, in w for the
# first piece and in sqrt(w) for the others, scaled to -1 .. 1.
_INVERSE = (
    (6.25, table(
        "f8",
        7.680990475576525e-10, -8.1864429165957726e-11, -8.5579840744792019e-9,
        9.0505163627836586e-9, 3.9142671001331082e-8, -1.0509863560329017e-7,
        -1.0167881522843899e-8, 5.4557314494417546e-7, -1.059336931327948e-6,
        -6.8759766044906903e-7, 7.1300663740767114e-6, -1.12556848303199e-5,
        -1.5027713926607672e-5, 9.3366938501454686e-5, -0.00011688883906368398,
        -0.00026439358874860611, 0.0012324855685500931, -0.0012716922767024804,
        -0.004137314377403391, 0.01780836181873851, -0.022604447453450232,
        -0.058922567103787135, 0.75049432007996358, 1.6536545626831027,
    )),
    (16.0, table(
        "f8",
        -6.466960514925276e-11, 3.8645975308758616e-12, 9.8891153898279779e-10,
        -2.7192930488742553e-9, -3.6862448212666725e-10, 2.6703450893214861e-8,
        -9.4689945702469365e-8, 9.2676972709935836e-8, 5.2646247287145872e-7,
        -2.6646986281363751e-6, 5.1273166644974107e-6, 2.4058393020311569e-6,
        -4.7391827288071252e-5, 0.00016966502589887311, -0.00040063569835709887,
        0.00078830785100019651, -0.0015825410894071101, 0.0030211394363839932,
        0.75394422577062403, 3.0838856104922206,
    )),
    (6.01**2, table(
        "f8",
        -2.176723165890148e-11, 4.4736638967403772e-11, 7.6879803139827363e-11,
        -4.6557218290825971e-10, 1.3804165648055801e-9, -3.6067324128096582e-9,
        8.0633181806685863e-9, -1.5626560895415953e-8, 2.9636525898009632e-8,
        -6.9162100506947244e-8, 2.352459594260808e-7, -1.0188859160590139e-6,
        4.6278955281859754e-6, -2.0040082724546031e-5, 7.702638882462607e-5,
        -0.00021673389058898908, -0.0001433562777345521, 1.0153505568899488,
        4.8549579002380927,
    )),
)

# (ndtri(p) / sqrt(2 pi) - y) / y^3 in y^2 for y = p - 1/2, a quotient; in the tails in 1 / x,
# x = sqrt(-2 log(p)) up to 8 and beyond (S. L. Moshier, Cephes)
_NORMAL = tuple(
    (table("f8", *p), table("f8", *q))
    for p, q in (
        (
            (
                -59.96335010141079, 98.00107541859997, -56.67628574690703,
                13.931260938727968, -1.2391658386738125,
            ),
            (
                1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905,
                -225.46268785411937, 200.26021238006066, -82.03722561683334,
                15.90562251262117, -1.1833162112133,
            ),
        ),
        (
            (
                4.0554489230596245, 31.525109459989388, 57.16281922464213,
                44.08050738932008, 14.684956192885803, 2.1866330685079025,
                -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854,
            ),
            (
                1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672,
                15.04253856929075, 2.504649462083094, -0.14218292285478779,
                -0.03808064076915783, -0.0009332594808954574,
            ),
        ),
        (
            (
                3.2377489177694603, 6.915228890689842, 3.9388102529247444,
                1.3330346081580755, 0.20148538954917908, 0.012371663481782003,
                0.00030158155350823543, 2.6580697468673755e-06,
                6.239745391849833e-09,
            ),
            (
                1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132,
                0.21623699359449663, 0.013420400608854318, 0.00032801446468212774,
                2.8924786474538068e-06, 6.790194080099813e-09,
            ),
        ),
    )
)


def _scaled(x: np.ndarray) -> np.ndarray:
    """erfcx(x) for x >= 0."""
    t = 1 - 7 / (x + 3.5)
    return polynomial(t, _SCALED[x.itemsize]) / (1 + 2 * x)


def _gauss(x: np.ndarray) -> np.ndarray:
    """exp(-x^2). The rounding error of x^2, which exp would magnify x^2 times, is found by
    T. J. Dekker's exact product (1971) and multiplied back in."""
    x = np.minimum(x, 40)
    square = x * x
    high = x * (4097 if x.itemsize == 4 else 134217729)
    high -= high - x
    low = x - high
    error = ((high * high - square) + 2 * high * low) + low * low
    return np.exp(-square) * (1 - error)


def _central(x: np.ndarray) -> np.ndarray:
    """erf(x) for |x| <= 1; beyond, anything finite."""
    return x * polynomial(np.minimum(x * x, 1), _CENTRAL)


@pointwise
def erf(x):
    """2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    if x.dtype == np.float32:
        x = np.minimum(np.maximum(x, -3.93), 3.93).astype(np.float64)
        square = x * x
        x *= polynomial(square, _NUMERATOR)
        x /= polynomial(square, _DENOMINATOR)
        return x
    size = np.abs(x)
    tail = np.copysign(1 - np.exp(-x * x) * _scaled(size), x)
    return np.where(size < 1, _central(x), tail)


@pointwise
def erfc(x):
    """1 - erf(x), without cancellation."""
    size = np.abs(x)
    tail = _gauss(size) * _scaled(size)
    return np.where(size < 0.5, 1 - erf(x), np.where(x < 0, 2 - tail, tail))


@pointwise
def erfcx(x):
    """exp(x^2) erfc(x)."""
    size = np.abs(x)
    value = _scaled(size)
    negative = x < 0
    if negative.any():
        value[negative] = 2 / _gauss(size[negative]) - value[negative]
    return value


@pointwise(double=True)
def erfinv(x):
    """The y with erf(y) = x; infinite at -1 and 1, NaN outside."""
    w = -np.log((1 - x) * (1 + x))
    end, coefficients = _INVERSE[0]
    value = x * polynomial(np.minimum(w, end) * (2 / end) - 1, coefficients)
    for (start, _), (end, coefficients) in itertools.pairwise(_INVERSE):
        inside = w > start
        if not inside.any():
            break
        low, high = math.sqrt(start), math.sqrt(end)
        t = (np.sqrt(w[inside]) - (low + high) / 2) * (2 / (high - low))
        value[inside] = x[inside] * polynomial(t, coefficients)
    value[np.abs(x) == 1] = np.copysign(np.inf, x[np.abs(x) == 1])
    value[np.abs(x) > 1] = np.nan
    return value


def _upper(x: np.ndarray) -> np.ndarray:
    """1 - ndtr(x) for x >= 0 in float64."""
    x = np.minimum(x, 60)
    # exp(-x^2 / 2) from x itself: x / sqrt(2) has a rounding error that x^2 would magnify.
    high = x.astype(np.float32).astype(np.float64)
    gauss = np.exp(-high * high / 2) * np.exp((high - x) * (high + x) / 2)
    return gauss * _scaled(x * math.sqrt(0.5)) / 2


@pointwise(double=True)
def ndtr(x):
    """The normal distribution function, erfc(-x / sqrt(2)) / 2."""
    tail = _upper(np.abs(x))
    return np.where(x > 0, 1 - tail, tail)


@pointwise(double=True)
def log_ndtr(x):
    """log(ndtr(x)), without underflow on the left and cancellation on the right."""
    value = np.log1p(-_upper(np.maximum(x, 0)))
    left = x < 0
    a = -x[left]
    value[left] = np.log(_scaled(a * math.sqrt(0.5)) / 2) - a * a / 2
    return value


@pointwise(double=True)
def ndtri(p):
    """The x with ndtr(x) = p; infinite at 0 and 1, NaN outside."""
    tail = np.where(p > 0.5, 1 - p, p)
    y = p - 0.5
    square = y * y
    (numerator, denominator), *tails = _NORMAL
    quotient = polynomial(square, numerator) / polynomial(square, denominator)
    value = (y + y * square * quotient) * math.sqrt(2 * math.pi)
    x = np.sqrt(-2 * np.log(tail))
    near, far = (polynomial(1 / x, p) / polynomial(1 / x, q) / x for p, q in tails)
    size = x - np.log(x) / x - np.where(x < 8, near, far)
    value = np.where(tail > math.exp(-2), value, np.copysign(size, y))
    value[(p == 0) | (p == 1)] = np.copysign(np.inf, y[(p == 0) | (p == 1)])
    value[(p < 0) | (p > 1)] = np.nan
    return value
