"""The workloads, each written once against the API that nnkit and PyTorch share.

A workload is a function of the framework's module; it returns a function that runs one step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def _training_step(fw: Any, model: Any, optimizer: Any, x: Any, y: Any) -> Step:
    def step() -> Any:
        optimizer.zero_grad()
        loss = fw.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _classification(fw: Any, batch: int, features: int, classes: int) -> tuple[Any, Any]:
    fw.manual_seed(0)
    return fw.randn(batch, features), fw.randint(0, classes, (batch,))


def softmax_small(fw: Any) -> Step:
    """Softmax classifier, 4 features, 2 classes, batch 3, SGD with momentum."""
    x, y = _classification(fw, 3, 4, 2)
    model = fw.nn.Linear(4, 2)
    return _training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), x, y)


def softmax_digits(fw: Any) -> Step:
    """Softmax classifier, 64 features, 10 classes, batch 64, SGD with momentum."""
    x, y = _classification(fw, 64, 64, 10)
    model = fw.nn.Linear(64, 10)
    return _training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), x, y)


def mlp_adam(fw: Any) -> Step:
    """MLP 784-256-128-10, batch 64, Adam."""
    x, y = _classification(fw, 64, 784, 10)
    nn = fw.nn
    model = nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    return _training_step(fw, model, fw.optim.Adam(model.parameters()), x, y)


def mlp_wide(fw: Any) -> Step:
    """MLP 1024-1024-1024-10, batch 256, SGD."""
    x, y = _classification(fw, 256, 1024, 10)
    nn = fw.nn
    model = nn.Sequential(
        nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    return _training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.01), x, y)


def op_chain(fw: Any) -> Step:
    """Ten small element-wise operations on (8, 8), forward and backward."""
    fw.manual_seed(0)
    x = fw.randn(8, 8).requires_grad_()
    w = fw.randn(8, 8)

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


WORKLOADS: dict[str, Callable[[Any], Step]] = {
    "softmax 4-2, batch 3, SGD": softmax_small,
    "softmax 64-10, batch 64, SGD": softmax_digits,
    "MLP 784-256-128-10, batch 64, Adam": mlp_adam,
    "MLP 1024-1024-1024-10, batch 256, SGD": mlp_wide,
    "chain of 10 small ops": op_chain,
}
