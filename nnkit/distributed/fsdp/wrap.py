"""Policies that choose the parts of a model to be wrapped by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nnkit.nn import Module, ModuleDict, ModuleList, MultiheadAttention

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

# A policy is asked twice about a module: whether to look into it (recurse), and whether to wrap it,
# with the number of its parameters that are in none of the parts wrapped already.
Asked = Callable[..., bool]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every module."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Wrap the modules for which a function returns True."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: set[type[Module]],
) -> bool:
    """Wrap the modules of some classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Wrap modules as soon as they have ``min_num_params`` parameters.

    Args:
        force_leaf_modules: classes whose parts are not wrapped; `MultiheadAttention` by default.
        exclude_wrap_modules: classes that are not wrapped; by default the containers without a
            forward.
    """
    if force_leaf_modules is None:
        force_leaf_modules = {MultiheadAttention}
    if exclude_wrap_modules is None:
        exclude_wrap_modules = {ModuleList, ModuleDict}
    refused = tuple(force_leaf_modules if recurse else exclude_wrap_modules)
    return nonwrapped_numel >= min_num_params and not isinstance(module, refused)


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Asked]
) -> bool:
    asked = {"module": module, "recurse": recurse, "nonwrapped_numel": nonwrapped_numel}
    return any(policy(**asked) for policy in policies)


class CustomPolicy:
    """Wrap the modules for which a function returns True, or the settings in which they differ."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._settings_of = lambda_fn

    def choose(self, root: Module, ignored: set[Module]) -> dict[Module, dict[str, Any]]:
        """The modules to wrap, with their own settings."""
        chosen = {}
        for module in root.modules():
            if module in ignored:
                continue
            found = self._settings_of(module)
            if not isinstance(found, (bool, dict)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return "
                    f"False/True or a kwarg dict, but it returned {found}"
                )
            if found:
                chosen[module] = {} if found is True else found
        return chosen


class ModuleWrapPolicy(CustomPolicy):
    """Wrap the modules of some classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)
        super().__init__(lambda module: isinstance(module, tuple(self._module_classes)))

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


def _sized(root: Module, policy: Asked, ignored: set[Module], free: set[Any]) -> Iterator[Module]:
    """The modules in a root that a function wraps, inner ones first."""

    def walk(module: Module, is_root: bool) -> tuple[list[Module], int]:
        size = sum(p.numel() for p in module.parameters() if p not in free)
        if not policy(module=module, recurse=True, nonwrapped_numel=size):
            return [], 0
        chosen, wrapped = [], 0
        for child in module.children():
            if child not in ignored:
                found, count = walk(child, False)
                chosen += found
                wrapped += count
        rest = size - wrapped
        if not is_root and policy(module=module, recurse=False, nonwrapped_numel=rest):
            return [*chosen, module], size
        return chosen, wrapped

    return iter(walk(root, True)[0])


def wrap_parts(
    root: Module,
    policy: Any,
    ignored: set[Module],
    free: set[Any],
    apart: dict[Module, dict[str, Any]],
    make: Callable[..., Module],
) -> None:
    """Replace the modules that a policy chooses, except the root, by wrappers around them.

    Args:
        ignored: modules that stay as they are.
        free: the parameters of those.
        apart: modules that are wrapped whatever the policy says, with their settings.
        make: wraps a module, given the settings in which it differs from the root.
    """
    if isinstance(policy, CustomPolicy):
        chosen = policy.choose(root, ignored)
    else:
        chosen = {module: {} for module in _sized(root, policy, ignored, free)}
    for module, settings in apart.items():
        chosen[module] = {**chosen.get(module, {}), **settings}
    made: dict[Module, Module] = {}

    def walk(module: Module, seen: set[Module]) -> None:
        for name, child in list(module._modules.items()):
            if child is None or child in ignored:
                continue
            if child not in seen:
                seen.add(child)
                walk(child, seen)
                if child in chosen and child is not root:
                    made[child] = make(child, **chosen[child])
            if child in made:
                setattr(module, name, made[child])

    walk(root, {root})


_settings: list[dict[str, Any]] = []  # of the block that `enable_wrap` opened


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """A context manager in which `wrap` wraps modules, with these settings.

    Raises:
        NotImplementedError: it is entered within another.
    """
    if _settings:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested "
            "autowrap."
        )
    _settings.append({"wrapper_cls": wrapper_cls, **wrapper_kwargs})
    try:
        yield
    finally:
        _settings.clear()


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Wrap a module within `enable_wrap`; elsewhere it stays as it is."""
    if not _settings:
        return module
    settings = {**_settings[0], **wrap_overrides}
    made: Module = settings.pop("wrapper_cls")(module, **settings)
    return made
