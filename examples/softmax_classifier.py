"""The softmax classifier: one step on three samples, every number printed; or on digits.

python examples/softmax_classifier.py                  the three samples
python examples/softmax_classifier.py --data digits    trained on handwritten digits
"""

from __future__ import annotations

import digits
import training

import nnkit
import nnkit.nn.functional as F
from nnkit import nn, optim


class Net(nn.Module):
    """One linear layer; the softmax is part of the loss."""

    def __init__(self, features: int = 4, classes: int = 2) -> None:
        super().__init__()
        self.linear = nn.Linear(features, classes)

    def forward(self, input: nnkit.Tensor) -> nnkit.Tensor:
        return self.linear(input)


def one_step(device: nnkit.device) -> None:
    """Three samples with four features each, targets 1, 0, 1, one step of SGD."""
    net = Net().to(device)
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    features = nnkit.randn(3, 4).to(device)
    target = nnkit.tensor([1, 0, 1], device=device)
    print("features\n", features)
    print("target\n", target)
    print("weight\n", net.linear.weight)
    print("bias\n", net.linear.bias)

    logits = net(features)
    print("logits\n", logits)
    print("probabilities\n", F.softmax(logits, dim=1))
    loss = F.cross_entropy(logits, target)
    print("loss\n", loss)

    optimizer.zero_grad()
    loss.backward()
    print("gradient of weight\n", net.linear.weight.grad)
    print("gradient of bias\n", net.linear.bias.grad)

    optimizer.step()
    print("weight after one step\n", net.linear.weight)
    print("bias after one step\n", net.linear.bias)
    print("loss after one step\n", F.cross_entropy(net(features), target))


def main() -> None:
    parser = training.arguments("Train the softmax classifier.", epochs=30)
    parser.add_argument("--data", choices=["samples", "digits"], default="samples")
    options = parser.parse_args()
    if options.plot and options.data == "samples":
        parser.error("--plot draws the learning curve of --data digits")
    nnkit.manual_seed(options.seed)
    if options.data == "samples":
        one_step(options.device)
        return
    train, test = digits.load()
    net = Net(64, 10).to(options.device)
    optimizer = optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    training.fit(net, optimizer, train, test, options)
    print(f"test accuracy {training.accuracy(net, test):.4f}")


if __name__ == "__main__":
    main()
