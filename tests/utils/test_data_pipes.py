"""What all data pipes share: one pass at a time, methods by name, pickling, decorators, graphs."""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises

pytestmark = pytest.mark.filterwarnings("ignore:L.* function is not supported by pickle")
INVALID = "This iterator has been invalidated"


def numbers(data: Any, size: int = 4) -> Any:
    return data.datapipes.iter.IterableWrapper(range(size))


def custom(data: Any, kind: str) -> Any:
    """Pipes whose ``__iter__`` is a generator, a function, or gives the pipe itself."""

    class Base(data.IterDataPipe):
        samples = iter(range(4))

        def reset(self) -> None:
            self.samples = iter(range(4))

    class Generating(Base):
        def __iter__(self) -> Iterator[int]:
            yield from self.samples

    class Giving(Base):
        def __iter__(self) -> Iterator[int]:
            return self.samples

    class Itself(Base):
        def __iter__(self) -> Iterator[int]:
            return self

        def __next__(self) -> int:
            return next(self.samples)

    return {"generating": Generating, "giving": Giving, "itself": Itself}[kind]()


@pytest.mark.parametrize("kind", ["generating", "giving", "itself"])
def test_one_pass_at_a_time(lib: ModuleType, data: Any, kind: str) -> None:
    pipe = custom(data, kind)
    assert list(pipe) == [0, 1, 2, 3] == list(pipe) and pipe._number_of_samples_yielded == 4
    earlier = iter(pipe)
    assert next(earlier) == 0 and pipe._number_of_samples_yielded == 1
    later = iter(pipe)
    assert next(later) == 0
    with raises(lib, RuntimeError, INVALID):
        next(earlier)
    assert list(later) == [1, 2, 3]
    with raises(lib, RuntimeError, INVALID):
        list(zip(pipe, pipe, strict=False))


def test_a_pass_of_a_generator_begins_with_its_first_sample(data: Any) -> None:
    pipe = numbers(data)
    earlier, later = iter(pipe), iter(pipe)
    assert next(later) == 0 and next(earlier) == 0
    with pytest.raises(RuntimeError, match=INVALID):
        next(later)


def test_pipes_that_define_nothing(data: Any) -> None:
    with pytest.raises(TypeError, match="not an iterator"):
        list(data.IterDataPipe())
    assert repr(data.IterDataPipe()) == str(data.DFIterDataPipe())[2:] == "IterDataPipe"


def test_methods_by_name(data: Any) -> None:
    class Plus(data.IterDataPipe[int]):
        def __init__(self, source: Any, more: int = 1) -> None:
            self.source, self.more = source, more

        def __iter__(self) -> Iterator[int]:
            for sample in self.source:
                yield sample + self.more

    try:
        assert data.functional_datapipe("plus")(Plus) is Plus
        assert list(numbers(data).plus(more=2).plus()) == [3, 4, 5, 6]
        assert "plus" in dir(numbers(data))
        with pytest.raises(Exception, match="plus as it is already taken"):
            data.IterDataPipe.register_datapipe_as_function("plus", Plus)
        data.IterDataPipe.register_function("times", lambda pipe, k: pipe.map(partial(mul, k)))
        assert list(numbers(data).times(3)) == [0, 3, 6, 9]
        with pytest.raises(AttributeError):
            _ = data.datapipes.map.SequenceWrapper("ab").plus
        assert data.functional_datapipe("number")(int) is int
    finally:
        for name in ("plus", "times"):
            data.IterDataPipe.functions.pop(name, None)


def mul(a: int, b: int) -> int:
    return a * b


