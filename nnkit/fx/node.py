"""`Node`: one operation of a traced program, and the values that it is called with."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nnkit.autograd.ops.random import factories, sampling
from nnkit.fx.immutable_collections import immutable_dict, immutable_list
from nnkit.overrides import _assert

if TYPE_CHECKING:
    from nnkit.fx.graph import Graph
    from nnkit.fx.operator_schemas import ArgsKwargsPair
    from nnkit.nn import Module

Target = Callable | str
Argument = Any  # a Node, a constant, or a tuple, list, dict or slice of such
OPERATIONS = (
    "placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root",
)  # fmt: skip
# Functions whose calls stay in a program though nobody uses their results.
_side_effectful_functions: set[Callable] = {
    _assert, operator.setitem,
    factories.rand, factories.rand_like, factories.randint, factories.randint_like,
    factories.randn, factories.randn_like, factories.randperm,
    sampling.bernoulli, sampling.multinomial, sampling.normal, sampling.poisson,
}  # fmt: skip


def has_side_effect(fn: Callable) -> Callable:
    """Let the calls of a function stay in programs whose dead code is taken away.

    Source: ``torch.fx.has_side_effect``.

    Example:
        >>> import nnkit
        >>> @nnkit.fx.has_side_effect
        ... def note(x):
        ...     print("seen")
        >>> graph = nnkit.fx.Graph()
        >>> call = graph.call_function(note, (graph.placeholder("x"),))
        >>> graph.eliminate_dead_code()
        False
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Any], Any]) -> Any:
    """A value with each of its leaves, within tuples, lists, dicts and slices, changed by ``fn``.

    Its lists and dicts are those that operations hold: they cannot be changed.

    Example:
        >>> map_aggregate([1, (2, 3)], lambda x: x * 10)
        [10, (20, 30)]
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        made: Any = type(a)
        return made(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list(map_aggregate(x, fn) for x in a)
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(x, fn)) for key, x in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Any]) -> Any:
    """A value with each Node in it replaced by what ``fn`` gives for it."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def qualified_name(function: Callable) -> str:
    """The name by which a function can be imported: nnkit's public one where there is one.

    That of a Python operator begins with ``_operator``, where it is defined.
    """
    if getattr(builtins, function.__name__, None) is function:
        return function.__name__
    module, name = getattr(function, "__module__", None), function.__name__
    if module is not None and module.partition(".")[0] in ("nnkit", "torch"):
        import nnkit

        places = {"": nnkit, "nn.functional.": nnkit.nn.functional, "linalg.": nnkit.linalg}
        for place, holder in places.items():
            if getattr(holder, name, None) is function:
                return f"{nnkit.Tensor.__module__.partition('.')[0]}.{place}{name}"
    return f"{str(module).replace('torch._ops', 'torch.ops')}.{name}"


def found_at(module: Any, path: str) -> Any:
    """What a module has at a path, None if it has nothing there."""
    for part in path.split("."):
        module = getattr(module, part, None)
    return module


