"""Modules as functions of their parameters: `functional_call`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.joining import stack
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
        module: is left as it was.
        parameters_and_buffers: a dict from dotted names to tensors, or a sequence of such dicts.
        args: the positional arguments, a tuple; or the only one.
        kwargs: the keyword arguments.
        tie_weights: what is one tensor under several names is replaced under all of them.
        strict: refuse names that are missing or unknown.

    Raises:
        RuntimeError: with ``strict``, for such names.
        AttributeError: there is no such parameter.

    Example:
        >>> import nnkit
        >>> layer, ones = nnkit.nn.Linear(2, 1), nnkit.ones(1, 2)
        >>> nnkit.func.functional_call(layer, {"weight": ones, "bias": ones[0, :1]}, ones)
        tensor([[3.]])
    """
    given: dict[str, Tensor] = {}
    several = isinstance(parameters_and_buffers, Sequence)
    for part in parameters_and_buffers if several else [parameters_and_buffers]:
        given.update(part)
    own: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    own.update(module.named_buffers(remove_duplicate=False))
    unknown, missing = sorted(given.keys() - own.keys()), sorted(own.keys() - given.keys())
    if strict and (unknown or missing):
        raise RuntimeError(
            f"functional_call: missing keys {missing}, unexpected keys {unknown} for "
            f"{type(module).__name__}"
        )
    if unknown:
        raise AttributeError(
            f"functional_call: {type(module).__name__} has no parameter or buffer {unknown[0]!r}"
        )
    if tie_weights:
        replaced = {id(own[name]): value for name, value in given.items()}
        given = {
            name: given.get(name, replaced[id(value)])
            for name, value in own.items()
            if id(value) in replaced
        }
    places = []
    for name, value in given.items():
        path, _, last = name.rpartition(".")
        owner = module.get_submodule(path)
        store: Any = owner._parameters if last in owner._parameters else owner._buffers
        places.append((store, last, store[last], value))
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    try:
        for store, last, _, value in places:
            store[last] = value
        return module(*args, **(kwargs or {}))
    finally:
        for store, last, before, _ in places:
            store[last] = before


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of models of one class, each stacked under its name.

    Raises:
        RuntimeError: there are no models, or of several classes.

    Example:
        >>> import nnkit
        >>> models = [nnkit.nn.Linear(2, 1) for _ in range(3)]
        >>> params, buffers = nnkit.func.stack_module_state(models)
        >>> params["weight"].shape
        nnkit.Size([3, 1, 2])
    """
    if not models or any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: models must be modules of one class, and not none")

    def stacked(states: list[Any]) -> dict[str, Tensor]:
        return {
            name: stack([s[name].detach() for s in states]).requires_grad_(value.requires_grad)
            for name, value in states[0].items()
        }

    parameters = [dict(m.named_parameters()) for m in models]
    return stacked(parameters), stacked([dict(m.named_buffers()) for m in models])
