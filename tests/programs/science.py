"""Programs of scientific computing: solvers, operators, kernels, graphs, curvature."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any


def gaussian_process(torch: Any) -> list:
    """Regression by a Cholesky factor: hyperparameters by L-BFGS, the posterior, its samples."""
    dist = import_module(torch.__name__ + ".distributions")
    nn, linalg, softplus = torch.nn, torch.linalg, torch.nn.functional.softplus
    x = torch.linspace(0, 1, 10, dtype=torch.float64)[:, None]
    y = torch.sin(6 * x[:, 0]) + 0.1 * torch.randn(10, dtype=torch.float64)
    raw = nn.ParameterDict({n: torch.zeros((), dtype=torch.float64) for n in ("length", "noise")})
    optimizer = torch.optim.LBFGS(raw.parameters(), lr=0.5, max_iter=4)

    def kernel(a, b):
        return torch.exp(-0.5 * ((a - b.mT) / softplus(raw["length"])).pow(2))

    def factors():
        covariance = kernel(x, x) + softplus(raw["noise"]) * torch.eye(10, dtype=torch.float64)
        lower = linalg.cholesky(covariance)
        return lower, torch.cholesky_solve(y[:, None], lower)

    def closure():
        optimizer.zero_grad()
        lower, weights = factors()
        loss = 0.5 * (y @ weights).squeeze() + lower.diagonal().log().sum()
        loss.backward()
        return loss

    seen = [optimizer.step(closure).item() for _ in range(4)]
    with torch.no_grad():
        lower, weights = factors()
        at = torch.tensor([[0.05], [0.4], [1.3]], dtype=torch.float64)
        across = kernel(x, at)
        half = linalg.solve_triangular(lower, across, upper=False)
        mean, covariance = (across.mT @ weights)[:, 0], kernel(at, at) - half.mT @ half
        jitter = 1e-6 * torch.eye(3, dtype=torch.float64)
        posterior = dist.MultivariateNormal(mean, covariance + jitter)
        drawn = posterior.sample((2,))
    return [*seen, *mean.tolist(), *covariance.diagonal().tolist(), *drawn.flatten().tolist()]


def neural_equation(torch: Any) -> list:
    """A differential equation by Runge-Kutta, with an adjoint of one's own and with autograd's."""
    nn = torch.nn
    field = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)).double()
    parameters = list(field.parameters())

    def step(y, h):
        a = field(y)
        b = field(y + h * a / 2)
        c = field(y + h * b / 2)
        return y + h / 6 * (a + 2 * b + 2 * c + field(y + h * c))

    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y, h, count, *weights):
            states = [y]
            for _ in range(count):
                states.append(step(states[-1], h))
            ctx.save_for_backward(*states)
            ctx.h = h
            return states[-1].clone()

        @staticmethod
        def backward(ctx, g):
            totals = [torch.zeros_like(p) for p in parameters]
            for y in reversed(ctx.saved_tensors[:-1]):
                with torch.enable_grad():
                    y = y.detach().requires_grad_()
                    g, *parts = torch.autograd.grad(step(y, ctx.h), [y, *parameters], g)
                totals = [total + part for total, part in zip(totals, parts)]
            return (g, None, None, *totals)

    turn = torch.tensor([[0.0, 2.0], [-2.0, 0.0]], dtype=torch.float64)
    start = torch.randn(5, 2, dtype=torch.float64)
    target = start @ torch.linalg.matrix_exp(turn)
    optimizer, seen = torch.optim.Rprop(parameters, lr=1e-2), []
    for _ in range(4):
        loss = (Solve.apply(start, 0.25, 4, *parameters) - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        y = start
        for _ in range(4):
            y = step(y, 0.25)
        exact = torch.autograd.grad((y - target).abs().mean(), parameters)
        gaps = [(p.grad - e).abs().max().item() for p, e in zip(parameters, exact)]
        assert max(gaps) < 1e-12
        optimizer.step()
        seen.append(loss.item())
    return seen + field[2].bias.tolist()


def fourier_operator(torch: Any) -> list:
    """A Fourier neural operator: weights of complex numbers on the lowest frequencies."""
    nn, F = torch.nn, torch.nn.functional

    class Spectral(nn.Module):
        def __init__(self, channels, modes):
            super().__init__()
            self.modes = modes
            shape = (2, channels, channels, modes, modes)
            self.weight = nn.Parameter(torch.rand(shape, dtype=torch.cfloat) / channels**2)
            self.beside = nn.Conv2d(channels, channels, 1)

        def forward(self, x):
            n, found = self.modes, torch.fft.rfft2(x, norm="ortho")
            out = torch.zeros_like(found)
            for part, rows in enumerate((slice(None, n), slice(-n, None))):
                block = found[:, :, rows, :n]
                out[:, :, rows, :n] = torch.einsum("bixy,ioxy->boxy", block, self.weight[part])
            return F.gelu(torch.fft.irfft2(out, s=x.shape[-2:], norm="ortho") + self.beside(x))

    model = nn.Sequential(nn.Conv2d(1, 4, 1), Spectral(4, 2), Spectral(4, 2), nn.Conv2d(4, 1, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    x = torch.randn(3, 1, 8, 7)
    y, seen = x.cumsum(-1), []
    for _ in range(5):
        gap = (model(x) - y).flatten(1).norm(dim=1) / y.flatten(1).norm(dim=1)
        optimizer.zero_grad()
        gap.mean().backward()
        optimizer.step()
        schedule.step()
        seen += [gap.mean().item(), model[1].weight.grad.abs().sum().item()]
    return seen


def curvature(torch: Any) -> list:
    """Products with the Hessian, conjugate gradients, Gauss-Newton by `vmap` of `jacrev`."""
    nn, F, func = torch.nn, torch.nn.functional, torch.func
    utils = import_module(torch.__name__ + ".nn.utils")
    model = nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 2)).double()
    x, y = torch.randn(8, 3, dtype=torch.float64), torch.randint(2, (8,))
    parameters = list(model.parameters())

    def product(v):
        loss = F.cross_entropy(model(x), y)
        slopes = torch.autograd.grad(loss, parameters, create_graph=True)
        dot = utils.parameters_to_vector(slopes) @ v
        return utils.parameters_to_vector(torch.autograd.grad(dot, parameters)).detach() + 0.1 * v

    loss = F.cross_entropy(model(x), y)
    rest = -utils.parameters_to_vector(torch.autograd.grad(loss, parameters))
    move, direction, seen = torch.zeros_like(rest), rest.clone(), [loss.item()]
    for _ in range(6):
        turned = product(direction)
        a = rest @ rest / (direction @ turned)
        move, new = move + a * direction, rest - a * turned
        direction, rest = new + (new @ new) / (rest @ rest) * direction, new
        seen.append(rest.norm().item())
    utils.vector_to_parameters(utils.parameters_to_vector(parameters).detach() + move, parameters)
    weights = {name: p.detach() for name, p in model.named_parameters()}

    def output(weights, row):
        return func.functional_call(model, weights, (row,))

    jacobian = func.vmap(func.jacrev(output), (None, 0))(weights, x)
    flat = torch.cat([j.flatten(2) for j in jacobian.values()], 2)
    chances = model(x).softmax(1).detach()
    middle = torch.diag_embed(chances) - chances[:, :, None] * chances[:, None]
    newton = torch.einsum("nap,nab,nbq->pq", flat, middle, flat)
    _, pull = func.vjp(lambda w: output(w, x).tanh(), weights)
    seen += [F.cross_entropy(model(x), y).item(), *newton.diagonal().tolist()]
    return seen + [
        n for t in pull(torch.ones(8, 2).double())[0].values() for n in t.flatten().tolist()
    ]


def graph_networks(torch: Any) -> list:
    """Messages along edges: sums by degree, attention by edges, means, and the largest."""
    nn, F = torch.nn, torch.nn.functional
    nodes, (source, target) = 7, torch.randint(0, 7, (2, 18))

    def gathered(values, kind):
        index = target.view(-1, *[1] * (values.ndim - 1)).expand_as(values)
        out = values.new_zeros(nodes, *values.shape[1:])
        return out.scatter_reduce(0, index, values, kind, include_self=False)

    first, second, third = nn.Linear(5, 6), nn.Linear(6, 4), nn.Linear(8, 3)
    attention = nn.Parameter(torch.randn(2, 4) * 0.3)
    model = nn.ModuleList([first, second, third])
    # Gradients that are zero but for rounding make no steps.
    optimizer = torch.optim.Adagrad([*model.parameters(), attention], lr=0.1, eps=1e-3)
    x, y, seen = torch.randn(nodes, 5), torch.randint(0, 3, (nodes,)), []
    for _ in range(5):
        degree = torch.zeros(nodes).index_add(0, target, torch.ones(18)).clamp(min=1)
        h = first(x)
        h = torch.zeros(nodes, 6).index_add_(0, target, h[source]) / degree[:, None] + h
        z = second(F.elu(h))
        score = F.leaky_relu((z * attention[0]).sum(1)[source] + (z * attention[1]).sum(1)[target])
        weight = (score - gathered(score, "amax")[target]).exp()
        weight = weight / gathered(weight, "sum")[target]
        h = torch.cat(
            [gathered(weight[:, None] * z[source], "sum"), gathered(z[source], "amax")], 1
        )
        loss = F.cross_entropy(third(h), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += [loss.item(), attention.grad.norm().item()]
    edges = torch.sparse_coo_tensor(
        torch.stack([target, source]), torch.ones(18), (7, 7), check_invariants=True
    )
    spread = torch.sparse.mm(edges.coalesce(), x)
    laplacian = torch.diag(edges.to_dense().sum(1)) - edges.to_dense()
    numbers = torch.linalg.eigvalsh(laplacian + laplacian.mT)
    return [*seen, *spread.flatten().tolist(), *numbers.tolist()]


def sinkhorn_and_mixtures(torch: Any) -> list:
    """Optimal transport in logarithms, the steps of EM, and of k-means."""
    Normal = import_module(torch.__name__ + ".distributions").Normal
    a, b = torch.rand(5, 2), torch.rand(4, 2)
    cost = torch.cdist(a, b).requires_grad_()
    u, v, eps = torch.zeros(5), torch.zeros(4), 0.1
    for _ in range(15):
        u = eps * (-math.log(5) - torch.logsumexp((v - cost) / eps, 1))
        v = eps * (-math.log(4) - torch.logsumexp((u[:, None] - cost) / eps, 0))
    moved = (torch.exp((u[:, None] + v - cost) / eps) * cost).sum()
    (slope,) = torch.autograd.grad(moved, cost)
    x = torch.cat([torch.randn(20) - 2, 0.5 * torch.randn(20) + 1])
    share, mean, spread = torch.tensor([0.5, 0.5]), torch.tensor([-1.0, 0.5]), torch.ones(2)
    for _ in range(5):
        logs = Normal(mean, spread).log_prob(x[:, None]) + share.log()
        part = logs.softmax(1)
        size = part.sum(0)
        share, mean = size / 40, (part * x[:, None]).sum(0) / size
        spread = ((part * (x[:, None] - mean) ** 2).sum(0) / size).sqrt()
    points = torch.randn(30, 2) + 4 * torch.randint(0, 2, (30, 1))
    centres = points[torch.randperm(30)[:3]].clone()
    for _ in range(4):
        nearest = torch.cdist(points, centres).argmin(1)
        count = torch.bincount(nearest, minlength=3).clamp(min=1)
        centres = torch.zeros(3, 2).index_add_(0, nearest, points) / count[:, None]
    found = (slope, share, mean, spread, centres)
    return [moved.item(), *(n for t in found for n in t.flatten().tolist())]


PROGRAMS = (
    *(gaussian_process, neural_equation, fourier_operator, curvature, graph_networks),
    sinkhorn_and_mixtures,
)
