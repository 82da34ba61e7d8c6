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


def _residual_parts(fw: Any) -> tuple[Any, Any]:
    """A convolution with its norm, as a list, and the module that adds a shortcut to layers."""
    nn = fw.nn

    def conv(inputs: int, outputs: int, kernel: int, stride: int) -> list[Any]:
        padding = kernel // 2
        layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=padding, bias=False)
        return [layer, nn.BatchNorm2d(outputs)]

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int, layers: list[Any]) -> None:
            super().__init__()
            self.main = nn.Sequential(*layers)
            same = stride == 1 and inputs == outputs
            self.shortcut = (
                nn.Identity() if same else nn.Sequential(*conv(inputs, outputs, 1, stride))
            )

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(self.main(x) + self.shortcut(x))

    return conv, Block


def residual_network(fw: Any, widths: list[int], blocks: int, classes: int = 10) -> Any:
    """A residual network for small images: `blocks` basic blocks of each width (He et al. 2016)."""
    nn = fw.nn
    conv, block = _residual_parts(fw)
    layers = [*conv(3, widths[0], 3, 1), nn.ReLU()]
    inputs = widths[0]
    for width in widths:
        for number in range(blocks):
            stride = 2 if number == 0 and width != widths[0] else 1
            main = [*conv(inputs, width, 3, stride), nn.ReLU(), *conv(width, width, 3, 1)]
            layers.append(block(inputs, width, stride, main))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def resnet50(fw: Any) -> Any:
    """ResNet-50 (He et al. 2016), which halves an image in its 3x3 convolutions, as torchvision's
    does: 25,557,032 parameters."""
    nn = fw.nn
    conv, block = _residual_parts(fw)
    layers = [*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
    inputs = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(blocks):
            stride = 2 if number == 0 and width != 64 else 1
            main = [
                *(*conv(inputs, width, 1, 1), nn.ReLU()),
                *(*conv(width, width, 3, stride), nn.ReLU()),
                *conv(width, 4 * width, 1, 1),
            ]
            layers.append(block(inputs, 4 * width, stride, main))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def resnet(fw: Any, device: str = "cpu") -> Step:
    """Three residual blocks of 32, 64 and 128 channels; 32x32, batch 16, SGD with momentum."""
    fw.manual_seed(0)
    x, y = fw.randn(16, 3, 32, 32).to(device), fw.randint(0, 10, (16,)).to(device)
    model = residual_network(fw, [32, 64, 128], 1).to(device)
    return training_step(fw, model, fw.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), x, y)
