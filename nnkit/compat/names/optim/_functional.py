"""torch.optim._functional: the steps of optimizers as functions of lists of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit import optim
from nnkit.optim.optimizer import Optimizer

# Which optimizer each function is a step of, and the lists of states that it takes after those of
# the parameters and of their gradients.
_FUNCTIONS = {
    "adadelta": (optim.Adadelta, "square_avgs acc_deltas state_steps"),
    "adagrad": (optim.Adagrad, "state_sums state_steps"),
    "adam": (optim.Adam, "exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps"),
    "adamax": (optim.Adamax, "exp_avgs exp_infs state_steps"),
    "adamw": (optim.AdamW, "exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps"),
    "asgd": (optim.ASGD, "axs mus etas state_steps"),
    "nadam": (optim.NAdam, "exp_avgs exp_avg_sqs mu_products state_steps"),
    "radam": (optim.RAdam, "exp_avgs exp_avg_sqs state_steps"),
    "rmsprop": (optim.RMSprop, "square_avgs grad_avgs momentum_buffer_list state_steps"),
    "rprop": (optim.Rprop, "prevs step_sizes state_steps"),
    "sgd": (optim.SGD, "momentum_buffer_list"),
}
# Options of an optimizer that are two of the function.
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}
# Of how a step is made, and hence without effect.
_FLAGS = frozenset("foreach capturable differentiable fused has_complex has_sparse_grad".split())


def _state_name(name: str) -> str:
    """The name in an optimizer's state of what a list holds: ``exp_avg`` for ``exp_avgs``."""
    return name.removeprefix("state_").removesuffix("_list").removesuffix("s")


def _as_function(optimizer: type[Optimizer], lists: list[str]) -> Callable:
    """One step of an optimizer as a function of parameters, gradients, states and options. It
    writes into the parameters and states, and makes states that are None."""

    def step(params: list, grads: list, *arguments: Any, **options: Any) -> None:
        options = dict(zip(lists, arguments)) | options  # what comes after the lists are flags
        states = {_state_name(name): options.pop(name) for name in lists}
        for name in ("grad_scale", "found_inf"):
            if options.pop(name, None) is not None:
                raise NotImplementedError(f"{name} is not supported: unscale the gradients before")
        options = {name: value for name, value in options.items() if name not in _FLAGS}
        for name, parts in _PAIRS.items():
            if parts[0] in options:
                options[name] = tuple([options.pop(part) for part in parts])
        if not params:
            return
        aliases = [p.detach() for p in params]  # whose gradients are nobody else's
        made: Any = optimizer(aliases, **options)
        for number, (p, grad) in enumerate(zip(aliases, grads, strict=True)):
            p.grad = grad
            for name, values in states.items():
                if number < len(values) and values[number] is not None:
                    made.state[p][name] = values[number]
        made.step()
        for number, p in enumerate(aliases):
            for name, values in states.items():
                if number < len(values) and name in made.state[p]:
                    values[number] = made.state[p][name]

    return step


for _name, (_optimizer, _lists) in _FUNCTIONS.items():
    globals()[_name] = _made = _as_function(_optimizer, _lists.split())
    _made.__name__ = _made.__qualname__ = _name
