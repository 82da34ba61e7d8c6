"""Passes over graphs: parts that become modules, places of patterns, changes one after another."""

from __future__ import annotations

import importlib
import operator
import sys
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest


def of(lib: Any, path: str) -> Any:
    """A module of ``fx``."""
    return importlib.import_module(f"{lib.__name__}.fx.{path}")


def model(lib: Any) -> Any:
    """A module with modules, a parameter and a buffer, whose results are a structure."""

    class Model(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = lib.nn.Linear(4, 4), lib.nn.Linear(4, 4)
            self.weight = lib.nn.Parameter(lib.ones(4, 4))
            self.register_buffer("shift", lib.ones(4))
            self.head = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Linear(4, 4))

        def forward(self, x, y, k=2.0):  # type: ignore[no-untyped-def]  # torch prints types
            z = self.first(x + y).clamp(min=0) + self.shift
            w = self.weight + self.second(z)
            u = self.head(w * k)
            return u[:, :2] + x[:, :2], {"q": [w, z]}

    lib.manual_seed(0)
    return Model()


CALLS = """
def forward(self, x, y, k = 2.0):
    shift = self.shift
    weight = self.weight
    submod_0 = self.submod_0(x, y);  y = None
    submod_1 = self.submod_1(submod_0, shift, weight);  submod_0 = shift = weight = None
    getitem = submod_1[0]
    getitem_1 = submod_1[1];  submod_1 = None
    submod_2 = self.submod_2(getitem, k, x);  k = x = None
    return (submod_2, {'q': [getitem, getitem_1]})
"""
PART = """
def forward(self, clamp, shift, weight):
    add = clamp + shift;  clamp = shift = None
    second = self.second(add)
    add_1 = weight + second;  weight = second = None
    return (add_1, add)
"""


