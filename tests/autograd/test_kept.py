"""What nodes keep for backward: every array has its count of writes, is offered to hooks, goes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.engine.node import AccumulateGrad, Node
from nnkit.autograd.engine.saved import PackedValue, SavedIndex
from tests.harness.call import Call, flatten
from tests.harness.checks import writer
from tests.harness.row import COMPLEX, FLOATS, Maker, OpRow
from tests.harness.table import ROWS

each_differentiable_row = pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if row.differentiable], ids=lambda row: row.name
)


def graphs(row: OpRow) -> Iterator[tuple[list, list]]:
    """The differentiable outputs of each sample, of the op and of what writes in place, and what
    they were made of."""
    dtype = next(d for d in ("float64", *row.dtypes) if d in row.dtypes and d in FLOATS + COMPLEX)
    forms = (row.inplace,) if isinstance(row.inplace, str) else row.inplace
    for form in (None, *(filter(None, forms) if row.inplace_gradient else ())):
        for sample in row.samples(Maker(row, dtype)):
            if form is not None and not isinstance(sample.args[0], np.ndarray):
                continue  # nothing to write into
            call = Call(nnkit, row, sample, track=True)
            copies = [leaf.clone() for leaf in call.leaves]
            try:
                function = None if form is None else writer(nnkit, row, form)
                found = list(flatten(call(*copies, function=function)))
            except RuntimeError:
                continue  # it does not fit into the first argument
            yield [out for out in found if getattr(out, "requires_grad", False)], call.leaves


def nodes_of(outputs: list) -> list[Node]:
    stack, found = [out.grad_fn for out in outputs], []
    while stack:
        node = stack.pop()
        if node not in found and not isinstance(node, (AccumulateGrad, type(None))):
            found.append(node)
            stack += [target for target, _ in node.next_functions]
    return found


def kept(value: Any) -> Iterator[tuple[Any, int | None]]:
    """What holds an array in a saved value, and its count of writes at that time if it has one."""
    if isinstance(value, SavedIndex):
        value = value.items
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], PackedValue):
        yield value
    elif isinstance(value, tuple) and len(value) == 2 and hasattr(value[0], "_writes"):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from kept(item)
    elif isinstance(value, nnkit.Tensor) or hasattr(value, "dtype"):
        yield value, None


@each_differentiable_row
def test_every_array_is_counted(row: OpRow) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for outputs, _ in graphs(row):
            for node in nodes_of(outputs):
                for holder, count in kept(node.values):
                    private = isinstance(holder, PackedValue)  # a copy that nobody else has
                    assert private or count is not None, f"{node}: {holder!r}"


@each_differentiable_row
def test_every_array_is_offered_to_hooks_and_let_go(row: OpRow) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with nnkit.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            found = list(graphs(row))
        for outputs, _ in found:
            nodes = nodes_of(outputs)
            arrays = [list(kept(node.values)) for node in nodes]
            for node, holders in zip(nodes, arrays, strict=True):
                assert all(isinstance(h, PackedValue) for h, _ in holders), node
            nnkit.autograd.backward(outputs, [nnkit.ones_like(out) for out in outputs])
            for node, holders in zip(nodes, arrays, strict=True):
                assert not holders or node.values is None, f"{node} keeps what it saved"


def gradients(row: OpRow) -> list[np.ndarray | None]:
    """Those of all graphs of a row, from the same random numbers each time."""
    nnkit.manual_seed(0)
    found = []
    for outputs, leaves in graphs(row):
        ones = [nnkit.ones_like(out) for out in outputs]
        if outputs:
            found += nnkit.autograd.grad(outputs, leaves, ones, allow_unused=True)
    return [g if g is None else g.to_dense().numpy() for g in found]


@each_differentiable_row
def test_what_hooks_keep_is_not_written(row: OpRow) -> None:
    """Hooks may keep another tensor of the same memory, which no count of writes guards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = gradients(row)
        with nnkit.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
            found = gradients(row)
    for wanted, gradient in zip(expected, found, strict=True):
        np.testing.assert_array_equal(gradient, wanted)
