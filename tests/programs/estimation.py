"""Estimates: hidden states, phases, rays, sparse tables, labels in half precision."""

from __future__ import annotations

import math
from typing import Any


def hidden_states(torch: Any) -> list:
    """Posteriors of a Markov chain, a Kalman filter, and particles that are drawn anew."""
    moves, shown = torch.tensor([[0.7, 0.3], [0.4, 0.6]]), torch.tensor([[0.5, 0.4], [0.1, 0.9]])
    forward = (torch.tensor([0.6, 0.4]) * shown[:, 0]).log()
    for seen in (1, 1, 0):
        forward = torch.logsumexp(forward[:, None] + moves.log(), 0) + shown[:, seen].log()
    found = [torch.logsumexp(forward, 0).item(), *forward.softmax(0).tolist()]
    step, look = torch.tensor([[1.0, 1.0], [0.0, 1.0]]), torch.tensor([[1.0, 0.0]])
    x, P = torch.zeros(2, 1), torch.eye(2)
    particles, weights = torch.randn(40), torch.full((40,), 1 / 40)
    for z in (1.0, 2.1, 2.9, 4.2):
        x, P = step @ x, step @ P @ step.T + 0.01 * torch.eye(2)
        gain = torch.linalg.solve(look @ P @ look.T + 0.5, look @ P).T
        x, P = x + gain @ (z - look @ x), (torch.eye(2) - gain @ look) @ P
        particles = particles + 1 + 0.2 * torch.randn(40)
        weights = (
            weights * torch.distributions.Normal(particles, 0.5).log_prob(x.new_tensor(z)).exp()
        )
        weights = weights / weights.sum()
        at = torch.searchsorted(weights.cumsum(0), (torch.arange(40) + torch.rand(())) / 40)
        found += [*x.flatten().tolist(), torch.logdet(P).item(), (weights * particles).sum().item()]
        particles, weights = particles[at.clamp(max=39)], torch.full((40,), 1 / 40)
    return found


def phases(torch: Any) -> list:
    """A mel spectrogram, and the phases of its frames by Griffin's and Lim's way."""
    n, window = 400, torch.hann_window(64)
    wave = torch.sin(torch.arange(n) * 0.5) + 0.1 * torch.randn(n)
    spectrum = torch.stft(wave, 64, 16, window=window, return_complex=True)
    edges = 10 ** torch.linspace(0, 1, 8) * 3.0
    slopes = edges[:, None] - torch.arange(33.0)
    bank = torch.minimum(
        -slopes[:-2] / edges.diff()[:-1, None], slopes[2:] / edges.diff()[1:, None]
    )
    mel = (bank.clamp_min(0) @ spectrum.abs().square()).clamp(min=1e-6).log10()
    guess = torch.polar(torch.ones_like(spectrum.abs()), 6.28 * torch.rand(spectrum.shape))
    for _ in range(3):
        back = torch.istft(spectrum.abs() * guess, 64, 16, window=window, length=n)
        frames = torch.stft(back, 64, 16, window=window, return_complex=True)
        guess = frames / frames.abs().clamp(min=1e-8)
    lost = (frames.abs() - spectrum.abs()).norm() / spectrum.abs().norm()
    return [*mel.mean(1).tolist(), lost.item(), *back[100:104].tolist()]


def rays(torch: Any) -> list:
    """Colours along rays through a field of densities, as NeRF trains them."""
    nn, F = torch.nn, torch.nn.functional
    field = nn.Sequential(nn.Linear(15, 24), nn.ReLU(), nn.Linear(24, 4))
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    pixels = torch.stack(torch.meshgrid(torch.arange(4.0), torch.arange(4.0), indexing="xy"), -1)
    ways = F.normalize(F.pad(pixels.reshape(-1, 2) / 4 - 0.5, (0, 1), value=1.0), dim=-1)
    target, seen = (pixels.reshape(-1, 2).sum(1, keepdim=True) / 6).expand(-1, 3), []
    for _ in range(4):
        t = torch.linspace(0.5, 3, 9).expand(16, 9)
        t = torch.lerp(t, t + 0.25, torch.rand(16, 9))
        points = t[..., None] * ways[:, None]
        waves = points[..., None] * 2.0 ** torch.arange(2)
        told = torch.cat([points, waves.sin().flatten(-2), waves.cos().flatten(-2)], -1)
        density, colour = field(told).split([1, 3], -1)
        width = torch.diff(t, append=torch.full((16, 1), 1e3), dim=-1)
        opaque = 1 - torch.exp(-F.softplus(density.squeeze(-1)) * width)
        left = torch.cumprod(F.pad(1 - opaque + 1e-10, (1, 0), value=1.0), -1)[:, :-1]
        loss = F.mse_loss(((opaque * left)[..., None] * colour.sigmoid()).sum(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += [loss.item(), (opaque * left * t).sum(-1).mean().item()]
    return seen


def sparse_tables(torch: Any) -> list:
    """A recommender: bags of sparse tables with an optimizer of their own, beside dense layers."""
    nn, F = torch.nn, torch.nn.functional
    bags = nn.ModuleDict({m: nn.EmbeddingBag(9, 4, mode=m, sparse=True) for m in ("sum", "mean")})
    top = nn.Linear(8, 1)
    sparse = torch.optim.SparseAdam(list(bags.parameters()), lr=0.05)
    dense = torch.optim.Adagrad(top.parameters(), lr=0.1)
    items, starts, seen = torch.tensor([1, 2, 3, 3, 8]), torch.tensor([0, 2, 2]), []
    for _ in range(4):
        told = torch.cat([bag(items, starts) for bag in bags.values()], 1)
        loss = F.binary_cross_entropy_with_logits(top(told)[:, 0], torch.tensor([1.0, 0.0, 1.0]))
        for optimizer in (sparse, dense):
            optimizer.zero_grad()
        loss.backward()
        met = bags["mean"].weight.grad.coalesce().indices()[0].tolist()
        for optimizer in (sparse, dense):
            optimizer.step()
        seen += [loss.item(), *met, bags["sum"].weight.norm().item()]
    return seen


def labels_in_half_precision(torch: Any) -> list:
    """Scores of bfloat16, whose losses are rounded on the way and added up in steps."""
    F = torch.nn.functional
    scores = torch.nn.Parameter(torch.randn(33, 5).to(torch.bfloat16))
    optimizer = torch.optim.SGD([scores], lr=16.0)
    labels = torch.randint(0, 5, (33,))
    seen = []
    for _ in range(3):
        for options in ({}, {"label_smoothing": 0.25}, {"ignore_index": 2, "reduction": "sum"}):
            loss = F.cross_entropy(scores, labels, **options)
            seen.append(loss.item())
        loss = F.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [*seen, math.log(5)]


PROGRAMS = (hidden_states, phases, rays, sparse_tables, labels_in_half_precision)