def numbered(count: int) -> Any:
    """A division that goes to the next part after so many operations."""
    seen: list[Any] = []

    def part(node: Any) -> int:
        seen.append(node)
        return min(2, (len(seen) - 1) // count)

    return part


def test_a_program_is_split(lib: Any) -> None:
    split_module = of(lib, "passes.split_module").split_module
    program = lib.fx.symbolic_trace(model(lib))
    program.graph.find_nodes(op="placeholder")[0].meta["known"] = 1
    paths: dict[str, str] = {}
    split = split_module(program, program, numbered(3), paths)
    assert split.code.strip() == CALLS.strip()
    assert split.submod_1.code.strip() == PART.strip()
    assert paths == {
        "submod_0.first": "first", "submod_1.second": "second", "submod_2.head_0": "head.0",
        "submod_2.head_1": "head.1",
    }  # fmt: skip
    assert [n.meta.get("known") for n in split.submod_0.graph.nodes][:2] == [1, None]
    x, y = lib.randn(4, 4), lib.randn(4, 4)
    assert split(x, y)[0].equal(program(x, y)[0])
    assert split(x, y)[1]["q"][1].equal(program(x, y)[1]["q"][1])


def test_how_parts_are_called(lib: Any) -> None:
    split_module = of(lib, "passes.split_module").split_module
    program = lib.fx.symbolic_trace(model(lib))
    options = {"partition_affix": "of", "tuple_return": True, "keep_original_input_name": False}
    split = split_module(program, program, numbered(3), **options)
    names = [node.name for node in split.graph.nodes]
    assert names[5:9] == ["submod_of_0", "getitem", "submod_of_1", "getitem_1"]
    assert "def forward(self, arg_0, arg_1):" in split.submod_of_0.code
    split = split_module(program, program, numbered(3), keep_original_order=True)
    assert [n.name for n in split.graph.nodes][3:6] == ["submod_0", "shift", "weight"]
    split = split_module(program, program, numbered(3), keep_original_node_name=True)
    assert [n.name for n in split.submod_1.graph.nodes][3:6] == ["add_1", "second", "add_2"]
    seen: list[Any] = []
    with pytest.raises(RuntimeError, match="cycle exists between partitions!"):
        split_module(program, program, lambda node: seen.append(node) or len(seen) % 2)
    kwargs = lib.fx.symbolic_trace(lambda x, **more: x + more["y"])
    split = split_module(kwargs, kwargs, lambda node: int(node.target is operator.add))
    assert split(lib.ones(1), y=lib.ones(1)).item() == 2.0


def test_operations_become_one(lib: Any) -> None:
    fuser, common = of(lib, "passes.utils.fuser_utils"), of(lib, "passes.utils.common")
    program = lib.fx.symbolic_trace(model(lib))
    x, y = lib.randn(4, 4), lib.randn(4, 4)
    expected = program(x, y)
    nodes = {node.name: node for node in program.graph.nodes}
    bad = [nodes["add"], nodes["clamp"]]
    assert not fuser.validate_partition(bad) and fuser.validate_partition([nodes["clamp"]])
    with pytest.raises(AssertionError, match="found dependency cycles"):
        fuser.fuse_by_partitions(program, [dict.fromkeys(bad)])
    groups = [["clamp", "first"], ["weight", "mul", "add_2", "second"]]
    fuser.fuse_by_partitions(program, [dict.fromkeys(nodes[n] for n in g) for g in groups])
    program.recompile()
    assert [n.name for n in program.graph.nodes if "fused" in n.name] == ["fused_0", "fused_1"]
    assert program(x, y)[0].equal(expected[0])
    assert type(program.fused_0).__name__ == "fused_0"
    one, two = (lib.fx.symbolic_trace(lambda x: x + 1).graph for _ in range(2))
    assert common.compare_graphs(one, two)
    assert not common.compare_graphs(one, lib.fx.symbolic_trace(lambda x: x + 2).graph)


def test_the_parts_that_a_backend_can_do(lib: Any) -> None:
    support = of(lib, "passes.operator_support")
    partitioner = of(lib, "passes.infra.partitioner")

    class Sums(support.OperatorSupport):  # type: ignore[name-defined]
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            return node.op == "call_function" and node.target is operator.add

    def found(function: Any, rule: Any, **options: Any) -> list[list[str]]:
        program = lib.fx.symbolic_trace(function)
        finder = partitioner.CapabilityBasedPartitioner(program, rule, **options)
        names = [sorted(n.name for n in part.nodes) for part in finder.propose_partitions()]
        x = [lib.randn(3) for _ in range(2)]
        assert finder.partition_and_fuse()(*x).equal(function(*x))
        return names

    def across(a: Any, b: Any) -> Any:
        first = a + b
        second = first + b
        return second.relu() + second + first

    single = {"allows_single_node_partition": True}
    assert found(across, Sums(), **single) == [["add_2", "add_3"], ["add", "add_1"]]
    assert found(lambda a, b: (a + 1).relu() + b, Sums()) == []
    assert found(lambda a, b: (a + 1) + (b + 2), Sums()) == [["add", "add_1", "add_2"]]
    rule = support.chain(Sums(), support.OpSupports.decline_if_node_in_names({"add_1"}))
    assert found(across, rule, **single) == [["add_2", "add_3"], ["add"]]
    relu = support.create_op_support(lambda modules, node: node.target == "relu")
    assert found(lambda a, b: (a + b).relu(), support.any_chain(relu, Sums()), **single) == [
        ["add", "relu"]
    ]


def test_what_a_table_supports(lib: Any) -> None:
    support = of(lib, "passes.operator_support")
    program = lib.fx.symbolic_trace(model(lib))
    x = lib.ones(4, 4)
    of(lib, "passes.shape_prop").ShapeProp(program).propagate(x, x)
    kind = lib.nn.Linear
    table = {"_operator.add": (((lib.float32,), (lib.float64,)), {}), "clamp": None}
    table |= {f"{kind.__module__}.{kind.__name__}": None}
    rule, modules = support.OperatorSupport(table), dict(program.named_modules())
    named = {n.name: rule.is_node_supported(modules, n) for n in program.graph.nodes}
    assert named == {
        "x": True, "y": True, "k": True, "add": False, "first": True, "clamp": True,
        "shift": True, "add_1": False, "weight": True, "second": True, "add_2": False,
        "mul": False, "head_0": False, "head_1": True, "getitem": False, "getitem_1": False,
        "add_3": False, "output": True,
    }  # fmt: skip
    declines = support.OpSupports.decline_if_input_dtype(lib.float32)
    assert not declines.is_node_supported(modules, program.graph.output_node())


def test_patterns_are_found_as_asked(lib: Any) -> None:
    matcher = of(lib, "passes.utils.matcher_utils").SubgraphMatcher
    graph = lib.fx.symbolic_trace(lambda x: (x.neg() + 1).neg() + 1).graph
    pattern = lib.fx.symbolic_trace(lambda a: a.neg() + 1).graph

    def count(**options: Any) -> int:
        return len(matcher(pattern, **options).match(graph))

    assert count() == 2
    assert count(match_placeholder=True) == 1 and count(match_output=True) == 1
    assert count(match_output=True, match_placeholder=True) == 0
    other = lib.fx.symbolic_trace(lambda a: a.neg() + 7).graph
    assert matcher(other).match(graph) == []
    assert len(matcher(other, ignore_literals=True).match(graph)) == 2
    twice = lib.fx.symbolic_trace(lambda a: a.neg().neg()).graph
    long = lib.fx.symbolic_trace(lambda x: x.neg().neg().neg().neg()).graph
    assert len(matcher(twice).match(long)) == 2
    assert len(matcher(twice, remove_overlapping_matches=False).match(long)) == 3
    # What is put in its place would need its own result.
    around = lib.fx.symbolic_trace(lambda x: x.neg() * x.neg().sin()).graph
    graph = lib.fx.symbolic_trace(lambda x: (lambda y: y * y.sin())(x.neg())).graph
    pattern = lib.fx.symbolic_trace(lambda a, c: (lambda y: (y, y * c))(a.neg())).graph
    assert matcher(pattern).match(graph) == [] and len(matcher(pattern).match(around)) == 1
    with pytest.raises(ValueError):
        matcher(lib.fx.Graph())
    with pytest.raises(AssertionError):
        matcher(lib.fx.symbolic_trace(lambda a: (a.sin(), a.neg())[1]).graph)


def test_passes_run_in_order(lib: Any) -> None:
    base, manager = of(lib, "passes.infra.pass_base"), of(lib, "passes.infra.pass_manager")
    ran: list[str] = []

    class First(base.PassBase):  # type: ignore[name-defined]
        def requires(self, graph_module: Any) -> None:
            ran.append("requires")

        def call(self, graph_module: Any) -> Any:
            ran.append("first")
            return base.PassResult(graph_module, len(ran) < 4)

    def second(module: Any) -> None:
        ran.append("second")

    def fails(module: Any) -> None:
        raise ValueError("no")

    program = lib.fx.symbolic_trace(lambda x: x.neg())
    one, two = First(), manager.pass_result_wrapper(second)
    order = manager.this_before_that_pass_constraint(one, two)
    passes = manager.PassManager([two, one], [order], steps=1)
    with pytest.raises(RuntimeError):
        passes.validate_constraints()
    result = passes(program)
    assert ran == ["requires", "first", "second"] and result.modified
    assert result.graph_module is program
    passes = manager.PassManager([one, fails])
    with pytest.raises(Exception, match=r"'fails' pass after the following passes: \['First'\]"):
        passes(program)
    passes = manager.PassManager([one])
    passes.add_checks(fails)
    with pytest.raises(ValueError, match="no"):
        passes(program)
    with pytest.raises(TypeError):
        passes.add_checks(lambda module, more: None)
    circle = manager.this_before_that_pass_constraint(two, one)
    with pytest.raises(RuntimeError, match="Circular dependency detected"):
        manager.PassManager([one, two], [order, circle])(program)


def test_operations_are_put_in_order(lib: Any) -> None:
    tools = of(lib, "passes.tools_common")
    program = lib.fx.symbolic_trace(lambda x: lib.relu(x.sin() + 1))
    x, sin, add, relu, _ = program.graph.nodes
    for sort in (tools.legalize_graph, tools.stable_topological_sort):
        _, first, second, *_ = program.graph.nodes
        second.append(first)
        names = [node.name for node in sort(program).graph.nodes]
        assert names == ["x", "sin", "add", "relu", "output"]
        program.graph.lint()
    assert tools.get_node_target({}, relu) == f"{lib.__name__}.relu"
    assert tools.get_node_target({}, add) == "_operator.add"
    assert tools.get_node_target({}, sin) == "sin"
    with pytest.raises(AssertionError):
        tools.get_node_target({}, x)


def test_a_program_is_split_by_tags(lib: Any) -> None:
    split_utils = of(lib, "passes.split_utils")
    program = lib.fx.symbolic_trace(model(lib))
    for node in program.graph.nodes:
        if node.op.startswith("call") or node.name == "weight":
            early = node.name in ("add", "first", "clamp", "add_1", "second")
            node.tag = "early" if early else "late"
    made, paths = split_utils.split_by_tags(program, ["early", "late"], True)
    assert paths == {
        "first": "early.first", "shift": "early.shift", "second": "early.second",
        "weight": "late.weight", "head.0": "late.head.0", "head.1": "late.head.1",
    }  # fmt: skip
    calls = [node.name for node in made.graph.nodes if node.op == "call_module"]
    assert calls == ["early", "late"]
    x = lib.randn(4, 4)
    assert made(x, x, 2.0)[0].equal(program(x, x)[0])
    inner = split_utils.getattr_recursive(made, "late.head.0")
    assert isinstance(inner, lib.nn.ReLU)
    split_utils.setattr_recursive(made, "late.head.0", lib.nn.Sigmoid())
    assert isinstance(made.get_submodule("late.head.0"), lib.nn.Sigmoid)


def test_targets_and_sizes(lib: Any) -> None:
    manipulation = of(lib, "passes.graph_manipulation")
    program = lib.fx.symbolic_trace(lib.nn.Sequential(lib.nn.Linear(2, 3)))
    manipulation.get_size_of_all_nodes(program, [lib.ones(4, 2)])
    sizes = [node.size_bytes for node in program.graph.nodes if node.op != "output"]
    assert sizes == [(32, 32), (48, 84)]
    with pytest.raises(RuntimeError):
        manipulation.get_tensor_meta(lib.fx.symbolic_trace(lambda x: x).graph.output_node())
    program = lib.fx.symbolic_trace(lambda x: x + x)
    call = "call_function"
    manipulation.replace_target_nodes_with(program, call, operator.add, call, operator.mul)
    assert program(lib.tensor(3.0)).item() == 9.0


def test_parts_have_the_types_that_the_whole_says(lib: Any) -> None:
    program = lib.fx.symbolic_trace(lambda x, y: (x[0], x[1], y[5]))
    kinds = [tuple[int, str], list[float]]
    for node, kind in zip(program.graph.find_nodes(op="placeholder"), kinds, strict=True):
        node.type = kind
    of(lib, "passes.annotate_getitem_nodes").annotate_getitem_nodes(program.graph)
    types = [node.type for node in program.graph.nodes if node.op == "call_function"]
    assert types == [int, str, float]


def test_pictures_need_pydot(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    drawer = of(lib, "passes.graph_drawer").FxGraphDrawer
    program = lib.fx.symbolic_trace(lambda x: lib.relu(x).clamp(min=0))
    with pytest.raises(RuntimeError, match="requires the pydot package"):
        drawer(program, "name")
    if lib.__name__ == "torch":
        return  # which looked for it when it was imported
    module = ModuleType("pydot")
    for kind in ("Dot", "Node", "Edge"):
        setattr(module, kind, MagicMock())
    monkeypatch.setitem(sys.modules, "pydot", module)
    drawer(program, "name").get_dot_graph()
    boxes = module.Node.call_args_list  # type: ignore[attr-defined]
    assert [box.args[0] for box in boxes] == ["x", "relu", "clamp", "output"]
    assert boxes[2].kwargs["label"] == (
        '"{name=%clamp|op_code=call_method|target=clamp|kwargs=\\{min: 0\\}|num_users=1}"'
    )
    assert len(module.Edge.call_args_list) == 3  # type: ignore[attr-defined]
