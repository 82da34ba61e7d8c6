"""Matrices of the layouts csr, csc, bsr and bsc."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises
from tests.sparse.cases import coordinates, strided
from tests.sparse.test_coordinates import same

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
LAYOUTS = ["csr", "csc", "bsr", "bsc"]  # to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc
each_layout = pytest.mark.parametrize("name", LAYOUTS)


def matrix(lib: ModuleType, name: str, shape: tuple[int, int] = (4, 6), seed: int = 1) -> Any:
    x = coordinates(lib, shape, 9, seed)
    return getattr(x, f"to_sparse_{name}")(*[(2, 3)] * name.startswith("b"))


@each_layout
def test_parts_and_conversions(lib: ModuleType, name: str) -> None:
    x = matrix(lib, name)
    a = coordinates(lib, (4, 6), 9, 1).to_dense()
    assert x.layout is getattr(lib, f"sparse_{name}") and not x.is_sparse
    assert x.is_sparse_csr is (name == "csr") and tuple(x.shape) == (4, 6)
    assert x._nnz() == x.values().shape[0]
    starts, others = (
        (x.crow_indices(), x.col_indices())
        if name[-1] == "r"
        else (x.ccol_indices(), x.row_indices())
    )
    assert starts[0].item() == 0 and starts[-1].item() == others.shape[0] == x._nnz()
    wrong = x.ccol_indices if name[-1] == "r" else x.crow_indices
    with raises(lib, RuntimeError, "compressed tensor layout"):
        wrong()
    same(x.to_dense(), a)
    same(x.to_sparse(), a)
    for other in LAYOUTS:
        block = [(2, 3)] * other.startswith("b")
        if name[0] == "b" and other != name:
            continue  # torch converts blocks only to coordinates
        out = getattr(x, f"to_sparse_{other}")(*block)
        assert out.layout is getattr(lib, f"sparse_{other}")
        same(out, a)
    for other in LAYOUTS:
        out = getattr(a, f"to_sparse_{other}")(*[(2, 3)] * other.startswith("b"))
        same(out, a)
    made = lib.sparse_compressed_tensor(starts, others, x.values(), (4, 6), layout=x.layout)
    same(made, a)
    make = getattr(lib, f"sparse_{name}_tensor")
    same(make(starts, others, x.values(), (4, 6)), a)
    same(x.t() if name[0] == "c" else x.transpose(0, 1), a.t())
    same(x.clone(), a)
    same(x.detach().float(), a.float())


def test_arithmetic_and_products(lib: ModuleType) -> None:
    x, y = matrix(lib, "csr"), matrix(lib, "csr", seed=2)
    a, b = x.to_dense(), y.to_dense()
    d, v = strided(lib, (6, 3), 3), strided(lib, (6,), 4)
    c, e = strided(lib, (4, 3), 5), strided(lib, (4, 6), 9)
    for out, expected in (
        (x + y, a + b), (lib.add(x, y, alpha=2), a + 2 * b), (x * 2, a * 2), (-x, -a),
        (x.sin(), a.sin()), (x.abs(), a.abs()), (x @ d, a @ d), (x @ v, a @ v),
        (lib.sparse.mm(x, d), a @ d),
        (lib.addmm(c, x, d, beta=2, alpha=3), 2 * c + 3 * (a @ d)), (x @ y.t(), a @ b.t()),
        (a + x, a + a), (x.sum(), a.sum()), (x.sum(1, keepdim=True), a.sum(1, keepdim=True)),
        (x[1], a[1]), (x[1, 2], a[1, 2]), (x * b, a * b), (e.sparse_mask(x), e * (a != 0)),
        (lib.nn.functional.linear(d.t(), x), d.t() @ a.t()),
    ):  # fmt: skip
        same(out, expected)
    assert (x + y).layout is lib.sparse_csr and (x * 2).layout is lib.sparse_csr
    out = x.clone()
    assert out.mul_(2) is out and out.add_(y) is out and out.neg_() is out
    same(out, -(2 * a + b))
    assert out.zero_() is out
    same(out, a * 0)
    for refused in (
        lambda: x.indices(), lambda: x.coalesce(), lambda: x.sum(0), lambda: x.stride(),
        lambda: x.contiguous(), lambda: x / 2, lambda: x == 0, lambda: lib.exp(x),
        lambda: x.copy_(a),
    ):  # fmt: skip
        with pytest.raises((RuntimeError, NotImplementedError)):
            refused()


def test_sampled_products(lib: ModuleType) -> None:
    x = matrix(lib, "csr")
    p, q = strided(lib, (4, 5), 6), strided(lib, (5, 6), 7)
    out = lib.sparse.sampled_addmm(x, p, q, beta=2.0, alpha=3.0)
    at = x.to_dense() != 0
    same(out, (3 * (p @ q) + 2 * x.to_dense()) * at)
    with pytest.raises((RuntimeError, NotImplementedError)):
        lib.sparse.sampled_addmm(x.to_sparse(), p, q)
    with raises(lib, RuntimeError, "shape"):
        lib.sparse.sampled_addmm(x, q, p)


def test_sampled_products_of_batches(lib: ModuleType) -> None:
    x = lib.tensor([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 3.0], [4.0, 0.0]]]).to_sparse_csr()
    p = lib.tensor([[[1.0], [2.0]], [[3.0], [4.0]]], requires_grad=True)
    q = lib.tensor([[[5.0, 6.0]], [[7.0, 8.0]]])
    out = lib.sparse.sampled_addmm(x, p, q, beta=2.0, alpha=3.0)
    assert out.values().tolist() == [[17, 40], [78, 92]]
    assert out.col_indices().tolist() == [[0, 1], [1, 0]]
    if lib.__name__ == "nnkit":  # torch has no gradient of a batch
        out.to_dense().sum().backward()
        assert p.grad.tolist() == [[[15], [18]], [[24], [21]]]
    one = lib.tensor([[1.0, 0.0], [0.0, 2.0]]).to_sparse_csr()
    out = lib.sparse.sampled_addmm(one, p, q, beta=2.0, alpha=3.0)
    assert out.values().tolist() == [[17, 40], [65, 100]]
    with pytest.raises(RuntimeError, match="sampled_addmm"):
        lib.sparse.sampled_addmm(x, p[:1], q[:1])


@pytest.mark.parametrize("name", ["csr", "csc"])
def test_writes_keep_the_dtype(lib: ModuleType, name: str) -> None:
    x = getattr(lib.tensor([[4, 0], [0, 9]]), f"to_sparse_{name}")()
    for write in (x.sqrt_, x.asin_, x.log1p_):
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
            write()
    assert x.neg_() is x and x.dtype is lib.int64 and x.values().tolist() == [-4, -9]
    for index in (0, (0, 0), slice(None)):
        with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
            x[index] = 1


def test_diagonals(lib: ModuleType) -> None:
    d = lib.arange(9.0).reshape(3, 3)
    out = lib.sparse.spdiags(d, lib.tensor([0, -1, 2]), (3, 4))
    expected = [[0.0, 0.0, 8.0, 0.0], [3.0, 1.0, 0.0, 0.0], [0.0, 4.0, 2.0, 0.0]]
    assert out.to_dense().tolist() == expected
    out = lib.sparse.spdiags(d, lib.tensor([0, -1, 2]), (3, 4), layout=lib.sparse_csr)
    assert out.layout is lib.sparse_csr and out.to_dense().tolist() == expected
    for offsets, layout in (([0, 0, 1], None), ([0, 1], None), ([0, 1, 2], lib.strided)):
        with pytest.raises(RuntimeError):
            lib.sparse.spdiags(d, lib.tensor(offsets), (3, 4), layout=layout)


def test_what_does_not_fit(lib: ModuleType) -> None:
    make = lib.sparse_csr_tensor
    x = make([0, 1, 2], [0, 1], [1.0, 2.0])
    assert tuple(x.shape) == (2, 2)
    with raises(lib, RuntimeError, "layout"):
        lib.sparse_compressed_tensor([0, 1], [0], [1.0], layout=lib.strided)
    for starts, others in (([0, 2, 1], [0, 1]), ([1, 1, 2], [0, 1]), ([0, 1, 2], [0, 5])):
        with pytest.raises(RuntimeError):
            make(starts, others, [1.0, 2.0], (2, 2), check_invariants=True)
    with raises(lib, RuntimeError, "block"):
        lib.ones(3, 3).to_sparse_bsr((2, 2))


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [("mean", 1.5), ("amax", 2.0), ("amin", 1.0), ("max", 2.0), ("min", 1.0), ("sum", 3.0)],
)
def test_products_with_another_reduction(lib: ModuleType, reduce: str, expected: float) -> None:
    x = lib.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]).to_sparse_csr()
    assert lib.sparse.mm(x, lib.ones(3, 2), reduce).tolist() == [[expected] * 2, [3.0] * 2]
    with raises(lib, RuntimeError, "reduce"):
        lib.sparse.mm(x, lib.ones(3, 2), "prod")


@each_layout
def test_batches(lib: ModuleType, name: str) -> None:
    rows = [[[0.0, 1, 2, 0], [3, 0, 0, 0]], [[1.0, 0, 0, 0], [0, 2, 3, 0]]]
    a = lib.tensor(rows).repeat(3, 1, 1, 1)
    x = getattr(a, f"to_sparse_{name}")(*[(2, 2)] * name.startswith("b"))
    nnz = 2 if name.startswith("b") else 3
    starts, others = (
        (x.crow_indices(), x.col_indices())
        if name[-1] == "r"
        else (x.ccol_indices(), x.row_indices())
    )
    assert starts.shape[:2] == others.shape[:2] == x.values().shape[:2] == (3, 2)
    assert x._nnz() == others.shape[-1] == nnz
    assert (x.sparse_dim(), x.dense_dim()) == (2, 0)
    for out, expected in (
        (x, a), (x.to_sparse(), a), (x * 2, a * 2), (-x, -a), (x.abs(), a.abs()), (x + x, 2 * a),
        (x.transpose(0, 1), a.transpose(0, 1)), (x.transpose(-2, -1), a.mT), (x.mT, a.mT),
        (x.select(1, 1), a[:, 1]), (x[1][0], a[1, 0]), (x.clone(), a),
        (lib.zeros_like(x), 0 * a),
    ):  # fmt: skip
        same(out, expected)
    assert x[0].layout is x.layout and [y.shape for y in x] == [(2, 2, 4)] * 3
    made = lib.sparse_compressed_tensor(
        starts, others, x.values(), layout=x.layout, check_invariants=True
    )
    same(made.to_dense()[..., :3], a[..., :3])
    for wrong in (
        lambda: x.t(), lambda: x.transpose(1, 2), lambda: x.select(2, 0),
        lambda: lib.sparse_compressed_tensor(starts, others[0], x.values(), layout=x.layout),
        lambda: lib.sparse_compressed_tensor(starts, others, x.values()[0], layout=x.layout),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            wrong()


@each_layout
def test_nothing_like_them(lib: ModuleType, name: str) -> None:
    x = matrix(lib, name)
    for other in LAYOUTS:
        layout = getattr(lib, f"sparse_{other}")
        if other.startswith("b") is name.startswith("b"):
            made = lib.zeros_like(x, layout=layout)
            assert made.layout is layout and made._nnz() == 0 and made.shape == x.shape
            assert made.values().shape[1:] == x.values().shape[1:]
    assert lib.zeros_like(x, layout=lib.sparse_coo).sparse_dim() == 2
    drawn = lib.randn_like(x)
    assert drawn.layout is x.layout and drawn.values().shape == x.values().shape
    other = lib.sparse_bsr if name == "bsc" else lib.sparse_bsc
    for wrong in (
        lambda: lib.zeros_like(x, layout=lib.strided), lambda: lib.empty_like(x, layout=other),
    ):  # fmt: skip
        with raises(lib, RuntimeError, "different sparse layout is not supported"):
            wrong()


def test_batches_of_unequal_numbers(lib: ModuleType) -> None:
    x = lib.tensor([[[1.0, 0.0]], [[1.0, 2.0]]])
    with raises(lib, RuntimeError, "same number of specified elements per batch"):
        x.to_sparse_csr()
    assert x.to_sparse_csr(dense_dim=1).dense_dim() == 1


def test_indices_keep_their_dtype(lib: ModuleType) -> None:
    starts, others = (lib.tensor(part, dtype=lib.int32) for part in ([0, 1, 2], [1, 0]))
    x = lib.sparse_csr_tensor(starts, others, lib.ones(2))
    for out in (x, x * 2, x + x, x.t(), x.to_sparse_csc(), x.to_sparse_bsr((1, 1))):
        found = out.row_indices() if out.layout is lib.sparse_csc else out.col_indices()
        assert found.dtype is lib.int32
    assert x.to_sparse().indices().dtype is lib.int64


def test_rules_of_indices(lib: ModuleType) -> None:
    for starts, others, rule in (
        ([1, 2], [0, 1], "crow_indices.*0. == 0"), ([0, 1], [0, 1], "crow_indices.*-1. == nnz"),
        ([0, 2, 1, 2], [0, 1], "0 <= crow_indices"), ([0, 3], [0, 1, 1], "<= ncols"),
        ([0, 2], [0, 5], "0 <= col_indices < ncols"), ([0, 2], [-1, 0], "0 <= col_indices"),
        ([0, 2], [1, 0], "sorted and distinct"), ([0, 2], [0, 0], "sorted and distinct"),
    ):  # fmt: skip
        parts = lib.tensor(starts), lib.tensor(others), lib.ones(len(others))
        with raises(lib, RuntimeError, rule):
            lib.sparse_csr_tensor(*parts, (len(starts) - 1, 2), check_invariants=True)


def test_zeros_are_not_stored(lib: ModuleType) -> None:
    for name in ("to_sparse_csr", "to_sparse_csc"):
        x = getattr(lib.eye(3), name)()
        assert x.zero_() is x and x._nnz() == 0 and x.to_dense().tolist() == [[0.0] * 3] * 3


def test_products_are_stored_by_rows(lib: ModuleType) -> None:
    a = lib.tensor([[1.0, 0, 3], [0, 5, 0]])
    by_columns = a.to_sparse_csc()
    for other in (a.t().to_sparse_csr(), a.t().to_sparse_csc()):
        out = by_columns @ other
        assert out.layout is lib.sparse_csr and lib.equal(out.to_dense(), a @ a.t())


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc"])
def test_products_with_vectors_and_dtypes(lib: ModuleType, layout: str) -> None:
    x = lib.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse(layout=getattr(lib, layout))
    vector, nothing = lib.tensor([1.0, 2, 3]), lib.full((2,), float("nan"))
    assert lib.addmv(lib.ones(2), x, vector, beta=2, alpha=3).tolist() == [23.0, 20.0]
    assert lib.addmv(nothing, x, vector, beta=0).tolist() == [7.0, 6.0]
    assert lib.result_type(x, 2.5) is lib.float32
    assert lib.result_type(x, x.double()) is lib.float64


def test_sampled_products_are_written_and_take_strided_gradients(lib: ModuleType) -> None:
    x = lib.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse_csr().requires_grad_()
    a = lib.arange(4.0).view(2, 2).requires_grad_()
    b, out = lib.arange(6.0).view(2, 3), lib.zeros(2, 3).to_sparse_csr()
    with lib.no_grad():
        assert lib.sparse.sampled_addmm(x, a, b, beta=2, out=out) is out
    assert out.to_dense().tolist() == [[5.0, 0, 9.0], [0, 20.0, 0]]
    lib.sparse.sampled_addmm(x, a, b, beta=2).backward(lib.ones(2, 3))
    assert a.grad.tolist() == [[2.0, 8.0], [1.0, 4.0]]
    assert x.grad.to_dense()[0, 0].item() == 2.0


def test_on_meta_no_element_is_stored(lib: ModuleType) -> None:
    name, x = lib.__name__, lib.eye(3)
    meta = x.to_sparse().to("meta")
    assert meta._nnz() == 0 and repr(meta) == (
        "tensor(indices=tensor(..., size=(2, 0)),\n       values=tensor(..., size=(0,)),\n       "
        f"device='meta', size=(3, 3), layout={name}.sparse_coo)"
    )
    x = x.to_sparse_csr()
    like = {"layout": x.layout, "device": "meta"}
    for made in (x.to("meta"), lib.zeros(3, 3, **like), lib.zeros_like(x, device="meta")):
        assert made.crow_indices().shape == (4,) and made.col_indices().shape == (0,)
        assert {made.crow_indices().device.type, made.col_indices().device.type} == {"meta"}
        assert made._nnz() == 0 and repr(made).startswith(
            "tensor(crow_indices=tensor(..., size=(4,)),\n       col_indices=tensor(..., size=(0,))"
        )


@pytest.mark.parametrize("name", [*LAYOUTS, ""])
def test_relu_as_a_function_of_layers(lib: ModuleType, name: str) -> None:
    x = matrix(lib, name) if name else coordinates(lib, (4, 6), 9, 1)
    expected = x.to_dense().clamp(min=0)
    same(lib.nn.functional.relu(x), expected)
    x = x if name else x.coalesce()
    assert lib.nn.ReLU(inplace=True)(x) is x
    same(x, expected)


@each_layout
def test_copies_are_of_equal_parts(lib: ModuleType, name: str) -> None:
    x, y = matrix(lib, name), matrix(lib, name).float() * 2
    assert x.copy_(y) is x and x.dtype is lib.float64
    same(x, y.double())
    less = getattr(lib.zeros(4, 6), f"to_sparse_{name}")(*[(2, 3)] * name.startswith("b"))
    refused = [
        (x.to_dense(), "different layouts"), (less, "the same number of specified elements"),
        (matrix(lib, name, (6, 4 if name[0] != "b" else 3)), "expected shapes of self and src"),
    ]  # fmt: skip
    if name[0] == "b":
        ones = [getattr(lib.ones(6, 6), f"to_sparse_{name}")(b) for b in ((2, 3), (3, 2))]
        with raises(lib, RuntimeError, "different block sizes"):
            ones[0].copy_(ones[1])
    for source, words in refused:
        with raises(lib, RuntimeError, words):
            x.copy_(source)


@each_layout
def test_rows_and_absolute_values(lib: ModuleType, name: str) -> None:
    x = matrix(lib, name)
    for dim in (0, 1):
        same(lib.select_copy(x, dim, 1), x.to_dense().select(dim, 1))
    with raises(lib, RuntimeError, "In-place abs is not supported for complex"):
        x.to(lib.complex128).abs_()
    if name[0] != "b":
        with raises(lib, RuntimeError, "Expected input tensors to have the same shape"):
            x + matrix(lib, name, (6, 4))
