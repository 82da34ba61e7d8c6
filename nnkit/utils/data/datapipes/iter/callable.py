"""Streams of the results of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nnkit.utils.data.collate import default_collate
from nnkit.utils.data.datapipes.datapipe import IterDataPipe, lengths_of
from nnkit.utils.data.datapipes.decorators import functional_datapipe
from nnkit.utils.data.datapipes.utils.common import (
    StreamWrapper,
    _check_unpickable_fn,
    validate_input_col,
)


def columns_of(sample: Any, input_col: Any) -> tuple[Any, ...]:
    """What a function gets of a sample: the whole, or what is at an index, a key or several."""
    if input_col is None:
        return (sample,)
    if isinstance(input_col, list | tuple):
        return tuple([sample[column] for column in input_col])
    return (sample[input_col],)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """The results of a function for each sample (``map``).

    Args:
        datapipe: the source.
        fn: the function.
        input_col: the index of a list or tuple, the key of a dictionary, or several of them,
            which the function gets instead of the sample; the sample is then given on with the
            result in it.
        output_col: where in the sample the result goes, -1 for behind its end; when not given it
            replaces the first input, and the others are left out.

    Raises:
        ValueError: the function takes another number of arguments, or there is an output without
            an input, or more than one.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([(1, "a"), (2, "b")]).map(str.upper, input_col=1))
        [(1, 'A'), (2, 'B')]
    """

    def __init__(
        self,
        datapipe: Any,
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        _check_unpickable_fn(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = list(output_col).pop()
        validate_input_col(fn, input_col)
        self.datapipe = datapipe
        self.fn = fn
        self.input_col = input_col
        self.output_col = output_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            result = self.fn(*columns_of(sample, self.input_col))
            yield result if self.input_col is None else self._with(result, sample)

    def _with(self, result: Any, sample: Any) -> Any:
        changed: Any = list(sample) if isinstance(sample, tuple) else sample
        if self.output_col == -1:
            changed.append(result)
        elif self.output_col is not None:
            changed[self.output_col] = result
        elif isinstance(self.input_col, list | tuple):
            changed[self.input_col[0]] = result
            for column in sorted(self.input_col[1:], reverse=True):
                del changed[column]
        else:
            changed[self.input_col] = result
        return tuple(changed) if isinstance(sample, tuple) else changed

    def __len__(self) -> int:
        return lengths_of(self, [self.datapipe])[0]


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Samples, most often lists, as tensors (``collate``).

    Args:
        datapipe: the source.
        conversion: the function; `default_collate` when not given.
        collate_fn: its other name.

    Raises:
        TypeError: it is no function.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(4)).batch(2).collate())
        [tensor([0, 1]), tensor([2, 3])]
    """

    def __init__(
        self,
        datapipe: Any,
        conversion: Callable[..., Any] = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(datapipe, conversion if collate_fn is None else collate_fn)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which a function is true (``filter``).

    Args:
        datapipe: the source.
        filter_fn: the function, which gives a bool.
        input_col: what the function gets of a sample, as in ``map``.

    Raises:
        ValueError: the function takes another number of arguments; or, in a pass, gives no bool.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("aBc").filter(str.islower))
        ['a', 'c']
    """

    def __init__(
        self, datapipe: Any, filter_fn: Callable[..., bool], input_col: Any = None
    ) -> None:
        _check_unpickable_fn(filter_fn)
        validate_input_col(filter_fn, input_col)
        self.datapipe = datapipe
        self.filter_fn = filter_fn
        self.input_col = input_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            wanted = self.filter_fn(*columns_of(sample, self.input_col))
            if not isinstance(wanted, bool):
                raise ValueError(
                    f"filter: the function is to give a bool, but it gave a {type(wanted)}"
                )
            if wanted:
                yield sample
            else:
                StreamWrapper.close_streams(sample)
