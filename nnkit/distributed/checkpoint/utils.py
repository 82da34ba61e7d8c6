"""The ranks that save or load together, and the values of a state by index."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any

from nnkit.autograd.tensor import Tensor
from nnkit.backend.warning import warn
from nnkit.distributed.checkpoint.api import CheckpointException, Failure
from nnkit.distributed.checkpoint.metadata import STATE_DICT_TYPE, MetadataIndex
from nnkit.distributed.groups import get_rank, get_world_size, is_initialized
from nnkit.distributed.objects import all_gather_object
from nnkit.distributed.tensor import DTensor

__all__ = ["Ranks", "find_state_dict_object", "find_tensor_shard", "storage_may_come_second"]


def storage_may_come_second(name: str) -> Callable[[Callable], Callable]:
    """A decorator of `save` and `load`, which still take a storage second, with a warning."""

    def decorate(call: Callable) -> Callable:
        @wraps(call)
        def either(*args: Any, **kwargs: Any) -> Any:
            if len(args) == 2:
                warn(f"The argument order of {call.__name__} has been changed: name {name}.")
                return call(args[0], **{name: args[1]}, **kwargs)
            return call(*args, **kwargs)

        return either

    return decorate


class Ranks:
    """The ranks that save or load together, one of which decides for all.

    Args:
        group: the ranks; all by default.
        no_dist: this process is alone.
        coordinator_rank: the rank that decides.
    """

    def __init__(self, group: Any, no_dist: bool, coordinator_rank: int = 0) -> None:
        alone = no_dist or not is_initialized()
        self.group = group
        self.rank, self.size = (0, 1) if alone else (get_rank(group), get_world_size(group))
        self._coordinator = 0 if alone else coordinator_rank
        self.is_coordinator = self.rank == self._coordinator

    def everybody(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        if self.size == 1:
            return [value]
        found: list = [None] * self.size
        all_gather_object(found, value, self.group)
        return found

    def together(self, step: str, work: Callable[[], Any]) -> list[Any]:
        """The results of the ranks' work.

        Raises:
            CheckpointException: on every rank, if it has failed on one.
        """
        try:
            done = work(), None
        except Exception as error:
            done = None, self._failure(error)
        results = self.everybody(done)
        failures = {rank: failure for rank, (_, failure) in enumerate(results) if failure}
        if failures:
            raise CheckpointException(step, failures)
        return [result for result, _ in results]

    def decide(self, step: str, work: Callable[[], Any], decision: Callable[[list], Any]) -> Any:
        """The coordinator's decision, given the results of the ranks' work; on every rank."""
        found = self.together(step, work)
        decided = self.together(step, lambda: decision(found) if self.is_coordinator else None)
        return decided[self._coordinator]

    def _failure(self, error: Exception) -> Failure:
        stack = traceback.extract_tb(error.__traceback__)
        if self.size > 1:
            try:
                pickle.loads(pickle.dumps(error))
            except Exception:  # it cannot be sent as it is
                error = RuntimeError(f"{type(error).__name__}: {error}")
        return error, stack


def find_tensor_shard(tensor: Tensor, index: MetadataIndex) -> Tensor:
    """The part of a tensor that this rank has.

    Raises:
        ValueError: a whole tensor is asked for a part that begins elsewhere than at its origin.
    """
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    if index.offset is not None and any(index.offset):
        raise ValueError(
            f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'"
        )
    return tensor


def find_state_dict_object(state_dict: STATE_DICT_TYPE, index: MetadataIndex) -> Any:
    """A value of a flat state; of a tensor, this rank's part.

    Raises:
        ValueError: there is no such value.
    """
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    value = state_dict[index.fqn]
    if isinstance(value, Tensor):
        return find_tensor_shard(value, index)
    if index.offset is not None:
        raise ValueError(
            f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'"
        )
    return value
