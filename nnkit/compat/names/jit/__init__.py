"""torch.jit: functions and modules are returned as they are, and run in Python."""

from __future__ import annotations

from builtins import isinstance as _of_class
from types import FunctionType
from typing import Any, TypeVar
from typing import Final as Final
from weakref import WeakSet

from nnkit.compat.names._switches import fork, wait
from nnkit.compat.passing import Inert, false, nothing, say, unchanged
from nnkit.futures import Future as Future
from nnkit.nn import Module
from nnkit.nn.parameter import is_lazy

T = TypeVar("T")
_RUN_AS_THEY_ARE = "functions and modules run as they are written"


def script(obj: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The function, class or module itself.

    Raises:
        RuntimeError: a module has parameters or buffers that have no shape yet.
    """
    for module in obj.modules() if _of_class(obj, Module) else ():
        for name, tensor in (module._parameters | module._buffers).items():
            if is_lazy(tensor):
                kind = type(module)
                raise RuntimeError(
                    f"'{kind.__module__}.{kind.__name__}' has uninitialized parameters {name}. "
                    "Did you forget to run a forward pass?"
                )
    say("torch.jit.script", _RUN_AS_THEY_ARE)
    return _passed(unchanged(obj))


def trace(func: Any, *args: Any, **kwargs: Any) -> Any:
    """The function or module itself."""
    say("torch.jit.trace", _RUN_AS_THEY_ARE)
    return _passed(func)


def trace_module(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """The module itself."""
    return trace(mod)


def annotate(the_type: Any, the_value: T) -> T:
    """The value."""
    return the_value


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """The module itself."""
    return mod


def load(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Not available: files of TorchScript cannot be read.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.jit.load: nnkit has no interpreter of TorchScript")


def save(m: Any, f: Any, *args: Any, **kwargs: Any) -> None:
    """Not available: modules cannot be saved as TorchScript.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.jit.save: save the module's state_dict with torch.save")


_fork, _wait = fork, wait


def _get_trace_graph(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Not available: there are no graphs of TorchScript; `nnkit.fx` and `nnkit.export` trace.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.jit._get_trace_graph: nnkit has no graphs of TorchScript")


_PASSED: WeakSet = WeakSet()  # the modules and functions that went through `script` or `trace`


def _passed(obj: T) -> T:
    if _of_class(obj, (Module, FunctionType)):
        _PASSED.add(obj)
    return obj


class _Scripted(type):
    """The metaclass of torch's script classes, whose instances are what went through `script`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = vars(cls).get("_of")
        passed = kind is not None and _of_class(instance, kind) and instance in _PASSED
        return passed or super().__instancecheck__(instance)


class ScriptModule(Module, metaclass=_Scripted):
    """A module that went through `script` or `trace`."""

    _of = Module


class RecursiveScriptModule(ScriptModule):
    """See `ScriptModule`."""

    _of = Module


class ScriptFunction(metaclass=_Scripted):
    """A function that went through `script` or `trace`."""

    _of = FunctionType


def isinstance(obj: Any, target_type: Any) -> bool:  # torch's name
    """Whether an object is of a class; of ``List[int]`` and the like, of its container."""
    from typing import get_origin

    kinds = target_type if _of_class(target_type, tuple) else (target_type,)
    return _of_class(obj, tuple(get_origin(kind) or kind for kind in kinds))


class Error(RuntimeError):
    """An error of TorchScript, which is never raised."""


class TracerWarning(Warning):
    """A warning of a trace, which is never given."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing: there are none to ignore."""


ignore = unused = export = script_method = script_if_tracing = interface = unchanged
_overload = _overload_method = _script_if_tracing = unchanged
optimize_for_inference = freeze
is_scripting = is_tracing = false
enable_onednn_fusion = set_fusion_strategy = set_module = nothing
optimized_execution = fuser = strict_fusion = Inert
Attribute = annotate
CompilationUnit = Inert
