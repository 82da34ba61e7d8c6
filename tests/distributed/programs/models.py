"""The models and batches that the programs of this folder train; the framework is their first
argument."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

FRAMEWORK = sys.argv[1]
T: Any = import_module(FRAMEWORK)
nn: Any = T.nn
BATCH = 12


class Gpt(nn.Module):
    """A small language model whose first and last weights are one."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(17, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(8, 17, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]).to(T.float64)
        return self.head(self.blocks(self.embedding(x), mask=mask))[:, -1]


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(5, 8, num_layers=2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0][:, -1])


class Checkpointed(nn.Module):
    """Computes its layers anew in backward; trained with scaled losses."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(10, 10), nn.Linear(10, 3)])

    def forward(self, x: Any) -> Any:
        checkpoint = import_module(f"{FRAMEWORK}.utils.checkpoint").checkpoint
        for part in self.parts:
            x = checkpoint(part, x, use_reentrant=False)
        return x


class Branches(nn.Module):
    """Which branch is used depends on the step, and in ``"uneven"`` on the rank."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(10, 3) for _ in range(3)])
        self.never = nn.Linear(2, 2)
        self.chosen = 0

    def forward(self, x: Any) -> Any:
        return self.parts[self.chosen](x)


def mlp() -> Any:
    return nn.Sequential(
        nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3)
    )


def cnn() -> Any:
    made = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3),
        nn.BatchNorm2d(4, momentum=None), nn.Flatten(), nn.Linear(64, 3),
    )  # fmt: skip
    return made


def sample(case: str, step: int) -> tuple[Any, Any]:
    T.manual_seed(1000 + step)
    if case == "gpt":
        return T.randint(0, 17, (BATCH, 6)), T.randint(0, 17, (BATCH,))
    shape = {"cnn": (2, 8, 8), "lstm": (4, 5)}.get(case, (10,))
    return T.randn(BATCH, *shape, dtype=T.float64), T.randint(0, 3, (BATCH,))


MODELS: dict[str, Callable[[], Any]] = {
    "cnn": cnn,
    "gpt": Gpt,
    "lstm": Lstm,
    "unused": Branches,
    "scaler": Checkpointed,
}
