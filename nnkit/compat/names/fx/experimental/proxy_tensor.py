"""torch.fx.experimental.proxy_tensor: what a function does, as a program of operators."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from nnkit import Tensor, empty_strided
from nnkit.compat.dispatch import TorchDispatchMode
from nnkit.fx.code_gen import _PyTreeCodeGen, _PyTreeInfo
from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node
from nnkit.fx.passes.shape_prop import _extract_tensor_metadata
from nnkit.nn import Module
from nnkit.utils._pytree import tree_flatten, tree_map

__all__ = ["make_fx"]


class _Recorder(TorchDispatchMode):
    """A mode that writes down the operators that it is asked for, and computes them."""

    def __init__(self, program: Any, decompositions: Mapping[Any, Callable]) -> None:
        self.graph, self.root = Graph(), Module()
        self._decompositions = decompositions
        # A mode does not see which tensors are parameters.
        learned = program.parameters() if isinstance(program, Module) else ()
        self._parameters = {id(each._array): each for each in learned}
        # By the identity of what holds a tensor's values, with that, which so stays alive.
        self._nodes: dict[int, tuple[Any, Node]] = {}

    def __torch_dispatch__(
        self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self._decompositions:
            with self:
                return self._decompositions[func](*args, **kwargs)
        given = tree_map(self.value, (args, kwargs))
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        node = self.graph.call_function(func, given[0], given[1], name=name)
        self.keep(result, node)
        return result

    def keep(self, result: Any, node: Node) -> None:
        """Note which operation gives a tensor, or the tensors in a tuple."""
        if isinstance(result, Tensor):
            self._nodes[id(result._array)] = result._array, node
            node.meta["tensor_meta"] = _extract_tensor_metadata(result)
            node.meta["val"] = empty_strided(
                result.shape, result.stride(), dtype=result.dtype, device="meta"
            )
        elif isinstance(result, (tuple, list)):
            for index, part in enumerate(result):
                self.keep(part, self.graph.call_function(operator.getitem, (node, index)))

    def value(self, given: Any) -> Any:
        """A value as operations hold it; a tensor that nothing has given is a constant."""
        if not isinstance(given, Tensor):
            return given
        if id(given._array) not in self._nodes:
            held = self._parameters.get(id(given._array), given)
            name = "_tensor_constant" if held is given else "_param_constant"
            path = next(p for i in itertools.count() if not hasattr(self.root, p := f"{name}{i}"))
            setattr(self.root, path, held)
            self._nodes[id(given._array)] = given._array, self.graph.get_attr(path)
        return self._nodes[id(given._array)][1]


def make_fx(
    f: Callable,
    decomposition_table: Mapping[Any, Callable] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    **options: Any,
) -> Callable[..., GraphModule]:
    """A function that gives, for arguments, the program of the operators that ``f`` calls for them.

    The function is run with these arguments. Numbers that it reads from tensors, and sizes, are
    constants of the program.

    Args:
        decomposition_table: functions by operators, whose operators are written down instead.
        tracing_mode: accepted, as are the options that follow.

    Example:
        >>> import nnkit
        >>> make_fx(lambda x: x.sin() + 1)(nnkit.ones(2)).graph.find_nodes(op="placeholder")
        [x_1]
    """

    @functools.wraps(f)
    def traced(*args: Any) -> GraphModule:
        recorder = _Recorder(f, decomposition_table or {})
        names = _names(f, args)
        flat = [tree_flatten(arg) for arg in args]
        for name, (leaves, _) in zip(names, flat, strict=True):
            for index, leaf in enumerate(leaves):
                recorder.keep(leaf, recorder.graph.placeholder(f"{name}_{index + 1}"))
        with recorder:
            result = f(*args)
        if all(spec.is_leaf() for _, spec in flat):
            kind = getattr(f, "__annotations__", {}).get("return")
            recorder.graph.output(tree_map(recorder.value, result), kind)
        else:
            parts, spec = tree_flatten(result)
            recorder.graph.output([recorder.value(part) for part in parts])
            _, taken = tree_flatten(tuple(args))
            recorder.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, taken, spec)))
        return GraphModule(recorder.root, recorder.graph, getattr(f, "__name__", "GraphModule"))

    return traced


def _names(function: Callable, args: tuple) -> list[str]:
    """The names of positional arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        parameters = ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [each.name for each in parameters if each.kind in kinds]
    return [*found, *(f"arg{index}" for index in range(len(found), len(args)))][: len(args)]
