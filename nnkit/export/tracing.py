"""`trace`: one run of a module, written down as a graph of public functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from threading import get_ident
from typing import Any

from nnkit.autograd import Size, Tensor
from nnkit.autograd.arguments.overriding import DisableTorchFunctionSubclass, TorchFunctionMode
from nnkit.autograd.grad_mode import is_grad_enabled
from nnkit.backend.algebra import CATALOGUE
from nnkit.backend.device import cpu
from nnkit.backend.door import Doorkeeper, standing
from nnkit.backend.warning import users_line
from nnkit.compiler.compile import EXPORTING
from nnkit.export.operations import GETTERS, SHAPE, enter_grad_mode, operation
from nnkit.export.traced_number import (
    OPPOSITES,
    RELATIONS,
    TracedFloat,
    TracedInt,
    TracedNumber,
    check_size,
    plain,
)
from nnkit.fx import Graph, Node
from nnkit.fx.node import map_aggregate


class TracedTensor(Tensor):
    """A tensor of a traced run: whoever reads its sizes gets numbers that remember it."""


class Reading(Doorkeeper):
    """A door that raises where values are told to Python between the operations of a traced run."""

    allowed = False

    def passed(self, name: str, function: Callable[..., Any], arguments: tuple) -> Any:
        if CATALOGUE[name].reads and not self.allowed and get_ident() == self.thread:
            raise RuntimeError(
                f"export: a value is read at {users_line()}, on which the program cannot depend"
            )
        return function(*arguments)

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.thread = get_ident()


class Tracing(TorchFunctionMode):
    """A mode that writes the operations of one thread into a graph.

    Args:
        graph: where they are written.
        sizes: whether sizes are to remember where they come from.
        paths: of tensors that are no state of the module, but attributes of it, by their ids.

    Attributes:
        graph: the operations so far. Their ``meta`` has ``val``, the shape and dtype of a tensor,
            or ``number``, what the operation gave in this run.
    """

    def __init__(self, graph: Graph, sizes: bool, paths: dict[int, str]) -> None:
        self.graph = graph
        self.sizes = sizes
        self.paths = paths
        self.nodes: dict[int, Node] = {}
        self.known: list[Any] = Tensor._living()  # which also keeps all ids from being used again
        self.outer = {id(t) for t in self.known}
        self.constants: dict[str, Tensor] = {}  # by path
        self.properties: dict[tuple, TracedInt] = {}
        self.conditions: set[tuple] = set()
        self.grad_mode = self.outer_grad_mode = is_grad_enabled()
        self.entered: Any = None  # the operation that left the outer mode
        self.reading: Any = None

    def placeholder(self, name: str, value: Any) -> Node:
        """An input of the graph, which stands for a value."""
        node = self.graph.placeholder(name)
        node.target = node.name
        if isinstance(value, Tensor):
            self.nodes.setdefault(id(value), node)
            self.known.append(value)
            node.meta["val"] = (tuple(value.shape), value.dtype)
        return node

    def run(self, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function, and write down what it does."""
        thread = get_ident()
        EXPORTING.add(thread)
        try:
            with standing(Reading, cpu) as self.reading, self:
                return function(*args, **kwargs)
        finally:
            EXPORTING.discard(thread)

    # What modes are asked

    def __torch_function__(
        self, func: Callable, types: tuple, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func == SHAPE:
            return self._shape(args[0])
        given = map_aggregate((args, kwargs), plain)
        found = operation(func)
        self.reading.allowed = found is not None
        try:
            with DisableTorchFunctionSubclass():
                result = func(*given[0], **given[1])
        finally:
            self.reading.allowed = False
        name = GETTERS.get(func)
        if name is not None:
            self._write("call_function", getattr, (args[0], name), {}, result)
        elif func.__name__ in ("size", "numel", "nelement", "__len__", "dim", "ndimension"):
            return self._measured(func.__name__, result, *args, **kwargs)
        elif _has_tensors(result) or func.__name__ == "__setitem__":
            if found is None:
                raise RuntimeError(
                    f"export: {func.__name__} cannot be part of a program, at {users_line()}"
                )
            self._write(*found, args, kwargs, result)
        return result

    def _write(self, kind: str, target: Any, args: tuple, kwargs: dict, result: Any) -> None:
        self._follow_grad_mode()
        given, named = map_aggregate((args, kwargs), self._argument)
        node = self.graph.create_node(kind, target, given, named)
        node.meta["line"] = users_line()
        self._results(result, node)

    def _follow_grad_mode(self) -> None:
        mode = is_grad_enabled()
        if mode != self.grad_mode:
            self.grad_mode = mode
            # Back in the outer mode, it is that of whoever runs the program.
            wanted = self.entered if mode == self.outer_grad_mode else mode
            self.entered = self.graph.call_function(enter_grad_mode, (wanted,))

    def _results(self, result: Any, node: Node) -> None:
        """Remember which operation gives each tensor of a result."""
        if isinstance(result, Tensor):
            node.meta["val"] = (tuple(_sizes(result)), result.dtype)
            if id(result) in self.nodes:
                return  # it was written in place
            if type(result) is Tensor:
                result.__class__ = TracedTensor
            self.nodes[id(result)] = node
            self.known.append(result)
        elif isinstance(result, (tuple, list)):
            for index, part in enumerate(result):
                if _has_tensors(part):
                    part_of = self.graph.call_function(operator.getitem, (node, index))
                    part_of.meta["part"] = True
                    self._results(part, part_of)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, TracedNumber):
            return value.node
        return self.node_of(value) if isinstance(value, Tensor) else value

    def node_of(self, tensor: Tensor) -> Node:
        """The operation that gives a tensor; one that was there before becomes an input.

        Raises:
            RuntimeError: it was made in this run by what is no operation.
        """
        node = self.nodes.get(id(tensor))
        if node is None:
            if id(tensor) not in self.outer:
                raise RuntimeError(
                    "export: a tensor is used that was made by what cannot be part of a program, "
                    f"at {users_line()}"
                )
            last = [n for n in self.graph.nodes if n.op == "placeholder"][-1]
            with self.graph.inserting_after(last):
                path = self.paths.get(id(tensor), f"lifted_tensor_{len(self.constants)}")
                node = self.placeholder(f"c_{path.replace('.', '_')}", tensor)
            self.constants[path] = tensor
        return node

    # Numbers

    def _shape(self, tensor: Tensor) -> Size:
        with DisableTorchFunctionSubclass():
            shape = tensor.shape
        if not self.sizes:
            return shape
        return Size([self._size(tensor, d, n) for d, n in enumerate(shape)])

    def _size(self, tensor: Tensor, dim: int, value: int) -> int:
        node = self.node_of(tensor)
        key = (node, dim)
        if key not in self.properties:
            self.properties[key] = self._number(value, self.graph.call_method("size", (node, dim)))
        return self.properties[key]

    def _measured(self, name: str, result: Any, tensor: Tensor, dim: int | None = None) -> Any:
        """The answer to a question after a tensor's sizes."""
        if not self.sizes or name in ("dim", "ndimension", "__len__"):
            return result
        if name == "size":
            return self._shape(tensor) if dim is None else self._shape(tensor)[dim]
        return self._number(result, self.graph.call_method("numel", (self.node_of(tensor),)))

    def _number(self, value: Any, node: Node) -> Any:
        number = (TracedInt if type(value) is int else TracedFloat)(value)
        number.node, number.tracing = node, self
        node.meta["number"] = value
        return number

    def calculate(self, function: Callable, *numbers: Any) -> Any:
        """The number that arithmetic gives."""
        value = function(*map(plain, numbers))
        if type(value) not in (int, float):
            return value
        node = self.graph.call_function(function, tuple(map(self._argument, numbers)))
        return self._number(value, node)

    def compare(self, relation: str, left: Any, right: Any) -> bool:
        """The result of a comparison in this run: the program is right where it is the same."""
        outcome = RELATIONS[relation](plain(left), plain(right))
        held = relation if outcome else OPPOSITES[relation]
        condition = (self._argument(left), held, self._argument(right))
        if condition not in self.conditions:
            self.conditions.add(condition)
            node = self.graph.call_function(check_size, condition)
            node.meta["line"] = users_line()
        return outcome


