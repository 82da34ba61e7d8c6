"""Small things that ordinary programs lean on; each asserted of torch as well."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises


def test_constants(lib: ModuleType) -> None:
    assert (lib.pi, lib.e, lib.inf) == (np.pi, np.e, float("inf")) and lib.nan != lib.nan
    assert lib.newaxis is None and lib.ones(2)[:, lib.newaxis].shape == (2, 1)


def test_number_formats(lib: ModuleType) -> None:
    value = lib.tensor(3.14159)
    assert f"{value:.2f}|{value.long():4d}|{lib.tensor(1e6):.1e}" == "3.14|   3|1.0e+06"
    assert round(float(value), 3) == 3.142
    for other in (lib.ones(2), lib.nn.Parameter(value)):
        with pytest.raises(TypeError, match="format"):
            format(other, ".2f")


def test_several_elements_are_no_number(lib: ModuleType) -> None:
    for convert in (float, int, complex):
        with raises(lib, ValueError, r"shape \[2\]"):
            convert(lib.ones(2))


NUMBERS = [np.float64(2), np.float32(2), np.int64(2), np.int32(2), np.bool_(True)]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: n.dtype.name)
def test_numpy_scalars_leave_the_dtype_to_tensors(lib: ModuleType, number: Any) -> None:
    x = lib.tensor([1.0, 2.0])
    results = [
        x + number, x * number, x / number, x.pow(number), x.add(x, alpha=number), x.mul_(number),
        x.clamp(number, number), x.masked_fill(x > 1, number), x.fill_(number),
        lib.nn.functional.leaky_relu(x, number), lib.nn.functional.elu(x, number),
        lib.nn.functional.threshold(x, number, number),
    ]  # fmt: skip
    assert [r.dtype for r in results] == [lib.float32] * len(results)


def test_numpy_scalars_make_tensors(lib: ModuleType) -> None:
    assert lib.arange(np.int64(3)).dtype == lib.full((2,), np.int32(3)).dtype == lib.int64
    x = lib.full((2,), np.float32(3))
    x[0] = np.float64(5)
    x[1] = np.int64(7)
    assert x.dtype == lib.float32 and x.tolist() == [5, 7]


@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")  # torch's
def test_arrays_as_operands(lib: ModuleType) -> None:
    x, array = lib.tensor([1.0, 2.0]), np.array([3.0, 2.0])
    assert (x == array).tolist() == [False, True]
    assert (array / x).tolist() == [3.0, 1.0]
    assert (x == "text") is False


def test_old_classes(lib: ModuleType) -> None:
    assert lib.LongTensor([1.5, 2]).tolist() == [1, 2]
    assert lib.FloatTensor(2, 3).shape == (2, 3)
    assert lib.DoubleTensor().dtype == lib.float64
    x = lib.ones(2)
    assert isinstance(x, lib.FloatTensor) and not isinstance(x, lib.LongTensor)
    assert x.type(lib.LongTensor).dtype == lib.int64
    assert x.type().replace("torch", "nnkit") == "nnkit.FloatTensor"
    with raises(lib, TypeError, "expected nnkit.int64, got nnkit.float32"):
        lib.LongTensor(x)


def test_fill_diagonal(lib: ModuleType) -> None:
    tall = lib.ones(4, 2).fill_diagonal_(2, wrap=True)
    assert tall.tolist() == [[2, 1], [1, 2], [1, 1], [2, 1]]
    cube = lib.zeros(2, 2, 2).fill_diagonal_(3)
    assert cube.nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]
    x = lib.ones(2, 3, requires_grad=True)
    (x * 2).fill_diagonal_(0).sum().backward()
    assert x.grad.tolist() == [[0, 2, 2], [2, 0, 2]]
    with raises(lib, RuntimeError, "at least 2 dimensions"):
        lib.ones(3).fill_diagonal_(1)
    with raises(lib, RuntimeError, "equal lengths"):
        lib.ones(2, 3, 3).fill_diagonal_(1)


def test_functions_for_each_element(lib: ModuleType) -> None:
    x = lib.arange(4.0).view(2, 2)
    x.t().apply_(lambda value: value + 1)
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x.map_(lib.tensor([2.0, 3.0]), max).tolist() == [[2, 3], [3, 4]]
    assert lib.tensor([1, 2]).apply_(lambda value: value * 1.5).tolist() == [1, 3]
    with raises(lib, RuntimeError, "requires grad"):
        lib.ones(1, requires_grad=True).apply_(abs)
    with raises(lib, TypeError, "nnkit.int64"):
        x.map_(lib.tensor([1]), max)
    with raises(lib, RuntimeError, r"\[3\]"):
        x.map_(lib.ones(3), max)
    with raises(lib, TypeError, "other"):
        x.map_(1, max)
    assert x.map2_(lib.ones(2), x, lambda a, b, c: a + b + c).tolist() == [[5, 7], [7, 9]]
    with raises(lib, TypeError, "'y'"):
        x.map2_(lib.ones(2), lib.tensor([1]), max)


def test_storage(lib: ModuleType) -> None:
    x = lib.arange(6.0).view(2, 3)
    storage = x[1].untyped_storage()
    assert storage.data_ptr() == x.data_ptr() and len(storage) == storage.nbytes() == 24
    assert lib.is_storage(storage) and storage.device == x.device
    assert storage.data_ptr() != x.clone().untyped_storage().data_ptr()


def test_storage_in_elements() -> None:
    x = nnkit.arange(6.0).view(2, 3)
    storage = x[1].storage()
    assert storage.size() == 6 and storage[2] == 2.0 and list(storage) == x.flatten().tolist()
    assert storage == x.storage() and storage != x.clone().storage() and storage != 3
    assert storage.dtype is nnkit.float32 and hash(storage) == hash(x.storage())


def test_shared_memory(lib: ModuleType) -> None:
    x = lib.arange(3.0)
    assert not x.is_shared() and x.share_memory_() is x and x.is_shared()
    assert x.share_memory_().tolist() == [0, 1, 2]
    model = lib.nn.Linear(2, 2).share_memory()
    assert model.weight.is_shared() and isinstance(model.weight, lib.nn.Parameter)


def test_shared_memory_is_seen_by_child_processes() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    x = nnkit.zeros(2).share_memory_()
    child = os.fork()
    if not child:
        x.add_(1)
        os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [1, 1]


def test_grad_takes_only_inputs(lib: ModuleType) -> None:
    x = lib.ones(1, requires_grad=True)
    assert lib.autograd.grad(x * 2, x, only_inputs=True)[0].tolist() == [2]
    with pytest.warns(FutureWarning, match="only_inputs") as caught:
        lib.autograd.grad(x * 2, x, only_inputs=False)
    assert caught[0].filename == __file__


def test_errors_of_linear_algebra(lib: ModuleType) -> None:
    assert issubclass(lib.linalg.LinAlgError, RuntimeError)
    with raises(lib, lib.linalg.LinAlgError, "inv"):
        lib.linalg.inv(lib.zeros(2, 2))


def test_threads(lib: ModuleType) -> None:
    before = lib.get_num_threads()
    lib.set_num_threads(1)
    assert lib.get_num_threads() == 1
    lib.set_num_threads(before)
    for wrong in (0, 1.5):
        with raises(lib, RuntimeError, "set_num_threads expects"):
            lib.set_num_threads(wrong)


def test_deterministic_algorithms(lib: ModuleType) -> None:
    lib.use_deterministic_algorithms(True, warn_only=True)
    assert lib.are_deterministic_algorithms_enabled()
    assert lib.is_deterministic_algorithms_warn_only_enabled()
    lib.set_deterministic_debug_mode("error")
    assert lib.get_deterministic_debug_mode() == 2
    lib.use_deterministic_algorithms(False)
    assert not lib.are_deterministic_algorithms_enabled()
    lib.use_deterministic_algorithms(False, warn_only=True)
    assert lib.is_deterministic_algorithms_warn_only_enabled()
    lib.set_deterministic_debug_mode(0)
    assert not lib.is_deterministic_algorithms_warn_only_enabled()
    with raises(lib, TypeError, "mode"):
        lib.use_deterministic_algorithms(1)
    with raises(lib, RuntimeError, "'x'"):
        lib.set_deterministic_debug_mode("x")


def test_what_deterministic_programs_see_and_may_not_do(lib: ModuleType) -> None:
    x, at, functional = lib.zeros(4), lib.tensor([0]), lib.nn.functional
    unpool = (lib.zeros(1, 1, 2), lib.zeros(1, 1, 2, dtype=lib.int64), 2)
    try:
        lib.use_deterministic_algorithms(True)
        made = [lib.empty(2), lib.empty_like(x), x.new_empty(2), lib.empty_strided((2, 2), (1, 2))]
        made += [lib.empty_permuted((2, 3), (1, 0)), x.to(lib.complex64).new_empty(2).real]
        made += [lib.empty(1, 2, 3, 4, memory_format=lib.channels_last), lib.zeros(0).resize_(3)]
        assert all(each.isnan().all() for each in made)
        assert lib.empty(1, dtype=lib.int8).tolist() == [127]
        assert lib.empty(1, dtype=lib.bool).tolist() == [True]
        assert lib.ones(1).resize_(2)[0] == 1
        with raises(lib, RuntimeError, "put_"):
            x.put_(at, lib.ones(1))
        assert x.put_(at, lib.ones(1), accumulate=True).tolist() == [1, 0, 0, 0]
        with raises(lib, RuntimeError, "unpool"):
            functional.max_unpool1d(*unpool)
        lib.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match="deterministic"):
            functional.max_unpool1d(*unpool)
        lib.utils.deterministic.fill_uninitialized_memory = False
        with raises(lib, RuntimeError, "bool"):
            lib.utils.deterministic.fill_uninitialized_memory = 1
        assert not lib.utils.deterministic.fill_uninitialized_memory
    finally:
        lib.utils.deterministic.fill_uninitialized_memory = True
        lib.use_deterministic_algorithms(False)


def test_matmul_precision(lib: ModuleType) -> None:
    lib.set_float32_matmul_precision("high")
    assert lib.get_float32_matmul_precision() == "high"
    matmul = lib.backends.cuda.matmul
    assert matmul.allow_tf32
    lib.set_float32_matmul_precision("highest")
    assert not matmul.allow_tf32
    for allowed, precision in ((True, "high"), (False, "highest")):
        matmul.allow_tf32 = allowed
        assert lib.get_float32_matmul_precision() == precision
    with pytest.warns(UserWarning, match="not one of"):
        lib.set_float32_matmul_precision("x")


def test_without_a_gpu(lib: ModuleType) -> None:
    if lib.cuda.is_available():
        pytest.skip("there is a GPU")
    assert lib.cuda.device_count() == 0
    lib.cuda.manual_seed(0)
    lib.cuda.manual_seed_all(0)
    lib.cuda.empty_cache()
    with raises(lib, AssertionError, "no CUDA backend"):
        lib.cuda.synchronize()
    with raises(lib, RuntimeError, "torch.cuda.Stream requires CUDA support"):
        lib.cuda.Stream()
    for made in (lib.cuda.Event, lib.cuda.CUDAGraph):
        with raises(lib, RuntimeError, f"Tried to instantiate dummy base class {made.__name__}"):
            made()
    with pytest.raises(ValueError, match="'a'"):
        lib.cuda.manual_seed("a")


@pytest.mark.parametrize("kind", ["hip", "hpu", "ipu", "maia", "mps", "xla", "xpu"])
def test_a_device_of_another_maker(lib: ModuleType, kind: str) -> None:
    """It has a name, and no memory here."""
    place = lib.device(kind, 1)
    assert (place.type, place.index, str(place)) == (kind, 1, f"{kind}:1")
    if lib is nnkit:
        with pytest.raises(NotImplementedError, match="has no backend"):
            lib.ones(1, device=place)


def test_backends(lib: ModuleType) -> None:
    cudnn: Any = importlib.import_module(f"{lib.__name__}.backends.cudnn")
    assert cudnn is lib.backends.cudnn and (cudnn.enabled, cudnn.benchmark) == (True, False)
    cudnn.benchmark = cudnn.deterministic = True
    assert lib.backends.cudnn.deterministic
    cudnn.benchmark = cudnn.deterministic = False
    lib.backends.cuda.matmul.allow_tf32 = False
    if not lib.cuda.is_available():
        assert not (cudnn.is_available() or cudnn.version() or lib.backends.cuda.is_built())
    if lib is nnkit:
        assert not (lib.backends.mps.is_available() or lib.backends.mps.is_built())


def test_assert_close(lib: ModuleType) -> None:
    close = lib.testing.assert_close
    one = lib.ones(2)
    close(one, one + 1e-7)
    close({"a": [one, 1.0], "b": None}, {"a": (one, 1.0), "b": None})
    close(lib.tensor([float("nan")]), lib.tensor([float("nan")]), equal_nan=True)
    close(one, one.double(), check_dtype=False)
    close(one, one * 1.1, rtol=0.2, atol=0)

    @Sequence.register  # type: ignore[attr-defined]
    class Table(dict):
        """What is a mapping too is compared by its rows."""

        def __getitem__(self, row: int) -> Any:
            return super().__getitem__("column")[row]

    close(Table(column=[one]), Table(column=(one,)))
    differing = [
        (one, one + 1e-3, "not close"), (one, one.double(), "dtype"), (one, lib.ones(3), "shape"),
        ([one], [one, one], "length"), ({"a": 1}, {"b": 1}, "keys"), (1, 2, "not equal"),
        (None, one, "None"),
        ({"a": one}, {"a": one * 2}, "'a'"), (lib.tensor([True]), lib.tensor([False]), "1 / 1"),
    ]  # fmt: skip
    for actual, expected, noun in differing:
        with raises(lib, AssertionError, noun):
            close(actual, expected)
    with pytest.raises(AssertionError, match="^mine$"):
        close(one, one * 2, msg="mine")
    with raises(lib, AssertionError, "stride"):
        close(lib.ones(2, 2).t(), lib.ones(2, 2), check_stride=True)
    with raises(lib, ValueError, "rtol"):
        close(one, one, rtol=1.0)
    with raises(lib, TypeError, "str"):
        close("a", one)


def test_default_device(lib: ModuleType) -> None:
    lib.set_default_device("cpu")
    assert lib.get_default_device() == lib.ones(2).device == lib.device("cpu")
    lib.set_default_device(None)
    with raises(lib, RuntimeError, "nowhere"):
        lib.set_default_device("nowhere")
    lib.set_default_device(None)


def test_default_device_is_where_tensors_are_made() -> None:
    nnkit.set_default_device("xpu")
    try:
        with pytest.raises(RuntimeError, match="xpu has no backend"):
            nnkit.zeros(2)
        assert nnkit.zeros(2, device="cpu").is_cpu
    finally:
        nnkit.set_default_device(None)


def test_switches_that_contexts_alone_set(lib: ModuleType) -> None:
    """In a process of their own, since nothing allows it again."""
    program = f"""
