"""`nnkit.masked` on sparse tensors, and with sparse masks, against torch."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import pytest

import nnkit

REDUCTIONS = ("sum", "prod", "amax", "amin", "mean")
OTHERS = (
    "cumsum", "softmax", "log_softmax", "argmax", "median", "logsumexp", "var", "std",
)  # fmt: skip
X = [[1.0, 0.0, 3.0], [0.0, 5.0, -2.0]]
MASK = [[True, True, False], [False, True, False]]


def given(lib: Any, layout: str, dtype: str = "float32") -> tuple[Any, list[Any]]:
    """A tensor of a layout, and masks of several layouts and shapes."""
    x, mask = lib.tensor(X).to(getattr(lib, dtype)), lib.tensor(MASK)
    rows, nothing = mask[:1].to_sparse_csr(), lib.zeros(2, 3, dtype=lib.bool)
    masks = [
        mask.to_sparse(), mask.to_sparse_csr(), mask, rows, mask[:1].to_sparse(),
        mask[0].to_sparse(),
    ]  # fmt: skip
    if layout != "sparse_csr":  # torch makes tensors of rows without elements that cannot be read
        masks.append(mask[:, :1].to_sparse())
    made = {"strided": x, "sparse_coo": x.to_sparse(), "sparse_csr": x.to_sparse_csr()}
    return made[layout], masks + [nothing] * (layout == "sparse_coo")


def shown(call: Any) -> Any:
    """What a call gives, to be compared."""
    try:
        out = call()
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        return type(error)
    known = out._nnz() if "sparse" in str(out.layout) else None
    places = str(out.layout).partition(".")[2], str(out.dtype).partition(".")[2], known
    return *places, tuple(out.shape), out.to_dense().tolist()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support", "ignore:Sparse invariant")
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
@pytest.mark.parametrize("layout", ["strided", "sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(torch: ModuleType, name: str, layout: str, dtype: str) -> None:
    if layout == "sparse_csr" and dtype != "float32" and name in ("amax", "amin", "mean"):
        pytest.skip("torch does not have it")
    for dim in (None, 0, 1, (0, 1)):
        for keepdim in (False, True):
            results = []
            for lib in (torch, nnkit):
                x, masks = given(lib, layout, dtype)
                call = partial(getattr(lib.masked, name), x, dim, keepdim=keepdim)
                masks += [None] * (layout != "strided")
                results.append([shown(partial(call, mask=mask)) for mask in masks])
            assert repr(results[1]) == repr(results[0])  # NaN is not equal to itself


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support", "ignore:Sparse invariant")
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_for_strided_tensors(lib: Any, name: str, layout: str) -> None:
    x, masks = given(lib, layout)
    function = getattr(lib.masked, name)
    with pytest.raises(ValueError, match="expects strided tensor"):
        function(x, 1, mask=masks[0])
    dense, _ = given(lib, "strided")
    expected = function(dense, 1, mask=lib.tensor(MASK))
    assert lib.allclose(function(dense, 1, mask=masks[0]), expected, equal_nan=True)


def test_dense_dimensions() -> None:
    """torch refuses reductions of these; what is masked out of a stored row counts for nothing."""
    x = nnkit.tensor([[[1.0, 2.0], [0.0, 0.0]], [[3.0, 4.0], [0.0, 7.0]]])
    mask = x > 1
    for name in REDUCTIONS[:4]:
        for dim in (0, 1, 2, (0, 1), (1, 2), None):
            function = getattr(nnkit.masked, name)
            out = function(x.to_sparse(2), dim, mask=mask.to_sparse(2)).to_dense()
            expected = function(x, dim, mask=mask)
            any_through = nnkit.masked._canonical_dim(dim, 3)
            through = mask
            for d in reversed(any_through):
                through = through.any(d)
            assert nnkit.equal(out[through], expected[through])


@pytest.mark.filterwarnings("ignore:Sparse invariant")
def test_numbers(lib: Any) -> None:
    x, mask = lib.tensor(3.0).to_sparse(), lib.tensor(True).to_sparse()
    for dim in (None, 0, -1):
        out = lib.masked.amax(x, dim, mask=mask)
        assert out.layout is lib.sparse_coo and out.to_dense().item() == 3.0


def test_nothing_is_made_strided() -> None:
    size = (10**7, 10**7)
    places = nnkit.tensor([[3, 10**6, 5], [4, 9, 10**7 - 1]])
    x = nnkit.sparse_coo_tensor(places, nnkit.tensor([1.0, 2.0, 3.0]), size)
    mask = nnkit.sparse_coo_tensor(places[:, 1:], nnkit.tensor([True, True]), size)
    assert nnkit.masked.sum(x, mask=mask).to_dense().item() == 5.0
    assert sorted(nnkit.masked.amax(x, 1, mask=mask).coalesce().values().tolist()) == [2.0, 3.0]
    missing = nnkit.sparse_coo_tensor(nnkit.tensor([[3, 7], [4, 7]]), nnkit.ones(2), size)
    assert x.sparse_mask(missing).coalesce().values().tolist() == [1.0, 0.0]
