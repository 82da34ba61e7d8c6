"""The edge between tensors and NumPy, buffers, DLPack and Python data."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nnkit
from nnkit.backend import warning
from nnkit.utils.dlpack import to_dlpack
from tests.harness.expectations import torch


def test_from_numpy_and_numpy_share_memory():
    array = np.zeros(3)
    x = nnkit.from_numpy(array)
    array[0] = 1
    x[1] = 2
    assert x.tolist() == [1, 2, 0] and array.tolist() == [1, 2, 0]
    assert np.shares_memory(x.numpy(), array)
    assert np.shares_memory(nnkit.as_tensor(array).numpy(), array)
    assert nnkit.asarray(x) is x
    assert not np.shares_memory(nnkit.tensor(array).numpy(), array)


def test_memory_that_is_not_writable_is_told(monkeypatch):
    """Once in a process; a write is refused, torch would do it."""
    monkeypatch.setattr(warning, "ALWAYS", True)
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    for make in (nnkit.from_numpy, nnkit.as_tensor, nnkit.asarray):
        with pytest.warns(UserWarning, match="NumPy array is not writable.*non-writable"):
            x = make(array)
        with pytest.raises(ValueError, match="read-only"):
            x.add_(1)
    with pytest.warns(UserWarning, match="buffer is not writable"):
        nnkit.frombuffer(b"abc", dtype=nnkit.uint8)
    assert nnkit.tensor(array).add_(1).tolist() == [1, 1, 1] and array.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("data", "error", "noun"),
    [
        ([1], TypeError, "list"),
        (np.float64(1), TypeError, "float64"),
        (np.array(["a"]), TypeError, "str"),
        (np.array([1], "M8[s]"), TypeError, "datetime64"),
        (np.zeros(3)[::-1], ValueError, "negative"),
        (np.zeros(3, "f8,u1")["f0"], ValueError, "not a multiple of the element byte size"),
        (np.zeros(3, ">f4"), ValueError, "byte order"),
    ],
)
def test_from_numpy_refuses(data, error, noun):
    with pytest.raises(error, match=noun):
        nnkit.from_numpy(data)


def test_numpy_of_a_tensor_that_requires_grad_needs_force():
    x = nnkit.ones(2, requires_grad=True)
    for read in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(RuntimeError, match="detach"):
            read()
    assert x.numpy(force=True).tolist() == [1, 1]
    assert x.detach().numpy().tolist() == [1, 1]
    with pytest.raises(TypeError, match="bfloat16"):
        nnkit.ones(2, dtype=nnkit.bfloat16).numpy()


def test_functions_of_numpy_take_and_return_tensors():
    x = nnkit.tensor([1.0, 4.0])
    assert isinstance(np.sqrt(x), nnkit.Tensor)
    assert np.asarray(x, np.float64).dtype == np.float64
    assert np.array(x) is not x.numpy()


def test_numbers_of_numpy_leave_the_dtype_to_the_tensor():
    x = nnkit.ones(2)
    for result in (np.float64(2) * x, x * np.float64(2), np.float32(2) + x, x - np.int64(1)):
        assert result.dtype is nnkit.float32


def test_numbers_and_arrays_of_numpy_keep_their_dtype_in_tensor():
    assert nnkit.tensor([np.float64(1), 2]).dtype is nnkit.float64
    assert nnkit.tensor(np.float32(1)).dtype is nnkit.float32
    assert nnkit.tensor([np.int32(3)]).dtype is nnkit.int32
    assert nnkit.tensor(np.array([1], ml_dtypes.bfloat16)).dtype is nnkit.bfloat16
    assert nnkit.tensor([np.bool_(True)]).dtype is nnkit.bool


def test_what_is_warned_of_once(lib, monkeypatch):
    if lib is nnkit:
        monkeypatch.setattr(warning, "ALWAYS", True)
    else:
        lib.set_warn_always(True)
    with pytest.warns(UserWarning, match="Creating a tensor from a list of numpy.ndarrays is"):
        assert lib.tensor([np.array([1, 2]), np.array([3, 4])]).shape == (2, 2)
    with pytest.warns(UserWarning, match="required to pass the indexing argument"):
        assert len(lib.meshgrid(lib.ones(2))) == 1
    leaf = lib.ones((), requires_grad=True)
    with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
        leaf.exp().backward(create_graph=True)
    leaf.grad = None
    if lib is not nnkit:
        lib.set_warn_always(False)


def test_default_dtype_decides_for_floats():
    nnkit.set_default_dtype(nnkit.float64)
    try:
        assert nnkit.tensor([1.0]).dtype is nnkit.float64
        assert nnkit.zeros(1).dtype is nnkit.float64
        assert nnkit.tensor([1j]).dtype is nnkit.complex128
        assert nnkit.arange(0.0, 2.0).dtype is nnkit.float64
        assert nnkit.logit(nnkit.tensor([0, 1])).dtype is nnkit.float64
        assert nnkit.Tensor(2, 1).dtype is nnkit.Tensor([1]).dtype is nnkit.float64
        assert nnkit.Tensor(nnkit.ones(1).float()).dtype is nnkit.float32
    finally:
        nnkit.set_default_dtype(nnkit.float32)


def test_dlpack_both_ways_shares_memory():
    x = nnkit.zeros(3)
    array = np.from_dlpack(x)
    x[0] = 5
    assert array[0] == 5
    source = np.zeros(2)
    y = nnkit.from_dlpack(source)
    source[1] = 7
    assert y.tolist() == [0, 7]
    with pytest.raises(BufferError, match="gradient"):
        np.from_dlpack(nnkit.zeros(1, requires_grad=True))


class Exchanged:
    """An array that says of itself no more than DLPack asks."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_arrays_of_dlpack_are_data(lib):
    x = lib.arange(6.0).reshape(2, 3)
    for make, shares in ((lib.tensor, False), (lib.as_tensor, True), (lib.asarray, True)):
        y = make(Exchanged(x))
        assert y.dtype is lib.float32 and lib.equal(x, y)
        assert (y.data_ptr() == x.data_ptr()) is shares
    assert lib.tensor(Exchanged(x), dtype=lib.int64).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_tensors_are_no_arrays_of_dlpack(lib):
    x = lib.eye(2)
    for sparse in (x.to_sparse(), x.to_sparse_csr()):
        with pytest.raises(BufferError):
            sparse.__dlpack__()


