"""``state_dict`` and ``load_state_dict``: a module's state as a flat dictionary, and back.

Loading has two phases. The first compares all keys and shapes and collects the writes, the second
performs them. So a dictionary that does not fit leaves the module unchanged.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.arguments.overriding import is_tensor_like
from nnkit.autograd.engine.node import RemovableHandle
from nnkit.autograd.surface.swapping import swap_tensors
from nnkit.backend.warning import warn
from nnkit.nn.modules.conversion import get_swap_module_params_on_conversion
from nnkit.nn.modules.module_hooks import NO_HOOKS, add_hook
from nnkit.nn.modules.module_tree import ModuleTree
from nnkit.nn.parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
# The key of local_metadata under which `load_state_dict` collects writes to perform them later.
_WRITES = "deferred_writes"
_UNDO = "extra_states_before"  # the key for the functions that restore the previous extra states
# With more keys than this, a report does not look for the closest ones, which takes quadratic time.
_MAX_CLOSEST = 20


class _IncompatibleKeys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    __str__ = __repr__


class _WrappedHook:
    """A hook before ``load_state_dict``, which is called without the module and adds it if the hook
    takes it."""

    def __init__(self, hook: Callable, module: Any = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        self.module = weakref.ref(module) if self.with_module else None

    def __call__(self, *arguments: Any) -> Any:
        if self.module is None:
            return self.hook(*arguments)
        module = self.module()
        if module is None:
            raise RuntimeError(f"the module of the hook {self.hook!r:.80} no longer exists")
        return self.hook(module, *arguments)

    def __getstate__(self) -> dict[str, Any]:
        """The same state as torch's, with the module itself if the hook takes it."""
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.module else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        self.module = weakref.ref(state["module"]) if self.with_module else None