def test_hooks_of_pickling(data: Any) -> None:
    kind = data.IterDataPipe
    pipe = numbers(data)
    try:
        kind.set_getstate_hook(lambda state: {**state, "iterable": "ab"})
        assert list(pickle.loads(pickle.dumps(pipe))) == ["a", "b"]
        with pytest.raises(RuntimeError):
            kind.set_getstate_hook(len)
        kind.set_reduce_ex_hook(lambda pipe: (int, (7,)))
        assert pickle.loads(pickle.dumps([pipe])) == [7]
        with pytest.raises(RuntimeError):
            kind.set_reduce_ex_hook(len)
        kind.set_reduce_ex_hook(None)
        kind.set_reduce_ex_hook(declining)
        assert list(pickle.loads(pickle.dumps(pipe))) == ["a", "b"]
    finally:
        kind.set_getstate_hook(None)
        kind.set_reduce_ex_hook(None)
    assert pickle.loads(pickle.dumps(pipe)).iterable == range(4)


def declining(pipe: Any) -> Any:
    raise NotImplementedError


def test_pickled_in_the_middle(data: Any) -> None:
    pipe = numbers(data, 20).shuffle(buffer_size=5).map(str).batch(3)
    next(iter(pipe))
    copied = pickle.loads(pickle.dumps(pipe))
    assert sorted(sum(copied, [])) == sorted(map(str, range(20)))


def test_determinism(lib: ModuleType, data: Any) -> None:
    @data.non_deterministic
    class Always(data.IterDataPipe):
        def __iter__(self) -> Iterator[int]:
            yield 1

    @data.non_deterministic(lambda flag: flag)
    class Perhaps(data.IterDataPipe):
        def __init__(self, flag: bool) -> None: ...

        def __iter__(self) -> Iterator[int]:
            yield 2

    assert list(Always()) == [1] and list(Perhaps(True)) == [2]
    with data.guaranteed_datapipes_determinism():
        assert list(Perhaps(False)) == [2]
        for make in (Always, lambda: Perhaps(True)):
            with raises(lib, TypeError, "non-deterministic"):
                make()
    assert list(Always()) == [1]
    for wrong in (3, int):
        with raises(lib, TypeError, "decorated"):
            data.non_deterministic(wrong)


def test_validation(lib: ModuleType, data: Any) -> None:
    kind = data.IterDataPipe

    class Checked(kind):
        @data.argument_validation
        def __init__(self, source, number: int = 1):
            self.source = source

        @data.runtime_validation
        def __iter__(self):
            yield from self.source

    with data.runtime_validation_disabled():
        assert list(Checked("ab")) == ["a", "b"]

    def takes(source: Any) -> None: ...

    takes.__annotations__ = {"source": kind}
    with raises(lib, TypeError, "Expected argument 'source' as a IterDataPipe"):
        data.argument_validation(takes)([1])
    with pytest.raises(TypeError):
        data.runtime_validation(takes)


def names(graph: Any) -> Any:
    """A graph by the names of its pipes."""
    return [
        (type(pipe).__name__.removesuffix("IterDataPipe"), names(more))
        for pipe, more in graph.values()
    ]


def importable(kind: type) -> type:
    """A class under its name in this file, by which torch pickles it to find its pipes."""
    kind.__qualname__ = kind.__name__
    globals()[kind.__name__] = kind
    return kind


