"""Every call on the CPU's backend made once more by the CUDA backend, on emulated kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nnkit.backend.cuda import BACKEND, failures
from nnkit.backend.device import cpu
from nnkit.backend.door import standing
from nnkit.backends.cudnn import flags
from tests.cuda.arrays import on_arrays
from tests.cuda.emulation import emulated
from tests.harness.mirror import Mirror

# What is not a function of its arguments: random numbers, addresses, uninitialised memory; and
# factorizations, which may differ in sign and are CuPy's on a GPU.
OTHERS = frozenset(
    "empty empty_like empty_strided data_pointer shared is_shared storage_offset storage_size"
    " from_numpy as_array from_buffer from_dlpack dropout alpha_dropout dropout_mask bernoulli"
    " view as_strided strided eig eigh svd qr".split()
)


class OnCuda(Mirror):
    def twin(self, name: str) -> Callable | None:
        if name in OTHERS:
            return None

        def run(*arguments: Any) -> Any:
            result = on_arrays(getattr(BACKEND, name))(*arguments)
            failures.check()
            return result

        return run


@contextmanager
def mirrored() -> Iterator[Mirror]:
    with emulated(), standing(OnCuda, cpu) as mirror, flags(enabled=True, allow_tf32=False):
        yield mirror
