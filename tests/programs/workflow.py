"""What surrounds the model: data, hooks, averages, checkpoints, optimizers of one's own."""

from __future__ import annotations

import copy
import io
from importlib import import_module
from typing import Any


def data_pipeline(torch: Any) -> list:
    """Splits, samplers, a collate function, a seeded generator, gradients accumulated."""
    data = import_module(torch.__name__ + ".utils.data")
    nn = torch.nn

    class Numbers(data.Dataset):
        def __len__(self):
            return 24

        def __getitem__(self, index):
            return {"x": torch.full((3,), float(index)) / 24, "y": index % 3}

    generator = torch.Generator().manual_seed(42)
    train, rest = data.random_split(Numbers(), [18, 6], generator=generator)
    sampler = data.WeightedRandomSampler([0.1 + i for i in range(18)], 16, replacement=True)
    loader = data.DataLoader(train, batch_size=4, sampler=sampler)
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    seen = list(rest.indices)
    for _ in range(2):
        optimizer.zero_grad()
        for i, batch in enumerate(loader):
            loss = nn.functional.cross_entropy(model(batch["x"]), batch["y"]) / 2
            loss.backward()
            if (i + 1) % 2 == 0:
                norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1, float("inf"))
                optimizer.step()
                optimizer.zero_grad()
                seen.append(norm.item())
            seen.append(loss.item())
    last = data.DataLoader(data.Subset(Numbers(), [5, 6, 7]), batch_size=2, shuffle=True)
    return seen + [y for batch in last for y in batch["y"].tolist()]


def hooks_and_frozen_layers(torch: Any) -> list:
    """Activations and gradients by hooks, a frozen first layer, a replaced last one."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    for p in model[0].parameters():
        p.requires_grad = False
    model[2] = nn.Linear(5, 3)
    sizes = {}
    handles = [
        layer.register_forward_hook(
            lambda _, inputs, out, name=name: sizes.__setitem__(name, out.detach().norm().item())
        )
        for name, layer in model.named_children()
    ]
    handles.append(model[0].register_forward_pre_hook(lambda _, inputs: (inputs[0] * 2,)))
    handles.append(model[2].weight.register_hook(lambda g: g * 0.5))
    trained = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = torch.optim.Adam(trained, lr=0.1)
    x, seen = torch.randn(6, 4), []
    for _ in range(4):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += [loss.item(), *sizes.values()]
    for handle in handles:
        handle.remove()
    return seen + [model(x).sum().item(), model[2].weight.grad.norm().item()]


def averages_and_checkpoints(torch: Any) -> list:
    """An average of the weights kept in place; training resumed from a file goes on the same."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Linear(4, 1))
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.randn(10, 3)
    y = x.sum(1, keepdim=True)

    def step(model, optimizer):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    seen = []
    for _ in range(4):
        seen.append(step(model, optimizer))
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.mul_(0.9).add_(p, alpha=0.1)
            for a, b in zip(average.buffers(), model.buffers()):
                a.copy_(b)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    seen += [step(model, optimizer) for _ in range(2)]
    file.seek(0)
    checkpoint = torch.load(file, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    resumed = torch.optim.Adam(model.parameters(), lr=1.0)
    resumed.load_state_dict(checkpoint["optimizer"])
    again = [step(model, resumed) for _ in range(2)]
    assert again == seen[-2:]
    average.eval()
    return seen + average(x).flatten().tolist()


def own_optimizer(torch: Any) -> list:
    """A subclass of `Optimizer` with state, groups and a closure, written with in-place ops."""

    class Lion(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), decay=0.0):
            super().__init__(params, {"lr": lr, "betas": betas, "decay": decay})

        @torch.no_grad()
        def step(self, closure: Any = None):
            with torch.enable_grad():
                loss = closure()
            for group in self.param_groups:
                first, second = group["betas"]
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["average"] = torch.zeros_like(p)
                    average = state["average"]
                    p.mul_(1 - group["lr"] * group["decay"])
                    update = average.clone().mul_(first).add(p.grad, alpha=1 - first).sign_()
                    p.add_(update, alpha=-group["lr"])
                    average.mul_(second).add_(p.grad, alpha=1 - second)
                    p.addcdiv_(average, average.abs().sqrt().add_(1e-2), value=-1e-3)
            return loss

    model = torch.nn.Linear(4, 3)
    groups = [{"params": [model.weight], "lr": 0.01}, {"params": model.bias}]
    optimizer = Lion(groups, decay=0.1)
    x, y = torch.randn(9, 4), torch.randn(9, 3)

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(8)] + model.weight.flatten().tolist()


PROGRAMS = (data_pipeline, hooks_and_frozen_layers, averages_and_checkpoints, own_optimizer)
