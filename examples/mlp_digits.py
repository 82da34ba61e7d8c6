"""A perceptron with two hidden layers on handwritten digits, trained with Adam."""

from __future__ import annotations

import digits
import training

import nnkit
from nnkit import nn, optim


def main() -> None:
    options = training.arguments("Train an MLP on digits.", epochs=20).parse_args()
    nnkit.manual_seed(options.seed)
    train, test = digits.load()
    model = nn.Sequential(
        nn.Linear(64, 128),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(128, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    ).to(options.device)
    training.fit(model, optim.Adam(model.parameters()), train, test, options)
    print(f"test accuracy {training.accuracy(model, test):.4f}")


if __name__ == "__main__":
    main()
