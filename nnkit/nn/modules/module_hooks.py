"""Module hooks: functions that run before or after a forward or a backward.

A hook is stored in an ordered dictionary under its handle's id, and so is how it wants to be
called, where that is not as usual. The dictionaries of a module are made with its first hook;
those of this file serve all modules at once. They are torch's: libraries look for hooks there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.engine.node import RemovableHandle
from nnkit.backend.warning import warn
from nnkit.nn.modules.module_backward import BackwardHook

Hooks = OrderedDict[int, Any]
NO_HOOKS: Mapping[int, Any] = MappingProxyType({})


_global_forward_pre_hooks: Hooks = OrderedDict()
_global_forward_hooks: Hooks = OrderedDict()
_global_forward_hooks_with_kwargs: Hooks = OrderedDict()
_global_forward_hooks_always_called: Hooks = OrderedDict()
_global_backward_pre_hooks: Hooks = OrderedDict()
_global_backward_hooks: Hooks = OrderedDict()
_global_parameter_registration_hooks: Hooks = OrderedDict()
_global_buffer_registration_hooks: Hooks = OrderedDict()
_global_module_registration_hooks: Hooks = OrderedDict()
# Whether the global backward hooks are full ones; None while none was registered.
_global_is_full_backward_hook: bool | None = None


class ModuleHooks:
    """The part of Module that registers hooks and runs a call that has some."""

    # May this module have a hook that a call must run? One attribute, read by every call:
    # set by registering, cleared by the first call that finds no hook left.
    _hooked: bool = False
    _compiled_call_impl: Callable | None = None  # what `compile` made of its call
    _forward_pre_hooks: Mapping[int, Any] = NO_HOOKS
    _forward_pre_hooks_with_kwargs: Mapping[int, bool] = NO_HOOKS
    _forward_hooks: Mapping[int, Any] = NO_HOOKS
    _forward_hooks_with_kwargs: Mapping[int, bool] = NO_HOOKS
    _forward_hooks_always_called: Mapping[int, bool] = NO_HOOKS
    _backward_pre_hooks: Mapping[int, Any] = NO_HOOKS
    _backward_hooks: Mapping[int, Any] = NO_HOOKS
    _is_full_backward_hook: bool | None = None
    forward: Callable[..., Any]

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each forward.

        If the hook returns something, that replaces the positional arguments (a single value
        stands for a tuple of one). With ``with_kwargs`` the hook is called as
        ``hook(module, args, kwargs)`` and returns None or the pair ``(args, kwargs)``.

        Example:
            >>> import nnkit
            >>> layer = nnkit.nn.Identity()
            >>> handle = layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
            >>> layer(nnkit.zeros(1))
            tensor([1.])
            >>> handle.remove()
        """
        marks = ("_forward_pre_hooks_with_kwargs",) if with_kwargs else ()
        return _register_call_hook(self, "_forward_pre_hooks", hook, prepend, marks)

    def register_forward_hook(
        self,
        hook: Callable,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each forward.

        If the hook returns something, that replaces the output. With ``with_kwargs`` the hook is
        called as ``hook(module, args, kwargs, output)``. With ``always_call`` it is also called
        if the forward raises; the error is raised afterwards.

        Example:
            >>> import nnkit
            >>> layer = nnkit.nn.Identity()
            >>> with layer.register_forward_hook(lambda module, args, output: output * 2):
            ...     layer(nnkit.ones(1))
            tensor([2.])
        """
        marks = ("_forward_hooks_with_kwargs",) if with_kwargs else ()
        if always_call:
            marks = (*marks, "_forward_hooks_always_called")
        return _register_call_hook(self, "_forward_hooks", hook, prepend, marks)

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are computed.

        ``grad_output`` is a tuple, with None for outputs that are not tensors. If the hook returns
        something, that replaces it.

        Example:
            >>> import nnkit
            >>> x = nnkit.ones(1, requires_grad=True)
            >>> layer = nnkit.nn.Identity()
            >>> with layer.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 2,)):
            ...     layer(x).backward()
            >>> x.grad
            tensor([2.])
        """
        return _register_call_hook(self, "_backward_pre_hooks", hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when both are computed.

        If the hook returns something, that replaces ``grad_input``.

        Raises:
            RuntimeError: the module already has a hook of ``register_backward_hook``.

        Example:
            >>> import nnkit
            >>> layer = nnkit.nn.Linear(2, 1)
            >>> handle = layer.register_full_backward_hook(
            ...     lambda module, grad_input, grad_output: print(grad_output)
            ... )
            >>> layer(nnkit.ones(1, 2, requires_grad=True)).sum().backward()
            (tensor([[1.]]),)
            >>> handle.remove()
        """
        _check_kind(self._is_full_backward_hook, True)
        self.__dict__["_is_full_backward_hook"] = True
        return _register_call_hook(self, "_backward_hooks", hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` for the node of the output only.

        Deprecated, as in torch, because the inputs of that node need not be those of the module:
        use `register_full_backward_hook`.

        Raises:
            RuntimeError: the module already has a full backward hook.
        """
        _check_kind(self._is_full_backward_hook, False)
        self.__dict__["_is_full_backward_hook"] = False
        return _register_call_hook(self, "_backward_hooks", hook, False)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """Forward, preceded and followed by the hooks, not compiled."""
        pre_hooks = [
            *_marked(_global_forward_pre_hooks, NO_HOOKS),
            *_marked(self._forward_pre_hooks, self._forward_pre_hooks_with_kwargs),
        ]
        hooks = [
            *_marked(_global_forward_hooks, _global_forward_hooks_with_kwargs),
            *_marked(self._forward_hooks, self._forward_hooks_with_kwargs),
        ]
        watch, on_node = self._backward_watch()
        if not (pre_hooks or hooks or watch or on_node):
            if self._compiled_call_impl is None:
                self._forget_hooks()
            return self.forward(*args, **kwargs)
        result = None
        ran: set[int] = set()
        try:
            for _, hook, takes_kwargs in pre_hooks:
                args, kwargs = _run_pre_hook(self, hook, takes_kwargs, args, kwargs)
            if watch is not None:
                args = watch.setup_input_hook(args)
            result = self.forward(*args, **kwargs)
            for identity, hook, takes_kwargs in hooks:
                ran.add(identity)
                replaced = _run_forward_hook(self, hook, takes_kwargs, args, kwargs, result)
                result = result if replaced is None else replaced
            if watch is not None:
                result = self._watch_output(watch, result)
            if on_node:
                _hook_output_node(self, on_node, args, result)
        except Exception:
            always = {*_global_forward_hooks_always_called, *self._forward_hooks_always_called}
            for identity, hook, takes_kwargs in hooks:
                if identity in always and identity not in ran:
                    _run_after_error(self, hook, takes_kwargs, args, kwargs, result)
            raise
        return result

    def _backward_watch(self) -> tuple[BackwardHook | None, list[Callable]]:
        """The function that runs the full backward (pre) hooks, if there are any, and the hooks on
        the output's node."""
        pre_hooks = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        full: list[Callable] = []
        on_node: list[Callable] = []
        for is_full, hooks in (
            (_global_is_full_backward_hook, _global_backward_hooks),
            (self._is_full_backward_hook, self._backward_hooks),
        ):
            (full if is_full else on_node).extend(hooks.values())
        return (BackwardHook(self, full, pre_hooks) if full or pre_hooks else None), on_node

    def _forget_hooks(self) -> None:
        self.__dict__.pop("_hooked", None)
        if not (
            _global_forward_pre_hooks
            or _global_forward_hooks
            or _global_backward_pre_hooks
            or _global_backward_hooks
        ):
            ModuleHooks._hooked = False

    def _watch_output(self, watch: BackwardHook, result: Any) -> Any:
        if not isinstance(result, Tensor | tuple):
            warn(
                f"the backward hooks of {type(self).__name__} do not run: its output should be a "
                f"Tensor or a tuple of Tensors, but is a {type(result).__name__}"
            )
        return watch.setup_output_hook(result)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module."""
    return _register_global_call_hook(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module, before its own hooks.

    Example:
        >>> import nnkit
        >>> from nnkit.nn.modules.module import register_module_forward_hook
        >>> seen = []
        >>> with register_module_forward_hook(lambda module, args, output: seen.append(module)):
        ...     output = nnkit.nn.Sequential(nnkit.nn.Identity())(nnkit.zeros(1))
        >>> [type(module).__name__ for module in seen]
        ['Identity', 'Sequential']
    """
    marks = [_global_forward_hooks_with_kwargs] if with_kwargs else []
    if always_call:
        marks.append(_global_forward_hooks_always_called)
    return _register_global_call_hook(_global_forward_hooks, hook, marks)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` in backward for every module."""
    return _register_global_call_hook(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in backward for every module.

    Raises:
        RuntimeError: ``register_module_backward_hook`` was used before.
    """
    global _global_is_full_backward_hook
    _check_kind(_global_is_full_backward_hook, True)
    _global_is_full_backward_hook = True
    return _register_global_call_hook(_global_backward_hooks, hook)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for the node of every module's output.

    Deprecated, as in torch: use `register_module_full_backward_hook`.

    Raises:
        RuntimeError: ``register_module_full_backward_hook`` was used before.
    """
    global _global_is_full_backward_hook
    _check_kind(_global_is_full_backward_hook, False)
    _global_is_full_backward_hook = False
    return _register_global_call_hook(_global_backward_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when a module gets a parameter; it may replace it."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a module gets a buffer; it may replace it."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when a module gets a submodule; it may replace it."""
    return _add(_global_module_registration_hooks, hook)


def own_hooks(module: Any, registry: str) -> Hooks:
    """The module's own dictionary of hooks of that name, made on first use."""
    return module.__dict__.setdefault(registry, OrderedDict())


def _add(
    hooks: Hooks, entry: Any, prepend: bool = False, marks: Sequence[Hooks] = ()
) -> RemovableHandle:
    handle = RemovableHandle.add(hooks, entry, marks)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def add_hook(module: Any, registry: str, entry: Any, prepend: bool = False) -> RemovableHandle:
    """Store a hook in the module's dictionary of that name."""
    return _add(own_hooks(module, registry), entry, prepend)


def _register_call_hook(
    module: ModuleHooks, registry: str, hook: Callable, prepend: bool, marks: Sequence[str] = ()
) -> RemovableHandle:
    module.__dict__["_hooked"] = True
    marked = [own_hooks(module, name) for name in marks]
    return _add(own_hooks(module, registry), hook, prepend, marked)


def _register_global_call_hook(
    hooks: Hooks, hook: Callable, marks: Sequence[Hooks] = ()
) -> RemovableHandle:
    ModuleHooks._hooked = True
    return _add(hooks, hook, marks=marks)


def _marked(
    hooks: Mapping[int, Any], with_kwargs: Mapping[int, bool]
) -> list[tuple[int, Callable, bool]]:
    """The hooks with their keys, and whether each takes keyword arguments."""
    return [(key, hook, key in with_kwargs) for key, hook in hooks.items()]


def _check_kind(registered: bool | None, wanted: bool) -> None:
    if registered is not None and registered is not wanted:
        raise RuntimeError(
            "a module takes either full backward hooks or those of register_backward_hook, "
            f"not both: it has {'full ones' if registered else 'the latter'}"
        )


def _run_pre_hook(
    module: Any, hook: Callable, takes_kwargs: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not takes_kwargs:
        replaced = hook(module, args)
        if replaced is None:
            return args, kwargs
        return (replaced if isinstance(replaced, tuple) else (replaced,)), kwargs
    replaced = hook(module, args, kwargs)
    if replaced is None:
        return args, kwargs
    if not (isinstance(replaced, tuple) and len(replaced) == 2):
        raise RuntimeError(
            "a forward pre-hook with kwargs must return None or the pair (args, kwargs), "
            f"got {type(replaced).__name__}"
        )
    return replaced


def _run_forward_hook(
    module: Any, hook: Callable, takes_kwargs: bool, args: tuple[Any, ...],
    kwargs: dict[str, Any], result: Any,
) -> Any:  # fmt: skip
    return hook(module, args, kwargs, result) if takes_kwargs else hook(module, args, result)


def _run_after_error(
    module: Any, hook: Callable, takes_kwargs: bool, args: tuple[Any, ...],
    kwargs: dict[str, Any], result: Any,
) -> None:  # fmt: skip
    try:
        _run_forward_hook(module, hook, takes_kwargs, args, kwargs, result)
    except Exception as error:
        warn(
            f"a forward hook of {type(module).__name__} with always_call=True raised an error, "
            f"which is silenced because the forward had already raised one: {error}"
        )


def _first_tensor(value: Any) -> Tensor | None:
    while not isinstance(value, Tensor):
        if isinstance(value, Mapping):
            value = next((v for v in value.values() if isinstance(v, Tensor)), None)
        else:
            value = value[0] if isinstance(value, tuple | list) and value else None
        if value is None:
            return None
    return value


def _hook_output_node(module: Any, hooks: list[Callable], args: Any, result: Any) -> None:
    first = _first_tensor(result)
    node = None if first is None else first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grads, outputs, hook=hook: hook(module, grads, outputs))
    unseen = _unseen_by_hook(node, args, result)
    if unseen:
        warn(
            f"Using a non-full backward hook of {type(module).__name__} when {unseen}: it sees "
            "only the last node of the forward, so that its grad_input is not the module's. Use "
            "register_full_backward_hook instead",
            FutureWarning,
        )


def _unseen_by_hook(node: Any, args: Any, result: Any) -> str | None:
    """Why a hook on the last node does not get the gradients of all inputs of the module."""
    outputs = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(value, Tensor) for value in outputs):
        return "the Module does not return a single Tensor or a tuple of Tensors"
    if not all(isinstance(value, Tensor) for value in args):
        return "the Module does not take as input a single Tensor or a tuple of Tensors"
    if {value.grad_fn for value in outputs} - {None} != {node}:
        return "outputs are generated by different autograd Nodes"
    if {value.grad_fn for value in args} - {None} != {after for after, _ in node.next_functions}:
        return "the forward contains multiple autograd Nodes"
    return None
