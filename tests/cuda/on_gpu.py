"""What must hold on a GPU: the same results as on the CPU. Plain functions, so that they run
under pytest (`test_gpu.py`) and, where there is none, from `tools/gpu_run.py`.

Each takes nothing or a row and raises AssertionError, or whatever the CUDA side raises.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import nnkit
from tests.harness import cases, checks
from tests.harness.call import Call, Result
from tests.harness.row import OpRow
from tests.harness.table import ROWS, SUBJECT

ROOT = Path(__file__).parent.parent.parent
MOST = 2  # samples of a row in each of its forms and dtypes


def on_cuda(call: Call, may_raise: bool = True) -> Result:
    """The call with all its tensors on the GPU."""
    for key, tensor in call.tensors.items():
        moved = tensor.detach().cuda()
        call.tensors[key] = moved.requires_grad_() if tensor.requires_grad else moved
    result = call.result(may_raise)
    nnkit.cuda.synchronize()
    return result


PLACES = ("get_device", "Tensor.is_shared")  # what they say depends on the device


def rows() -> list[OpRow]:
    """The rows of the op table whose results are the same on both devices."""
    return [
        row for name, row in ROWS.items()
        if SUBJECT[name] not in ("random", "dropout") and name not in PLACES
    ]  # fmt: skip


def samples(all_of_them: Iterable[cases.Case]) -> Iterator[cases.Case]:
    """The first samples in each dtype."""
    for _, of_dtype in itertools.groupby(all_of_them, lambda case: case.key.split("/")[2]):
        yield from itertools.islice(of_dtype, MOST)


# Products are rounded to half precision before a bias is added, and the weights of attention before
# they meet the values, as torch does on a GPU.
ROUNDED_BETWEEN = {
    name: {"float16": (2**-10, 1e-3), "bfloat16": (2**-7, 8e-3)}
    for name in ("conv1d", "conv2d", "conv3d", "nn.functional.scaled_dot_product_attention")
}


def check_row(row: OpRow) -> None:
    """Forward and gradient of a row's samples, in all of its dtypes, CUDA against CPU.

    What draws random numbers draws others on CUDA, and only has to run.
    """
    if row.name in ROUNDED_BETWEEN:
        allowed = row.tolerance | ROUNDED_BETWEEN[row.name]
        row = replace(row, tolerance=allowed, reason="rounded between on a GPU")
    untouched = nnkit.manual_seed(0).get_state()  # calls start from this seed
    with nnkit.backends.cudnn.flags(enabled=True, allow_tf32=False):
        for which, track in ((cases.forward, False), (cases.gradient, True)):
            for case in samples(which(row)):
                wanted = Call(nnkit, row, case.sample, track).result(may_raise=True)
                is_random = not nnkit.equal(nnkit.get_rng_state(), untouched)
                got = on_cuda(Call(nnkit, row, case.sample, track), bool(wanted.error))
                if not is_random:
                    checks.assert_same(got, wanted, case.key, row)


def _close(got: Any, wanted: Any, what: str, tolerance: float = 2e-4) -> None:
    np.testing.assert_allclose(
        got.detach().cpu().numpy(), wanted.detach().cpu().numpy(), tolerance, tolerance,
        err_msg=what,
    )  # fmt: skip


def modules() -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...]]]:
    """Name, constructor and shape of the input of modules that train."""
    nn = nnkit.nn
    yield "Linear", lambda: nn.Linear(12, 7), (5, 12)
    yield "Conv1d", lambda: nn.Conv1d(4, 6, 3, padding=1), (2, 4, 9)
    yield "Conv2d", lambda: nn.Conv2d(4, 6, 3, stride=2, dilation=2, padding=2), (2, 4, 11, 9)
    yield "Conv2d grouped", lambda: nn.Conv2d(4, 8, 3, groups=2), (2, 4, 7, 7)
    yield "Conv2d depthwise", lambda: nn.Conv2d(6, 6, 3, padding=1, groups=6), (2, 6, 8, 8)
    yield "Conv3d", lambda: nn.Conv3d(2, 3, 3), (2, 2, 5, 6, 5)
    yield "ConvTranspose2d", lambda: nn.ConvTranspose2d(4, 3, 4, 2, 1), (2, 4, 5, 5)
    yield "BatchNorm2d", lambda: nn.BatchNorm2d(4), (3, 4, 5, 5)
    yield "LayerNorm", lambda: nn.LayerNorm(33), (4, 7, 33)
    yield "RMSNorm", lambda: nn.RMSNorm(33), (4, 7, 33)
    yield "GroupNorm", lambda: nn.GroupNorm(2, 6), (3, 6, 5)
    yield "MaxPool2d", lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2)), (2, 3, 9, 9)
    yield "AvgPool2d", lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(2)), (2, 3, 9, 9)
    yield "PReLU", lambda: nn.PReLU(4), (3, 4, 5)
    yield "RNN", lambda: nn.RNN(5, 6, 2), (4, 3, 5)
    yield "LSTM", lambda: nn.LSTM(5, 6, 2, bidirectional=True), (4, 3, 5)
    yield "GRU", lambda: nn.GRU(5, 6), (4, 3, 5)
    yield (
        "TransformerEncoderLayer",
        lambda: nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True),
        (2, 6, 16),
    )


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: nnkit.optim.SGD(p, lr=0.05),
    "SGD nesterov": lambda p: nnkit.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "Adam": lambda p: nnkit.optim.Adam(p, lr=0.01, amsgrad=True),
    "AdamW": lambda p: nnkit.optim.AdamW(p, lr=0.01),
}


def check_training(make: Callable[[], Any], shape: tuple, optimizer: str = "SGD") -> None:
    """Three steps of training leave the same parameters on CUDA and CPU."""
    nnkit.manual_seed(0)
    model = make()
    twin = make()
    twin.load_state_dict(model.state_dict())
    twin.to("cuda")
    x = nnkit.randn(*shape)
    for module, given in ((model, x), (twin, x.cuda())):
        step = OPTIMIZERS[optimizer](module.parameters())
        with nnkit.backends.cudnn.flags(enabled=True, allow_tf32=False):
            for _ in range(3):
                step.zero_grad()
                out = module(given)
                out = out[0] if isinstance(out, tuple) else out
                (out * out).mean().backward()
                step.step()
    for (name, wanted), got in zip(model.named_parameters(), twin.parameters(), strict=True):
        _close(got, wanted, name)


def check_wrong_index() -> None:
    """A wrong index raises at the next synchronising call, and the GPU works on."""
    table = nnkit.zeros(10, 3).cuda()
    found = nnkit.nn.functional.embedding(nnkit.tensor([3, 12]).cuda(), table)
    try:
        found.sum().item()
    except IndexError as error:
        assert "12" in str(error), error
    else:
        raise AssertionError("embedding: index 12 of 10 rows did not raise")
    assert (table + 1).sum().item() == 30


def check_graph() -> None:
    """A captured training step, replayed, does what the steps would have done one by one."""
    nnkit.manual_seed(0)
    net = nnkit.nn.Sequential(nnkit.nn.Linear(8, 16), nnkit.nn.ReLU(), nnkit.nn.Linear(16, 4))
    twin = nnkit.nn.Sequential(nnkit.nn.Linear(8, 16), nnkit.nn.ReLU(), nnkit.nn.Linear(16, 4))
    twin.load_state_dict(net.state_dict())
    net.cuda()
    twin.cuda()
    x, y = nnkit.randn(6, 8).cuda(), nnkit.randint(0, 4, (6,)).cuda()

    def trainer(module: Any) -> Callable[[], Any]:
        optimizer = nnkit.optim.Adam(module.parameters())

        def step() -> Any:
            optimizer.zero_grad()
            loss = nnkit.nn.functional.cross_entropy(module(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    one_by_one, captured = trainer(net), trainer(twin)
    for _ in range(2):
        one_by_one()
        captured()
    graph = nnkit.cuda.CUDAGraph()
    with nnkit.cuda.graph(graph):
        captured()
    for _ in range(3):
        one_by_one()
        graph.replay()
    nnkit.cuda.synchronize()
    for wanted, got in zip(net.parameters(), twin.parameters(), strict=True):
        _close(got, wanted, "a parameter after a graph's replay")


def check_memory() -> None:
    """Memory is counted, comes back, and its lack is torch's error."""
    nnkit.cuda.reset_peak_memory_stats()
    before = nnkit.cuda.memory_allocated()
    x = nnkit.zeros(1 << 20).cuda()
    assert nnkit.cuda.memory_allocated() - before >= 4 << 20
    del x
    assert nnkit.cuda.memory_allocated() == before
    assert nnkit.cuda.max_memory_allocated() >= before + (4 << 20)
    small = [nnkit.ones(3, device="cuda") for _ in range(5)]
    assert nnkit.cuda.memory_allocated() >= before + 5 * 12
    del small
    assert nnkit.cuda.memory_allocated() == before <= nnkit.cuda.memory_reserved()
    nnkit.cuda.empty_cache()
    assert nnkit.cuda.memory_allocated() == before
    try:
        nnkit.empty(1 << 50, device="cuda")
    except nnkit.cuda.OutOfMemoryError as error:
        assert "out of memory" in str(error), error
    else:
        raise AssertionError("an impossible allocation did not raise")


