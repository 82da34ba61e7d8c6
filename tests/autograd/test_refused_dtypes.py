"""Dtypes that an op is not defined for, each with torch's type of error, and what is said first."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.harness.call import builtin_type

REFUSED = {
    "T.cov(b)": RuntimeError,
    "T.corrcoef(b)": RuntimeError,
    "T.trace(b)": NotImplementedError,
    "b.clamp(min=False)": NotImplementedError,
    "b.clamp(b, b)": NotImplementedError,
    "T.clamp_max(b, True)": NotImplementedError,
    "T.div(b, b, rounding_mode='floor')": NotImplementedError,
    "T.div(b, b, rounding_mode='trunc')": NotImplementedError,
    "T.floor_divide(b, True)": NotImplementedError,
    "T.round(b, decimals=2)": NotImplementedError,
    "T.round(i, decimals=2)": NotImplementedError,
    "T.tril_indices(2, 2, dtype=T.float32)": NotImplementedError,
    "T.triu_indices(2, 2, dtype=T.bool)": NotImplementedError,
    "T.linspace(0, 1, 3, dtype=T.bool)": NotImplementedError,
    "T.logspace(0, 1, 3, dtype=T.bool)": NotImplementedError,
    "F.pad(b[None], (1, 1), mode='reflect')": NotImplementedError,
    "F.pad(b[None], (1, 1), mode='replicate')": NotImplementedError,
    "T.polar(i, i)": RuntimeError,
    "F.l1_loss(i, i)": RuntimeError,
    "F.multilabel_soft_margin_loss(i, i)": NotImplementedError,
    "F.max_pool1d(i, 2)": NotImplementedError,
    "T.linalg.matrix_norm(i, 1)": RuntimeError,
    "T.linalg.norm(b, 'nuc')": RuntimeError,
    "F.embedding(T.tensor([0]), i, max_norm=1.0)": RuntimeError,
    "F.adaptive_avg_pool1d(i, 1)": RuntimeError,
    # What functions say of dims and shapes comes before what their kernels say of dtypes.
    "c.sort(9)": IndexError,
    "c.argsort(9)": IndexError,
    "c.topk(1, 9)": IndexError,
    "c.kthvalue(1, 9)": IndexError,
    "c.kthvalue(7)": RuntimeError,
    "c.kthvalue(1)": NotImplementedError,
    "b.median(9)": IndexError,
    "b.median()": NotImplementedError,
    "c.mode(9)": IndexError,
    "c.amax(9)": IndexError,
    "c.amax(0)": NotImplementedError,
    "c.max(9)": IndexError,
    "c.max(0)": RuntimeError,
    "c.cummax(9)": IndexError,
    "c.cummax(0)": NotImplementedError,
    "c.nansum(9)": IndexError,
    "i.logcumsumexp(9)": IndexError,
    "i.logcumsumexp(0)": NotImplementedError,
    "T.trapezoid(b, dim=9)": IndexError,
    "T.trapezoid(b)": RuntimeError,
    "b.index_reduce(9, T.tensor([0]), b[:1], 'mean')": IndexError,
    "b.scatter_reduce(9, i - 1, b, 'mean')": IndexError,
    "b.scatter_reduce(0, i * 0, b, 'mean')": NotImplementedError,
    "b[0].trace()": NotImplementedError,
    "i[0].trace()": RuntimeError,
    "T.hypot(i, i[:, :0])": RuntimeError,
    "T.hypot(i, i)": NotImplementedError,
    "T.gcd(h, h[:, :0])": RuntimeError,
    "T.lerp(i, i[:, :0], 0.5)": RuntimeError,
    "b @ b[0, 0]": RuntimeError,
    "b @ b": NotImplementedError,
    "T.inner(b, b)": NotImplementedError,
    "F.linear(b, b)": NotImplementedError,
    "T.einsum('ij,kj->ik', b, b[:, :1].expand(2, 3))": RuntimeError,
    "T.einsum('ij,kj->ik', b, b)": NotImplementedError,
    "T.einsum('...i,...i->...', b, b)": NotImplementedError,
    "T.cdist(h, h[:, :1])": RuntimeError,
    "T.cdist(h, h)": NotImplementedError,
    "F.pdist(h)": NotImplementedError,
    "T.searchsorted(b, b[0])": RuntimeError,
    "F.pad(b[None, :, :0], (1, 1), mode='reflect')": RuntimeError,
    "F.cross_entropy(i, i)": RuntimeError,
    "F.scaled_dot_product_attention(c, c[:, :1], c)": RuntimeError,
    "F.scaled_dot_product_attention(c, c, c)": NotImplementedError,
    "F.scaled_dot_product_attention(i, i, i)": RuntimeError,
    "F.avg_pool2d(i, 1)": IndexError,
    "h.flatten()[0].flip((0, 0))": RuntimeError,
    "h.flatten()[0].flip(9)": IndexError,
    # Of matrices some functions refuse integers, some half precision too, the rest their kernels.
    "h.det()": NotImplementedError,
    "i.det()": RuntimeError,
    "h.slogdet()": RuntimeError,
    "h.inverse()": RuntimeError,
    "T.linalg.cholesky(h)": NotImplementedError,
    "T.linalg.cholesky(i)": RuntimeError,
    "T.cholesky(i)": NotImplementedError,
    "T.linalg.eigh(b)": NotImplementedError,
    "T.linalg.eigvals(h[:0, :0])": NotImplementedError,
    "T.linalg.svd(h)": NotImplementedError,
    "T.linalg.svd(i)": RuntimeError,
    "T.linalg.qr(h[:, :0])": NotImplementedError,
    "T.linalg.solve(h, h)": NotImplementedError,
    "T.linalg.solve_triangular(i, i, upper=True)": NotImplementedError,
    "T.geqrf(h)": NotImplementedError,
    "T.orgqr(h, h[0])": NotImplementedError,
    "T.ormqr(i, i[0], i)": NotImplementedError,
    "T.cholesky_solve(i, i)": NotImplementedError,
    "T.cholesky_inverse(h)": NotImplementedError,
    "T.linalg.matrix_norm(h, 'nuc')": RuntimeError,
    "T.norm(i, 'nuc')": RuntimeError,
    "T.linalg.vecdot(i, i)": RuntimeError,
    # Others
    "T.relu(b)": RuntimeError,
    "T.relu(c)": NotImplementedError,
    "F.tanhshrink(b)": RuntimeError,
    "T.prelu(i, i[0])": NotImplementedError,
    "F.unfold(i[None], 1)": NotImplementedError,
    "F.fold(i.reshape(1, 4), 2, 1)": NotImplementedError,
    "b ** -1": RuntimeError,
    "F.soft_margin_loss(i, i)": RuntimeError,
    "F.layer_norm(i, (3,))": RuntimeError,
    "F.layer_norm(i, (2,))": NotImplementedError,
    "F.layer_norm(i[:0], (2,))": NotImplementedError,
    "F.batch_norm(i, None, None, b[0, :1], training=True)": RuntimeError,
    "F.batch_norm(i, None, None, training=True)": NotImplementedError,
    "F.conv1d(b[None], b[None, :, :0])": RuntimeError,
    "F.conv1d(b[None], b[None])": NotImplementedError,
    "F.conv_transpose1d(i[None].int(), i[:, None].int())": NotImplementedError,
    "b.index_fill(0, T.tensor([0]), 1j)": RuntimeError,
    "i.masked_fill(b, 1j)": RuntimeError,
    "T.addr(i, i[0], i[0], beta=0.5)": RuntimeError,
    "T.addcdiv(h, i, i)": RuntimeError,
    "T.threshold(i, 0, 1e30)": RuntimeError,
    "T.polar(h, h)": NotImplementedError,
    "b[0].index_reduce(0, T.tensor([0]), b[0, :1], 'prod')": NotImplementedError,
    "c[0].index_reduce(0, T.tensor([0]), c[0, :1], 'mean')": NotImplementedError,
    "c.index_reduce(0, T.tensor([0]), c[:1], 'prod', include_self=False)": NotImplementedError,
    "c.index_reduce(0, T.tensor([0]), c[:1], 'amax')": NotImplementedError,
    # Some functions are not differentiated where their result is complex.
    "l.index_reduce(0, T.tensor([0]), l[:1], 'prod')": RuntimeError,
    "l.scatter_reduce(0, i * 0, c, 'sum')": RuntimeError,
    "c.scatter_reduce(0, i * 0, l, 'mean')": RuntimeError,
    "c.slice_scatter(l[:1], 0, 0, 1)": RuntimeError,
    "l.select_scatter(c[0], 0, 0)": RuntimeError,
    "F.binary_cross_entropy_with_logits(l.real, c)": RuntimeError,
    "i.select_scatter(l.real[0], 0, 0)": RuntimeError,
    "i.slice_scatter(l.real[:1], 0, 0, 1)": RuntimeError,
    "b.diagonal_scatter(l.real[0])": RuntimeError,
    "i.as_strided_scatter(l.real[0], (2,), (1,))": RuntimeError,
    "F.l1_loss(h, b)": RuntimeError,
    "l.nan_to_num()": RuntimeError,
    "F.embedding(i - 1, T.cat([l, l]))": RuntimeError,
    "F.silu(l)": RuntimeError,
    "F.bilinear(c, c, l[None])": RuntimeError,
    # A Kronecker product is a view of the products.
    "T.kron(h.expand(2, 2, 2).contiguous().movedim(0, 2), T.ones(2))": RuntimeError,
}
ALLOWED = {
    "F.l1_loss(i, 2 * i, reduction='sum')": 10,
    "F.max_pool1d(i, 2, return_indices=True)[0]": [[2], [4]],
    "b.clamp(0, 1)": [[1, 0], [1, 1]],
    "T.linspace(0, 1, 1, dtype=T.bool)": [False],
    # Where there is no element, no kernel is asked.
    "c[:0].log_softmax(1)": [],
    "i[:0].softmax(1)": [],
    "F.conv1d(b[None][:0], b[None])": [],
    "(b[:0] @ b)": [],
    "(b[:, :0] @ b[:0])": [[False, False], [False, False]],
    "h[:0, :0].det()": 1.0,
    "T.linalg.eigh(b[:0, :0])[0]": [],
    "T.linalg.svd(h[:0])[1]": [],
    "T.linalg.cond(i[:0, :0])": 0,
    "T.cdist(h[:0], h)": [],
    "b[:0].median()": True,
    "c[:, :0].amax(0)": [],
    "T.bucketize(c[:0], T.tensor([0.0]))": [],
    "T.bernoulli(c[:0])": [],
    "i[:0].normal_()": [],
    "b[:0].exponential_()": [],
    "c[:0].bernoulli_(0.5)": [],
    "F.scaled_dot_product_attention(b[:, :0], b, b[:0])": [[0, 0], [0, 0]],
    "F.scaled_dot_product_attention(h[:0], h[:, :1], h)": [],
    "T.einsum('...i,...i->...', b[:1, :1], b[:1, :1])": [True],
    "T.einsum('ij,kj->ik', i, h[:, :1])": [[3.0, 9.0], [7.0, 21.0]],
    "T.kron(b, i)": [[1, 2, 0, 0], [3, 4, 0, 0], [1, 2, 1, 2], [3, 4, 3, 4]],
    "T.clamp_min(b, b.mT)": [[True, True], [True, True]],
    "b.clamp(max=b.mT)": [[True, False], [False, True]],
    "b.masked_fill(b, 1j)": [[True, False], [True, True]],
    "T.addcmul(i, i, i, value=0.5)": [[1, 2], [3, 4]],
    "F.margin_ranking_loss(i[0], i[0], i[0], reduction='none')": [0.0, 0.0],
    "c.index_reduce(0, T.tensor([0]), c[:1], 'prod').real": [[1.0, 4.0], [3.0, 4.0]],
}


def evaluated(lib: ModuleType, expression: str):
    b = lib.tensor([[True, False], [True, True]])
    i = lib.tensor([[1, 2], [3, 4]])
    h, c = i.half(), i.to(lib.complex64)
    names = {"T": lib, "F": lib.nn.functional, "b": b, "i": i, "h": h, "c": c}
    return eval(expression, names | {"l": c.clone().requires_grad_()})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", REFUSED)
def test_refused(lib: ModuleType, expression: str) -> None:
    with pytest.raises(BaseException) as caught:
        evaluated(lib, expression)
    assert builtin_type(caught.value) is REFUSED[expression]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", ALLOWED)
def test_allowed(lib: ModuleType, expression: str) -> None:
    assert evaluated(lib, expression).tolist() == ALLOWED[expression]
