"""One backward pass: gradients are sent from node to node and finally to the leaves.

The same code computes on arrays and, for ``create_graph``, on Tensors (`Lifted`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from nnkit.autograd.arguments.dims import broadcasts
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.engine.accumulation import accumulate
from nnkit.autograd.engine.hooks import HookCaller, check_replacement
from nnkit.autograd.engine.leaves import GRAD_DTYPES, REFERENCES_OF_A_LOCAL
from nnkit.autograd.engine.node import (
    LATEST,
    RUNNING,
    SPARSE,
    LeafHooks,
    Node,
    OutputEdge,
    Promotion,
    Unknown,
    edge_of,
    made_at,
    sum_of,
    target_of,
)
from nnkit.autograd.engine.saved import misfits, unpack_all
from nnkit.autograd.engine.thread_settings import in_another_thread, restore, thread_settings
from nnkit.autograd.engine.unpacking import FREED
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.tensor import Tensor, wrap

NO_HOOKS = LeafHooks()
# How many passes, each begun by a node of the one before, run in one thread. As in torch, where
# they are 60, the next one gets a thread of its own: the depth of a thread's calls is limited.
DEPTH_OF_A_THREAD = 20

check_nan = False  # set by `anomaly`: raise at the first NaN gradient
explain: Callable | None = None  # set by `anomaly`: called with the node whose rules failed


class Pass(HookCaller):
    """One backward pass: the gradients that have arrived so far, by node and by leaf.

    Args:
        roots: the edges where the pass starts, each with its gradient.
        lifted: the algebra on Tensors if the pass itself is recorded, None to run on arrays.
        unpack: turns a saved value of a node into what its rule gets, a Tensor or an array.
        retain: keep the saved values of the nodes for another pass.
    """

    needed: set | None = None  # set by `limit_to`: the only nodes and leaves to run
    reached: set | None = None  # cache of `_reachable`
    watched = False  # whether hooks may observe when a leaf gets its gradient
    expected: dict[Tensor, int] | None = None  # then: how many gradients each leaf waits for
    outer: Pass | None = None  # the pass that was running when this one began
    depth = 0  # how many passes are around it
    is_part = False  # whether it is a step of that one: through the ops of one node
    callbacks: list[Callable] | None = None  # called at the very end
    between: Callable | None = None  # called after each node once the pass is `watched`
    settings: tuple | None = None  # those of the thread before code of users was first called

    def __init__(self, roots: list, lifted: Any, unpack: Callable, retain: bool) -> None:
        self.roots = roots
        self.lifted = lifted
        self.unpack = unpack
        self.retain = retain
        self.heap: list[tuple[float, Node]] = []
        self.pending: dict[Node, Any] = {}
        self.leaves: dict[Tensor, Any] = {}
        self.owned: set[Tensor | Node] = set()  # whose waiting sum this pass has allocated
        # By node or leaf: (output, key in `captured`) of each gradient that the caller wants.
        self.captures: dict[Any, list[tuple[int, int]]] = {}
        self.captured: dict[int, Any] = {}

    def limit_to(self, inputs: Sequence, accumulate: bool) -> None:
        """Run only what leads to ``inputs``, and capture their gradients or accumulate them."""
        targets: set = set()
        for position, tensor in enumerate(inputs):
            target, index = target_of(edge_of(tensor))
            if target.__class__ is Unknown:
                continue  # no gradient gets there
            targets.add(target)
            if not accumulate:
                self.captures.setdefault(target, []).append((index, position))
        for edge, _ in self.roots:  # the hooks of these tensors run in any case
            self.captures.setdefault(target_of(edge)[0], [])
        needed = set(targets) if accumulate else set()
        nodes = [target for target in self._reachable() if isinstance(target, Node)]
        for node in sorted(nodes, key=made_at):
            for edge in node.edges:
                target = target_of(edge)[0]
                if target is not None and (target in targets or target in needed):
                    needed.add(node)
                    break
        inner = [node.inner for node in needed if isinstance(node, Node)]
        self.needed = needed.union([node for node in inner if node is not None])

    def _reachable(self) -> set:
        """All nodes and leaves that the roots depend on."""
        if self.reached is None:
            self.reached = set()
            stack = [edge for edge, _ in self.roots]
            while stack:
                target = target_of(stack.pop())[0]
                if target is not None and target not in self.reached:
                    self.reached.add(target)
                    if isinstance(target, Node):
                        stack.extend(target.edges)
        return self.reached

    def asks_for(self, edge: Any) -> bool:
        """Whether the gradient along this edge is wanted."""
        target = target_of(edge)[0]
        if target is None or target.__class__ is Unknown:
            return False
        return self.needed is None or target in self.needed or bool(self.captures.get(target))

    def _asked(self, node: Node) -> list:
        """The edges of a node, with None where the gradient is not wanted."""
        return [edge if self.asks_for(edge) else None for edge in node.edges]

    def runs(self, target: Any) -> bool:
        """Whether this pass computes the gradient of a node or leaf, for the hooks of several
        tensors. As in torch, not that of the place where the pass starts, if there is only one."""
        alone = len(self.roots) == 1 and target_of(self.roots[0][0])[0] is target
        return not alone and self.executes(target)

    def executes(self, target: Any) -> bool:
        """Whether this pass computes the gradient of a node or leaf.

        Raises:
            RuntimeError: it is of a leaf whose gradient the pass gives to the caller.
        """
        if target not in self._reachable():
            return False
        if self.needed is None:
            return True
        captured = bool(self.captures.get(target))
        if captured and isinstance(target, Tensor):
            raise RuntimeError(
                "whether the gradient of a leaf is computed is not told, nor awaited by a hook on "
                "several tensors, while you are currently running autograd.grad() for that leaf"
            )
        return target in self.needed or captured

    def send(self, edge: Any, grad: Any) -> None:
        """Add ``grad`` to what waits at the end of ``edge``; None if there is no gradient."""
        target, index = (edge.node, edge.index) if edge.__class__ is OutputEdge else (edge, 0)
        if self.needed is not None and target not in self.needed and target not in self.captures:
            return
        if isinstance(target, Node):
            self._send_to_node(target, index, grad)
            return
        if GRAD_DTYPES and grad is not None and GRAD_DTYPES.get(id(target)) is not None:
            form = grad.shape, GRAD_DTYPES[id(target)].array
            grad = self._fitted(target._device, grad, form)
        waiting = self.leaves.get(target)
        if waiting is None:
            self.leaves[target] = grad
        elif grad is not None:
            self.leaves[target] = self._add(target, target._device, waiting, grad)
        if target._hooks is not None:
            self.watched = True

    def _send_to_node(self, node: Node, index: int, grad: Any) -> None:
        pending = self.pending
        if node not in pending:
            heappush(self.heap, (-node.order, node))
            pending[node] = None
        if node.outputs is not None:
            grad = self._with_output(node, pending[node], index, grad)
        elif grad is not None and pending[node] is not None:
            grad = self._add(node, node.device, pending[node], grad)
        if grad is not None:
            pending[node] = grad

    def _with_output(self, node: Node, waiting: Any, index: int, grad: Any) -> list:
        """The waiting gradients of a node with several outputs, after one more has arrived."""
        if not isinstance(waiting, list):
            # It arrived when the first output was still the only one known to have a gradient.
            waiting = [waiting]
        if len(waiting) < len(node.outputs):
            waiting += [None] * (len(node.outputs) - len(waiting))
        known = waiting[index]
        if grad is not None and node.outputs[index] is not None:
            grad = self._fitted(node.device, grad, node.outputs[index])
        if known is None:
            waiting[index] = grad
        elif grad is not None:
            waiting[index] = (self.lifted or node.device.backend).add(known, grad)
        return waiting

    def _add(self, key: Any, device: Any, waiting: Any, grad: Any) -> Any:
        """The sum of what waits for a node or leaf and a gradient that arrives."""
        if SPARSE and (waiting.__class__ in SPARSE or grad.__class__ in SPARSE):
            one, other = self._shown(grad, device), self._shown(waiting, device)
            return self._value(sum_of(one, other))  # the later one first, as in torch
        if self.lifted:
            return self.lifted.add(waiting, grad)
        if key in self.owned and waiting.dtype == grad.dtype:  # nobody else holds the sum
            return device.backend.add_(waiting, grad)
        self.owned.add(key)
        return device.backend.add(waiting, grad)

    def run(self) -> None:
        """Run every node that a gradient reaches, then give the leaves their gradients."""
        self.outer = RUNNING.innermost
        if self.outer is not None:
            self.depth = self.outer.depth + 1
            if self.depth % DEPTH_OF_A_THREAD == 0 and not MODE.transforms:
                in_another_thread(self._run_here)
                return
        self._run_here()

    def _run_here(self) -> None:
        RUNNING.innermost = self
        try:
            for edge, grad in self.roots:
                self.send(edge, grad)
            self._run()
            for leaf in list(self.leaves):
                grad = self.leaves.pop(leaf)
                if leaf._hooks is None and self.needed is None:
                    unshared = sys.getrefcount(grad) == REFERENCES_OF_A_LOCAL
                    accumulate(leaf, grad, unshared, self.lifted)
                else:
                    self._serve(leaf, grad)
            while self.callbacks:
                self.callbacks.pop(0)()
        finally:
            RUNNING.innermost = self.outer
            restore(self.settings)

    def _run(self) -> None:
        heap, pending, unpack = self.heap, self.pending, self.unpack
        plain = self.needed is None
        node: Any = None
        try:
            while heap:
                order, node = heappop(heap)
                if order == -LATEST:  # run it right after the node that sends its last gradient
                    heappush(heap, (0.5 - self._last_before(node), node))
                    continue
                grad = pending.pop(node)
                # A node has a `meta` if hooks unpack its values.
                calls = node.hooks is not None or node.meta is not None or node.runs_user_code
                if calls and self.settings is None:
                    self.settings = thread_settings()
                if plain and grad is not None and node.hooks is None and node.outputs is None:
                    arrived: Any = (grad,)
                    grads: Any = arrived
                else:
                    arrived = self._arrived(node, grad)
                    if arrived is None:
                        continue
                    grads = self._materialized(node, arrived)
                if node.values is None and not node.runs_freed:
                    raise RuntimeError(FREED)
                B = self.lifted or node.device.backend
                results = None  # what is given to this node may be among them
                try:
                    limits = () if plain or node.shows_unasked else (self._asked(node),)
                    results = node.gradients(B, grads, unpack, *limits)
                    if node.meta is not None:
                        results = self._conform(node, results, grads)
                except Exception as error:
                    if explain is not None:
                        explain(node)
                    if isinstance(error, ValueError) and misfits(node):
                        raise RuntimeError(
                            f"{node.name()}: an unpack hook returned a tensor whose shape is not "
                            "that of the saved tensor"
                        ) from None
                    if isinstance(error, ValueError) and not (calls or self.lifted):
                        raise RuntimeError(
                            f"{node.name()}: what it saved has got another shape since: {error}"
                        ) from None
                    raise
                if node.hooks is not None:
                    results = self._after(node, results, arrived)
                if calls:
                    restore(self.settings)
                if node.saves_arrays and not self.retain:
                    node.values = None
                if check_nan:
                    self._refuse_nan(node, results)
                for edge, result in zip(node.edges, results):
                    if edge is None:
                        continue
                    direct = plain and result is not None and isinstance(edge, Node)
                    if direct and edge.outputs is None and edge not in pending:
                        pending[edge] = result
                        heappush(heap, (-edge.order, edge))
                    else:
                        self.send(edge, result)
                if self.watched:
                    # Drop our references, so that a leaf can keep its gradient without a copy.
                    grad = grads = arrived = result = results = None
                    self._settle(node)
        except BaseException:
            # Leaves whose gradients are complete keep them, as in torch.
            if self.expected is None:
                self._watch(node)
            raise

    def _last_before(self, node: Node) -> int:
        """The order of the last node to run among those that send ``node`` a gradient; if there is
        none, an order that runs before all others."""
        return min(
            (
                made_at(source)
                for source in self._reachable()
                if isinstance(source, Node)
                and (self.needed is None or source in self.needed)
                and any(target_of(edge)[0] is node for edge in source.edges)
            ),
            default=LATEST // 2,
        )

    def _arrived(self, node: Node, grad: Any) -> Any:
        """The gradients of a node's outputs after its hooks; None if its rules shall not run."""
        grads = list(grad) if isinstance(grad, list) else [grad]
        runs = self.needed is None or node in self.needed
        if node.hooks is not None:
            if self.expected is None:
                self._watch(node)
            if not runs:
                grads = self._tensor_hooks(node, grads)
        for index, position in self.captures.get(node, ()):
            self.captured[position] = grads[index]
        if not runs:
            return None
        if node.hooks is not None:
            grads = self._tensor_hooks(node, grads)
            for hook in list(node.hooks.pre.values()):
                grads = self._replaced(hook, grads, node.device)
        known = node.runs_always or any(g is not None for g in grads)
        asked = self.needed is None or node.shows_unasked or any(map(self.asks_for, node.edges))
        if known and asked:
            return grads
        self._pass_nothing_on(node, grads)
        return None

    def _pass_nothing_on(self, node: Node, grads: list) -> None:
        """Do for a node whose rules need not run all that torch does but run the rules.

        Its hooks run, None is sent along its edges, and what it saved is read (so that its errors
        are raised) and freed; what the node ``inner`` to it saved is not.
        """
        inner = node.inner
        edges = node.edges
        if inner is not None:
            edges = (edges[0], *inner.edges)
        elif node.values is None:
            raise RuntimeError(FREED)
        else:
            for part in node.parts:
                unpack_all(part, self.unpack)
        if node.hooks is not None:
            self._after(node, (None,) * len(node.edges), grads)
        if node.saves_arrays and not self.retain:
            node.values = None
        for edge in edges:
            if edge is not None:
                self.send(edge, None)
        if self.watched:
            for each in (node, inner):
                if each is not None:
                    self._settle(each)

    def _refuse_nan(self, node: Node, results: Sequence) -> None:
        """Raise RuntimeError if a gradient that a node returned holds a NaN."""
        for index, (edge, result) in enumerate(zip(node.edges, results)):
            if result is None or not (node.shows_unasked or self.asks_for(edge)):
                continue
            result = lowest(result if isinstance(result, Tensor) else wrap(result, node.device))
            B = result._device.backend
            if B.item(B.any(B.isnan(result._array), None, False)):
                if explain is not None:
                    explain(node)
                raise RuntimeError(
                    f"Function '{node.name()}' returned nan values in its {index}th output."
                )

    def _materialized(self, node: Node, grads: list) -> list:
        """``grads``, with zeros for the differentiable outputs that received no gradient."""
        if node.outputs is None or not node.materializes:
            return grads
        full = []
        for grad, output in zip(grads, node.outputs, strict=True):
            if grad is None and output is not None:
                grad = node.device.backend.zeros(*output)
                grad = wrap(grad, node.device) if self.lifted else grad
            full.append(grad)
        return full

    def _fitted(self, device: Any, grad: Any, meta: tuple) -> Any:
        """A gradient summed down and cast to ``meta``, the shape and dtype it must have."""
        shape, dtype = meta
        data = grad._array if self.lifted else grad
        dtype = dtype or data.dtype  # None means any dtype (`grad_dtype` of a leaf)
        if grad.__class__ in SPARSE or (data.shape == shape and data.dtype is dtype):
            return grad
        B = self.lifted or device.backend
        if dtype.kind == "f" and data.dtype.kind == "c":
            grad = B.real(grad)  # a view, as in torch
            data = grad._array if self.lifted else grad
        if data.shape != shape:
            if not broadcasts(shape, data.shape):
                raise RuntimeError(
                    f"invalid gradient - got {list(data.shape)} but expected shape compatible "
                    f"with {list(shape)}"
                )
            grad = B.sum_to(grad, shape)
        return grad if data.dtype is dtype else B.cast(grad, dtype)

    def _conform(self, node: Node, results: Sequence, grads: Sequence) -> list:
        """The gradients that the rules returned, each summed down to the shape of its input.

        As in torch, the gradient of a 0-dim input is summed in the dtype of the output.
        """
        conformed = []
        for result, meta in zip(results, node.meta, strict=True):
            if result is not None and meta is not None:
                if not meta[0] and grads[0] is not None:
                    found, given = (x._array if self.lifted else x for x in (result, grads[0]))
                    if found.ndim and (found.dtype.kind == "c") is (given.dtype.kind == "c"):
                        result = self._fitted(node.device, result, (found.shape, given.dtype))
                result = self._fitted(node.device, result, meta)
            conformed.append(result)
        return conformed

    def _after(self, node: Any, results: Sequence, grads: Sequence) -> Sequence:
        """The gradients that a node returned, after its post hooks."""
        outputs = tuple(self._shown(g, node.device) for g in grads)
        slots = range(len(results)) if node.slots is None else node.slots
        edges = node.edges
        results = [
            self._fitted(node.device, result, edge.meta[0])
            if edge.__class__ is Promotion and result is not None
            else result
            for edge, result in zip(edges, results, strict=True)
        ]
        shown: Sequence = [
            results[i] if node.shows_unasked or self.asks_for(edges[i]) else None for i in slots
        ]
        for hook in list(node.hooks.post.values()):
            shown = self._replaced(hook, shown, node.device, outputs)
        after = dict(zip(slots, shown, strict=True))
        return [after.get(i) for i in range(len(results))]

    # Leaves

    def _watch(self, node: Node | None) -> None:
        """From now on, give each leaf its gradient as soon as it is complete.

        When a leaf gets its gradient can be observed only by hooks, or after an error; so nothing
        is counted before. ``node`` is running and has not sent its gradients yet.
        """
        self.watched = True
        self.expected = {}
        stack = [waiting for _, waiting in self.heap]
        if node is not None:
            stack.append(node)
        seen = set(stack)
        while stack:
            each = stack.pop()
            if self.needed is not None and each not in self.needed:
                continue
            for edge in each.edges:
                target = target_of(edge)[0]
                if isinstance(target, Tensor):
                    self.expected[target] = self.expected.get(target, 0) + 1
                elif target is not None and target not in seen:
                    seen.add(target)
                    stack.append(target)
        for leaf in [leaf for leaf in self.leaves if leaf not in self.expected]:
            self._serve(leaf, self.leaves.pop(leaf))

    def _settle(self, node: Node) -> None:
        """Serve the leaves whose last missing gradient was sent by ``node``."""
        if self.between is not None:
            self.between()
        if self.expected is None:
            self._watch(node)
        expected: Any = self.expected
        for edge in node.sent():
            if isinstance(edge, Tensor):
                expected[edge] -= 1
                if not expected[edge] and edge in self.leaves:
                    self._serve(edge, self.leaves.pop(edge))

    def _serve(self, leaf: Tensor, grad: Any) -> None:
        """Give a leaf its gradient, and run its hooks."""
        hooks: Any = leaf._hooks or NO_HOOKS
        if hooks is not NO_HOOKS and self.settings is None:
            self.settings = thread_settings()
        if hooks.tensor:
            grad = self._call_hooks(hooks.tensor, grad, leaf._device)
        for _, position in self.captures.get(leaf, ()):
            self.captured[position] = grad
        if self.needed is not None and leaf not in self.needed:
            return
        for hook in list(hooks.pre.values()):
            (grad,) = self._replaced(hook, (grad,), leaf._device)
        unshared = sys.getrefcount(grad) == REFERENCES_OF_A_LOCAL
        self.give(leaf, grad, unshared)
        for hook in list(hooks.post.values()):
            self._replaced(hook, (), leaf._device, (self._shown(grad, leaf._device),))
        if hooks is not NO_HOOKS:
            restore(self.settings)

    def give(self, leaf: Tensor, grad: Any, unshared: bool = False) -> None:
        """Add a gradient to that of a leaf, and run the hooks that want to see the sum."""
        accumulate(leaf, grad, unshared, self.lifted)
        shown = leaf
        for hook in list((leaf._hooks or NO_HOOKS).post_accumulate.values()):
            new = hook(shown)
            if new is not None:  # as in torch, the next hook sees it before the error below
                check_replacement(hook, new, shown)
                shown = new
        if shown is not leaf:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
