"""What the real CuPy and cuBLAS ask for, which NumPy's arrays in their place do not show."""

from __future__ import annotations

import ctypes
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.backend.algebra import FORMULAS
from nnkit.backend.cpu import BACKEND as CPU
from nnkit.backend.cuda import BACKEND as CUDA
from nnkit.backend.cuda import blas, compiled, complex, exchange, philox, runtime, source
from tests.cuda.arrays import on_arrays
from tests.cuda.emulation import emulated
from tests.cuda.marks import needs_compiler
from tests.cuda.stand_in import stand_in

CUDA = on_arrays(CUDA)

# Dtypes and complex numbers


class Strict(np.ndarray):
    """Refuses what CuPy's arrays refuse of complex numbers."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [i.view(np.ndarray) if isinstance(i, Strict) else i for i in inputs]
        if ufunc.__name__.startswith("logical") and any(np.iscomplexobj(i) for i in plain):
            raise TypeError(f"Wrong type of arguments for cupy_{ufunc.__name__}")
        return np.asarray(getattr(ufunc, method)(*plain, **options)).view(Strict)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "logical_not", "sgn"])
def test_functions_that_cupy_lacks_for_complex_numbers(name: str) -> None:
    x = np.array([0, 1j, 2 - 1j, 0], np.complex64)
    given = (x,) if name in ("logical_not", "sgn") else (x, x[::-1].copy())
    got = complex.evaluate(FORMULAS[name], tuple(a.view(Strict) for a in given))
    np.testing.assert_allclose(np.asarray(got), getattr(CPU, name)(*given), 1e-6)


@needs_compiler
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.float16])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_a_triangle_keeps_its_dtype(name: str, dtype: Any) -> None:
    x = np.ones((3, 4), dtype)
    with emulated():
        got = getattr(CUDA, name)(x, 0)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, getattr(np, name)(x))


@needs_compiler
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64])
@pytest.mark.parametrize("name", ["isposinf", "isneginf"])
def test_no_integer_is_infinite(name: str, dtype: Any) -> None:
    with emulated():
        assert not getattr(CUDA, name)(np.array([0, 1, 1], dtype)).any()


def complex_noise(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@needs_compiler
def test_complex_convolutions_windows_and_recurrences() -> None:
    x, weight, bias = complex_noise(2, 4, 6), complex_noise(6, 2, 3), complex_noise(6)
    statics = ((1,), (1,), (1,), 2)
    wanted = CPU.conv(x, weight, bias, *statics)
    image, windows = complex_noise(2, 3, 6, 5), ((2, 3), (1, 1), (1, 0), (2, 1))
    calls: dict[str, tuple] = {
        "conv": (x, weight, bias, *statics),
        "conv_grad_weight": (wanted, x, weight.shape, *statics),
        "conv_grad_input": (wanted, weight, x.shape, *statics),
        "recurrence": (x, complex_noise(2, 4, 6), 1),
        "im2col": (image, *windows),
        "col2im": (CPU.im2col(image, *windows), image.shape, *windows),
    }
    for name, arguments in calls.items():
        with emulated():
            got = getattr(CUDA, name)(*arguments)
        np.testing.assert_allclose(got, getattr(CPU, name)(*arguments), 1e-10, err_msg=name)


@needs_compiler
def test_a_window_without_an_element_has_no_index() -> None:
    indices = np.array([[[-1, 2, 1]]])
    g, x = np.array([[[5.0, 2.0, 3.0]]]), np.array([[[1.0, 2.0, 4.0]]])
    with emulated():
        np.testing.assert_array_equal(CUDA.max_pool_grad(g, indices, (1, 1, 3)), [[[0, 3, 2]]])
        np.testing.assert_array_equal(CUDA.max_pool_gather(x, indices), [[[0, 4, 2]]])


# Products


class Library:
    """cuBLAS's functions, which keep what they are asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple]] = []
        self.status = 0

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            if name == "cublasGetStatusString":
                return b"CUBLAS_STATUS_OF_A_TEST"
            self.calls.append((name, arguments))
            if name == "cublasCreate_v2":
                arguments[0]._obj.value = 7
            return self.status if "Gemm" in name else 0

        return call

    def names(self) -> list[str]:
        names = [name for name, _ in self.calls]
        self.calls.clear()
        return names


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library()
    machine = SimpleNamespace(index=0, stream=5, capability="90", allocated=[])

    def alloc(size: int) -> Any:
        machine.allocated.append(size)
        return SimpleNamespace(ptr=4096 * len(machine.allocated), mem=SimpleNamespace(size=size))

    machine.cupy = SimpleNamespace(cuda=SimpleNamespace(alloc=alloc))
    monkeypatch.setattr(blas, "library", lambda: found)
    monkeypatch.setattr(blas, "current_machine", lambda: machine)
    monkeypatch.setattr(blas, "_free", blas.defaultdict(list))
    monkeypatch.setattr(blas, "_handles", blas._Handles())
    found.machine = machine  # type: ignore[attr-defined]
    return found


