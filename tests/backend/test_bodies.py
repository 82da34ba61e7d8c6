"""Kernels against the bodies that say what they compute: by cases of their own, and in all calls
that the op table makes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.backend.algebra import CATALOGUE, reference_body
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.device import cpu
from nnkit.backend.door import standing
from tests.harness.call import Call
from tests.harness.mirror import Mirror
from tests.harness.row import Maker, OpRow, numpy_dtype
from tests.harness.table import ROWS

# (rtol, atol). A body rounds every step to half precision, a kernel only the last one.
TOLERANCES = {
    "float64": (1e-10, 1e-12),
    "float32": (1e-4, 1e-5),
    "float16": (2e-2, 2e-2),
    "bfloat16": (1e-1, 1e-1),
}


def compare(name: str, *arguments: Any) -> Any:
    """Run both; the kernel's result."""
    body = reference_body(CATALOGUE[name])
    assert body is not None
    mine, wanted = getattr(B, name)(*arguments), body(B, *arguments)
    pairs = zip(mine, wanted, strict=True) if isinstance(mine, tuple) else [(mine, wanted)]
    for one, other in pairs:
        if other is None:
            assert one is None
            continue
        assert isinstance(one, np.ndarray) and one.shape == other.shape
        rtol, atol = TOLERANCES[str(other.dtype)]
        one, other = one.astype(np.float64), other.astype(np.float64)
        np.testing.assert_allclose(one, other, rtol, atol, err_msg=name)
    return mine


def draw(shape: tuple[int, ...], dtype: str, order: Any = "C", low: float = -2.0) -> np.ndarray:
    values = np.random.RandomState(len(shape)).uniform(low, 2, shape)
    return np.asarray(values, order=order).astype(numpy_dtype(dtype), order="K")


FORMS = list(itertools.product(TOLERANCES, "CF"))


@pytest.mark.parametrize(("dtype", "order"), FORMS)
@pytest.mark.parametrize("shape", [(3,), (40, 7), (300, 500), (3, 90, 400), (2, 3, 4, 5)], ids=str)
def test_softmax(shape: tuple[int, ...], dtype: str, order: str) -> None:
    x, g = draw(shape, dtype, order), draw(shape, dtype, order)
    for name, axis in itertools.product(("softmax", "log_softmax"), (0, -1)):
        if x.shape[axis] * x.dtype.itemsize > 400 and dtype in ("float16", "bfloat16"):
            continue  # the body's sum of that many halves says nothing
        out = compare(name, x, axis)
        compare(f"{name}_grad", g, out, axis)


@pytest.mark.parametrize(("dtype", "order"), [f for f in FORMS if "16" not in f[0]])
@pytest.mark.parametrize("shape", [(5,), (3, 2), (50, 40), (90, 1000), (4, 7, 3), (3, 5, 90, 80)])
def test_losses_of_labels(shape: Any, dtype: str, order: str) -> None:
    x = draw(shape, dtype, order)
    classes = shape[min(1, len(shape) - 1)]
    target_shape: Any = shape[:1] + shape[2:] if len(shape) > 1 else ()
    random = np.random.RandomState(0)
    options = itertools.product(("mean", "sum", "none"), (False, True), (-100, 1), (0.0, 0.3))
    for reduction, weighted, ignore_index, smoothing in options:
        target = np.asarray(random.randint(0, classes, target_shape))
        if target.size > 2:
            target.reshape(-1)[1] = ignore_index
        weight = draw((classes,), dtype, low=0.1) if weighted else None
        statics = (ignore_index, reduction)
        loss, p = compare("cross_entropy", x, target, weight, *statics, smoothing)
        g = draw(loss.shape, dtype)
        compare("cross_entropy_grad", g, p, target, weight, *statics, smoothing)
        if not smoothing:
            compare("nll_loss", x, target, weight, *statics)
            compare("nll_loss_grad", g, x, target, weight, *statics)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_losses_of_labels_in_half_precision_are_rounded_once(dtype: str) -> None:
    x, target = draw((6, 5), dtype), np.array([0, 1, 2, 3, 4, 0])
    rounded = B.cross_entropy(x, target, None, -100, "sum", 0.1)
    exact = B.cross_entropy(x.astype(np.float64), target, None, -100, "sum", 0.1)
    for one, other in zip(rounded, exact, strict=True):
        assert one.dtype == x.dtype
        rtol = {"float16": 2**-10, "bfloat16": 2**-7}.get(dtype, 2e-6)
        np.testing.assert_allclose(one.astype(np.float64), other, rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (70, 30, 80)], ids=str)
def test_standardize(shape: tuple[int, ...], dtype: str) -> None:
    x, g = draw(shape, dtype), draw(shape, dtype)[::-1].copy()
    middle, last = draw((shape[1], 1), dtype), draw(shape[2:], dtype)
    views = [((2,), last), ((0, 2), middle), ((1, 2), middle), ((0, 1, 2), None), ((0, 1), last)]
    for (axes, weight), centre in itertools.product(views, (True, False)):
        _, mean, variance = compare("standardize", x, weight, weight, axes, 1e-5, centre)
        compare("standardize_grad", g, x, weight, mean, variance, axes, 1e-5, centre)


def test_running_statistics() -> None:
    for dtype in TOLERANCES:
        found = []
        for update in (B.update_running_, reference_body(CATALOGUE["update_running_"])):
            assert update is not None
            mean, variance = draw((4,), dtype), draw((4,), dtype, low=0.1)
            wide = "float32" if "16" in dtype else dtype
            new = draw((1, 4, 1), wide), draw((1, 4, 1), wide, low=0.1)
            first = () if update is B.update_running_ else (B,)
            update(*first, mean, variance, *new, 0.3, 1.2)
            assert mean.dtype == variance.dtype == numpy_dtype(dtype)
            found.append((mean.astype(np.float64), variance.astype(np.float64)))
        np.testing.assert_allclose(found[0], found[1], *TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("count", "width", "rows"), [(12, 8, 20), (300, 100, 20), (3000, 30, 2000)]
)
def test_embedding(count: int, width: int, rows: int, dtype: str) -> None:
    table = draw((rows, width), dtype)
    index = np.random.RandomState(0).randint(0, rows, (count // 3, 3))
    index[: count // 9] = 3  # an index that is met often
    out = compare("embedding", table, index, None, False)
    g = draw(out.shape, dtype)
    for padding, scale in itertools.product((None, 3), (False, True)):
        compare("embedding_grad", g, index, rows, padding, scale)


class Bodies(Mirror):
    """Runs the body of each primitive that is called beside its kernel."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.problems: list[str] = []  # kept: the call catches what it raises

    def passed(self, name: str, function: Any, arguments: tuple) -> Any:
        try:
            return super().passed(name, function, arguments)
        except Exception as error:
            if not self.is_refused(function, arguments):
                self.problems.append(f"{name}: {error!r}")
            raise

    def is_refused(self, function: Any, arguments: tuple) -> bool:
        """Whether the kernel itself raises."""
        try:
            function(*arguments)
        except Exception:
            return True
        return False

    def twin(self, name: str) -> Callable | None:
        body = reference_body(CATALOGUE[name])
        return partial(body, self._backend) if body and name not in UNCOMPARED else None


UNCOMPARED = {"empty", "empty_like", "dropout", "alpha_dropout"}  # memory as it was found; coins


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_calls_of_the_op_table(row: OpRow) -> None:
    for dtype in row.dtypes:
        for sample in row.samples(Maker(row, dtype)):
            with standing(Bodies, cpu) as bodies:
                Call(nnkit, row, sample, track=True).result(may_raise=True)
            assert bodies.problems == []
