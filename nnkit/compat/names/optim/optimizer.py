"""torch.optim.optimizer: what optimizers of other libraries take from it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.compat.passing import false

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
params_t = _params_t = ParamsT


class _RequiredParameter:
    """The default of a hyperparameter that has none."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _use_grad_for_differentiable(func: Callable) -> Callable:
    """A step that runs without a graph, unless the optimizer is differentiable."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with nnkit.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def _default_to_fused_or_foreach(
    params: Any, differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether to use the fused form, and that for lists: a loop over the tensors is as good."""
    return False, False


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    return x


def _dispatch_sqrt(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _view_as_real(params: list, *states: list) -> None:
    for index, param in enumerate(params):
        if param.is_complex():
            params[index] = nnkit.view_as_real(param)
            for state in states:
                state[index] = nnkit.view_as_real(state[index])


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda"]


_disable_dynamo_if_unsupported = lambda single_tensor_fn=None: lambda func: func
_capturable_doc = _differentiable_doc = _foreach_doc = _fused_doc = _maximize_doc = _params_doc = ""
is_compiling = false
