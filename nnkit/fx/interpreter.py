"""`Interpreter` runs a graph operation by operation; `Transformer` makes another of it so."""

from __future__ import annotations

import operator
from typing import Any

from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Argument, Node, Target, map_arg
from nnkit.fx.proxy import Proxy
from nnkit.fx.traceback import preserve_node_meta, set_current_meta
from nnkit.fx.tracer import Tracer
from nnkit.nn import Module


class Interpreter:
    """Runs a `GraphModule`, one operation after the other; each method may be overridden.

    Args:
        module: the module.
        garbage_collect_values: forget values after their last use.
        graph: another graph over the same module.

    Attributes:
        extra_traceback: whether the message of an error names the operation that raised it.

    Source: ``torch.fx.Interpreter``.

    Example:
        >>> import nnkit
        >>> module = nnkit.fx.symbolic_trace(lambda x: x.sin().sum())
        >>> nnkit.fx.Interpreter(module).run(nnkit.zeros(2))
        tensor(0.)
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module: Any = module
        self.graph: Graph = self.module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        self.name = "Interpreter"
        self.extra_traceback = True

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The result of the program for these arguments."""
        self.env = dict(initial_env or {})
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        last = {used: node for node in self.graph.nodes for used in node.all_input_nodes}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _tell_node(error, node)
                    if isinstance(error, KeyError):  # which shows its message quoted
                        raise RuntimeError(*error.args) from error
                raise
            if node.op == "output":
                out = self.env[node]
                return self.graph.process_outputs(out) if enable_io_processing else out
            if self.garbage_collect_values:
                for used in node.all_input_nodes:
                    if last[used] is node:
                        self.env.pop(used, None)
        return None

    def boxed_run(self, args_list: list) -> Any:
        """The result for a list of values, one for each placeholder; the list is emptied.

        So nobody holds a value any more when it was used last.

        Raises:
            RuntimeError: there are more or fewer values than placeholders.
        """
        places = self.graph.find_nodes(op="placeholder")
        if len(args_list) != len(places):
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(places)} arguments for placeholders but "
                f"received {len(args_list)}"
            )
        env = dict(zip(places, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """The result of an operation."""
        with set_current_meta(n, f"Interpreter_{type(self).__name__}"):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict[str, Any]]:
        """The values with which an operation is called."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """A value with the results of operations in the place of Nodes."""
        return map_arg(args, lambda used: self.env[used])

    def fetch_attr(self, target: str) -> Any:
        """The module's attribute at a path."""
        return operator.attrgetter(target)(self.module)

    def placeholder(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The next argument of the program.

        Raises:
            RuntimeError: there are no more, and it has no default.
        """
        if str(target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if not args:
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            )
        return args[0]

    def get_attr(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The module's attribute at a path."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        return getattr(args[0], str(target))(*args[1:], **kwargs)

    def call_module(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a module."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of the program."""
        return args[0]


def _tell_node(error: Exception, node: Node) -> None:
    """Add to the message of an error the operation that raised it."""
    said = f"While executing {node.format_node()}"
    said = f"{error.args[0]}\n\n{said}" if error.args else said
    error.args = (f"{said}\nOriginal traceback:\n{node.stack_trace}", *error.args[1:])


class Transformer(Interpreter):
    """Runs a `GraphModule` on proxies: what the overridden methods do becomes a new one.

    Source: ``torch.fx.Transformer``.
    """

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=getattr(self.graph, "_tracer_cls", None))
        self.new_graph.set_codegen(self.graph._codegen)
        self.tracer = Tracer()
        self.tracer.graph, self.tracer.root = self.new_graph, module

    def placeholder(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Proxy:
        return self.tracer.create_proxy("placeholder", target, args, {})

    def get_attr(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Proxy:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_module(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        with preserve_node_meta():
            result = self.run(enable_io_processing=False)
        if result is not None:
            last = self.new_graph.output(self.tracer.create_arg(result))
            last.meta.update(self.graph.output_node().meta)
        return GraphModule(self.module, self.new_graph)
