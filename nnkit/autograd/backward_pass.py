"""One backward pass: gradients travel from node to node, then into the leaves.

The same code runs on arrays (``B`` a backend) and, for ``create_graph``, on Tensors (`Lifted`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from nnkit.autograd.node import Node, OutputEdge
from nnkit.autograd.saved import PackedValue
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.memory import is_view

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


check_nan = False  # set by `anomaly`: raise at the first NaN gradient
explain: Callable | None = None  # set by `anomaly`: called with the node whose rules failed


def unpack_array(node: Node, value: Any) -> Any:
    """The array of a saved value; RuntimeError if it was written since."""
    saved, version = value
    if version is None:
        return saved.tensor()._data if type(saved) is PackedValue else saved
    if saved._writes[0] != version:
        raise RuntimeError(_modified(node, saved, version))
    return saved._data


def unpack_tensor(node: Node, value: Any) -> Any:
    """The saved value as a Tensor with its history."""
    saved, version = value
    if version is None or isinstance(saved, Tensor):
        if version is not None and saved._writes[0] != version:
            raise RuntimeError(_modified(node, saved, version))
        if type(saved) is not PackedValue:
            return saved
        out = wrap(saved.tensor()._data, node.device)
        if saved.index is None:
            if isinstance(saved.edge, Tensor):  # a leaf, whose gradient is wanted
                out._edge = saved.edge.view_as(saved.edge)._edge
            else:
                out._edge = saved.edge
            out._requires_grad = saved.edge is not None
            return out
    else:
        out = wrap(unpack_array(node, value), node.device)
        out._writes = saved._writes
    out._requires_grad = True
    if saved.first is not None:
        if node.outputs is None:
            node.outputs = [(saved.first.shape, saved.first.dtype)]
        node.outputs += [None] * (saved.index + 1 - len(node.outputs))
    out._edge = node if node.outputs is None else OutputEdge(node, saved.index)
    return out


def _modified(node: Node, saved: Any, version: int) -> str:
    writer = saved._writes[1] or "an in-place operation"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {node.operation} saved a {saved._data.dtype} tensor of shape "
        f"{list(saved._data.shape)} at version {version}, and {writer} wrote it since: it is at "
        f"version {saved._writes[0]}; expected version {version} instead. Hint: enable anomaly "
        "detection to find the operation, with nnkit.autograd.set_detect_anomaly(True)."
    )


class Pass:
    """One backward pass: the gradients that have arrived so far, by node and by leaf."""

    __slots__ = (
        "B", "captured", "captures", "fresh", "heap", "leaves", "lifted", "needed", "owned",
        "pending", "retain", "unpack",
    )  # fmt: skip

    def __init__(self, B: Any, unpack: Callable, retain: bool, lifted: bool) -> None:
        self.B = B
        self.unpack = unpack
        self.retain = retain
        self.lifted = lifted
        self.heap: list[tuple[int, Node]] = []
        self.pending: dict[Node, Any] = {}
        self.leaves: dict[Tensor, Any] = {}
        self.owned: set[int] = set()  # ids of leaves and nodes whose sum we allocated
        self.fresh: set[int] = set()  # ids of leaves whose only gradient nobody else holds
        # Set by `capture`: the nodes to run, and the gradients somebody asked for.
        self.needed: set | None = None
        self.captures: dict[tuple, list[int]] = {}
        self.captured: dict[int, Any] = {}

    def send(self, edge: Any, grad: Any, fresh: bool) -> None:
        """Let ``grad`` arrive at ``edge``."""
        if isinstance(edge, Node):
            if edge.outputs is not None:
                self._send_output(edge, 0, grad)
                return
            waiting = self.pending.get(edge)
            if waiting is None:
                self.pending[edge] = grad
                heappush(self.heap, (-edge.order, edge))
            else:
                self.pending[edge] = self._add(edge, waiting, grad)
        elif edge.__class__ is OutputEdge:
            self._send_output(edge.node, edge.index, grad)
        else:
            waiting = self.leaves.get(edge)
            if waiting is None:
                self.leaves[edge] = grad
                if fresh:
                    self.fresh.add(id(edge))
            else:
                self.leaves[edge] = self._add(edge, waiting, grad)
                self.fresh.add(id(edge))

    def _send_output(self, node: Node, index: int, grad: Any) -> None:
        """Let ``grad`` arrive at one of a node's several outputs."""
        waiting = self.pending.get(node)
        if waiting is None:
            waiting = self.pending[node] = [None] * len(node.outputs)
            heappush(self.heap, (-node.order, node))
        elif not isinstance(waiting, list):
            # It came as the only output's, before another one was known to have a gradient.
            waiting = self.pending[node] = [waiting] + [None] * (len(node.outputs) - 1)
        elif len(waiting) < len(node.outputs):
            waiting += [None] * (len(node.outputs) - len(waiting))
        known = waiting[index]
        waiting[index] = grad if known is None else self.B.add(known, grad)

    def _add(self, key: Any, waiting: Any, grad: Any) -> Any:
        # In place only into a sum that was allocated here: nobody else can hold it.
        if self.lifted:
            return self.B.add(waiting, grad)
        if id(key) in self.owned and waiting.dtype == grad.dtype:
            return self.B.add_(waiting, grad)
        self.owned.add(id(key))
        return self.B.add(waiting, grad)

    def run(self) -> None:
        """Run every node that a gradient reaches."""
        heap, pending, unpack = self.heap, self.pending, self.unpack
        plain = self.needed is None and not self.captures
        while heap:
            node = heappop(heap)[1]
            grad = pending.pop(node)
            if plain and node.hooks is None and node.outputs is None:
                grads: Any = (grad,)
            else:
                grads = self._arrived(node, grad)
                if grads is None:
                    continue
            if node.values is None:
                raise RuntimeError(FREED)
            B = self.B if self.lifted else node.device.backend
            try:
                results = node.gradients(B, grads, unpack)
                if node.meta is not None:
                    results = self._conform(node, B, results)
                if check_nan:
                    self._refuse_nan(node, results)
            except Exception:
                if explain is not None:
                    explain(node)
                raise
            if node.hooks is not None and node.hooks.post:
                results = self._after(node, results, grads)
            if node.saves_arrays and not self.retain:
                node.values = None
            for edge, result in zip(node.edges, results, strict=True):
                if edge is None or result is None:
                    continue
                if isinstance(edge, Node) and edge.outputs is None and edge not in pending:
                    pending[edge] = result
                    heappush(heap, (-edge.order, edge))
                else:
                    self.send(edge, result, result is not grad)

    def _arrived(self, node: Node, grad: Any) -> Any:
        """The gradients of a node's outputs after its hooks; None if it need not run."""
        grads = grad if isinstance(grad, list) else [grad]
        if node.hooks is not None or self.captures:
            grads = self._before(node, grads)
        if self.needed is not None and node not in self.needed:
            return None
        if node.outputs is not None and node.materializes and any(g is None for g in grads):
            grads = self._materialize(node, grads)
        return grads

    def _refuse_nan(self, node: Node, results: Sequence) -> None:
        B = node.device.backend
        for index, result in enumerate(results):
            data = result._data if isinstance(result, Tensor) else result
            if data is not None and B.any(B.isnan(data), None, False).item():
                raise RuntimeError(
                    f"Function '{node.name()}' returned nan values in its {index}th output."
                )

    def _materialize(self, node: Node, grads: list) -> list:
        """Zeros for the differentiable outputs that got no gradient."""
        raw = node.device.backend
        full = []
        for grad, output in zip(grads, node.outputs, strict=True):
            if grad is None and output is not None:
                grad = raw.zeros(*output)
                grad = wrap(grad, node.device) if self.lifted else grad
            full.append(grad)
        return full

    def _conform(self, node: Node, B: Any, results: Sequence) -> list:
        """Sum gradients down to the shape of a broadcast input, and cast to its dtype."""
        conformed = []
        for result, meta in zip(results, node.meta, strict=True):
            if result is not None and meta is not None:
                shape, dtype = meta
                if tuple(result.shape) != shape:
                    result = B.sum_to(result, shape)
                if (result._data if self.lifted else result).dtype is not dtype:
                    result = B.cast(result, dtype)
            conformed.append(result)
        return conformed

    # Hooks see Tensors, whatever the pass runs on.

    def tensor(self, value: Any, place: Any) -> Any:
        return value if self.lifted or value is None else wrap(value, place)

    def value(self, tensor: Any) -> Any:
        return tensor if self.lifted or tensor is None else tensor._data

    def _before(self, node: Node, grads: list) -> list:
        hooks = node.hooks
        place = node.device
        if hooks is not None:
            grads = list(grads)
            for index, registered in hooks.tensor.items():
                if grads[index] is not None:
                    grads[index] = self.call_hooks(registered, grads[index], place)
            if hooks.pre:
                shown = tuple(self.tensor(g, place) for g in grads)
                for hook in list(hooks.pre.values()):
                    shown = _tuple(hook(shown)) or shown
                grads = [self.value(g) for g in shown]
            for index, reference in hooks.retain.items():
                keeper = reference()
                if keeper is not None and grads[index] is not None:
                    kept = self.tensor(grads[index], place)
                    keeper._grad = kept if keeper._grad is None else keeper._grad + kept
        for index, grad in enumerate(grads):
            for position in self.captures.get((node, index), ()):
                self.captured[position] = grad
        return grads

    def _after(self, node: Any, results: Sequence, grads: Sequence) -> list:
        place = node.device
        inputs = tuple(self.tensor(r, place) for r in results)
        outputs = tuple(self.tensor(g, place) for g in grads)
        for hook in list(node.hooks.post.values()):
            inputs = _tuple(hook(inputs, outputs)) or inputs
        return [self.value(i) for i in inputs]

    def call_hooks(self, registered: dict, grad: Any, place: Any) -> Any:
        """Run tensor hooks on a gradient; each may replace it."""
        for hook in list(registered.values()):
            new = hook(self.tensor(grad, place))
            if new is not None:
                if not isinstance(new, Tensor):
                    raise TypeError(
                        f"a tensor hook must return None or a Tensor, got {type(new).__name__}"
                    )
                if new.shape != tuple(grad.shape):
                    raise RuntimeError(
                        f"hook '{getattr(hook, '__name__', hook)}' has changed the size of value: "
                        f"got {list(new.shape)}, expected {list(grad.shape)}"
                    )
                grad = self.value(new)
        return grad

    # Leaves

    def finish(self, chosen: set[int] | None = None) -> None:
        """Give the leaves what arrived for them, or only those with the chosen ids."""
        for leaf, grad in self.leaves.items():
            hooks = leaf._hooks
            fresh = id(leaf) in self.fresh
            if hooks is not None:
                if hooks.tensor:
                    grad = self.call_hooks(hooks.tensor, grad, leaf._device)
                    fresh = False
                for hook in list(hooks.pre.values()):
                    new = _tuple(hook((self.tensor(grad, leaf._device),)))
                    grad = grad if new is None else self.value(new[0])
            if self.captures:
                for position in self.captures.get((leaf, 0), ()):
                    self.captured[position] = grad
            if chosen is None or id(leaf) in chosen:
                self.accumulate(leaf, grad, fresh)

    def accumulate(self, leaf: Tensor, grad: Any, fresh: bool) -> None:
        """Add a gradient to ``leaf.grad``."""
        known = leaf._grad
        if self.lifted:
            leaf._grad = grad if known is None else known + grad
        elif known is None:
            # A gradient that somebody else may hold, or a view, is copied: `grad` is the user's.
            B = leaf._device.backend
            owned = fresh and not is_view(grad)
            leaf._grad = wrap(grad if owned else B.copy(grad), leaf._device)
        elif known._requires_grad:
            leaf._grad = known.detach() + wrap(grad, leaf._device)
        else:
            leaf._device.backend.add_(known._data, grad)
            known._writes[0] += 1
        hooks = leaf._hooks
        if hooks is not None:
            for hook in list(hooks.post.values()):
                hook((), (self.tensor(grad, leaf._device),))
            for hook in list(hooks.post_accumulate.values()):
                hook(leaf)


def _tuple(value: Any) -> tuple | None:
    if value is None or isinstance(value, tuple):
        return value
    return (value,)
