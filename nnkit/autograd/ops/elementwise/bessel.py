"""Bessel's and Airy's functions without a derivative, as in torch: quotients of polynomials and
Chebyshev series in ranges of the argument, all from Cephes (S. L. Moshier, "Methods and Programs
for Mathematical Functions", 1989), as torch has them.

A polynomial's highest power comes first, and so does a series' last term. Cephes' denominators
begin with a power whose factor is 1 and which torch leaves out; so do these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.op.pointwise import fn, pointwise

_AIRY_RIGHT_TOP = (
    0.346538101525629, 12.007595273964581, 76.27960536152345, 168.08922493463058,
    159.75639135016442, 70.53609068404442, 14.026469116338967, 1.0,
)

_AIRY_RIGHT_BOTTOM = (
    0.5675945326387702, 14.75625625848472, 84.51389701414746, 177.31808814540045,
    164.2346928715297, 71.47784008255756, 14.095913560783403, 1.0,
)

_AIRY_SINE_TOP = (
    -0.1316963234183318, -0.6264565444319123, -0.6931580360369335, -0.2797799815451191,
    -0.04919001326095003, -0.004062659235948854, -0.0001592764962392621, -2.776491081552329e-06,
    -1.6778769848911465e-08,
)

_AIRY_SINE_BOTTOM = (
    13.356042070655324, 32.682503279522464, 26.736704094149957, 9.187074029072596,
    1.4752914677166642, 0.11568717379518804, 0.004402916416152112, 7.547203482874142e-05,
    4.5185009297058035e-07,
)

_AIRY_COSINE_TOP = (
    0.01973399320916857, 0.39110302961568827, 1.0657989759959559, 0.9391692298166502,
    0.35146565610554764, 0.06338889196289255, 0.005858041130483885, 0.000282851600836737,
    6.98793669997261e-06, 8.117892395543892e-08, 3.415517847659236e-10,
)

_AIRY_COSINE_BOTTOM = (
    9.30892908077442, 19.835292871831214, 15.564662893286462, 5.476860694229755,
    0.9542936116189619, 0.08645808263523921, 0.004126565238242226, 0.00010125908511650914,
    1.1716673321441352e-06, 4.9183457006293e-09,
)

_PHASE0_TOP = (
    0.0007969367292973471, 0.08283523921074408, 1.239533716464143, 5.447250030587687,
    8.74716500199817, 5.303240382353949, 1.0,
)

_PHASE0_BOTTOM = (
    0.0009244088105588637, 0.08562884743544745, 1.2535274390105895, 5.470977403304171,
    8.761908832370695, 5.306052882353947, 1.0,
)

_QUADRATURE0_TOP = (
    -0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683,
    -177.68116798048806, -147.07750515495118, -51.41053267665993, -6.050143506007285,
)

_QUADRATURE0_BOTTOM = (
    64.3178256118178, 856.4300259769806, 3882.4018360540163, 7240.467741956525, 5930.727011873169,
    2062.0933166032783, 242.0057402402914,
)

_J0_TOP = (
    -4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0,
)

_J0_BOTTOM = (
    499.563147152651, 173785.4016763747, 48440965.83399621, 11185553704.535683, 2112775201154.892,
    310518229857422.56, 3.1812195594320496e+16, 1.7108629408104315e+18,
)

_PHASE1_TOP = (
    0.0007621256162081731, 0.07313970569409176, 1.1271960812968493, 5.112079511468076,
    8.424045901417724, 5.214515986823615, 1.0,
)

_PHASE1_BOTTOM = (
    0.0005713231280725487, 0.06884559087544954, 1.105142326340617, 5.073863861286015,
    8.399855543276042, 5.209828486823619, 1.0,
)

_QUADRATURE1_TOP = (
    0.05108625947501766, 4.982138729512334, 75.82382841325453, 366.7796093601508,
    710.8563049989261, 597.4896124006136, 211.68875710057213, 25.207020585802372,
)

_QUADRATURE1_BOTTOM = (
    74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562,
    7997.041604473507, 2826.1927851763908, 336.0936078106983,
)

_J1_TOP = (
    -899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0,
)

_J1_BOTTOM = (
    620.8364781180543, 256987.25675774884, 83514679.14319493, 22151159547.97925,
    4749141220799.914, 784369607876235.9, 8.952223361846274e+16, 5.322786203326801e+18,
)

_Y0_TOP = (
    15592.436785523574, -14663929.59039716, 5435264770.518765, -982136065717.9115,
    87590639439536.7, -3466283033847297.0, 4.4273326857256984e+16, -1.8495080043698668e+16,
)

_Y0_BOTTOM = (
    1041.2835366425984, 626107.330137135, 268919633.39381415, 86400248710.3935,
    20297961275010.555, 3171577528429750.5, 2.5059625617265306e+17,
)

_Y1_TOP = (
    1263204747.9017804, -647355876379.1603, 114509511541823.73, -8127702555013251.0,
    2.024394757135949e+17, -7.788771962659501e+17,
)

_Y1_BOTTOM = (
    594.3015923461282, 235564.09294306856, 73481194.44597217, 18760131610.870617,
    3882312774962.3857, 620557727146953.8, 6.871410873553005e+16, 3.9727060811656064e+18,
)

_K0_NEAR = (
    1.374465435613523e-16, 4.25981614279661e-14, 1.0349695257633842e-11, 1.904516377220209e-09,
    2.5347910790261494e-07, 2.286212103119452e-05, 0.001264615411446926, 0.0359799365153615,
    0.3442898999246285, -0.5353273932339028,
)

_K0_FAR = (
    5.300433772686263e-18, -1.6475804301524212e-17, 5.2103915050390274e-17,
    -1.678231096805412e-16, 5.512055978524319e-16, -1.848593377343779e-15, 6.3400764774050706e-15,
    -2.2275133269916698e-14, 8.032890775363575e-14, -2.9800969231727303e-13,
    1.140340588208475e-12, -4.514597883373944e-12, 1.8559491149547177e-11, -7.957489244477107e-11,
    3.577397281400301e-10, -1.69753450938906e-09, 8.574034017414225e-09, -4.660489897687948e-08,
    2.766813639445015e-07, -1.8317555227191195e-06, 1.39498137188765e-05, -0.00012849549581627802,
    0.0015698838857300533, -0.0314481013119645, 2.4403030820659555,
)

_K1_NEAR = (
    -7.023863479386288e-18, -2.427449850519366e-15, -6.666901694199329e-13,
    -1.4114883926335278e-10, -2.213387630734726e-08, -2.4334061415659684e-06,
    -0.0001730288957513052, -0.006975723859639864, -0.12261118082265715, -0.3531559607765449,
    1.5253002273389478,
)

_K1_FAR = (
    -5.756744483665017e-18, 1.7940508731475592e-17, -5.689462558442859e-17, 1.838093544366639e-16,
    -6.057047248373319e-16, 2.038703165624334e-15, -7.019837090418314e-15, 2.4771544244813043e-14,
    -8.976705182324994e-14, 3.3484196660784293e-13, -1.2891739609510289e-12, 5.13963967348173e-12,
    -2.1299678384275683e-11, 9.218315187605006e-11, -4.1903547593418965e-10,
    2.015049755197033e-09, -1.0345762465678097e-08, 5.7410841254500495e-08,
    -3.5019606030878126e-07, 2.406484947837217e-06, -1.936197974166083e-05,
    0.00019521551847135162, -0.002857816859622779, 0.10392373657681724, 2.7206261904844427,
)


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _chebyshev(x: Any, coefficients: Sequence[float]) -> Any:
    """Clenshaw's scheme of a series in the polynomials of ``x / 2``."""
    before, last, value = 0.0, 0.0, coefficients[0]
    for coefficient in coefficients[1:]:
        before, last, value = last, value, x * value - last + coefficient
    return 0.5 * (value - before)


