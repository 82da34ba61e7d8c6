"""Programs written down as graphs: the same operations, names and text as torch's."""

from __future__ import annotations

import copy
import enum
import math
import operator
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


@dataclass
class Pair:
    """Two values."""

    first: Any
    second: Any


class Colour(enum.Enum):
    """A constant that is no number."""

    RED = 1


def model(T: Any) -> Any:
    """A module that unpacks shapes, reads parameters and buffers, and calls everything."""

    class Model(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = T.nn.Conv2d(3, 4, 3, padding=1)
            self.weight = T.nn.Parameter(T.ones(4, 1, 1))
            self.register_buffer("shift", T.ones(1))
            self.head = T.nn.Sequential(T.nn.ReLU(), T.nn.Linear(4, 5))

        def forward(self, x, scale=2.0):  # type: ignore[no-untyped-def]  # torch prints types
            batch, channels, _, _ = x.shape
            y = T.nn.functional.relu(self.conv(x), inplace=False) * self.weight * scale + self.shift
            y = T.cat([y, -y], dim=1).view(batch, 8, -1).mean(-1)[:, None, :4]
            y = y + T.arange(4, device=x.device).to(T.float32) + math.sqrt(2)
            return {"a": self.head(y), "b": (y.max(dim=-1)[0], T.tensor([math.inf]))}

    T.manual_seed(0)
    return Model()


CODE = """
def forward(self, x, scale = 2.0):
    getattr_1 = x.shape
    getitem = getattr_1[0]
    getitem_1 = getattr_1[1];  getitem_1 = None
    getitem_2 = getattr_1[2];  getitem_2 = None
    getitem_3 = getattr_1[3];  getattr_1 = getitem_3 = None
    conv = self.conv(x)
    relu = T.nn.functional.relu(conv, inplace = False);  conv = None
    weight = self.weight
    mul = relu * weight;  relu = weight = None
    mul_1 = mul * scale;  mul = scale = None
    shift = self.shift
    add = mul_1 + shift;  mul_1 = shift = None
    neg = -add
    cat = T.cat([add, neg], dim = 1);  add = neg = None
    view = cat.view(getitem, 8, -1);  cat = getitem = None
    mean = view.mean(-1);  view = None
    getitem_4 = mean[(slice(None, None, None), None, slice(None, 4, None))];  mean = None
    getattr_2 = x.device;  x = None
    arange = T.arange(4, device = getattr_2);  getattr_2 = None
    to = arange.to(T.float32);  arange = None
    add_1 = getitem_4 + to;  getitem_4 = to = None
    add_2 = add_1 + 1.4142135623730951;  add_1 = None
    head_0 = getattr(self.head, "0")(add_2)
    head_1 = getattr(self.head, "1")(head_0);  head_0 = None
    max_1 = add_2.max(dim = -1);  add_2 = None
    getitem_5 = max_1[0];  max_1 = None
    _tensor_constant0 = self._tensor_constant0
    return {'a': head_1, 'b': (getitem_5, _tensor_constant0)}
"""


def test_the_text_of_a_program(lib: Any) -> None:
    traced = lib.fx.symbolic_trace(model(lib))
    assert traced.code.strip().replace(f"{lib.__name__}.", "T.") == CODE.strip()
    hint = "# To see more debug info, please use `graph_module.print_readable()`"
    assert str(traced) == f"{repr(traced)}\n{traced.code}\n{hint}"
    lines = str(traced.graph).replace(f"{lib.__name__}.", "T.").splitlines()
    assert lines[:3] == [
        "graph():",
        "    %x : [num_users=3] = placeholder[target=x]",
        "    %scale : [num_users=1] = placeholder[target=scale](default=2.0)",
    ]
    assert lines[9:11] == [
        "    %relu : [num_users=1] = call_function[target=T.nn.functional.relu]"
        "(args = (%conv,), kwargs = {inplace: False})",
        "    %weight : [num_users=1] = get_attr[target=weight]",
    ]


def test_a_traced_program_computes_the_same() -> None:
    own = model(nnkit)
    traced = nnkit.fx.symbolic_trace(own)
    x = nnkit.randn(2, 3, 4, 4)
    expected = own(x)["a"]
    copies = [
        traced,
        copy.deepcopy(traced),
        pickle.loads(pickle.dumps(traced)),
        nnkit.fx.Interpreter(traced).run,
        nnkit.fx.Transformer(traced).transform(),
    ]
    for program in copies:
        assert nnkit.equal(program(x)["a"], expected)
    traced(x)["a"].sum().backward()
    assert own.weight.grad is not None  # the parameters are the module's own


def test_a_graph_is_changed(lib: Any) -> None:
    traced = lib.fx.symbolic_trace(lambda x: (x.sin() + 1) * (x * 3))
    graph = traced.graph
    for node in graph.nodes:
        if node.op == "call_method":
            with graph.inserting_after(node):
                made = graph.call_function(operator.sub, (node, 5))
            node.replace_all_uses_with(made, lambda user, own=made: user is not own)
        elif node.target is operator.mul and 3 in node.args:
            node.update_arg(1, 4)
    graph.lint()
    traced.recompile()
    assert traced(lib.zeros(1)).tolist() == [0.0]
    assert traced(lib.tensor([math.pi / 2])).item() == pytest.approx(-3 * 2 * math.pi)
    names = [node.name for node in graph.nodes]
    assert names == ["x", "sin", "sub", "add", "mul", "mul_1", "output"]
    with pytest.raises(RuntimeError):
        graph.erase_node(next(iter(graph.nodes)))
    with graph.inserting_before(graph.output_node()):
        dead = graph.call_function(lib.relu, (next(iter(graph.nodes)),))
    assert graph.eliminate_dead_code() and dead not in list(graph.nodes)
    assert not graph.eliminate_dead_code()
    assert [n.name for n in graph.find_nodes(op="call_method")] == ["sin"]


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: [y + 1 for y in x],
        lambda x: x[: range(4)[x]] if x else x,
    ],
)
def test_what_depends_on_values_is_refused(lib: Any, program: Any) -> None:
    with pytest.raises(lib.fx.proxy.TraceError):
        lib.fx.symbolic_trace(program)


