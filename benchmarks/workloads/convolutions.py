"""Convolutions by themselves: one layer forward and backward, with the gradient of its input."""

from __future__ import annotations

from typing import Any

from benchmarks.workloads.training import Step, Workload

# name: shape of the input, layer, its arguments, its keyword arguments
LAYERS: dict[str, tuple[tuple[int, ...], str, tuple[int, ...], dict[str, int]]] = {
    "conv (64,1,28,28) to 32, k3": ((64, 1, 28, 28), "Conv2d", (1, 32, 3), {}),
    "conv (64,32,26,26) to 64, k3": ((64, 32, 26, 26), "Conv2d", (32, 64, 3), {}),
    "conv (32,64,32,32) to 64, k3 p1": ((32, 64, 32, 32), "Conv2d", (64, 64, 3), {"padding": 1}),
    "conv (16,128,16,16) to 256, k3": ((16, 128, 16, 16), "Conv2d", (128, 256, 3), {}),
    "conv (32,3,32,32) to 64, k7": ((32, 3, 32, 32), "Conv2d", (3, 64, 7), {}),
    "conv (32,64,32,32) to 128, k1": ((32, 64, 32, 32), "Conv2d", (64, 128, 1), {}),
    "conv (32,64,32,32) depthwise, k3 p1": (
        (32, 64, 32, 32),
        "Conv2d",
        (64, 64, 3),
        {"padding": 1, "groups": 64},
    ),
    "conv (8,384,14,14) depthwise, k3 p1": (
        (8, 384, 14, 14),
        "Conv2d",
        (384, 384, 3),
        {"padding": 1, "groups": 384},
    ),
    "conv (8,96,56,56) depthwise, k3 s2 p1": (
        (8, 96, 56, 56),
        "Conv2d",
        (96, 96, 3),
        {"stride": 2, "padding": 1, "groups": 96},
    ),
    "conv (8,160,14,14) depthwise, k7 p3": (
        (8, 160, 14, 14),
        "Conv2d",
        (160, 160, 7),
        {"padding": 3, "groups": 160},
    ),
    "conv 1d (32,64,256) to 128, k5": ((32, 64, 256), "Conv1d", (64, 128, 5), {}),
    "conv transposed (32,64,16,16) to 32, k4 s2 p1": (
        (32, 64, 16, 16),
        "ConvTranspose2d",
        (64, 32, 4),
        {"stride": 2, "padding": 1},
    ),
}


def convolution(name: str) -> Workload:
    """The workload of one row of the table."""
    shape, layer, arguments, keywords = LAYERS[name]

    def workload(fw: Any, device: str = "cpu") -> Step:
        fw.manual_seed(0)
        model = getattr(fw.nn, layer)(*arguments, **keywords).to(device)
        x = fw.randn(*shape).to(device).requires_grad_()
        g = fw.randn(model(x).shape).to(device)

        def step() -> Any:
            model.zero_grad()
            x.grad = None
            out = model(x)
            out.backward(g)
            return out, x.grad, model.weight.grad, model.bias.grad

        return step

    return workload


WORKLOADS = {name: convolution(name) for name in LAYERS}