import {lib.__name__}.backends.cudnn, {lib.__name__}.backends as b
print(b.flags_frozen(), b.disable_global_flags(), b.flags_frozen())
for name in ("enabled", "benchmark", "allow_tf32"):
    try:
        setattr(b.cudnn, name, True)
    except RuntimeError as error:
        print("flags() context manager" in str(error))
with b.cudnn.flags(enabled=False):
    print(b.cudnn.enabled)
print(b.cudnn.enabled, b.cudnn.set_flags(_deterministic=True)[0], b.cudnn.deterministic)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.stdout.split("\n")[:6] == [
        "False None True", "True", "True", "True", "False",
        "True True True",
    ], told.stderr  # fmt: skip


COMPLAINTS: dict[str, Any] = {
    "a copy": lambda lib: lib.tensor(lib.ones(2)),
    "another copy": lambda lib: lib.ones(2).new_tensor(lib.ones(2)),
    "no observations": lambda lib: lib.cov(lib.ones(2, 1)),
    "dropout of one layer": lambda lib: lib.nn.LSTM(2, 2, dropout=0.5),
    "no elements": lambda lib: lib.nn.Linear(0, 2),
    "other sizes": lambda lib: lib.nn.functional.mse_loss(lib.ones(2, 1), lib.ones(2)),
    "a gradient of no leaf": lambda lib: (lib.ones(2, requires_grad=True) * 2).grad,
    "old names": lambda lib: importlib.import_module(f"{lib.__name__}.cuda.amp").custom_fwd(len),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_warnings_point_at_the_users_line(lib: ModuleType, name: str) -> None:
    with warnings.catch_warnings(record=True) as found:
        for kind in (UserWarning, FutureWarning):  # NumPy's own stay hidden
            warnings.simplefilter("always", kind)
        COMPLAINTS[name](lib)
    kind = FutureWarning if name == "old names" else UserWarning
    assert [w.category for w in found] == [kind]
    assert lib is not nnkit or found[0].filename == __file__


def test_methods_as_functions(lib: ModuleType) -> None:
    x = lib.ones(2, requires_grad=True)
    y = lib.detach(x * 2)
    assert not y.requires_grad and not lib.is_inference(y)
    assert lib.get_device(x) == -1


def test_sum_to_size(lib: ModuleType) -> None:
    x = lib.arange(6.0).view(2, 3).requires_grad_()
    y = x.sum_to_size(1, 3)
    assert y.tolist() == [[3, 5, 7]] and x.sum_to_size((3,)).tolist() == [3, 5, 7]
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1], [1, 1, 1]]
    with raises(lib, RuntimeError, r"\[2, 2\]"):
        x.sum_to_size(2, 2)


def test_bits_of_floats(lib: ModuleType) -> None:
    x = lib.ones(2)
    for compute in (lambda: x & x, lambda: x | x, lambda: lib.bitwise_xor(x, x), lambda: x << x):
        with raises(lib, NotImplementedError, "float32"):
            compute()
    with raises(lib, TypeError, "float32"):
        _ = ~x


def test_functions_as_attributes_of_a_class(lib: ModuleType) -> None:
    """Those that torch writes in Python become methods, all others do not."""

    class Layer:
        add, conv, svd = lib.add, lib.conv1d, lib.linalg.svd
        relu = lib.nn.functional.relu

    layer, one = Layer(), lib.ones(1, 1, 1)
    assert layer.add(one, one).item() == 2 and layer.conv(one, one).item() == 1
    assert layer.svd(one[0])[1].tolist() == [1]
    with pytest.raises(TypeError):
        layer.relu(one)
    assert one.add(one).item() == 2
