"""Images: a small convolutional network and a residual one."""

from __future__ import annotations

from typing import Any

from benchmarks.workloads.training import Step, training_step


def cnn(fw: Any, device: str = "cpu") -> Step:
    """Two convolutions, a pooling, two linear layers; 28x28, batch 64, Adam."""
    fw.manual_seed(0)
    x, y = fw.randn(64, 1, 28, 28).to(device), fw.randint(0, 10, (64,)).to(device)
    nn = fw.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(9216, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    ).to(device)
    return training_step(fw, model, fw.optim.Adam(model.parameters()), x, y)


def residual_network(fw: Any, widths: list[int], blocks: int, classes: int = 10) -> Any:
    """A residual network for small images: `blocks` basic blocks of each width (He et al. 2016)."""
    nn = fw.nn

    def conv(inputs: int, outputs: int, kernel: int, stride: int) -> list[Any]:
        padding = kernel // 2
        layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=padding, bias=False)
        return [layer, nn.BatchNorm2d(outputs)]

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.main = nn.Sequential(
                *conv(inputs, outputs, 3, stride), nn.ReLU(), *conv(outputs, outputs, 3, 1)
            )
            same = stride == 1 and inputs == outputs
            self.shortcut = (
                nn.Identity() if same else nn.Sequential(*conv(inputs, outputs, 1, stride))
            )

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(self.main(x) + self.shortcut(x))

    layers = [*conv(3, widths[0], 3, 1), nn.ReLU()]
    inputs = widths[0]
    for width in widths:
        for number in range(blocks):
            down = number == 0 and width != widths[0]
            layers.append(Block(inputs, width, 2 if down else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def resnet(fw: Any, device: str = "cpu") -> Step:
    """Three residual blocks of 32, 64 and 128 channels; 32x32, batch 16, SGD with momentum."""
    fw.manual_seed(0)
    x, y = fw.randn(16, 3, 32, 32).to(device), fw.randint(0, 10, (16,)).to(device)
    model = residual_network(fw, [32, 64, 128], 1).to(device)
    return training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), x, y)