def _waves(x: Any, order: int) -> tuple[Any, Any]:
    """The factors of the cosine and the sine of ``x`` less its phase, for ``x`` beyond 5."""
    z = 25 / (x * x)
    phase = (_PHASE0_TOP, _PHASE0_BOTTOM), (_PHASE1_TOP, _PHASE1_BOTTOM)
    quadrature = (
        (_QUADRATURE0_TOP, _QUADRATURE0_BOTTOM), (_QUADRATURE1_TOP, _QUADRATURE1_BOTTOM)
    )
    p, q = (_polynomial(z, c) for c in phase[order])
    r, s = (_polynomial(z, c) for c in quadrature[order])
    return p / q, 5 / x * (r / s)


def _far(x: Any, order: int, second: bool) -> Any:
    """J, or with ``second`` Y, beyond 5."""
    p, q = _waves(x, order)
    angle = x - (order + 0.5) * math.pi / 2
    cosine, sine = fn.cos(angle), fn.sin(angle)
    wave = p * sine + q * cosine if second else p * cosine - q * sine
    return wave * math.sqrt(2 / math.pi) / fn.sqrt(x)


def _j0(x: Any) -> Any:
    x = abs(x)
    square = x * x
    roots = (square - 5.783185962946785) * (square - 30.471262343662087)
    near = roots * _polynomial(square, _J0_TOP) / _polynomial(square, _J0_BOTTOM)
    near = fn.where(x < 1e-5, 1 - square / 4, near)
    return fn.where(x <= 5, near, _far(x, 0, second=False))