def test_length_is_not_known(lib: Any) -> None:
    with pytest.raises(RuntimeError):
        lib.fx.symbolic_trace(lambda x: len(x))


def half(x: Any) -> Any:
    return x / 2 if x.sum() > 0 else x


nnkit.fx.wrap("half")


def test_functions_are_wrapped() -> None:
    traced = nnkit.fx.symbolic_trace(lambda x: half(x) + 1)
    assert [node.op for node in traced.graph.nodes][1] == "call_function"
    assert traced(nnkit.ones(1)).tolist() == [1.5]
    assert half(nnkit.ones(1)).tolist() == [0.5]
    with pytest.raises(RuntimeError):
        nnkit.fx.wrap(3)
    tracer = nnkit.fx.Tracer(autowrap_functions=(half,))
    assert "half" in [node.name for node in tracer.trace(lambda x: half(x)).nodes]


def test_arguments_can_be_given() -> None:
    def program(x: Any, double: bool) -> Any:
        return x * 2 if double else x

    traced = nnkit.fx.symbolic_trace(program, concrete_args={"double": True})
    assert traced(nnkit.ones(1), True).tolist() == [2.0]


def test_leaves_are_chosen(lib: Any) -> None:
    class Whole(lib.fx.Tracer):
        def is_leaf_module(self, m: Any, name: str) -> bool:
            return name == "head" or super().is_leaf_module(m, name)

    graph = Whole().trace(model(lib))
    assert [n.target for n in graph.nodes if n.op == "call_module"] == ["conv", "head"]


def test_wrong_graphs_are_refused() -> None:
    graph = nnkit.fx.Graph()
    x = graph.placeholder("x")
    with pytest.raises(ValueError, match="function"):
        graph.create_node("call_function", "relu", (x,))
    with pytest.raises(ValueError, match="name"):
        graph.create_node("call_method", nnkit.relu, (x,))
    with pytest.raises(AssertionError, match="op"):
        graph.create_node("jump", "x")
    with pytest.raises(RuntimeError, match="lacks"):
        graph.call_module("a.b", (x,))
        nnkit.fx.GraphModule({}, graph)
    with pytest.raises(NotImplementedError, match="object"):
        nnkit.fx.Proxy(x).relu(object())
    other = nnkit.fx.Graph()
    y = other.placeholder("y")
    sine = other.call_method("sin", (y,))
    y.append(other.call_method("cos", (sine,)))
    with pytest.raises(RuntimeError, match="before"):
        other.lint()