def check_streams_and_copies() -> None:
    """Work on another stream, from page-locked memory, is waited for."""
    x = nnkit.randn(1 << 16).pin_memory()
    assert x.is_pinned()
    stream = nnkit.cuda.Stream()
    start, stop = nnkit.cuda.Event(enable_timing=True), nnkit.cuda.Event(enable_timing=True)
    with nnkit.cuda.stream(stream):
        start.record(stream)
        y = x.to("cuda", non_blocking=True) * 2
        stop.record(stream)
    stop.synchronize()
    assert start.elapsed_time(stop) >= 0
    _close(y, x * 2, "a product on another stream")


ONCE_MORE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "add to itself": lambda x, y: x + x,
    "number": lambda x, y: x * 2.5 + y * -3,
    "transposed": lambda x, y: x.t() + y.t(),
    "parts": lambda x, y: x[1:] + y[:-1],
    "row": lambda x, y: x + y[0],
    "column": lambda x, y: x[:, :1] * y,
    "not aligned": lambda x, y: x.flatten()[1:] + y.flatten()[:-1],
    "nothing": lambda x, y: x[:, :0] + 1,
    "written": lambda x, y: x.clone().add_(y).mul_(x),
    "sums": lambda x, y: x.sum(0) + y.mean((0, 1)) + x.amax(),
    "places": lambda x, y: x.max(1).indices + y.argmin(),
    "softmax": lambda x, y: nnkit.softmax(x, 1) - nnkit.log_softmax(y, 0),
    "product": lambda x, y: x @ y.t(),
    "stacks": lambda x, y: x.view(2, 4, 8) @ y.view(2, 4, 8).mT,
    "stacks exchanged": lambda x, y: x.view(2, 2, 4, 4).transpose(0, 1) @ y.view(2, 2, 4, 4),
    "linear": lambda x, y: nnkit.nn.functional.linear(x, y, x[0]),
    "addmm": lambda x, y: nnkit.addmm(x[0], x, y, beta=0.5, alpha=2),
    "layer norm": lambda x, y: nnkit.nn.functional.layer_norm(x, (8,), y[0], y[1]),
    "loss": lambda x, y: nnkit.nn.functional.cross_entropy(x, y.argmax(1)),
}


