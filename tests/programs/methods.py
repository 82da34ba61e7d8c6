"""Methods of their own: diffusion, routing, low ranks, conditional random fields, policies."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def diffusion(torch: Any) -> list:
    """A denoising diffusion model: a cosine schedule, embedded times, samples by ancestors."""
    nn, F = torch.nn, torch.nn.functional
    steps = 8
    t = torch.linspace(0, 1, steps + 1)
    kept = torch.cos((t + 0.008) / 1.008 * torch.pi / 2).pow(2)
    betas = (1 - kept[1:] / kept[:-1]).clamp(max=0.8)
    alphas = (1 - betas).cumprod(0)
    time = nn.Embedding(steps, 8)
    body = nn.Sequential(nn.Linear(10, 16), nn.SiLU(), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW([*time.parameters(), *body.parameters()], lr=1e-2)
    data, seen = torch.randn(32, 2) * 0.1 + 1, []
    for _ in range(5):
        at, noise = torch.randint(0, steps, (32,)), torch.randn(32, 2)
        a = alphas[at, None]
        x = a.sqrt() * data + (1 - a).sqrt() * noise
        loss = F.mse_loss(body(torch.cat([x, time(at)], 1)), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    with torch.no_grad():
        x = torch.randn(4, 2)
        for k in reversed(range(steps)):
            guess = body(torch.cat([x, time(torch.full((4,), k))], 1))
            x = (x - betas[k] / (1 - alphas[k]).sqrt() * guess) / (1 - betas[k]).sqrt()
            x = x + betas[k].sqrt() * torch.randn_like(x) if k else x
    return [*seen, *x.flatten().tolist()]


def mixture_of_experts(torch: Any) -> list:
    """Tokens routed to their two best experts, with a loss that keeps them busy alike."""
    nn = torch.nn
    gate, experts = nn.Linear(6, 4), nn.ModuleList([nn.Linear(6, 6) for _ in range(4)])
    optimizer = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=1e-2)
    x, target, seen = torch.randn(20, 6), torch.randn(20, 6), []
    for _ in range(4):
        chances = gate(x).softmax(-1)
        weights, chosen = chances.topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for number, expert in enumerate(experts):
            rows, slot = (chosen == number).nonzero(as_tuple=True)
            out.index_add_(0, rows, weights[rows, slot, None] * expert(x[rows]))
        share = torch.nn.functional.one_hot(chosen[:, 0], 4).float().mean(0)
        loss = (out - target).pow(2).mean() + 4 * (share * chances.mean(0)).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        seen += [loss.item(), *torch.bincount(chosen.flatten(), minlength=4).tolist()]
    return seen


def low_rank_adapters(torch: Any) -> list:
    """A frozen network with low-rank updates as parametrizations, merged in the end."""
    nn = torch.nn
    parametrize = import_module(torch.__name__ + ".nn.utils.parametrize")

    class LoRA(nn.Module):
        def __init__(self, rows: int, columns: int) -> None:
            super().__init__()
            self.up = nn.Parameter(torch.zeros(rows, 2))
            self.down = nn.Parameter(torch.randn(2, columns) * 0.1)

        def forward(self, weight: Any) -> Any:
            return weight + self.up @ self.down

    model = nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 3)).requires_grad_(False)
    for layer in (model[0], model[2]):
        parametrize.register_parametrization(layer, "weight", LoRA(*layer.weight.shape))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.5, momentum=0.9)
    x, y, seen = torch.randn(16, 5), torch.randint(0, 3, (16,)), [len(trained)]
    for _ in range(6):
        loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    for layer in (model[0], model[2]):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
    return [*seen, *model(x[:2]).flatten().tolist()]


def conditional_random_field(torch: Any) -> list:
    """Tags of sequences: the partition function forward, the best path by Viterbi."""
    nn = torch.nn
    emission, moves = nn.LSTM(4, 5, batch_first=True), nn.Parameter(torch.zeros(5, 5))
    optimizer = torch.optim.Adam([*emission.parameters(), moves], lr=0.05)
    x, tags, seen = torch.randn(3, 6, 4), torch.randint(0, 5, (3, 6)), []
    for _ in range(4):
        scores = emission(x)[0]
        alpha = scores[:, 0]
        for k in range(1, 6):
            alpha = torch.logsumexp(alpha[:, :, None] + moves + scores[:, k, None], 1)
        path = scores.gather(2, tags[..., None]).sum((1, 2))
        path = path + moves[tags[:, :-1], tags[:, 1:]].sum(1)
        loss = (alpha.logsumexp(1) - path).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    best, back = scores[:, 0], []
    for k in range(1, 6):
        best, before = (best[:, :, None] + moves + scores[:, k, None]).max(1)
        back.append(before)
    last = best.argmax(1)
    found = [last]
    for before in reversed(back):
        last = before.gather(1, last[:, None])[:, 0]
        found.append(last)
    return [*seen, *torch.stack(found[::-1], 1).flatten().tolist()]


def proximal_policy(torch: Any) -> list:
    """Advantages by GAE, then clipped steps on shuffled parts of what was played."""
    Normal = import_module(torch.__name__ + ".distributions").Normal
    nn = torch.nn
    actor, critic, spread = nn.Linear(3, 1), nn.Linear(3, 1), nn.Parameter(torch.zeros(1))
    parameters = [*actor.parameters(), *critic.parameters(), spread]
    optimizer = torch.optim.Adam(parameters, lr=3e-2, eps=1e-5)
    seen = []
    for _ in range(2):
        state, played = torch.zeros(4, 3), []
        with torch.no_grad():
            for _ in range(6):
                policy = Normal(actor(state), spread.exp())
                action = policy.sample()
                reward = -(action - 0.5).pow(2).squeeze(1)
                known = policy.log_prob(action).sum(1)
                played.append((state, action, known, reward, critic(state)[:, 0]))
                state = torch.cat([state[:, 1:], action], 1).clamp(-2, 2)
            states, actions, before, rewards, values = map(torch.stack, zip(*played))
            following = torch.cat([values[1:], critic(state).T])
            gaps, advantage, found = rewards + 0.9 * following - values, torch.zeros(4), []
            for gap in reversed(gaps):
                advantage = gap + 0.9 * 0.95 * advantage
                found.insert(0, advantage)
            advantages = torch.stack(found)
        goals = advantages + values
        wholes = [w.flatten(0, 1) for w in (states, actions, before, advantages, goals)]
        for part in torch.randperm(24).split(12):
            s, a, old, gain, goal = (whole[part] for whole in wholes)
            policy = Normal(actor(s), spread.exp())
            ratio = (policy.log_prob(a).sum(1) - old).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            loss = nn.functional.huber_loss(critic(s)[:, 0], goal) - clipped
            loss = loss - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
            seen += [loss.item(), norm.item()]
    return seen


PROGRAMS = [
    diffusion,
    mixture_of_experts,
    low_rank_adapters,
    conditional_random_field,
    proximal_policy,
]
