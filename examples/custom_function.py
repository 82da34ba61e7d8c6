"""An operation of one's own: forward, backward, and the proof that they belong together."""

from __future__ import annotations

import argparse

import training

import nnkit
from nnkit.autograd import Function, gradcheck, gradgradcheck


class Cube(Function):
    """x**3, with its derivative written by hand."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class ClipGradient(Function):
    """The identity, whose gradient is held between -1 and 1 on its way back."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-1, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description="An operation of one's own.")
    training.device_argument(parser)
    nnkit.set_default_device(parser.parse_args().device)
    x = nnkit.tensor([1.0, 2.0, 3.0], dtype=nnkit.float64, requires_grad=True)
    Cube.apply(x).sum().backward()
    print("x", x)
    print("d x**3 / dx", x.grad)
    print("gradcheck", gradcheck(Cube.apply, (x,)))
    print("gradgradcheck", gradgradcheck(Cube.apply, (x,)))

    y = nnkit.tensor([0.1, 10.0], requires_grad=True)
    (ClipGradient.apply(y) ** 2).sum().backward()
    print("clipped gradient of y**2", y.grad)


if __name__ == "__main__":
    main()
