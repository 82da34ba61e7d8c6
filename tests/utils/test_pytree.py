"""Trees of containers are taken apart and put together as torch does."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest

import nnkit
from nnkit.utils import _pytree as pytree

Pair = namedtuple("Pair", "a b")  # noqa: PYI024


@dataclasses.dataclass
class Held:
    x: Any
    y: Any = None


class Constant:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant)

    def __hash__(self) -> int:
        return 1


def trees(framework: Any) -> list[Any]:
    return [
        {"b": [1, (2, 3)], "a": Pair(1, None)}, [], None, 1, OrderedDict(b=1, a=2),
        defaultdict(int, {"b": 1}), deque([1, 2], maxlen=3), (1, [2, {}]),
        framework.Size([2, 3]), [Pair(1, [2])], framework.ones(2).max(0), {"a": 1, "b": 2},
    ]  # fmt: skip


def of_one(tree: Any, p: Any) -> Iterator[Callable[[], Any]]:
    spec = p.tree_structure(tree)
    yield lambda: p.tree_flatten(tree)
    yield lambda: p.tree_map(lambda v: (v,), tree)
    yield lambda: p.treespec_dumps(spec)
    yield lambda: p.treespec_loads(p.treespec_dumps(spec)) == spec
    yield lambda: p.tree_flatten_with_path(tree)
    yield lambda: [p.keystr(path) for path, _ in p.tree_leaves_with_path(tree)]
    yield lambda: p.tree_map_with_path(lambda path, v: p.key_get(tree, path) is v, tree)
    yield lambda: p.tree_leaves(tree, is_leaf=lambda v: isinstance(v, list))
    yield lambda: (spec.num_nodes, spec.num_leaves, spec.num_children, spec.is_leaf())
    yield lambda: p.tree_map_only(int, lambda v: v + 1, tree)
    yield lambda: p.tree_any_only(int, lambda v: v > 2, tree)


def of_two(a: Any, b: Any, p: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: p.tree_map(lambda x, y: (x, y), a, b)
    yield lambda: p._broadcast_to_and_flatten(a, p.tree_structure(b))
    yield lambda: p.tree_structure(a) == p.tree_structure(b)


def others(p: Any) -> Iterator[Callable[[], Any]]:
    spec = p.tree_structure({"a": [1, 2]})
    yield lambda: p.tree_unflatten([1], spec)
    yield lambda: p.tree_unflatten(1, spec)
    yield lambda: p.tree_unflatten([1], 5)
    yield lambda: p.register_pytree_node(list, None, None)
    yield lambda: p.register_constant(object)
    yield lambda: p.register_dataclass(Constant)
    yield lambda: p.tree_map_only(lambda v: v == 1, lambda v: v + 1, [1, 2.0, "a"])
    yield lambda: p.treespec_dumps(spec, 3)
    yield lambda: (p.treespec_tuple([p.treespec_leaf()]), p.treespec_dict(a=p.treespec_leaf()))
    p.register_dataclass(Held)
    p.register_constant(Constant)
    try:
        yield lambda: p.tree_flatten([Held(1, 2)])
        yield lambda: p.tree_map(lambda v: v + 1, [Held(1)])
        yield lambda: p.tree_flatten_with_path([Held(1)])
        yield lambda: p.tree_leaves([Constant(), 1])
    finally:
        for cls in (Held, Constant):
            with suppress(KeyError):  # torch's wants a name that a text would have
                p._deregister_pytree_node(cls)


def seen(compute: Callable[[], Any]) -> str:
    try:
        text = repr(compute())
    except Exception as error:
        text = type(error).__name__
    return text.replace("nnkit.autograd.tensor", "torch").replace("nnkit", "torch")


def test_shows_what_torch_shows(torch: ModuleType) -> None:
    import torch.utils._pytree as its

    for tree, other in zip(trees(nnkit), trees(torch), strict=True):
        for ours, theirs in zip(of_one(tree, pytree), of_one(other, its), strict=True):
            assert seen(ours) == seen(theirs)
        for second, its_second in zip(trees(nnkit), trees(torch), strict=True):
            pairs = zip(of_two(tree, second, pytree), of_two(other, its_second, its), strict=True)
            for ours, theirs in pairs:
                assert seen(ours) == seen(theirs)
    for ours, theirs in zip(others(pytree), others(its), strict=True):
        assert seen(ours) == seen(theirs)


def test_leaves_and_back() -> None:
    tree = {"b": [1, (2, 3)], "a": Pair(1, None), "c": deque([4])}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, 3, 1, None, 4]
    assert pytree.tree_unflatten(leaves, spec) == tree
    assert (
        pytree.treespec_loads(pytree.treespec_dumps(pytree.tree_structure([1, {}]))).num_nodes == 3
    )


def test_refuses_another_structure() -> None:
    with pytest.raises(ValueError, match=r"Node arity mismatch; expected 2, but got 1\."):
        pytree.tree_map(max, [1, 2], [1])
    with pytest.raises(ValueError, match=r"Node keys mismatch; missing key\(s\): {'a'}"):
        pytree.tree_map(max, {"a": 1}, {"b": 1})
