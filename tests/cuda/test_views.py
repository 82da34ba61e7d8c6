"""Views are CuPy's own arrays here, over host memory: making one asks no GPU for anything."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.tensor import wrap
from nnkit.backend.cpu import BACKEND as HOST
from nnkit.backend.cuda import BACKEND
from nnkit.backend.cuda.differences import BF16
from tests.cuda import arrays

cupy = pytest.importorskip("cupy")


def on_host(values: np.ndarray, room: int = 512) -> Any:
    """An array of CuPy's over a copy of the values, in a block as large as the pool's."""
    memory = np.zeros(-(-values.nbytes // room) * room, np.uint8)
    memory[: values.nbytes] = values.view(np.uint8).ravel()
    block = cupy.cuda.UnownedMemory(memory.ctypes.data, memory.nbytes, memory, 0)
    return cupy.ndarray(values.shape, values.dtype, cupy.cuda.MemoryPointer(block, 0))


def seen(x: Any) -> np.ndarray:
    """What lies where an array of CuPy's points to."""
    block = x.data.mem
    memory = (ctypes.c_uint8 * block.size).from_address(block.ptr)
    return np.ndarray(x.shape, x.dtype, memory, x.data.ptr - block.ptr, x.strides)


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "reshape": lambda B, x: B.reshape(x, (4, 3, 2)),
    "permute": lambda B, x: B.permute(x, (1, 0)),
    "swapaxes": lambda B, x: B.swapaxes(x, 0, 1),
    "mT": lambda B, x: B.mT(x),
    "expand": lambda B, x: B.expand(x, (2, 6, 4)),
    "unsqueeze": lambda B, x: B.unsqueeze(x, 1),
    "squeeze": lambda B, x: B.squeeze(B.unsqueeze(x, 0), (0,)),
    "getitem": lambda B, x: B.getitem(x, (slice(1, 5, 2), None, 2)),
    "diagonal": lambda B, x: B.diagonal(x, 1, 0, 1),
    "split": lambda B, x: B.split(x, (2, 4), 0)[1],
    "unbind": lambda B, x: B.unbind(x, 0)[3],
    "view": lambda B, x: B.view(x, (3, 8)),
    "as_strided": lambda B, x: B.as_strided(x, (3, 2), (2, 5), 3, None),
    "unfold": lambda B, x: B.unfold(x, 0, 3, 2),
    "unfold of a view": lambda B, x: B.unfold(B.getitem(x, (slice(2, None),)), 1, 2, 1),
}
CUDA = nnkit.device("cuda", 0)


@pytest.fixture(autouse=True)
def connected() -> Iterator[None]:
    if nnkit.cuda.is_available():
        pytest.skip("there is a GPU")
    CUDA.backend = BACKEND
    yield
    del CUDA.backend


@pytest.mark.parametrize("dtype", (np.dtype(np.float32), BF16), ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_the_same_memory(name: str, dtype: np.dtype) -> None:
    values = np.arange(24).reshape(6, 4).astype(dtype)
    x = on_host(values)
    got, wanted = VIEWS[name](BACKEND, x), VIEWS[name](HOST, values)
    assert got.dtype == wanted.dtype and got.strides == wanted.strides
    np.testing.assert_array_equal(seen(got).astype(np.float32), wanted.astype(np.float32))
    assert got.data.mem is x.data.mem
    assert BACKEND.storage_offset(got) == HOST.storage_offset(wanted)
    assert BACKEND.storage_size(x) == 24


def test_what_the_played_arrays_can_is_in_cupy() -> None:
    for name in arrays.FUNCTIONS:
        assert callable(operator.attrgetter(name)(cupy)), name
    assert not set(arrays.METHODS) - set(dir(cupy.ndarray))


OPS: dict[str, Callable[[Any], Any]] = {
    "as_strided": lambda x: x.as_strided((3, 2), (2, 5), 3),
    "unfold": lambda x: x.unfold(0, 3, 2),
    "getitem": lambda x: x[1:, 2],
    "as_strided of a view": lambda x: x[1:].as_strided((3,), (2,)),
    "a view of as_strided": lambda x: x.as_strided((3, 2), (2, 5))[1],
    "reshape": lambda x: x.reshape(4, 6),
}


@pytest.mark.parametrize("name", OPS)
def test_a_tensor_knows_its_base(name: str) -> None:
    x = wrap(on_host(np.arange(24, dtype=np.float32).reshape(6, 4)), CUDA)
    view = OPS[name](x)
    assert view._base is x and view._writes is x._writes


def test_windows_reach_no_further_than_the_block() -> None:
    x = wrap(on_host(np.arange(24, dtype=np.float32)), CUDA)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 24"):
        x.as_strided((25,), (1,))
    window = x.as_strided((2,), (1,), 4)
    assert window.as_strided((3,), (1,), 0)._array.data.ptr == x._array.data.ptr
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        window.as_strided((200,), (1,), 0)