def _sizes(tensor: Tensor) -> tuple[int, ...]:
    with DisableTorchFunctionSubclass():
        return tensor.shape


def _has_tensors(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_tensors, value))
    return isinstance(value, Tensor)


def generalized(one: Graph, other: Graph | None, open_sizes: str) -> Graph:
    """The graph of two runs with different sizes: sizes of inputs that are not open are constants,
    and what nobody needs of numbers is left out.

    Raises:
        RuntimeError: the runs did different things.
    """
    first, second = list(one.nodes), list((other or one).nodes)
    places = {node: index for index, node in enumerate(second)}
    indexes = {node: index for index, node in enumerate(first)}

    def comparable(value: Any, known: dict[Node, int]) -> Any:
        return ("node", known[value]) if isinstance(value, Node) else value

    for a, b in zip(first, second):
        ours = map_aggregate((a.op, a.target, a.args, a.kwargs), lambda v: comparable(v, indexes))
        theirs = map_aggregate((b.op, b.target, b.args, b.kwargs), lambda v: comparable(v, places))
        if not _alike(ours, theirs):
            raise RuntimeError(
                f"Constraints violated ({open_sizes})! export: {a.target} at {a.meta.get('line')} "
                "is called otherwise when these sizes are others: a number or a branch was "
                "specialized to the size of the example"
            )
    if len(first) != len(second):
        longest = max(first, second, key=len)
        line = longest[min(len(first), len(second)) - 1].meta.get("line")
        raise RuntimeError(
            f"Constraints violated ({open_sizes})! export: more operations are called when these "
            f"sizes are others, at {line}: a loop or a branch was specialized"
        )
    fixed: dict[Node, Any] = {}
    for a, b in zip(first, second):
        # A size of an input that is not open, or what follows from such ones alone. Others may be
        # equal in both runs by chance.
        known = all(n in fixed or n.op == "placeholder" for n in a.all_input_nodes)
        if known and "number" in a.meta and a.meta["number"] == b.meta["number"]:
            fixed[a] = a.meta["number"]
    needed: set[Node] = set()
    for node in reversed(first):
        numeric = "number" in node.meta or "part" in node.meta
        if node.target is check_size:
            left, _, right = node.args
            numeric = all(not isinstance(v, Node) or v in fixed for v in (left, right))
        if node in fixed or (numeric and node not in needed):
            continue
        needed.add(node)
        needed.update(node.all_input_nodes)
    graph = Graph()
    made: dict[Node, Any] = dict(fixed)
    for node in first:
        if node in needed and node not in fixed:
            made[node] = graph.node_copy(node, made.__getitem__)
    return graph


def _alike(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_alike(a[k], b[k]) for k in a)
    if isinstance(a, slice):
        return _alike((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return a is b or bool(a == b) or (a != a and b != b)
