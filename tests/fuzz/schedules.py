"""Random optimizers, schedules and habits of training loops for `tests.fuzz.training`."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.layers import Draw, options

GROUPS = (
    "model.parameters()",
    "model.parameters()",
    "model.named_parameters()",
    "[{'params': [p for n, p in model.named_parameters() if 'bias' in n], 'weight_decay': 0.1}, "
    "{'params': [p for n, p in model.named_parameters() if 'bias' not in n], 'lr': 0.02}]",
)


def _optimizer(name: str, **choices: tuple) -> Callable[[Draw], str]:
    def write(draw: Draw) -> str:
        common: dict[str, tuple] = {}
        if name != "LBFGS":
            common = {"foreach": (True, False), "maximize": (True,)}
        if name not in ("LBFGS", "Rprop"):
            common["weight_decay"] = (0.1,)
        chosen = options(draw, **choices, **common)
        parameters = "model.parameters()" if name == "LBFGS" else draw.choice(GROUPS)
        return f"T.optim.{name}({parameters}, lr={draw.choice((0.1, 0.01))}{chosen})"

    return write


BETAS = ((0.8, 0.95),)

OPTIMIZERS: list[Callable[[Draw], str]] = [
    _optimizer("SGD", momentum=(0.9,), dampening=(0.1,)),
    _optimizer("SGD", momentum=(0.5,), nesterov=(False,)),
    lambda draw: f"T.optim.SGD({draw.choice(GROUPS)}, lr=0.05, momentum=0.9, nesterov=True)",
    _optimizer("Adam", betas=BETAS, eps=(1e-3,), amsgrad=(True,), decoupled_weight_decay=(True,)),
    _optimizer("AdamW", betas=BETAS, eps=(1e-3,), amsgrad=(True,)),
    _optimizer("NAdam", betas=BETAS, momentum_decay=(0.1,), decoupled_weight_decay=(True,)),
    _optimizer("RAdam", betas=BETAS, eps=(1e-3,), decoupled_weight_decay=(True,)),
    _optimizer("Adamax", betas=BETAS, eps=(1e-3,)),
    _optimizer("Adagrad", lr_decay=(0.1,), initial_accumulator_value=(0.2,), eps=(1e-3,)),
    _optimizer("Adadelta", rho=(0.5,), eps=(1e-3,)),
    _optimizer("RMSprop", alpha=(0.5,), eps=(1e-3,), momentum=(0.9,), centered=(True,)),
    _optimizer("Rprop", etas=((0.4, 1.3),), step_sizes=((1e-3, 1.0),)),
    _optimizer("ASGD", lambd=(0.1,), alpha=(0.5,), t0=(1.0, 2.0)),
    _optimizer("Adafactor", beta2_decay=(-0.5,), d=(0.5,)),
    _optimizer("LBFGS", max_iter=(3,), history_size=(2,), line_search_fn=("strong_wolfe",)),
]

_S = "T.optim.lr_scheduler."
_SIMPLE: list[Callable[[Draw], str]] = [
    lambda draw: f"StepLR(optimizer, {draw.choice((1, 2))}{options(draw, gamma=(0.5,))})",
    lambda draw: f"MultiStepLR(optimizer, [1, 3]{options(draw, gamma=(0.5,))})",
    lambda draw: f"ConstantLR(optimizer{options(draw, factor=(0.5,), total_iters=(2,))})",
    lambda draw: f"LinearLR(optimizer{options(draw, start_factor=(0.1,), total_iters=(3,))})",
    lambda draw: f"ExponentialLR(optimizer, {draw.choice((0.5, 0.9))})",
    lambda draw: f"CosineAnnealingLR(optimizer, 3{options(draw, eta_min=(0.001,))})",
    lambda draw: f"CosineAnnealingWarmRestarts(optimizer, 2{options(draw, T_mult=(2,))})",
    lambda draw: f"PolynomialLR(optimizer{options(draw, total_iters=(3,), power=(2.0,))})",
    lambda draw: "LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))",
    lambda draw: "MultiplicativeLR(optimizer, lambda epoch: 0.7)",
]


def _simple(draw: Draw) -> str:
    return _S + draw.choice(_SIMPLE)(draw)


SCHEDULES: list[Callable[[Draw], str]] = [
    _simple,
    _simple,
    _simple,
    lambda draw: (
        f"{_S}CyclicLR(optimizer, 0.01, 0.1, 2, cycle_momentum=False"
        f"{options(draw, mode=('triangular2', 'exp_range'), gamma=(0.9,))})"
    ),
    lambda draw: (
        f"{_S}OneCycleLR(optimizer, 0.1, total_steps=6, cycle_momentum=False"
        f"{options(draw, anneal_strategy=('linear',), three_phase=(True,), pct_start=(0.5,))})"
    ),
    lambda draw: (
        f"{_S}ReduceLROnPlateau(optimizer"
        f"{options(draw, mode=('max',), factor=(0.5,), patience=(0,), cooldown=(1,))})"
    ),
    lambda draw: f"{_S}SequentialLR(optimizer, [{_simple(draw)}, {_simple(draw)}], [2])",
    lambda draw: f"{_S}ChainedScheduler([{_simple(draw)}, {_simple(draw)}])",
    lambda draw: f"T.optim.swa_utils.SWALR(optimizer, 0.05{options(draw, anneal_epochs=(2,))})",
]

# Pieces of code, each line after its place in the loop.
EXTRAS: list[Callable[[Draw], str]] = [
    lambda draw: "gradients: nn.utils.clip_grad_norm_(model.parameters(), 0.5"
    f"{options(draw, norm_type=(1.0, 3.0), foreach=(True, False))})",
    lambda draw: "gradients: nn.utils.clip_grad_norm_(model.parameters(), 0.5, float('inf'))",
    lambda draw: "gradients: nn.utils.clip_grad_value_(model.parameters(), "
    f"{draw.choice((0.1, 1))})",
    lambda draw: "loss: loss = loss + 0.01 * sum(p.square().sum() for p in model.parameters())",
    lambda draw: "loss: loss = loss + sum(g.square().sum() for g in T.autograd.grad(loss, "
    "[p for p in model.parameters() if p.requires_grad], create_graph=True, allow_unused=True) "
    "if g is not None)",
    lambda draw: "loss: loss = loss / 2 + criterion(model(x.flip(0)), y.flip(0)) / 2",
    lambda draw: "loss: loss = T.utils.checkpoint.checkpoint("
    "lambda v: criterion(model(v), y), x, use_reentrant=False)",
    lambda draw: "after: model.eval(); losses.append(model(x).detach()); model.train()",
    lambda draw: "after: optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))",
    lambda draw: "after: model.load_state_dict(copy.deepcopy(model.state_dict()))",
    lambda draw: "after: stream = io.BytesIO(); T.save(model.state_dict(), stream); "
    "stream.seek(0); model.load_state_dict(T.load(stream))",
    lambda draw: "model: _ = next(model.parameters()).requires_grad_(False)",
    lambda draw: "model: _ = [p.register_hook(lambda g: g * 0.5) for p in model.parameters()]",
    lambda draw: "model: model = copy.deepcopy(model)",
    lambda draw: "model: _ = model.apply(lambda m: nn.init."
    + draw.choice(("xavier_uniform_", "xavier_normal_", "kaiming_normal_", "orthogonal_",
                   "kaiming_uniform_", "trunc_normal_"))
    + "(m.weight) if type(m) is nn.Linear else None)",
    lambda draw: "model: averaged = T.optim.swa_utils.AveragedModel(model"
    + draw.choice(("", ", multi_avg_fn=T.optim.swa_utils.get_ema_multi_avg_fn(0.9)"))
    + ")\nafter: averaged.update_parameters(model)",
    lambda draw: "model: _ = model.register_forward_hook(lambda m, a, r: r * 2)",
    lambda draw: "model: _ = model[0].register_full_backward_hook(lambda m, g, h: None)",
]  # fmt: skip
