"""Classifiers made of linear layers, and a chain of small operations."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.workloads.training import Step, training_step


def _data(fw: Any, device: str, batch: int, features: int, classes: int) -> tuple[Any, Any]:
    fw.manual_seed(0)
    x = fw.randn(batch, features)
    return x.to(device), fw.randint(0, classes, (batch,)).to(device)


def _mlp(fw: Any, device: str, *widths: int) -> Any:
    """Linear layers from each width to the next, with ReLU between them."""
    layers: list[Any] = []
    for features, units in pairwise(widths):
        layers += [fw.nn.Linear(features, units), fw.nn.ReLU()]
    return fw.nn.Sequential(*layers[:-1]).to(device)


def softmax_small(fw: Any, device: str = "cpu") -> Step:
    """Softmax classifier, 4 features, 2 classes, batch 3, SGD with momentum."""
    x, y = _data(fw, device, 3, 4, 2)
    model = fw.nn.Linear(4, 2).to(device)
    return training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), x, y)


def softmax_digits(fw: Any, device: str = "cpu") -> Step:
    """Softmax classifier, 64 features, 10 classes, batch 64, SGD with momentum."""
    x, y = _data(fw, device, 64, 64, 10)
    model = fw.nn.Linear(64, 10).to(device)
    return training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), x, y)


def mlp_adam(fw: Any, device: str = "cpu") -> Step:
    """MLP 784-256-128-10, batch 64, Adam."""
    x, y = _data(fw, device, 64, 784, 10)
    model = _mlp(fw, device, 784, 256, 128, 10)
    return training_step(fw, model, fw.optim.Adam(model.parameters()), x, y)


def mlp_wide(fw: Any, device: str = "cpu") -> Step:
    """MLP 1024-1024-1024-10, batch 256, SGD."""
    x, y = _data(fw, device, 256, 1024, 10)
    model = _mlp(fw, device, 1024, 1024, 1024, 10)
    return training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.01), x, y)


def mlp_inference(fw: Any, device: str = "cpu") -> Step:
    """MLP 784-256-10, one example at a time, without a graph."""
    x, _ = _data(fw, device, 1, 784, 10)
    model = _mlp(fw, device, 784, 256, 10).eval()

    def step() -> Any:
        with fw.inference_mode():
            return model(x)

    return step


def op_chain(fw: Any, device: str = "cpu") -> Step:
    """Ten small element-wise operations on (8, 8), forward and backward."""
    fw.manual_seed(0)
    x = fw.randn(8, 8).to(device).requires_grad_()
    w = fw.randn(8, 8).to(device)

    def step() -> Any:
        y = x * w
        y = y + 1.5
        y = y.tanh()
        y = y * y
        y = y - w
        y = y.exp()
        y = y / 3.0
        y = y.sigmoid()
        y = y.relu()
        loss = y.sum()
        x.grad = None
        loss.backward()
        return loss

    return step
