"""Equations, agents, densities, explanations and tables."""

from __future__ import annotations

from typing import Any


def _steps(model: Any, x: Any) -> list[float]:
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def deepxde__poisson() -> list[float]:
    import os

    os.environ["DDE_BACKEND"] = "pytorch"
    import deepxde as dde
    import numpy as np
    import torch

    dde.config.set_random_seed(0)

    def residual(x: Any, y: Any) -> Any:
        return -dde.grad.hessian(y, x) - torch.pi**2 * torch.sin(torch.pi * x)

    interval = dde.geometry.Interval(-1, 1)
    border = dde.icbc.DirichletBC(interval, lambda x: 0, lambda x, on: on)
    data = dde.data.PDE(
        interval, residual, border, 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=20
    )
    model = dde.Model(data, dde.nn.FNN([1, 20, 20, 1], "tanh", "Glorot uniform"))
    model.compile("adam", lr=0.001)
    history, _ = model.train(iterations=30, display_every=10, verbose=0)
    return [float(v) for row in history.loss_train for v in row]


def pina__problem() -> list[float]:
    import torch
    from pina import Condition, Trainer
    from pina.domain import CartesianDomain
    from pina.equation import Equation, FixedValue
    from pina.model import FeedForward
    from pina.operator import grad
    from pina.problem import SpatialProblem
    from pina.solver import PINN

    def residual(x: Any, u: Any) -> Any:
        return grad(u, x, components=["u"], d=["x"]) - u

    class Growth(SpatialProblem):
        output_variables = ["u"]
        spatial_domain = CartesianDomain({"x": [0, 1]})
        domains = {"start": CartesianDomain({"x": 0.0}), "D": spatial_domain}
        conditions = {
            "start": Condition(domain="start", equation=FixedValue(1.0)),
            "D": Condition(domain="D", equation=Equation(residual)),
        }

    torch.manual_seed(0)
    problem = Growth()
    problem.discretise_domain(10, "grid", domains=["D", "start"])
    layers = FeedForward(input_dimensions=1, output_dimensions=1, layers=[8, 8])
    solver = PINN(problem, layers)
    options = ("enable_model_summary", "enable_progress_bar", "logger", "enable_checkpointing")
    off = dict.fromkeys(options, False)
    Trainer(solver, max_epochs=5, accelerator="cpu", **off).train()
    return [v.double().sum().item() for v in solver.state_dict().values()]


def torchode__solvers() -> list[float]:
    import torch
    import torchode

    def slope(t: Any, y: Any) -> Any:
        return -0.5 * y + torch.sin(t)[:, None]

    y0 = torch.tensor([[1.2], [5.0]])
    t = torch.stack((torch.linspace(0, 5, 6), torch.linspace(3, 4, 6)))
    term, numbers = torchode.ODETerm(slope), []
    for method in (torchode.Dopri5, torchode.Tsit5, torchode.Heun):
        controller = torchode.IntegralController(1e-4, 1e-4, term=term)
        solver = torchode.AutoDiffAdjoint(method(term=term), controller)
        solution = solver.solve(torchode.InitialValueProblem(y0=y0, t_eval=t))
        numbers += solution.ys.flatten().tolist() + solution.stats["n_steps"].tolist()
    return numbers


def torchquad__integrals() -> list[float]:
    import torch
    from torchquad import VEGAS, Boole, GaussLegendre, MonteCarlo, Simpson, set_up_backend

    set_up_backend("torch", data_type="float64")
    torch.set_default_device("cpu")

    def function(x: Any) -> Any:
        return torch.sin(x[:, 0]) + torch.exp(x[:, 1])

    numbers = []
    for rule, n in ((MonteCarlo, 1000), (Boole, 650), (Simpson, 700), (GaussLegendre, 200),
                    (VEGAS, 3000)):  # fmt: skip
        seed = {"seed": 3} if rule in (MonteCarlo, VEGAS) else {}
        domain = [[0, 1], [-1, 1]]
        found = rule().integrate(
            function, dim=2, N=n, integration_domain=domain, backend="torch", **seed
        )
        numbers.append(float(found))
    return numbers