def check_programs() -> None:
    """What was launched once for a layout serves other arrays, numbers and streams; several threads
    at once, each on a stream of its own."""
    nnkit.manual_seed(0)
    pairs = [(nnkit.randn(8, 8), nnkit.randn(8, 8)) for _ in range(3)]
    moved = [(x.cuda(), y.cuda()) for x, y in pairs]
    nnkit.cuda.synchronize()

    def compare() -> None:
        for name, function in ONCE_MORE.items():
            for own, (x, y) in zip(moved, pairs, strict=True):
                _close(function(*own), function(x, y), name, 1e-5)

    failures: list[Exception] = []

    def on_a_stream() -> None:
        try:
            with nnkit.cuda.stream(nnkit.cuda.Stream()):
                compare()
        except Exception as error:
            failures.append(error)

    compare()
    threads = [threading.Thread(target=on_a_stream) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def check_same_bits() -> None:
    """Sums with repeated indices have the same bits in every run."""
    nnkit.manual_seed(0)
    index = nnkit.randint(0, 7, (5000,)).cuda()
    values = nnkit.randn(5000, 9).cuda()
    first = nnkit.zeros(7, 9).cuda().index_add(0, index, values)
    for _ in range(5):
        again = nnkit.zeros(7, 9).cuda().index_add(0, index, values)
        assert nnkit.equal(first, again)


def check_indices_of_the_cpu() -> None:
    """A CUDA tensor is read and written at indices and masks that lie on the CPU."""
    x = nnkit.randn(4, 3)
    mask = nnkit.tensor([True, False, True, False])
    rows = (nnkit.tensor([2, 0, 2]), np.array([1, 3]), [0, 3], mask, nnkit.randperm(4))
    for index in (*rows, *((slice(None, 2), i) for i in (nnkit.tensor([1, 1]), np.array([2])))):
        got, wanted = x.cuda().requires_grad_(), x.clone().requires_grad_()
        for tensor in (got, wanted):
            tensor[index].square().sum().backward()
        _close(got.grad, wanted.grad, f"the gradient of reading at {index!r}", 0.0)
        with nnkit.no_grad():
            for tensor in (got, wanted):
                tensor[index] = 0.5
        _close(got, wanted, f"written at {index!r}", 0.0)
    _close(nnkit.pdist(x.cuda()), nnkit.pdist(x), "pdist", 1e-5)


def check_made_in_a_graph() -> None:
    """What is made of numbers and of the CPU's data while a graph is recorded is there in each of
    its replays."""
    x = nnkit.randn(5, 5).cuda()
    weights = nnkit.nn.Linear(5, 5).cuda()

    def step() -> list[Any]:
        weights.zero_grad()
        weights(x).sum().backward()
        norm = nnkit.nn.utils.clip_grad_norm_(weights.parameters(), 0.5)
        i = nnkit.arange(5, device="cuda")
        return [
            i, x[i % 2], nnkit.linspace(0, 1, 5, device="cuda"), nnkit.eye(5, device="cuda"),
            nnkit.tensor([1.5, 2], device="cuda"), nnkit.full((3,), 2, device="cuda"),
            nnkit.tril_indices(5, 5, device="cuda"), nnkit.tril(x), x @ x, norm,
            x.masked_fill(x > 0, 0.0), nnkit.nn.functional.one_hot(i, 6), *weights.parameters(),
        ]  # fmt: skip

    wanted = [t.detach().cpu() for t in step()]
    graph = nnkit.cuda.CUDAGraph()
    with nnkit.cuda.graph(graph):
        made = step()
    for _ in range(2):
        for tensor in made[:-2]:
            tensor.detach().zero_()
        graph.replay()
        for got, value in zip(made, wanted, strict=True):
            _close(got, value, "made in a graph", 1e-5)


def check_transformer_graph() -> None:
    """A training step of a small GPT, captured and replayed, learns as the CPU does."""
    from benchmarks.workloads import sequences
    from benchmarks.workloads.training import training_step

    nnkit.manual_seed(0)
    tokens = nnkit.randint(0, 40, (2, 9))
    model = sequences.transformer(nnkit, 40, 8, 1, 32, 2)
    twin = sequences.transformer(nnkit, 40, 8, 1, 32, 2)
    twin.load_state_dict(model.state_dict())
    steps = []
    for module, given in ((model, tokens), (twin.cuda(), tokens.cuda())):
        optimizer = nnkit.optim.SGD(module.parameters(), lr=0.1)
        inputs, labels = given[:, :-1], given[:, 1:]
        steps.append(training_step(nnkit, module, optimizer, inputs, labels, flatten=True))
    for step in steps:
        step()
    graph = nnkit.cuda.CUDAGraph()
    with nnkit.cuda.graph(graph):
        steps[1]()
    for _ in range(2):
        steps[0]()
        graph.replay()
    for wanted, got in zip(model.parameters(), twin.parameters(), strict=True):
        _close(got, wanted, "a parameter of the captured GPT")


def check_dlpack() -> None:
    """Memory of the GPU goes to other libraries and comes back without a copy."""
    import cupy

    x = nnkit.arange(6.0).reshape(2, 3).cuda()
    array = cupy.from_dlpack(x)
    assert array.data.ptr == x.data_ptr()
    for given in (x, array):
        again = nnkit.from_dlpack(given)
        assert again.device == x.device and again.data_ptr() == x.data_ptr()
    again[0, 0] = 7
    assert x[0, 0].item() == 7


def check_random_graph() -> None:
    """Each replay of a captured step draws what the step would have drawn."""
    x = nnkit.ones(1000, device="cuda")

    def step() -> tuple[Any, Any]:
        return nnkit.nn.functional.dropout(x, 0.5), nnkit.rand(1000, device="cuda")

    step()
    graph = nnkit.cuda.CUDAGraph()
    with nnkit.cuda.graph(graph):
        captured = step()
    nnkit.manual_seed(3)
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append(tuple(t.cpu() for t in captured))
    nnkit.manual_seed(3)
    for drawn in seen:
        for got, wanted in zip(drawn, step(), strict=True):
            assert nnkit.equal(got, wanted.cpu())
    assert not nnkit.equal(seen[0][1], seen[1][1])


def check_generator() -> None:
    """A generator's numbers do not depend on the default one, and are the CPU's Philox numbers."""
    g = nnkit.Generator("cuda").manual_seed(5)
    assert g.device == nnkit.device("cuda", nnkit.cuda.current_device())
    state = g.get_state()
    x = nnkit.randn(700, device="cuda", generator=g)
    assert g.get_offset() == 4
    assert nnkit.equal(nnkit.randn(700, device="cuda", generator=g.set_state(state)), x)
    twin = nnkit.Generator(engine="philox").manual_seed(5)
    _close(x, nnkit.randn(700, generator=twin), "a generator's numbers", 1e-5)


def check_cudnn() -> None:
    """Convolution and attention with cuDNN (where it is installed) and without it."""
    F = nnkit.nn.functional
    nnkit.manual_seed(0)
    image, weight = nnkit.randn(2, 8, 12, 10), nnkit.randn(6, 4, 3, 3)
    tokens = nnkit.randn(2, 3, 24, 64).half().float()  # as they are after rounding

    def both(*given: Any) -> list[Any]:
        image, weight, tokens = (t.detach().requires_grad_() for t in given)
        conv = F.conv2d(image, weight, stride=2, padding=1, groups=2)
        attention = F.scaled_dot_product_attention(tokens, tokens, tokens, is_causal=True)
        (conv.sin().sum() + attention.float().sin().sum()).backward()
        return [conv, attention.float(), image.grad, weight.grad, tokens.grad.float()]

    wanted = both(image, weight, tokens)
    for enabled in (True, False):
        with nnkit.backends.cudnn.flags(enabled=enabled, allow_tf32=False):
            got = both(image.cuda(), weight.cuda(), tokens.cuda().half())
        for one, expected in zip(got, wanted, strict=True):
            half = one is got[1] or one is got[4]
            _close(one, expected, f"cuDNN {enabled}", 2e-2 if half else 2e-4)


# Shape of the input and of the weight; stride, padding, dilation, groups.
CONVOLUTIONS: tuple[Any, ...] = (
    ((2, 3, 19), (4, 3, 5), 2, 3, 1, 1),
    ((3, 8, 8, 8), (9, 8, 3, 3), 1, 1, 1, 1),
    ((2, 10, 9, 11), (6, 5, 3, 3), (2, 1), (1, 2), (1, 2), 2),
    ((1, 3, 6, 5, 7), (4, 3, 3, 2, 3), (1, 1, 2), 1, 1, 1),
    ((1, 2, 14, 14), (3, 2, 12, 12), 1, 2, 1, 1),  # little less than the usual shared memory
)


def check_convolution_on_tensor_cores() -> None:
    """Our own kernels convolve small whole numbers exactly, in float32 by factors of ten bits."""
    F, matmul = nnkit.nn.functional, nnkit.backends.cuda.matmul
    nnkit.manual_seed(0)
    before, matmul.allow_tf32 = matmul.allow_tf32, True
    try:
        for dtype in (nnkit.float32, nnkit.float16, nnkit.bfloat16):
            for shape, weight_shape, *geometry in CONVOLUTIONS:
                conv = getattr(F, f"conv{len(shape) - 2}d")
                sizes = (shape, weight_shape, weight_shape[:1])
                given = [nnkit.randint(-2, 3, size).to(dtype) for size in sizes]
                results = []
                for device in ("cpu", "cuda"):
                    leaves = [t.detach().to(device).requires_grad_() for t in given]
                    with nnkit.backends.cudnn.flags(enabled=False):
                        out = conv(*leaves, *geometry)
                        out.backward(nnkit.ones_like(out))
                    results.append([out, *(leaf.grad for leaf in leaves)])
                for wanted, got in zip(*results, strict=True):
                    what = f"{dtype} {shape} {weight_shape} {geometry}"
                    _close(got.float(), wanted.float(), what, 0.0)
    finally:
        matmul.allow_tf32 = before


EXAMPLES: dict[str, str] = {  # with options -> what is printed
    "softmax_classifier.py": r"loss after one step\n tensor\(.*device='cuda:0'",
    "softmax_classifier.py --data digits --epochs 3 --quiet": r"test accuracy 0\.9",
    "mlp_digits.py --epochs 4 --quiet": r"test accuracy 0\.[89]",
    "cnn_digits.py --epochs 2 --quiet": r"test accuracy 0\.[89]",
    "autograd_tour.py": "saved and then written",
    "custom_function.py": "gradgradcheck True",
}


def check_example(arguments: str) -> None:
    """An example runs with ``--device cuda`` and learns."""
    program, *options = arguments.split()
    command = [sys.executable, str(ROOT / "examples" / program), *options, "--device", "cuda"]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(EXAMPLES[arguments], done.stdout, re.DOTALL), done.stdout[-2000:]


# There is no stand-in for CuPy's memory, nor for recording what its own functions do.
NEED_CUPY = (
    check_memory, check_streams_and_copies, check_programs, check_dlpack, check_made_in_a_graph,
    check_transformer_graph,
)  # fmt: skip
SINGLE = (
    check_wrong_index, check_graph, check_random_graph, check_generator, check_memory,
    check_streams_and_copies, check_programs, check_same_bits, check_cudnn,
    check_convolution_on_tensor_cores,
    check_indices_of_the_cpu, check_made_in_a_graph, check_transformer_graph, check_dlpack,
)  # fmt: skip
