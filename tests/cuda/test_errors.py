"""Bad input and a bad machine: torch's type of error, and a sentence that says what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import nnkit
from nnkit.backend.cuda import nvrtc, runtime
from tests.cuda.marks import needs_compiler
from tests.cuda.stand_in import CUDARuntimeError, stand_in

F = nnkit.nn.functional

# The machine


def cupy_on(count: Any, driver: int = 12090) -> Any:
    """CuPy on a machine with this many GPUs (or an error for an answer) and this driver."""

    def get_device_count() -> int:
        if isinstance(count, Exception):
            raise count
        return count

    answers = SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError, getDeviceCount=get_device_count,
        driverGetVersion=lambda: driver, runtimeGetVersion=lambda: 12090,
    )  # fmt: skip
    return SimpleNamespace(cuda=SimpleNamespace(runtime=answers))


@pytest.fixture
def fresh() -> Iterator[None]:
    """`problem` asks anew."""
    runtime.problem.cache_clear()
    yield
    runtime.problem.cache_clear()


TOO_OLD = CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")


@pytest.mark.parametrize(
    ("cupy", "text"),
    [
        (None, "CUDA needs CuPy, which is not installed: pip install 'nnkit[cuda12]'"),
        (cupy_on(TOO_OLD, 0), "found no NVIDIA driver: install one"),
        (cupy_on(TOO_OLD, 11040), "the NVIDIA driver is too old (it knows CUDA 11.4, CuPy needs"),
        (cupy_on(CUDARuntimeError("cudaErrorSystemNotReady")), "available: cudaErrorSystemNotR"),
        (cupy_on(0), "none is visible (see CUDA_VISIBLE_DEVICES)"),
    ],
    ids=["no CuPy", "no driver", "old driver", "broken", "no GPU"],
)
def test_what_is_missing_is_said(
    cupy: Any, text: str, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert not nnkit.cuda.is_available()
    with pytest.raises(RuntimeError) as error:
        nnkit.zeros(2, device="cuda")
    assert str(error.value).startswith("cuda: ") and text in str(error.value)
    with pytest.raises(AssertionError) as asserted:
        nnkit.cuda.current_device()
    assert text in str(asserted.value)


def test_no_nvrtc(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy_on(1))
    monkeypatch.setattr(nvrtc, "_candidates", lambda: ["no-such-library"])
    nvrtc.load.cache_clear()
    try:
        assert not nnkit.cuda.is_available()
        with pytest.raises(RuntimeError, match="cuda: .* pip install nvidia-cuda-nvrtc"):
            nnkit.zeros(2, device="cuda")
    finally:
        nvrtc.load.cache_clear()


def test_there_is_no_such_gpu() -> None:
    with stand_in():
        for make in (lambda: nnkit.zeros(2, device="cuda:4"), lambda: nnkit.Generator("cuda:4")):
            with pytest.raises(RuntimeError, match="invalid device ordinal 4, there are 1 GPUs"):
                make()


# Memory


@pytest.mark.parametrize(("fails", "writes"), [(1, False), (2, False), (1, True)])
def test_out_of_memory(fails: int, writes: bool) -> None:
    """Once: the caches are emptied, and the call is made again. Twice, or of a kernel that may have
    written half of what it writes: an error with the sizes."""
    calls = []

    def kernel(x: int) -> int:
        calls.append(x)
        if len(calls) <= fails:
            raise MemoryError("Out of memory allocating 4,096 bytes")
        return x + 1

    with stand_in() as cupy:
        guarded = runtime.guarded(0, False, writes, kernel)
        if fails == 1 and not writes:
            assert guarded(3) == 4
        else:
            with pytest.raises(nnkit.cuda.OutOfMemoryError) as error:
                guarded(3)
            assert "allocating 4,096 bytes" in str(error.value)
            assert "4096 MiB of 8192 MiB are free, nnkit holds 5 MiB" in str(error.value)
            assert error.value.__cause__ is None and isinstance(error.value, RuntimeError)
        assert calls == ([3] if writes else [3, 3])
        assert cupy.emptied == 2  # the GPU's pool and the page-locked one


def test_an_impossible_tensor() -> None:
    with stand_in():
        with pytest.raises(nnkit.cuda.OutOfMemoryError, match="CUDA out of memory on GPU 0"):
            nnkit.empty(1 << 55, device="cuda")
        assert nnkit.zeros(2, device="cuda").sum().item() == 0  # and life goes on


def test_out_of_memory_while_capturing() -> None:
    with stand_in():
        graph = nnkit.cuda.CUDAGraph()
        with pytest.raises(nnkit.cuda.OutOfMemoryError), nnkit.cuda.graph(graph):
            nnkit.empty(1 << 55, device="cuda")
        assert not nnkit.cuda.is_current_stream_capturing()
        with pytest.raises(RuntimeError, match="nothing was captured"):
            graph.replay()


# Devices


def pair(*shape: int) -> tuple[Any, Any]:
    return nnkit.ones(shape, device="cuda"), nnkit.ones(shape)


ON_TWO_DEVICES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "add_": lambda x, y: x.add_(y),
    "matmul": lambda x, y: x @ y,
    "linear": lambda x, y: F.linear(x, y),
    "cat": lambda x, y: nnkit.cat([x, y]),
    "where": lambda x, y: nnkit.where(x > 0, x, y),
    "compare": lambda x, y: x < y,
    "pow": lambda x, y: x**y,
    "mse_loss": lambda x, y: F.mse_loss(x, y),
    "cross_entropy": lambda x, y: F.cross_entropy(x, y[0].long()),
    "layer_norm": lambda x, y: F.layer_norm(x, (3,), y[0]),
    "attention": lambda x, y: F.scaled_dot_product_attention(x, y, y),
    "a CPU scalar written": lambda x, y: y.sum().add_(x.sum()),
}


@needs_compiler
@pytest.mark.parametrize("name", ON_TWO_DEVICES)
def test_different_devices(name: str) -> None:
    with (
        stand_in(),
        pytest.raises(RuntimeError, match=r"at least two devices, (cuda:0 and cpu|cpu and cuda)"),
    ):
        ON_TWO_DEVICES[name](*pair(3, 3))


def test_modules_and_inputs_on_different_devices() -> None:
    with stand_in(), pytest.raises(RuntimeError, match="devices, cuda:0 and cpu"):
        nnkit.nn.Linear(2, 2)(nnkit.ones(3, 2, device="cuda"))


@needs_compiler
def test_scalars_of_the_cpu_go_along() -> None:
    """As in torch: a 0-dim tensor of the CPU is a number."""
    with stand_in():
        x = nnkit.ones(3, device="cuda", requires_grad=True)
        two = nnkit.tensor(2.0, requires_grad=True)
        for y in (x * two, two * x, nnkit.where(x > 0, x * 2, two), (x + 1) ** two / 2):
            assert y.device == x.device and y.tolist() == [2, 2, 2]
        (x * two).sum().backward()
        assert two.grad is not None and two.grad.device.type == "cpu" and two.grad.item() == 3
        assert x.detach().add_(two.detach()).tolist() == [3, 3, 3]


# Dtypes


@needs_compiler
@pytest.mark.parametrize(
    "compute",
    [
        lambda x: F.layer_norm(x, (3,)),
        lambda x: F.max_pool1d(x, 2),
        lambda x: F.softmax(x, 1),
        lambda x: F.gelu(x),
    ],
)
def test_unsupported_dtypes(compute: Callable[[Any], Any]) -> None:
    """CUDA refuses what the CPU refuses, with the CPU's type of error."""
    x = nnkit.ones(2, 3, dtype=nnkit.complex64)
    with pytest.raises(RuntimeError) as on_cpu:
        compute(x)
    with stand_in(), pytest.raises(on_cpu.type, match="complex64|ComplexFloat"):
        compute(x.cuda())


def test_the_stand_in_leaves_nothing_behind() -> None:
    with stand_in():
        assert nnkit.cuda.is_available() and nnkit.zeros(1, device="cuda").is_cuda
    if not isinstance(runtime.problem(), str):
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="cuda: "):
        nnkit.zeros(1, device="cuda")
