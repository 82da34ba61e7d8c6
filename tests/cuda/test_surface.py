"""nnkit.cuda where there is no GPU: nothing raises at import, every error says what to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import nnkit
from nnkit.backend.cuda import failures, runtime

without_gpu = pytest.mark.skipif(nnkit.cuda.is_available(), reason="there is a GPU")


def test_import_loads_no_cupy() -> None:
    code = (
        "import sys, nnkit, nnkit.cuda, nnkit.backend.cuda, nnkit.backends.cuda\n"
        "sys.exit('cupy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_devices_are_named_without_a_gpu() -> None:
    assert str(nnkit.device("cuda", 1)) == "cuda:1"
    assert nnkit.device(2) == nnkit.device("cuda:2")


@without_gpu
def test_questions_have_answers() -> None:
    cuda = nnkit.cuda
    assert not cuda.is_available() and cuda.device_count() == 0 and not cuda.is_initialized()
    assert cuda.memory_allocated() == cuda.memory_reserved() == cuda.max_memory_allocated() == 0
    assert not cuda.is_bf16_supported() and not cuda.is_current_stream_capturing()
    cuda.empty_cache()
    cuda.manual_seed(1)
    cuda.manual_seed_all(1)
    with pytest.raises(ValueError, match="seed"):
        cuda.manual_seed(2**70)


@without_gpu
@pytest.mark.parametrize(
    "ask",
    [
        lambda: nnkit.cuda.current_device(),
        lambda: nnkit.cuda.set_device(0),
        lambda: nnkit.cuda.synchronize(),
        lambda: nnkit.cuda.get_device_name(0),
        lambda: nnkit.cuda.get_device_properties(),
        lambda: nnkit.cuda.current_stream(),
        lambda: nnkit.cuda.get_rng_state(),
        lambda: nnkit.cuda.memory_summary(),
        lambda: nnkit.cuda.reset_peak_memory_stats(),
    ],
)
def test_the_rest_is_an_assertion_error(ask: Callable[[], Any]) -> None:
    with pytest.raises(AssertionError, match="no CUDA backend"):
        ask()


@without_gpu
@pytest.mark.parametrize(
    "make",
    [
        lambda: nnkit.zeros(2, device="cuda"),
        lambda: nnkit.tensor([1.0]).to("cuda:0"),
        lambda: nnkit.zeros(2).cuda(),
        lambda: nnkit.nn.Linear(2, 2).cuda(),
        lambda: nnkit.arange(3, device="cuda"),
        lambda: nnkit.randn(3, device="cuda"),
    ],
)
def test_tensors_on_cuda_need_one(make: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="cuda: (CUDA needs CuPy|found no NVIDIA driver)") as e:
        make()
    assert isinstance(e.value, AssertionError), "what a torch without CUDA raises"


class OldDriver:
    """The answers of CUDA's runtime library on a machine whose driver is too old."""

    @staticmethod
    def driverGetVersion() -> int:
        return 11040

    @staticmethod
    def runtimeGetVersion() -> int:
        return 12090


def test_an_old_driver_is_named() -> None:
    text = runtime._driver_problem(OldDriver)
    assert "too old" in text and "CUDA 11.4" in text and "12.9" in text


def test_failures_raise_once_with_the_value() -> None:
    flag = failures.Failure(failures.EMBEDDING, 0, 12, 10)
    before, failures._flag = failures._flag, flag
    try:
        with pytest.raises(
            IndexError, match="index out of range in self: 12 in a table of 10 rows"
        ):
            failures.check()
        failures.check()
    finally:
        failures._flag = before


def test_wrong_devices() -> None:
    with pytest.raises(ValueError, match="expected a cuda device"):
        nnkit.cuda.get_device_name("cpu")


@without_gpu
def test_pinning_needs_a_gpu() -> None:
    x = nnkit.zeros(2)
    assert not x.is_pinned()
    with pytest.raises(RuntimeError, match="cuda: "):
        x.pin_memory()
