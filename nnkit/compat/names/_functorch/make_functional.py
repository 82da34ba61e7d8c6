"""torch._functorch.make_functional: modules as functions of their parameters, the old way."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import nnkit
from nnkit import Tensor, nn
from nnkit.func import functional_call


def _parts(named: Any, disable_autograd_tracking: bool) -> tuple[tuple[str, ...], tuple]:
    """The names of parameters or buffers, and the tensors themselves."""
    parts = dict(named)
    if disable_autograd_tracking:
        for tensor in parts.values():
            tensor.requires_grad_(False)
    return tuple(parts), tuple(parts.values())


class FunctionalModuleWithBuffers(nn.Module):
    """A module as a function of its parameters, its buffers and its inputs."""

    def __init__(self, stateless_model: nn.Module, param_names: tuple, buffer_names: tuple) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        state = dict(zip(self.param_names, params)) | dict(zip(self.buffer_names, buffers))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(nn.Module):
    """A module without buffers as a function of its parameters and its inputs."""

    def __init__(self, stateless_model: nn.Module, param_names: tuple) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        state = dict(zip(self.param_names, params))
        return functional_call(self.stateless_model, state, args, kwargs)


def make_functional(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple]:
    """A function of parameters and inputs, and the parameters: those of a copy of ``model``.

    Raises:
        RuntimeError: the module has buffers.
    """
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers: use make_functional_with_buffers(model)"
        )
    model = copy.deepcopy(model)
    names, params = _parts(model.named_parameters(), disable_autograd_tracking)
    return FunctionalModule(model, names), params


def make_functional_with_buffers(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple, tuple]:
    """A function of parameters, buffers and inputs, with the parameters and buffers of a copy."""
    model = copy.deepcopy(model)
    names, params = _parts(model.named_parameters(), disable_autograd_tracking)
    buffer_names, buffers = _parts(model.named_buffers(), False)
    return FunctionalModuleWithBuffers(model, names, buffer_names), params, buffers


def combine_state_for_ensemble(
    models: Sequence[nn.Module],
) -> tuple[FunctionalModuleWithBuffers, tuple, tuple]:
    """One function for modules of a class, and their parameters and buffers, each stacked.

    Raises:
        RuntimeError: there are no modules, or they differ in class or mode.
    """
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to be of the same class."
        )
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    functions, *states = zip(*map(make_functional_with_buffers, models), strict=True)
    params, buffers = [tuple(map(_stacked, zip(*state, strict=True))) for state in states]
    return functions[0], params, buffers


def _stacked(tensors: tuple[Tensor, ...]) -> Tensor:
    return nnkit.stack(tensors).detach()
