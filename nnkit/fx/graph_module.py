"""`GraphModule`: a module that runs a graph."""

from __future__ import annotations

import copy
import linecache
import os
import sys
import traceback
from itertools import islice
from textwrap import indent
from types import BuiltinFunctionType
from typing import Any

from nnkit.autograd import Tensor
from nnkit.fx.code_gen import _PyTreeCodeGen
from nnkit.fx.folder import write_folder
from nnkit.fx.graph import Graph, kept
from nnkit.fx.proxy import PACKAGE
from nnkit.nn import Module

_compiled = 0
_FILES = "<nnkit.fx."  # with which the names of the texts of programs begin


class GraphModule(Module):
    """A module whose ``forward`` is a graph, printed as Python.

    Args:
        root: the module whose parameters and modules the graph uses, or a dict of them by path.
        graph: the graph.
        class_name: the name that the module shows.

    Source: ``torch.fx.GraphModule``.

    Example:
        >>> import nnkit
        >>> module = nnkit.fx.symbolic_trace(nnkit.nn.Sequential(nnkit.nn.ReLU()))
        >>> print(module.code.strip())
        def forward(self, input):
            input_1 = input
            _0 = getattr(self, "0")(input_1);  input_1 = None
            return _0
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # A class of its own for each: `forward` is found in the class.
        base = next(kind for kind in cls.__mro__ if "_own" not in kind.__dict__)
        own: Any = type(base.__name__, (base,), {"_own": True})
        return super().__new__(own)

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
        uses = [n for n in graph.nodes if n.op in ("get_attr", "call_module")]
        targets = [*dict.fromkeys(str(node.target) for node in uses)]
        if isinstance(root, dict):  # whose values are put into each other
            targets.sort(key=lambda path: path.count("."))
        for target in targets:
            if isinstance(root, Module):
                _copy_attr(root, self, target)
            elif target not in root:
                raise RuntimeError(f"GraphModule: the graph uses {target}, which root lacks")
            else:
                _put(self, target, root[target])
        self.graph = graph
        self.meta: dict[str, Any] = {}
        self._tracer_cls = kept(graph._tracer_cls)

    @property
    def graph(self) -> Graph:
        """The graph; when another is set, the code is printed anew."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of ``forward``."""
        return self._code

    def recompile(self) -> Any:
        """Print and compile the graph, after it was changed."""
        global _compiled
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info[1:]
        printed = self._graph.python_code()
        self._code, self._lineno_map = printed.src, printed._lineno_map
        self._prologue_start = printed._prologue_start
        _compiled += 1
        file = f"{_FILES}{_compiled}>"
        if self._graph._co_fields:
            place = "{co_filename}:{co_firstlineno} in {co_name}"
            file += f" from {place.format(**self._graph._co_fields)}"
        linecache.cache[file] = (len(self._code), None, self._code.splitlines(True), file)
        names = dict(printed.globals)
        exec(compile(self._code, file, "exec", dont_inherit=True), names)
        type(self).forward = names["forward"]  # type: ignore[method-assign]
        return printed

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        additional_meta: list[str] | None = None,
        **kwargs: Any,
    ) -> str:
        """The text of the module, and of those in it, as their graphs are now; printed too.

        It has remarks: the line of the program that did an operation, where that was recorded
        (``Tracer.record_stack_traces``), what ``fx.traceback.annotate`` has said of it, and the
        dtype and shape of its result, where ``meta`` holds that.

        Args:
            include_stride, include_device: whether these are told of tensors as well.
            additional_meta: further entries of ``meta`` that are told.
        """
        text = self._readable(
            type(self).__name__,
            verbose=True,
            include_stride=include_stride,
            include_device=include_device,
            additional_meta=additional_meta,
        )
        if print_output:
            print(text)
        return text

    def _readable(self, name: str, **remarks: Any) -> str:
        body = self._graph.python_code(**remarks).src.strip()
        inner = [
            "\n" + each._readable(path, **remarks)
            for path, each in self.named_children()
            if isinstance(each, GraphModule)
        ]
        parts = indent("".join([body, "\n", *inner]), "    ")
        return f"class {name}(torch.nn.Module):\n{parts}"

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a package: ``from folder import module_name``.

        The class reads its numbers, and modules that cannot be written as a call, from files in
        the folder, which must stay where it is.

        Warns:
            UserWarning: there are such modules.
        """
        write_folder(self, folder, module_name)

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; whether that could be done."""
        _put(self, target, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a path away; whether there was one."""
        path, _, name = target.rpartition(".")
        holder = self.get_submodule(path)
        if name not in holder._modules:
            return False
        del holder._modules[name]
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that the graph does not use."""
        used: set[str] = set()
        modules = dict(self.named_modules(remove_duplicate=False))
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
                if node.op == "call_module" and node.target in modules:  # or it is yet to come
                    inner = modules[str(node.target)].named_modules()
                    used |= {f"{node.target}.{name}" for name, _ in inner}
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            for frame in reversed(traceback.extract_tb(error.__traceback__)):
                if self._is_of_line(frame):
                    print(_told(frame), file=sys.stderr)
                    raise error.with_traceback(None) from None
                if frame.filename == __file__ or not frame.filename.startswith(PACKAGE):
                    break
            raise

    def _is_of_line(self, frame: traceback.FrameSummary) -> bool:
        """Whether an error is of a line of this program itself: it calls an operator, a method or a
        function that torch does not define in Python."""
        if not frame.filename.startswith(_FILES) or frame.lineno is None:
            return False
        number = self._lineno_map.get(frame.lineno - self._prologue_start)
        node = next(islice(self._graph.nodes, number or 0, None))
        target: Any = node.target
        is_held = hasattr(target, "learn") and not hasattr(target, "arranged")
        return node.op == "call_method" or is_held or isinstance(target, BuiltinFunctionType)

    def __deepcopy__(self, memo: dict) -> GraphModule:
        kind: Any = type(self).__mro__[1]
        memo[id(self)] = made = kind.__new__(kind)
        state = {key: value for key, value in self.__dict__.items() if key != "_graph"}
        state = copy.deepcopy(state, memo)
        return _filled(made, type(self).__name__, state, copy.deepcopy(self._graph))

    def _replicate_for_data_parallel(self) -> GraphModule:
        replica = super()._replicate_for_data_parallel()
        type(replica).forward = type(self).forward  # type: ignore[method-assign]
        return replica

    def __reduce__(self) -> Any:
        state = {key: value for key, value in self.__dict__.items() if key != "_graph"}
        return _rebuilt, (type(self).__mro__[1], type(self).__name__, state, self._graph)

    def __copy__(self) -> GraphModule:
        return GraphModule(self, self._graph, type(self).__name__)

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{Module.__repr__(self)}\n{self._code}\n{hint}"


def _told(frame: traceback.FrameSummary) -> str:
    """The error that is being handled, and the line of a program that it comes from."""
    number = frame.lineno or 1
    lines = linecache.getlines(frame.filename)
    said = (
        f"Call using an FX-traced Module, line {number} of the traced Module's generated forward "
        "function:"
    )
    mark = "~" * len(frame.line or "") + "~~~ <--- HERE"
    shown, rest = "".join(lines[number - 2 : number]), "\n".join(lines[number : number + 2])
    return "\n".join([traceback.format_exc(), said, shown, mark, rest])


def _rebuilt(kind: Any, name: str, state: dict[str, Any], graph: Graph) -> Any:
    return _filled(kind.__new__(kind), name, state, graph)


def _filled(made: Any, name: str, state: dict[str, Any], graph: Graph) -> Any:
    """A module of which nothing is there yet but the object, with its state and its graph."""
    Module.__init__(made)
    made.__dict__.update(state)
    type(made).__name__ = name
    made.graph = graph
    return made


def _put(module: Module, target: str, value: Any) -> None:
    """Put a value at a path, with the modules on the way."""
    *path, name = target.split(".")
    for part in path:
        if not hasattr(module, part):
            setattr(module, part, Module())
        module = getattr(module, part)
    if isinstance(value, Tensor) and name not in module._parameters:
        if type(value) is Tensor:
            module.register_buffer(name, value)
            return
    setattr(module, name, value)


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give a module what another has at a path."""
    found: Any = from_module
    for part in target.split("."):
        found = getattr(found, part)
    if target.rpartition(".")[2] in dict(to_module.named_modules()) and found is None:
        return
    _put(to_module, target, found)
