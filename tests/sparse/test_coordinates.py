"""Tensors of layout ``sparse_coo``: what strided tensors of the same elements give."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises
from tests.sparse.cases import coordinates, strided

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

SHAPES = [((3, 4), 7, 2), ((3, 4), 0, 2), ((5,), 4, 1), ((2, 3, 4), 9, 3), ((3, 4, 2), 5, 2)]
each_shape = pytest.mark.parametrize(("shape", "count", "dims"), SHAPES)
each_form = pytest.mark.parametrize("coalesced", [False, True])


def dense(x: Any) -> Any:
    return x.to_dense() if str(x.layout) != f"{x.layout}".split(".")[0] + ".strided" else x


def same(x: Any, expected: Any) -> None:
    x, expected = dense(x), dense(expected)
    assert x.shape == expected.shape and x.dtype == expected.dtype
    assert x.tolist() == expected.tolist()


@each_shape
@each_form
def test_parts(lib: ModuleType, shape: tuple, count: int, dims: int, coalesced: bool) -> None:
    x = coordinates(lib, shape, count, 1, dims, coalesced=coalesced)
    assert x.layout is lib.sparse_coo and x.is_sparse and not x.is_sparse_csr
    assert tuple(x.shape) == shape == tuple(x.size()) and x.ndim == x.dim() == len(shape)
    assert x.sparse_dim() == dims and x.dense_dim() == len(shape) - dims
    assert x.is_coalesced() is (coalesced or count < 2)
    assert tuple(x._indices().shape) == (dims, x._nnz()) and x._values().shape[0] == x._nnz()
    once = x.coalesce()
    places = [tuple(column) for column in once.indices().t().tolist()]
    assert places == sorted(set(places))
    same(once, x)
    same(x.to_dense().to_sparse(dims) if count else once, x)
    same(x.to_dense().to_sparse_coo(), x)
    assert x.numel() == len(x.to_dense().reshape(-1)) and len(x) == shape[0]


@each_shape
@each_form
@pytest.mark.parametrize(
    "name",
    ["neg", "abs", "sqrt", "sin", "relu", "sign", "floor", "tanh", "square", "isnan", "conj"],
)
def test_functions_of_each_element(
    lib: ModuleType, shape: tuple, count: int, dims: int, coalesced: bool, name: str
) -> None:
    x = coordinates(lib, shape, count, 2, dims, coalesced=coalesced)
    x = x * x if name == "sqrt" else x
    out = getattr(lib, name)(x)
    assert out.is_sparse and out.is_coalesced() is (name not in ("neg", "conj") or x.is_coalesced())
    same(out, getattr(lib, name)(x.to_dense()))


@each_shape
@each_form
def test_arithmetic(lib: ModuleType, shape: tuple, count: int, dims: int, coalesced: bool) -> None:
    x = coordinates(lib, shape, count, 3, dims, coalesced=coalesced)
    y = coordinates(lib, shape, max(count - 1, 0), 4, dims, coalesced=coalesced)
    z, a, b = strided(lib, shape, 5), x.to_dense(), y.to_dense()
    for out, expected in (
        (x + y, a + b), (x - y, a - b), (lib.add(x, y, alpha=3), a + 3 * b), (x + x, a + a),
        (x * 2, a * 2), (0.5 * x, 0.5 * a), (x / 2, a / 2), (x // 2, a // 2), (x**2, a**2),
        (x * lib.tensor(2.0), a * 2), (x * y, a * b), (x * z, a * z), (z * x, a * z),
        (z + x, z + a), (z - x, z - a), (lib.sub(z, x, alpha=2), z - 2 * a),
        (z.sub(x, alpha=lib.tensor(2)), z - 2 * a), (x.add(y, alpha=lib.tensor(0.5)), a + b / 2),
        (lib.div(x, 2, rounding_mode="trunc"), (a / 2).trunc()),
    ):  # fmt: skip
        same(out, expected)
    assert (x + y).is_sparse and (x * z).is_sparse and not (z + x).is_sparse
    out = x.clone()
    assert out.add_(y) is out and out.mul_(2) is out and out.sub_(y).div_(4) is out
    same(out, ((a + b) * 2 - b) / 4)
    c = z.clone()
    assert c.add_(x, alpha=2) is c
    same(c, z + 2 * a)
    assert c.sub_(x) is c and c.mul_(y) is c and not c.is_sparse
    same(c, (z + a) * b)


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("kinds", [("int8", "uint8"), ("int64", "uint8"), ("uint8", "uint8")])
def test_what_is_taken_off_is_promoted_first(
    lib: ModuleType, kinds: tuple, coalesced: bool
) -> None:
    a, b = lib.tensor([0, 1, -3]), lib.tensor([2, 0, 200])
    a, b = (t.to(getattr(lib, kind)) for t, kind in zip((a, b), kinds, strict=True))
    x, y = (lib.sparse_coo_tensor(lib.arange(3)[None], t, (3,)) for t in (a, b))
    x, y = (x.coalesce(), y.coalesce()) if coalesced else (x, y)
    same(x - y, a - b)
    same(a - y, a - b)
    same(a.long().clone().sub_(y, alpha=2), a.long() - 2 * b.long())


def test_nothing_of_a_tensor_without_sparse_dimensions(lib: ModuleType) -> None:
    for count in (0, 1, 2):
        rows, values = lib.zeros(0, count).long(), lib.ones(count, 2, requires_grad=True)
        x = lib.sparse_coo_tensor(rows, values, (2,), is_coalesced=False)
        for once in (x.coalesce(), (x + x).coalesce()):
            assert once.is_coalesced() and once._nnz() == min(count, 1)
            assert tuple(once.indices().shape) == (0, once._nnz())
            assert once.values().requires_grad
        same(x.coalesce(), x)


def test_a_strided_tensor_times_a_sparse_one_in_place(lib: ModuleType) -> None:
    x, y = lib.tensor([float("inf"), 1.0], requires_grad=True), lib.tensor([0.0, 2.0]).to_sparse()
    out = (x * 1).mul_(y)
    assert out.tolist() == [0.0, 2.0] and out.layout is lib.strided
    out.sum().backward()
    assert dense(x.grad).tolist() == [0.0, 2.0]
    with pytest.raises(RuntimeError):
        lib.ones(2, dtype=lib.int64).mul_(y)
    with pytest.raises(RuntimeError):
        lib.ones(2).div_(y)


def test_what_arithmetic_refuses(lib: ModuleType) -> None:
    x = coordinates(lib, (2, 3), 4, 0)
    with raises(lib, RuntimeError, "add\\(sparse, dense\\) is not supported"):
        _ = x + lib.ones(2, 3)
    with raises(lib, RuntimeError, "expected sizes of 'self' and 'other' to match"):
        _ = x + coordinates(lib, (2, 4), 4, 0)
    with raises(lib, RuntimeError, "floor division requires a scalar or zero-dim"):
        _ = x // x
    with raises(lib, RuntimeError, "equal dimensionality"):
        _ = x * coordinates(lib, (1, 3), 2, 0)
    with raises(lib, RuntimeError, "equal dimensionality"):
        _ = x * coordinates(lib, (2, 3), 2, 0, sparse_dims=1)
    with raises(lib, RuntimeError, "same density"):
        _ = x + coordinates(lib, (2, 3), 2, 0, sparse_dims=1)
    with raises(lib, TypeError, "Cannot assign to a sparse tensor"):
        x[0] = 1
    with raises(lib, RuntimeError, "only Tensors of floating point dtype"):
        x.long().requires_grad_()
    with raises(lib, RuntimeError, "zeroth power"):
        _ = x**0
    with raises(lib, RuntimeError, "scalar or zero-dim"):
        _ = x / lib.ones(2, 3)
    with raises(lib, RuntimeError, "requires coalesced input"):
        coordinates(lib, (2, 1), 5, 0).sin_()
    for refused in (
        lambda: lib.exp(x), lambda: x == x, lambda: x.max(), lambda: x.cumsum(0), lambda: x[0:1],
        lambda: x.untyped_storage(), lambda: lib.where(x.bool(), x, x),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError):
            refused()
    mask, whole = lib.eye(2).bool().to_sparse(), lib.eye(2).long().to_sparse()
    for refused in (
        lambda: mask - mask, lambda: lib.eye(2).bool() - mask, lambda: lib.ones(2, 3) / x,
        lambda: lib.add(whole, whole, alpha=1.5), lambda: lib.eye(2).long().add(whole, alpha=0.5),
        lambda: x.reshape(6), lambda: x.expand(2, 2, 3), lambda: x.contiguous(), lambda: x.tolist(),
        lambda: x.data_ptr(), lambda: bool(x), lambda: x.item(), lambda: x.crow_indices(),
        lambda: x.nbytes,
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            refused()
    d, number = lib.ones(2, 3), lib.ones(())
    for refused in (
        lambda: x.numpy(), lambda: lib.add(x, x, alpha="2"), lambda: x.sub(x, alpha=None),
        lambda: d.add_(x, alpha=number.requires_grad_()), lambda: d.add(x, alpha=lib.ones(1)),
        lambda: lib.addmm(lib.ones(2, 2), x, lib.ones(3, 2), alpha=number[None]),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            refused()


def test_products(lib: ModuleType) -> None:
    x, y = coordinates(lib, (3, 4), 8, 6), coordinates(lib, (4, 2), 5, 7)
    d, v, m = strided(lib, (4, 5), 8), strided(lib, (4,), 9), strided(lib, (2, 3), 10)
    a, b = x.to_dense(), y.to_dense()
    c = strided(lib, (3, 5), 11)
    for out, expected in (
        (x @ d, a @ d), (lib.mm(x, d), a @ d), (x.matmul(v), a @ v), (lib.mv(x, v), a @ v),
        (m @ x, m @ a), (x @ y, a @ b), (lib.sparse.mm(x, y), a @ b),
        (lib.addmm(c, x, d, beta=2, alpha=3), 2 * c + 3 * (a @ d)),
        (lib.sparse.addmm(c, x, d), c + a @ d), (lib.smm(x, d), a @ d), (lib.hspmm(x, d), a @ d),
        (lib.sspaddmm(c.to_sparse(), x, d, beta=2), 2 * c + a @ d),
        (lib.nn.functional.linear(d.t(), x), d.t() @ a.t()),
    ):  # fmt: skip
        same(out, expected)
    assert (x @ y).is_coalesced() and not (x @ d).is_sparse
    batch = coordinates(lib, (2, 3, 4), 9, 12)
    same(lib.bmm(batch, lib.stack([d, d])), lib.bmm(batch.to_dense(), lib.stack([d, d])))
    with raises(lib, RuntimeError, "mat1 and mat2 shapes cannot be multiplied"):
        lib.mm(x, x)
    with raises(lib, RuntimeError, "mv: expected self.size"):
        lib.mv(x, d[:3, 0])
    for mixed in (
        lambda: lib.mm(x, d.float()), lambda: lib.mv(x, v.float()),
        lambda: lib.addmm(c, x, d.float()), lambda: lib.bmm(batch, lib.stack([d, d]).float()),
        lambda: x.to_sparse_csr() @ d.float(),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            mixed()


def test_integers_keep_their_dtype(lib: ModuleType) -> None:
    rows = lib.tensor([[0, 0, 1], [0, 0, 2]])
    x = lib.sparse_coo_tensor(rows, lib.tensor([1, 2, 3], dtype=lib.int32), (2, 3))
    number = lib.sparse_coo_tensor(lib.zeros(0, 2).long(), x._values()[:2], ())
    assert x[0, 0].dtype is number.coalesce().dtype is number.to_dense().dtype is lib.int32
    assert (lib.tensor(1, dtype=lib.int32) + number).dtype is lib.int32
    assert x.sum().dtype is lib.sparse.sum(x, (0, 1)).dtype is lib.int64
    assert lib.sparse.sum(x, 0).dtype is lib.int32


def test_products_of_other_shapes(lib: ModuleType) -> None:
    x = coordinates(lib, (2, 3), 4, 0, coalesced=True)
    number = lib.sparse_coo_tensor(lib.zeros(0, 1).long(), lib.tensor([2.0], dtype=lib.float64), ())
    for out, expected in (
        (x * number, 2 * x.to_dense()), (x * lib.ones(2, 2, 3), x.to_dense().expand(2, 2, 3)),
        (x.clone().floor_divide_(2), x.to_dense().floor_divide(2)),
    ):  # fmt: skip
        assert out.is_sparse and out.is_coalesced()
        same(out, expected)
    hybrid, narrow = (coordinates(lib, (3, n), 2, 3, sparse_dims=1) for n in (4, 1))
    same(hybrid * narrow, hybrid.to_dense() * narrow.to_dense())


def test_tensors_of_which_nothing_is_stored_are_added(lib: ModuleType) -> None:
    x = coordinates(lib, (3, 4), 5, 0, sparse_dims=1)
    nothing = lib.sparse_coo_tensor((3, 4), dtype=x.dtype)
    for out, expected in ((x + nothing, x), (nothing + x, x), (nothing - x, -x)):
        assert out.sparse_dim() == 1
        same(out, expected)
    assert lib.tensor(0.0).to_sparse()._nnz() == 0
    pair = lib.sparse_coo_tensor(lib.zeros(0, 2).long(), lib.ones(2), ())
    assert (pair * pair).to_dense().item() == 4


def test_results_are_written_into_sparse_tensors(lib: ModuleType) -> None:
    x = coordinates(lib, (2, 3), 4, 0, coalesced=True)
    out = x.clone()
    for compute, expected in (
        (lambda: lib.ceil(x, out=out), x.to_dense().ceil()),
        (lambda: lib.neg(x, out=out), -x.to_dense()),
        (lambda: lib.div(x, -2, rounding_mode="floor", out=out), x.to_dense().div(-2).floor()),
        (lambda: lib.add(x, x, out=out), 2 * x.to_dense()),
        (lambda: lib.zeros(2, 3, out=out), 0 * x.to_dense()),
    ):
        assert compute() is out
        same(out, expected)
    for wrong in (
        lambda: lib.neg(x, out=lib.ones(2, 3)), lambda: lib.neg(lib.ones(2, 3), out=out),
        lambda: lib.asin(x, out=x.long()),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            wrong()


def test_tensors_without_elements(lib: ModuleType) -> None:
    for made in (lib.empty, lib.zeros):
        x = made(2, 3, layout=lib.sparse_coo, dtype=lib.int32)
        assert x.is_coalesced() and tuple(x._indices().shape) == (2, 0) and x.dtype is lib.int32
        assert made((2, 3), layout=lib.sparse_csc)._nnz() == 0
    assert lib.zeros_like(lib.ones(2), layout=lib.sparse_coo).is_sparse
    assert lib.zeros_like(x, layout=lib.strided).tolist() == x.new_zeros(2, 3).to_dense().tolist()
    assert x.new_zeros(2, layout=lib.strided).layout is lib.strided
    for wrong in (
        lambda: lib.zeros(2, 4, layout=lib.sparse_bsr), lambda: lib.zeros(4, layout=lib.sparse_csr),
        lambda: lib.ones(2, layout=lib.sparse_coo),
        lambda: lib.zeros_like(x, memory_format=lib.preserve_format),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            wrong()


def test_conversions(lib: ModuleType) -> None:
    x = strided(lib, (2, 4), 3)
    sparse, rows = x.to_sparse(), x.to_sparse_csr()
    for kept in (x, sparse, rows):
        assert kept.to_sparse(layout=lib.strided).tolist() == x.tolist()
    assert sparse.to_sparse(2) is sparse and x.to_sparse(dense_dim=1).sparse_dim() == 1
    same(rows.to_sparse(2), x)
    for wrong in (
        lambda: x.to_sparse(blocksize=(1,)), lambda: x.to_sparse(blocksize=(1, 1)),
        lambda: sparse.to_sparse(1), lambda: rows.to_sparse(1),
        lambda: sparse.to_sparse(dense_dim=0),
        lambda: x.to_sparse(layout=lib.sparse_bsr), lambda: rows.to_sparse(layout=lib.sparse_bsr),
        lambda: x.to_sparse(layout=lib.sparse_csr, blocksize=(1, 1)),
        lambda: x.to_sparse_bsr((1, 1)).to_sparse_bsr((2, 2)), lambda: rows.ccol_indices(),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            wrong()


@each_form
def test_reductions(lib: ModuleType, coalesced: bool) -> None:
    x = coordinates(lib, (2, 3, 4), 12, 13, 2, coalesced=coalesced)
    a = x.to_dense()
    same(x.sum(), a.sum())
    for dims in (0, 1, 2, -1, (0, 1), (0, 2), (0, 1, 2)):
        same(lib.sparse.sum(x, dims), a.sum(dims))
    same(x.sum(0), a.sum(0))
    same(x.sum(1, keepdim=True), a.sum(1, keepdim=True))
    assert lib.sparse.sum(x, (0, 1)).layout is lib.strided and x.sum(0).is_sparse
    assert lib.sparse.sum(x, 0, dtype=lib.float32).dtype is lib.float32
    assert x.norm().item() == pytest.approx(a.norm().item())
    assert bool(x.any()) is True and not bool((x * 0).any())
    y = coordinates(lib, (3, 4), 7, 14, coalesced=coalesced)
    found = y.coalesce()
    at = tuple(found.indices())
    low = lib.full((3, 4), float("-inf"), dtype=lib.float64)
    low[at] = found.values()
    for dim in (0, 1):
        soft = lib.sparse.softmax(y, dim)
        expected = lib.softmax(low, dim)[at]
        assert soft.values().tolist() == pytest.approx(expected.tolist(), rel=1e-12)
        logs = lib.sparse.log_softmax(y, dim).values().tolist()
        assert logs == pytest.approx(lib.log_softmax(low, dim)[at].tolist(), abs=1e-12)
    soft = lib.sparse.softmax(x, 2).coalesce()
    expected = lib.softmax(x.coalesce().values(), 1)
    assert soft.values().reshape(-1).tolist() == pytest.approx(expected.reshape(-1).tolist())


@each_form
def test_shapes(lib: ModuleType, coalesced: bool) -> None:
    x = coordinates(lib, (3, 4), 7, 15, coalesced=coalesced)
    h = coordinates(lib, (2, 3, 4), 6, 16, 2, coalesced=coalesced)
    a, b = x.to_dense(), h.to_dense()
    index = lib.tensor([2, 0, 0])
    for out, expected in (
        (x.t(), a.t()), (x.T, a.T), (x.mT, a.mT), (x.transpose(0, 1), a.t()),
        (x.permute(1, 0), a.t()), (h.permute(1, 0, 2), b.permute(1, 0, 2)),
        (h.transpose(0, 1), b.transpose(0, 1)), (x.movedim(0, 1), a.t()),
        (x.unsqueeze(0), a[None]), (x.unsqueeze(-1), a[..., None]), (h.unsqueeze(3), b[..., None]),
        (x[1], a[1]), (x[1, 2], a[1, 2]), (x[:, 2], a[:, 2]), (x[-1], a[-1]), (x[None], a[None]),
        (x.select(1, 3), a[:, 3]), (h.select(2, 1), b[:, :, 1]), (h[1], b[1]),
        (x.index_select(0, index), a[index]), (h.index_select(2, index), b[:, :, index]),
        (x.narrow_copy(1, 1, 2), a[:, 1:3]), (h.narrow_copy(2, 1, 2), b[:, :, 1:3]),
        (lib.cat([x, x]), lib.cat([a, a])), (lib.cat([x, x], 1), lib.cat([a, a], 1)),
        (lib.cat([h, h], 2), lib.cat([b, b], 2)), (lib.stack([x, x]), lib.stack([a, a])),
        (lib.stack(x.unbind()), a), (lib.stack(list(x)), a), (x.sparse_mask(x), a),
    ):  # fmt: skip
        same(out, expected)
    once, z = x.coalesce(), strided(lib, (3, 4), 1)
    assert z.sparse_mask(once).values().tolist() == z[tuple(once.indices())].tolist()
    assert once.sparse_mask(x)._values().tolist() == a[tuple(x._indices())].tolist()
    out = x.clone()
    assert out.t_() is out
    same(out, a.t())
    for wrong in (lambda: h.transpose(1, 2), lambda: h.t(), lambda: x.permute(0)):
        with pytest.raises(RuntimeError):
            wrong()
    for wrong in (lambda: x.select(0, 3), lambda: x[5], lambda: x.t()[0, 1, 2]):
        with pytest.raises(IndexError):
            wrong()


def test_copies(lib: ModuleType) -> None:
    x = coordinates(lib, (3, 4), 7, 17)
    a = x.to_dense()
    assert x.double() is x and x.to(lib.float64) is x
    assert x.float().dtype is lib.float32 and x.float().is_sparse
    same(x.float(), a.float())
    for twin in (x.clone(), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.is_coalesced() is x.is_coalesced()
        same(twin, x)
    twin = copy.deepcopy(x)
    twin.mul_(2)
    same(x, a)
    same(lib.zeros_like(x), a * 0)
    assert lib.zeros_like(x, layout=lib.strided).layout is lib.strided
    assert x.new_zeros(2, 3).sparse_dim() == 2 and x.new_empty((4,)).is_sparse
    assert x.new_tensor([1.0]).layout is lib.strided
    assert x.zero_() is x and x._nnz() == 0
    assert x.copy_(twin) is x
    same(x, a * 2)
    with pytest.raises(RuntimeError):
        x.copy_(a)
    x.sparse_resize_((5, 4), 2, 0)
    assert tuple(x.shape) == (5, 4) and x._nnz() == twin._nnz()
    with pytest.raises(RuntimeError):
        x.sparse_resize_((2, 2), 2, 0)
    assert x.sparse_resize_and_clear_((2, 2, 2), 2, 1)._nnz() == 0 and x.dense_dim() == 1
    assert not lib.ones(2).is_sparse and lib.ones(2).layout is lib.strided


def test_construction(lib: ModuleType) -> None:
    make = lib.sparse_coo_tensor
    x = make([[0, 1], [2, 0]], [3.0, 4.0])
    assert tuple(x.shape) == (2, 3) and x.to_dense().tolist() == [[0, 0, 3], [4, 0, 0]]
    assert make([[0], [1]], [1]).is_coalesced() and make([[0], [1]], [1]).dtype is lib.int64
    assert make([[0, 1]], [1, 2], dtype=lib.float16).dtype is lib.float16
    assert make(size=(2, 3))._nnz() == 0 and tuple(make((2, 3)).shape) == (2, 3)
    assert make([[0, 1]], [1.0, 2.0], is_coalesced=True).is_coalesced()
    assert tuple(make(lib.zeros(2, 0).long(), lib.zeros(0, 3)).shape) == (0, 0, 3)
    assert lib.tensor(2.0).to_sparse().to_dense().item() == 2
    assert make([[0]], 1.0, (1,)).to_dense().tolist() == [1]
    assert make(lib.zeros(0, 1).long(), 12.5, ()).to_dense().item() == 12.5
    for wrong in (
        lambda: make([[0, 1]], 1.0), lambda: make([[0]], [1.0], (-1,)),
        lambda: make((2**40, 2**40)),
        lambda: make([[1, 0]], [1.0, 2.0], (2,), check_invariants=True, is_coalesced=True),
        lambda: make([[0, 1]], [1.0, 2.0, 3.0]), lambda: make([0, 1], [1.0, 2.0]),
        lambda: make([[0, 1]], [1.0, 2.0], (2, 2)), lambda: make([[0, -1]], [1.0, 2.0]),
        lambda: make([[0, 5]], [1.0, 2.0], (2,), check_invariants=True),
        lambda: make([[0, -1]], [1.0, 2.0], (2,), check_invariants=True),
        lambda: lib.ones(2).to_sparse(3), lambda: lib.ones(2).coalesce(),
        lambda: lib.ones(2).values(),
        lambda: lib.ones(2).indices(), lambda: lib.ones(2).crow_indices(),
        lambda: lib.ones(2).is_coalesced(),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(NotImplementedError):
        lib.ones(2)._nnz()
    with pytest.raises(IndexError):
        lib.ones(2).to_sparse_csr()
    check = lib.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with pytest.raises(RuntimeError):
            make([[0, 5]], [1.0, 2.0], (2,))
    assert not check.is_enabled()


def test_text(lib: ModuleType) -> None:
    name = lib.__name__
    pad = "\n                       "
    x = lib.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    expected = (
        f"tensor(indices=tensor([[0, 1],{pad}[2, 0]]),\n       values=tensor([3., 4.]),\n       "
        f"size=(2, 3), nnz=2, layout={name}.sparse_coo"
    )
    assert repr(x) == expected + ")"
    assert repr(x.requires_grad_()) == expected + ", requires_grad=True)"
    y = lib.eye(2, dtype=lib.float64).to_sparse_csr()
    assert repr(y) == (
        "tensor(crow_indices=tensor([0, 1, 2]),\n       col_indices=tensor([0, 1]),\n       "
        f"values=tensor([1., 1.]), size=(2, 2), nnz=2, dtype={name}.float64,\n"
        f"       layout={name}.sparse_csr)"
    )
    many = lib.arange(18.0).to_sparse()
    assert repr(many).splitlines()[1:5:2] == [
        "                        15, 16, 17]]),",
        "                      12., 13., 14., 15., 16., 17.]),",
    ]
    assert "dtype" not in repr(lib.eye(2, dtype=lib.complex64).to_sparse())
    empty = lib.sparse_coo_tensor(size=(2, 3))
    assert repr(empty) == (
        "tensor(indices=tensor([], size=(2, 0)),\n       values=tensor([], size=(0,)),\n       "
        f"size=(2, 3), nnz=0, layout={name}.sparse_coo)"
    )


def test_no_sparse_tensor_is_strided_in_secret() -> None:
    """Each public function either knows the layout or refuses it."""
    x: Any = coordinates(nnkit, (2, 3), 4, 0)
    known = type(x).functions
    for name in ("exp", "cos", "sort", "argmax", "kron", "tril", "clamp", "logical_and"):
        assert name not in known or known[name].__name__ == "refusal"
        function = getattr(nnkit, name)
        with pytest.raises((NotImplementedError, TypeError)):
            function(x, x) if name in ("kron", "logical_and") else function(x)


@pytest.mark.parametrize("write", ["add_", "sub_", "mul_"])
def test_a_write_keeps_the_dtype(lib: ModuleType, write: str) -> None:
    x, y = (lib.ones(2, dtype=kind).to_sparse() for kind in (lib.uint8, lib.int16))
    assert getattr(x, write)(y).dtype is lib.uint8 is x.dtype
    with pytest.raises(RuntimeError):
        getattr(x, write)(y.float())
    with pytest.raises(RuntimeError):
        lib.ones(2, dtype=lib.int16).add_(y.float())
    with pytest.raises(RuntimeError):
        x.sqrt_()
    with pytest.raises(RuntimeError, match="must match dtype of sparse tensor"):
        x.mul_(lib.ones(2, dtype=lib.int16))
    assert x.dtype is lib.uint8


def test_nothing_of_it_is_put_off(lib: ModuleType) -> None:
    x = lib.ones(2, dtype=lib.complex64).conj().to_sparse()
    assert not x.is_conj() and not x.is_neg() and not x.to_dense().is_conj()
    assert not lib.eye(2).to_sparse_csr().is_conj()


def test_new(lib: ModuleType) -> None:
    """The older way to make a tensor of the same kind, which sparse optimizers take."""
    x = lib.eye(3).to_sparse()
    again = x.new(x._indices(), x._values() * 2, x.size())
    assert again.to_dense().tolist() == (lib.eye(3) * 2).tolist()
    assert x.new(x._indices(), x._values().double()).dtype is lib.float64
    for empty, shape in ((x.new(), (0,)), (x.new(2, 3), (2, 3)), (x.new(lib.Size([4])), (4,))):
        assert empty.layout is lib.sparse_coo and empty._nnz() == 0 and empty.shape == shape
    assert x.new().resize_as_(x).shape == (3, 3)
    with raises(lib, RuntimeError, "expected indices of int64"):
        x.new(x._indices().int(), x._values())
    with raises(lib, TypeError, "expected indices and values"):
        x.new(x._indices())


def test_the_storages_of_its_parts_may_grow(lib: ModuleType) -> None:
    """It has geometries of its own over the memory of the indices and values that were given."""
    indices, values = lib.tensor([[0], [1]]), lib.tensor([[3.0, 4.0, 5.0]])
    x = lib.sparse_coo_tensor(indices, values, (1, 2, 3))
    indices.resize_(2, 3)
    values.resize_(4, 5)
    assert x.coalesce().indices().tolist() == [[0], [1]]
    assert x.coalesce().values().tolist() == [[3.0, 4.0, 5.0]]


def test_what_is_empty_stays_in_order(lib: ModuleType) -> None:
    x = lib.zeros(3, 4).to_sparse()
    assert x.is_coalesced() and x.t().is_coalesced()
    assert not lib.eye(3).to_sparse().t().is_coalesced()


def test_errors_name_what_was_asked(lib: ModuleType) -> None:
    x, a = lib.eye(2).to_sparse(), lib.eye(2)
    for name in ("crow_indices", "col_indices", "ccol_indices", "row_indices"):
        with raises(lib, RuntimeError, f"{name} expected sparse"):
            getattr(x, name)()
    with raises(lib, RuntimeError, "a dense tensor was found at position 1[.]"):
        lib.cat((x, a))
    with raises(lib, RuntimeError, "expected 'mat1' to have"):
        lib.smm(a, x)
    with pytest.raises((RuntimeError, NotImplementedError)):
        lib.smm(a.to_sparse_csr(), a)
    with pytest.raises((RuntimeError, NotImplementedError)):
        lib.hspmm(a.to_sparse_csr(), a)


@pytest.mark.filterwarnings("ignore:Sparse invariant")
def test_low_rank_factors(lib: ModuleType) -> None:
    lib.manual_seed(0)
    a = lib.randn(20, 3) @ lib.randn(3, 7)
    a[5:12, 2:] = 0
    a = a.double()
    x = a.to_sparse()
    mean = a.mean(0, keepdim=True)
    for u, s, v, of in (
        (*lib.svd_lowrank(x, 7), a), (*lib.svd_lowrank(x.t(), 7), a.t()),
        (*lib.svd_lowrank(x, 7, M=mean), a - mean), (*lib.pca_lowrank(x, 7), a - mean),
        (*lib.pca_lowrank(x, 7, center=False), a),
    ):  # fmt: skip
        assert lib.allclose((u * s) @ v.mT, of)
    with pytest.raises(ValueError, match="dimension"):
        lib.pca_lowrank(lib.ones(2, 2, 2).to_sparse())
