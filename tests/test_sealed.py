"""A device whose arrays tell nothing but shape, dtype, ndim and size above the door.

So nothing beside the backend knows what an array is: the table of ops passes on it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit import nn, optim
from nnkit.autograd import forward_ad
from nnkit.backend.device import cpu
from nnkit.backend.door import Doorkeeper
from nnkit.nn import functional as F
from tests.harness.call import Call
from tests.harness.row import Maker, OpRow
from tests.harness.table import ROWS


class Opened(Exception):
    """Somebody above the door looked into an array."""


class Sealed:
    """An array of NumPy's that only the backend may look into."""

    __slots__ = ("__weakref__", "_inside")
    known: dict[int, Sealed] = {}
    _inside: Any

    def __new__(cls, array: np.ndarray) -> Sealed:
        """There is one for each array, so that `is` says what it says of arrays."""
        found = cls.known.get(id(array))
        if found is None:
            found = cls.known[id(array)] = object.__new__(cls)
            found._inside = array
        return found

    shape = property(lambda self: self._inside.shape)
    dtype = property(lambda self: self._inside.dtype)
    ndim = property(lambda self: self._inside.ndim)
    size = property(lambda self: self._inside.size)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_array":  # which a tensor has, and a number has not
            raise AttributeError(name)
        if not sys._getframe(1).f_globals["__name__"].startswith("nnkit.backend."):
            raise Opened(name)
        found = getattr(self._inside, name)
        return (lambda *a: sealed(found(*a))) if callable(found) else sealed(found)


def _opened(name: str) -> Callable:
    def opened(self: Any, *arguments: Any) -> Any:
        raise Opened(name)

    return opened


for _name in (
    "bool int float complex index len iter getitem setitem array contains add sub mul truediv neg "
    "radd rsub rmul rtruediv lt le gt ge"
).split():
    setattr(Sealed, f"__{_name}__", _opened(_name))


def sealed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Sealed(value)
    return type(value)(map(sealed, value)) if type(value) in (tuple, list) else value


def bare(value: Any) -> Any:
    if isinstance(value, Sealed):
        return value._inside
    return type(value)(map(bare, value)) if type(value) in (tuple, list) else value


class Sealing(Doorkeeper):
    """Opens what a call is given and seals what it returns."""

    def passed(self, name: str, function: Callable[..., Any], arguments: tuple) -> Any:
        result = function(*map(bare, arguments))
        return result if name == "to_numpy" else sealed(result)


@pytest.fixture
def place() -> Iterator[nnkit.device]:
    found = nnkit.device("xpu")
    backend: Any = Sealing(cpu.backend)
    found.backend = backend
    try:
        yield found
    finally:
        Sealed.known.clear()
        del found.backend


@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if row.name != "get_device"], ids=lambda row: row.name
)
def test_a_row_on_sealed_arrays(place, row: OpRow) -> None:
    """Results and gradients are those on the CPU."""
    for sample in row.samples(Maker(row, row.dtypes[0])):
        expected = Call(nnkit, row, sample, track=True).result(may_raise=True)
        call = Call(nnkit, row, sample, track=True)
        for key, tensor in call.tensors.items():
            call.tensors[key] = tensor.detach().to(place).requires_grad_(tensor.requires_grad)
        found = call.result(may_raise=True)
        assert found.error == expected.error
        for one, other in zip(found.outputs, expected.outputs, strict=True):
            np.testing.assert_array_equal(one, other)
        for one, other in zip(found.gradients, expected.gradients, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_model_on_sealed_arrays(place) -> None:
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(0.1), nn.Flatten(), nn.Linear(4 * 3 * 2, 5),
    ).to(place)  # fmt: skip
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    x, y = nnkit.randn(8, 1, 6, 4).to(place), nnkit.arange(8).remainder(5).to(place)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    model.load_state_dict(model.state_dict())


def test_writes_views_and_tangents_on_sealed_arrays(place) -> None:
    x = nnkit.arange(6.0).to(place).requires_grad_()
    y = x * 2
    y[1:3] *= 3
    y.view(2, 3).t()[0].add_(y[4:])
    y.sum().backward(create_graph=True)
    assert x.grad.tolist() == [2.0, 6.0, 6.0, 2.0, 4.0, 4.0]
    _, tangent = nnkit.func.jvp(lambda v: (v * v).cumsum(0), (x,), (nnkit.ones_like(x),))
    assert tangent.tolist() == [0.0, 2.0, 6.0, 12.0, 20.0, 30.0]
    assert nnkit.func.vmap(lambda v: v.exp().sum())(x.view(2, 3)).shape == (2,)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach(), nnkit.ones_like(x))
        tangent: Any = forward_ad.unpack_dual(dual.sin()).tangent
        assert tangent.shape == (6,)
    assert repr(x.detach()[:2]) == "tensor([0., 1.], device='xpu')"
