"""Random chains of data pipes: samples, lengths, copies, graphs, loaders and errors, as torch's."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest


def negative(sample: Any) -> Any:
    if isinstance(sample, list | tuple):
        return [negative(each) for each in sample]
    return sample if isinstance(sample, str) else -sample


def size(sample: Any) -> int:
    return len(str(sample))


def is_odd(sample: Any) -> bool:
    return size(sample) % 2 == 1


def mapped(maps: Any, chance: random.Random) -> Any:
    pipe = maps.SequenceWrapper(range(chance.randrange(1, 8)))
    for _ in range(chance.randrange(3)):
        pipe = chance.choice([
            lambda p: p.map(negative), lambda p: p.batch(chance.randrange(1, 4)),
            lambda p: p.concat(p), lambda p: p.zip(p),
        ])(pipe)  # fmt: skip
    return pipe


def chain(dp: Any, chance: random.Random, depth: int = 0) -> Any:
    """A stream made of others by methods chosen at random, some of which raise."""
    pick = chance.choice
    if depth > 4 or chance.random() < 0.25:
        sources = (
            lambda: dp.iter.IterableWrapper(range(chance.randrange(12))),
            lambda: dp.iter.IterableWrapper([[i, i + 1, [i]] for i in range(chance.randrange(6))]),
            lambda: dp.iter.IterableWrapper([(i, str(i)) for i in range(chance.randrange(6))]),
            lambda: dp.iter.IterableWrapper(mapped(dp.map, chance)),
            lambda: mapped(dp.map, chance).shuffle(),
        )
        return pick(sources)()
    source = chain(dp, chance, depth + 1)
    if chance.random() < 0.25:
        method = pick(["concat", "zip", "mux"])
        return getattr(source, method)(chain(dp, chance, depth + 1))
    if chance.random() < 0.2:
        room = pick([2, 100])
        one, other = pick([
            lambda: source.fork(2, buffer_size=room),
            lambda: source.demux(2, is_odd, buffer_size=room),
        ])()  # fmt: skip
        return getattr(one, pick(["concat", "zip", "mux"]))(other)
    return pick([
        lambda: source.map(negative),
        lambda: source.map(negative, pick([0, 1, -1, [0], [0, 1]]), pick([None, 0, -1, 5])),
        lambda: source.filter(is_odd, pick([None, 0])),
        lambda: source.batch(chance.randrange(4), chance.random() < 0.4),
        lambda: source.unbatch(pick([-2, -1, 0, 1, 2])),
        lambda: source.shuffle(buffer_size=pick([1, 3, 100])),
        lambda: source.shuffle().set_shuffle(pick([True, False])),
        lambda: source.sharding_filter(),
        lambda: source.groupby(size, group_size=pick([None, 1, 2]), buffer_size=pick([2, 100]),
                               drop_remaining=pick([True, False])),
        lambda: dp.iter.Sampler(source),
    ])()  # fmt: skip


def in_part(pipe: Any) -> Any:
    """Two samples, those of a copy that is made then, and the others."""
    samples = iter(pipe)
    begin = [next(samples), next(samples)]
    return begin, list(pickle.loads(pickle.dumps(pipe))), list(samples)


def tried(program: Callable[[], Any]) -> Any:
    try:
        return program()
    except Exception as error:
        return type(error).__name__


def told(lib: ModuleType, seed: int) -> list[Any]:
    """What a chain gives, in many ways one after the other."""
    data = import_module(f"{lib.__name__}.utils.data")
    settings = import_module(f"{lib.__name__}.utils.data.graph_settings")
    traverse = import_module(f"{lib.__name__}.utils.data.graph").traverse_dps
    chance = random.Random(seed)
    lib.manual_seed(seed)
    pipe = tried(lambda: chain(data.datapipes, chance))
    if isinstance(pipe, str):
        return [pipe]
    options = {"batch_size": chance.choice([None, 2]), "shuffle": chance.choice([None, True])}
    reader = chance.randrange(3)
    programs = (
        lambda: len(pipe),
        lambda: list(pipe),
        lambda: list(pipe),
        lambda: in_part(pipe),
        lambda: list(copy.deepcopy(pipe)),
        lambda: [repr(each) for each in settings.get_all_graph_pipes(traverse(pipe))],
        lambda: list(settings.apply_sharding(pipe, 3, reader)),
        lambda: list(settings.apply_random_seed(pipe, lib.Generator().manual_seed(seed))),
        lambda: list(data.DataLoader(pipe, collate_fn=str, **options)),
        lambda: lib.rand(1).item(),
    )
    return [tried(program) for program in programs]


@pytest.mark.parametrize("start", range(0, 300, 100))
def test_chains_give_what_torchs_give(torch: ModuleType, start: int) -> None:
    import nnkit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(start, start + 100):
            assert told(nnkit, seed) == told(torch, seed), seed
