"""Streams of data pipes: what each gives, its length, its errors."""

from __future__ import annotations

import copy
import io
import operator
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises
from tests.utils.samples import lists

pytestmark = pytest.mark.filterwarnings("ignore:L.* function is not supported by pickle")

FILES = ["a.png", "b.png", "a.json", "b.json", "a.jpg", "c.json"]
ROW, KEYED = (1, 2, 3), {"x": 1, "y": 2}


def numbers(dp: Any, size: int = 10) -> Any:
    return dp.IterableWrapper(range(size))


def first(name: str) -> str:
    return name[0]


def endless(data: Any) -> Any:
    """A stream that tells no length."""

    class Stream(data.IterDataPipe):
        def __iter__(self) -> Iterator[int]:
            yield from range(3)

    return Stream()


def grouped(dp: Any, **options: Any) -> Any:
    return dp.IterableWrapper(FILES).groupby(first, **options)


def columns(dp: Any, sample: Any, fn: Any, *where: Any) -> Any:
    return dp.IterableWrapper([sample]).map(fn, *where)


def pair(*values: Any) -> tuple[Any, ...]:
    return values


PROGRAMS = {
    "map": (lambda dp: numbers(dp, 3).map(float), [0.0, 1.0, 2.0]),
    "map a column": (lambda dp: columns(dp, ROW, operator.neg, 1), [(1, -2, 3)]),
    "map the last": (lambda dp: columns(dp, ROW, operator.neg, -1), [(1, 2, -3)]),
    "map to another": (lambda dp: columns(dp, ROW, operator.neg, 1, 0), [(-2, 2, 3)]),
    "map to one in a list": (lambda dp: columns(dp, ROW, operator.neg, 1, [2]), [(1, 2, -2)]),
    "map behind the end": (lambda dp: columns(dp, ROW, operator.neg, 1, -1), [(1, 2, 3, -2)]),
    "map columns": (lambda dp: columns(dp, ROW, pair, [2, 0]), [(2, (3, 1))]),
    "map columns to": (lambda dp: columns(dp, ROW, pair, (0, -1), 1), [(1, (1, 3), 3)]),
    "map in a list": (lambda dp: columns(dp, [1, 2], operator.neg, 0), [[-1, 2]]),
    "map in a dict": (lambda dp: columns(dp, KEYED, operator.neg, "y"), [{"x": 1, "y": -2}]),
    "map keys": (lambda dp: columns(dp, KEYED, pair, ["y", "x"]), [{"y": (2, 1)}]),
    "map to a key": (lambda dp: columns(dp, KEYED, pair, "x", "z"), [{**KEYED, "z": (1,)}]),
    "filter": (lambda dp: dp.IterableWrapper("aBc").filter(str.islower), ["a", "c"]),
    "filter a column": (lambda dp: dp.IterableWrapper([(1, ""), (2, "a")]).filter(str.isalpha, 1),
                        [(2, "a")]),
    "filter columns": (lambda dp: dp.IterableWrapper([ROW]).filter(operator.lt, [2, 0]), []),
    "batch": (lambda dp: numbers(dp, 5).batch(2), [[0, 1], [2, 3], [4]]),
    "batch, dropping": (lambda dp: numbers(dp, 5).batch(2, drop_last=True), [[0, 1], [2, 3]]),
    "batch to tuples": (lambda dp: numbers(dp, 3).batch(2, wrapper_class=tuple), [(0, 1), (2,)]),
    "batches of batches": (lambda dp: numbers(dp, 5).batch(2).batch(2), [[[0, 1], [2, 3]], [[4]]]),
    "unbatch": (lambda dp: numbers(dp, 5).batch(2).batch(2).unbatch(), [[0, 1], [2, 3], [4]]),
    "unbatch twice": (lambda dp: numbers(dp, 5).batch(2).batch(2).unbatch(2), [0, 1, 2, 3, 4]),
    "unbatch all": (lambda dp: dp.IterableWrapper([[1, [(2, 3)]], [4]]).unbatch(-1),
                    [1, (2, 3), 4]),
    "unbatch nothing": (lambda dp: numbers(dp, 2).unbatch(0), [0, 1]),
    "groups": (grouped, [["a.png", "a.json", "a.jpg"], ["b.png", "b.json"], ["c.json"]]),
    "groups of two": (lambda dp: grouped(dp, group_size=2),
                      [["a.png", "a.json"], ["b.png", "b.json"], ["a.jpg"], ["c.json"]]),
    "groups with keys": (lambda dp: grouped(dp, keep_key=True, group_size=3),
                         [("a", ["a.png", "a.json", "a.jpg"]), ("b", ["b.png", "b.json"]),
                          ("c", ["c.json"])]),
    "groups, a full buffer": (lambda dp: grouped(dp, buffer_size=3, group_size=3,
                                                 guaranteed_group_size=2),
                              [["a.png", "a.json"], ["b.png", "b.json"], ["a.jpg"], ["c.json"]]),
    "groups, dropping": (lambda dp: grouped(dp, buffer_size=2, group_size=2, drop_remaining=True),
                         [["c.json"]]),
    "groups, any size": (lambda dp: grouped(dp, buffer_size=3),
                         [["a.png", "a.json"], ["b.png", "b.json"], ["a.jpg"], ["c.json"]]),
    "concat": (lambda dp: numbers(dp, 2).concat(dp.IterableWrapper("ab")), [0, 1, "a", "b"]),
    "zip": (lambda dp: numbers(dp).zip(dp.IterableWrapper("ab")), [(0, "a"), (1, "b")]),
    "mux": (lambda dp: numbers(dp).mux(dp.IterableWrapper("ab"), dp.IterableWrapper("xyz")),
            [0, "a", "x", 1, "b", "y"]),
    "fork": (lambda dp: dp.Zipper(*numbers(dp, 3).fork(2)), [(0, 0), (1, 1), (2, 2)]),
    "fork of one": (lambda dp: numbers(dp, 3).fork(1), [0, 1, 2]),
    "demux": (lambda dp: dp.Concater(*numbers(dp, 5).demux(2, lambda x: x % 2)), [0, 2, 4, 1, 3]),
    "demux, dropping": (lambda dp: numbers(dp, 5).demux(1, lambda x: None if x % 2 else 0,
                                                        drop_none=True)[0], [0, 2, 4]),
    "sampler": (lambda dp: dp.Sampler(dp.IterableWrapper("abc")), [0, 1, 2]),
    "shares": (lambda dp: numbers(dp).sharding_filter(), list(range(10))),
    "shuffled with a seed": (lambda dp: numbers(dp).shuffle(buffer_size=3).set_seed(5),
                             [2, 1, 3, 4, 5, 7, 8, 9, 0, 6]),
    "shuffled after unbatching": (lambda dp: numbers(dp, 6).batch(2).shuffle(unbatch_level=1)
                                  .set_seed(1), [1, 5, 0, 3, 2, 4]),
    "not shuffled": (lambda dp: numbers(dp, 4).shuffle().set_shuffle(False), [0, 1, 2, 3]),
    "nothing to shuffle": (lambda dp: numbers(dp, 4).shuffle(buffer_size=1), [0, 1, 2, 3]),
    "read": (lambda dp: dp.IterableWrapper([("f", io.StringIO("abc"))]).read_from_stream(2),
             [("f", "ab"), ("f", "c")]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_samples(data: Any, name: str) -> None:
    make, expected = PROGRAMS[name]
    pipe = make(data.datapipes.iter)
    assert list(pipe) == expected
    if "seed" not in name and "after" not in name:  # whose second pass has another seed
        assert list(pipe) == expected


def test_collate(lib: ModuleType, data: Any) -> None:
    dp = data.datapipes.iter
    assert lists(list(numbers(dp, 4).batch(2).collate())) == [[0, 1], [2, 3]]
    assert list(numbers(dp, 4).batch(2).collate(sum)) == [1, 5]
    assert list(numbers(dp, 4).batch(2).collate(collate_fn=max)) == [1, 3]
    lib.manual_seed(0)
    assert list(dp.Sampler(numbers(dp), data.RandomSampler)) == [6, 9, 0, 7, 3, 5, 4, 2, 1, 8]


def test_orders_follow_the_default_generator(lib: ModuleType, data: Any) -> None:
    lib.manual_seed(0)
    shuffled = numbers(data.datapipes.iter).shuffle()
    assert list(shuffled) == [3, 5, 0, 1, 9, 6, 2, 7, 4, 8]
    assert round(lib.rand(1).item(), 4) == 0.0885
    lib.manual_seed(0)
    assert list(shuffled) == [3, 5, 0, 1, 9, 6, 2, 7, 4, 8]


LENGTHS = {
    "map": lambda p: p.map(str), "collate": lambda p: p.collate(), "batch": lambda p: p.batch(4),
    "dropping": lambda p: p.batch(4, drop_last=True), "concat": lambda p: p.concat(p),
    "zip": lambda p: p.zip(p), "mux": lambda p: p.mux(p), "shuffle": lambda p: p.shuffle(),
    "fork": lambda p: p.fork(2)[0], "sharding_filter": lambda p: p.sharding_filter(),
}  # fmt: skip


def test_lengths(lib: ModuleType, data: Any) -> None:
    known = numbers(data.datapipes.iter)
    found = {name: len(make(known)) for name, make in LENGTHS.items()}
    assert list(found.values()) == [10, 10, 3, 2, 20, 10, 20, 10, 10, 10]
    for make in LENGTHS.values():
        with raises(lib, TypeError, "valid length|no len"):
            len(make(endless(data)))
    for make in (lambda: known.filter(bool), lambda: known.demux(2, int)[0],
                 lambda: known.unbatch(), lambda: grouped(data.datapipes.iter),
                 lambda: known.list_files(), lambda: endless(data)):  # fmt: skip
        with raises(lib, TypeError, "valid length|no len"):
            len(make())
    assert len(known.list_files(length=3)) == len(known.open_files(length=3)) == 3


ERRORS = {
    "no output without input": (ValueError, lambda dp: numbers(dp).map(int, output_col=1)),
    "one output": (ValueError, lambda dp: numbers(dp).map(int, 0, [0, 1])),
    "too few columns": (ValueError, lambda dp: numbers(dp).map(lambda a, b: 1, 0)),
    "too many columns": (ValueError, lambda dp: numbers(dp).filter(lambda a: 1, [0, 1])),
    "keyword only": (ValueError, lambda dp: numbers(dp).map(lambda *, a: 1, 0)),
    "no function": (TypeError, lambda dp: numbers(dp).map(1)),
    "no column": (IndexError, lambda dp: list(columns(dp, ROW, str, 5))),
    "no output column": (IndexError, lambda dp: list(columns(dp, ROW, str, 0, 5))),
    "no key": (KeyError, lambda dp: list(columns(dp, KEYED, str, "z"))),
    "no bool": (ValueError, lambda dp: list(numbers(dp).filter(lambda x: 1))),
    "batch of nothing": (AssertionError, lambda dp: numbers(dp).batch(0)),
    "levels below": (ValueError, lambda dp: list(numbers(dp).unbatch(-2))),
    "too many levels": (IndexError, lambda dp: list(numbers(dp).unbatch(1))),
    "tuples are no batches": (IndexError, lambda dp: list(dp.IterableWrapper([ROW]).unbatch())),
    "group larger than buffer": (AssertionError, lambda dp: grouped(dp, buffer_size=1,
                                                                    group_size=2)),
    "least without largest": (AssertionError, lambda dp: grouped(dp, guaranteed_group_size=2)),
    "least above largest": (AssertionError, lambda dp: grouped(dp, group_size=2,
                                                               guaranteed_group_size=3)),
    "no large group": (RuntimeError, lambda dp: list(grouped(dp, buffer_size=2, group_size=2))),
    "nothing to concat": (ValueError, lambda dp: dp.Concater()),
    "concat of no pipe": (TypeError, lambda dp: numbers(dp).concat([1])),
    "zip of no pipe": (TypeError, lambda dp: numbers(dp).zip([1])),
    "no forks": (ValueError, lambda dp: numbers(dp).fork(0)),
    "unknown copies": (ValueError, lambda dp: numbers(dp).fork(2, copy="some")),
    "too far ahead": (BufferError, lambda dp: list(numbers(dp).fork(2, buffer_size=9)[0])),
    "no classes": (ValueError, lambda dp: numbers(dp).demux(0, int)),
    "unknown class": (ValueError, lambda dp: list(numbers(dp).demux(2, int)[0])),
    "no class": (ValueError, lambda dp: list(numbers(dp).demux(2, lambda x: None)[0])),
    "too many wait": (BufferError, lambda dp: list(numbers(dp).demux(2, lambda x: 1,
                                                                     buffer_size=9)[0])),
    "empty buffer": (AssertionError, lambda dp: numbers(dp).shuffle(buffer_size=0)),
    "sampler of a stream": (AssertionError, lambda dp: dp.Sampler(numbers(dp).filter(bool))),
    "reader beyond": (ValueError, lambda dp: numbers(dp).sharding_filter().apply_sharding(2, 2)),
    "mode": (ValueError, lambda dp: numbers(dp).open_files(mode="w")),
    "encoding of bytes": (ValueError, lambda dp: numbers(dp).open_files("b", encoding="ascii")),
    "name of a file": (TypeError, lambda dp: list(numbers(dp).open_files())),
    "no file": (FileNotFoundError, lambda dp: list(dp.IterableWrapper(["none"]).open_files())),
    "no method": (AttributeError, lambda dp: numbers(dp).none),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(data: Any, name: str) -> None:
    error, make = ERRORS[name]
    with pytest.raises(error):
        make(data.datapipes.iter)


def test_an_error_tells_its_pipe() -> None:
    from nnkit.utils.data.datapipes.iter import IterableWrapper

    with pytest.raises(ZeroDivisionError) as caught:
        list(IterableWrapper([0]).map(quotient).batch(2))
    where = "MapperIterDataPipe(datapipe=IterableWrapperIterDataPipe, fn=quotient,"
    notes = getattr(caught.value, "__notes__", [where])  # which Python 3.10 lacks
    assert len(notes) == 1 and where in notes[0]
    long = IterableWrapper(range(9)).concat(IterableWrapper([1] * 10**4))
    earlier = iter(long.datapipes[1])
    assert next(earlier) == 1 and list(long)[9] == 1
    with pytest.raises(RuntimeError) as told:
        next(earlier)
    assert "iterable=[1, 1, " in str(told.value) and len(str(told.value)) < 400


def quotient(number: int) -> float:
    return 1 / number


def test_functions_that_cannot_be_pickled(data: Any) -> None:
    for fn, kind in ((lambda x: x, "Local"), (PROGRAMS["zip"][0], "Lambda")):
        with pytest.warns(UserWarning, match=f"^{kind} function is not supported by pickle"):
            numbers(data.datapipes.iter).map(fn)


def test_children(data: Any) -> None:
    dp = data.datapipes.iter
    samples = dp.IterableWrapper([[1], [2]])
    same, other = samples.fork(2)
    assert all(a is b for a, b in zip(same, other, strict=True))
    for way in ("shallow", "deep"):
        assert all(a is not b for a, b in zip(*samples.fork(2, copy=way), strict=True))
    with pytest.warns(UserWarning, match="Unlimited buffer size is set for `fork`"):
        far, behind = numbers(dp, 2000).fork(2, buffer_size=-1)
    assert len(list(far)) == len(list(behind)) == 2000
    one, two = numbers(dp, 4).fork(2)
    assert repr(one) == "_ChildDataPipe" and one.main_datapipe is two.main_datapipe
    assert list(pickle.loads(pickle.dumps(one.zip(two)))) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    reader = iter(two)
    assert list(one) == [0, 1, 2, 3] and next(reader) == 0
    with pytest.warns(UserWarning, match="Some child DataPipes are not exhausted"):
        assert list(one) == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="iterator has been invalidated"):
        next(reader)
    assert list(two) == [0, 1, 2, 3]


def test_shares(lib: ModuleType, data: Any) -> None:
    pipe = numbers(data.datapipes.iter).sharding_filter()
    priorities = lib.utils.data.datapipes.iter.sharding.SHARDING_PRIORITIES
    pipe.apply_sharding(2, 0, priorities.DISTRIBUTED)
    pipe.apply_sharding(2, 1, priorities.MULTIPROCESSING)
    assert list(pipe) == [1, 5, 9] and len(pipe) == 3
    with raises(lib, RuntimeError, "cannot mix DEFAULT"):
        pipe.apply_sharding(2, 0)
    only = numbers(data.datapipes.iter).sharding_filter(priorities.DISTRIBUTED)
    only.apply_sharding(3, 0, priorities.MULTIPROCESSING)
    assert len(list(only)) == 10


def test_files(lib: ModuleType, data: Any, tmp_path: Path, monkeypatch: Any) -> None:
    dp = data.datapipes.iter
    monkeypatch.chdir(tmp_path)
    os.makedirs("sub/deep")
    for name in ("b.bin", "a.txt", "sub/d.txt", "sub/deep/e.txt"):
        Path(name).write_text(f"in {name}")
    assert list(dp.FileLister()) == ["./a.txt", "./b.bin"]
    assert list(dp.FileLister([".", "sub"], ["*.txt"])) == ["./a.txt", "sub/d.txt"]
    assert list(dp.FileLister(".", "*.txt", recursive=True)) == [
        "./a.txt", "./sub/d.txt", "./sub/deep/e.txt",
    ]  # fmt: skip
    assert list(dp.FileLister("sub", abspath=True)) == [str(tmp_path / "sub/d.txt")]
    assert list(dp.FileLister("a.txt")) == ["a.txt"] and not list(dp.FileLister("a.txt", "*.bin"))
    with pytest.warns(UserWarning), pytest.raises(FileNotFoundError):
        list(dp.FileLister("none"))
    names = dp.IterableWrapper(["sub"]).list_files()
    assert list(names.open_files().read_from_stream()) == [("sub/d.txt", "in sub/d.txt")]
    assert list(names.open_files("b").read_from_stream(8)) == [
        ("sub/d.txt", b"in sub/d"), ("sub/d.txt", b".txt"),
    ]  # fmt: skip
    with pytest.warns(FutureWarning):
        decoded = names.open_files("b").routed_decode()
    assert list(decoded) == [("sub/d.txt", "in sub/d.txt")]


def test_streams_are_closed(data: Any) -> None:
    wrap = data.datapipes.utils.common.StreamWrapper
    inner = [io.StringIO("a") for _ in range(5)]
    wrapped = wrap(inner[0])
    assert wrapped.read() == "a" and repr(wrapped).startswith("StreamWrapper<<_io.StringIO")
    del wrapped
    archive = wrap(inner[1])
    part = wrap(inner[2], parent_stream=archive)
    archive.autoclose()
    assert not inner[1].closed
    part.close()
    wrap.close_streams({"k": [wrap(inner[3]), (wrap(inner[4]),)]})
    assert [each.closed for each in inner] == [True] * 5


def test_copies_of_the_source(data: Any) -> None:
    wrap = data.datapipes.iter.IterableWrapper
    source = [[1]]
    for keeps, expected in ((True, [[1]]), (False, [[1, 2]])):
        pipe = wrap(source, deepcopy=keeps)
        for sample in pipe:
            sample.append(2)
        assert list(pipe) == expected
    with pytest.warns(UserWarning):
        assert list(wrap(x for x in "ab")) == ["a", "b"]


def test_chunks(data: Any) -> None:
    chunk = data.DataChunk(x for x in "ab")
    assert copy.deepcopy(chunk).items == chunk.items == ["a", "b"]
    assert chunk == ["a", "b"] == list(chunk.raw_iterator()) and isinstance(chunk, list)
    assert str(data.DataChunk([chunk, 1])) == "[['a', 'b'], 1]"
    assert data.DataChunk([1, 2]).as_str("  ") == "  [1, 2]"
