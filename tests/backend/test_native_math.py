"""The elementary functions of compiled formulas: against higher precision, against their NumPy
twins at the edges, and with the same bits on every instruction set."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND, native, special
from tests.backend.native_cases import needs_native

pytestmark = [
    needs_native,
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

FLOATS = (np.float32, np.float64)
INF, NAN = np.inf, np.nan
# name: the same function in double precision, and whether it takes negative numbers
SINGLE = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
    "tanh": np.tanh, "sigmoid": special.sigmoid,
    "log_sigmoid": special.log_sigmoid, "erf": special.erf, "erfc": special.erfc,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "lgamma": special.lgamma,
    "digamma": special.digamma, "reciprocal": np.reciprocal,
}  # fmt: skip
ROUNDED_ONCE = (
    "exp2 expm1 log log2 log10 log1p tanh log_sigmoid sin cos tan sinh cosh asin acos atan asinh"
    " acosh atanh lgamma"
).split()
EXACT = "abs sign floor ceil trunc round frac isnan isinf isfinite signbit".split()
PAIRS = (
    "div_floor remainder fmod maximum minimum fmax fmin copysign hypot atan2 pow logaddexp"
    " logaddexp2 heaviside"
).split()
EDGES = (
    0.0, 1.0, 0.5, 2.0, 3.0, 1.5, 2.5, 0.25, 7.0, 1e-3, 1e-7, 1e-30, 1e-40, 1e-45, 20.0, 87.5,
    88.7, 89.5, 104.0, 150.0, 745.0, 1e4, 16777217.0, 1e10, 1e20, 3.4e38, INF, NAN,
)  # fmt: skip


def _everywhere(count: int) -> np.ndarray:
    """float32 of all magnitudes, the signs alternating, and as many of everyday size."""
    random = np.random.RandomState(0)
    bits = random.randint(0, 2**32, count, np.uint64).astype(np.uint32)
    return np.concatenate([bits.view(np.float32), random.standard_normal(count) * 3], dtype="f4")


def _ulps(result: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Errors in units of the last place of the expected values, which are more precise."""
    rounded = expected.astype(result.dtype)
    with np.errstate(all="ignore"):
        error = np.abs(result - expected) / np.spacing(np.abs(rounded))
    # Where both overflow, or both are undefined, there is no error.
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    return np.where(same, 0, error)


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision(name):
    x = _everywhere(200_000)
    expected = SINGLE[name](x.astype(np.float64))
    result = getattr(BACKEND, name)(x)
    assert result.dtype == np.float32
    if name == "digamma":  # it has zeros on the left, where its own terms cancel
        expected, result = expected[x > 0], result[x > 0]
    worst = np.nanmax(_ulps(result, expected))
    assert worst <= 2
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))


@pytest.mark.parametrize("name", ROUNDED_ONCE)
def test_single_precision_is_rounded_once(name):
    """The nearest numbers as often as torch has them: 94 % of powers of 2, 95 % of others."""
    random = np.random.RandomState(0)
    x = np.concatenate([random.standard_normal(100_000) * 3, random.uniform(-1, 1, 100_000)])
    x = x.astype(np.float32)
    expected = SINGLE[name](x.astype(np.float64))
    defined = np.isfinite(expected)
    result, expected = getattr(BACKEND, name)(x)[defined], expected[defined]
    assert np.mean(result == expected.astype(np.float32)) > (0.97 if name == "exp2" else 0.996)


def test_zeros_of_the_gamma_function_s_logarithm():
    near = np.nextafter(np.float32(2), np.float32(3))
    x = np.resize(np.array([1, 2, near], np.float32), 64)  # all positive, for which blocks are fast
    np.testing.assert_array_equal(BACKEND.lgamma(x), special.lgamma(x.astype("f8")).astype("f4"))
    assert not BACKEND.lgamma(x)[[0, 1]].any()


OF_CIRCLE = ["sin", "cos", "tan"]


