"""`Tracer`: runs a program on proxies, and so writes down what it does."""

from __future__ import annotations

import builtins
import copy
import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterable
from types import FrameType, FunctionType, ModuleType
from typing import Any, cast

from nnkit.autograd import Tensor
from nnkit.backend.warning import warn
from nnkit.fx.code_gen import _PyTreeCodeGen, _PyTreeInfo
from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Argument, Node, map_aggregate
from nnkit.fx.proxy import ParameterProxy, Proxy, ProxyableClassMeta, TracerBase, check_keys
from nnkit.fx.traceback import has_preserved_node_meta
from nnkit.nn import Module, Parameter, Sequential
from nnkit.overrides import _assert
from nnkit.utils._pytree import tree_flatten, tree_map, tree_unflatten

_wrapped: list[tuple[dict[str, Any], str]] = []  # globals, and a name in them


class PHBase:
    """A place in the arguments for which a program is traced: what stands there is not known.

    Its attributes become those of the operation that stands for it.
    """

    def __repr__(self) -> str:
        return "PH"


class PHWithMeta(PHBase):
    """A place with a key, by which its operation can be found."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


PH = PHBase()


def _assert_is_none(value: Any, msg: str) -> None:
    """Raise AssertionError with the message unless the value is None."""
    if value is not None:
        raise AssertionError(msg)


def wrap(fn_or_name: Any) -> Any:
    """Let the calls of a function of this file be operations: it is not looked into.

    Args:
        fn_or_name: the function, or its name, such as ``"len"``.

    Raises:
        RuntimeError: it is neither.
        NotImplementedError: it is called within a function.

    Source: ``torch.fx.wrap``.
    """
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if not isinstance(name, str) or not (name is fn_or_name or callable(fn_or_name)):
        raise RuntimeError(f"wrap: expected a function of the file or a name, got {fn_or_name!r}")
    caller: Any = cast(FrameType, inspect.currentframe()).f_back
    if caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((caller.f_globals, name))
    return fn_or_name


class _Patches:
    """Values that have been replaced while a program is traced, to be put back."""

    active = 0  # how many programs are being traced

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._done: set[tuple[int, str]] = set()

    def __enter__(self) -> _Patches:
        _Patches.active += 1
        return self

    def __exit__(self, *exception: Any) -> None:
        _Patches.active -= 1
        for undo in reversed(self._undo):
            undo()

    def method(self, cls: type, name: str, new: Callable) -> None:
        """Replace a method of a class."""
        own = cls.__dict__.get(name)
        setattr(cls, name, new)
        self._undo.append(lambda: setattr(cls, name, own) if own else delattr(cls, name))

    def function(self, names: dict[str, Any], name: str) -> None:
        """Make the calls of a function that get a proxy operations."""
        if (id(names), name) in self._done:
            return
        self._done.add((id(names), name))
        own = names[name] if name in names else getattr(builtins, name)
        if name in names:
            self._undo.append(lambda: names.__setitem__(name, own))
        else:
            self._undo.append(lambda: names.__delitem__(name) if name in names else None)
        names[name] = _as_operation(own)


def _as_operation(function: Callable) -> Callable:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        if not found:
            return function(*args, **kwargs)
        return found[0].tracer.create_proxy("call_function", function, args, kwargs)

    return call


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return _Patches.active > 0


def _types_of(function: Any) -> dict[str, Any]:
    """The types that a program says of its arguments; the words of nnkit's own modules are not
    those of a program."""
    home = getattr(function, "__globals__", {}).get("__name__") or ""
    if home.partition(".")[0] == "nnkit":
        return {}
    return getattr(function, "__annotations__", {})


class Tracer(TracerBase):
    """Runs a module or function on proxies.

    Args:
        autowrap_modules: Python modules whose functions become operations wherever they are called.
        autowrap_functions: functions that do.
        param_shapes_constant: whether the shapes of parameters are numbers.

    Attributes:
        traced_func_name: the method of a module that is traced.

    Source: ``torch.fx.Tracer``.

    Example:
        >>> import nnkit
        >>> graph = nnkit.fx.Tracer().trace(lambda x: x.relu() + 1)
        >>> [node.name for node in graph.nodes]
        ['x', 'relu', 'add', 'output']
    """

    traced_func_name = "forward"

    def __init__(
        self,
        autowrap_modules: Iterable[ModuleType] = (math,),
        autowrap_functions: Iterable[Callable] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_search = tuple(autowrap_modules)
        functions = [
            f for module in self._autowrap_search for n, f in vars(module).items()
            if n[0] != "_" and callable(f)
        ]  # fmt: skip
        self._autowrap_function_ids = {id(f) for f in (*functions, *autowrap_functions)}
        self.param_shapes_constant = param_shapes_constant
        self.root: Any = None
        self._within_programs = self._autowrap_function_ids
        self._held: dict[int, str] = {}  # the paths of tensors that are plain attributes
        self._within: dict[str, tuple[str, type]] = {}  # the modules that run, by their paths

    def __deepcopy__(self, memo: dict) -> Tracer:
        made = object.__new__(type(self))
        memo[id(self)] = made
        for name, value in vars(self).items():  # Python's modules are no values to be copied
            shared = name == "_autowrap_search"
            setattr(made, name, value if shared else copy.deepcopy(value, memo))
        return made

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        """Add an operation to the graph, which knows the modules that it was done in."""
        node = super().create_node(*args, **kwargs)
        if self._within and not has_preserved_node_meta():
            node.meta["nn_module_stack"] = dict(self._within)
        return node

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is called as a whole: one of nnkit's own that is no `Sequential`."""
        home = m.__module__.split(".")
        return home[0] in ("nnkit", "torch") and "nn" in home[1:2] and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path at which a module lies in the root.

        Raises:
            NameError: it does not.
        """
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError(f"path_of_module: the module {type(mod).__name__} is not in the root")

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a module's call: an operation, if the module is a leaf."""
        path, around = self.path_of_module(m), self._within
        self._within = {**around, path: (path, type(m))}
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self._within = around

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """The value of a module's attribute: an operation, if it is a parameter.

        With ``proxy_buffer_attributes`` also if it is a buffer.
        """
        if isinstance(attr_val, Parameter):
            named = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            named = self.root.named_buffers()
        else:
            return attr_val
        for name, value in named:
            if value is attr_val:
                if name not in parameter_proxy_cache:
                    parameter_proxy_cache[name] = self._parameter(name, value)
                return parameter_proxy_cache[name]
        return attr_val

    def _parameter(self, name: str, parameter: Tensor) -> Any:
        def known(node: Node) -> Proxy:
            return ParameterProxy(self, node, name, parameter)

        made = known if self.param_shapes_constant else None
        return self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=made)

    def create_arg(self, a: Any) -> Argument:
        """See `TracerBase.create_arg`; tensors and modules become attributes of the root."""
        check_keys(a)
        return map_aggregate(a, self._of_root)

    def _of_root(self, value: Any) -> Argument:
        if isinstance(value, Tensor):
            for name, known in (*self.root.named_parameters(), *self.root.named_buffers()):
                if known is value:
                    return self.create_node("get_attr", name, (), {})
            path = self._held.get(id(value)) or self._constant(value)
            return self.create_node("get_attr", path, (), {})
        if isinstance(type(value), ProxyableClassMeta):
            held = self._constant(value, f"_{type(value).__name__}_constant_")
            return self.create_node("get_attr", held, (), {})
        if isinstance(value, Module):
            return self.create_node("get_attr", self.path_of_module(value), (), {})
        return self._leaf(value)

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that no attribute of the root has: the prefix with a number after it."""
        names = (f"{prefix}{index}" for index in itertools.count())
        return next(name for name in names if not hasattr(self.root, name))

    def _constant(self, value: Any, name: str = "_tensor_constant") -> str:
        paths = (f"{name}{index}" for index in itertools.count())
        path = next(p for p in paths if getattr(self.root, p, value) is value)
        setattr(self.root, path, value)
        return path

    def create_args_for_root(
        self, root_fn: Callable, is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Callable, list[Any]]:
        """A function that takes positional arguments alone, and these: proxies, or values given."""
        function = inspect.unwrap(root_fn)
        types = _types_of(function)
        values: dict[str, Any] = {}
        parameters = inspect.signature(function).parameters.values()
        for parameter in parameters:
            if is_module and not values:
                if parameter.kind is parameter.VAR_POSITIONAL:
                    raise RuntimeError("forward(): `self` cannot be part of *args expansion")
                values[parameter.name] = self.root
            else:
                kind = types.get(parameter.name)
                values[parameter.name] = self._argument(parameter, kind, concrete_args or {})
        code = getattr(function, "__code__", None)
        args = list(values.values())
        if code is not None and any(p.kind > p.POSITIONAL_OR_KEYWORD for p in parameters):
            # What comes after a star is a value like the others: one proxy stands for all of it.
            flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
            plain = code.replace(co_argcount=len(values), co_kwonlyargcount=0, co_flags=flags)
            parts = (function.__globals__, function.__name__, None, function.__closure__)
            args = [values[name] for name in code.co_varnames[: len(values)]]
            root_fn = FunctionType(plain, *parts)
        leaves, spec = tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children()):
            return root_fn, args
        codegen = _PyTreeCodeGen(_PyTreeInfo(list(values), spec, None))
        self.graph.set_codegen(codegen)

        def of_leaves(*args: Any):  # type: ignore[no-untyped-def]  # not the program's own type
            out, out_spec = tree_flatten(root_fn(*tree_unflatten(args, spec)))
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out

        return of_leaves, leaves

    def _argument(self, parameter: inspect.Parameter, kind: Any, given: dict[str, Any]) -> Any:
        """A proxy for a parameter; or the tree given for it, with proxies for the `PH` in it."""
        name, default = parameter.name, parameter.default
        held = () if default is parameter.empty else (default,)
        if name not in given:
            stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
            if parameter.kind in stars:
                return self.create_proxy("placeholder", stars[parameter.kind] + name, (), {})
            return self.create_proxy("placeholder", name, held, {}, type_expr=kind)
        numbers = itertools.count(1)

        def leaf(value: Any) -> Any:
            made = self.create_proxy("placeholder", f"{name}_{next(numbers)}", held, {})
            if isinstance(value, PHBase):
                vars(made.node).update(vars(value) | vars(made.node))
                return made
            self._hold(made, name, value)
            return value

        return tree_map(leaf, given[name])

    def _hold(self, argument: Proxy, name: str, value: Any) -> None:
        """Let the program check that an argument has the value that it was traced for."""
        said = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (argument, said), {})
        elif isinstance(value, (str, int, float, complex, bool)):
            self.create_proxy("call_function", _assert, (argument == value, said), {})
        else:
            warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized "
                "function. It is up to the user to make sure that your inputs match the inputs you "
                "specialized the function with."
            )

    def trace(self, root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The operations that a module or function does.

        Args:
            root: the module, or a function of tensors.
            concrete_args: values of arguments, by name, for which the program is traced: it
                checks that it is called with the same. Lists and dicts may hold `PH` where it is
                called with other values; of these each becomes an argument of the graph.

        Raises:
            TraceError: what it does depends on the values of tensors.
        """
        is_module = isinstance(root, Module)
        self.root = root if is_module else Module()
        self._held = {
            id(value): f"{path}.{name}" if path else name
            for path, module in self.root.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, Tensor)
        }
        function: Any = root
        if is_module:
            function = getattr(type(root), self.traced_func_name, None)
            if function is None:
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in "
                    f"{type(root).__name__}"
                )
        self.graph = Graph(tracer_cls=type(self))
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is not None:
            words = ("co_name", "co_filename", "co_firstlineno")
            self.graph._co_fields = {word: getattr(code, word) for word in words}
        parameters: dict[str, Any] = {}
        call = Module.__call__

        def traced_call(module: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return call(module, *args, **kwargs)

            self._wrap_within(patches, module.forward)
            return self.call_module(module, forward, args, kwargs)

        def traced_read(module: Module, name: str) -> Any:
            try:
                value = object.__getattribute__(module, name)
            except AttributeError:
                value = type(module).__getattr__(module, name)
            return self.getattr(name, value, parameters)

        self._within_programs = self._autowrap_function_ids | {
            id(names[name] if name in names else getattr(builtins, name))
            for names, name in _wrapped
        }
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        with _Patches() as patches:
            patches.method(Module, "__call__", traced_call)
            patches.method(Module, "__getattribute__", traced_read)
            self._wrap_within(patches, inspect.unwrap(function))
            for names, name in _wrapped:
                patches.function(names, name)
            for module in self._autowrap_search:
                self._wrap_names(patches, vars(module), self._autowrap_function_ids)
            result = function(*args)
        kind = _types_of(function).get("return")
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        return self.graph

    def _wrap_within(self, patches: _Patches, function: Any) -> None:
        """Wrap what a function calls; the code of a graph calls what its own tracer wrapped."""
        file = getattr(getattr(function, "__code__", None), "co_filename", "")
        wanted = (
            self._within_programs if file.startswith("<nnkit.fx.") else self._autowrap_function_ids
        )
        self._wrap_names(patches, getattr(function, "__globals__", {}), wanted)

    @staticmethod
    def _wrap_names(patches: _Patches, names: dict[str, Any], wanted: set[int]) -> None:
        for name, value in list(names.items()):
            if name[:1] != "_" and callable(value) and id(value) in wanted:
                patches.function(names, name)


def symbolic_trace(
    root: Module | Callable, concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module that does what another module, or a function, does, as a graph.

    Args:
        root, concrete_args: see `Tracer.trace`.

    Raises:
        TraceError: what it does depends on the values of tensors.

    Source: ``torch.fx.symbolic_trace``.

    Example:
        >>> import nnkit
        >>> traced = nnkit.fx.symbolic_trace(lambda x, y: (x * y).sum())
        >>> traced(nnkit.tensor([1.0, 2.0]), nnkit.tensor([3.0, 4.0]))
        tensor(11.)
        >>> ph = nnkit.fx.PH
        >>> traced = nnkit.fx.symbolic_trace(lambda x: x["a"] - x["b"], {"x": {"a": ph, "b": ph}})
        >>> traced({"a": nnkit.tensor(5.0), "b": nnkit.tensor(3.0)})
        tensor(2.)
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