class Node:
    """An operation of a `Graph`.

    Attributes:
        op: ``placeholder`` for an argument of the program, ``get_attr`` for a parameter of the
            module, ``call_function``, ``call_method``, ``call_module``, or ``output``.
        target: what is called or read: a function, or the name of a method, module or attribute.
        args, kwargs: what it is called with, Nodes and constants.
        users: the Nodes that use its result, in order.
        meta: whatever a program wants to keep with it.

    Source: ``torch.fx.Node``.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple,
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        if op not in OPERATIONS:
            raise AssertionError(f"Node: op must be one of {OPERATIONS}, got {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(f"Node: call_function needs a function as target, got {target!r}")
        if op in OPERATIONS[3:5] and not isinstance(target, str):
            raise ValueError(f"Node: {op} needs a name as target, got {target!r}")
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self._args: tuple = ()
        self._kwargs: dict[str, Any] = immutable_dict()
        self._next = self._prev = self
        self._erased = False
        self._set(args, kwargs)

    @property
    def stack_trace(self) -> str | None:
        """Where the program does it, if its tracer has recorded that; ``meta`` holds it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    @property
    def next(self) -> Node:
        """The operation after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The operation before this one."""
        return self._prev

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Put ``x`` before this operation."""
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Put ``x`` after this operation."""
        if x is not self._next:
            self._next.prepend(x)

    @property
    def args(self) -> tuple:
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, a: tuple) -> None:
        self._set(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._set(self._args, k)

    def _set(self, args: tuple, kwargs: dict[str, Any]) -> None:
        for used in self._inputs:
            used.users.pop(self, None)
        self._inputs = {}
        self._args, self._kwargs = (
            map_aggregate(tuple(args), self._use),
            map_aggregate(kwargs, self._use),
        )

    def _use(self, value: Any) -> Any:
        if isinstance(value, Node):
            self._inputs[value] = None
            value.users[self] = None
        return value

    @property
    def all_input_nodes(self) -> list[Node]:
        """The operations whose results this one uses."""
        return list(self._inputs)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace a positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put a positional argument before the one at ``idx``."""
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace an argument given by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another operation's result where this one has used ``old_input``."""

        def other(value: Node) -> Node:
            return new_input if value is old_input else value

        self._set(map_arg(self._args, other), map_arg(self._kwargs, other))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let everything that uses this operation's result use that of ``replace_with``."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def normalized_arguments(
        self,
        root: Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:
        """Its arguments, with those that were not given, see `nnkit.fx.operator_schemas`.

        None unless it calls a function or a module, whose signature is known.

        Example:
            >>> import nnkit
            >>> program = nnkit.fx.symbolic_trace(lambda x: nnkit.flatten(x))
            >>> [node.normalized_arguments(program) for node in program.graph.nodes][1]
            ArgsKwargsPair(args=(x,), kwargs={'start_dim': 0, 'end_dim': -1})
        """
        from nnkit.fx.operator_schemas import normalize_function, normalize_module

        by_name = normalize_to_only_use_kwargs
        target: Any = self.target
        if self.op == "call_function":
            return normalize_function(
                target, self.args, self.kwargs, arg_types, kwarg_types, by_name
            )
        if self.op == "call_module":
            return normalize_module(root, target, self.args, self.kwargs, by_name)
        return None

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether its call stays where nobody uses its result, see `has_side_effect`.

        Methods that change their tensor do not: who wants them to stay uses their result.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            module = self.graph.owning_module
            return bool(getattr(module and module.get_submodule(self.target), "_is_impure", False))
        return self.op == "call_function" and self.target in _side_effectful_functions

    def format_node(self, *args: Any, **kwargs: Any) -> str:
        """A line that describes the operation."""
        if self.op == "output":
            return f"return {self.args[0]}"
        target = self.target if isinstance(self.target, str) else qualified_name(self.target)
        if getattr(builtins, target, None) is self.target:
            target = f"builtins.{target}"
        if target.startswith("_operator.") and self.op == "call_function":
            target = target[1:]
        kind = "" if self.type is None else f"{type_name(self.type)} "
        line = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "placeholder":
            return line + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return line
        return f"{line}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        """Whether it comes before another operation of the graph."""
        order = {node: index for index, node in enumerate(self.graph.nodes)}
        return operator.lt(order[self], order[other])


def type_name(kind: Any) -> str:
    """A type as annotations write it: ``float``, ``typing.List[float]``."""
    if not isinstance(kind, type) or hasattr(kind, "__origin__"):
        return "..." if kind is ... else repr(kind)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return home + kind.__qualname__


def _format_arg(value: Any) -> str:
    """A value with ``%`` before the names of operations, and texts without quotation marks."""
    if hasattr(value, "_custom_fx_repr_fn"):
        return value._custom_fx_repr_fn()
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_arg, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_arg, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_format_arg(each)}' for key, each in value.items())}}}"
    return str(value)


class Nodes:
    """The operations of a graph in order; it may be changed while one goes through them."""

    def __init__(self, root: Node) -> None:
        self._root = root

    def __iter__(self) -> Iterator[Node]:
        node = self._root._next
        while node is not self._root:
            if not node._erased:
                yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        node = self._root._prev
        while node is not self._root:
            if not node._erased:
                yield node
            node = node._prev

    def __len__(self) -> int:
        return sum(1 for _ in self)
