"""Graphs changed for a purpose: layers merged, constants computed, assertions kept."""

from __future__ import annotations

import importlib
import operator
from typing import Any

import pytest

import nnkit
from tests.test_fx_passes import of

# What torch says of itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning"),
    pytest.mark.filterwarnings("ignore:Does not support nested parametric types:UserWarning"),
]


def test_layers_are_merged_for_inference(lib: Any) -> None:
    nn, optimization = lib.nn, of(lib, "experimental.optimization")
    layers = [nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.Dropout(0.5), nn.ReLU()]
    kept = [nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3, track_running_stats=False)]
    model = nn.Sequential(*layers, *kept)
    x = lib.randn(4, 2, 5, 5)
    for _ in range(3):
        model(x)
    fused = optimization.fuse(model.eval())
    names = [type(module).__name__ for module in fused.children()]
    assert names == ["Conv2d", "Dropout", "ReLU", "Conv2d", "BatchNorm2d"]
    assert isinstance(model[1], nn.BatchNorm2d)
    assert lib.allclose(fused(x), model(x), atol=1e-6)
    program = lib.fx.symbolic_trace(model)
    without = optimization.remove_dropout(model)
    assert len(without.graph.nodes) == len(program.graph.nodes) - 1
    assert without(x).equal(model(x))
    modules = dict(program.named_modules())
    nodes = program.graph.find_nodes(op="call_module")
    matches = optimization.matches_module_pattern
    assert matches((nn.Conv2d, nn.BatchNorm2d), nodes[1], modules)
    assert not matches((nn.Conv2d, nn.ReLU), nodes[1], modules)
    optimization.replace_node_module(nodes[3], modules, nn.Sigmoid())
    assert isinstance(program.get_submodule("3"), nn.Sigmoid)
    part = optimization.extract_subgraph(program, nodes[2:4], [nodes[1]], [nodes[3]])
    assert part(lib.zeros(1))[0].item() == 0.5


class OfConstants:
    """A maker of modules that compute from parameters alone."""

    def __new__(cls, lib: Any) -> Any:
        class Model(lib.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = lib.nn.Parameter(lib.tensor([2.0, 3.0]))
                self.register_buffer("second", lib.tensor([4.0, 5.0]))

            def forward(self, x):  # type: ignore[no-untyped-def]  # torch prints types
                both = self.first * self.second
                return (x + both) * both.sum() - self.second

        return Model()


def test_constants_are_computed_once(lib: Any) -> None:
    const_fold = of(lib, "experimental.const_fold")
    model = OfConstants(lib)
    folded = const_fold.split_const_subgraphs(model)
    calls = [n.target for n in folded.graph.nodes if n.op.startswith("call")]
    assert calls.count(operator.getitem) == 2 and "sum" not in calls
    x = lib.tensor([1.0, -1.0])
    assert folded(x).equal(model(x)) and folded(x).equal(model(x))
    kept = folded._FX_CONST_FOLDED_ATTRS
    assert sorted(part.numel() for part in kept) == [1, 2]
    with pytest.raises(AssertionError):
        folded.run_folding()
    skipped = const_fold.split_const_subgraphs(model, lambda node: node.op != "get_attr")
    assert skipped.const_subgraph_module is None and skipped(x).equal(model(x))
    one = const_fold.split_const_subgraphs(model, lambda node: node.target == "sum")
    assert one(x).equal(model(x)) and one._FX_CONST_FOLDED_ATTRS.shape == (2,)


def test_what_is_computed_twice_is_computed_once(lib: Any) -> None:
    cse = of(lib, "passes.dialect.common.cse_pass")

    def twice(x: Any) -> Any:
        many = lib.exp(x) + lib.exp(x), lib.add(x, 1) + lib.add(x, 1.0) + lib.add(x, True)
        return *many, lib.add(x, 0.0) / lib.add(x, -0.0), lib.rand_like(x) - lib.rand_like(x)

    program = lib.fx.symbolic_trace(twice)
    banned = cse.get_CSE_banned_ops() | {lib.rand_like}
    result = cse.CSEPass(banned)(program)
    assert result.modified
    names = [node.name for node in result.graph_module.graph.nodes]
    assert "exp_1" not in names and "rand_like_1" in names
    assert not cse.CSEPass(banned)(result.graph_module).modified
    x = lib.tensor([1.0, 2.0])
    for got, want in zip(result.graph_module(x)[:3], twice(x), strict=False):
        assert got.equal(want)


def test_calls_in_one_form(lib: Any) -> None:
    normalize = of(lib, "experimental.normalize")

    class Model(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = lib.nn.Linear(2, 2)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return lib.add(lib.flatten(self.layer(x), 1), 1) * lib.mul(2, x)

    program = lib.fx.symbolic_trace(Model())
    for node in program.graph.nodes:
        node.meta["known"] = node.name
    x = lib.ones(2, 2)
    of(lib, "passes.shape_prop").ShapeProp(program).propagate(x)
    named = normalize.NormalizeArgs(program).transform()
    calls = {n.name: n for n in named.graph.nodes}
    assert calls["flatten"].args == () and dict(calls["flatten"].kwargs) == {
        "input": calls["layer"], "start_dim": 1, "end_dim": -1,
    }  # fmt: skip
    assert dict(calls["layer"].kwargs) == {"input": calls["x"]}
    assert calls["flatten"].meta["known"] == "flatten"
    assert named(x).equal(program(x))
    plain = normalize.NormalizeOperators(program).transform()
    targets = [n.target for n in plain.graph.nodes]
    assert operator.add in targets and lib.add not in targets
    assert plain(x).equal(program(x))


SCALE = 3


def test_assertions_are_kept(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "torch", lib)  # torch's code names it
    tracer = of(lib, "experimental.rewriter").RewritingTracer()

    class Model(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = lib.nn.Linear(2, 2)

        def forward(self, x, y=3):  # type: ignore[no-untyped-def]
            assert y == SCALE, "it is not three"
            assert x.shape[0] == 2, """two
rows"""
            return self.layer(x) * y

    model = Model()
    program = lib.fx.GraphModule(model, tracer.trace(model))
    x = lib.ones(2, 2)
    assert program(x).equal(model(x))
    _assert = importlib.import_module("nnkit.overrides" if lib is nnkit else "torch")._assert
    found = [n for n in program.graph.nodes if n.target is _assert]
    assert [n.args[1] for n in found] == ["it is not three", "two\nrows"]
    with pytest.raises(AssertionError, match="it is not three"):
        program(x, 4)
    with pytest.raises(AssertionError):
        program(lib.ones(1, 2))
    with pytest.raises(lib.fx.proxy.TraceError):
        lib.fx.symbolic_trace(model)
