"""`Proxy`: what stands for a value while a program is traced; what is done to it is kept."""

from __future__ import annotations

import dis
import enum
import inspect
import operator
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import dropwhile
from pathlib import Path
from types import FrameType
from typing import Any, cast

from nnkit.autograd import Size, Tensor
from nnkit.autograd.op.public import PUBLIC
from nnkit.backend.device import device
from nnkit.backend.dtype import dtype
from nnkit.backend.memory import layout, memory_format
from nnkit.fx.graph import Graph
from nnkit.fx.node import Argument, Node, Target, map_aggregate
from nnkit.fx.operator_schemas import check_for_mutable_operation
from nnkit.fx.traceback import has_preserved_node_meta, tell

_CONSTANTS = (
    str, int, float, bool, complex, type(None), type(...), range, Tensor, Size, dtype, device,
    layout, memory_format,
)  # fmt: skip


class TraceError(ValueError):
    """The program does something that depends on a value which is not there while it is traced."""


class TracerBase:
    """A writer of operations for calls: the part of a `Tracer` that needs no module.

    Attributes:
        graph: the graph that is written.
    """

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add an operation to the graph.

        Raises:
            RuntimeError: it is a function that writes into an argument, and
                ``check_mutable_operations`` is set.
        """
        if kind == "call_function" and self.check_mutable_operations:
            check_for_mutable_operation(cast(Callable, target), args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if has_preserved_node_meta():
            tell(node)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = _stack_of_user()
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy of an operation's result."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:
        """Add an operation; what stands for its result."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """A value as operations hold it: Nodes for proxies, constants as they are.

        A value with a method ``__fx_create_arg__(tracer)`` makes its own Node.

        Raises:
            NotImplementedError: it is of a class that programs cannot hold.
            RuntimeError: a proxy is a key of a dictionary.
        """
        check_keys(a)
        return map_aggregate(a, self._leaf)

    def _leaf(self, value: Any) -> Argument:
        if isinstance(value, Proxy):
            return value.node
        if hasattr(value, "__fx_create_arg__"):
            return value.__fx_create_arg__(self)
        if isinstance(value, (*_CONSTANTS, Node, enum.Enum)) or callable(value):
            return value
        if is_dataclass(value):  # it is made anew, of what its fields hold
            parts = {field.name: getattr(value, field.name) for field in fields(value)}
            return self.create_proxy("call_function", type(value), (), parts).node
        raise NotImplementedError(f"create_arg: no operation can hold a {type(value).__name__}")

    def to_bool(self, obj: Proxy) -> bool:
        """The truth of a value, which is not there.

        Raises:
            TraceError: always.
        """
        raise TraceError(f"{obj} is used as a condition, but has no value while it is traced")

    def iter(self, obj: Proxy) -> Iterator:
        """The parts of a value, which is not there.

        Raises:
            TraceError: always.
        """
        raise TraceError(
            "Proxy object cannot be iterated. One goes through the parts of "
            f"{obj}, whose number is not known while it is traced; unpacking it (a, b = x) is "
            "possible"
        )

    def keys(self, obj: Proxy) -> Any:
        """The keys of a value, for ``**``."""
        return Attribute(obj, "keys")()


def check_keys(a: Any) -> None:
    """Refuse dictionaries that have proxies or operations in their keys."""
    for key in a if isinstance(a, dict) else ():
        map_aggregate(key, partial(_refuse_in, key))
    if isinstance(a, (tuple, list, dict)):
        for part in a.values() if isinstance(a, dict) else a:
            check_keys(part)


def _refuse_in(key: Any, part: Any) -> None:
    if isinstance(part, (Proxy, Node)):
        raise RuntimeError(
            f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
        )


class GraphAppendingTracer(TracerBase):
    """A tracer that adds what is done to proxies to a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """A stand-in for a value of a traced program.

    Operators, methods and nnkit's functions that get it add an operation to the graph and return
    another.

    Source: ``torch.fx.Proxy``.
    """

    node: Node
    tracer: TracerBase

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in ("node", "tracer", "__deepcopy__", "__setstate__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator:
        count = _unpacked()
        if count is not None:
            return iter([operator.getitem(self, index) for index in range(count)])  # type: ignore
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "len() of a value that is not there: wrap it for tracing with nnkit.fx.wrap('len')"
        )

    def __contains__(self, item: Any) -> bool:
        raise TraceError(f"`in` needs the parts of {self}, which are not there while it is traced")

    def keys(self) -> Any:
        """The keys, for ``**``."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        tracer = found[0].tracer
        name = getattr(orig_method, "__name__", "")
        # What is a function and a method too was called as a function: a proxy has no such method.
        is_function = isinstance((*args, found[0])[0], Proxy) and PUBLIC.get(name) is orig_method
        if not is_function and getattr(Tensor, name, None) is orig_method:
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a value; a method, if it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:  # most are called: then there is no such operation
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return cast(Node, self._node)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The proxy of a parameter; its shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    @property
    def shape(self) -> Size:
        return self.param.shape

    def size(self, *dim: int) -> Any:
        return self.param.size(*dim)

    def dim(self) -> int:
        return self.param.dim()

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        return self.param.numel()

    nelement = numel


PACKAGE = str(Path(__file__).parents[1])


def _stack_of_user() -> str | None:
    """The lines of the traced program that are at work, from the outermost ``forward`` inwards and
    without nnkit's own; None if no ``forward`` is."""
    frames: list[tuple[FrameType, int]] = []
    for frame, number in traceback.walk_stack(inspect.currentframe()):
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            frames.insert(0, (frame, number))
        elif code.co_name == "trace" and "graph" in code.co_names:
            break
    of_module = dropwhile(lambda each: each[0].f_code.co_name != "forward", frames)
    return "".join(traceback.StackSummary.extract(of_module).format()).strip() or None


def _unpacked() -> int | None:
    """Into how many names the caller's caller unpacks what it goes through, None if it does not."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame and frame.f_back
    if frame is None:
        return None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.arg if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


def _operation(function: Callable, reflected: bool) -> Callable:
    def operate(self: Proxy, *others: Any) -> Any:
        args = (*others, self) if reflected else (self, *others)
        return self.tracer.create_proxy("call_function", function, args, {})

    return operate


_BINARY = "add sub mul floordiv truediv mod lshift rshift and or xor matmul pow divmod"
for _name in f"{_BINARY} eq ne lt gt le ge neg pos invert getitem abs".split():
    _function = divmod if _name == "divmod" else getattr(operator, f"__{_name}__")
    setattr(Proxy, f"__{_name}__", _operation(_function, False))
    if _name in _BINARY.split():
        setattr(Proxy, f"__r{_name}__", _operation(_function, True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


class ProxyableClassMeta(type):
    """The class of classes whose objects, made of proxies, are made by the traced program.

    Source: ``torch.fx.ProxyableClassMeta``.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)