class Holder:
    """An object that has a pipe, and is none."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe


def test_graphs(lib: ModuleType, data: Any) -> None:
    traverse = lib.utils.data.graph.traverse_dps
    source = numbers(data)
    mapped = source.map(lambda x: x)
    leaf = [("IterableWrapper", [])]
    assert traverse(mapped) == {id(mapped): (mapped, {id(source): (source, {})})}
    one, two = source.fork(2)
    graph = traverse(one.zip(two.shuffle()))
    assert names(graph) == [
        ("Zipper", [("_ChildDataPipe", [("_Forker", leaf)]),
                    ("Shuffler", [("_ChildDataPipe", [("_Forker", leaf)])])]),
    ]  # fmt: skip
    settings = lib.utils.data.graph_settings
    assert len(settings.get_all_graph_pipes(graph)) == 6

    @importable
    class Holding(data.IterDataPipe):
        def __init__(self, *held: Any, **by_name: Any) -> None:
            self.held = held
            self.__dict__.update(by_name, itself=self)

    values = [lib.ones(3), lib.ones(3).numpy(), "a", None, lib.float32, Holder, declining]
    inside = [source, {"k": (mapped,)}, *values]
    held = Holding(inside, Holder(one), other=Holder(two), fn=lambda: two)
    found = traverse(held)[id(held)][1]
    assert list(found) == [id(source), id(mapped), id(one)]
    with pytest.warns(FutureWarning):
        found = lib.utils.data.graph.traverse(Holding(other=Holder(one)))
    assert len(settings.get_all_graph_pipes(found)) == 4
    with pytest.raises(RuntimeError):
        traverse([source])


def test_settings_of_graphs(lib: ModuleType, data: Any) -> None:
    settings = lib.utils.data.graph_settings
    shuffled = numbers(data, 10).shuffle()
    pipe = shuffled.map(float)
    assert settings.apply_shuffle_settings(pipe, False) is pipe
    assert list(pipe) == list(range(10))
    settings.apply_random_seed(pipe, lib.Generator().manual_seed(3))
    assert list(pipe) == list(range(10))
    assert settings.apply_shuffle_settings(pipe) is pipe and not shuffled._enabled
    settings.apply_shuffle_settings(pipe, True)
    both = shuffled.shuffle()
    settings.apply_random_seed(both, lib.Generator().manual_seed(3))
    assert list(both) == [5, 4, 8, 0, 3, 7, 1, 6, 2, 9]
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        added = settings.apply_shuffle_settings(numbers(data), True)
    assert repr(added) == "ShufflerIterDataPipe"


def test_shares_of_graphs(lib: ModuleType, data: Any) -> None:
    share = lib.utils.data.graph_settings.apply_sharding
    pipe = numbers(data, 10).sharding_filter()
    assert share(pipe.map(float), 3, 1) and list(pipe) == [1, 4, 7] and len(pipe) == 3
    one, two = numbers(data, 6).fork(2)
    both = one.sharding_filter().zip(two.sharding_filter())
    share(both, 2, 1)
    assert list(both) == [(1, 1), (3, 3), (5, 5)]
    for twice in (pipe.sharding_filter(), pipe.zip(numbers(data)).sharding_filter()):
        with raises(lib, RuntimeError, "Sharding twice"):
            share(twice, 2, 0)

    @importable
    class Own(data.IterDataPipe):
        def apply_sharding(self, readers: int, reader: int) -> None:
            self.readers = readers, reader

    share(own := Own(), 5, 4)
    assert own.readers == (5, 4)


def passes(dp: Any, make: Any, steps: list[tuple[str, int]]) -> list[Any]:
    """What iterators of the children of a stream give when they are made and read in turn."""
    children, iterators, given = make(dp), {}, []
    for step, child in steps:
        try:
            if step == "begin":
                iterators[child] = iter(children[child])
            elif step == "whole":
                given.append(list(children[child]))
            elif child in iterators:
                given.append(next(iterators[child]))
        except (StopIteration, RuntimeError, BufferError, ValueError) as error:
            given.append(type(error).__name__)
    return given


SPLITS = (
    lambda dp: dp.IterableWrapper(range(4)).fork(2),
    lambda dp: dp.IterableWrapper(range(4)).fork(2, buffer_size=2),
    lambda dp: dp.IterableWrapper(range(6)).demux(2, lambda x: x % 2),
    lambda dp: dp.IterableWrapper(range(6)).demux(2, lambda x: x // 3, buffer_size=2),
    lambda dp: dp.IterableWrapper(range(6)).demux(2, lambda x: x),
)


def test_children_read_in_turn_as_in_torch(torch: ModuleType) -> None:
    import torch.utils.data.datapipes.iter as theirs

    import nnkit.utils.data.datapipes.iter as ours

    chance = random.Random(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in SPLITS:
            for _ in range(100):
                words = chance.choices(["begin", "next", "next", "next", "whole"], k=8)
                steps = [(word, chance.randrange(2)) for word in words]
                assert passes(ours, make, steps) == passes(theirs, make, steps), steps
