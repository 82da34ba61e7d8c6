"""The part of the graph that belongs to one transform: its inputs, and the history of its results.

All transforms record into one graph. Each of them puts inputs of its own into the graph and
differentiates only with respect to these, so nested transforms do not confuse their inputs. The
code around a transform sees only its results, with or without history:

- an input of the transform continues into the history of the argument if grad mode is on where the
  transform is called, or may be on where a function that `vjp` returned is called; otherwise it is
  a leaf, which requires grad while the function runs;
- a result keeps its history only if grad mode is on where the transform is called, and the result
  depends on something that requires grad there: a leaf, or an input of an outer transform.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

from nnkit.autograd import Tensor, inference_mode
from nnkit.autograd.batch.examples import BatchLevel, of_all, without_history
from nnkit.autograd.engine import node
from nnkit.autograd.engine.grad import captured
from nnkit.autograd.engine.node import Node, OutputEdge, Passage, Unknown, edge_of, made_at
from nnkit.autograd.forward.dual import is_dual, read_only_zeros_like
from nnkit.autograd.forward.level import give_place
from nnkit.autograd.grad_mode import MODE, capturing
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.ops.creation.factories import zeros_like
from nnkit.autograd.ops.shape.joining import stack
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.tensor import wrap
from nnkit.autograd.views.counters import UNTRACKED, WRAPPED, InferenceWrites, counter_of
from nnkit.autograd.views.overlap import shares_memory
from nnkit.autograd.views.refusals import is_lost
from nnkit.autograd.views.replay import chain_of, replay, strided
from nnkit.backend.lazy import is_zero

_LEAVES: WeakValueDictionary[int, Tensor] = WeakValueDictionary()  # leaves of all levels, by id


class Level:
    """The inputs of a transform. It is entered while the function runs, which is recorded, and
    while the record is differentiated."""

    constant: Sequence[bool] = ()  # after `gradients`: the inputs on which no output depends

    def __init__(self, values: Sequence[Any], name: str) -> None:
        self.values = values
        self.kept = name == "vjp"  # whether grad mode may be on when the record is differentiated
        self.recorded = MODE.enabled  # whether the code around the transform is recorded
        self.around = MODE.wrapping  # the forward level of the inputs
        MODE.begun += 1
        self.begun = MODE.begun
        self.leaves: list[Tensor] = []
        self._lost: dict[int, Tensor] = {}  # leaves that replace inputs with unknown history, by id
        self._mode = inference_mode(False)
        check_tensors(name, values)
        # Whether operations on the inputs are recorded by this level only.
        self.wraps = not (self.recorded and any(v.requires_grad for v in values))
        self.order = next(node.sequence)  # nodes with a lower order were made before the level
        with self._mode:
            self.inputs = [self._input(value) for value in self.values]

    def _input(self, value: Tensor) -> Tensor:
        value = self.lifted(value)
        continues = value.requires_grad and (self.recorded or self.kept)
        if not continues or value.is_inference():
            return self.leaf(value)
        if is_lost(value):  # torch raises only when an operation on it is recorded
            same = wrap(value._array, value._device)
            give_place(value, same)
            same._base = value._base
            self._lost[id(same)] = self.leaf(value)
            return same
        view = value[...]
        view._view = "multiple"  # cannot be written, since it is a leaf for this level
        view._edge = Passage((edge_of(value),), (), value._device)
        view._requires_grad = True
        return view

    def leaf(self, value: Tensor) -> Tensor:
        """``value`` as a new leaf, which requires grad while the level is entered."""
        value = value if self.recorded else without_lost(value)
        leaf = _same(value)._set_requires_grad(True)
        _LEAVES[id(leaf)] = leaf
        leaf._writes = _wrapped(value) if value.is_inference() else value._writes
        self.leaves.append(leaf)
        return leaf

    def __enter__(self) -> Level:
        self._mode.__enter__()
        MODE.transforms += 1
        self._before = MODE.level, MODE.saves_inference
        MODE.level = MODE.level or self
        MODE.saves_inference = self.wraps or MODE.saves_inference
        self._want_gradients(True)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._want_gradients(False)
        MODE.transforms -= 1
        MODE.level, MODE.saves_inference = self._before
        self._mode.__exit__(*exception)

    def _want_gradients(self, wanted: bool) -> None:
        for leaf in self.leaves:
            leaf._requires_grad = wanted

    def gradients(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Any],
        create_graph: bool, retain_graph: bool = True,
    ) -> list[Tensor]:  # fmt: skip
        """The gradients of the outputs times ``weights`` with respect to ``inputs``; zeros if the
        outputs do not depend on an input."""
        with self:
            outputs, inputs = [
                [self._lost.get(id(value), value) for value in values]
                for values in (outputs, inputs)
            ]
            weights = [self.lifted(w) for w in weights]
            used = [i for i, output in enumerate(outputs) if output.requires_grad]
            if not used:
                self.constant = [True] * len(inputs)
                return [_zeros_like(point) for point in inputs]
            # Second derivatives may be constant zeros, which cannot be written.
            lifted = create_graph or MODE.begun > self.begun
            lifted = lifted or any(map(self._is_inner, weights))
            found = captured(
                tuple(outputs[i] for i in used), tuple(inputs), tuple(weights[i] for i in used),
                retain_graph, create_graph, lifted,
            )  # fmt: skip
            self.constant = [g is None for g in found]
            if lifted and not create_graph:
                found = [_may_be_written(g, weights) for g in found]
            return [_zeros_like(p) if g is None else g for p, g in zip(inputs, found, strict=True)]

    def pull(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Any],
        retain_graph: bool = True, create_graph: bool | None = None,
    ) -> list[Tensor]:  # fmt: skip
        """`gradients` as results of the level: recorded if ``create_graph``, which is grad mode by
        default, and something outside requires grad."""
        duals = [w for w in weights if is_dual(w) and self._is_inner(w)]
        if duals:
            inner = max(w._device.depth for w in duals)
            return self._pull_dual(outputs, inputs, weights, inner)
        recorded = MODE.enabled if create_graph is None else create_graph
        recorded = recorded and bool(self.around or self.is_live([*outputs, *weights]))
        found = self.gradients(outputs, inputs, weights, recorded, retain_graph)
        return [_as_inferred(v, weights) for v in self.results(found, recorded)]

    def _pull_dual(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        weights: Sequence[Any],
        depth: int,
    ) -> list[Tensor]:
        """`pull` for weights that are dual tensors of an inner forward level: it is linear in
        them."""
        level = next(w._device for w in weights if is_dual(w) and w._device.depth == depth)
        pairs = [level.lower(w) for w in weights]
        primals = self.pull(outputs, inputs, [primal for primal, _ in pairs])
        directions = [LIFTED.zeros_like(primal) if t is None else t for primal, t in pairs]
        return list(map(level.lift, primals, self.pull(outputs, inputs, directions)))

    def lifted(self, value: Any) -> Any:
        """A tensor, lifted to the forward level of the inputs."""
        if self.around is None or self._is_inner(value):
            return value
        return self.around.lift(value)

    def _is_inner(self, value: Any) -> bool:
        """Whether a tensor belongs to a level inside this one."""
        depth = self.around.depth if self.around else 0
        return isinstance(value, Tensor) and value._device.depth > depth

    def is_live(self, values: Iterable[Any]) -> bool:
        """Whether one of the values depends on something outside the level that requires grad."""
        own = {id(leaf) for leaf in self.leaves}
        return any(
            # A leaf of the user's required grad when it was used, but perhaps no longer does.
            id(origin) not in own and (origin._requires_grad or id(origin) not in _LEAVES)
            if isinstance(origin, Tensor)
            else self._ends_before(origin)
            for origin in _history(of_all(v) if self._is_inner(v) else v for v in values)
        )

    def is_live_below(self, values: Iterable[Any]) -> bool:
        """`is_live` for the outermost level, without its own leaves and those of inner levels."""
        return self.recorded and any(
            id(origin) not in _LEAVES if isinstance(origin, Tensor) else self._ends_before(origin)
            for origin in _history(values)
        )

    def source_below(self, value: Tensor) -> Any:
        """The tensor whose history a value has outside of all transforms; None if it has none.

        For the outermost level: an input is shown as what was given for it.
        """
        for point, given in zip(self.inputs, self.values, strict=True):
            if value is point:
                return given
        return value if self.is_live_below([value]) or self.ignores(value) else None

    def ignores(self, value: Any) -> bool:
        """Whether this level, the outermost, ignores the history of a tensor, because it was made
        outside the transform and grad mode is off there."""
        if self.recorded:
            return False
        edge = value._edge
        if edge is None:
            return id(value) not in _LEAVES
        return made_at(edge.node if edge.__class__ is OutputEdge else edge) < self.order

    def _ends_before(self, origin: Node) -> bool:
        """Whether a node was made before the level and sends no gradient further."""
        return made_at(origin) < self.order and all(edge is None for edge in origin.edges)

    def results(self, values: Iterable[Any], recorded: bool) -> list[Any]:
        """The values as seen by the code around the transform."""
        given = {id(point): value for point, value in zip(self.inputs, self.values, strict=True)}
        shown = [
            given[id(v)] if id(v) in given
            else self._result(self.lifted(v), recorded, given) if isinstance(v, Tensor)
            else v
            for v in values
        ]  # fmt: skip
        return [_as_inferred(v, self.values) for v in shown]

    def _result(self, value: Tensor, recorded: bool, given: dict[int, Tensor]) -> Tensor:
        if self._is_inner(value) and isinstance(value._device, BatchLevel):
            whole, dim = value._device.lower(value)
            return value._device.lift(self._result(whole, recorded, given), dim)
        unknown = isinstance(value._view, str)  # whether it is not known how the view was made
        if recorded and self.is_live([value, value._base] if unknown else [value]):
            is_known = value._edge.__class__ not in (type(None), Unknown)
            return replay(strided(value), value._base) if is_known and self._marks(value) else value
        if id(value._base) in given:
            chain = strided(value) if unknown else chain_of(value)
            found = replay(chain, given[id(value._base)])
            found._view = value._view if unknown else found._view
            return found
        if not recorded and value._device.depth:
            return without_history(value)
        return alone(value) if value.requires_grad else value

    def _marks(self, view: Tensor) -> bool:
        """Whether it is a view of an input, which cannot be written within the level."""
        inputs = zip(self.inputs, self.values, strict=True)
        return any(p._view == "multiple" and view._base is value for p, value in inputs)


def _wrapped(value: Tensor) -> Any:
    """The ``_writes`` of an inference tensor as an input of a level. If it is one example of a
    normal tensor, writes are counted."""
    counter = counter_of(of_all(value)._writes)
    return InferenceWrites(counter, True) if counter else WRAPPED


def _may_be_written(grad: Tensor | None, weights: Sequence[Any]) -> Tensor | None:
    """A gradient that is not a view of something the pass computed without history; it may be a
    view of the weights."""
    if grad is None or not isinstance(grad._view, str) or grad._device.depth:
        return grad
    given = [w for w in weights if isinstance(w, Tensor)]
    of_weights = any(grad._base is w or grad._base is w._base for w in given)
    return grad if of_weights else alone(grad)


def without_lost(value: Tensor) -> Tensor:
    """The tensor, without its history if that is unknown."""
    return without_history(value) if is_lost(of_all(value)) else value


def stacked(rows: Sequence[Tensor]) -> Tensor:
    """The rows as one tensor; constant zeros, which cannot be written, stay constant zeros."""
    found = stack(rows)
    if not all(is_zero(row._array) for row in rows):
        return found
    zeros = read_only_zeros_like(found)
    zeros._edge, zeros._requires_grad = found._edge, found._requires_grad
    return zeros


def _as_inferred(value: Any, sources: Iterable[Any]) -> Any:
    """A result, marked as an inference tensor if it shares memory with a source that is one."""
    whole = of_all(value)
    if isinstance(whole, Tensor) and not whole.requires_grad:
        for source in map(of_all, sources):
            if isinstance(source, Tensor) and source.is_inference():
                if shares_memory(whole, source):
                    own = whole._writes if whole._writes.__class__ is InferenceWrites else WRAPPED
                    whole._writes = InferenceWrites(own.counter) if own.counter else UNTRACKED
                    whole._base = whole._view = None
    return value


_NUMBERS = itertools.count(1)  # the numbers of differentiating transforms


@contextmanager
def refusing_captured(inputs: Iterable[Any]) -> Iterator[None]:
    """A block that calls a function which is differentiated with respect to some of these inputs.
    It may write in place only to what it makes itself, so that no derivative is lost."""
    before, MODE.origin = MODE.origin, next(_NUMBERS)
    own = [value for value in inputs if isinstance(value, Tensor)]
    try:
        with capturing((MODE.origin, own, MODE.captures)):
            yield
    finally:
        MODE.origin = before


@contextmanager
def transforming() -> Iterator[None]:
    """A block in which a function is transformed. Its results are not inference tensors, but in
    inference mode nothing is recorded nevertheless."""
    enabled, barred, said = MODE.enabled, MODE.inference or MODE.bars_grad, MODE.grad_in_inference
    MODE.transforms += 1
    try:
        with inference_mode(False):
            MODE.enabled, MODE.bars_grad, MODE.grad_in_inference = enabled, barred, said
            yield
    finally:
        MODE.transforms -= 1


def _same(value: Tensor) -> Tensor:
    """Another tensor on the same memory."""
    sparse = isinstance(value, SparseTensor)
    return value.detach() if sparse else wrap(value._array, value._device)


def _zeros_like(value: Tensor) -> Tensor:
    return zeros_like(value) if isinstance(value, SparseTensor) else LIFTED.zeros_like(value)


def alone(value: Tensor) -> Tensor:
    """The tensor without its history, but with its tangent if it is a dual tensor."""
    found = _same(value)
    found._writes = value._writes
    return found


def check_tensors(name: str, values: Iterable[Any]) -> None:
    """ValueError for what is no tensor among the arguments to differentiate by."""
    for value in values:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"{name}: what it differentiates by must be tensors, got {type(value).__name__}"
            )


def _history(values: Iterable[Any]) -> Iterator[Node | Tensor]:
    """The nodes and the leaves that the values come from."""
    tensors = [value for value in values if isinstance(value, Tensor) and value._requires_grad]
    edges: list[Any] = [edge_of(value) for value in tensors]
    seen: set[Node] = set()
    while edges:
        edge = edges.pop()
        origin = edge.node if edge.__class__ is OutputEdge else edge
        if isinstance(origin, Node) and origin not in seen:
            seen.add(origin)
            edges += origin.edges
            yield origin
        elif isinstance(origin, Tensor):
            yield origin