@pytest.mark.parametrize(
    "name",
    "exp exp2 expm1 log log2 log10 log1p tanh sigmoid erf sinh cosh atan asin acos atanh".split()
    + OF_CIRCLE,
)
def test_double_precision(name):
    mpmath = pytest.importorskip("mpmath")
    others = {
        "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "exp2": lambda x: mpmath.mpf(2) ** x,
        "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    }  # fmt: skip
    reference = others.get(name) or getattr(mpmath, name)
    random = np.random.RandomState(0)
    x = np.concatenate([random.uniform(-1, 1, 300), random.standard_normal(200) * 10])
    x = np.concatenate([x, 10.0 ** random.uniform(-300, 2, 100)])
    if name in OF_CIRCLE:
        x = np.concatenate([x, random.uniform(-5e5, 5e5, 200), np.arange(-100, 100) * np.pi / 2])
    if name.startswith("log"):
        x = np.abs(x)
    if name in ("asin", "acos", "atanh"):
        x = x[np.abs(x) < 1]
    result = getattr(BACKEND, name)(x)
    with mpmath.workdps(40):
        for value, argument in zip(result.tolist(), x.tolist()):
            true = reference(mpmath.mpf(argument))
            assert abs(mpmath.mpf(value) - true) <= 2 * np.spacing(abs(float(true)))


@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_double_precision_of_pairs(name):
    mpmath = pytest.importorskip("mpmath")
    random = np.random.RandomState(0)
    x = np.concatenate([random.uniform(0, 4, 300), 2.0 ** random.uniform(-1074, 1023, 300)])
    y = np.concatenate([random.uniform(-9, 9, 300), random.uniform(-700, 700, 300)])
    y[300:] /= np.abs(np.log(x[300:])) if name == "pow" else 1
    result = getattr(BACKEND, name)(x, y)
    reference = {"pow": mpmath.power, "atan2": mpmath.atan2}[name]
    with mpmath.workdps(40):
        for value, *arguments in zip(result.tolist(), x.tolist(), y.tolist()):
            true = reference(*map(mpmath.mpf, arguments))
            assert abs(mpmath.mpf(value) - true) <= 2 * np.spacing(abs(float(true)))


@pytest.mark.parametrize("name", ["expm1", "sinh", "asin", "atan", "atanh"])
def test_the_smallest_doubles_stay_what_they_are(name):
    x = np.array([s * n * 5e-324 for n in (1, 2, 3, 7, 10**9, 2**52) for s in (1, -1)] * 3)
    np.testing.assert_array_equal(getattr(BACKEND, name)(x), x)


@pytest.mark.parametrize("name", OF_CIRCLE)
def test_large_angles_change_no_bits_of_others(name):
    x = np.random.RandomState(0).uniform(-6e5, 6e5, 5000)
    near = np.abs(x) < 5e5
    np.testing.assert_array_equal(getattr(BACKEND, name)(x)[near], getattr(BACKEND, name)(x[near]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*SINGLE, "erfinv", *EXACT])
def test_edges(name, dtype):
    x = np.array([s * e for e in EDGES for s in (1, -1)], dtype)
    _same_as_twin(getattr(BACKEND, name), x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", PAIRS)
def test_edges_of_pairs(name, dtype):
    values = [s * e for e in EDGES for s in (1, -1)]
    x, y = np.array(list(itertools.product(values, values)), dtype).T.copy()
    _same_as_twin(getattr(BACKEND, name), x, y)


def _same_as_twin(kernel, *arguments: np.ndarray) -> None:
    result, expected = kernel(*arguments), kernel.twin(*arguments)
    assert result.dtype == expected.dtype
    if result.dtype == bool:
        np.testing.assert_array_equal(result, expected)
        return
    tiny = float(np.finfo(result.dtype).tiny)
    np.testing.assert_allclose(result, expected, 16 * float(np.finfo(result.dtype).eps), tiny)
    signed = ~np.isnan(expected) & (np.abs(expected) != tiny)
    np.testing.assert_array_equal(np.signbit(result[signed]), np.signbit(expected[signed]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_huge_angles(dtype):
    """Found with 400 bits: the reduction to a quarter turn must not lose digits."""
    mpmath = pytest.importorskip("mpmath")
    x = np.array([2.0**k * 1.375 for k in range(0, 127, 7)] + [16367173.0 * 2.0**72], dtype)
    with mpmath.workprec(400):
        for name in ("sin", "cos", "tan"):
            expected = [float(getattr(mpmath, name)(mpmath.mpf(v))) for v in x.tolist()]
            np.testing.assert_allclose(getattr(BACKEND, name)(x), expected, 4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_a_far_angle_among_near_ones_changes_none_of_them(name):
    """Blocks of near angles are reduced in another way, which gives the same bits."""
    kernel, rng = getattr(BACKEND, name), np.random.default_rng(0)
    sizes = 2.0 ** rng.uniform(-40, 17, 20_000) * rng.choice([-1, 1], 20_000)
    near = np.concatenate([sizes, np.arange(-9, 9) * np.pi / 4, [0.0, -0.0]]).astype(np.float32)
    for far in (2.0**17, 1e30, INF, NAN):
        mixed = np.insert(near, range(0, near.size, 1000), np.float32(far))
        apart = np.delete(kernel(mixed), np.flatnonzero(~(np.abs(mixed) < 2.0**17)))
        np.testing.assert_array_equal(apart.view(np.int32), kernel(near).view(np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_number_near_one_changes_no_other_erfinv(dtype):
    """Blocks without numbers near 1 are computed in less steps, which give the same bits."""
    x = np.random.default_rng(0).uniform(-0.9965, 0.9965, 20_000).astype(dtype)
    for near_one in (0.9999, 1.0, -2.0, NAN):
        mixed = BACKEND.erfinv(np.insert(x, range(0, x.size, 8), dtype(near_one)))
        apart = np.delete(mixed, range(0, mixed.size, 9))
        np.testing.assert_array_equal(apart, BACKEND.erfinv(x))


@pytest.mark.parametrize(("name", "base"), [("log2", 2.0), ("log10", 10.0)])
def test_logarithms_of_powers_are_whole(name, base):
    exponents = np.arange(-37, 39)
    found = getattr(BACKEND, name)((base**exponents).astype(np.float32))
    np.testing.assert_array_equal(found[exponents >= -10], exponents[exponents >= -10])
    np.testing.assert_allclose(found, exponents, 2.0**-24)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(n):
    x = np.concatenate([np.linspace(0.05, 30, 200), np.linspace(-4.9, -0.05, 30), [0.0, INF, NAN]])
    kernel = BACKEND.polygamma_at
    np.testing.assert_allclose(kernel(x, n), kernel.twin(x, n), 1e-12)


def test_bits_do_not_depend_on_the_instruction_set():
    """Each extension runs in a process of its own and prints a checksum for every function."""
    program = (
        "import numpy as np, zlib\n"
        "from nnkit.backend.cpu import BACKEND, native\n"
        "from tests.backend.test_native_math import SINGLE, _everywhere\n"
        "x = _everywhere(50_000)\n"
        "if native.MODULE is not None:\n"
        "    for name in SINGLE:\n"
        "        for v in (x, x.astype('f8')):\n"
        "            print(name, zlib.crc32(np.nan_to_num(getattr(BACKEND, name)(v), nan=7.0)))\n"
    )
    outputs = {}
    for target in native.TARGETS:
        if target in ("baseline", native.STATUS):
            run = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", program],
                env={**os.environ, "NNKIT_NATIVE": target}, capture_output=True, text=True,
            )  # fmt: skip
            assert run.returncode == 0, run.stderr
            if run.stdout:
                outputs[target] = run.stdout
    if len(outputs) < 2:
        pytest.skip("only one instruction set is compiled")
    first, second = outputs.values()
    assert first.split("\n") == second.split("\n")