def test_arguments_of_all_kinds(lib: Any) -> None:
    traced = lib.fx.symbolic_trace(lambda input, y=3, *a, **k: input + y + a[0] + k["u"])
    names = [node.name for node in traced.graph.nodes if node.op == "placeholder"]
    assert names == ["input_1", "y", "_a", "_k"]
    assert traced(1, 2, 3, u=4) == 10
    assert traced.code.split("\n")[3:5] == [
        "def forward(self, input, y = 3, *a, **k):",
        "    input_1 = input",
    ]


def test_given_arguments_are_checked_by_the_program(lib: Any) -> None:
    def program(x: Any, flag: Any, nothing: Any = None) -> Any:
        return x * 2 if flag and nothing is None else x

    traced = lib.fx.symbolic_trace(program, {"flag": True, "nothing": None})
    assert traced(3, True) == 6
    for wrong in ((3, False), (3, True, 1)):
        with raises(lib, AssertionError, "has been specialized to have value"):
            traced(*wrong)
    with pytest.warns(UserWarning, match="Was not able to add assertion"):
        lib.fx.symbolic_trace(lambda x, f: f(x), {"f": lambda x: x + 1})


def test_functions_of_math_are_operations(lib: Any) -> None:
    traced = lib.fx.symbolic_trace(lambda x: math.sqrt(x.size(0)))
    assert traced(lib.zeros(9)) == 3 and math.sqrt(4) == 2


def test_operations_in_place(lib: Any) -> None:
    graph = lib.fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    graph.call_function(operator.imul, (a, b))
    graph.output(a)
    module = lib.fx.GraphModule({}, graph)
    assert "a *= b" in module.code and module(2, 3) == 6


