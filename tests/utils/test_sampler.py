"""Samplers, and the order that they and a DataLoader give."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import nnkit
import nnkit.utils.data
from tests.frameworks import raises
from tests.utils.samples import lists


def test_samplers(lib: ModuleType, data: Any) -> None:
    assert list(data.SequentialSampler("abc")) == [0, 1, 2]
    assert len(data.SequentialSampler("abc")) == 3
    assert sorted(data.RandomSampler("abc")) == [0, 1, 2]
    assert len(data.RandomSampler("abc", num_samples=7)) == 7
    twice = list(data.RandomSampler("abc", num_samples=7))
    assert len(twice) == 7 and sorted(twice[:3]) == sorted(twice[3:6]) == [0, 1, 2]
    drawn = list(data.RandomSampler("abc", replacement=True, num_samples=70))
    assert len(drawn) == 70 and set(drawn) == {0, 1, 2}
    assert sorted(data.SubsetRandomSampler([5, 3])) == [3, 5]
    assert len(data.SubsetRandomSampler([5, 3])) == 2 and not list(data.SubsetRandomSampler([]))
    weighted = data.WeightedRandomSampler([0.0, 1.0, 1.0], 20)
    assert len(weighted) == len(list(weighted)) == 20 and set(weighted) <= {1, 2}
    assert sorted(data.WeightedRandomSampler([1.0, 2.0], 2, replacement=False)) == [0, 1]
    with raises(lib, NotImplementedError, "__iter__"):
        iter(data.Sampler())


def test_batch_sampler(data: Any) -> None:
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, False)) == 3
    assert len(data.BatchSampler(range(5), 2, True)) == 2
    assert list(data.BatchSampler(range(4), 2, False)) == [[0, 1], [2, 3]]
    assert list(data.BatchSampler([], 2, False)) == []


@pytest.mark.parametrize(
    ("name", "arguments", "error", "match"),
    [
        ("RandomSampler", ("",), ValueError, "but got num_samples=0"),
        (
            "RandomSampler",
            ("ab", 3),
            TypeError,
            "replacement should be a boolean value, but got replacement=3",
        ),
        ("RandomSampler", ("ab", False, -1), ValueError, "num_samples should be a positive"),
        ("RandomSampler", ("ab", False, 1.5), ValueError, "num_samples should be a positive"),
        ("WeightedRandomSampler", ([1], 0), ValueError, "num_samples should be a positive"),
        ("WeightedRandomSampler", ([1], True), ValueError, "num_samples should be a positive"),
        (
            "WeightedRandomSampler",
            ([1], 1, 3),
            ValueError,
            "replacement should be a boolean value, but got replacement=3",
        ),
        ("WeightedRandomSampler", ([[1]], 1), ValueError, r"have shape \(1, 1\)"),
        ("BatchSampler", ([1], 0, False), ValueError, "but got batch_size=0"),
        ("BatchSampler", ([1], 1.5, False), ValueError, "batch_size should be a positive"),
        ("BatchSampler", ([1], True, False), ValueError, "batch_size should be a positive"),
        ("BatchSampler", ([1], 2, 3), ValueError, "but got drop_last=3"),
    ],
)
def test_samplers_refuse(
    lib: ModuleType, data: Any, name: str, arguments: Any, error: Any, match: str
) -> None:
    with pytest.raises(error, match=match):
        getattr(data, name)(*arguments)


# The order of batches


def orders(lib: Any, with_generator: bool) -> list[Any]:
    """What every random part gives, and where it leaves the generator."""
    __import__(f"{lib.__name__}.utils.data")
    data = lib.utils.data
    lib.manual_seed(5)
    own = lib.Generator().manual_seed(7) if with_generator else None
    found: list[Any] = []

    def state() -> Any:
        return lib.rand(2, generator=own).tolist()

    for batch_size in (1, 4, None):
        loader = data.DataLoader(range(11), batch_size=batch_size, shuffle=True, generator=own)
        for _ in range(2):
            found += [lists(list(loader)), state()]
    iteration = iter(data.DataLoader(range(3), generator=own))
    found += [state(), lists(list(iteration)), state()]
    for sampler in (
        data.RandomSampler(range(5), generator=own),
        data.RandomSampler(range(5), num_samples=12, generator=own),
        data.RandomSampler(range(5), num_samples=10, generator=own),
        data.RandomSampler(range(50), replacement=True, num_samples=70, generator=own),
        data.RandomSampler(range(50), replacement=True, num_samples=64, generator=own),
        data.SubsetRandomSampler([3, 1, 4, 15], generator=own),
        data.WeightedRandomSampler([0.1, 5.0, 2.0, 0.3], 30, generator=own),
        data.WeightedRandomSampler([0.1, 5.0, 2.0, 0.3], 3, False, generator=own),
    ):
        found += [list(sampler), state(), list(sampler), state()]
    split = {} if own is None else {"generator": own}
    found += [[part.indices for part in data.random_split(range(9), [0.5, 0.5], **split)], state()]
    return found


@pytest.mark.parametrize("with_generator", [False, True])
def test_orders_are_those_of_torch(torch: ModuleType, with_generator: bool) -> None:
    for ours, theirs in zip(
        orders(nnkit, with_generator), orders(torch, with_generator), strict=True
    ):
        assert ours == theirs


def test_a_seed_repeats_the_order(lib: ModuleType) -> None:
    assert orders(lib, False) == orders(lib, False)


# (length, processes, rank, shuffle, drop_last, epoch): what torch draws.
SHARES = {
    (5, 2, 0, False, False, 0): [0, 2, 4],
    (5, 2, 1, False, False, 0): [1, 3, 0],
    (5, 2, 1, False, True, 0): [1, 3],
    (1, 3, 2, False, False, 0): [0],
    (5, 2, 0, True, False, 3): [1, 0, 2],
    (8, 3, 1, True, True, 0): [4, 6],
    (0, 2, 0, True, False, 0): [],
}


@pytest.mark.parametrize("case", SHARES)
def test_shares_of_processes(data: Any, case: tuple) -> None:
    length, processes, rank, shuffle, drop_last, epoch = case
    sampler = data.DistributedSampler(
        range(length), processes, rank, shuffle=shuffle, seed=2, drop_last=drop_last
    )
    sampler.set_epoch(epoch)
    assert list(sampler) == SHARES[case]
    assert len(sampler) == len(SHARES[case])


def test_a_share_refuses() -> None:
    from nnkit.utils.data import DistributedSampler

    with pytest.raises(ValueError, match="Invalid rank 2"):
        DistributedSampler(range(3), 2, 2)
    with pytest.raises(ValueError, match="Default process group"):
        DistributedSampler(range(3))
