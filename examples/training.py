"""Code that the examples share: command line, training loop, accuracy, learning curve."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

from tqdm import tqdm

import nnkit
from nnkit import nn
from nnkit.optim import Optimizer
from nnkit.utils.data import DataLoader, TensorDataset


def arguments(description: str, epochs: int) -> argparse.ArgumentParser:
    """The options every example has."""
    parser = argparse.ArgumentParser(description=description)
    device_argument(parser)
    parser.add_argument("--epochs", type=int, default=epochs, help="passes over the training set")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--plot", metavar="FILE", help="write the learning curve as a picture")
    return parser


def device_argument(parser: argparse.ArgumentParser) -> None:
    """The option ``--device``; random numbers are drawn on the CPU first, so they are the same."""
    parser.add_argument("--device", type=nnkit.device, default="cpu", help="cpu, cuda, cuda:1 ...")


@dataclass
class History:
    """Loss and test accuracy after each epoch."""

    loss: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)


def accuracy(model: nn.Module, data: TensorDataset, batch_size: int = 256) -> float:
    """The share of samples whose largest logit is at the right class."""
    model.eval()
    device = next(model.parameters()).device
    right = 0
    with nnkit.no_grad():
        for x, y in DataLoader(data, batch_size=batch_size):
            right += int((model(x.to(device)).argmax(1) == y.to(device)).sum())
    model.train()
    return right / len(data)


def fit(
    model: nn.Module,
    optimizer: Optimizer,
    train: TensorDataset,
    test: TensorDataset,
    options: argparse.Namespace,
    batch_size: int = 64,
) -> History:
    """Train with cross-entropy and shuffled batches; one line for each epoch stays on the screen,
    and on a terminal a bar shows loss and accuracy live."""
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(train, batch_size=batch_size, shuffle=True)
    history = History()
    for epoch in range(options.epochs):
        total, seen, right = 0.0, 0, 0
        name = f"epoch {epoch + 1}"
        # None: no bar where the output is no terminal, in a file or a pipe.
        with tqdm(loader, desc=name, disable=options.quiet or None, leave=False) as bar:
            for x, y in bar:
                x, y = x.to(options.device), y.to(options.device)
                logits = model(x)
                loss = criterion(logits, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item() * len(y)
                right += int((logits.detach().argmax(1) == y).sum())
                seen += len(y)
                bar.set_postfix(loss=f"{total / seen:.4f}", accuracy=f"{right / seen:.4f}")
        history.loss.append(total / seen)
        history.accuracy.append(accuracy(model, test))
        if not options.quiet:
            print(f"{name}: loss {total / seen:.4f}, test accuracy {history.accuracy[-1]:.4f}")
    if options.plot:
        plot(history, options.plot)
    return history


def plot(history: History, path: str) -> None:
    """Write the learning curve to a picture file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, left = pyplot.subplots(figsize=(6, 4))
    epochs = range(1, len(history.loss) + 1)
    left.plot(epochs, history.loss, color="tab:blue", marker=".")
    left.set_xlabel("epoch")
    left.set_ylabel("training loss", color="tab:blue")
    right = left.twinx()
    right.plot(epochs, history.accuracy, color="tab:orange", marker=".")
    right.set_ylabel("test accuracy", color="tab:orange")
    figure.tight_layout()
    figure.savefig(path)