def multiply(dtype: Any, batch: int = 1, alpha: Any = 1.0) -> None:
    x = np.ones((batch, 2, 2), dtype)
    out = np.empty_like(x)
    on_arrays(blas.gemm)(2, 2, 2, batch, alpha, 0.0, x, False, 2, 4, x, True, 2, 4, out, 4)


def test_a_handle_is_set_once_for_a_stream(library: Any) -> None:
    multiply(np.float32)
    once = ["cublasSetStream_v2", "cublasSetWorkspace_v2", "cublasGemmEx"]
    assert library.names() == ["cublasCreate_v2", *once]  # the stream resets the workspace
    multiply(np.float32, batch=3)
    assert library.names() == ["cublasGemmStridedBatchedEx"]
    library.machine.stream = 6
    multiply(np.float32)
    assert library.names() == once
    assert library.machine.allocated == [32 << 20] * 2


def test_a_recorded_product_has_memory_of_its_graph(library: Any) -> None:
    multiply(np.float32)
    recording = philox.Recording()
    with recording.current():
        multiply(np.float32)
        multiply(np.float32)
    multiply(np.float32)
    assert library.machine.allocated == [32 << 20] * 2 and list(recording.workspaces) == [5]
    places = [a[1] for n, a in library.calls if n == "cublasSetWorkspace_v2"]
    assert places == [4096, 8192, 4096]


def test_a_thread_that_ends_gives_its_handle_back(library: Any) -> None:
    for _ in range(3):
        thread = threading.Thread(target=multiply, args=(np.float32,))
        thread.start()
        thread.join()
    assert library.names().count("cublasCreate_v2") == 1


@pytest.mark.parametrize(
    ("dtype", "compute", "kind"),
    [
        (np.float32, 68, 0), (np.float64, 70, 1), (np.float16, 68, 2), (np.complex64, 68, 4),
        (np.complex128, 70, 5), (blas.BF16, 68, 14),
    ],
)  # fmt: skip
def test_dtypes_of_products(library: Any, dtype: Any, compute: int, kind: int) -> None:
    multiply(dtype, alpha=0.5)
    _, (_, right, left, *_, first, _, x_kind, _, _, _, _, second, _, out, _, how, _) = (
        library.calls[-1]
    )
    assert (right, left) == (True, False) and (x_kind, out, how) == (kind, kind, compute)
    scalar = np.promote_types(np.float32, dtype)
    assert second - first == scalar.itemsize
    assert np.frombuffer(ctypes.string_at(first, scalar.itemsize), scalar)[0] == 0.5


def test_errors_of_cublas(library: Any) -> None:
    library.status = 7
    with pytest.raises(RuntimeError, match="cuBLAS: CUBLAS_STATUS_OF_A_TEST"):
        multiply(np.float32)
    library.status = blas.ALLOCATION_FAILED
    with pytest.raises(MemoryError):
        multiply(np.float32)


# Copies


@pytest.mark.parametrize("is_recorded", [False, True])
def test_copies_from_the_host_are_recorded(
    is_recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[Any] = []
    cuda = SimpleNamespace(
        runtime=SimpleNamespace(memcpyAsync=lambda *a: recorded.append(a), memcpyHostToDevice=1),
        get_current_stream=lambda: SimpleNamespace(ptr=3),
    )
    monkeypatch.setattr(runtime, "require", lambda: SimpleNamespace(cuda=cuda))
    pinned: list[Any] = []
    monkeypatch.setattr(runtime, "pinned", lambda x: pinned.append(x.copy()) or pinned[-1])
    monkeypatch.setattr(runtime, "is_pinned", lambda x: any(x is p for p in pinned))
    values, copied = np.arange(3.0), []
    out = SimpleNamespace(data=SimpleNamespace(ptr=512), set=copied.append)
    if not is_recorded:
        runtime.copy_from_host(out, values)
        assert copied[0] is values and not recorded
        return
    recording = philox.Recording()
    with recording.current():
        runtime.copy_from_host(out, values)
    assert recorded == [(512, pinned[0].ctypes.data, 24, 1, 3)] and not copied
    assert recording.kept == pinned  # each replay reads it


def test_dlpack_of_a_gpu_goes_to_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnGpu:
        def __dlpack__(self) -> Any:
            raise AssertionError("the CPU asked for it")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

    cupy = SimpleNamespace(from_dlpack=lambda data: np.ones(2))
    monkeypatch.setattr(exchange, "cupy", lambda: cupy)
    with stand_in():
        assert nnkit.from_dlpack(OnGpu()).device == nnkit.device("cuda", 0)
    assert nnkit.from_dlpack(np.ones(2)).device == nnkit.device("cpu")
    assert source._stand_in == []


# Programs


@pytest.mark.skipif(compiled.MODULE is None, reason="nothing is compiled")
def test_compiled_code_knows_cupy_s_arrays() -> None:
    cupy = pytest.importorskip("cupy")
    assert compiled.knows(cupy)


def test_programs_need_the_real_cupy() -> None:
    assert not compiled.connect(ModuleType("cupy"), print, print)
