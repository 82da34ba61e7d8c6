"""`nnkit.masked`: reductions and normalizations of what a mask lets through, against torch."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit import masked

REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "median", "logsumexp", "norm", "var", "std")
NORMALIZATIONS = ("cumsum", "cumprod", "softmax", "log_softmax", "softmin")
X = np.array([[1.5, -2.0, 0.25, 3.0], [0.5, 4.0, -1.0, 2.0], [7.0, 1.0, 1.0, -3.0]])
MASK = np.array([[True, False, True, True], [False, False, False, False], [True] * 4])


def calls(name: str) -> list[dict[str, Any]]:
    """Arguments of one function, but for the input and the mask."""
    if name in NORMALIZATIONS:
        return [{"dim": 0}, {"dim": -1}]
    if name in ("argmax", "argmin", "median"):
        return [{"dim": 0}, {"dim": 1, "keepdim": True}]
    if name == "normalize":
        return [{"ord": 2.0, "dim": 0}, {"ord": 1.0, "dim": 1, "eps": 0.5}]
    more = {"norm": [{"ord": 1.0}, {"ord": float("-inf"), "dim": 1}], "var": [{"unbiased": False}]}
    return [{}, {"dim": 1}, {"dim": (0, 1), "keepdim": True}, *more.get(name, [])]


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "complex64"])
@pytest.mark.parametrize("name", [*REDUCTIONS, *NORMALIZATIONS, "argmax", "argmin", "normalize"])
def test_same_as_torch(torch: ModuleType, name: str, dtype: str) -> None:
    def shown(lib: Any, options: dict, mask: Any) -> Any:
        x = lib.tensor(X).to(getattr(lib, dtype))
        x.requires_grad_(x.is_floating_point())
        given = None if mask is None else lib.tensor(mask)
        try:
            out = getattr(lib.masked, name)(x, **options, mask=given)
        except (RuntimeError, ValueError, TypeError, AssertionError) as error:
            return type(error)
        gradient = None
        if out.requires_grad:
            (gradient,) = lib.autograd.grad(out.sum(), x)
        return str(out.dtype).split(".")[-1], out.detach().numpy(), gradient

    for options in calls(name):
        for mask in (MASK, MASK[:, 1], MASK[0], MASK.T[:1].T, None):
            if mask is not None and mask.shape == (3,):
                continue  # broadcasts to no row
            expected, actual = shown(torch, options, mask), shown(nnkit, options, mask)
            if isinstance(expected, type):
                assert actual is expected
                continue
            assert actual[0] == expected[0]
            np.testing.assert_allclose(actual[1], expected[1], rtol=1e-5)
            assert (actual[2] is None) == (expected[2] is None)
            if actual[2] is not None:
                np.testing.assert_allclose(actual[2].numpy(), expected[2].numpy(), rtol=1e-5)


def test_numbers() -> None:
    x, mask = (
        nnkit.tensor([[4.0, 100.0, 2.0], [1.0, 5.0, 100.0]]),
        nnkit.tensor([True, False, True]),
    )
    rows = nnkit.tensor([[True], [False]])
    assert masked.sum(x, 1, mask=mask).tolist() == [6, 101]
    assert masked.prod(x, mask=rows).item() == 800
    assert masked.mean(x, 1, mask=rows)[0].item() == pytest.approx(106 / 3)
    assert masked.mean(x, 1, mask=rows)[1].isnan()
    assert masked.amax(x, 1, mask=rows).tolist() == [100, float("-inf")]
    assert masked.amin(x, 0, mask=mask).tolist() == [1, float("inf"), 2]
    assert masked.var(x[0], mask=mask).item() == 2
    assert masked.normalize(x[0, ::2], 1.0, 0).tolist() == pytest.approx([2 / 3, 1 / 3])
    y = masked.logaddexp(x[0], x[1], input_mask=mask, other_mask=~mask)
    assert y.tolist() == [4, 5, 2]


def test_errors() -> None:
    x = nnkit.ones(2, 3)
    with pytest.raises(IndexError, match="at most the input's 2 dimensions, got 3"):
        masked.sum(x, mask=nnkit.ones(1, 2, 3, dtype=nnkit.bool))
    with pytest.raises(RuntimeError, match="target sizes"):
        masked.sum(x, mask=nnkit.ones(2, dtype=nnkit.bool))
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 2"):
        masked.sum(x, 2)
    with pytest.raises(RuntimeError, match="dim=1 appears multiple times"):
        masked.amax(x, (1, 1))
    with pytest.raises(NotImplementedError, match="no lowest or highest"):
        masked.amax(x.bool(), mask=x.bool())
    with pytest.raises(ValueError, match=r"got nnkit\.int64|got torch\.int64"):
        masked.mean(x.long())
    with pytest.raises(ValueError, match="no fully masked out rows"):
        masked.median(x.long(), mask=~x.bool())
    with pytest.raises(AssertionError, match="only one of unbiased and correction"):
        masked.var(x, unbiased=True, correction=2)
