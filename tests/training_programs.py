"""Whole training programs, written once against the API that nnkit and torch share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def digits(fw: Any, flat: bool) -> tuple[Any, Any]:
    """256 of the handwritten digits of the examples, as tensors of the framework."""
    with np.load("examples/data/digits.npz") as file:
        images = (file["images"][:256] / 16).astype(np.float32)
        labels = file["labels"][:256].astype(np.int64)
    x = fw.from_numpy(images)
    return (x.reshape(-1, 64) if flat else x.unsqueeze(1)), fw.from_numpy(labels)


def seeds_net(fw: Any) -> tuple[Any, Any, Any, Any]:
    """The seeds' classifier: one linear layer, four features, two classes."""

    class Net(fw.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = fw.nn.Linear(4, 2)

        def forward(self, input):
            return self.linear(input)

    net = Net()
    x = fw.randn(30, 4)
    y = (x.sum(1) > 0).long()
    return net, fw.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), x, y


def mlp(fw: Any) -> tuple[Any, Any, Any, Any]:
    """Two hidden layers with dropout, Adam with weight decay."""
    nn = fw.nn
    net = nn.Sequential(
        nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 32), nn.Tanh(),
        nn.Linear(32, 10),
    )  # fmt: skip
    x, y = digits(fw, flat=True)
    return net, fw.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4), x, y


def cnn(fw: Any) -> tuple[Any, Any, Any, Any]:
    """Two convolutions, batch norm, pooling and dropout, SGD with Nesterov's momentum."""
    nn = fw.nn
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Dropout(0.25), nn.Flatten(),
        nn.Linear(16 * 4 * 4, 10),
    )  # fmt: skip
    x, y = digits(fw, flat=False)
    optimizer = fw.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    return net, optimizer, x, y


PROGRAMS: dict[str, Callable[[Any], tuple]] = {"seeds_net": seeds_net, "mlp": mlp, "cnn": cnn}


def losses(fw: Any, data: Any, name: str, steps: int = 50, seed: int = 0) -> list[float]:
    """The loss at every step, with shuffled batches.

    Args:
        fw: the framework's module.
        data: its ``utils.data``.
    """
    fw.manual_seed(seed)
    net, optimizer, x, y = PROGRAMS[name](fw)
    loader = data.DataLoader(data.TensorDataset(x, y), batch_size=16, shuffle=True)
    criterion = fw.nn.CrossEntropyLoss()
    found: list[float] = []
    while True:
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(net(inputs), targets)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
            if len(found) == steps:
                return found