def _j1(x: Any) -> Any:
    size = abs(x)
    square = size * size
    near = _polynomial(square, _J1_TOP) / _polynomial(square, _J1_BOTTOM) * size
    near = near * (square - 14.681970642123893) * (square - 49.2184563216946)
    value = fn.where(size <= 5, near, _far(size, 1, second=False))
    return fn.where(x < 0, -value, value)


def _y0(x: Any) -> Any:
    square = x * x
    near = _polynomial(square, _Y0_TOP) / _polynomial(square, _Y0_BOTTOM)
    near = near + 2 / math.pi * fn.log(x) * _j0(x)
    return _of_positive(x, fn.where(x <= 5, near, _far(x, 0, second=True)), -math.inf)


def _y1(x: Any) -> Any:
    square = x * x
    near = x * (_polynomial(square, _Y1_TOP) / _polynomial(square, _Y1_BOTTOM))
    near = near + 2 / math.pi * (_j1(x) * fn.log(x) - 1 / x)
    return _of_positive(x, fn.where(x <= 5, near, _far(x, 1, second=True)), -math.inf)


def _of_positive(x: Any, value: Any, at_zero: float) -> Any:
    return fn.where(fn.eq(x, 0), at_zero, fn.where(x < 0, math.nan, value))


def _i(scaled: Callable) -> Callable:
    """I of its scaled form; exp(|x|) overflows before I does, as in torch."""
    return lambda x: fn.exp(abs(x)) * scaled(x)


def _k(order: int, scaled: bool) -> Callable:
    """K, or with ``scaled`` exp(x) K."""

    def k(x: Any) -> Any:
        log = fn.log(0.5 * x)
        if order:
            near = log * (fn.exp(x) * fn.i1e(x)) + _chebyshev(x * x - 2, _K1_NEAR) / x
        else:
            near = _chebyshev(x * x - 2, _K0_NEAR) - log * (fn.exp(x) * fn.i0e(x))
        far = _chebyshev(8 / x - 2, _K1_FAR if order else _K0_FAR) / fn.sqrt(x)
        near, far = (near * fn.exp(x), far) if scaled else (near, fn.exp(-x) * far)
        return _of_positive(x, fn.where(x <= 2, near, far), math.inf)

    return k


