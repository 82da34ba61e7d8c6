"""Sizes and counts that overflow are refused above every kernel, with torch's error types."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
import nnkit.nn.functional as F

HUGE = 2**63 - 1
x = nnkit.arange(12.0).reshape(3, 4)
v = nnkit.arange(4)
image = nnkit.arange(16.0).reshape(1, 1, 4, 4)
pooled: Any = F.max_pool2d(image, 2, return_indices=True)
kernel = nnkit.ones(1, 1, 2, 2)
line = nnkit.ones(1, 1, 10)

# What would read or write outside of an array, loop for ever, or give an empty tensor: torch's
# error, or RuntimeError where torch itself crashes or hangs.
OVERFLOWS = [
    (RuntimeError, lambda: nnkit.bincount(nnkit.tensor([HUGE, 2**30]))),
    (RuntimeError, lambda: nnkit.bincount(v, minlength=2**62)),
    (RuntimeError, lambda: nnkit.histc(x, HUGE)),
    (RuntimeError, lambda: nnkit.histogram(x, HUGE)),
    (RuntimeError, lambda: F.pad(line, (HUGE, HUGE))),
    (RuntimeError, lambda: F.pad(line, (-HUGE - 1, HUGE))),
    (RuntimeError, lambda: F.pad(line, (HUGE, -HUGE))),
    (RuntimeError, lambda: F.pad(line, (2**62, -(2**62)), mode="replicate")),
    (RuntimeError, lambda: F.pad(line, (-11, 3))),
    (RuntimeError, lambda: F.pad(line, (-10, 0), mode="reflect")),
    (RuntimeError, lambda: F.conv2d(image, kernel, padding=HUGE)),
    (RuntimeError, lambda: F.conv2d(image, kernel, padding=HUGE, stride=HUGE)),
    (RuntimeError, lambda: F.conv2d(image, kernel, dilation=2**62)),
    (RuntimeError, lambda: F.conv_transpose2d(image, kernel, stride=2**62)),
    (RuntimeError, lambda: F.conv_transpose2d(image, kernel, stride=2**62, padding=2**62)),
    (RuntimeError, lambda: F.conv_transpose2d(image, kernel, dilation=HUGE)),
    (RuntimeError, lambda: F.max_pool2d(image, 2, HUGE, ceil_mode=True)),
    (RuntimeError, lambda: F.avg_pool2d(image, 2**31, ceil_mode=True)),
    (RuntimeError, lambda: F.max_pool1d(line, HUGE, 1, HUGE // 2)),
    (RuntimeError, lambda: F.avg_pool1d(line, 2**61, 1, 2**60)),
    (RuntimeError, lambda: F.max_pool3d(image[None], 1, dilation=HUGE)),
    (RuntimeError, lambda: F.adaptive_avg_pool2d(image, 2**31)),
    (RuntimeError, lambda: F.adaptive_max_pool1d(line, HUGE)),
    (RuntimeError, lambda: F.max_unpool2d(pooled[0], pooled[1], 2**31)),
    (RuntimeError, lambda: F.unfold(image, 2, padding=2**62)),
    (RuntimeError, lambda: F.fold(nnkit.ones(1, 4, 9), 4, 2, padding=2**62)),
    (RuntimeError, lambda: F.interpolate(line, size=HUGE)),
    (RuntimeError, lambda: F.interpolate(line, size=-1)),
    (RuntimeError, lambda: F.interpolate(line, scale_factor=float("inf"))),
    (RuntimeError, lambda: nnkit.arange(4).repeat_interleave(nnkit.tensor([2**62] * 4))),
    (RuntimeError, lambda: nnkit.arange(3).repeat_interleave(nnkit.tensor([HUGE, HUGE, 2]))),
    (RuntimeError, lambda: nnkit.repeat_interleave(nnkit.tensor([2**62] * 4))),
    (RuntimeError, lambda: nnkit.repeat_interleave(nnkit.tensor([1, -1]))),
    (RuntimeError, lambda: v.repeat_interleave(nnkit.tensor([1.0]))),
    (RuntimeError, lambda: v.repeat_interleave(2**62)),
    (RuntimeError, lambda: x.repeat(2**62, 1)),
    (RuntimeError, lambda: nnkit.tile(x, (2**62,))),
    (RuntimeError, lambda: nnkit.arange(HUGE)),
    (RuntimeError, lambda: nnkit.arange(-(2**62), 2**62)),
    (RuntimeError, lambda: nnkit.arange(1e30)),
    (RuntimeError, lambda: nnkit.arange(0, 1, 1e-320)),
    (RuntimeError, lambda: nnkit.linspace(0, 1, HUGE)),
    (RuntimeError, lambda: nnkit.logspace(0, 1, HUGE)),
    (RuntimeError, lambda: nnkit.tril_indices(HUGE, 2)),
    (RuntimeError, lambda: nnkit.zeros(HUGE)),
    (RuntimeError, lambda: nnkit.zeros(2**32, 2**32)),
    (RuntimeError, lambda: nnkit.empty(0, 2**40, 2**40)),
    (RuntimeError, lambda: nnkit.full((2**62,), 1)),
    (RuntimeError, lambda: nnkit.rand(2**62)),
    (RuntimeError, lambda: v.new_ones(2**32, 2**32)),
    (RuntimeError, lambda: nnkit.eye(2**62)),
    (RuntimeError, lambda: nnkit.randperm(2**62)),
    (RuntimeError, lambda: nnkit.multinomial(nnkit.ones(3), 2**62, True)),
    (RuntimeError, lambda: nnkit.ones(2).resize_(2**62, 2)),
    (RuntimeError, lambda: nnkit.empty_strided((2,), (2**62,))),
    (RuntimeError, lambda: v.as_strided((2,), (2**62,))),
    (RuntimeError, lambda: v.as_strided((1,), (1,), HUGE)),
    (RuntimeError, lambda: v.as_strided((1,), (1,), -1)),
    (RuntimeError, lambda: v.as_strided((-1,), (1,))),
    (RuntimeError, lambda: nnkit.ones(2).set_(nnkit.ones(4), -1, (1,), (1,))),
    (RuntimeError, lambda: nnkit.ones(2).set_(nnkit.ones(4), 0, (3,), (-1,))),
    (RuntimeError, lambda: nnkit.ones(2).set_(nnkit.ones(4), 2, (HUGE,), (1,))),
    (RuntimeError, lambda: nnkit.ones(2).set_(nnkit.ones(4), 2**62, (2**62,), (2**62,))),
    (RuntimeError, lambda: nnkit.addmm(*[nnkit.ones(1, 1, dtype=nnkit.int8)] * 3, beta=300)),
    (RuntimeError, lambda: F.hardtanh(nnkit.ones(1, dtype=nnkit.int8), -1, 300)),
    (RuntimeError, lambda: v.expand(2**62, 4)),
    (RuntimeError, lambda: nnkit.diag_embed(v, 2**31)),
    (RuntimeError, lambda: F.one_hot(v, 2**62)),
    (RuntimeError, lambda: F.one_hot(v, -2)),
    (RuntimeError, lambda: nnkit.vander(v, 2**62)),
    (RuntimeError, lambda: nnkit.tensor_split(v, HUGE)),
    (ValueError, lambda: F.pixel_shuffle(image, 2**32)),
]


@pytest.mark.parametrize("number", range(len(OVERFLOWS)))
def test_overflow_is_refused(number):
    error, call = OVERFLOWS[number]
    with pytest.raises(error):
        call()


# Integers beyond 64 bits: ValueError for an argument, TypeError for an element of a sequence.
BEYOND = [
    (ValueError, lambda n: x.sum(n)),
    (ValueError, lambda n: x.select(0, n)),
    (ValueError, lambda n: x.narrow(0, 0, n)),
    (ValueError, lambda n: v[n]),
    (ValueError, lambda n: nnkit.topk(v, n)),
    (ValueError, lambda n: nnkit.kthvalue(v, n)),
    (ValueError, lambda n: nnkit.split(v, n)),
    (ValueError, lambda n: nnkit.chunk(v, n)),
    (ValueError, lambda n: nnkit.tril(x, n)),
    (ValueError, lambda n: nnkit.diagonal(x, n)),
    (ValueError, lambda n: nnkit.diag_embed(v, n)),
    (ValueError, lambda n: nnkit.rot90(x, n)),
    (ValueError, lambda n: nnkit.roll(x, n)),
    (ValueError, lambda n: v.unfold(0, 2, n)),
    (ValueError, lambda n: nnkit.eye(n)),
    (ValueError, lambda n: nnkit.randperm(n)),
    (ValueError, lambda n: nnkit.randint(n, (2,))),
    (ValueError, lambda n: nnkit.linspace(0, 1, n)),
    (ValueError, lambda n: nnkit.linalg.matrix_power(nnkit.eye(2), n)),
    (ValueError, lambda n: nnkit.diff(v, n)),
    (ValueError, lambda n: F.group_norm(x, n)),
    (ValueError, lambda n: F.one_hot(v, n)),
    (ValueError, lambda n: F.max_pool2d(image, n)),
    (ValueError, lambda n: F.conv2d(image, kernel, stride=n)),
    (ValueError, lambda n: F.conv2d(image, kernel, groups=n)),
    (ValueError, lambda n: F.pixel_unshuffle(image, n)),
    (TypeError, lambda n: nnkit.zeros(n)),
    (TypeError, lambda n: nnkit.full((n,), 1.0)),
    (TypeError, lambda n: nnkit.rand(n)),
    (TypeError, lambda n: x.view(n)),
    (TypeError, lambda n: x.reshape(n, -1)),
    (TypeError, lambda n: v.expand(n, 4)),
    (TypeError, lambda n: x.repeat(n, 1)),
    (TypeError, lambda n: v.as_strided((n,), (0,))),
    (TypeError, lambda n: v.as_strided((1,), (n,))),
    (TypeError, lambda n: nnkit.ones(2).resize_(n)),
    (TypeError, lambda n: nnkit.split(v, [n, 1])),
    (TypeError, lambda n: nnkit.tensor_split(v, [n])),
    (TypeError, lambda n: F.pad(x, (n, 0))),
    (TypeError, lambda n: F.max_pool2d(image, (2, n))),
    (TypeError, lambda n: F.conv2d(image, kernel, stride=(1, n))),
]


@pytest.mark.parametrize("number", range(len(BEYOND)))
@pytest.mark.parametrize("value", [2**63, 2**64, -(2**63) - 1])
def test_integers_beyond_64_bits(number, value):
    error, call = BEYOND[number]
    with pytest.raises(error, match="Overflow when unpacking long"):
        call(value)


def test_integers_of_64_bits_without_sign():
    assert nnkit.tensor(2**64 - 1, dtype=nnkit.uint64).item() == 2**64 - 1
    assert nnkit.as_tensor([2**63, 0], dtype=nnkit.uint64).tolist() == [2**63, 0]
    for value in (-1, [2**63, -1], 2**64):
        with pytest.raises(OverflowError):
            nnkit.tensor(value, dtype=nnkit.uint64)


# Numbers that are large, but mean something: the same as the next smaller one that does.
LARGE = [
    (lambda n: F.conv2d(image, kernel, stride=n), 4),
    (lambda n: F.conv2d(image, kernel[..., :1, :1], stride=2, dilation=n), 4),
    (lambda n: v.unfold(0, 2, n), 4),
    (lambda n: F.unfold(image, 2, stride=n), 4),
    (lambda n: nnkit.tril(x, n), 9),
    (lambda n: nnkit.triu(x, -n), 9),
    (lambda n: nnkit.diagonal(x, n), 4),
    (lambda n: nnkit.diagonal(x, -n), 3),
    (lambda n: nnkit.tril_indices(2, 2, n), 2),
    (lambda n: nnkit.triu_indices(3, 2, -n), 3),
    (lambda n: v.as_strided((1,), (n,)), 1),
    (lambda n: nnkit.roll(v, n), HUGE % 4),
    (lambda n: nnkit.cat(nnkit.split(v, n)), 4),
]


@pytest.mark.parametrize("number", range(len(LARGE)))
def test_large_numbers_that_mean_something(number):
    call, same = LARGE[number]
    np.testing.assert_array_equal(call(HUGE).numpy(), call(same).numpy())


def test_gradient_with_a_stride_beyond_the_input():
    inputs = image.double().requires_grad_()
    F.conv2d(inputs, kernel.double(), stride=HUGE).sum().backward()
    assert inputs.grad.sum().item() == 4.0


def test_index_of_an_expanded_view_is_not_materialised():
    big = nnkit.ones(1).expand(2**33)
    with pytest.raises(IndexError):
        big[nnkit.tensor([2**33])]
    assert big[nnkit.tensor([2**33 - 1, 0])].tolist() == [1.0, 1.0]
    assert big.index_select(0, nnkit.tensor([5])).tolist() == [1.0]


@pytest.mark.parametrize("pool", [F.avg_pool1d, F.max_pool1d])
@pytest.mark.parametrize("ceil", [False, True])
def test_windows_much_longer_than_the_input(pool, ceil):
    """Most of their places lie in the padding: nobody walks through all of those."""
    data = nnkit.arange(5.0).reshape(1, 1, 5).requires_grad_()
    for size in (2**31 - 1, 2**31 - 2):
        out = pool(data, size, 1, size // 2, ceil_mode=ceil)
        assert out.shape == (1, 1, 5 if size % 2 else 6)
        if pool is F.max_pool1d:
            assert out.flatten().tolist() == [4.0] * out.numel()
        else:
            np.testing.assert_allclose(out.detach().numpy() * size, 10.0, rtol=1e-6)
        out.sum().backward()
    wide = pool(data, 2**30, ceil_mode=True)
    assert wide.shape == (1, 1, 1)
    big = nnkit.ones(1, 1, 3, 3)
    assert F.avg_pool2d(big, 2**20, 1, 2**19, count_include_pad=False).max().item() == 1.0


def test_memory_that_is_out_is_said_in_torchs_words(lib: ModuleType) -> None:
    """By a RuntimeError, whatever makes the result: a factory, an op, or an op with an option."""
    row, whole = lib.zeros(1).expand(1 << 24), lib.ones(1, dtype=lib.int64).expand(1 << 24)
    for make in (
        lambda: lib.empty(1 << 46),
        lambda: row[:, None] + row,
        lambda: lib.add(row[:, None], row, alpha=2),
        lambda: row.unsqueeze(1).repeat(1, 1 << 23),
        lambda: row.new_zeros(1 << 46),
        lambda: row[:, None] < row,
        lambda: whole[:, None] // whole,
        lambda: -row[:, None].expand(1 << 24, 1 << 24),
        lambda: lib.nn.functional.adaptive_max_pool2d(lib.ones(1, 1, 5, 5), (1 << 40, 2)),
        lambda: lib.nn.functional.adaptive_avg_pool2d(lib.ones(1, 1, 5, 5), (2, 1 << 40)),
    ):
        with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory"):
            make()