def test_dlpack_takes_capsules_and_bfloat16():
    for kind in (nnkit.bfloat16, nnkit.float32, nnkit.bool):
        x = nnkit.arange(6.0).to(kind).reshape(2, 3).mT
        for y in (
            nnkit.from_dlpack(x),
            nnkit.asarray(to_dlpack(x)),
            nnkit.from_dlpack(to_dlpack(x)),
        ):
            assert y.dtype is kind and y.stride() == (1, 3) and y.data_ptr() == x.data_ptr()
            assert y.tolist() == x.tolist()
    assert nnkit.asarray(to_dlpack(x), copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="alias tensor"):
        nnkit.asarray(to_dlpack(x), dtype=nnkit.float64, copy=False)
    taken = to_dlpack(x)
    nnkit.from_dlpack(taken)
    with pytest.raises(RuntimeError, match="consumed only once"):
        nnkit.from_dlpack(taken)


@pytest.mark.filterwarnings("ignore:__array__")
@pytest.mark.skipif(torch is None, reason="torch's tensors are needed")
def test_tensors_of_torch_are_data():
    for take in (nnkit.from_dlpack, nnkit.asarray, nnkit.tensor, nnkit.as_tensor):
        assert take(torch.arange(3.0)).tolist() == [0, 1, 2]
    assert nnkit.from_dlpack(torch.arange(3.0).bfloat16()).dtype is nnkit.bfloat16
    foreign: Any = torch.ones(3)
    with pytest.raises(TypeError, match="must be Tensor"):
        nnkit.add(nnkit.ones(3), foreign)


def test_frombuffer_shares_memory():
    buffer = bytearray(8)
    x = nnkit.frombuffer(buffer, dtype=nnkit.int32)
    x[0] = 1
    assert buffer[0] == 1
    numbers = array.array("f", [1, 2])
    x = nnkit.asarray(numbers, copy=False)
    numbers[1] = 5
    assert x.tolist() == [1, 5] and nnkit.asarray(numbers, copy=True).tolist() == [1, 5]
    assert nnkit.asarray((ctypes.c_int * 2)(3, 4), dtype=nnkit.int32).tolist() == [3, 4]


def test_the_tensor_class_as_a_constructor():
    assert nnkit.Tensor(2, 3).shape == (2, 3)
    assert nnkit.Tensor().shape == (0,)
    assert nnkit.Tensor([1, 2]).dtype is nnkit.float32
    assert nnkit.Tensor(nnkit.Size([4])).shape == (4,)
    x = nnkit.ones(2)
    assert nnkit.Tensor(x).data_ptr() == x.data_ptr()
    assert x.new([1, 2]).tolist() == [1, 2]
    assert nnkit.tensor([1]).new(2).dtype is nnkit.int64
    with pytest.raises(TypeError, match="sequence"):
        nnkit.Tensor(2.5)


