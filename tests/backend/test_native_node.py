"""Compiled code makes the nodes of ops, and reads what they save, as its twins in Python do."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.engine import node, unpacking
from nnkit.autograd.engine.node import SavedOutput
from nnkit.autograd.engine.saved import ACTIVE
from nnkit.autograd.engine.unpacking import unpack_array
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import wrap
from nnkit.backend.cpu import native
from nnkit.backend.device import cpu
from tests.backend.native_cases import needs_native

pytestmark = needs_native


def recorded(name: str) -> Any:
    """The compiled `record` of an op, which has recorded a node before."""
    record: Any = OPS[name].op.record  # type: ignore[attr-defined]
    assert type(record).__name__ == "Record"
    return record


def described(made: Any) -> list[Any]:
    """What a node holds, with what is in a `SavedOutput` in its place."""
    values = []
    for value in made.values:
        saved = value[0] if type(value) is tuple and value else None
        if type(saved) is SavedOutput:
            value = saved._array, saved._writes, saved.index, saved.first, value[1]
        values.append(value)
    return [type(made), made.edges, values, made.device, made.meta, made.outputs, made.hooks]


x, y = nnkit.ones(2, 2, requires_grad=True), nnkit.full((2, 2), 3.0)
rows = nnkit.tensor([0, 1])
CASES = {
    "mul": ((x, y), (), (x, None)),  # an input where its rule is wanted
    "div": ((x, 2.0), (), (x, None)),  # a number
    "tanh": ((x,), (), (x,)),  # an output
    "linear": ((x, y, None), (), (x, None, None)),
    "sum": ((x,), (None, False), (x,)),  # a shape and statics
    "layer_norm": ((x, None, None), (1, 1e-5), (x, None, None)),  # a joint rule, several outputs
    "max": ((x,), (1, False), (x,)),
}


def call(name: str, tensors: tuple, statics: tuple) -> tuple:
    out = OPS[name](*tensors, *statics)
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize("name", [name for name in CASES if name in OPS])
def test_a_record_makes_the_node_of_its_twin(name: str) -> None:
    tensors, statics, edges = CASES[name]
    outputs = call(name, tensors, statics)
    record = recorded(name)
    made = record(tensors, statics, edges, outputs, cpu)
    again = record.twin(tensors, statics, edges, outputs, cpu)
    assert again.order == made.order + 1
    assert str(described(made)) == str(described(again))
    assert made.saves_arrays == again.saves_arrays


def test_what_a_record_leaves_to_its_twin() -> None:
    (x * y).sum()
    record = recorded("mul")
    with nnkit.inference_mode():
        untracked = nnkit.ones(2, 2)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        record((untracked, x), (), (None, x), (y,), cpu)
    with nnkit.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        assert ACTIVE
        packed = record((x, y), (), (x, None), (nnkit.ones(2, 2),), cpu)
    assert [type(v[0]).__name__ for v in packed.values if v] == ["PackedValue"]
    with pytest.raises(TypeError):
        record((x, y), ())
    with pytest.raises(TypeError, match="cannot create"):
        type(record)()


def test_nodes_are_numbered_by_whoever_stands_in_the_module() -> None:
    with nnkit.autograd.set_detect_anomaly(True):
        made = (x * y).grad_fn
        assert made.order in node.sequence.made_at  # type: ignore[attr-defined]


def test_a_saved_array() -> None:
    made = (x * y).grad_fn
    tensor = nnkit.ones(2)
    array = tensor._array
    output = SavedOutput(array, tensor._writes, 0)
    assert unpack_array(made, (tensor, 0)) is array
    assert unpack_array(made, (output, 0)) is array
    assert unpack_array(made, (2.5, None)) == 2.5
    tensor.add_(1)
    for saved in (tensor, output):
        assert unpack_array(made, (saved, 1)) is array
        with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*add_ wrote it"):
            unpack_array(made, (saved, 0))
    with pytest.raises(TypeError):
        unpack_array(made)  # type: ignore[call-arg]


def test_classes_without_the_slots_are_refused() -> None:
    assert native.MODULE is not None
    with pytest.raises(AttributeError, match="edges"):
        native.MODULE.set_node(dict, SavedOutput, ACTIVE, vars(node), unpacking._unpack_array)
    x.tanh().sum().backward()  # the class that it knew stays
    x.grad = None


def test_the_modes_are_those_of_the_thread() -> None:
    found: list[tuple[bool, bool]] = []
    with nnkit.inference_mode():
        assert (MODE.enabled, MODE.inference) == (False, True)
        thread = threading.Thread(target=lambda: found.append((MODE.enabled, MODE.inference)))
        thread.start()
        thread.join()
    assert found == [(True, False)]
    MODE.enabled = []  # type: ignore[assignment]
    assert MODE.enabled is False
    MODE.enabled = True


def test_references_are_given_back() -> None:
    data = np.ones((2, 2), np.float32)
    a = wrap(data).requires_grad_()
    watched = (a, data, y, y._array, cpu, node.sequence, recorded("mul"))

    def use() -> None:
        for _ in range(20):
            out = (a * y).tanh() / 2.0
            out.sum().backward()
            b = a * y
            b.add_(1)
            b.tanh_()
            a.grad = None

    use()
    gc.collect()
    before = [sys.getrefcount(one) for one in watched]
    use()
    gc.collect()
    assert [sys.getrefcount(one) for one in watched] == before
