"""Initialization, optimizers, schedulers and the helpers of training."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.objects import Arguments, Call, Made, f, given, i, nothing
from tests.harness.row import Named


def _initializers() -> list[Call]:
    arguments = {
        "uniform_": (0.0, 1.0), "normal_": (0.0, 1.0), "trunc_normal_": (0.0, 1.0, -2.0, 2.0),
        "constant_": (0.5,), "ones_": (), "zeros_": (), "eye_": (), "xavier_uniform_": (1.0,),
        "xavier_normal_": (1.0,), "kaiming_uniform_": (0, "fan_in", "relu"),
        "kaiming_normal_": (0, "fan_out", "leaky_relu"), "orthogonal_": (1.0,), "sparse_": (0.5,),
    }  # fmt: skip
    calls = [Call(f"nn.init.{name}", given(f(3, 4), *rest)) for name, rest in arguments.items()]
    calls.append(Call("nn.init.dirac_", given(f(4, 2, 3), 2)))
    calls.append(Call("nn.init.calculate_gain", given("leaky_relu", 0.1)))
    return calls


def parameter(lib: Any, value: Any, grad: Any) -> Any:
    """A parameter with a gradient."""
    made = lib.nn.Parameter(value)
    made.grad = grad
    return made


def _parameters() -> list[Made]:
    return [Made(parameter, f(2, 3), f(2, 3)), Made(parameter, f(3), f(3))]


def _optimizer(**options: Any) -> Made:
    return Made("optim.SGD", _parameters(), lr=0.1, **options)


OPTIONS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "dampening": 0.0},
    "Adam": {"betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.1, "amsgrad": True},
    "AdamW": {"betas": (0.9, 0.99), "amsgrad": True, "weight_decay": 0.1, "maximize": True},
    "Adagrad": {"lr_decay": 0.1, "initial_accumulator_value": 0.1, "eps": 1e-6},
    "Adadelta": {"rho": 0.8, "eps": 1e-6, "weight_decay": 0.1},
    "Adamax": {"betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.1},
    "NAdam": {"momentum_decay": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1},
    "RAdam": {"betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.1},
    "RMSprop": {"alpha": 0.9, "centered": True, "momentum": 0.5, "weight_decay": 0.1},
    "ASGD": {"lambd": 0.1, "alpha": 0.5, "t0": 1.0, "weight_decay": 0.1},
    "Rprop": {"etas": (0.5, 1.2), "step_sizes": (1e-6, 50)},
}


def _optimizers() -> list[Call]:
    calls = []
    step = ("step", given())
    for name, own in OPTIONS.items():
        path = f"optim.{name}"
        made = given(_parameters(), lr=0.1, **own)
        state = Made(saved_state, name, own)
        calls += [
            Call(path, made, (step, step, ("zero_grad", given(True)))),
            Call(path, made, (("add_param_group", given({"params": [f(2)], "lr": 0.2})), step)),
            Call(path, made, (("load_state_dict", given(state)), step)),
            Call(path, given([{"params": _parameters(), "lr": 0.1}], **own), (step,)),
            Call(path, given(_parameters(), lr=0.1, differentiable=False), (step,)),
        ]
    made = given(_parameters(), lr=0.1)
    groups = {
        "state": {},
        "param_groups": [
            {
                "params": [0, 1],
                "lr": 0.3,
                "momentum": 0.5,
                "dampening": 0,
                "weight_decay": 0,
                "nesterov": False,
                "maximize": False,
                "foreach": None,
                "fused": None,
            }
        ],
    }
    hooks = [
        f"register_{when}_hook" for when in (
            "step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre",
            "load_state_dict_post")
    ]  # fmt: skip
    calls += [
        Call("optim.LBFGS", given(
            _parameters(), lr=1, max_iter=2, max_eval=3, tolerance_grad=1e-7, history_size=3,
            line_search_fn="strong_wolfe")),
        Call("optim.LBFGS", given([Made("nn.Parameter", f(2))]), (("step", given(_one)),)),
        Call("optim.SGD", made, (("step", given(_one)),)),
        Call("optim.SGD", made, (("load_state_dict", given(groups)), step)),
        Call("optim.SGD", made, (("state_dict", given()),)),
        Call("optim.SGD", given([("a", Made("nn.Parameter", f(2)))], lr=0.1)),
        Call("optim.Optimizer", given(_parameters(), {"lr": 0.1})),
        Call("optim.Adam", given(_parameters(), lr=f(), betas=(0.9, 0.99), capturable=False)),
    ]  # fmt: skip
    calls += [Call("optim.SGD", made, ((hook, given(nothing)),)) for hook in hooks]
    return calls


def _one(*_: Any) -> float:
    return 1.0


def saved_state(lib: Any, name: str, options: dict[str, Any]) -> Any:
    """The state of an optimizer of the same parameters after one step."""
    parameters = [parameter(lib, lib.ones(2, 3), lib.ones(2, 3))]
    parameters.append(parameter(lib, lib.ones(3), lib.ones(3)))
    optimizer = getattr(lib.optim, name)(parameters, lr=0.1, **options)
    optimizer.step()
    return optimizer.state_dict()


def _utils() -> list[Call]:
    linear, conv = Made("nn.Linear", 3, 2), Made("nn.Conv2d", 2, 4, 3)
    normed = Made("nn.utils.weight_norm", linear)
    packed = Made("nn.utils.rnn.pack_padded_sequence", f(4, 2, 3), [4, 2])
    parametrized = Made("nn.utils.parametrizations.weight_norm", linear)
    pruned = Made("nn.utils.prune.l1_unstructured", linear, "weight", 0.5)
    eight, four = Made(_eval, "BatchNorm2d", 4), Made(_eval, "BatchNorm1d", 2)
    arguments: dict[str, Arguments] = {
        "clip_grad_norm_": given(_parameters(), 1.0, norm_type=2.0, error_if_nonfinite=False),
        "clip_grad_value_": given(_parameters(), 0.5, foreach=None),
        "clip_grads_with_norm_": given(_parameters(), 0.5, f()),
        "get_total_norm": given([f(2), f(3)], 2.0, False),
        "parameters_to_vector": given(_parameters()),
        "vector_to_parameters": given(f(9), _parameters()),
        "rnn.pad_sequence": given([f(2, 3), f(1, 3)], True, 0.5, "left"),
        "rnn.unpad_sequence": given(f(4, 2, 3), np.array([4, 2])),
        "rnn.pack_sequence": given([f(2, 3), f(1, 3)], enforce_sorted=False),
        "rnn.pack_padded_sequence": given(f(4, 2, 3), [2, 4], False, False),
        "rnn.pad_packed_sequence": given(packed, True, 0.5, 6),
        "rnn.unpack_sequence": given(packed),
        "rnn.invert_permutation": given(np.array([1, 0, 2])),
        "rnn.PackedSequence": given(f(6, 3), np.array([2, 2, 1, 1])),
        "weight_norm": given(linear, "weight", 0),
        "remove_weight_norm": given(normed, "weight"),
        "spectral_norm": given(linear, "weight", 1, 1e-6, 0),
        "remove_spectral_norm": given(Made("nn.utils.spectral_norm", linear), "weight"),
        "parametrizations.weight_norm": given(linear, "weight", 0),
        "parametrizations.spectral_norm": given(linear, "weight", 2, 1e-6, 1),
        "parametrize.register_parametrization": given(linear, "weight", Made("nn.Tanh")),
        "parametrize.remove_parametrizations": given(parametrized, "weight", True),
        "parametrize.is_parametrized": given(parametrized, "weight"),
        "parametrize.type_before_parametrizations": given(linear),
        "parametrize.ParametrizationList": given([Made("nn.Tanh")], f(3)),
        "fuse_conv_bn_eval": given(Made(_eval, "Conv2d", 2, 4, 3), eight),
        "fuse_linear_bn_eval": given(Made(_eval, "Linear", 3, 2), four),
        "fuse_conv_bn_weights": given(f(4, 2, 3, 3), f(4), f(4), f(4), 1e-5, f(4), f(4)),
        "fuse_linear_bn_weights": given(f(4, 2), f(4), f(4), f(4), 1e-5, f(4), f(4)),
        "prune.identity": given(linear, "weight"),
        "prune.random_unstructured": given(linear, "weight", 0.5),
        "prune.l1_unstructured": given(linear, "weight", 2, importance_scores=f(2, 3)),
        "prune.random_structured": given(conv, "weight", 0.5, 0),
        "prune.ln_structured": given(conv, "weight", 2, 2, 1),
        "prune.custom_from_mask": given(linear, "weight", i(2, 3, below=2)),
        "prune.global_unstructured": given(
            [(linear, "weight"), (conv, "bias")],
            Named("nn.utils.prune.L1Unstructured"), amount=0.3),
        "prune.remove": given(pruned, "weight"), "prune.is_pruned": given(pruned),
        "prune.L1Unstructured": given(0.5), "prune.LnStructured": given(0.5, 2, -1),
        "prune.RandomUnstructured": given(3), "prune.RandomStructured": given(1, -1),
        "prune.CustomFromMask": given(f(2)), "prune.PruningContainer": given(),
        "stateless.functional_call": given(linear, {"weight": f(2, 3)}, (f(4, 3),)),
    }  # fmt: skip
    calls = [Call(f"nn.utils.{name}", value) for name, value in arguments.items()]
    for name in ("weight_norm", "spectral_norm", "parametrizations.weight_norm"):
        calls.append(Call(f"nn.utils.{name}", given(linear), (("__call__", given(f(4, 3))),)))
    for method, own in {
        "to": given(Named("float64")), "cpu": given(), "is_pinned": given(),
    }.items():  # fmt: skip
        first = given(f(4, 2, 3), [4, 2])
        calls.append(Call("nn.utils.rnn.pack_padded_sequence", first, ((method, own),)))
    calls.append(Call("nn.utils.prune.L1Unstructured", given(0.5), (("prune", given(f(4))),)))
    return calls


def _eval(lib: Any, name: str, *args: Any) -> Any:
    return getattr(lib.nn, name)(*args).eval()


def _schedulers() -> list[Call]:
    rates: dict[str, Arguments] = {
        "StepLR": given(2, gamma=0.5), "MultiStepLR": given([1, 3], gamma=0.5),
        "ExponentialLR": given(0.9), "ConstantLR": given(factor=0.5, total_iters=2),
        "LinearLR": given(start_factor=0.5, end_factor=0.9, total_iters=3),
        "CosineAnnealingLR": given(5, 0.01),
        "CosineAnnealingWarmRestarts": given(5, 2), "PolynomialLR": given(4, 2.0),
        "OneCycleLR": given(0.5, total_steps=10, anneal_strategy="linear", cycle_momentum=False),
        "LambdaLR": given(_rate, last_epoch=-1), "MultiplicativeLR": given([_rate]),
        "ReduceLROnPlateau": given("min", 0.5, 0, threshold=0.1, threshold_mode="rel", cooldown=1),
    }  # fmt: skip
    calls = []
    for name, made in rates.items():
        step = ("step", given(0.5) if name == "ReduceLROnPlateau" else given())
        first = Arguments((_optimizer(), *made.args), made.kwargs)
        path = f"optim.lr_scheduler.{name}"
        calls += [
            Call(path, first, (step, step)), Call(path, first, (("state_dict", given()),)),
            Call(path, first, (step, ("get_last_lr", given()))),
            Call(path, first, (("load_state_dict", given({"last_epoch": 3, "_last_lr": [0.1]})),
                               step)),
        ]  # fmt: skip
    momentum = _optimizer(momentum=0.9)
    cyclic = given(momentum, 0.1, 0.5, step_size_up=2, mode="triangular2", base_momentum=0.8)
    calls.append(Call("optim.lr_scheduler.CyclicLR", cyclic, (("step", given()),)))
    one = given(momentum, [0.5], epochs=2, steps_per_epoch=3, pct_start=0.3, div_factor=25.0)
    calls.append(Call("optim.lr_scheduler.OneCycleLR", one, (("step", given()),)))
    step = ("step", given())
    for name, rest in {
        "SequentialLR": given(milestones=[1]), "ChainedScheduler": given(),
    }.items():  # fmt: skip
        calls.append(Call(combined, given(name, ["StepLR", "ExponentialLR"], [1, 0.5],
                                                 **rest.kwargs), (step, step)))  # fmt: skip
    linear = Made("nn.Linear", 3, 2)
    batches = [f(4, 3), f(4, 3)]
    calls += [
        Call("optim.swa_utils.AveragedModel", given(linear, use_buffers=True),
             (("update_parameters", given(linear)), ("__call__", given(f(4, 3))))),
        Call("optim.swa_utils.AveragedModel", given(linear, None, _average)),
        Call("optim.swa_utils.SWALR", given(_optimizer(), 0.05, 3, "linear"), (step, step)),
        Call("optim.swa_utils.get_ema_avg_fn", given(0.9), (("__call__", given(f(2), f(2), 3)),)),
        Call("optim.swa_utils.get_swa_avg_fn", given(), (("__call__", given(f(2), f(2), 3)),)),
        Call("optim.swa_utils.get_ema_multi_avg_fn", given(0.9),
             (("__call__", given([f(2)], [f(2)], 3)),)),
        Call("optim.swa_utils.get_swa_multi_avg_fn", given(),
             (("__call__", given([f(2)], [f(2)], i())),)),
        Call("optim.swa_utils.update_bn", given(batches, Made("nn.BatchNorm1d", 3))),
        Call("amp.GradScaler", given("cpu", 2.0, 2.0, 0.5, 3), (("scale", given(f(2))),)),
        Call("amp.GradScaler", given(init_scale=8.0), (("step", given(_optimizer())),)),
        Call("amp.GradScaler", given(init_scale=8.0), (("update", given(4.0)),)),
        Call("amp.autocast", given("cpu", enabled=False)),
    ]  # fmt: skip
    return calls


def combined(lib: Any, name: str, kinds: list[str], numbers: list[float], **options: Any) -> Any:
    """Several schedulers of one optimizer, combined."""
    weight = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([weight], lr=0.1)
    schedulers = lib.optim.lr_scheduler
    parts = [
        getattr(schedulers, kind)(optimizer, n) for kind, n in zip(kinds, numbers, strict=True)
    ]
    if name == "SequentialLR":
        return schedulers.SequentialLR(optimizer, parts, **options)
    return schedulers.ChainedScheduler(parts, **options)


def _average(averaged: Any, current: Any, number: Any) -> Any:
    return (averaged + current) / 2


def _rate(epoch: int) -> float:
    return 0.5**epoch


CALLS: list[Call] = [*_initializers(), *_optimizers(), *_utils(), *_schedulers()]
