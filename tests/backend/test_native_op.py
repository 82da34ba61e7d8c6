"""Compiled ops on Tensors do what their twins in Python do, and leave to them what they cannot."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.compiled import bind_op
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.cpu import native
from nnkit.backend.device import cpu
from nnkit.backend.door import Recorder, standing
from tests.backend.native_cases import needs_native

pytestmark = needs_native


class TwinError(Exception):
    """Raised in place of a twin."""


def refuse(*arguments: Any, **keywords: Any) -> None:
    raise TwinError


def alone(name: str, dtypes: tuple | None = None, numbers: int = 0) -> Any:
    """An op without a twin behind it."""
    return bind_op(OPS[name].op, refuse, refuse, dtypes, numbers)


F4 = np.dtype(np.float32)
add = alone("add", (F4,), 2)


def example(shape: tuple[int, ...] = (2, 3), grad: bool = False) -> Tensor:
    return nnkit.arange(6.0).reshape(shape).clone().requires_grad_(grad)


def test_an_op_has_a_name_and_a_twin() -> None:
    op = OPS["linear"]
    assert repr(op) == "<native op linear>"
    assert op.__name__ == "linear" and op.twin.__name__ == "linear"
    assert op.op.name == "linear"
    with pytest.raises(TypeError, match="cannot create"):
        type(op)()  # pyright: ignore


def test_wrap_sets_every_slot() -> None:
    data = np.ones(3, np.float32)
    made = wrap(data)
    assert type(made) is Tensor and made._array is data and made._device is cpu
    assert made._writes == [0, None, None] and made._viewed == 0 and made._requires_grad is False
    for slot in ("_grad", "_edge", "_base", "_view", "_hooks"):
        assert getattr(made, slot) is None
    assert not made.is_inference()
    with nnkit.inference_mode():
        assert wrap(data, cpu).is_inference()
        found = []
        thread = threading.Thread(target=lambda: found.append(wrap(data).is_inference()))
        thread.start()
        thread.join()
    assert found == [False]  # the mode is the other thread's
    with pytest.raises(TypeError, match=r"wrap\(\) takes an array and a device, got 3 arguments"):
        wrap(data, cpu, None)  # pyright: ignore
    with pytest.raises(TypeError, match="got 0 arguments"):
        wrap()  # pyright: ignore


def test_classes_without_the_slots_are_refused() -> None:
    assert native.MODULE is not None
    with pytest.raises(TypeError, match="dict.* is not derived from Living"):
        native.MODULE.set_tensor(dict, cpu, [])
    with pytest.raises(AttributeError, match="_array"):
        native.MODULE.set_tensor(type("Bare", (native.MODULE.Living,), {}), cpu, [])
    assert wrap(np.ones(1)).tolist() == [1]  # the class that it knew stays


def test_what_an_op_takes() -> None:
    x = example()
    assert add(x, x).tolist() == [[0, 2, 4], [6, 8, 10]]
    assert add(x, 1.5).tolist() == add(x, nnkit.full((2, 3), 1.5)).tolist()
    assert add(x, 2)[1, 2] == 7
    parameter = nnkit.nn.Parameter(example())
    out = add(parameter, x)
    assert type(out) is Tensor
    view = x.view(3, 2)
    assert add(view, view).shape == (3, 2)


@pytest.mark.parametrize(
    "operands",
    [
        (example(), example((6,))), (example(), example().double()), (example(), True),
        (example(), np.float32(1)), (1.0, example()), (example(),), (example(), None),
        (example().half(), example().half()), (example(), "a"), (object(), example()),
        (example(), example(), example()), (),
    ],
)  # fmt: skip
def test_what_it_leaves_to_the_twin(operands: tuple) -> None:
    with pytest.raises(TwinError):
        add(*operands)


def test_more_that_it_leaves_to_the_twin() -> None:
    x = example()
    with pytest.raises(TwinError):
        add(x, other=x)
    known = x[0]
    x.add_(1)
    assert add(known, known).equal(known * 2)  # of a constant, which has no history
    leaf = example().requires_grad_()
    view = leaf[0]
    with nnkit.no_grad():
        leaf.add_(1)
    with pytest.raises(TwinError):  # the view's history is to be made anew
        add(view, view)
    with pytest.raises(TwinError):
        add(*[x] * 100)
    lazy = nnkit.nn.UninitializedParameter()
    with pytest.raises(TwinError):
        add(lazy, lazy)
    with pytest.raises(TwinError):  # a scalar of NumPy has a dtype
        alone("leaky_relu", (F4,))(x, np.float32(0.1))


def test_an_operator_is_an_op_that_is_bound_as_functions_are() -> None:
    x = example()
    operator: Any = Tensor.__add__
    assert type(operator) is type(add) and operator.__wrapped__ is operator.twin
    assert x.__add__(x).equal(x + x)
    assert x.__add__(object()) is NotImplemented
    assert (x + nnkit.ones(3)).tolist() == [[1, 2, 3], [4, 5, 6]]  # by the twin


def test_a_number_before_a_tensor() -> None:
    sub = alone("sub", (F4, nnkit.bfloat16.array), 3)
    assert sub(1.5, example()).tolist() == [[1.5, 0.5, -0.5], [-1.5, -2.5, -3.5]]
    assert sub(1.002, nnkit.zeros(1, dtype=nnkit.bfloat16)).item() == 1.0
    with nnkit.no_grad():
        assert sub(1, example(grad=True))[0, 0] == 1
    for operands in ((1, 2), (1, example(grad=True)), (True, example()), (1, example().long())):
        with pytest.raises(TwinError):
            sub(*operands)


def test_a_number_beside_integers_or_complex_numbers() -> None:
    """It becomes an array of their dtype, if that holds it, by a primitive."""
    for dtype in ("int8", "uint8", "int16", "int32", "int64", "complex64", "complex128"):
        x = nnkit.tensor([1, 2, 3]).to(getattr(nnkit, dtype))
        bound = alone("add", (x._array.dtype,), 3)
        limits = np.iinfo(dtype) if dtype[0] != "c" else None
        taken = (0, 5, limits.max, limits.min) if limits else (5, 2.5, -1e30, -(2**63))
        for number in map(type(taken[1]), taken):
            for operands in ((x, number), (number, x)):
                with standing(Recorder, cpu) as recorder:
                    out = bound(*operands)
                np.testing.assert_array_equal(out.numpy(), np.asarray(number, dtype) + x._array)
                assert out._array.dtype == x._array.dtype
                called = [name for name, _, _ in recorder.calls]
                assert called == (["full", "add"] if limits else ["add"])
        left = (limits.max + 1, limits.min - 1, 2.5, True) if limits else (1e300,)
        for number in left if dtype != "complex128" else (True, 2j):
            with pytest.raises((TwinError, OverflowError)):
                bound(x, number)


def test_history() -> None:
    x, y = example(grad=True), example()
    out = add(x, y)
    assert out.requires_grad and out.grad_fn.name() == "AddBackward0"
    assert out.grad_fn.next_functions[1] == (None, 0)
    (out * add(out, 1.0)).sum().backward()
    z = example(grad=True)
    total = z + y
    (total * (total + 1.0)).sum().backward()
    assert x.grad is not None and z.grad is not None and x.grad.equal(z.grad)
    with nnkit.no_grad():
        assert not add(x, y).requires_grad
    assert add(y, y).grad_fn is None
    with pytest.raises(TwinError):  # `connect`, for a node that broadcasts
        alone("matmul")(x, y.mT)


def test_views_whose_history_is_not_known() -> None:
    x, w = example(), example(grad=True)
    with nnkit.no_grad():
        made, of_leaf = x.view(3, 2), w.view(3, 2)
        assert add(of_leaf, 1.0).tolist() == (w + 1).view(3, 2).tolist()
    piece, _ = x.chunk(2)
    for view in (made, piece):
        assert add(view, 1.0).tolist() == (view.clone() + 1).tolist()
    with pytest.raises(TwinError):
        add(of_leaf, 1.0)  # a node of what has lost its history
    x.requires_grad_()
    with pytest.raises(TwinError):
        add(made, 1.0)
    x.requires_grad_(False).mul_(2)
    for view in (made, piece):
        with pytest.raises(TwinError):
            add(view, 1.0)


def test_a_tuple_of_tensors() -> None:
    joined = alone("concat")
    x, y = example(grad=True), example()
    out = joined((y, x, y), 0)
    assert out.shape == (6, 3) and out.grad_fn.name() == "CatBackward0"
    assert [f and f[0] for f in out.grad_fn.next_functions][::2] == [None, None]
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((2, 3)))
    assert not joined((y, y), 1).requires_grad
    with nnkit.no_grad():
        assert not joined((x, y), 1).requires_grad
    for operands in ((x, 1), [x, y], (x, y.to("meta")), ()):
        with pytest.raises(TwinError):
            joined(operands, 0)


@pytest.mark.parametrize("writes", [complex(0, 1), [], [1.5], (0, None)])
def test_a_counter_that_was_replaced(writes: Any) -> None:
    x = nnkit.ones(2)
    view = x[:1]
    view._writes = writes
    with pytest.raises(TwinError):
        add(view, view)


def test_outputs_without_a_gradient() -> None:
    x = example(grad=True)
    values, indices = x.max(dim=1)
    assert values.grad_fn is not None and not indices.requires_grad
    values.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0, 0, 1], [0, 0, 1]]


def test_it_goes_through_the_door() -> None:
    x = example()
    with standing(Recorder, cpu) as recorder:
        add(x, x)
    assert [name for name, _, _ in recorder.calls] == ["add"]


def test_errors_of_the_primitive() -> None:
    with pytest.raises(TwinError):  # the twin says in torch's words what it refuses
        alone("linear")(example(), example((3, 2)), None)
    outside = nnkit.tensor([[0, 5], [0, 0]])
    with pytest.raises(RuntimeError, match="out of bounds"):
        alone("gather")(example(), outside, 1)


def test_references_are_given_back() -> None:
    x, y = example(grad=True), example()
    linear = OPS["linear"]
    watched = (x, y, x._array, y._array, cpu, OPS["add"], linear, bind_op)

    def use() -> None:
        for _ in range(20):
            made = [add(x, y), add(y, 2.5), linear(x, y, None), *x.max(dim=1), nnkit.relu(y)]
            assert len(made) == 6
            add(x, x).sum().backward()
            with nnkit.inference_mode():
                add(x, y)
            for wrong in ((y, y.double()), (y, "a")):
                with pytest.raises(TwinError):
                    add(*wrong)
            x.grad = None

    use()
    gc.collect()
    before = [sys.getrefcount(one) for one in watched]
    use()
    gc.collect()
    assert [sys.getrefcount(one) for one in watched] == before


def test_an_entry_of_an_instances_dictionary() -> None:
    assert native.MODULE is not None
    Entry = native.MODULE.Entry

    class Holder:
        weight = Entry("_parameters", "weight")

    assert (Holder.__dict__["weight"].registry, Holder.__dict__["weight"].name) == (
        "_parameters", "weight",
    )  # fmt: skip
    holder, value = Holder(), object()
    for content in ({}, {"_parameters": {}}, {"_parameters": None}):
        holder.__dict__.clear()
        holder.__dict__.update(content)
        with pytest.raises(AttributeError, match="'Holder' has no attribute 'weight'"):
            _ = holder.weight
    with pytest.raises(AttributeError, match="'Holder' has no attribute 'weight'"):
        _ = Holder.weight
    holder.__dict__["_parameters"] = {"weight": value}
    before = sys.getrefcount(value)
    for _ in range(10):
        assert holder.weight is value
    assert sys.getrefcount(value) == before
    holder.__dict__["weight"] = 5  # an instance's own attribute hides it
    assert holder.weight == 5
    with pytest.raises(TypeError, match="Entry"):
        Entry("_parameters")