def test_methods_and_values_of_other_classes(lib: Any) -> None:
    class Both(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

        def other(self, x: Any) -> Any:
            return x - 1

    tracer = lib.fx.Tracer()
    tracer.traced_func_name = "other"
    assert lib.fx.GraphModule({}, tracer.trace(Both()))(3) == 2
    traced = lib.fx.symbolic_trace(lambda x: Pair(x, x + 1))
    assert traced(3) == Pair(3, 4)
    found = []
    lib.fx.symbolic_trace(lambda x: found.append(x.add(Colour.RED).node.args[1]) or x)
    assert found == [Colour.RED]


def test_operations_know_their_modules(lib: Any) -> None:
    graph = lib.fx.symbolic_trace(lib.nn.Sequential(lib.nn.Sequential(lib.nn.ReLU()))).graph
    (node,) = (n for n in graph.nodes if n.op == "call_module")
    stack = node.meta["nn_module_stack"]
    assert [kind for _, kind in stack.values()] == [lib.nn.Sequential, lib.nn.ReLU]
    assert node.name == "_0_0"


def test_copies_of_modules(lib: Any) -> None:
    module = lib.fx.symbolic_trace(lambda x: x + 1)
    module.meta["self"] = module
    copied = copy.deepcopy(module)
    assert copied.meta["self"] is copied and copied(1) == 2
    assert module._replicate_for_data_parallel()(1) == 2


def test_words_of_wrong_graphs(lib: Any) -> None:
    graph = lib.fx.symbolic_trace(lambda x: (x + 1) * 2).graph
    x, one, *_ = graph.nodes
    with raises(lib, RuntimeError, "but it still had 1 users in the graph"):
        graph.erase_node(one)
    x.prepend(one)
    with raises(lib, RuntimeError, "was used before it has been defined"):
        graph.lint()
    other = lib.fx.Graph()
    other.node_copy(one)
    with raises(lib, RuntimeError, "does not belong to this Graph"):
        other.lint()
    module = lib.fx.symbolic_trace(lambda x: x)
    with raises(lib, RuntimeError, "Expected positional argument for parameter x"):
        lib.fx.Interpreter(module).run()


def test_keys_hold_no_proxies(lib: Any) -> None:
    graph = lib.fx.Graph()
    x = lib.fx.Proxy(graph.placeholder("x"), lib.fx.proxy.GraphAppendingTracer(graph))
    for held in ({x: 1}, [{(x, 2): 1}]):
        with raises(lib, RuntimeError, "cannot contain a Node"):
            x.add(held)


def test_operations_know_their_lines(lib: Any) -> None:
    tracer = lib.fx.Tracer()
    tracer.record_stack_traces = True

    class Plus(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

    graph = tracer.trace(Plus())
    module = lib.fx.Transformer(lib.fx.GraphModule({}, graph)).transform()
    copied = lib.fx.Graph()
    for nodes in (graph.nodes, module.graph.nodes):
        (node,) = (n for n in nodes if n.op == "call_function")
        assert "in forward" in node.stack_trace and "return x + 1" in node.stack_trace
        made = copied.node_copy(node, lambda n: copied.placeholder("x"))
        assert made.stack_trace == node.stack_trace


def test_wrapped_functions_stay_operations() -> None:
    traced = nnkit.fx.symbolic_trace(lambda x: half(x) + 1)
    again = nnkit.fx.symbolic_trace(traced)
    assert "_half(" in traced.code and "_half" in again.code
    assert nnkit.fx.symbolic_trace(again)(nnkit.ones(1)).tolist() == [1.5]


def test_types_are_shown(lib: Any) -> None:
    graph = lib.fx.Graph()
    x = graph.placeholder("x", int)
    graph.call_function(abs, (x,), type_expr=list[float])
    text = str(graph)
    assert "%x : int [num_users=1]" in text and "%abs_1 : list[float] [num_users=0]" in text


def test_attributes_that_are_not_there(lib: Any) -> None:
    module = lib.fx.symbolic_trace(lib.nn.Sequential(lib.nn.ReLU()))
    with pytest.warns(UserWarning, match="no underlying reference in the owning"):
        module.graph.get_attr("other")


def test_objects_made_of_proxies(lib: Any) -> None:
    class Sum(metaclass=lib.fx.ProxyableClassMeta):
        def __init__(self, left: Any, right: Any) -> None:
            self.left, self.right = left, right

        def more(self, other: Any) -> Any:
            return Sum(self.left + other.left, self.right + other.right)

    traced = lib.fx.symbolic_trace(lambda x: x.more(Sum(1, Sum(2, 3).right)))
    found = traced(Sum(10, 20))
    assert (found.left, found.right) == (11, 23)
    traced = lib.fx.symbolic_trace(lambda x: Sum(x, x + 1))
    assert traced(3).right == 4


def test_text_of_ones_own(lib: Any) -> None:
    class OfList(lib.fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            inputs = f"Inputs[{lib.__name__}.Tensor]"
            head = f"def forward(self, given: {inputs}){maybe_return_annotation}:"
            return f"{head}\n    {', '.join(free_vars)} = given"

        def generate_output(self, output_args):
            return f"return [{output_args!r}]"

        def process_inputs(self, *inputs):
            return inputs[0]

        def process_outputs(self, outputs):
            return [outputs]

        def additional_globals(self):
            return [("Inputs", list)]

    traced = lib.fx.symbolic_trace(lambda x, y: (x.sin() + y, float("inf")))
    assert traced.graph.process_inputs(1, 2) == (1, 2) and traced.graph.process_outputs(3) == 3
    traced.graph.set_codegen(OfList())
    traced.recompile()
    assert traced.code.strip().splitlines() == [
        f"def forward(self, given: Inputs[{lib.__name__}.Tensor]):",
        "    x, y = given",
        "    sin = x.sin();  x = None",
        "    add = sin + y;  sin = y = None",
        "    return [(add, inf)]",
    ]
    for module in (traced, copy.deepcopy(traced)):
        assert module([lib.zeros(1), lib.ones(1)]) == [(1, float("inf"))]
        found = lib.fx.Interpreter(module).run([lib.zeros(1), lib.ones(1)])
        assert found == [(1, float("inf"))]


def test_constants_are_written_as_torch_writes_them(lib: Any) -> None:
    def program(x):
        y = x * float("inf") + x.clamp(min=-float("inf")) * float("nan") + 1j
        return y.to(lib.device("cpu"))

    traced = lib.fx.symbolic_trace(program)
    lines = [line.partition(";")[0].strip() for line in traced.code.splitlines()[4:]]
    assert [line for line in lines if "inf" in line or "nan" in line or "device" in line] == [
        "mul = x * inf",
        "clamp = x.clamp(min = -inf)",
        "mul_1 = clamp * nan",
        "to = add_1.to(device(type='cpu'))",
    ]
    assert traced(lib.ones(2)).dtype is lib.complex64
