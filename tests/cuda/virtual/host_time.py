"""How long an op keeps the host: the time of Python and CuPy, without the driver's.

    python -m tests.cuda.virtual.host_time          # all
    python -m tests.cuda.virtual.host_time "x + y"  # one

Kernels and products are launched on the played GPU and compute nothing. The processor's time of
this thread is counted, the least of several rounds, so that other work beside it matters little.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.cuda.virtual import device, twin

ROUNDS, SECONDS = 8, 0.02  # of how long


def play_without_computing() -> None:
    driver = device.install()
    twin.connect(driver)
    nothing = ctypes.CDLL(None)["getpid"]  # takes what it is given, and does not look at it
    address = ctypes.cast(nothing, ctypes.c_void_p).value

    def resolve(module: int, name: bytes, out: Any) -> int:
        function = ctypes.cast(out, ctypes.POINTER(twin.Function)).contents
        function.run, function.count, function.most_threads = address, 0, 1024
        function.name = name[:1023]
        return 0

    play_without_computing.resolve = twin._Resolve(resolve)  # type: ignore[attr-defined]
    driver.played_connect(twin._callbacks[0], play_without_computing.resolve)
    driver.played_lag(0)
    from nnkit.backend.cuda import blas

    for name in ("cublasGemmEx", "cublasGemmStridedBatchedEx"):
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *blas.SIGNATURES[name])
        nothing = ctypes.cast(driver.cuModuleUnload, ctypes.c_void_p).value
        assert nothing is not None
        done = kind(nothing)
        setattr(blas.library(), name, done)


def calls() -> dict[str, Callable[[], Any]]:
    import nnkit

    nn, F = nnkit.nn, nnkit.nn.functional
    x, y, weight, wants = (nnkit.randn(64, 64).to("cuda") for _ in range(4))
    bias = nnkit.randn(64).to("cuda")
    wants.requires_grad_()
    sizes = (64, 128, 128, 10)
    layers = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
    net = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2]).to("cuda")
    optimizer = nnkit.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    inputs, labels = nnkit.randn(32, 64).to("cuda"), nnkit.randint(0, 10, (32,)).to("cuda")

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), labels).backward()
        optimizer.step()

    return {
        "empty": lambda: nnkit.empty(64, 64, device="cuda"),
        "x + y": lambda: x + y,
        "x + y, recorded": lambda: wants + y,
        "x + bias": lambda: x + bias,
        "x.add_(y)": lambda: x.add_(y),
        "x * 2.5": lambda: x * 2.5,
        "relu": lambda: nnkit.relu(x),
        "sum": lambda: x.sum(),
        "softmax": lambda: nnkit.softmax(x, 1),
        "x @ y": lambda: x @ y,
        "linear": lambda: F.linear(x, weight, bias),
        "MLP step": step,
    }


def microseconds(call: Callable[[], Any]) -> float:
    for _ in range(3):
        call()
    start = time.thread_time()
    call()
    count = max(5, int(SECONDS / (time.thread_time() - start + 1e-9)))
    rounds = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(count):
            call()
        rounds.append((time.thread_time() - start) / count)
    return min(rounds) * 1e6


def main() -> None:
    play_without_computing()
    chosen = sys.argv[1:]
    for name, call in calls().items():
        if not chosen or name in chosen:
            print(f"{name:16s} {microseconds(call):8.1f} us", flush=True)


if __name__ == "__main__":
    main()