class ModuleState(ModuleTree):
    """The part of Module that saves and loads its state."""

    _version: int = 1
    _state_dict_hooks: Mapping[int, Any] = NO_HOOKS
    _state_dict_pre_hooks: Mapping[int, Any] = NO_HOOKS
    _load_state_dict_pre_hooks: Mapping[int, Any] = NO_HOOKS
    _load_state_dict_post_hooks: Mapping[int, Any] = NO_HOOKS

    def get_extra_state(self) -> Any:
        """Additional state for ``state_dict``; a subclass may override it.

        Raises:
            RuntimeError: the class overrides only ``set_extra_state``.
        """
        raise RuntimeError(f"{type(self).__name__} has no get_extra_state of its own")

    def set_extra_state(self, state: Any) -> None:
        """Restore what ``get_extra_state`` returned; a subclass may override it.

        Raises:
            RuntimeError: the class overrides only ``get_extra_state``.
        """
        raise RuntimeError(f"{type(self).__name__} has no set_extra_state of its own")

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the module's state is collected."""
        return add_hook(self, "_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after the module's state is
        collected. The hook may change the dictionary.

        If it returns something, ``state_dict`` raises RuntimeError.
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self, "_state_dict_hooks", hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return add_hook(self, "_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook`` before the module's state is loaded; it may change the dictionary.

        It is called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)``.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable, with_module: bool = False
    ) -> RemovableHandle:
        wrapped = _WrappedHook(hook, self if with_module else None)
        return add_hook(self, "_load_state_dict_pre_hooks", wrapped)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading, for children before parents.

        The hook may remove keys from the lists ``missing_keys`` and ``unexpected_keys``, to accept
        them, or raise.
        """
        return add_hook(self, "_load_state_dict_post_hooks", hook)

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """All parameters and persistent buffers under their dotted paths.

        Args:
            destination: a dictionary to add to; a new ``OrderedDict`` if not given.
            prefix: a prefix for each key.
            keep_vars: whether to store the parameters themselves, instead of detached tensors that
                share their memory.

        The attribute ``_metadata`` of the dictionary holds the version of each module.

        Example:
            >>> import nnkit
            >>> list(nnkit.nn.Linear(2, 1).state_dict(prefix="head."))
            ['head.weight', 'head.bias']
        """
        if args:
            warn(
                "state_dict: positional arguments are deprecated, "
                "write destination=, prefix=, keep_vars=",
                FutureWarning,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination", destination)
            prefix = given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError(
                    f"state_dict post-hook must return None, got {type(result).__name__}"
                )
            destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._own_state():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        for name, tensor in chain(self._parameters.items(), self._buffers.items()):
            if tensor is not None and name not in self._non_persistent_buffers_set:
                yield name, tensor

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state into the parameters and buffers of the module and its submodules.

        Args:
            state_dict: a mapping with keys as in ``state_dict()``.
            strict: whether missing and unexpected keys are errors.
            assign: whether the given tensors themselves become parameters and buffers.

        Returns:
            The named tuple ``(missing_keys, unexpected_keys)``.

        Raises:
            TypeError: ``state_dict`` is not a mapping.
            RuntimeError: a shape differs, or with ``strict``, keys are missing or unexpected. The
                message lists all of them, with the closest key. The module is left unchanged.

        Example:
            >>> import nnkit
            >>> layer = nnkit.nn.Linear(2, 1)
            >>> layer.load_state_dict({"weight": nnkit.ones(1, 2), "bias": nnkit.zeros(1)})
            <All keys matched successfully>
            >>> layer(nnkit.ones(2)).item()
            2.0
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict).__name__}")
        found = _Loading(getattr(state_dict, "_metadata", None) or {}, assign)
        found.compare(self, dict(state_dict), "")
        keys, errors, post_hooks = found.keys, found.errors, found.post_hooks
        misfit = strict and any(keys)
        if errors or (misfit and not post_hooks):
            found.undo()
            raise RuntimeError(_report(self, keys if strict else None, errors))
        # Post-hooks see the loaded values, and may accept keys. If they do not, the previous values
        # are restored.
        restore = _snapshot(self) if misfit else None
        for write in found.writes:
            write()
        if errors:
            raise RuntimeError(_report(self, keys if strict else None, errors))
        for hook in post_hooks:
            if hook(keys) is not None:
                raise RuntimeError("load_state_dict: a post-hook must return None")
        if strict and any(keys):
            if restore is not None:
                found.undo()
                restore()
            raise RuntimeError(_report(self, keys, errors))
        return keys

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        arguments = (state_dict, prefix, local_metadata, strict)
        found = (missing_keys, unexpected_keys, error_msgs)
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(*arguments, *found)
        writes: list[Callable[[], Any]] = local_metadata.get(_WRITES, [])
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = dict(self._own_state())
        for name, tensor in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            value = state_dict[key]
            error = _misfit(key, tensor, value)
            if error is not None:
                error_msgs.append(error)
                continue
            if tensor.is_meta and not value.is_meta and not assign:
                warn(
                    f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                    "parameter in the current model, which is a no-op. (Did you mean to pass "
                    "`assign=True` to assign items in the state dictionary to their "
                    "corresponding key in the module instead of copying them in place?)"
                )
            if get_swap_module_params_on_conversion():
                write: Callable[[], Any] = partial(_swap, key, tensor, value, assign)
            elif assign:
                write = partial(_assign, self, name, tensor, value)
            else:
                write = partial(_copy, tensor, value)
            writes.append(partial(_tried, write, key, error_msgs))
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            if extra_key in state_dict:
                # Set at once, since this may add submodules.
                if type(self).get_extra_state is not ModuleState.get_extra_state:
                    undo = local_metadata.get(_UNDO, [])
                    undo.append(partial(self.set_extra_state, self.get_extra_state()))
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else own):
                        unexpected_keys.append(key)
        if _WRITES not in local_metadata:
            for write in writes:
                write()


class _Loading:
    """The result of comparing a state with modules, before anything is written."""

    def __init__(self, metadata: Mapping[str, Any], assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.keys = _IncompatibleKeys([], [])
        self.errors: list[str] = []
        self.writes: list[Callable[[], Any]] = []
        self.extra_states: list[Callable[[], Any]] = []
        self.post_hooks: list[Callable[[_IncompatibleKeys], Any]] = []

    def compare(self, module: Any, state: dict[str, Any], prefix: str) -> None:
        """Compare the keys that begin with a prefix with a module and all below it."""
        local_metadata = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local_metadata["assign_to_params_buffers"] = self.assign
        local_metadata[_WRITES] = self.writes
        local_metadata[_UNDO] = self.extra_states
        module._load_from_state_dict(state, prefix, local_metadata, True, *self.keys, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                part = {key: state[key] for key in state if key.startswith(path)}
                self.compare(child, part, path)
        for hook in module._load_state_dict_post_hooks.values():
            self.post_hooks.append(partial(hook, module))

    def undo(self) -> None:
        """Set the extra states that were there before."""
        for set_back in reversed(self.extra_states):
            set_back()


def _misfit(key: str, tensor: Tensor, value: Any) -> str | None:
    if not is_tensor_like(value):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
    if is_lazy(tensor) and not is_lazy(value):
        return None
    if is_lazy(value):
        if is_lazy(tensor):
            return None
        return (
            f"size mismatch for {key}: Can't access the shape of an uninitialized parameter or "
            "buffer of the state dict, which a lazy module gave"
        )
    if value.shape == tensor.shape or (tensor.ndim == 0 and tuple(value.shape) == (1,)):
        return None
    return (
        f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
        f"the shape in current model is {tensor.shape}."
    )


def _tried(write: Callable[[], Any], key: str, errors: list[str]) -> None:
    """Write one tensor; what it raises is one of the errors that are reported together."""
    try:
        write()
    except Exception as error:
        errors.append(f'While copying the parameter named "{key}", an exception occurred: {error}')


def _copy(tensor: Any, value: Tensor) -> None:
    if is_lazy(value):
        return
    if is_lazy(tensor):
        tensor.materialize(value.shape)
    with no_grad():
        # A scalar saved by torch before 0.4 has one dimension.
        tensor.copy_(value[0] if value.ndim > tensor.ndim else value)


def _swap(key: str, tensor: Any, value: Tensor, assign: bool) -> None:
    """Let a tensor become what it says that it is to be when another is loaded for it."""
    with no_grad():
        loaded = tensor.module_load(value[0] if value.ndim > tensor.ndim else value, assign=assign)
        if loaded is tensor or loaded is value:
            raise RuntimeError(
                f"load_state_dict: module_load of {key} must return a new tensor, got one of its "
                "arguments; use detach()"
            )
        if isinstance(loaded, Parameter):
            loaded.requires_grad_(tensor.requires_grad)
        elif isinstance(tensor, Parameter):
            loaded = Parameter(loaded, tensor.requires_grad)
        swap_tensors(tensor, loaded)


def _assign(module: Any, name: str, tensor: Tensor, value: Tensor) -> None:
    if isinstance(tensor, Parameter):
        if isinstance(value, Parameter):
            value.requires_grad_(tensor.requires_grad)
        else:
            value = Parameter(value, tensor.requires_grad)
    setattr(module, name, value)


def _snapshot(module: ModuleTree) -> Callable[[], None]:
    registries = [r for m in module.modules() for r in (m._parameters, m._buffers)]
    contents = [(registry, dict(registry)) for registry in registries]
    values = [
        (tensor, tensor.detach().clone())
        for tensor in chain(module.parameters(), module.buffers())
        if not is_lazy(tensor)
    ]

    def restore() -> None:
        for registry, content in contents:
            registry.update(content)
        with no_grad():
            for tensor, value in values:
                tensor.copy_(value)

    return restore


def _report(module: ModuleTree, keys: _IncompatibleKeys | None, errors: list[str]) -> str:
    lines = []
    if keys is not None:
        missing, unexpected = keys
        if missing:
            lines.append(_key_list("Missing", missing, unexpected, "unexpected"))
        if unexpected:
            lines.append(_key_list("Unexpected", unexpected, missing, "missing"))
    text = "\n\t".join(lines + errors)
    return f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{text}"


def _key_list(title: str, keys: list[str], others: list[str], relation: str) -> str:
    import difflib  # slow to import, and only an error needs it

    named = []
    for position, key in enumerate(keys):
        close = difflib.get_close_matches(key, others, 1) if position < _MAX_CLOSEST else []
        named.append(f'"{key}" (closest {relation} key: "{close[0]}")' if close else f'"{key}"')
    return f"{title} key(s) in state_dict: {', '.join(named)}. "  # torch's, to the last space
