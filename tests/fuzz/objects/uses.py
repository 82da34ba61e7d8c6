"""Small programs around one value that the user chose: what hooks, Functions and samplers return,
what is assigned to a module's attribute, an optimizer's group or its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.objects import Call, Made, f, given, nothing


def _function(lib: Any, forward: Callable, backward: Callable) -> Any:
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Own", (lib.autograd.Function,), methods)


def _gradient(lib: Any, forward: Callable, backward: Callable) -> list[Any]:
    x = lib.ones(3, requires_grad=True)
    y = _function(lib, forward, backward).apply(x)
    y.sum().backward()
    return [y.detach(), x.grad]


def _same(ctx: Any, grad: Any) -> Any:
    return grad


def forward_returns(lib: Any, value: Any) -> Any:
    return _function(lib, lambda ctx, x: value, _same).apply(lib.ones(3, requires_grad=True))


def backward_returns(lib: Any, value: Any) -> Any:
    return _gradient(lib, lambda ctx, x: x * 2, lambda ctx, grad: value)


def saves(lib: Any, value: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(value)
        return x * 2

    return _gradient(lib, forward, lambda ctx, grad: grad * ctx.saved_tensors[0])


def context_call(lib: Any, method: str, value: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        getattr(ctx, method)(value)
        return x * 2

    return _gradient(lib, forward, _same)


def applied_to(lib: Any, *values: Any) -> Any:
    return _function(lib, lambda ctx, x: x * 2, _same).apply(*values)


def tensor_hook_returns(lib: Any, value: Any) -> Any:
    x = lib.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: value)
    y.sum().backward()
    return x.grad


def tensor_hook(lib: Any, hook: Any) -> Any:
    x = lib.ones(3, requires_grad=True)
    x.register_hook(hook)
    (x * 2).sum().backward()
    return x.grad


def accumulate_hook(lib: Any, hook: Any) -> Any:
    x = lib.ones(3, requires_grad=True)
    x.register_post_accumulate_grad_hook(hook)
    (x * 2).sum().backward()
    return x.grad


def module_hook_returns(lib: Any, kind: str, value: Any) -> Any:
    module = lib.nn.Linear(3, 2)
    getattr(module, f"register_{kind}_hook")(lambda *_: value)
    x = lib.ones(4, 3, requires_grad=True)
    y = module(x)
    if y.requires_grad:
        y.sum().backward()
    return [y.detach(), x.grad]


def forward_of_module_returns(lib: Any, value: Any) -> Any:
    module = lib.nn.Module()
    module.forward = lambda *_: value
    return module(1)


def assigned(lib: Any, name: str, value: Any) -> Any:
    module = lib.nn.BatchNorm1d(3)
    setattr(module, name, value)
    return [module(lib.ones(4, 3)).detach(), *module.state_dict()]


def group_option(lib: Any, name: str, option: str, value: Any) -> Any:
    optimizer, weights = _stepped(lib, name)
    optimizer.param_groups[0][option] = value
    optimizer.step()
    return weights


def _stepped(lib: Any, name: str) -> tuple[Any, list[Any]]:
    weights = [lib.nn.Parameter(lib.ones(2, 3)), lib.nn.Parameter(lib.ones(3))]
    for weight in weights:
        weight.grad = lib.ones_like(weight) * 0.5
    options = {"SGD": {"momentum": 0.9}, "RMSprop": {"centered": True, "momentum": 0.9}}
    options["Adam"] = {"amsgrad": True}
    optimizer = getattr(lib.optim, name)(weights, lr=0.1, **options.get(name, {}))
    optimizer.step()
    return optimizer, weights


def state_entry(lib: Any, name: str, key: str, value: Any) -> Any:
    """A step with one entry of an optimizer's state replaced."""
    optimizer, weights = _stepped(lib, name)
    assert key in optimizer.state[weights[0]]
    optimizer.state[weights[0]][key] = value
    optimizer.step()
    return weights


def loaded_state_entry(lib: Any, name: str, key: str, value: Any) -> Any:
    """The same through ``load_state_dict``."""
    optimizer, weights = _stepped(lib, name)
    state = optimizer.state_dict()
    state["state"][0][key] = value
    optimizer.load_state_dict(state)
    optimizer.step()
    return weights


def gradient_is(lib: Any, value: Any) -> Any:
    weight = lib.nn.Parameter(lib.ones(2, 3))
    weight.grad = value
    return weight.grad


def data_is(lib: Any, value: Any) -> Any:
    weight = lib.nn.Parameter(lib.ones(2, 3))
    weight.data = value
    return weight


def backward_from(lib: Any, *values: Any, **options: Any) -> Any:
    x = lib.ones(3, requires_grad=True)
    (x * 2).backward(*values, **options)
    return x.grad


def gradient_of(lib: Any, outputs: int, inputs: int, *values: Any, **options: Any) -> Any:
    x, z = (lib.ones(3, requires_grad=True) for _ in range(2))
    y = [x * z, x * 3][:outputs]
    return lib.autograd.grad(y, [x, z][:inputs], *values, **options)


def rate_returns(lib: Any, kind: str, value: Any) -> Any:
    optimizer, _ = _stepped(lib, "SGD")
    scheduler = getattr(lib.optim.lr_scheduler, kind)(optimizer, lambda epoch: value)
    optimizer.step()
    scheduler.step()
    return scheduler.get_last_lr()


