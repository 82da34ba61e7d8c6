"""Where a tensor lies: strides, arrays shared with NumPy, resizing, and the limits of dtypes."""

from __future__ import annotations

import gc
from types import ModuleType

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises


def test_strides_and_offsets(lib: ModuleType) -> None:
    x = lib.arange(6.0).reshape(2, 3)
    assert x.stride() == (3, 1) and x.t().stride() == (1, 3) and x.stride(-1) == 1
    assert lib.zeros(0, 2).stride() == (2, 1) and lib.zeros(2, 0).stride() == (1, 1)
    assert x[:, 1:].storage_offset() == 1 and x[1].storage_offset() == 3
    assert x.is_contiguous() and x[1:].is_contiguous()
    assert not x.t().is_contiguous() and not x[:, ::2].is_contiguous()
    with raises(lib, IndexError, "2"):
        x.stride(2)


def test_numpy_shares_memory_both_ways(lib: ModuleType) -> None:
    array = np.zeros(3)
    x = lib.from_numpy(array)
    x[0] = 5
    x.numpy()[1] = 7
    assert array.tolist() == x.tolist() == [5, 7, 0]
    assert x.data_ptr() == x[:].data_ptr() == array.ctypes.data
    assert x[1:].data_ptr() == x.data_ptr() + 8
    assert x.clone().data_ptr() != x.data_ptr()


def test_numpy_refuses(lib: ModuleType) -> None:
    with raises(lib, RuntimeError, "detach"):
        lib.zeros(2, requires_grad=True).numpy()
    with raises(lib, TypeError, "list"):
        lib.from_numpy([1.0])
    with raises(lib, TypeError, "str"):
        lib.from_numpy(np.array(["a"]))


def test_is_set_to_means_the_same_window(lib: ModuleType) -> None:
    x = lib.zeros(2, 3)
    assert x.is_set_to(x.view(2, 3))
    assert not x.is_set_to(x.clone()) and not x.is_set_to(x.view(3, 2))


def test_resizing_keeps_the_elements(lib: ModuleType) -> None:
    x = lib.arange(4.0)
    assert x.resize_(2) is x and x.tolist() == [0, 1]
    assert x.resize_as_(lib.zeros(2, 1)) is x and x.tolist() == [[0], [1]]
    with raises(lib, RuntimeError, "requires? grad"):
        lib.zeros(2, requires_grad=True).resize_(1)


@pytest.mark.filterwarnings("ignore:.*non-inplace resize")
def test_resized_copies(lib: ModuleType) -> None:
    x = lib.arange(6.0)
    assert x.resize(3, 2).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.resize_as(lib.zeros(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_new_keeps_the_dtype(lib: ModuleType) -> None:
    x = lib.zeros(2, dtype=lib.float64)
    assert tuple(x.new().shape) == (0,) and tuple(x.new(2, 3).shape) == (2, 3)
    made = x.new([1, 2])
    assert made.tolist() == [1, 2] and made.dtype is lib.float64


def test_cuda_without_a_gpu_says_so(framework: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="cuda"):
        framework.zeros(2).cuda()


def test_cuda_on_the_cpu(lib: ModuleType) -> None:
    for place in ("cpu", lib.device("cpu")):
        for moved in (lib.zeros(2), lib.nn.Linear(2, 2)):
            with pytest.raises(RuntimeError, match="must be a? ?cuda device"):
                moved.cuda(place)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_finfo(lib: ModuleType, name: str) -> None:
    info = lib.finfo(getattr(lib, name))
    mantissa, largest = {
        "float16": (10, 65504.0),
        "bfloat16": (7, (2 - 2.0**-7) * 2.0**127),
        "float32": (23, (2 - 2.0**-23) * 2.0**127),
        "float64": (52, (2 - 2.0**-52) * 2.0**1023),
    }[name]
    assert info.eps == 2.0**-mantissa and info.max == largest == -info.min
    assert info.tiny == info.smallest_normal > 0
    assert info.bits == getattr(lib, name).itemsize * 8 and info.dtype == name


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo(lib: ModuleType, name: str) -> None:
    info, same = lib.iinfo(getattr(lib, name)), np.iinfo(name)
    assert (info.bits, info.min, info.max, info.dtype) == (same.bits, same.min, same.max, name)


def test_limits_of_the_other_kind_are_refused(lib: ModuleType) -> None:
    with raises(lib, TypeError, "int8"):
        lib.finfo(lib.int8)
    with raises(lib, TypeError, "float32"):
        lib.iinfo(lib.float32)


LEGACY = {
    "BFloat16Tensor": "bfloat16", "BoolTensor": "bool", "ByteTensor": "uint8",
    "CharTensor": "int8", "DoubleTensor": "float64", "FloatTensor": "float32",
    "HalfTensor": "float16", "IntTensor": "int32", "LongTensor": "int64", "ShortTensor": "int16",
}  # fmt: skip


@pytest.mark.parametrize("name", LEGACY)
def test_a_legacy_class_makes_tensors_of_its_dtype(lib: ModuleType, name: str) -> None:
    made = getattr(lib, name)([1, 0])
    assert made.tolist() == [1, 0] and made.dtype is getattr(lib, LEGACY[name])
    assert tuple(getattr(lib, name)(2, 3).shape) == (2, 3)


@pytest.mark.parametrize("lent", ["numpy", "array", "from_numpy", "frombuffer", "from_dlpack"])
def test_memory_that_others_look_into_does_not_grow(lib: ModuleType, lent: str) -> None:
    x = lib.zeros(2)
    if lent == "numpy":
        x.numpy()
    elif lent == "array":
        np.asarray(x[1:])
    elif lent == "frombuffer":
        x = lib.frombuffer(bytearray(8), dtype=lib.float32)
    else:
        x = getattr(lib, lent)(np.zeros(2))
    x.resize_(1)
    x.resize_(2)
    assert lib.zeros(2).untyped_storage().resizable() and not x.untyped_storage().resizable()
    with raises(lib, RuntimeError, "not resizable"):
        x.detach()[1:].resize_(4)
    assert x.tolist() == [0, 0]


def test_growing_what_nobody_shares_goes_through_no_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone_through = []
    monkeypatch.setattr(gc, "get_objects", lambda: gone_through.append(1) or [])
    for x in (nnkit.ones(3), nnkit.tensor(1.0), nnkit.ones(2, 2) @ nnkit.ones(2, 2)):
        x.resize_(20).resize_(50).fill_(2)
        x.share_memory_()
    with pytest.warns(UserWarning, match="was resized"):
        nnkit.add(nnkit.ones(20), 1, out=nnkit.ones(3))
    assert not gone_through
    part = x[1:]
    x.resize_(200)
    assert gone_through == [1] and part[0] == 2


def test_each_tensor_on_an_array_is_a_storage_of_its_own(lib: ModuleType) -> None:
    array = np.arange(6.0)
    x, y = lib.from_numpy(array[2:]), lib.from_numpy(array)
    assert x.storage_offset() == 0 and x.untyped_storage().nbytes() == 32
    y[2:] += x[lib.tensor([3, 2, 1, 0])]
    x.scatter_(0, lib.tensor([0, 1, 2, 3]), y[2:])  # torch does not see that they overlap
    assert array.tolist() == x.tolist()[:0] + [0, 1, 7, 7, 7, 7]
    assert not x.is_set_to(y[2:])
