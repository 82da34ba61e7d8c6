"""Streams that read one stream together."""

from __future__ import annotations

import copy as copying
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nnkit.backend.warning import warn
from nnkit.utils.data.datapipes.datapipe import IterDataPipe
from nnkit.utils.data.datapipes.decorators import functional_datapipe
from nnkit.utils.data.datapipes.utils.common import StreamWrapper, _check_unpickable_fn


class Splitter(IterDataPipe[Any]):
    """What the children of a stream share: its samples, and those that some have not read yet.

    Args:
        datapipe: the source.
        num_instances: how many children there are.
        buffer_size: how many samples may wait; below 0 any number.

    Raises:
        ValueError: there are to be no children.
    """

    method = ""  # that makes the children

    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int) -> None:
        if num_instances < 1:
            raise ValueError(
                f"Expected `num_instances` larger than 0, but {num_instances} is found"
            )
        if buffer_size < 0:
            warn(
                f"Unlimited buffer size is set for `{self.method}`: the samples of a child that "
                "nobody reads may fill the memory"
            )
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        self.reset()

    def reset(self) -> None:
        self._waiting: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self._samples: Iterator[Any] | None = None
        self._has_ended = False

    def children(self) -> list[Any]:
        """The streams that read this one."""
        return [_ChildDataPipe(self, number) for number in range(self.num_instances)]

    def receivers(self, sample: Any) -> Iterable[int]:
        """The children that get a sample."""
        raise NotImplementedError

    def is_full(self) -> bool:
        """Whether more samples wait than may."""
        raise NotImplementedError

    def given(self, sample: Any) -> Any:
        """What a child gives of its sample."""
        return sample

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        """The samples of one child."""
        waiting = self._waiting[instance_id]
        while waiting or self._read():
            ready = [waiting.popleft()] if waiting else []
            if self.buffer_size >= 0 and self.is_full():
                raise BufferError(
                    f"{self.method}: more than buffer_size={self.buffer_size} samples wait for "
                    "other children"
                )
            yield from map(self.given, ready)

    def get_length_by_instance(self, instance_id: int) -> int:
        """How many samples one child has.

        Raises:
            TypeError: that is not known before they are read.
        """
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")

    def _read(self) -> bool:
        """Take one sample, unless the source has ended."""
        if self._samples is None:
            self._samples = iter(self.main_datapipe)
        for sample in self._samples:
            for receiver in self.receivers(sample):
                self._waiting[receiver].append(sample)
            return True
        self._has_ended = True
        return False

    def is_every_instance_exhausted(self) -> bool:
        """Whether all children have read everything."""
        return self._has_ended and not any(self._waiting)

    def _state(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_waiting", "_samples")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.reset()


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the streams that read another.

    An iterator of a child that has been read since all began ends the validity of the iterators
    of all children, which begin again.

    Args:
        main_datapipe: the `Splitter`.
        instance_id: which of its children this is.
    """

    def __init__(self, main_datapipe: Splitter, instance_id: int) -> None:
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.get_length_by_instance(self.instance_id)

    def _begin_pass(self) -> int:
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif self._valid_iterator_id == main._valid_iterator_id:
            if not main.is_every_instance_exhausted():
                warn(
                    "Some child DataPipes are not exhausted, and begin again, because another "
                    "iterator of one that has been read is made"
                )
            main._valid_iterator_id += 1
            main.reset()
        super()._begin_pass()
        self._valid_iterator_id = main._valid_iterator_id
        return self._valid_iterator_id

    def _is_valid(self, number: int) -> bool:
        return number == self._valid_iterator_id == self.main_datapipe._valid_iterator_id


class _ForkerIterDataPipe(Splitter):
    """What the children of a fork share."""

    method = "fork"

    def __init__(
        self, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> None:
        functions = {None: None, "shallow": copying.copy, "deep": copying.deepcopy}
        if copy not in functions:
            raise ValueError(f"fork: copy is to be None, 'shallow' or 'deep', got {copy!r}")
        self.copy_fn = functions[copy]
        super().__init__(datapipe, num_instances, buffer_size)

    def receivers(self, sample: Any) -> Iterable[int]:
        return range(self.num_instances)

    def given(self, sample: Any) -> Any:
        return sample if self.copy_fn is None else self.copy_fn(sample)

    def is_full(self) -> bool:
        return max(map(len, self._waiting)) > self.buffer_size

    def get_length_by_instance(self, instance_id: int) -> int:
        return len(self.main_datapipe)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several streams of the same samples (``fork``): a list, or the source where it is one.

    Args:
        datapipe: the source.
        num_instances: how many.
        buffer_size: how many samples one may be ahead of another; below 0 any number.
        copy: "shallow" or "deep" for copies of the samples; None for the samples themselves.

    Raises:
        ValueError: there are to be none, or the word for copies is unknown.
        BufferError: (in a pass) one is too far ahead.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> one, other = IterableWrapper(range(3)).fork(2)
        >>> list(one.zip(other))
        [(0, 0), (1, 1), (2, 2)]
    """

    def __new__(
        cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> Any:
        if num_instances == 1:
            return datapipe
        return _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy).children()


class _DemultiplexerIterDataPipe(Splitter):
    """What the streams share that one is divided into."""

    method = "demux"

    def __init__(
        self,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool,
        buffer_size: int,
    ) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none

    def receivers(self, sample: Any) -> Iterable[int]:
        which = self.classifier_fn(sample)
        if which is None and self.drop_none:
            StreamWrapper.close_streams(sample)
            return []
        if which is None or not 0 <= which < self.num_instances:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.num_instances - 1}"
                f". {which} is returned."
            )
        return [which]

    def is_full(self) -> bool:
        return sum(map(len, self._waiting)) > self.buffer_size


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """The streams that a function divides a stream into (``demux``): a list.

    Args:
        datapipe: the source.
        num_instances: how many.
        classifier_fn: the number of the stream, from 0, that a sample goes to, or None.
        drop_none: whether samples for which it is None are left out; otherwise it is an error.
        buffer_size: how many samples may wait to be read; below 0 any number.

    Raises:
        ValueError: there are to be none; or, in a pass, there is no stream of that number.
        BufferError: (in a pass) too many samples wait.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> lower, upper = IterableWrapper("aBc").demux(2, str.isupper)
        >>> list(lower), list(upper)
        (['a', 'c'], ['B'])
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        _check_unpickable_fn(classifier_fn)
        return _DemultiplexerIterDataPipe(
            datapipe, num_instances, classifier_fn, drop_none, buffer_size
        ).children()