def collate_returns(lib: Any, value: Any) -> Any:
    return list(lib.utils.data.DataLoader([1, 2, 3], 2, collate_fn=lambda batch: value))


def sampler_yields(lib: Any, value: Any) -> Any:
    return list(lib.utils.data.DataLoader([1, 2, 3], 2, sampler=[value]))


def batch_sampler_yields(lib: Any, value: Any) -> Any:
    return list(lib.utils.data.DataLoader([1, 2, 3], batch_sampler=[value]))


def dataset_gives(lib: Any, value: Any) -> Any:
    return list(lib.utils.data.DataLoader([value, value], 2))


def transformed(lib: Any, kind: str, value: Any) -> Any:
    """A transform of a function that returns the value."""
    return getattr(lib.func, kind)(lambda x: value)(lib.ones(2))


def checkpointed(lib: Any, value: Any) -> Any:
    return lib.utils.checkpoint.checkpoint(lambda x: value, lib.ones(2), use_reentrant=False)


def parametrized_by(lib: Any, value: Any) -> Any:
    class Own(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return value

    module = lib.nn.Linear(3, 2)
    lib.nn.utils.parametrize.register_parametrization(module, "weight", Own())
    return module.weight


def lazily(lib: Any, name: str, value: Any) -> Any:
    """A module whose parameters are not there yet, used as if they were."""
    module = lib.nn.LazyLinear(2)
    module.load_state_dict({"weight": lib.ones(2, 3), "bias": value})
    return getattr(module(lib.ones(4, 3)), name)()


def _uses() -> list[Call]:
    x, tensors = f(3), (f(3), f(3))
    calls = [
        Call(forward_returns, given(x)), Call(forward_returns, given(tensors)),
        Call(backward_returns, given(x)), Call(backward_returns, given((x,))),
        Call(saves, given(x)), Call(applied_to, given(x)),
        Call(context_call, given("mark_dirty", x)),
        Call(context_call, given("mark_non_differentiable", x)),
        Call(context_call, given("set_materialize_grads", False)),
        Call(tensor_hook_returns, given(x)), Call(tensor_hook, given(nothing)),
        Call(accumulate_hook, given(nothing)), Call(forward_of_module_returns, given(x)),
        Call(gradient_is, given(f(2, 3))), Call(data_is, given(f(2, 3))),
        Call(backward_from, given(f(3), retain_graph=True, create_graph=False)),
        Call(backward_from, given(f(3), inputs=None)),
        Call(gradient_of, given(1, 2, f(3), allow_unused=True, retain_graph=None)),
        Call(gradient_of, given(2, 1, tensors, materialize_grads=True)),
        Call(collate_returns, given(x)), Call(sampler_yields, given(1)),
        Call(batch_sampler_yields, given([1, 2])), Call(dataset_gives, given(x)),
        Call(dataset_gives, given((1, "a"))), Call(checkpointed, given(x)),
        Call(parametrized_by, given(f(2, 3))), Call(lazily, given("sum", f(2))),
        Call(transformed, given("jacfwd", f(2))), Call(transformed, given("vmap", f(2))),
        Call(transformed, given("grad", f())), Call(transformed, given("jacrev", f(2))),
    ]  # fmt: skip
    for kind, value in {
        "forward": f(4, 2), "forward_pre": f(4, 3), "full_backward": (f(4, 3),),
        "full_backward_pre": (f(4, 2),),
    }.items():  # fmt: skip
        calls.append(Call(module_hook_returns, given(kind, value)))
    for name, value in {
        "weight": Made("nn.Parameter", f(3)), "running_mean": f(3), "eps": 1e-3, "momentum": 0.5,
        "num_batches_tracked": np.asarray(3), "training": False, "other": Made("nn.ReLU"),
    }.items():  # fmt: skip
        calls.append(Call(assigned, given(name, value)))
    for name, (option, value, *keys) in {
        "SGD": ("momentum", 0.5, "momentum_buffer"), "RAdam": ("weight_decay", 0.1, "exp_avg"),
        "Adam": ("betas", (0.9, 0.99), "step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
        "AdamW": ("eps", 1e-6, "step", "exp_avg"), "Adagrad": ("lr_decay", 0.1, "step", "sum"),
        "Adadelta": ("rho", 0.9, "square_avg", "acc_delta"), "Adamax": ("eps", 1e-6, "exp_inf"),
        "RMSprop": ("alpha", 0.9, "square_avg", "grad_avg", "momentum_buffer"),
        "NAdam": ("momentum_decay", 0.1, "mu_product", "exp_avg"), "Rprop": ("etas", (0.5, 1.2),
        "prev", "step_size"), "ASGD": ("lambd", 0.1, "ax", "mu", "eta"),
    }.items():  # fmt: skip
        calls.append(Call(group_option, given(name, option, value)))
        calls.append(Call(group_option, given(name, "lr", 0.5)))
        for key in keys:
            entry = f() if key in ("step", "mu_product", "mu", "eta") else f(2, 3)
            calls.append(Call(state_entry, given(name, key, entry)))
            calls.append(Call(loaded_state_entry, given(name, key, entry)))
    for kind in ("LambdaLR", "MultiplicativeLR"):
        calls.append(Call(rate_returns, given(kind, 0.5)))
    return calls


CALLS: list[Call] = _uses()
