"""The bases of data pipes: what they share, streams of samples, and maps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from nnkit.utils.data.datapipes.passes import _SnapshotState, counted, one_pass_at_a_time
from nnkit.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

Sample = TypeVar("Sample", covariant=True)
Item = TypeVar("Item")


class DataChunk(list[Item]):
    """A batch as data pipes make it: a list.

    Example:
        >>> from nnkit.utils.data import DataChunk
        >>> DataChunk(range(3)).as_str("# ")
        '# [0, 1, 2]'
    """

    def __init__(self, items: Iterable[Item]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        """The elements in brackets, behind ``indent``."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[Item]:
        """The elements that it was made of, in their first order."""
        return iter(self.items)


class DataPipe:
    """What streams and maps share: methods that make another pipe of them, and pickling."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    getstate_hook: ClassVar[Callable[[Any], Any] | None] = None
    reduce_ex_hook: ClassVar[Callable[[Any], Any] | None] = None

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            function = type(self).functions[name]
            bound = functools.partial(function, self)
            functools.update_wrapper(bound, function, assigned=("__doc__",), updated=())
            return bound
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *type(self).functions})

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function a method of all pipes of this kind; it is called with the pipe first."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls,
        function_name: str,
        cls_to_register: Callable[..., Any],
        enable_df_api_tracing: bool = False,
    ) -> None:
        """Make a class of pipes a method of all pipes of this kind, which are its first argument.

        Raises:
            Exception: the name is taken.
        """
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )
        cls.functions[function_name] = cls_to_register

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Let a function change what is pickled of a pipe; None takes it away.

        Raises:
            RuntimeError: there is another one.
        """
        cls.getstate_hook = cls._only_one("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Let a function pickle pipes; those for which it raises NotImplementedError are as usual.

        Raises:
            RuntimeError: there is another one.
        """
        cls.reduce_ex_hook = cls._only_one("reduce_ex_hook", hook_fn)

    @classmethod
    def _only_one(cls, name: str, hook: Callable[[Any], Any] | None) -> Any:
        if hook is not None and getattr(cls, name) is not None:
            raise RuntimeError(f"Attempt to override existing {name}")
        return hook

    def __getstate__(self) -> Any:
        state = self._state()
        hook = type(self).getstate_hook
        return state if hook is None else hook(state)

    def _state(self) -> dict[str, Any]:
        """What is pickled of the pipe."""
        return self.__dict__

    def __reduce_ex__(self, *args: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args)

    def __repr__(self) -> str:
        return type(self).__qualname__


class IterDataPipe(DataPipe, IterableDataset[Sample]):
    """A stream of samples that can be chained: a subclass defines ``__iter__``.

    A pipe has one valid iterator: when another one begins, `reset` is called, which a subclass
    that remembers something defines, and the earlier iterator raises RuntimeError.

    Example:
        >>> from nnkit.utils.data import IterDataPipe
        >>> class Count(IterDataPipe):
        ...     def __iter__(self):
        ...         yield from range(6)
        >>> list(Count().batch(2).map(sum))
        [1, 5, 9]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded = 0
    _snapshot_state = _SnapshotState.NotStarted
    _fast_forward_iterator: Iterator[Any] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        if "__iter__" in own:
            cls.__iter__ = one_pass_at_a_time(own["__iter__"])
        if "__next__" in own:
            cls.__next__ = counted(own["__next__"])  # pyright: ignore[reportAttributeAccessIssue]

    @one_pass_at_a_time
    def __iter__(self) -> Iterator[Sample]:
        return self  # pyright: ignore[reportReturnType]

    def reset(self) -> None:
        """Forget the last pass; called before each pass."""

    def _begin_pass(self) -> int:
        """The number of a new pass, which is the valid one from now on."""
        last = self._valid_iterator_id
        self._valid_iterator_id = 0 if last is None else last + 1
        if self._snapshot_state is not _SnapshotState.Restored:
            self._number_of_samples_yielded = 0
            self.reset()
        self._snapshot_state = _SnapshotState.Iterating
        return self._valid_iterator_id

    def _is_valid(self, number: int) -> bool:
        return number == self._valid_iterator_id


class DFIterDataPipe(IterDataPipe[Any]):
    """The base of streams of data frames."""


class MapDataPipe(DataPipe, Dataset[Sample]):
    """A map of samples that can be chained: a subclass defines ``__getitem__`` and ``__len__``.

    Example:
        >>> from nnkit.utils.data.datapipes.map import SequenceWrapper
        >>> letters = SequenceWrapper("abc").map(str.upper)
        >>> letters[1], len(letters.batch(2))
        ('B', 2)
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


def lengths_of(pipe: Any, sources: Iterable[Any]) -> list[int]:
    """The lengths of what a pipe reads.

    Raises:
        TypeError: one of them has no length.
    """
    try:
        return [len(source) for source in sources]
    except TypeError:
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length") from None
