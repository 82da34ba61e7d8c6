"""Modules as functions of their parameters: `functional_call`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.shape.joining import stack
from nnkit.nn.modules.module import Module

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Module,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the places of its parameters and buffers.

    Args:
        module: is left as it was. What it assigns to a replaced name during the call is put into
            the dict that is given.
        parameters_and_buffers: a dict from dotted names to tensors, or a sequence of such dicts
            without a common name.
        args: the positional arguments, a tuple; or the only one.
        kwargs: the keyword arguments.
        tie_weights: what is one tensor under several names is replaced under all of them.
        strict: refuse names that are missing or unknown.

    Raises:
        ValueError: no dicts are given, or a name or a tied tensor has several values.
        TypeError: a value, or what it would replace, is no tensor.
        AttributeError: a name leads through a module that is not there.
        RuntimeError: with ``strict``, for names that are missing or unknown.

    Example:
        >>> import nnkit
        >>> layer, ones = nnkit.nn.Linear(2, 1), nnkit.ones(1, 2)
        >>> nnkit.func.functional_call(layer, {"weight": ones, "bias": ones[0, :1]}, ones)
        tensor([[3.]])
    """
    given = _merged(parameters_and_buffers)
    values = _tied(given, _own(module)) if tie_weights else given
    if strict:
        _check_names(values, _own(module), module)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    before: dict[str, Any] = {}
    try:
        for name, value in values.items():
            before[name] = _swap(module, name, value)
        return module(*args, **({} if kwargs is None else kwargs))
    finally:
        for name, value in before.items():
            after = _swap(module, name, value)
            if name in given and after is not _MISSING:
                given[name] = after


_MISSING: Any = object()


def _own(module: Module) -> dict[str, Tensor]:
    """All parameters and buffers of a module, each under all its names."""
    own: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    return {**own, **dict(module.named_buffers(remove_duplicate=False))}


def _check_names(values: dict[str, Tensor], own: dict[str, Tensor], module: Module) -> None:
    unknown, missing = sorted(values.keys() - own.keys()), sorted(own.keys() - values.keys())
    complaints = [
        f"{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", unknown), ("Missing", missing))
        if names
    ]
    if complaints:
        raise RuntimeError(
            "\n\t".join([f"functional_call: {type(module).__name__} has other names:", *complaints])
        )


def _merged(parameters_and_buffers: Any) -> dict[str, Tensor]:
    """The dict itself, or several in one."""
    if isinstance(parameters_and_buffers, dict):
        return parameters_and_buffers
    merged: dict[str, Tensor] = {}
    if not isinstance(parameters_and_buffers, Sequence):
        raise ValueError(
            "functional_call: parameters_and_buffers must be a dict or a sequence of dicts, "
            f"got {type(parameters_and_buffers).__name__}"
        )
    for part in parameters_and_buffers:
        if not isinstance(part, dict):
            raise ValueError(f"functional_call: expected dicts, got {type(part).__name__}")
        if merged.keys() & part.keys():
            raise ValueError(
                f"functional_call: {sorted(merged.keys() & part.keys())} appeared in multiple "
                "dictionaries"
            )
        merged.update(part)
    return merged


def _tied(given: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given values under all names that the tensors they replace have in the module."""
    replaced: dict[int, Tensor] = {}
    for name in given.keys() & own.keys():
        value = replaced.setdefault(id(own[name]), given[name])
        if value is not given[name]:
            names = sorted(key for key in given if own.get(key) is own[name])
            raise ValueError(
                f"functional_call got multiple values for keys {names}, which are one tensor: pass "
                "one of them, or tie_weights=False"
            )
    tied = {name: replaced[id(t)] for name, t in own.items() if id(t) in replaced}
    return {**given, **tied}


def _swap(module: Module, path: str, value: Any) -> Any:
    """Put ``value`` in the place that ``path`` names, and return what was there."""
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    stores: tuple[Any, ...] = (owner._parameters, owner._buffers)
    store = next((s for s in stores if name in s), None)
    before = getattr(owner, name, _MISSING) if store is None else store[name]
    for tensor in (value, before):
        if not (tensor is None or tensor is _MISSING or isinstance(tensor, Tensor)):
            raise TypeError(
                f"functional_call: attribute `{path}`: {tensor!r:.80} is not an instance of "
                "torch.Tensor"
            )
    if value is _MISSING:
        delattr(owner, name)
    elif store is None:
        setattr(owner, name, value)
    else:
        store[name] = value
    return before


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of models of one class, each stacked under its name.

    Raises:
        RuntimeError: there are no models, or of several classes, not all are in training, or some
            of the tensors under a name require a gradient.
        TypeError: something else is given.

    Example:
        >>> import nnkit
        >>> models = [nnkit.nn.Linear(2, 1) for _ in range(3)]
        >>> params, buffers = nnkit.func.stack_module_state(models)
        >>> params["weight"].shape
        nnkit.Size([3, 1, 2])
    """
    if not isinstance(models, Sequence) or not all(isinstance(m, Module) for m in models):
        raise TypeError("stack_module_state: models must be a list of Modules")
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError("stack_module_state: all models must be in the same training/eval mode.")

    def stacked(states: list[Any]) -> dict[str, Tensor]:
        for name, value in states[0].items():
            if any(s[name].requires_grad != value.requires_grad for s in states):
                raise RuntimeError(
                    f"stack_module_state: {name} must have the same .requires_grad in all models"
                )
        return {
            name: stack([s[name].detach() for s in states]).requires_grad_(value.requires_grad)
            for name, value in states[0].items()
        }

    parameters = [dict(m.named_parameters()) for m in models]
    return stacked(parameters), stacked([dict(m.named_buffers()) for m in models])
