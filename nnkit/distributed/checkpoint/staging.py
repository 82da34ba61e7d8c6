"""Stagers: they copy a state, so that the copy can be saved while training goes on."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from nnkit.autograd import no_grad
from nnkit.autograd.tensor import Tensor
from nnkit.distributed.checkpoint.metadata import STATE_DICT_TYPE
from nnkit.distributed.tensor import DTensor
from nnkit.distributed.tensor.dtensor import as_dtensor

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """The protocol of the objects that make the copy for `async_save`."""

    _synchronize_after_execute: bool = True

    def stage(self, state_dict: STATE_DICT_TYPE) -> Future | STATE_DICT_TYPE:
        """The copy, now or later."""
        raise NotImplementedError

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether `synchronize_staging` is called before `async_save` returns."""
        return self._synchronize_after_execute

    def synchronize_staging(self) -> None:
        """Wait for the copy."""

    def close(self) -> None:
        """Free what the copies need."""


@dataclass
class StagingOptions:
    """Options of copies; only ``use_async_staging``, a copy in a thread, has an effect."""

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager(AsyncStager):
    """A stager that copies in this thread or in one of its own, as its options say."""

    def __init__(self, config: StagingOptions | None = None) -> None:
        config = config or StagingOptions()
        self._thread = ThreadPoolExecutor(1) if config.use_async_staging else None
        self._copy: Future | None = None

    def stage(self, state_dict: STATE_DICT_TYPE, **kwargs: Any) -> Future | STATE_DICT_TYPE:
        """The copy, or with a thread a future of it."""
        if self._thread is None:
            return copied(state_dict)
        self._copy = self._thread.submit(copied, state_dict)
        return self._copy

    def synchronize_staging(self) -> None:
        """Wait for the copy."""
        if self._copy is not None:
            self._copy.result()

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._thread.shutdown()


class BlockingAsyncStager(AsyncStager):
    """A stager that copies in this thread.

    Args:
        cache_staged_state_dict, type_check: accepted; each copy is a new one.
    """

    _synchronize_after_execute = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict = cache_staged_state_dict
        self.type_check = type_check

    def stage(self, state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
        """The copy."""
        return copied(state_dict)


@no_grad()
def copied(value: Any) -> Any:
    """A nested state with copies of its tensors on the CPU, and of other mutable values."""
    if isinstance(value, DTensor):
        return as_dtensor(
            copied(value.to_local()), value.device_mesh, value.placements, value.shape
        )
    if isinstance(value, Tensor):
        return value.detach().cpu().clone() if value.is_cpu else value.detach().cpu()
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    return deepcopy(value)
