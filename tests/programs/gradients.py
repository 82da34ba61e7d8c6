"""Gradients beyond `backward`: functions of one's own, penalties, and learning to learn."""

from __future__ import annotations

import math
from typing import Any


def own_functions(torch: Any) -> list:
    """`autograd.Function` in both styles: a product with needs, a straight-through rounding."""

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(x, weight, bias):
            return x.mm(weight.t()) + bias.unsqueeze(0).expand(x.shape[0], -1)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, weight, _ = ctx.saved_tensors
            g_x = g.mm(weight) if ctx.needs_input_grad[0] else None
            return g_x, g.t().mm(x), g.sum(0)

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, steps):
            ctx.steps = steps
            return (x * steps).round() / steps

        @staticmethod
        def backward(ctx, g):
            return g, None

    class Legendre(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 0.5 * (5 * x**3 - 3 * x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 1.5 * (5 * x**2 - 1)

    x, y = torch.randn(8, 5), torch.randn(8, 3)
    weight = torch.randn(3, 5, requires_grad=True)
    bias = torch.zeros(3, requires_grad=True)
    seen = []
    for _ in range(10):
        out = Round.apply(Legendre.apply(torch.tanh(Linear.apply(x, weight, bias))), 8)
        loss = (out - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (weight, bias):
                p -= 0.1 * p.grad
                p.grad = None
        seen.append(loss.item())
    point = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(Legendre.apply, (point,))
    assert torch.autograd.gradgradcheck(Legendre.apply, (point,))
    return seen


def gradient_penalty(torch: Any) -> list:
    """WGAN-GP: the norm of a gradient is part of the loss."""
    nn = torch.nn
    critic = nn.Sequential(nn.Linear(2, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1))
    generator = nn.Sequential(nn.Linear(3, 12), nn.ELU(), nn.Linear(12, 2))
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.0, 0.9))
    of_generator = torch.optim.SGD(generator.parameters(), lr=1e-3)
    seen = []
    for _ in range(6):
        critic.requires_grad_(True)
        real, fake = torch.randn(16, 2) + 2, generator(torch.randn(16, 3)).detach()
        alpha = torch.rand(16, 1).expand(real.size())
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        scores = critic(between)
        (slope,) = torch.autograd.grad(
            outputs=scores, inputs=between, grad_outputs=torch.ones(scores.size()),
            create_graph=True, retain_graph=True, only_inputs=True,
        )  # fmt: skip
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean() * 10
        loss = critic(fake).mean() - critic(real).mean() + penalty
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
        for p in critic.parameters():
            p.requires_grad = False
        deceit = -critic(generator(torch.randn(16, 3))).mean()
        of_generator.zero_grad()
        deceit.backward()
        of_generator.step()
        seen += [loss.item(), penalty.item(), deceit.item()]
    return seen


def learning_to_learn(torch: Any) -> list:
    """MAML: through a step of gradient descent to the weights it started from."""
    F = torch.nn.functional
    weights = [torch.randn(8, 1) * 0.5, torch.zeros(8), torch.randn(1, 8) * 0.5, torch.zeros(1)]
    weights = [w.requires_grad_() for w in weights]
    optimizer = torch.optim.Adam(weights, lr=1e-2)

    def net(x, w):
        return F.linear(torch.tanh(F.linear(x, w[0], w[1])), w[2], w[3])

    seen = []
    for _ in range(5):
        total: Any = 0
        for _ in range(3):
            height, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * math.pi
            x, x2 = torch.rand(10, 1) * 10 - 5, torch.rand(10, 1) * 10 - 5
            loss = F.mse_loss(net(x, weights), height * torch.sin(x + phase))
            slopes = torch.autograd.grad(loss, weights, create_graph=True)
            adapted = [w - 0.01 * g for w, g in zip(weights, slopes)]
            total = total + F.mse_loss(net(x2, adapted), height * torch.sin(x2 + phase))
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        seen.append(total.item())
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    curvature = torch.autograd.functional.hessian(lambda x: (x**2).prod() + x.sin().sum(), x)
    return seen + curvature.flatten().tolist()


PROGRAMS = (own_functions, gradient_penalty, learning_to_learn)
