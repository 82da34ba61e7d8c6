"""Arrays filled with one value, and copies in another order of memory."""

from __future__ import annotations

from nnkit.backend.dtype import int64
from nnkit.backend.memory import is_dense


def empty(B, shape, dtype):
    return B.full(shape, 0, dtype)


def zeros(B, shape, dtype):
    return B.full(shape, 0, dtype)


def zeros_like(B, x):
    return B.full(x.shape, 0, x.dtype)


def ones_like(B, x):
    return B.fill(x, 1)


def empty_like(B, x):
    return B.empty(x.shape, x.dtype)


def eye(B, n, m, dtype):
    rows = B.unsqueeze(B.arange(0, n, 1, int64.array), 1)
    return B.cast(B.eq(rows, B.arange(0, m, 1, int64.array)), dtype)


def fill(B, x, value):
    return B.fill_(B.empty_like(x), value)


def fill_(B, x, value):
    return B.copy_(x, B.full((), value, x.dtype))


def overwrite(B, x, source):
    dense = is_dense(x)  # in another geometry torch has a gradient lie by rows
    return B.copy_(B.empty_like(x) if dense else B.empty(x.shape, x.dtype), source)


def contiguous(B, x):
    return B.copy(x)


def copy_storage(B, x):
    """A copy of the storage, seen as ``x`` sees its own: with its gaps, and with elements that
    share their memory, but for those that are repeated."""
    return B.copy(x)


def make_complex(B, real, imag):
    """``real + i imag`` without the rounding (and the NaN of ``inf * 0``) of a multiplication."""
    shape = B.add(real, imag).shape
    return B.view_as_complex(B.stack((B.expand(real, shape), B.expand(imag, shape)), -1))


def polar(B, abs, angle):
    return B.make_complex(B.mul(abs, B.cos(angle)), B.mul(abs, B.sin(angle)))


def ordered(B, x, axes):
    """A copy whose dimension ``axes[0]`` is the slowest in memory, and so on."""
    turned = B.permute(x, axes)
    copied = B.copy_(B.empty(turned.shape, turned.dtype), turned)
    return B.permute(copied, tuple(axes.index(axis) for axis in range(len(axes))))
