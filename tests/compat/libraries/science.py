"""Graphs, probability, equations, symmetry, and names of dimensions."""

from __future__ import annotations

from typing import Any

from tests.compat.libraries.numbers import gradients, step


def torch_geometric__layers() -> list[float]:
    import torch
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool

    numbers = []
    edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    for make in (GCNConv, GATConv, SAGEConv, lambda a, b: GINConv(torch.nn.Linear(a, b))):
        torch.manual_seed(0)
        numbers += step(make(4, 8), torch.rand(4, 4), edges)
    torch.manual_seed(0)
    batch = Batch.from_data_list([Data(torch.rand(4, 4), edges) for _ in range(3)])
    numbers.append(float(global_mean_pool(batch.x, batch.batch).sum()))
    return numbers


def torch_geometric__loader() -> list[float]:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.utils import add_self_loops, degree, to_undirected

    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
    data = [Data(torch.rand(4, 2), edges, y=torch.tensor([i])) for i in range(6)]
    numbers = [float(b.x.sum()) for b in DataLoader(data, 2, shuffle=True)]
    both = to_undirected(edges)
    loops, _ = add_self_loops(both)
    return numbers + degree(loops[0]).tolist() + both.flatten().tolist()


def gpytorch__regression() -> list[float]:
    import gpytorch
    import torch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.covariance = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.covariance(x))

    torch.manual_seed(0)
    x = torch.linspace(0, 1, 20)
    y = torch.sin(6 * x) + 0.1 * torch.randn(20)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(x, y, likelihood)
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        prediction = likelihood(model(torch.linspace(0, 1, 7)))
    return losses + prediction.mean.tolist() + prediction.variance.tolist()


def pyro__svi() -> list[float]:
    import pyro
    import pyro.distributions as dist
    import torch
    from pyro.infer import SVI, Trace_ELBO

    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    data = torch.randn(20) + 2

    def model():
        mean = pyro.sample("mean", dist.Normal(0.0, 5.0))
        with pyro.plate("data", 20):
            pyro.sample("x", dist.Normal(mean, 1.0), obs=data)

    def guide():
        loc = pyro.param("loc", torch.tensor(0.0))
        scale = pyro.param("scale", torch.tensor(1.0), constraint=dist.constraints.positive)
        pyro.sample("mean", dist.Normal(loc, scale))

    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    return [svi.step() for _ in range(10)]


def pyro__mcmc() -> list[float]:
    import pyro
    import pyro.distributions as dist
    import torch
    from pyro.infer import MCMC, NUTS

    pyro.clear_param_store()
    pyro.set_rng_seed(0)

    def model():
        mean = pyro.sample("mean", dist.Normal(0.0, 5.0))
        pyro.sample("x", dist.Normal(mean, 1.0), obs=torch.tensor(2.0))

    chain = MCMC(NUTS(model), num_samples=5, warmup_steps=5, disable_progbar=True)
    chain.run()
    return chain.get_samples()["mean"].tolist()


def botorch__step() -> list[float]:
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(0)
    x = torch.rand(8, 2, dtype=torch.float64)
    y = (1 - (x - 0.5).norm(dim=-1, keepdim=True)).double()
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
    best, value = optimize_acqf(LogExpectedImprovement(model, y.max()), bounds, 1, 2, 16)
    return [*best.flatten().tolist(), float(value)]


def e3nn__tensor_product() -> list[float]:
    import torch
    from e3nn import o3

    torch.manual_seed(0)
    product = o3.FullyConnectedTensorProduct("2x0e+1x1o", "1x0e+1x1o", "2x0e+2x1o")
    a, b = product.irreps_in1.randn(3, -1), product.irreps_in2.randn(3, -1)
    numbers = step(product, a, b)
    numbers.append(float(o3.spherical_harmonics("1x0e+1x1o+1x2e", torch.rand(4, 3), True).sum()))
    return numbers + o3.wigner_3j(1, 1, 2).flatten().tolist()[:9]


def einops__layers() -> list[float]:
    import torch
    from einops import einsum, rearrange, reduce, repeat
    from einops.layers.torch import Rearrange, Reduce

    x = torch.arange(24.0).reshape(2, 3, 4)
    y = torch.nn.Sequential(Rearrange("a b c -> a c b"), Reduce("a c b -> a c", "mean"))(x)
    return [
        *y.flatten().tolist(),
        *rearrange(x, "a b c -> (a c) b")[1].tolist(),
        *reduce(x, "a b c -> b", "max").tolist(),
        float(repeat(x, "a b c -> a b c 2").sum()),
        float(einsum(x, x, "a b c, a d c -> a b d").sum()),
    ]


def einx__operations() -> list[float]:
    import einx
    import torch

    x = torch.arange(24.0).reshape(2, 3, 4)
    return [
        *einx.sum("a [b] c", x).flatten().tolist(),
        float(einx.dot("a b c, c d -> a b d", x, torch.ones(4, 2)).sum()),
        *einx.softmax("a b [c]", x)[0, 0].tolist(),
    ]


def torchdiffeq__solvers() -> list[float]:
    import torch
    from torchdiffeq import odeint, odeint_adjoint

    torch.manual_seed(0)
    field = torch.nn.Linear(2, 2)
    start, times = torch.rand(3, 2), torch.linspace(0, 1, 5)
    numbers = []
    for solve in (odeint, odeint_adjoint):
        for method in ("dopri5", "rk4"):
            field.zero_grad()
            if solve is odeint:
                out = solve(lambda t, y: field(y), start, times, method=method)
            else:
                out = solve(_Field(field), start, times, method=method)
            out[-1].sum().backward()
            numbers += [float(out.detach()[-1].sum()), *gradients(field)]
    return numbers


def _Field(layer: Any) -> Any:
    import torch

    class Field(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, t, y):
            return self.layer(y)

    return Field()


def linear_operator__solve() -> list[float]:
    import torch
    from linear_operator.operators import DiagLinearOperator, KroneckerProductLinearOperator
    from linear_operator.operators import to_linear_operator as dense

    torch.manual_seed(0)
    a = torch.rand(4, 4, dtype=torch.float64)
    a = dense(a @ a.mT + torch.eye(4, dtype=torch.float64))
    total = a + DiagLinearOperator(torch.ones(4, dtype=torch.float64))
    b = torch.rand(4, 2, dtype=torch.float64)
    return [
        *total.solve(b).flatten().tolist(),
        float(total.logdet()),
        float(KroneckerProductLinearOperator(a, a).to_dense().sum()),
    ]
