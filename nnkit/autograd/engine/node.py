"""Nodes of the graph: what backward needs to know about one operation.

A node holds *edges* to the nodes of its inputs, and the *values* that its rules read. An edge is a
`Node`, an `OutputEdge` (one output of a node that has several), a leaf `Tensor`, or None where no
gradient is wanted. A leaf itself is used as the edge, so that a leaf and its `AccumulateGrad` form
no reference cycle; the `AccumulateGrad` object is created when somebody inspects the graph.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

sequence = itertools.count(1)
LATEST = 2**64 - 1  # the order torch gives to nodes that run as soon as they can
# The sparse classes of Tensor: such a gradient is passed on as a tensor, others as arrays.
SPARSE: set[type] = set()
# The classes of Tensor that hold values at indices: their gradient is that of the values.
WITH_INDICES: set[type] = set()
# The leaves that began anew since graphs were last looked up (`nnkit.autograd.engine.renewal`).
RENEWED: list[tuple] = []
OF_NO_OP = "torch::autograd::"  # the namespace, in torch, of nodes that belong to no op


class Node:
    """One recorded operation, the ``grad_fn`` of its result. The class has torch's name for it."""

    __slots__ = ("__weakref__", "device", "edges", "hooks", "meta", "order", "outputs", "values")

    __call__: Callable[..., Any]  # `nnkit.autograd.engine.backward.run_alone`
    _look_up_former: Callable[[], None]  # `nnkit.autograd.engine.renewal.look_up_former`
    operation = ""  # the op's name in messages, such as "mul"
    space = ""  # torch's C++ namespace of the class, a part of `name`
    saves_arrays = False  # whether its values hold arrays, to be freed after it has run
    materializes = True  # whether outputs without a gradient get zeros before the rules run
    runs_always = False  # whether the rules run even if no output has a gradient
    runs_user_code = False  # user code may keep the gradients it returns
    runs_freed = False  # whether the rules themselves raise if their values were freed
    inner: Node | None = None  # a node that torch runs as a part of this one
    slots: tuple | None = None  # the inputs to list in `next_functions`; None for all
    is_reordered = False  # whether `slots` are not in the order of the inputs
    shows_unasked = True  # whether hooks also see gradients that nobody wants

    def __init__(self, edges: tuple, values: Any, device: Any, meta: Any = None) -> None:
        self.edges = edges
        self.values = values
        self.device = device
        # For each edge the (shape, array dtype) of the input, if gradients must be fitted to it.
        self.meta = meta
        # The (shape, array dtype) of each output, for nodes with several.
        self.outputs: Any = None
        self.hooks: NodeHooks | None = None
        self.order = next(sequence)

    @property
    def parts(self) -> Iterable[Node]:
        """The nodes whose saved values this node reads."""
        return (self,)

    def gradients(self, B: Any, grads: list, unpack: Callable) -> Any:
        """The gradients of the inputs, computed with algebra ``B`` from those of the outputs."""
        raise NotImplementedError

    def name(self) -> str:
        """torch's name of the node: ``AddBackward0``, ``torch::autograd::AccumulateGrad``, ..."""
        return self.space + type(self).__name__

    def sent(self) -> Sequence:
        """The edges, in the order in which torch sends the gradients."""
        order = self.slots if self.is_reordered else None
        return [self.edges[i] for i in order] if order else self.edges

    @property
    def next_functions(self) -> tuple:
        """A pair (node, output number) for each input; ``(None, 0)`` where none is recorded."""
        if RENEWED:
            self._look_up_former()
        edges = self.edges if self.slots is None else [self.edges[i] for i in self.slots]
        return tuple(describe_edge(e) for e in edges)

    @property
    def metadata(self) -> dict:
        """A dictionary in which users may store anything about this node."""
        return self._hooks().metadata

    @property
    def requires_grad(self) -> bool:
        return True

    def _sequence_nr(self) -> int:
        return self.order

    def _hooks(self) -> NodeHooks:
        if self.hooks is None:
            self.hooks = NodeHooks()
        return self.hooks

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node; it may return new inputs."""
        return RemovableHandle.add(self._hooks().post, hook)

    def register_prehook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node; it may return new ones."""
        return RemovableHandle.add(self._hooks().pre, hook)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


_MADE: Any = Node.__dict__["order"]


def made_at(node: Node) -> int:
    """The number of a node in the order of creation, also where ``order`` is overridden."""
    return _MADE.__get__(node)


