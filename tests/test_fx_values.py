"""What operations hold, what programs are traced for, and what is found out by running them."""

from __future__ import annotations

import copy
import enum
import importlib
import operator
import pickle
from typing import Any, NamedTuple, Optional, Tuple  # noqa: UP035

import pytest

import nnkit


class Pair(NamedTuple):
    """Two values."""

    first: Any
    second: Any


class Scaled:
    """A value that says how programs make it."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __fx_create_arg__(self, tracer: Any) -> Any:
        return tracer.create_node("call_function", Scaled, (tracer.create_arg(self.x),), {})


def test_what_operations_hold_cannot_be_changed(lib: Any) -> None:
    module = lib.fx.symbolic_trace(lambda x: lib.cat([x, x.permute([1, 0])], dim=0))
    node = module.graph.find_nodes(op="call_function", target=lib.cat)[0]
    kinds = importlib.import_module(f"{lib.__name__}.fx.immutable_collections")
    given = node.args[0]
    assert type(given) is kinds.immutable_list and type(node.kwargs) is kinds.immutable_dict
    assert given == list(given) and hash(given) == hash(tuple(given))
    for change in (given.append, given.extend, node.kwargs.update, node.kwargs.pop):
        with pytest.raises(TypeError, match="does not support mutation"):
            change((1, 2))
    with pytest.raises(TypeError, match="does not support mutation"):
        node.kwargs["dim"] = 1
    numbers = kinds.immutable_list([1, kinds.immutable_dict(a=2)])
    assert pickle.loads(pickle.dumps(numbers)) == copy.deepcopy(numbers) == [1, {"a": 2}]
    tree = importlib.import_module(f"{lib.__name__}.utils._pytree")
    doubled = tree.tree_map(lambda n: 2 * n, numbers)
    assert type(doubled) is kinds.immutable_list and doubled == [2, {"a": 4}]
    x = lib.ones(2, 2)
    assert lib.equal(lib.fx.Interpreter(module).run(x), module(x))
    assert type(lib.fx.map_arg([{"a": (1,)}], print)[0]) is kinds.immutable_dict


def test_dead_code_is_what_has_no_effect(lib: Any) -> None:
    def noted(x: Any) -> None:
        del x

    def program(x: Any) -> Any:
        x.add_(1)
        lib.nn.functional.relu(x)
        lib.rand_like(x)
        return x * 2

    graph = lib.fx.Tracer().trace(program)
    with graph.inserting_before(graph.output_node()):
        x = next(iter(graph.nodes))
        graph.call_function(lib.fx.has_side_effect(noted), (x,))
        graph.call_function(operator.setitem, (x, 0, 1))
    assert graph.eliminate_dead_code()
    assert [n.name for n in graph.nodes] == ["x", "rand_like", "mul", "noted", "setitem", "output"]


HEAD = """def forward(self, x, flag):
    x_1, x_2, x_3, flag_1, = fx_pytree.tree_flatten_spec([x, flag], self._in_spec)
