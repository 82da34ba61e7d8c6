"""Patterns that are replaced in graphs, as torch replaces them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import nnkit


def layers(lib: Any) -> Any:
    class Layers(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.act = lib.nn.Linear(3, 3), lib.nn.ReLU()
            self.weight = lib.nn.Parameter(lib.ones(3))

        def forward(self, x):
            return self.act(self.linear(x)) * self.weight + lib.relu(x).exp().log()

    return Layers()


def scale(lib: Any, name: str) -> Any:
    class Scale(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.extra = lib.nn.GELU()
            setattr(self, name, lib.nn.Parameter(lib.ones(3)))

        def forward(self, x):
            return self.extra(x) + getattr(self, name)

    return lib.fx.symbolic_trace(Scale())


def times(lib: Any) -> Any:
    class Times(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = lib.nn.Parameter(lib.ones(3))

        def forward(self, x):
            return x * self.weight

    return lib.fx.symbolic_trace(Times())


def chain(lib: Any) -> Callable:
    return lambda x: lib.relu(lib.relu(lib.relu(lib.relu(x))))


def sums(lib: Any) -> Callable:
    return lambda x: lib.add(x, 1) * lib.add(x, 2)


# A program, the pattern in it, what is put there, and options.
CASES: dict[str, Callable[[Any], tuple]] = {
    "twice": lambda lib: (
        lambda x, w, v: lib.cat([lib.neg(w), v]).sum() + x + lib.cat([lib.neg(w), v]).sum(),
        lambda a, b: lib.cat([lib.neg(a), b]).sum(),
        lambda a, b: lib.stack([a, b]),
    ),
    "in a module": lambda lib: (layers(lib), lambda x: lib.relu(x), lambda x: x.clamp(min=0)),
    "with modules": lambda lib: (layers(lib), lambda x: x.exp().log(), scale(lib, "more")),
    "parameters": lambda lib: (layers(lib), times(lib), scale(lib, "bias")),
    "overlapping": lambda lib: (chain(lib), lambda x: lib.relu(lib.relu(x)), lambda x: x.tanh()),
    "growing": lambda lib: (chain(lib), lambda x: lib.relu(x), lambda x: lib.relu(x).sigmoid()),
    "used outside": lambda lib: (
        lambda x: (x + 1).exp() + (y := x + 2) * y.exp(),
        lambda x: (x + 2).exp(),
        lambda x: x * 2,
    ),
    "literals": lambda lib: (sums(lib), lambda x: lib.add(x, 2), lambda x: x - 2),
    "any literals": lambda lib: (
        *(sums(lib), lambda x: lib.add(x, 7), lambda x: lib.neg(x)), {"ignore_literals": True},
    ),
    "filtered": lambda lib: (
        *(sums(lib), lambda x, y: lib.add(x, y), lambda x, y: lib.sub(x, y)),
        {"match_filters": [lambda match, *graphs: match.placeholder_nodes[1] == 1]},
    ),
    "by a callback": lambda lib: (
        *(sums(lib), lambda x, y: lib.add(x, y), None),
        {"replacement_callback": lambda match, *graphs: (
            lib.fx.symbolic_trace(lambda x, y: x.pow(y)).graph
        )},
    ),
    "two results": lambda lib: (
        lambda x: (lambda a, b: (a * b, a))(x.sin(), x.cos()),
        lambda x: (x.sin(), x.cos()),
        lambda x: (x.cos(), x.sin()),
    ),
    "unused": lambda lib: (
        lambda x: (lib.neg(x), x)[1], lambda x: lib.neg(x), lambda x: lib.abs(x),
    ),
    "named arguments": lambda lib: (
        lambda x: lib.sum(x, dim=1) + x.sum(dim=0) + x.sum(0),
        lambda x: x.sum(dim=0),
        lambda x: x.mean(dim=0),
    ),
    "nowhere": lambda lib: (sums(lib), lambda x: x.exp(), lambda x: x),
}  # fmt: skip


def rewritten(lib: Any, name: str) -> list[Any]:
    rewriter = importlib.import_module(f"{lib.__name__}.fx.subgraph_rewriter")
    program, pattern, replacement, *options = CASES[name](lib)
    traced = lib.fx.symbolic_trace(program)
    replace = rewriter.replace_pattern_with_filters
    if not options:
        replace = lib.fx.replace_pattern
    found = replace(traced, pattern, replacement, **(options[0] if options else {}))
    traced.graph.lint()
    placed = [
        (str(match.anchor), sorted((str(k), str(v)) for k, v in match.nodes_map.items()),
         sorted(map(str, getattr(match, "replacements", ()))))
        for match in found
    ]  # fmt: skip
    code = traced.code.replace(f"{lib.__name__}.", "T.")
    return [code, placed, sorted(name for name, _ in traced.named_parameters())]


@pytest.mark.parametrize("name", CASES)
def test_programs_are_those_of_torch(name: str, torch: Any) -> None:
    assert rewritten(nnkit, name) == rewritten(torch, name)


def test_what_is_replaced_computes() -> None:
    traced = nnkit.fx.symbolic_trace(layers(nnkit))
    nnkit.fx.replace_pattern(traced, lambda x: x.exp().log(), scale(nnkit, "more"))
    x = nnkit.ones(2, 3)
    wanted = traced.act(traced.linear(x)) * traced.weight + nnkit.nn.functional.gelu(x) + 1
    assert nnkit.allclose(traced(x), wanted)


@pytest.mark.parametrize("replacement", [lambda x, y: x, lambda x: (x, x), None])
def test_what_does_not_fit_is_refused(lib: Any, replacement: Any) -> None:
    traced = lib.fx.symbolic_trace(chain(lib))
    with pytest.raises(AssertionError):
        lib.fx.replace_pattern(traced, lambda x: lib.relu(x), replacement)