def test_gradients_go_through_the_constructor(lib):
    class Mine(lib.Tensor):
        def __new__(cls, x):
            return super().__new__(cls, x)

    x = lib.ones(2, requires_grad=True)
    for make in (lib.Tensor, Mine, lib.FloatTensor, x.new):
        y = make(x * 3)
        assert type(y) is (make if make in (lib.Tensor, Mine) else lib.Tensor)
        assert y.grad_fn.name() == "AliasBackward0" and y._is_view()
        assert lib.autograd.grad(y.sum(), x)[0].tolist() == [3, 3]
    assert not Mine(lib.ones(2)).requires_grad and Mine(x.data)._version == x._version


def test_one_object_of_a_class_is_made(lib):
    ended = []

    class Mine(lib.Tensor):
        def __del__(self):
            ended.append(self)

    x = lib.ones(2)
    made = [Mine(x), Mine(2), Mine([3.0])]
    with pytest.raises(TypeError):
        Mine(2.5)
    assert not ended and len(made) == 3


def test_to_returns_the_tensor_itself_where_nothing_changes():
    x = nnkit.ones(2)
    assert x.to("cpu") is x and x.to(nnkit.float32) is x and x.float() is x and x.cpu() is x
    assert x.to(nnkit.float32, copy=True) is not x
    with pytest.raises(RuntimeError, match="cuda"):
        x.to("cuda")


def test_casts_to_integers_end_the_history():
    x = nnkit.ones(2, requires_grad=True)
    assert not x.int().requires_grad and x.int().grad_fn is None
    assert x.double().grad_fn.name() == "ToCopyBackward0"


@pytest.mark.parametrize("write", ["fill_", "zero_", "copy_"])
def test_what_was_written_over_gets_no_gradient(write):
    x = nnkit.ones(2, requires_grad=True)
    y = x * 2
    arguments = {"fill_": (3,), "zero_": (), "copy_": (nnkit.ones(2),)}[write]
    getattr(y, write)(*arguments)
    (gradient,) = nnkit.autograd.grad(y.sum(), x)
    assert gradient.tolist() == [0, 0]


def test_strides_of_clones_and_of_tensors_like_others():
    x = nnkit.ones(2, 3).t()
    assert x.clone().stride() == nnkit.zeros_like(x).stride() == (1, 3)
    assert x.contiguous().stride() == (2, 1)
    assert nnkit.ones(1, 3).expand(2, 3).clone().stride() == (3, 1)
    assert nnkit.empty_strided((2, 3), (1, 2)).stride() == (1, 2)


def test_limits_of_dtypes():
    assert nnkit.finfo(nnkit.float32).eps == np.finfo(np.float32).eps
    assert nnkit.finfo(nnkit.bfloat16).max == float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    assert nnkit.finfo(nnkit.complex128).bits == 64
    assert nnkit.iinfo(nnkit.int16).min == -(2**15)
    assert nnkit.finfo(float) == nnkit.finfo(nnkit.float64) != nnkit.finfo(nnkit.float32)
    assert nnkit.iinfo(int) == nnkit.iinfo(nnkit.int64) != nnkit.iinfo(nnkit.int8)
    with pytest.raises(TypeError, match="unhashable"):
        hash(nnkit.finfo(float))
    with pytest.raises(RuntimeError, match="parts of int8"):
        nnkit.int8.to_complex()
    for limits, d in ((nnkit.finfo, nnkit.int32), (nnkit.iinfo, nnkit.float32)):
        with pytest.raises(TypeError, match=d.name):
            limits(d)


@pytest.mark.parametrize("framework", ["nnkit", "torch"])
def test_streams_of_dlpack(framework):
    x = pytest.importorskip(framework).ones(2)
    for wrong, error in ((object(), TypeError), (True, TypeError), (1, AssertionError)):
        with pytest.raises(error, match="stream"):
            x.__dlpack__(stream=wrong)
    for stream in (None, -1):
        assert np.from_dlpack(_Streamed(x, stream)).tolist() == [1.0, 1.0]


class _Streamed:
    def __init__(self, tensor, stream):
        self.tensor, self.stream = tensor, stream

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(stream=self.stream)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()
