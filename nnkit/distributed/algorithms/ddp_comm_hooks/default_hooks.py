"""Communication hooks that average buckets, also in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.backend.dtype import DTYPES
from nnkit.backend.futures import Future
from nnkit.distributed.collectives import all_reduce
from nnkit.distributed.groups import default_group

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip


def allreduce_hook(process_group: Any, bucket: Any) -> Future:
    """The default of `DistributedDataParallel`: the mean over the ranks."""
    return _mean(process_group, bucket.buffer())


def _mean(group: Any, values: Any) -> Future:
    group = default_group() if group is None else group
    work = all_reduce(values.div_(group.size()), group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def _compressed(group: Any, bucket: Any, dtype: Any) -> Future:
    """The mean, computed in another dtype."""
    buffer = bucket.buffer()
    mean = _mean(group, buffer.to(dtype))
    return mean.then(lambda future: buffer.copy_(future.value()))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Future:
    """The mean, sent as float16: half of the bytes."""
    return _compressed(process_group, bucket, DTYPES["float16"])


def bf16_compress_hook(process_group: Any, bucket: Any) -> Future:
    """The mean, sent as bfloat16: half of the bytes."""
    return _compressed(process_group, bucket, DTYPES["bfloat16"])


def _wrapper(hook: Callable, dtype: Any) -> Callable:
    def run(state: Any, bucket: Any) -> Future:
        original = bucket.buffer()
        compressed = original.to(dtype)
        future = hook(state, _Compressed(bucket, compressed))
        return future.then(lambda done: original.copy_(_first(done.value())))

    return run


class _Compressed:
    """A bucket whose flat tensor has another dtype."""

    def __init__(self, bucket: Any, flat: Any) -> None:
        self._bucket = bucket
        self._flat = flat

    def buffer(self) -> Any:
        return self._flat

    def set_buffer(self, buffer: Any) -> None:
        self._flat = buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) else value


def fp16_compress_wrapper(hook: Callable) -> Callable:
    """Another hook that is given float16 numbers."""
    return _wrapper(hook, DTYPES["float16"])


def bf16_compress_wrapper(hook: Callable) -> Callable:
    """Another hook that is given bfloat16 numbers."""
    return _wrapper(hook, DTYPES["bfloat16"])
