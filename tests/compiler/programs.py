"""Steps to compile. Each builds what it trains and returns the step and what holds its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nnkit
from benchmarks.workloads import sequences
from nnkit import Tensor, nn, optim
from nnkit.autograd import Function
from nnkit.nn import functional as F
from nnkit.optim import lr_scheduler as schedules
from nnkit.optim import swa_utils

Step = Callable[[Tensor, Tensor], Any]
PROGRAMS: dict[str, Callable[[], tuple[Step, list, Callable]]] = {}


def program(build: Callable) -> Callable:
    PROGRAMS[build.__name__] = build
    return build


def features(i: int, shape: tuple = (6, 8), classes: int = 3) -> tuple[Tensor, Tensor]:
    g = nnkit.Generator().manual_seed(i)
    return nnkit.randn(*shape, generator=g), nnkit.randint(0, classes, shape[:1], generator=g)


def images(i: int) -> tuple[Tensor, Tensor]:
    return features(i, (4, 3, 8, 8))


def words(i: int) -> tuple[Tensor, Tensor]:
    g = nnkit.Generator().manual_seed(i)
    tokens = nnkit.randint(0, 11, (3, 9), generator=g)
    return tokens[:, :-1], tokens[:, 1:]


def mlp(*extra: Any) -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), *extra, nn.Linear(16, 3))


def training(model: nn.Module, optimizer: Any, scheduler: Any = None) -> tuple[Step, list]:
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        return loss

    return step, [model, optimizer, *([scheduler] if scheduler else [])]


OPTIMIZERS: dict[str, Callable] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "sgd_nesterov": lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "adam_amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.01),
    "adadelta": lambda p: optim.Adadelta(p, lr=0.5),
    "adamax": lambda p: optim.Adamax(p, lr=0.01),
    "asgd": lambda p: optim.ASGD(p, lr=0.01),
    "nadam": lambda p: optim.NAdam(p, lr=0.01),
    "radam": lambda p: optim.RAdam(p, lr=0.01),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "rprop": lambda p: optim.Rprop(p, lr=0.01),
}

SCHEDULES: dict[str, Callable] = {
    "step_lr": lambda o: schedules.StepLR(o, 3, 0.5),
    "cosine": lambda o: schedules.CosineAnnealingLR(o, 15),
    "one_cycle": lambda o: schedules.OneCycleLR(o, 0.5, total_steps=40),
    "cyclic": lambda o: schedules.CyclicLR(o, 0.01, 0.2, step_size_up=4),
    "lambda_lr": lambda o: schedules.LambdaLR(o, lambda n: 1 / (n + 1)),
    "sequential": lambda o: schedules.SequentialLR(
        o, [schedules.ConstantLR(o, 0.1), schedules.ExponentialLR(o, 0.9)], [5]
    ),
}

MODELS: dict[str, tuple[Callable, Callable]] = {
    "dropout": (lambda: mlp(nn.Dropout(0.3)), features),
    "alpha_dropout": (lambda: mlp(nn.AlphaDropout(0.3)), features),
    "batch_norm": (lambda: mlp(nn.BatchNorm1d(16)), features),
    "layer_norm": (lambda: mlp(nn.LayerNorm(16), nn.GELU()), features),
    "rms_norm": (lambda: mlp(nn.RMSNorm(16), nn.SiLU()), features),
    "cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.Dropout2d(0.2), nn.Flatten(), nn.Linear(64, 3),
        ),
        images,
    ),
    "pools": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.AvgPool2d(2), nn.GroupNorm(2, 4), nn.ELU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
        ),
        images,
    ),
    "depthwise": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 6, 3, groups=3), nn.Hardswish(), nn.ConvTranspose2d(6, 2, 2, stride=2),
            nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(8, 3),
        ),
        images,
    ),
    "spectral": (
        lambda: nn.Sequential(
            nn.utils.parametrizations.weight_norm(nn.Linear(8, 16)), nn.Tanh(), nn.Linear(16, 3)
        ),
        features,
    ),
}  # fmt: skip


def _of_optimizer(name: str) -> Callable:
    def build() -> tuple:
        model = mlp()
        return *training(model, OPTIMIZERS[name](model.parameters())), features

    return build


def _of_schedule(name: str) -> Callable:
    def build() -> tuple:
        model = mlp()
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        return *training(model, optimizer, SCHEDULES[name](optimizer)), features

    return build


def _of_model(name: str) -> Callable:
    def build() -> tuple:
        make, batch = MODELS[name]
        model = make()
        return *training(model, optim.AdamW(model.parameters(), lr=0.01)), batch

    return build


PROGRAMS.update({f"optimizer_{name}": _of_optimizer(name) for name in OPTIMIZERS})
PROGRAMS.update({f"schedule_{name}": _of_schedule(name) for name in SCHEDULES})
PROGRAMS.update({f"model_{name}": _of_model(name) for name in MODELS})


@program
def gpt_with_shared_weights() -> tuple:
    model = sequences.transformer(nnkit, 11, 8, layers=2, width=16, heads=2)
    optimizer = optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        loss = F.cross_entropy(model(x).reshape(-1, 11), y.reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss

    return step, [model, optimizer], words


class Recurrent(nn.Module):
    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.layer = kind(2, 6, batch_first=True, num_layers=2, **options)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        out, _ = self.layer(x.reshape(-1, 4, 2))
        return self.head(out[:, -1])


@program
def lstm() -> tuple:
    model = Recurrent(nn.LSTM, dropout=0.2)
    return *training(model, optim.Adam(model.parameters())), features


@program
def gru() -> tuple:
    model = Recurrent(nn.GRU)
    return *training(model, optim.Adam(model.parameters())), features


@program
def rnn() -> tuple:
    model = Recurrent(nn.RNN)
    return *training(model, optim.SGD(model.parameters(), lr=0.1)), features


@program
def transformer_layer() -> tuple:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    head = nn.Linear(8, 3)
    optimizer = optim.Adam([*layer.parameters(), *head.parameters()])

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(head(layer(x.unsqueeze(1)).squeeze(1)), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, [layer, head, optimizer], features


@program
def gradient_accumulation() -> tuple:
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        total = nnkit.zeros(())
        for part, target in zip(x.chunk(3), y.chunk(3), strict=True):
            loss = F.cross_entropy(model(part), target) / 3
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        return total

    return step, [model, optimizer], features


@program
def accumulation_over_calls() -> tuple:
    model = mlp()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    return step, [model], features


@program
def clipping_by_norm() -> tuple:
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.5)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        return {"loss": loss, "norm": norm}

    return step, [model, optimizer], features


@program
def clipping_by_value() -> tuple:
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.5)

    def step(x, y):
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.01)
        optimizer.step()
        return loss, model[0].weight.grad

    return step, [model, optimizer], features


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


@program
def custom_function() -> tuple:
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(Cube.apply(model(x)), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, [model, optimizer], features


@program
def two_models() -> tuple:
    maker, judge = nn.Linear(8, 8), mlp()
    for_maker = optim.Adam(maker.parameters())
    for_judge = optim.SGD(judge.parameters(), lr=0.1)

    def step(x, y):
        made = maker(x + nnkit.randn_like(x))
        for_judge.zero_grad()
        first = F.cross_entropy(judge(made.detach()), y)
        first.backward()
        for_judge.step()
        for_maker.zero_grad()
        second = -F.cross_entropy(judge(made), y)
        second.backward()
        for_maker.step()
        return first, second

    return step, [maker, judge, for_maker, for_judge], features


@program
def moving_average() -> tuple:
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    average = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        return loss

    return step, [model, optimizer, average], features


@program
def scaled_loss() -> tuple:
    model = mlp()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    scaler = nnkit.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=3)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step, [model, optimizer, scaler], features


@program
def update_by_hand() -> tuple:
    w = nnkit.zeros(8, 3, requires_grad=True)

    def step(x, y):
        loss = F.cross_entropy(x @ w, y)
        loss.backward()
        with nnkit.no_grad():
            w.sub_(0.1 * w.grad)
            w.grad.zero_()
        return loss

    return step, [w], features


@program
def gradient_penalty() -> tuple:
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        x = x.detach().requires_grad_()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        (g,) = nnkit.autograd.grad(loss, x, create_graph=True)
        (loss + g.square().sum()).backward()
        optimizer.step()
        return loss, g.detach()

    return step, [model, optimizer], features


@program
def inference() -> tuple:
    model = mlp(nn.BatchNorm1d(16)).eval()

    @nnkit.inference_mode()
    def step(x, y):
        return model(x).argmax(1), nnkit.randn(2)

    return step, [model], features


@program
def evaluation() -> tuple:
    model = mlp(nn.Dropout()).eval()

    def step(x, y):
        with nnkit.no_grad():
            out = model(x)
            return {"loss": F.cross_entropy(out, y), "right": (out.argmax(1) == y).sum()}

    return step, [model], features


@program
def backward_outside() -> tuple:
    model = mlp(nn.Dropout(0.2))

    def step(x, y):
        return F.cross_entropy(model(x), y)

    return step, [model], features


@program
def half_precision() -> tuple:
    model = mlp().bfloat16()
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.bfloat16()).float(), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, [model, optimizer], features


@program
def embedding() -> tuple:
    table, head = nn.Embedding(11, 8, padding_idx=0), nn.Linear(8, 3)
    optimizer = optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(head(table(x).mean(1)), y[:, 0] % 3)
        loss.backward()
        optimizer.step()
        return loss

    return step, [table, head, optimizer], words


@program
def regression() -> tuple:
    model = nn.Sequential(nn.Linear(8, 4), nn.Softplus(), nn.Linear(4, 1))
    optimizer = optim.RMSprop(model.parameters())
    criterion = nn.HuberLoss()

    def step(x, y):
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(1), y.float())
        loss.backward()
        optimizer.step()
        return loss

    return step, [model, optimizer], features


@program
def autoencoder() -> tuple:
    mean, spread, back = nn.Linear(8, 2), nn.Linear(8, 2), nn.Linear(2, 8)
    modules = nn.ModuleList([mean, spread, back])
    optimizer = optim.Adam(modules.parameters(), lr=0.01)

    def step(x, y):
        m, s = mean(x), spread(x)
        z = m + nnkit.randn_like(m) * (s / 2).exp()
        loss = F.mse_loss(back(z), x) - 0.5 * (1 + s - m * m - s.exp()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [modules, optimizer], features


@program
def frozen_part() -> tuple:
    model = mlp(nn.Dropout(0.5))
    model[0].requires_grad_(False)
    return *training(model, optim.SGD(model[-1].parameters(), lr=0.1)), features
