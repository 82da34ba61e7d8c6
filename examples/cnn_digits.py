"""A small convolutional network on handwritten digits, trained with AdamW."""

from __future__ import annotations

import digits
import training

import nnkit
import nnkit.nn.functional as F
from nnkit import nn, optim


class Net(nn.Module):
    """Two convolutions, a pooling, dropout and a linear layer, for images of 8 x 8."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.linear = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x: nnkit.Tensor) -> nnkit.Tensor:
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.linear(self.dropout(x.flatten(1)))


def main() -> None:
    options = training.arguments("Train a CNN on digits.", epochs=8).parse_args()
    nnkit.manual_seed(options.seed)
    train, test = digits.load(flat=False)
    model = Net().to(options.device)
    training.fit(model, optim.AdamW(model.parameters(), lr=2e-3), train, test, options)
    print(f"test accuracy {training.accuracy(model, test):.4f}")


if __name__ == "__main__":
    main()