"""


def test_a_program_is_traced_for_trees(lib: Any) -> None:
    ph = lib.fx._symbolic_trace.PH if lib is not nnkit else lib.fx.PH

    def program(x: Any, flag: Any) -> Any:
        return {"sum": x["a"] + sum(x["b"])} if flag else x

    module = lib.fx.symbolic_trace(program, {"x": {"a": ph, "b": (ph, ph)}, "flag": True})
    assert module.code.lstrip().startswith(HEAD)
    a, b = lib.tensor(1.0), lib.tensor(2.0)
    x = {"b": (a, b), "a": b}
    assert module(x, True)["sum"].item() == 5.0
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        module(x, False)
    assert [n.name for n in module.graph.find_nodes(op="placeholder")] == [
        "x_1", "x_2", "x_3", "flag_1",
    ]  # fmt: skip
    for made in (lib.fx.symbolic_trace(module), lib.fx.Interpreter(module)):
        run = getattr(made, "run", made)
        assert run(x, True)["sum"].item() == 5.0

    class Inner(lib.nn.Module):
        def forward(self, x, scale):  # type: ignore[no-untyped-def]
            return x[0] * x[1] * scale

    traced = lib.fx.symbolic_trace(Inner(), {"x": [ph, ph]})
    assert traced([a, b], 3).item() == 6.0


def test_arguments_that_make_their_own_operations(lib: Any) -> None:
    graph = lib.fx.Graph()
    tracer = lib.fx.proxy.GraphAppendingTracer(graph)
    x = lib.fx.Proxy(graph.placeholder("x"), tracer)
    tracer.create_proxy("call_function", print, (Scaled(x),), {})
    assert [(n.name, n.args) for n in graph.nodes][1:] == [
        ("scaled", (x.node,)), ("print_1", (next(n for n in graph.nodes if n.name == "scaled"),)),
    ]  # fmt: skip


def test_buffers_can_be_operations(lib: Any) -> None:
    class Model(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", lib.ones(2))

        def forward(self, x):  # type: ignore[no-untyped-def]
            return x + self.shift.sum()

    class Tracer(lib.fx.Tracer):
        proxy_buffer_attributes = True

    names = [n.name for n in Tracer().trace(Model()).nodes]
    assert names == ["x", "shift", "sum_1", "add", "output"]


def test_a_tracer_can_be_copied(lib: Any) -> None:
    names = [n.name for n in copy.deepcopy(lib.fx.Tracer()).trace(lambda x: x + 1).nodes]
    assert names == ["x", "add", "output"]


def test_shapes_are_noted_by_running(lib: Any) -> None:
    passes = importlib.import_module(f"{lib.__name__}.fx.passes.shape_prop")
    conv = lib.nn.Conv2d(2, 3, 1).to(memory_format=lib.channels_last)
    module = lib.fx.symbolic_trace(lib.nn.Sequential(conv, lib.nn.Flatten(2)))
    x = lib.ones(1, 2, 4, 4).contiguous(memory_format=lib.channels_last)
    out = passes.ShapeProp(module).propagate(x)
    assert out.shape == (1, 3, 16)
    noted = {n.name: n.meta["tensor_meta"] for n in module.graph.nodes}
    first = noted["_0"]
    assert type(first).__name__ == "TensorMetadata" and first.memory_format is lib.channels_last
    assert first.shape == (1, 3, 4, 4) and first.stride == (48, 1, 12, 3) and first.requires_grad
    assert first.dtype is lib.float32 and first.qparams == {} and not first.is_quantized
    assert noted["input_1"].requires_grad is False
    two = lib.fx.symbolic_trace(lambda x: lib.max(x, 0))
    passes.ShapeProp(two).propagate(lib.ones(2, 3))
    meta = two.graph.output_node().meta
    assert [part.dtype for part in meta["tensor_meta"]] == [lib.float32, lib.int64]
    with pytest.raises(RuntimeError, match="ShapeProp error for: node="):
        passes.ShapeProp(lib.fx.symbolic_trace(lambda x: x @ x)).propagate(lib.ones(2, 3))


def test_values_are_given_up_when_run_from_a_list(lib: Any) -> None:
    module = lib.fx.symbolic_trace(lambda x, y: x - y)
    given = [lib.tensor(3.0), lib.tensor(1.0)]
    assert lib.fx.Interpreter(module).boxed_run(given).item() == 2.0 and given == []
    with pytest.raises(RuntimeError, match="expected 2 arguments for placeholders"):
        lib.fx.Interpreter(module).boxed_run([1])


def test_the_text_of_a_program_is_changed(lib: Any) -> None:
    module = lib.fx.symbolic_trace(lambda x: x + 1)
    with module.graph.on_generate_code(lambda old: lambda body: ["x = x * 2\n", *body]):
        module.recompile()
    assert module(lib.tensor(3.0)).item() == 7.0
    module.recompile()
    assert module(lib.tensor(3.0)).item() == 4.0


def test_a_transformer_keeps_how_programs_take_their_arguments(lib: Any) -> None:
    class OfList(lib.fx.CodeGen if lib is nnkit else lib.fx.graph.CodeGen):
        def gen_fn_def(self, free_vars: Any, *args: Any, **options: Any) -> str:
            return f"\ndef forward(self, given):\n    {', '.join(free_vars)} = given"

        def process_inputs(self, *inputs: Any) -> Any:
            return inputs[0]

    module = lib.fx.symbolic_trace(lambda x, y: x - y)
    module.graph.set_codegen(OfList())
    made = lib.fx.Transformer(module).transform()
    assert made([lib.tensor(3.0), lib.tensor(1.0)]).item() == 2.0


def test_tuples_with_names_are_made_by_the_program(lib: Any) -> None:
    module = lib.fx.symbolic_trace(lambda x: Pair(x, 2))
    assert module(1) == Pair(1, 2)


class Mode(enum.Enum):
    """A class that no package of torch has."""


def test_types_are_printed(lib: Any) -> None:
    class Model(lib.nn.Module):
        pass

    def forward(self, x, y, of, n, kind, named, plain, *rest):  # type: ignore[no-untyped-def]
        return [x]

    tensor = lib.Tensor
    maybe, pair = Optional[tensor], Tuple[int, int]  # noqa: UP006, UP045  # their text is tested
    forward.__annotations__ = {
        "x": tensor, "y": maybe, "of": dict[str, list[tensor]], "n": int | None, "kind": Mode,
        "named": "text", "return": pair,
    }  # fmt: skip
    Model.forward = forward
    module = lib.fx.symbolic_trace(Model())
    head = module.code.strip().splitlines()[0].replace(f"{lib.__name__}.", "torch.")
    assert head == (
        "def forward(self, x : torch.Tensor, y : typing_Union[torch.Tensor,NoneType], "
        "of : dict[str,list[torch.Tensor]], n : int|NoneType, kind : tests_test_fx_values_Mode, "
        "named : _text_, plain, *rest):"
    )
    del forward.__annotations__["named"]

    def plain(x, y=(1, 2)):  # type: ignore[no-untyped-def]
        return x + y[0]

    plain.__annotations__ = {"x": tensor, "y": pair, "return": tensor}
    module = lib.fx.symbolic_trace(plain)
    module.graph.find_nodes(op="call_function", target=operator.add)[0].type = tensor
    module.recompile()
    for made in (module, copy.deepcopy(module)):
        assert made.code.replace(f"{lib.__name__}.", "torch.").split("\n\n\n")[-1] == (
            "def forward(self, x : torch.Tensor, y : typing_Tuple[int,int] = (1, 2)) -> "
            "torch.Tensor:\n"
            "    getitem = y[0];  y = None\n"
            "    add : torch.Tensor = x + getitem;  x = getitem = None\n"
            "    return add\n    "
        )
        assert made(lib.ones(1), (2, 3)).tolist() == [3.0]
    again = lib.fx.symbolic_trace(module)
    assert [n.type for n in again.graph.nodes][:2] == [tensor, pair]
    assert again.graph.output_node().type is tensor


def test_arguments_by_name_and_with_defaults(lib: Any) -> None:
    schemas = importlib.import_module(f"{lib.__name__}.fx.operator_schemas")
    F = lib.nn.functional

    def own(a: Any, b: int = 2, *, c: int = 3) -> Any:
        return a

    for call, given, named, expected in (
        (own, ("x",), {"c": 5}, {"a": "x", "b": 2, "c": 5}),
        (F.relu, ("x",), {}, {"input": "x", "inplace": False}),
        (lib.sigmoid, ("x",), {}, {"input": "x"}),
        (lib.cat, ("x", 1), {}, {"tensors": "x", "dim": 1}),
        (F.dropout, ("x",), {"p": 0.2}, {"input": "x", "p": 0.2, "training": True}
            | {"inplace": False}),
    ):  # fmt: skip
        found = schemas.normalize_function(call, given, named, normalize_to_only_use_kwargs=True)
        assert (found.args, found.kwargs) == ((), expected)
        found = schemas.normalize_function(call, given, named)
        assert found.args == given and {**found.kwargs} == dict([*expected.items()][len(given) :])
    for call in (lambda *several: several, operator.add, getattr):
        assert schemas.normalize_function(call, (1, 2)) is None
    with pytest.raises(TypeError, match="required argument"):
        schemas.normalize_function(own, ())


def test_arguments_of_operations(lib: Any) -> None:
    class Own(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    class Model(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.own = lib.nn.Linear(2, 2), Own()

        def forward(self, x: Any) -> Any:
            return lib.flatten(self.own(self.linear(x))).sum()

    class Tracer(lib.fx.Tracer):
        def is_leaf_module(self, module: Any, name: str) -> bool:
            return True

    model = Model()
    found = [
        node.normalized_arguments(model, normalize_to_only_use_kwargs=True)
        for node in Tracer().trace(model).nodes
    ]
    assert [pair and [str(value) for value in pair.kwargs.values()] for pair in found] == [
        None, ["x"], None, ["own", "0", "-1"], None, None,
    ]  # fmt: skip
    assert list(found[1].kwargs) == ["input"]
    schemas = importlib.import_module(f"{lib.__name__}.fx.operator_schemas")
    with pytest.raises(RuntimeError, match="did not have that target"):
        schemas.normalize_module(model, "missing", ())


def test_names_are_counted_on(lib: Any) -> None:
    graph = lib.fx.Graph()
    wanted = "a_5 a a a_1 a_1 a_6 a_2 b b b_1 self inf 1x x.y b_0 b c_1_1 c_1 c_1_1".split()
    names = [graph.create_node("placeholder", "p", name=name).name for name in wanted]
    assert names == (
        "a_5 a a_6 a_1 a_2 a_3 a_4 b b_1 b_2 self inf_1 _1x x_y b_0 b_3 c_1_1 c_1 c_1_2".split()
    )


def test_the_file_of_a_program_tells_where_it_was(lib: Any) -> None:
    def traced(x: Any) -> Any:
        return x + 1

    place = lib.fx.symbolic_trace(traced).forward.__code__.co_filename
    assert place.endswith(f" from {__file__}:{traced.__code__.co_firstlineno} in traced")


def test_writing_into_arguments_is_refused_where_that_is_asked(lib: Any) -> None:
    class Tracer(lib.fx.Tracer):
        check_mutable_operations = True

    def written(x: Any) -> Any:
        return lib.sin(x, out=x)

    with pytest.raises(RuntimeError, match="Tried to trace mutable operation aten::sin.out"):
        Tracer().trace(written)
    lib.fx.Tracer().trace(written)
    assert len(Tracer().trace(lambda x: lib.sin(x).add_(1)).nodes) == 4


def test_tensors_that_are_attributes_are_read_at_their_paths(lib: Any) -> None:
    class Inner(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shift, self.last = lib.ones(2), lib.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.last(x + self.shift)

    class Outer(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.first = Inner(), lib.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.first(self.inner(x) + lib.zeros(2))

    model = Outer()
    module = lib.fx.symbolic_trace(model)
    reads = [node.target for node in module.graph.nodes if node.op == "get_attr"]
    assert reads == ["inner.shift", "_tensor_constant0"]
    x = lib.randn(1, 2)
    assert module(x).equal(model(x))
    # The modules stand in the order in which they are called.
    assert [name for name, _ in module.named_parameters()] == [
        "inner.last.weight", "inner.last.bias", "first.weight", "first.bias",
    ]  # fmt: skip


def test_a_graph_that_names_what_is_not_there(lib: Any) -> None:
    module = lib.fx.symbolic_trace(lambda x: x)
    with pytest.warns(UserWarning, match="no underlying reference"):
        module.graph.get_attr("nowhere")
    with pytest.raises(RuntimeError, match="nowhere"):
        module.graph.lint()


def test_a_proxy_is_no_number(lib: Any) -> None:
    for function in (int, float, range):
        with pytest.raises(TypeError):
            lib.fx.symbolic_trace(lambda x: function(x))  # noqa: B023


def test_the_text_is_that_of_the_graph_as_it_is(lib: Any, capsys: Any) -> None:
    module = lib.fx.symbolic_trace(lambda x: (x.sin(), x.cos())[0])
    module.graph.eliminate_dead_code()
    text = module.print_readable(print_output=False)
    assert "sin" in text and "cos" not in text and text.startswith("class ")
    assert not capsys.readouterr().out
    module.print_readable()
    assert capsys.readouterr().out.strip().splitlines()[1] == "    def forward(self, x):"