def _airy(x: Any) -> Any:
    """Ai: waves on the left, a power series in the middle, exponential decay on the right."""
    size = abs(x)
    root = fn.sqrt(size)
    angle = 2 * size * root / 3
    z = 1 / angle
    square = z * z
    sine = 1 + square * _polynomial(square, _AIRY_SINE_TOP) / _polynomial(
        square, _AIRY_SINE_BOTTOM
    )
    cosine = z * _polynomial(square, _AIRY_COSINE_TOP) / _polynomial(square, _AIRY_COSINE_BOTTOM)
    phase = angle + math.pi / 4
    amplitude = 1 / (math.sqrt(math.pi) * fn.sqrt(root))
    left = amplitude * (fn.sin(phase) * sine - fn.cos(phase) * cosine)
    right = _polynomial(z, _AIRY_RIGHT_TOP) / _polynomial(z, _AIRY_RIGHT_BOTTOM)
    right = fn.where(x > 103.892, 0, amplitude * right / (2 * fn.exp(angle)))
    # Fourteen terms are more than double precision can tell where this is used.
    cube = x * x * x
    even, odd = 1.0, x
    even_term, odd_term = 1.0, x
    for k in range(3, 45, 3):
        even_term = even_term * cube / (k * (k - 1))
        odd_term = odd_term * cube / (k * (k + 1))
        even, odd = even + even_term, odd + odd_term
    middle = 0.3550280538878172 * even - 0.2588194037928068 * odd
    value = fn.where(x < -2.09, left, fn.where(x < 2.09, middle, right))
    return fn.where(fn.isinf(x), math.nan, value)


def _spherical(x: Any) -> Any:
    """sin(x) / x, near 0 by its power series."""
    square = x * x
    series = _polynomial(square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(6, -1, -1)])
    value = fn.where(abs(x) < 0.5, series, fn.sin(x) / x)
    return fn.where(fn.isinf(x), 0, value)


def _function(
    name: str, formula: Callable, about: str, example: tuple[str, str] | None = None
) -> Callable:
    return pointwise(
        name, formula, about, example=example, kind="float", public="special",
        refuses=("complex", "half"),
    )


airy_ai = _function(
    "airy_ai", _airy,
    "Airy's function Ai, the solution of ``y'' = input * y`` that decays on the right.",
    ("nnkit.tensor([0.0, 1.0])", "tensor([0.3550, 0.1353])"),
)
bessel_j0 = _function(
    "bessel_j0", _j0,
    "Bessel's function of the first kind of order 0.",
    ("nnkit.tensor([0.0, 1.0])", "tensor([1.0000, 0.7652])"),
)
bessel_j1 = _function(
    "bessel_j1", _j1,
    "Bessel's function of the first kind of order 1.",
    ("nnkit.tensor([0.0, 1.0])", "tensor([0.0000, 0.4401])"),
)
bessel_y0 = _function(
    "bessel_y0", _y0,
    "Bessel's function of the second kind of order 0: -inf at 0, NaN for negative numbers.",
    ("nnkit.tensor([0.0, 1.0])", "tensor([  -inf, 0.0883])"),
)
bessel_y1 = _function(
    "bessel_y1", _y1,
    "Bessel's function of the second kind of order 1: -inf at 0, NaN for negative numbers.",
    ("nnkit.tensor([0.0, 1.0])", "tensor([   -inf, -0.7812])"),
)
modified_bessel_i0 = _function(
    "modified_bessel_i0", _i(lambda x: fn.i0e(x)),
    "The modified Bessel function of the first kind of order 0; `i0` has a derivative.",
)
modified_bessel_i1 = _function(
    "modified_bessel_i1", _i(lambda x: fn.i1e(x)),
    "The modified Bessel function of the first kind of order 1; `i1` has a derivative.",
)
modified_bessel_k0 = _function(
    "modified_bessel_k0", _k(0, scaled=False),
    "The modified Bessel function of the second kind of order 0: inf at 0, NaN below.",
    ("nnkit.tensor([0.0, 1.0])", "tensor([   inf, 0.4210])"),
)
modified_bessel_k1 = _function(
    "modified_bessel_k1", _k(1, scaled=False),
    "The modified Bessel function of the second kind of order 1: inf at 0, NaN below.",
    ("nnkit.tensor([0.0, 1.0])", "tensor([   inf, 0.6019])"),
)
scaled_modified_bessel_k0 = _function(
    "scaled_modified_bessel_k0", _k(0, scaled=True),
    "``exp(input) * modified_bessel_k0(input)``.",
)
scaled_modified_bessel_k1 = _function(
    "scaled_modified_bessel_k1", _k(1, scaled=True),
    "``exp(input) * modified_bessel_k1(input)``.",
)
spherical_bessel_j0 = _function(
    "spherical_bessel_j0", _spherical,
    "The spherical Bessel function of the first kind of order 0, ``sin(input) / input``.",
)
