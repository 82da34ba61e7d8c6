"""The same bits for every number of threads, whatever the layout and the dtype, backward too."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import nnkit
import nnkit.nn.functional as F
from nnkit import nn
from tests.backend.native_cases import needs_native

THREADS = (1, 2, 3, 5)
Case = Callable[[], list]


def rand(*shape, dtype=nnkit.float32):
    if dtype.is_floating_point or dtype.is_complex:
        return nnkit.randn(*shape, dtype=dtype if dtype.itemsize > 2 else nnkit.float32).to(dtype)
    return nnkit.randint(-9, 9, shape).to(dtype)


def layouts(*shape, dtype=nnkit.float32) -> Iterator:
    """Tensors of a shape (of at least two dimensions) that lie differently in memory."""
    yield rand(*shape, dtype=dtype)
    yield rand(*shape[:-2], shape[-1], shape[-2], dtype=dtype).mT
    yield rand(*shape[:-1], 2 * shape[-1], dtype=dtype)[..., ::2]
    yield rand(*shape[:-1], shape[-1] + 3, dtype=dtype)[..., 3:]
    if len(shape) > 2:
        yield rand(shape[1], shape[0], *shape[2:], dtype=dtype).transpose(0, 1)
        yield rand(1, *shape[1:], dtype=dtype).expand(*shape)


DTYPES = (nnkit.float32, nnkit.float64, nnkit.bfloat16, nnkit.float16, nnkit.complex64,
          nnkit.complex128, nnkit.int64)  # fmt: skip


def with_gradients(function: Callable, *tensors) -> list:
    leaves = [t.detach().requires_grad_(t.is_floating_point() or t.is_complex()) for t in tensors]
    out = function(*leaves)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    results = [o.detach() for o in outs]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    flowing = [o for o in outs if o.requires_grad]
    if wanted and flowing:
        total = sum((o * o.detach().conj()).abs().sum() for o in flowing)
        results += [
            g for g in nnkit.autograd.grad(total, wanted, allow_unused=True) if g is not None
        ]
    return results


def _products(dtype) -> list:
    results = []
    weight = rand(96, 64, dtype=dtype)
    for x in layouts(16, 50, 64, dtype=dtype):
        results += with_gradients(lambda x, w: x @ w.mT, x, weight)
        results += with_gradients(nnkit.matmul, x, rand(64, dtype=dtype))
        if dtype is not nnkit.int64:
            results += with_gradients(F.linear, x, weight, rand(96, dtype=dtype))
    for x in layouts(16, 40, 48, dtype=dtype):
        for y in layouts(16, 48, 72, dtype=dtype):
            results += with_gradients(nnkit.bmm, x, y)
    for x in layouts(300, 200, dtype=dtype):
        for y in layouts(200, 260, dtype=dtype):
            results += with_gradients(nnkit.mm, x, y)
            results.append(nnkit.addmm(rand(260, dtype=dtype), x, y, beta=2, alpha=3))
            results.append(rand(200, dtype=dtype) @ y)
    long = rand(40000, dtype=dtype)
    results += [nnkit.dot(long, long), nnkit.vdot(long, long), nnkit.dot(long[::4], long[1::4])]
    results += [nnkit.outer(long[:300], long[:200])]
    results += with_gradients(
        lambda x: nnkit.einsum("abc,dbc->ad", x, x), rand(20, 30, 40, dtype=dtype)
    )
    return results


def _module(module: Callable, *inputs, train: bool = True) -> list:
    nnkit.manual_seed(1)
    built = module().train(train)
    leaves = [t.detach().requires_grad_() for t in inputs]
    out = built(*leaves)
    parts = [p for p in (out if isinstance(out, tuple) else (out,)) if p is not None]
    flat = [q for p in parts for q in (p if isinstance(p, tuple) else (p,))]
    nnkit.stack([q.float().square().sum() for q in flat]).sum().backward()
    grads = [p.grad for p in built.parameters() if p.grad is not None]
    return [q.detach() for q in flat] + grads + [leaf.grad for leaf in leaves]


def _encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True)


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(64, 4, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x)


def _convolutions(axes: int, dtype=nnkit.float32) -> list:
    spatial = (1, 200, 40, 12)[axes]
    conv = getattr(F, f"conv{axes}d")
    back = getattr(F, f"conv_transpose{axes}d")
    x, results = rand(4, 16, *(spatial,) * axes, dtype=dtype), []
    channels_last = nnkit.channels_last if axes == 2 else nnkit.channels_last_3d
    images = [x] + ([x.contiguous(memory_format=channels_last)] if axes > 1 else [x.mT.mT[:, ::2]])
    for image in images:
        channels = image.shape[1]
        weight = rand(32, channels, *(3,) * axes, dtype=dtype)
        results += with_gradients(lambda x, w: conv(x, w, padding=1), image, weight)
        grouped = rand(channels, 1, *(3,) * axes, dtype=dtype)
        results += with_gradients(
            lambda x, w, groups=channels: conv(x, w, stride=2, groups=groups), image, grouped
        )
        turned = rand(channels, 8, *(3,) * axes, dtype=dtype)
        results += with_gradients(lambda x, w: back(x, w, stride=2), image, turned)
    return results


def _pools() -> list:
    results = []
    for x in (rand(6, 9, 33, 47), rand(6, 9, 33, 47).to(memory_format=nnkit.channels_last)):
        results += with_gradients(lambda x: F.avg_pool2d(x, 3, 2, 1), x)
        results += with_gradients(lambda x: F.max_pool2d(x, 3, 2, 1), x)
        results += with_gradients(lambda x: F.adaptive_avg_pool2d(x, (5, 7)), x)
        results += with_gradients(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), x)
    return results


def _norms() -> list:
    results = []
    for x in layouts(24, 48, 96):
        results += with_gradients(lambda x: F.layer_norm(x, (96,)), x)
        results += with_gradients(lambda x: F.group_norm(x, 6), x)
        results += with_gradients(lambda x: F.batch_norm(x, None, None, training=True), x)
        results += with_gradients(lambda x: F.softmax(x, 1), x)
        results += with_gradients(lambda x: F.log_softmax(x, 2), x)
    return results


def _reductions(dtype) -> list:
    results = []
    for x in layouts(20, 40, 90, dtype=dtype):
        for dim in (None, 0, 1, 2, (0, 2)):
            results.append(x.sum(dim))
            if dtype.is_floating_point:
                results += with_gradients(lambda x, dim=dim: x.std(dim), x)
                results.append(nnkit.linalg.vector_norm(x, dim=dim))
                results.append(x.logsumexp(dim if dim is not None else (0, 1, 2)))
        for dim in (0, 1, 2):
            results += [x.cumsum(dim), x.argmax(dim), x.prod(dim), *x.sort(dim), *x.topk(7, dim)]
            if dtype.is_floating_point:
                results += [x.logcumsumexp(dim), *x.cummax(dim)]
    return results


def _scattered() -> list:
    index = nnkit.randint(0, 50, (3000,))
    source = rand(3000, 40)
    results = [nnkit.zeros(50, 40).index_add(0, index, source)]
    results.append(nnkit.zeros(50, 40).scatter_add(0, index[:, None].expand(3000, 40), source))
    results.append(nnkit.zeros(50, 40).index_put((index,), source, accumulate=True))
    results += with_gradients(lambda w: F.embedding(index, w), rand(50, 40))
    results += with_gradients(lambda w: w[index] * source, rand(50, 40))
    results.append(nnkit.bincount(index, source[:, 0].double()))
    return results


CASES: dict[str, Case] = {
    **{f"products-{d.name}": lambda d=d: _products(d) for d in DTYPES},
    **{f"conv{n}d": lambda n=n: _convolutions(n) for n in (1, 2, 3)},
    "conv2d-bfloat16": lambda: _convolutions(2, nnkit.bfloat16),
    "conv2d-float64": lambda: _convolutions(2, nnkit.float64),
    "conv2d-complex64": lambda: _convolutions(2, nnkit.complex64),
    "pools": _pools,
    "norms": _norms,
    "reductions-float32": lambda: _reductions(nnkit.float32),
    "reductions-float64": lambda: _reductions(nnkit.float64),
    "reductions-int64": lambda: _reductions(nnkit.int64),
    "scattered": _scattered,
    "attention": lambda: _module(_Attention, rand(8, 50, 64)),
    "encoder": lambda: _module(_encoder, rand(8, 50, 64)),
    "encoder-eval": lambda: _module(_encoder, rand(8, 50, 64), train=False),
    "encoder-strided": lambda: _module(_encoder, rand(50, 8, 64).transpose(0, 1)),
    "lstm": lambda: _module(lambda: nn.LSTM(48, 64, 2, batch_first=True), rand(16, 30, 48)),
    "gru": lambda: _module(lambda: nn.GRU(48, 64, bidirectional=True), rand(30, 16, 48)),
    "rnn": lambda: _module(lambda: nn.RNN(48, 64), rand(30, 16, 48)),
    "bilinear": lambda: _module(lambda: nn.Bilinear(20, 30, 40), rand(64, 20), rand(64, 30)),
}


def bits(tensors: list) -> list[str]:
    arrays = [t.float().numpy() if t.dtype is nnkit.bfloat16 else t.numpy() for t in tensors]
    return [hashlib.sha1(np.ascontiguousarray(a).tobytes()).hexdigest() for a in arrays]


@needs_native
@pytest.mark.parametrize("name", CASES)
def test_bits_do_not_depend_on_the_number_of_threads(name):
    before = nnkit.get_num_threads()
    found = []
    try:
        for threads in THREADS:
            nnkit.set_num_threads(threads)
            nnkit.manual_seed(0)
            found.append(bits(CASES[name]()))
    finally:
        nnkit.set_num_threads(before)
    for threads, some in zip(THREADS[1:], found[1:], strict=True):
        wrong = [i for i, (a, b) in enumerate(zip(found[0], some, strict=True)) if a != b]
        assert not wrong, f"with {threads} threads: results {wrong} of {len(some)}"
