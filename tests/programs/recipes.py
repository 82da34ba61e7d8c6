"""What recipes add to a loop: schedules, distributions, line searches, masks, averages."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def segmentation(torch: Any) -> list:
    """A small U-Net: resized features, RMSprop, clipping, a rate that falls on a plateau."""
    nn, F = torch.nn, torch.nn.functional
    down, deep = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
    up, out = nn.Conv2d(12, 4, 3, padding=1), nn.Conv2d(4, 2, 1)
    model = nn.ModuleList([down, deep, up, out])
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2, weight_decay=1e-8, momentum=0.9)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=0)
    x, y = torch.randn(2, 1, 9, 9), torch.randint(0, 2, (2, 9, 9))
    seen = []
    for _ in range(4):
        fine = down(x).relu()
        coarse = deep(F.max_pool2d(fine, 2)).relu()
        grown = F.interpolate(coarse, size=fine.shape[2:], mode="bilinear", align_corners=False)
        logits = out(up(torch.cat([fine, grown], 1)).relu())
        hot = F.one_hot(y, 2).permute(0, 3, 1, 2).float()
        chances = logits.softmax(1)
        dice = 1 - (2 * (chances * hot).sum() + 1) / ((chances + hot).sum() + 1)
        loss = F.cross_entropy(logits, y) + dice
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        plateau.step(dice.detach())
        seen += [loss.item(), *plateau.get_last_lr()]
    return seen


def actor_critic(torch: Any) -> list:
    """Actions drawn from a Categorical, an entropy bonus, warm-up and then a cosine."""
    Categorical = import_module(torch.__name__ + ".distributions").Categorical
    nn, schedules = torch.nn, torch.optim.lr_scheduler
    body, actor, critic = nn.Linear(4, 16), nn.Linear(16, 3), nn.Linear(16, 1)
    model = nn.ModuleList([body, actor, critic])
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
    warmup = schedules.LinearLR(optimizer, 0.1, total_iters=2)
    cosine = schedules.CosineAnnealingLR(optimizer, 3)
    schedule = schedules.SequentialLR(optimizer, [warmup, cosine], [2])
    seen = []
    for _ in range(5):
        state, terms = torch.ones(4), []
        for step in range(5):
            features = torch.tanh(body(state))
            policy = Categorical(logits=actor(features))
            action = policy.sample()
            advantage = float(action.item() == step % 3) - critic(features).squeeze()
            bonus = 0.01 * policy.entropy()
            terms.append(advantage**2 - policy.log_prob(action) * advantage.detach() - bonus)
            state = state * 0.9 + action * 0.1
        loss = torch.stack(terms).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        seen += [loss.item(), *schedule.get_last_lr()]
    return seen


def differential_equation(torch: Any) -> list:
    """A network that solves u'' = -u: second derivatives in the loss, L-BFGS with line search."""
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    model = model.double()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5, line_search_fn="strong_wolfe")
    x = torch.linspace(0, 1, 10, dtype=torch.float64).view(-1, 1).requires_grad_()

    def closure():
        optimizer.zero_grad()
        u = model(x)
        (slope,) = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
        (bend,) = torch.autograd.grad(slope, x, torch.ones_like(u), create_graph=True)
        loss = (bend + u).pow(2).mean() + u[0].pow(2).sum() + (slope[0] - 1).pow(2).sum()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(4)]


def pruned_and_averaged(torch: Any) -> list:
    """Training with spectral norm, pruned by magnitude, and an exponential average beside it."""
    nn = torch.nn
    prune = import_module(torch.__name__ + ".nn.utils.prune")
    norms = import_module(torch.__name__ + ".nn.utils.parametrizations")
    averages = import_module(torch.__name__ + ".optim.swa_utils")
    last = nn.Linear(8, 2)
    prune.l1_unstructured(last, "weight", amount=0.5)
    model = nn.Sequential(norms.spectral_norm(nn.Linear(4, 8)), nn.ReLU(), last)
    ema = averages.AveragedModel(model[0], multi_avg_fn=averages.get_ema_multi_avg_fn(0.8))
    optimizer = torch.optim.RAdam(model.parameters(), lr=0.05)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=6)
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    seen = []
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        cycle.step()
        ema.update_parameters(model[0])
        seen += [loss.item(), ema(x).detach().sum().item()]
    prune.remove(last, "weight")
    return seen + [(last.weight == 0).sum().item()]


def quantized(torch: Any) -> list:
    """Training that feels the rounding of weights and activations, as before a model is quantized,
    with a head that is one with its loss."""
    nn = torch.nn
    body, head = nn.Linear(6, 8), nn.LinearCrossEntropyLoss(8, 4, bias=True, label_smoothing=0.1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.2, momentum=0.9)
    x, y = torch.randn(16, 6), torch.randint(0, 4, (16,))
    low, high, seen = -8, 7, []
    for _ in range(8):
        scale = body.weight.detach().abs().amax(1) / high
        zero = torch.zeros(8, dtype=torch.int32)
        weight = torch.fake_quantize_per_channel_affine(body.weight, scale, zero, 0, low, high)
        features = nn.functional.linear(x, weight, body.bias).relu()
        step = features.detach().max() / 15
        features = torch.fake_quantize_per_tensor_affine(features, step, zero[:1], 0, 15)
        loss = head(features, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += [loss.item(), body.weight.grad.abs().sum().item()]
    return seen


PROGRAMS = (
    segmentation, actor_critic, differential_equation, pruned_and_averaged, quantized,
)  # fmt: skip