def torchrl__ppo() -> list[float]:
    import torch
    from tensordict.nn import TensorDictModule
    from torch import nn
    from torchrl.collectors import Collector
    from torchrl.envs.libs.gym import GymEnv
    from torchrl.modules import (
        NormalParamExtractor,
        ProbabilisticActor,
        TanhNormal,
        ValueOperator,
    )
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    torch.manual_seed(0)
    env = GymEnv("Pendulum-v1")
    env.set_seed(0)
    layers = nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2), NormalParamExtractor()
    actor = ProbabilisticActor(
        TensorDictModule(nn.Sequential(*layers), ["observation"], ["loc", "scale"]),
        spec=env.action_spec,
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": -2.0, "high": 2.0},
        return_log_prob=True,
    )
    layers = nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)
    critic = ValueOperator(nn.Sequential(*layers), in_keys=["observation"])
    losses = ClipPPOLoss(actor, critic)
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimizer = torch.optim.Adam(losses.parameters(), 1e-3)
    numbers = []
    for batch in Collector(env, actor, frames_per_batch=40, total_frames=120):
        for _ in range(3):
            advantage(batch)
            parts = losses(batch)
            loss = parts["loss_objective"] + parts["loss_critic"] + parts["loss_entropy"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            numbers.append(loss.item())
    return numbers


def ptwt__wavelets() -> list[float]:
    import ptwt
    import pywt
    import torch

    torch.manual_seed(0)
    x = torch.randn(2, 64, dtype=torch.float64)
    parts = ptwt.wavedec(x, pywt.Wavelet("db4"), level=3, mode="reflect")
    image = torch.randn(1, 16, 16, dtype=torch.float64)
    results = [
        *parts,
        ptwt.waverec(parts, pywt.Wavelet("db4")),
        ptwt.waverec2(ptwt.wavedec2(image, "db2", level=2, mode="zero"), "db2"),
        ptwt.cwt(x, torch.arange(1, 5), "cmor1.5-1.0")[0].abs(),
        *ptwt.MatrixWavedec(pywt.Wavelet("db2"), 2)(x),
    ]
    return [v for part in results for v in part.flatten()[::5].tolist()]


def zennit__relevance() -> list[float]:
    import torch
    from torch import nn
    from zennit.attribution import Gradient
    from zennit.composites import EpsilonGammaBox, EpsilonPlusFlat

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)
    )
    x, numbers = torch.randn(2, 3, 8, 8), []
    for composite in (EpsilonPlusFlat(), EpsilonGammaBox(low=-3.0, high=3.0)):
        with Gradient(model=model, composite=composite) as attributor:
            _, relevance = attributor(x, torch.eye(5)[[0, 1]])
        numbers += relevance.flatten()[::7].tolist()
    return numbers


def lightly__losses() -> list[float]:
    import torch
    from lightly import loss
    from lightly.models.modules import SimCLRProjectionHead

    torch.manual_seed(0)
    head, numbers = SimCLRProjectionHead(8, 8, 4), []
    one, other = head(torch.randn(6, 8)), head(torch.randn(6, 8))
    for criterion in (
        loss.NTXentLoss(), loss.BarlowTwinsLoss(), loss.NegativeCosineSimilarity(),
        loss.VICRegLoss(), loss.DCLLoss(), loss.TiCoLoss(),
    ):  # fmt: skip
        value = criterion(one, other)
        value.backward(retain_graph=True)
        numbers.append(value.item())
    return [*numbers, *(p.grad.norm().item() for p in head.parameters())]


def mambapy__model() -> list[float]:
    import torch
    from mambapy.mamba import Mamba, MambaConfig

    torch.manual_seed(0)
    config = MambaConfig(d_model=16, n_layers=2)
    return _steps(Mamba(config), torch.randn(2, 12, 16))


def rtdl__models() -> list[float]:
    import rtdl
    import torch

    torch.manual_seed(0)
    layers = {"d_main": 8, "d_hidden": 8, "dropout_first": 0.1, "dropout_second": 0.0}
    models = (
        rtdl.MLP.make_baseline(d_in=5, d_layers=[8, 8], dropout=0.0, d_out=2),
        rtdl.ResNet.make_baseline(d_in=5, n_blocks=2, d_out=2, **layers),
    )
    return [loss for model in models for loss in _steps(model, torch.randn(7, 5))]


def muon__steps() -> list[float]:
    import torch
    from muon import SingleDeviceMuonWithAuxAdam
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    x, losses = torch.randn(8, 8), []
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    optimizer = SingleDeviceMuonWithAuxAdam(
        [
            {"params": matrices, "use_muon": True, "lr": 0.02},
            {"params": vectors, "use_muon": False, "lr": 3e-4},
        ]
    )
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def litgpt__model() -> list[float]:
    import torch
    from litgpt.config import Config
    from litgpt.model import GPT

    torch.manual_seed(0)
    config = Config(
        block_size=16, vocab_size=30, padded_vocab_size=32, n_layer=2, n_head=4, n_embd=32,
        n_query_groups=2, norm_class_name="RMSNorm", mlp_class_name="LLaMAMLP",
        intermediate_size=32, bias=False,
    )  # fmt: skip
    model = GPT(config)
    losses = _steps(model, torch.randint(0, 30, (2, 10)))
    model.max_seq_length = 12
    model.set_kv_cache(batch_size=1)
    with torch.no_grad():
        scores = model(torch.randint(0, 30, (1, 5)), torch.arange(5))
    return [*losses, *scores[0, -1, :8].tolist()]