class Unknown(Node):
    """The unknown history of a view that was made while grad mode was off. As in torch, the view
    requires grad, but no gradient is sent further."""

    __slots__ = ()

    def gradients(self, B: Any, grads: list, unpack: Callable) -> tuple:
        return ()


class Passage(Node):
    """Passes the gradient on unchanged."""

    __slots__ = ()

    def gradients(self, B: Any, grads: list, unpack: Callable) -> list:
        return grads


class Promotion(Node):
    """The cast of an operand to the dtype of an operation. torch casts within the operation, so
    this node is not shown in the graph, and hooks see the gradient in the operand's dtype."""

    __slots__ = ()

    def gradients(self, B: Any, grads: list, unpack: Callable) -> list:
        return grads


class _Running(threading.local):
    innermost: Any = None  # a `Pass`

    @property
    def started(self) -> Any:
        """The innermost pass but for those that a node makes through the ops that it is made of."""
        this = self.innermost
        while this is not None and this.is_part:
            this = this.outer
        return this


RUNNING = _Running()  # the backward passes of this thread: one may start another


class Immediate(Node):
    """A node that runs as soon as its gradients have arrived, as in torch: that of a leaf, or of an
    operation without a derivative."""

    __slots__ = ()
    space = OF_NO_OP

    @property
    def order(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return LATEST

    @order.setter
    def order(self, value: int) -> None:
        _MADE.__set__(self, value)

    def __lt__(self, other: Node) -> bool:
        """Order among nodes that run at once: the one made last runs first."""
        return made_at(self) > made_at(other)


class Error(Immediate):
    """The history of a gradient that cannot be differentiated again; its value is the message."""

    __slots__ = ()

    def gradients(self, B: Any, grads: list, unpack: Callable) -> Any:
        raise RuntimeError(self.values)


class NotImplementedBackward(Immediate):
    """The history of a tensor that an operation without a derivative has written."""

    __slots__ = ()

    @property
    def order(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return LATEST if self.values[0] is RuntimeError else _MADE.__get__(self)

    @order.setter
    def order(self, value: int) -> None:
        _MADE.__set__(self, value)

    def gradients(self, B: Any, grads: list, unpack: Callable) -> Any:
        error, operation = self.values
        this = RUNNING.innermost
        # If torch has the derivative and nnkit does not, raise only if the gradient is wanted.
        if error is NotImplementedError and this and not any(map(this.asks_for, self.edges)):
            return (None,) * len(self.edges)
        raise error(f"{operation}(): the derivative is not implemented")


NotImplementedBackward.__name__ = "NotImplemented"  # torch's, which is that of a constant here


class SavedOutput:
    """An output kept for backward without a reference cycle through its own node."""

    __slots__ = ("_array", "_writes", "first", "index")

    def __init__(self, data: Any, version: list, index: int, first: Any = None) -> None:
        self._array = data
        self._writes = version
        self.index = index
        self.first = first  # the first output's array, if the op shows only that one


class OutputEdge:
    """The edge to output ``index`` of a node with several outputs."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: a node, and which of its outputs the tensor is.

    The third field keeps the graph alive in torch; here the node does that.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


class NodeHooks:
    """The hooks of one node and of the tensors it made.

    ``retain`` holds the tensors of `retain_grad`, and ``forms`` the (shape, array dtype) of those
    whose `GradientEdge` was taken, both by output number.
    """

    __slots__ = ("__weakref__", "forms", "metadata", "post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.metadata: dict = {}
        self.pre: OrderedDict = OrderedDict()
        self.post: OrderedDict = OrderedDict()
        self.tensor: dict[int, OrderedDict] = {}
        self.retain: dict[int, weakref.ref] = {}
        self.forms: dict[int, tuple] = {}


class LeafHooks:
    """The hooks of a leaf: on its gradient, and on its `AccumulateGrad` node.

    For any tensor, ``place`` is the dictionary that got its first hook. Later hooks go there too,
    until the tensor gets another history.
    """

    __slots__ = (
        "__weakref__", "detached", "metadata", "node", "place", "post", "post_accumulate", "pre",
        "retained", "tensor",
    )  # fmt: skip

    def __init__(self) -> None:
        self.retained = False  # whether it retained its gradient before `detach_` or a reshape
        self.detached = 0  # the order, among nodes, of the `detach_` that made it a leaf
        self.metadata: dict = {}
        self.tensor: OrderedDict = OrderedDict()
        self.place: OrderedDict | None = None
        self.pre: OrderedDict = OrderedDict()
        self.post: OrderedDict = OrderedDict()
        self.post_accumulate: OrderedDict = OrderedDict()
        self.node: weakref.ref | None = None


class RemovableHandle:
    """The handle of a registered hook: ``remove()``, or the end of a ``with`` block, removes it.

    Args:
        hooks_dict: the ``OrderedDict`` of hooks, held weakly; ``handle.id`` is a new key for it.
        extra_dict: another dictionary, or several, from which ``handle.id`` is removed as well.

    Example:
        >>> from collections import OrderedDict
        >>> from nnkit.utils.hooks import RemovableHandle
        >>> hooks = OrderedDict()
        >>> handle = RemovableHandle(hooks)
        >>> hooks[handle.id] = print
        >>> handle.remove()
        >>> len(hooks)
        0
    """

    _ids = itertools.count()

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(self._ids)
        extra = (extra_dict,) if isinstance(extra_dict, dict) else extra_dict or ()
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.extra_dict_ref = tuple(map(weakref.ref, extra))

    @classmethod
    def add(cls, hooks: Any, hook: Any, marks: Any = ()) -> RemovableHandle:
        """Store ``hook`` in ``hooks``, and True for it in each of ``marks``; return its handle."""
        handle = cls(hooks, extra_dict=marks)
        hooks[handle.id] = hook
        for marked in marks:
            marked[handle.id] = True
        return handle

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        extra = tuple([reference() for reference in self.extra_dict_ref])
        hooks = self.hooks_dict_ref()
        return (hooks, self.id, extra) if extra else (hooks, self.id)

    def __setstate__(self, state: tuple) -> None:
        # A dictionary that died with its owner is replaced by an empty one.
        hooks, self.id, *extra = state
        found = [OrderedDict() if h is None else h for h in (hooks, *(extra[0] if extra else ()))]
        self.hooks_dict_ref, *more = map(weakref.ref, found)
        self.extra_dict_ref = tuple(more)
        RemovableHandle._ids = itertools.count(max(self.id + 1, next(RemovableHandle._ids)))

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


class AccumulateGrad(Immediate):
    """The node of a leaf: adds its gradient to ``variable.grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.edges = ()
        self.outputs = None
        self.order = 0

    def _hooks(self) -> Any:
        return leaf_hooks(self.variable)


def leaf_hooks(leaf: Any) -> LeafHooks:
    if leaf._hooks is None:
        leaf._hooks = LeafHooks()
    return leaf._hooks


def accumulator(leaf: Any) -> AccumulateGrad:
    """The `AccumulateGrad` of a leaf: the same object for as long as somebody holds it."""
    hooks = leaf_hooks(leaf)
    node = hooks.node() if hooks.node is not None else None
    if node is None:
        node = AccumulateGrad(leaf)
        hooks.node = weakref.ref(node)
    return node


def target_of(edge: Any) -> tuple[Any, int]:
    """The node or leaf at the end of an edge, and the number of its output."""
    return (edge.node, edge.index) if edge.__class__ is OutputEdge else (edge, 0)


def edge_of(place: Any) -> Any:
    """The edge to a `GradientEdge`, or to a tensor that requires grad."""
    if place.__class__ is not GradientEdge:
        return place._edge or place
    node, index, _ = place
    if node.__class__ is AccumulateGrad:
        return node.variable
    return node if node.outputs is None else OutputEdge(node, index)


def describe_edge(edge: Any) -> tuple[Node | None, int]:
    """An edge as ``next_functions`` shows it: (node, output number)."""
    if edge is None or edge.__class__ is Unknown:
        return (None, 0)
    if edge.__class__ is Promotion:
        return describe_edge(edge.edges[0])
    if isinstance(edge, Node):
        return (edge, 0)
    if edge.__class__ is OutputEdge:
        return (edge.node, edge.index)
    return (accumulator(edge), 0)


def sum_of(one: Any, other: Any, in_place: bool = False) -> Any:
    """The sum of two gradients, at least one of them sparse; the first may be None. ``in_place``
    writes the sum into the first where its layout allows that."""
    if one is None:
        return other
    if in_place and (one.__class__ not in SPARSE or other.__class__ in SPARSE):
        return one.add_(other)
    return other + one if one.__class__ in SPARSE and other.__class__ not in SPARSE else one + other
